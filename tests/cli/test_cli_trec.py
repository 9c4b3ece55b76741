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
