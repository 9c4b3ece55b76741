"""Our numbers under each profile against values made by the framework's own code."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import rectitude as rt
from rectitude.conformance.cases import arguments, load
from rectitude.conformance.run import conformance

COMPACT = Path(__file__).parent / "golden"
FULL = os.environ.get("RECTITUDE_GOLDEN", "")
PROFILES = [name for name in rt.PROFILES if name != "default"]
needs_full = pytest.mark.skipif(not FULL, reason="set RECTITUDE_GOLDEN to the full golden tree")


def check(folder: str | Path, profile: str) -> None:
    (standing,) = conformance(folder, [profile])
    assert standing.compared > 0
    assert standing.wrong == []
    assert standing.agree + standing.declared == standing.compared
    assert standing.declared <= 0.01 * standing.compared or standing.declared == 0


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_reproduces_the_compact_golden_values(profile: str) -> None:
    (standing,) = conformance(COMPACT, [profile])
    assert standing.compared > 0
    assert standing.wrong == []
    assert standing.agree + standing.declared == standing.compared


@needs_full
@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_reproduces_the_full_golden_values(profile: str) -> None:
    check(FULL, profile)


def test_every_profile_of_the_first_release_is_there() -> None:
    first = {
        "ndcg-reference",
        "trec_eval-9",
        "trec_eval-10",
        "pytrec_eval",
        "ranx",
        "rectools",
        "replay",
    }
    assert first <= set(rt.PROFILES)


def test_the_default_meets_the_reference_definition_of_ndcg() -> None:
    for case in load(COMPACT, ["ndcg-reference"]):
        if case.kind != "lists":
            continue
        evaluation = rt.evaluate(**arguments(case, ""), metrics=list(case.expected))
        for name, expected in case.expected.items():
            assert evaluation[name] == pytest.approx(expected, abs=case.tolerance)


def _tree(folder: Path, expected: dict[str, float], known: bool = True) -> Path:
    """A golden tree of one case: one user, one relevant item at rank 2."""
    import polars as pl

    inputs = folder / "inputs" / "lists-one"
    cases = folder / "cases" / ("ndcg-reference" if known else "nobody")
    inputs.mkdir(parents=True)
    cases.mkdir(parents=True)
    lists = {"user": [1, 1], "item": [7, 8], "score": [2.0, 1.0], "position": [0, 1]}
    pl.DataFrame(lists).write_parquet(inputs / "recommendations.parquet")
    truth = pl.DataFrame({"user": [1], "item": [8], "grade": [1.0]})
    truth.write_parquet(inputs / "truth.parquet")
    case = {
        "profile": cases.name, "kind": "lists", "input": "lists-one", "options": {"order": "given"},
        "tolerance": 1e-12, "expected": expected, "per_user": {"mrr": {"1": 0.5}},
    }  # fmt: skip
    (cases / "lists-one.json").write_text(json.dumps(case))
    return folder


def test_agreement_is_counted_value_by_value(tmp_path: Path) -> None:
    (standing,) = conformance(_tree(tmp_path, {"mrr": 0.5, "hit@1": 0.0}))
    assert (standing.cases, standing.compared, standing.agree) == (1, 3, 3)
    assert standing.largest_error == 0.0


def test_a_value_beyond_its_tolerance_is_wrong(tmp_path: Path) -> None:
    (standing,) = conformance(_tree(tmp_path, {"mrr": 0.5 + 1e-9}))
    assert [(one.name, one.got) for one in standing.wrong] == [("mrr", 0.5)]
    assert standing.agree == standing.compared - 1


def test_metrics_and_profiles_that_do_not_exist_yet_are_not_compared(tmp_path: Path) -> None:
    (standing,) = conformance(_tree(tmp_path / "a", {"mrr": 0.5, "gini@10": 0.1}))
    assert (standing.compared, standing.unsupported) == (2, 1)
    (standing,) = conformance(_tree(tmp_path / "b", {"mrr": 0.5}, known=False))
    assert (standing.compared, standing.unsupported) == (0, 2)


def test_a_missing_input_is_named(tmp_path: Path) -> None:
    tree = _tree(tmp_path, {"mrr": 0.5})
    (tree / "inputs" / "lists-one" / "truth.parquet").unlink()
    with pytest.raises(OSError, match=r"truth\.parquet, which does not exist"):
        conformance(tree)


def test_a_folder_without_cases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="holds no folder 'cases'"):
        conformance(tmp_path)
