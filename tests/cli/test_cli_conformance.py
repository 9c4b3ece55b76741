"""`rectitude conformance` on the compact golden tree, and on trees that are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from cli_files import Run

COMPACT = Path(__file__).parent.parent / "conformance" / "golden"
KEYS = ["profile", "cases", "compared", "agree", "declared", "unsupported", "largest_error"]
compact = pytest.mark.skipif(
    not COMPACT.is_dir(), reason="tests/conformance/golden is not there: copy the golden tree"
)


def tree(root: Path, **expected: float) -> str:
    """A golden tree of one case: two items, the second relevant."""
    inputs, cases = root / "inputs" / "hand", root / "cases" / "rectools"
    inputs.mkdir(parents=True)
    cases.mkdir(parents=True)
    lists = {"user": [1, 1], "item": [7, 8], "score": [2.0, 1.0], "position": [0, 1]}
    pl.DataFrame(lists).write_parquet(inputs / "recommendations.parquet")
    pl.DataFrame({"user": [1], "item": [8], "grade": [1]}).write_parquet(inputs / "truth.parquet")
    case = {"profile": "rectools", "kind": "lists", "input": "hand", "expected": expected}
    (cases / "hand.json").write_text(json.dumps(case))
    return str(root)


@compact
def test_the_profiles_agree_and_the_table_says_so(run: Run) -> None:
    said = run("conformance", str(COMPACT), "--profile", "ranx", "rectools")
    assert (said.code, said.err) == (0, "")
    rows = [line.split() for line in said.out.splitlines()]
    assert [row[1] for row in rows] == ["profile", "--------", "ranx", "rectools"]


@compact
def test_json_has_exactly_the_agreed_keys(run: Run) -> None:
    said = run("conformance", str(COMPACT), "--profile", "ndcg-reference", "--json")
    stored = json.loads(said.out)
    assert list(stored) == ["profiles"]
    (one,) = stored["profiles"]
    assert list(one) == KEYS
    assert one["compared"] == one["agree"] + one["declared"] > 0


def test_a_tree_that_agrees_exits_0(run: Run, tmp_path: Path) -> None:
    said = run("conformance", tree(tmp_path, **{"mrr@2": 0.5, "recall@2": 1.0}), "--json")
    assert said.code == 0
    assert json.loads(said.out)["profiles"][0]["agree"] == 2


def test_a_value_that_disagrees_exits_1_and_is_listed(run: Run, tmp_path: Path) -> None:
    said = run("conformance", tree(tmp_path, **{"mrr@2": 0.25, "recall@2": 1.0}))
    assert (said.code, said.err) == (1, "")
    assert "rectools: 1 values disagree" in said.out
    assert "  hand: mrr@2 is 0.25 in the framework, 0.5 here" in said.out


def test_only_the_first_disagreements_are_listed(run: Run, tmp_path: Path) -> None:
    said = run("conformance", tree(tmp_path, **{f"mrr@{k}": 0.1 for k in range(2, 15)}))
    assert said.out.count("  hand: mrr@") == 10
    assert "... and 3 more" in said.out


def test_a_folder_without_cases_exits_2(run: Run, tmp_path: Path) -> None:
    for arguments in ((str(tmp_path),), (str(tmp_path), "--profile", "ranx")):
        said = run("conformance", *arguments)
        assert (said.code, said.out) == (2, "")
        assert "contains no folder 'cases'" in said.err


def test_an_unknown_profile_is_answered_with_the_nearest(run: Run, tmp_path: Path) -> None:
    said = run("conformance", tree(tmp_path, mrr=0.5), "--profile", "rectool")
    assert said.code == 2
    assert "did you mean 'rectools'" in said.err
