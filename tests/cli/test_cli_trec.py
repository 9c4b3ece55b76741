"""`rectitude evaluate --format trec_eval`: its options, its lines, and what it refuses."""

from __future__ import annotations

from math import log2
from pathlib import Path

import numpy as np
import pytest
from cli_files import Run, Said

RUN = "1 Q0 a 0 3 mine a remark\n1 Q0 b 0 2 mine\n1 Q0 x 0 1 mine\n10 Q0 c 0 1 last\n"
QRELS = "# judged twice\n1 0 a 1\n1 0 b 0\n1 0 e 2\n10 0 d 1\n10 0 c -1\n2 0 f 1\n"


@pytest.fixture
def trec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Run:
    """Run `rectitude evaluate --format trec_eval`."""
    (tmp_path / "r.run").write_text(RUN)
    (tmp_path / "j.qrels").write_text(QRELS)
    monkeypatch.chdir(tmp_path)

    def call(*options: str) -> Said:
        words = ("evaluate", "--truth", "j.qrels", "--predictions", "r.run")
        return run(*words, "--format", "trec_eval", *options)

    return call


def rows(said: Said) -> list[list[str]]:
    assert said.code == 0, said.err
    return [[part.strip() for part in line.split("\t")] for line in said.out.splitlines()]


def test_the_official_measures_are_printed_by_default(trec: Run) -> None:
    said = rows(trec())
    assert said[:5] == [
        ["runid", "all", "last"],
        ["num_q", "all", "2"],
        ["num_ret", "all", "4"],
        ["num_rel", "all", "3"],
        ["num_rel_ret", "all", "1"],
    ]
    assert [row[0] for row in said[-9:]] == [
        f"P_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    ]


def test_queries_come_first_in_the_order_of_their_bytes(trec: Run) -> None:
    assert rows(trec("-q", "-c", "-m", "map")) == [
        ["map", "1", "0.5000"],
        ["map", "10", "0.0000"],
        ["map", "2", "0.0000"],
        ["map", "all", "0.1667"],
    ]


def test_the_summary_can_be_left_out(trec: Run) -> None:
    assert rows(trec("-q", "-n", "-m", "num_ret")) == [
        ["num_ret", "1", "3"],
        ["num_ret", "10", "1"],
    ]


def test_labels_are_padded_and_values_have_four_decimals(trec: Run) -> None:
    assert trec("-m", "recip_rank").out == "recip_rank            \tall\t0.5000\n"


def test_a_level_sets_what_is_relevant(trec: Run) -> None:
    assert rows(trec("-l2", "-m", "num_rel")) == [["num_rel", "all", "1"]]


def test_lists_end_where_m_says(trec: Run) -> None:
    assert rows(trec("-M1", "-m", "set_P", "-m", "num_ret")) == [
        ["num_ret", "all", "2"],
        ["set_P", "all", "0.5000"],
    ]


def test_unjudged_documents_are_dropped_on_demand(trec: Run) -> None:
    assert rows(trec("-J", "-q", "-m", "num_ret")) == [
        ["num_ret", "1", "2"],
        ["num_ret", "10", "0"],
        ["num_ret", "all", "2"],
    ]


def test_the_string_of_a_query_tells_judged_drawn_and_other_documents_apart(trec: Run) -> None:
    assert rows(trec("-q", "-m", "relstring")) == [
        ["relstring", "1", "'10-'"],
        ["relstring", "10", "'.'"],
    ]
    assert rows(trec("-q", "-m", "relstring.2"))[0] == ["relstring_2", "1", "'10'"]


def test_parameters_choose_cutoffs_levels_prices_and_gains(trec: Run) -> None:
    gains = (5 / log2(2)) / (9 / log2(2) + 5 / log2(3))
    measures = ("P.2,1", "iprec_at_recall..5", "utility.2,-1,0,0", "ndcg.1=5,2=9", "set_F.4")
    words = [word for measure in measures for word in ("-m", measure)]
    assert rows(trec("-q", "-n", *words))[:6] == [
        ["iprec_at_recall_0.50", "1", "1.0000"],
        ["P_1", "1", "1.0000"],
        ["P_2", "1", "0.5000"],
        ["utility_2,-1,0,0", "1", "0.0000"],
        ["ndcg_1=5,2=9", "1", f"{gains:.4f}"],
        ["set_F_4", "1", f"{5 * (1 / 3) * (1 / 2) / (4 * (1 / 3) + 1 / 2):.4f}"],
    ]


def test_parameters_of_one_measure_add_up(trec: Run) -> None:
    words = ("-m", "ndcg_cut.1,4", "-m", "ndcg_cut_20", "-m", "ndcg_cut.4", "-m", "P_5")
    labels = [row[0] for row in rows(trec("-m", "iprec_at_recall_0.10", *words))]
    assert labels == ["iprec_at_recall_0.10", "P_5", "ndcg_cut_1", "ndcg_cut_4", "ndcg_cut_20"]


def test_the_tag_of_a_run_survives_the_name_of_its_format(trec: Run, run: Run) -> None:
    words = ("evaluate", "trec:r.run", "--truth", "trec:j.qrels", "--format", "trec_eval")
    assert rows(run(*words, "-m", "runid")) == [["runid", "all", "last"]]


def test_release_9_has_its_own_measures_and_queries(trec: Run) -> None:
    nine = ("--convention", "trec_eval-9")
    labels = {row[0] for row in rows(trec("-m", "all_trec"))}
    assert labels - {row[0] for row in rows(trec("-m", "all_trec", *nine))} == {
        "rbp", "rbp_resid", "unj_5", "unj_10", "unj_20",
    }  # fmt: skip
    assert trec("-m", "rbp", *nine).code == 2
    # query 2 is judged and has no list: it counts with -c, but release 9 does not print it
    assert [row[1:] for row in rows(trec("-q", "-c", "-m", "map", *nine))] == [
        ["1", "0.5000"], ["10", "0.0000"], ["all", "0.1667"],
    ]  # fmt: skip


@pytest.mark.parametrize("turned", [False, True])
def test_means_are_added_in_the_order_of_trec_eval(trec: Run, tmp_path: Path, turned: bool) -> None:
    # 1, 3 and 7 hits in 20 for three of 8 queries: 11/160 = 0.06875 is a half in the last decimal;
    # added one after the other they are a little more, as an exact sum a little less
    hits = [0, 0, 0, 0, 0, 1, 3, 7]
    pairs = [(query, item) for query, size in enumerate(hits) for item in range(max(size, 1))]
    pairs = pairs[::-1] if turned else pairs
    judged = "".join(f"q{q} 0 d{item} {int(hits[q] > 0)}\n" for q, item in pairs)
    (tmp_path / "j.qrels").write_text(judged)
    (tmp_path / "r.run").write_text("".join(f"q{q} Q0 d{i} 0 {9 - i} x\n" for q, i in pairs))
    assert rows(trec("-m", "P.20")) == [["P_20", "all", "0.0688"]]


def test_the_judgements_of_several_groups_are_averaged(trec: Run, tmp_path: Path) -> None:
    # query 1: a and b for one group, b for the other: 2/2 and 1/2; query 10: 1
    judged = "1 ann a 1\n1 ann b 1\n1 bob b 1\n10 ann c 1\n"
    (tmp_path / "j.qrels").write_text(judged)
    assert rows(trec("-R", "qrels_jg", "-q", "-m", "P_avgjg.2", "-m", "num_q")) == [
        ["P_avgjg_2", "1", f"{(2 / 2 + 1 / 2) / 2:.4f}"],
        ["P_avgjg_2", "10", f"{1 / 2:.4f}"],
        ["num_q", "all", "2"],
        ["P_avgjg_2", "all", f"{(3 / 4 + 1 / 2) / 2:.4f}"],
    ]


def test_preferences_are_counted(trec: Run, tmp_path: Path) -> None:
    # ranks a, b, x. ann: b > a is not fulfilled, a > e is implied; bob: a > x
    judged = "1 ann 0 b 3\n1 ann 0 a 2\n1 ann 1 a 2\n1 ann 1 e 1\n1 bob 0 a 1\n1 bob 0 x 0\n"
    (tmp_path / "j.qrels").write_text(judged)
    measures = ["prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_simp", "prefs_avgjg_ret"]
    words = [word for measure in measures for word in ("-m", measure)]
    # b > e follows from b > a and a > e, and is implied, too
    assert [row[2] for row in rows(trec("-R", "prefs", "-q", "-n", *words))] == [
        "4", "3", f"{3 / 4:.4f}", f"{(0 / 1 + 1 / 1) / 2:.4f}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        ("1 ann 0 a 1\n1 ann 0 b 2\n1 ann 1 a 2\n1 ann 1 b 1\n", "prefers 'a' to 'b', and 'b' to"),
        ("1 ann 0 a -1\n", "below 0"),
        ("1 ann 0 a 1\n1 ann 0 a 2\n", "again in the same subgroup"),
        ("1 ann 0 a 1\n1 ann 1 a 0\n", "has level 0 and a level above 0"),
        ("7 ann 0 a 1\n", "no query of the run is judged"),
    ],
)
def test_preferences_that_make_no_sense_are_refused(
    trec: Run, tmp_path: Path, judged: str, words: str
) -> None:
    (tmp_path / "j.qrels").write_text(judged)
    said = trec("-R", "prefs")
    assert said.code == 2
    assert words in said.err


