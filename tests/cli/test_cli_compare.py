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
    assert "3 users; paired t-tests, Holm-corrected for 2 tests" in said.out


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
        ("latex", r"% needs \usepackage{booktabs}"),
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
        (("--allow", "everything"), "no allowed difference 'everything'"),
        (("--json", "--format", "csv"), "--json and --format csv were both given"),
        (("--json", "--words"), "--json and --words were both given"),
        (("--format", "csv", "--show", "interval"), "--show is not available in csv output"),
        (("--format", "html", "--words"), "--words is not available in html output"),
        (("--table", "both"), "no table 'both'"),
        (("--show", "points"), "the column 'points' needs a baseline"),
        (("--seed", "-1"), "seed is -1"),
        (("--margin", "0"), "the margin is 0"),
    ],
)
def test_bad_use_exits_2_and_says_why(compare: Run, options: tuple[str, ...], error: str) -> None:
    said = compare(*options)
    assert (said.code, said.out) == (2, "")
    assert error in said.err


def test_one_model_is_refused(shop: Path, run: Run) -> None:
    said = run("compare", "good.csv", "--truth", "truth.csv")
    assert said.code == 2
    assert "models to compare: 1" in said.err


@pytest.fixture
def kept(shop: Path, run: Run) -> Path:
    """Evaluations of the shop's runs, with their values per list."""
    for name in ("good", "poor"):
        given = ("--truth", "truth.csv", "--predictions", f"{name}.csv", "--metrics", "ndcg@5")
        assert run("evaluate", *given, "mrr", "--output", f"{name}.zip").code == 0
    return shop


def test_stored_evaluations_are_compared_without_predictions(
    kept: Path, run: Run, compare: Run
) -> None:
    expected = compare("--baseline", "poor", "--json")
    (kept / "truth.csv").unlink()
    said = run("compare", "good.zip", "poor.zip", "--baseline", "poor", "--json")
    assert said.code == 0
    assert json.loads(said.out) == json.loads(expected.out)


def test_json_with_a_file_of_values_per_list_is_compared(shop: Path, run: Run) -> None:
    for name in ("good", "poor"):
        given = ("--truth", "truth.csv", "--predictions", f"{name}.csv", "--metrics", "mrr")
        beside = ("--json", "--output", f"{name}.json", "--per-list", f"{name}.lists.parquet")
        assert run("evaluate", *given, *beside).code == 0
    assert run("compare", "good.json", "poor.json").code == 0
    (shop / "poor.lists.parquet").unlink()
    said = run("compare", "good.json", "poor.json")
    assert said.code == 2
    assert "rectitude evaluate --output NAME.zip" in said.err


def test_one_file_may_hold_all_models(shop: Path, run: Run) -> None:
    files = ("--predictions", "good.csv", "poor.csv", "--metrics", "mrr")
    assert run("evaluate", "--truth", "truth.csv", *files, "--output", "both.zip").code == 0
    said = run("compare", "both.zip", "--baseline", "poor")
    assert said.code == 0
    assert "good - poor" in said.out


def test_runs_are_named_with_commas_patterns_or_folders(kept: Path, run: Run) -> None:
    for name in ("good", "poor"):
        (kept / f"of_{name}").mkdir()
        for seed in ("1", "2"):
            (kept / f"{name}-{seed}.zip").write_bytes((kept / f"{name}.zip").read_bytes())
            (kept / f"of_{name}" / f"{seed}.zip").write_bytes((kept / f"{name}.zip").read_bytes())
    said = run("compare", "a=good-1.zip,good-2.zip", "b=poor-*.zip", "--json")
    assert said.code == 0
    assert json.loads(said.out)["runs"] == 2
    assert [*json.loads(said.out)["values"]["mrr"]] == ["a", "b"]
    folders = run("compare", "of_good", "b=of_poor/", "--json")
    assert [*json.loads(folders.out)["values"]["mrr"]] == ["of_good", "b"]
    assert json.loads(folders.out)["runs"] == 2
    said = run("compare", "a=good-1.zip,good-2.zip", "poor.zip")
    assert (said.code, "a has 2, poor has 1" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("models", "error"),
    [
        (("a=none-*.zip", "poor.csv"), "no file matches none-*.zip"),
        (("a=", "poor.csv"), "'a=' lacks a name or a file"),
        (("a=good.csv", "a=poor.csv"), "model a was given twice"),
        (("good.csv", "good.csv"), "model good.csv was given twice"),
        (("good.csv", "missing.csv"), "missing.csv"),
    ],
)
def test_invalid_models_are_refused(
    shop: Path, run: Run, models: tuple[str, ...], error: str
) -> None:
    said = run("compare", *models, "--truth", "truth.csv", "--metrics", "mrr")
    assert (said.code, said.out) == (2, "")
    assert error in said.err


def test_no_model_and_several_slicings_are_refused(compare: Run, run: Run) -> None:
    said = run("compare", "--truth", "truth.csv")
    assert (said.code, said.out) == (2, "")
    assert "no model was given" in said.err
    said = compare("--slice", "age", "--slice", "gender")
    assert said.code == 2
    assert "--slice age+gender crosses them" in said.err


def test_slices_are_compared(shop: Path, run: Run) -> None:
    (shop / "users.csv").write_text("user,age\nann,young\nbob,young\ncid,old\n")
    given = ("--truth", "truth.csv", "--metrics", "mrr", "--users", "users.csv", "--slice", "age")
    said = run("compare", "good.csv", "poor.csv", *given)
    assert said.code == 0
    assert "\nage: young\n" in said.out
    assert "slice old is left out: poor and good have one user in common for mrr." in said.out


def test_one_table_with_more_next_to_its_values(compare: Run) -> None:
    said = compare("--baseline", "poor", "--table", "models", "--show", "interval", "relative")
    assert "ndcg@5 95%" in said.out
    assert "mrr rel. %" in said.out
    assert "| difference " not in said.out
    assert compare("--table", "models", "--format", "csv").out.startswith("metric,model,value")


def test_differences_are_described_in_words(compare: Run) -> None:
    assert "mrr: good is better than poor by" in compare("--baseline", "poor", "--words").out


def test_a_zip_stores_only_evaluations(shop: Path, run: Run) -> None:
    given = ("--truth", "truth.csv", "--predictions", "good.csv", "--output", "a.zip")
    said = run("evaluate", *given, "--csv")
    assert said.code == 2
    assert "--output a.zip cannot store csv" in said.err
    assert not (shop / "a.zip").exists()


def test_names_of_models_in_a_zip_may_hold_anything(shop: Path, run: Run) -> None:
    (shop / "b & c").mkdir()
    for name in ("good", "poor"):
        (shop / "b & c" / f"{name}.csv").write_bytes((shop / f"{name}.csv").read_bytes())
    files = ("good.csv", "b & c/good.csv")
    given = ("--truth", "truth.csv", "--metrics", "mrr", "--predictions", *files)
    assert run("evaluate", *given, "--output", "both.zip").code == 0
    found = json.loads(run("compare", "both.zip", "--json").out)
    assert [*found["values"]["mrr"]] == [*files]
    assert any("have the same values for every user" in note for note in found["notes"])


@pytest.mark.parametrize(
    "command",
    [("compare", "good.csv", "poor.csv", "--truth", "truth.csv"), ("audit", "--train", "good.csv")],
)
def test_options_of_scores_are_refused_where_there_are_none(
    command: tuple[str, ...], shop: Path, run: Run
) -> None:
    said = run(*command, "--padding", "0")
    assert said.code == 2
    assert "--padding was given, but it does not apply to ranked lists" in said.err
