"""Ids that differ only in spelling are reported, not counted as misses."""

from __future__ import annotations

from pathlib import Path

import pytest

import rectitude as rt
from rectitude.errors import BadIds, NothingToEvaluate


def written(folder: Path, predictions: str, truth: str) -> tuple[Path, Path]:
    (folder / "p.csv").write_text("user,item,score\n" + predictions)
    (folder / "t.csv").write_text("user,item\n" + truth)
    return folder / "p.csv", folder / "t.csv"


@pytest.mark.parametrize(
    ("predicted", "true", "cause"),
    [
        ("10.0", "10", "a trailing '.0'"),
        (" a", "a", "leading or trailing spaces"),
        ("010", "10", "leading zeros"),
        ("Tea", "tea", "upper and lower case"),
    ],
)
def test_items_that_differ_only_in_spelling_are_an_error_that_says_how(
    tmp_path: Path, predicted: str, true: str, cause: str
) -> None:
    files = written(tmp_path, f"u1,{predicted},0.9\n", f"u1,{true}\n")
    with pytest.raises(BadIds) as caught:
        rt.evaluate(*files, "mrr")
    assert f"some differ only by {cause}" in str(caught.value)
    assert repr(predicted) in str(caught.value) and repr(true) in str(caught.value)


def test_users_that_differ_only_in_spelling_are_reported_with_the_cause(tmp_path: Path) -> None:
    files = written(tmp_path, "1.0,a,0.9\n", "1,a\n")
    with pytest.raises(NothingToEvaluate, match=r"some differ only by a trailing '\.0'"):
        rt.evaluate(*files, "mrr")


def test_an_evaluation_without_any_hit_is_a_warning_with_an_example() -> None:
    evaluation = rt.evaluate({"u": ["x"]}, {"u": ["y"]}, "mrr")
    assert evaluation["mrr"] == 0
    (entry,) = [e for e in evaluation.ledger.warnings() if e.name == "without_any_hit"]
    assert "predictions 'x', truth 'y'" in str(entry)


def test_one_common_item_is_enough_to_trust_the_ids() -> None:
    # "a" is in both tables, so the spelling of ids agrees and " a" is another item
    evaluation = rt.evaluate({"u": [" a"], "v": ["a"]}, {"u": ["a"], "v": ["b"]}, "mrr")
    assert evaluation["mrr"] == 0
    assert evaluation.ledger["without_any_hit"] == 2