def test_z_scores_are_distances_from_the_means_of_other_systems(trec: Run, tmp_path: Path) -> None:
    (tmp_path / "z").write_text("1 map 0.25 0.125\n10 map 0.25 0.5\n1 num_ret 3 0\n")
    assert rows(trec("-Z", "z", "-q", "-m", "map", "-m", "num_ret", "-m", "num_q")) == [
        ["Znum_ret", "1", "0.0000"],
        ["Zmap", "1", f"{(0.5 - 0.25) / 0.125:.4f}"],
        ["Znum_ret", "10", "-1000000.0000"],
        ["Zmap", "10", f"{(0 - 0.25) / 0.5:.4f}"],
        ["Znum_q", "all", "2.0000"],
        ["Znum_ret", "all", "-1000000.0000"],
        ["Zmap", "all", f"{(2 - 0.5) / 2:.4f}"],
    ]


def test_the_collection_size_counts_what_was_passed_over(trec: Run) -> None:
    # 10 documents: 3 shown, 1 relevant one missed, so 6 others passed over
    said = rows(trec("-q", "-n", "-N", "10", "-m", "utility.0,0,0,1"))
    assert said[0] == ["utility_0,0,0,1", "1", "6.0000"]


def test_another_profile_can_be_named(trec: Run) -> None:
    # 0.6 of two relevant documents is 1.2: release 9 asks for two of them, release 10 for one
    measure = ("-q", "-n", "-m", "iprec_at_recall.0.6")
    assert rows(trec(*measure))[0][2] == "1.0000"
    assert rows(trec(*measure, "--convention", "trec_eval-9"))[0][2] == "0.0000"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-m", "ndgc"), "did you mean 'ndcg'"),
        (("-m", "P.0"), "cutoffs of at least 1"),
        (("-m", "P.5,5"), "each once"),
        (("-m", "P.x"), "numbers separated by commas"),
        (("-m", "map.3"), "has parameters"),
        (("-m", "utility.1,2"), "has 2 numbers"),
        (("-m", "ndcg.3"), "level=gain"),
        (("-m", "ndcg.1=-2"), "below 0"),
        (("-m", "rbp.1=2"), "only p"),
        (("-m", "iprec_at_recall.2"), "from 0 to 1"),
        (("-J", "-M", "5"), "-J and -M"),
        (("-M", "0"), "-M is 0"),
        (("--metrics", "mrr"), "--metrics was given"),
    ],
)
def test_bad_use_is_refused(trec: Run, options: tuple[str, ...], words: str) -> None:
    said = trec(*options)
    assert said.code == 2
    assert words in said.err
    assert not said.out


