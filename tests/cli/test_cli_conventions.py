"""`rectitude evaluate --convention` with several profiles, in every format."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from cli_files import Run, Said

import rectitude as rt

NAMES = ["recbole", "elliot", "lenskit-2026"]


def evaluate(run: Run, *words: str) -> Said:
    return run(
        "evaluate", "good.csv", "--truth", "truth.csv", "--metrics", "ndcg@10", "mrr", *words
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--convention", ",".join(NAMES)],
        ["--convention", *NAMES],
        [word for name in NAMES for word in ("--convention", name)],
    ],
)
def test_profiles_are_separated_by_commas_or_spaces_or_repeated(
    run: Run, shop: Path, words: list[str]
) -> None:
    said = evaluate(run, *words)
    assert said.code == 0
    assert said.out == f"{rt.evaluate('good.csv', 'truth.csv', ['ndcg@10', 'mrr'], NAMES)}\n"


def test_switches_change_every_profile(run: Run, shop: Path) -> None:
    said = evaluate(run, "--convention", "recbole,elliot", "relevant_from=2")
    assert "recbole, relevant_from=2" in said.out
    assert "elliot, relevant_from=2" in said.out


def test_csv_has_a_column_of_conventions(run: Run, shop: Path) -> None:
    rows = [*csv.DictReader(evaluate(run, "--convention", *NAMES, "--csv").out.splitlines())]
    assert [(row["convention"], row["metric"]) for row in rows[:3]] == [
        ("recbole", "ndcg@10"), ("recbole", "mrr"), ("elliot", "ndcg@10"),
    ]  # fmt: skip


def test_csv_of_several_files_names_both(run: Run, shop: Path) -> None:
    said = evaluate(run, "--predictions", "poor.csv", "--convention", "recbole,elliot", "--csv")
    rows = [*csv.DictReader(said.out.splitlines())]
    assert {(row["run"], row["convention"]) for row in rows} == {
        (name, convention) for name in ("good", "poor") for convention in ("recbole", "elliot")
    }


def test_json_holds_every_evaluation(run: Run, shop: Path) -> None:
    stored = json.loads(evaluate(run, "--convention", *NAMES, "--json").out)
    assert stored["format"] == "rectitude.evaluations"
    assert list(stored["evaluations"]) == NAMES


@pytest.mark.parametrize(("form", "words"), [("markdown", "| ndcg@10 |"), ("latex", r"\midrule")])
def test_tables_for_papers_have_a_column_for_each(
    run: Run, shop: Path, form: str, words: str
) -> None:
    said = evaluate(run, "--convention", *NAMES, "--format", form)
    assert words in said.out
    assert all(name in said.out for name in NAMES)


def test_smgcn_prints_a_line_for_each(run: Run, shop: Path) -> None:
    said = run(
        "evaluate", "good.csv", "--truth", "truth.csv", "--format", "smgcn",
        "--convention", "smgcn-f1,recbole",
    )  # fmt: skip
    assert said.code == 0
    assert [line.partition(":")[0] for line in said.out.splitlines()] == ["smgcn-f1", "recbole"]


def test_a_metric_that_one_profile_lacks_shows_why_and_exits_1(run: Run, shop: Path) -> None:
    said = run(
        "evaluate", "good.csv", "--truth", "truth.csv", "--metrics", "hits@2", "mrr",
        "--convention", "elliot,ranx",
    )  # fmt: skip
    assert said.code == 1
    assert "! hits@2 failed (elliot): " in said.out


def test_definitions_say_under_which_profile_they_hold(run: Run, shop: Path) -> None:
    said = evaluate(run, "--convention", "recbole,elliot", "--definitions")
    assert "\nelliot:\nndcg@10: Normalised" in said.out


def test_values_per_list_name_the_convention(run: Run, shop: Path) -> None:
    assert evaluate(run, "--convention", "recbole,elliot", "--per-list", "v.csv").code == 0
    assert "recbole,ann," in (shop / "v.csv").read_text()


@pytest.mark.parametrize("words", [["--improvement"], ["--estimate"], ["--format", "trec_eval"]])
def test_what_needs_one_convention_says_so(run: Run, shop: Path, words: list[str]) -> None:
    said = run(
        "evaluate", "good.csv", "--truth", "truth.csv", "--convention", "recbole,elliot", *words
    )
    assert said.code == 2
    assert "--convention names several profiles" in said.err


@pytest.mark.parametrize("words", [["RecBole,relevant_from=1"], ["recbole", "relevant_from=1"]])
def test_a_profile_and_switches_may_be_separated_by_commas(
    run: Run, shop: Path, words: list[str]
) -> None:
    said = evaluate(run, "--convention", *words)
    assert said.code == 0
    assert "convention: recbole, relevant_from=1" in said.out


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--relevant-from", "4"], "--convention relevant_from=4"),
        (["--gain=linear"], "--convention gain=linear"),
        (["--ties"], "--convention ties=..."),
    ],
)
def test_a_switch_typed_as_an_option_is_answered(
    run: Run, shop: Path, words: list[str], answer: str
) -> None:
    for command in (["evaluate", "good.csv"], ["compare", "good.csv", "poor.csv"]):
        said = run(*command, "--truth", "truth.csv", *words)
        assert said.code == 2
        assert f"a switch of the convention: {answer}" in said.err
        assert "did you mean" not in said.err


def test_compare_takes_one_convention(run: Run, shop: Path) -> None:
    said = run(
        "compare", "good.csv", "poor.csv", "--truth", "truth.csv", "--convention", "recbole,elliot"
    )
    assert said.code == 2
    assert "--convention names several profiles: recbole, elliot." in said.err
