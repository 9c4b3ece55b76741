"""`rectitude compare`: options, formats, exit codes and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_files import Run, Said

import rectitude as rt


@pytest.fixture
def compare(shop: Path, run: Run) -> Run:
    """Run `rectitude compare` on the runs of the shop."""

    def call(*arguments: str) -> Said:
        usual = ("--truth", "truth.csv", "--metrics", "ndcg@5", "mrr")
        return run("compare", "good.csv", "poor.csv", *usual, *arguments)

    return call


def test_models_are_called_by_their_files_and_compared(compare: Run) -> None:
    said = compare("--baseline", "poor")
    assert said.code == 0
    assert "good - poor" in said.out
    assert "3 users; paired t-tests, corrected by Holm (2 tests)" in said.out


def test_json_is_what_the_function_gives(compare: Run) -> None:
    options = ("--test", "sign_flip", "--correct", "bonferroni", "--interval", "bca")
    said = compare("--baseline", "poor", *options, "--resamples", "200", "--seed", "3", "--json")
    expected = rt.compare(
        {"good": "good.csv", "poor": "poor.csv"}, "truth.csv", ["ndcg@5", "mrr"],
        baseline="poor", test="sign_flip", correct="bonferroni", interval="bca", resamples=200,
        seed=3,
    )  # fmt: skip
    assert json.loads(said.out) == json.loads(expected.to_json())
    assert json.loads(said.out)["differences"][0]["p"] == 0.5


@pytest.mark.parametrize(
    ("form", "beginning"),
    [
        ("markdown", "| model"),
        ("csv", "metric,model,baseline"),
        ("latex", r"\begin{tabular}"),
        ("html", "<table>"),
    ],
)
def test_formats(compare: Run, form: str, beginning: str) -> None:
    said = compare("--format", form)
    assert said.code == 0
    assert said.out.startswith(beginning)
    assert not said.out.endswith("\n\n")


def test_margin_asks_for_equivalence(compare: Run) -> None:
    assert "equivalence" in compare("--margin", "0.5").out


def test_other_users_are_refused_unless_allowed(shop: Path, compare: Run) -> None:
    (shop / "poor.csv").write_text("user,item,score\nann,a,3\ncid,d,1\nbob,x,1\n")
    needed = ("--convention", "list_needed=items")
    said = compare(*needed)
    assert said.code == 2
    assert "ndcg@5 has 0 users only in good, 1 only in poor" in said.err
    assert "--allow users" in said.err
    assert compare(*needed, "--allow", "users", "truth").code == 0


def test_output_is_written(shop: Path, compare: Run) -> None:
    assert compare("--json", "--output", "found.json").code == 0
    assert json.loads((shop / "found.json").read_text())["format"] == "rectitude.comparison"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--baseline", "god"), "no model 'god'"),
        (("--test", "tea"), "no test 'tea'"),
        (("--correct", "home"), "did you mean 'holm'"),
        (("--allow", "everything"), "no thing to allow 'everything'"),
        (("--json", "--format", "csv"), "--json and --format csv were given"),
    ],
)
def test_bad_use_exits_2_with_what_is_wrong(
    compare: Run, options: tuple[str, ...], error: str
) -> None:
    said = compare(*options)
    assert (said.code, said.out) == (2, "")
    assert error in said.err


def test_one_model_is_refused(shop: Path, run: Run) -> None:
    said = run("compare", "good.csv", "--truth", "truth.csv")
    assert said.code == 2
    assert "there is 1 model" in said.err