def test_options_of_trec_eval_need_its_format(evaluate: Run) -> None:
    said = evaluate("good.csv", "-q")
    assert said.code == 2
    assert "--format trec_eval" in said.err


def test_other_tables_are_printed_with_the_name_of_the_file_as_tag(evaluate: Run) -> None:
    said = rows(evaluate("good.csv", "--format", "trec_eval"))
    assert said[0] == ["runid", "all", "good.csv"]


def test_several_runs_are_printed_one_after_the_other(evaluate: Run) -> None:
    said = rows(evaluate("good.csv", "poor.csv", "--format", "trec_eval", "-m", "recip_rank"))
    assert said == [["recip_rank", "all", "1.0000"], ["recip_rank", "all", "0.5000"]]


def test_dense_scores_are_printed_under_the_label_of_their_file(tmp_path: Path, run: Run) -> None:
    np.save(tmp_path / "scores.npy", np.array([[3.0, 2.0, 1.0]]))
    (tmp_path / "truth.csv").write_text("user,item,grade\n0,1,1\n0,2,0\n")
    said = run(
        "evaluate", "--truth", str(tmp_path / "truth.csv"), "--scores",
        str(tmp_path / "scores.npy"), "--format", "trec_eval", "-q", "-m", "relstring",
        "-m", "runid",
    )  # fmt: skip
    assert rows(said) == [["relstring", "0", "'-10'"], ["runid", "all", "scores"]]
