"""Options of golden cases that decide which lists and tables are passed to `evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rectitude.conformance.cases import changes, load
from rectitude.conformance.run import conformance

TABLES = {
    "recommendations": {
        "user": [1, 1, 2, 3, 3], "item": [7, 8, 7, 9, 6], "score": [2.0, 1.0, 2.0, 2.0, 1.0],
        "position": [0, 1, 0, 0, 1],
    },
    "truth": {"user": [1, 2, 3], "item": [8, 7, 6], "grade": [1.0, 1.0, 1.0]},
    "train": {"user": [4, 4, 5, 5], "item": [6, 7, 6, 8]},
    "items": {"item": [5, 6, 7, 8, 9]},
}  # fmt: skip


def tree(folder: Path, profile: str, **case: Any) -> Path:
    """Write a golden tree with one case. Users 1 and 3 have a hit at rank 2 of 2, user 2 at rank 1
    of 1."""
    inputs, cases = folder / "inputs" / "lists-three", folder / "cases" / profile
    inputs.mkdir(parents=True)
    cases.mkdir(parents=True)
    for name, columns in TABLES.items():
        pl.DataFrame(columns).write_parquet(inputs / f"{name}.parquet")
    whole = {"profile": profile, "kind": "lists", "input": "lists-three", **case}
    (cases / "lists-three.json").write_text(json.dumps(whole))
    return folder


def test_users_with_lists_that_are_too_short_do_not_count(tmp_path: Path) -> None:
    expected = {"mrr@2": (1 / 2 + 1 / 2) / 2}
    options = {"users": "with_truth", "min_list_length": 2}
    folder = tree(tmp_path, "replay-torch", options=options, expected=expected)
    (case,) = load(folder)
    assert changes(case) == {"truth_needed": "relevant", "list_needed": "items"}
    (tally,) = conformance(folder)
    assert (tally.compared, tally.wrong) == (1, [])


@pytest.mark.parametrize(
    ("profile", "name", "value"),
    [
        # positions 1, 0 and 1 (from 0) of 5 items, in percent
        ("recpack", "percentile_ranking", 100 * (1 / 5 + 0 / 5 + 1 / 5) / 3),
        # 6 has 2 of 4 interactions, 7 and 8 have 1
        ("recpack", "hit[ips]@2", (4 / 1 + 4 / 1 + 4 / 2) / 3),
        # of 5 items, one is recommended correctly, one wrongly, and none is missed
        ("rectools", "accuracy@2", 4 / 5),
    ],
)
def test_metrics_get_the_catalogue_and_the_training_data(
    profile: str, name: str, value: float, tmp_path: Path
) -> None:
    (tally,) = conformance(tree(tmp_path, profile, options={}, expected={name: value}))
    assert (tally.compared, tally.wrong) == (1, [])


def test_catalogue_can_be_the_training_items(tmp_path: Path) -> None:
    options = {"catalogue": "train_items"}
    folder = tree(tmp_path, "rectools", options=options, expected={"accuracy@2": 2 / 3})
    (tally,) = conformance(folder)
    assert (tally.compared, tally.wrong) == (1, [])


def test_list_without_judged_items_still_counts(tmp_path: Path) -> None:
    options = {"judged_only": True, "users": "judged", "without_list": "skip"}
    folder = tree(tmp_path, "pytrec_eval", options=options, expected={"mrr": (1 + 0 + 1) / 3})
    judged = pl.DataFrame(TABLES["truth"] | {"item": [8, 9, 6]})  # user 2 has only item 7
    judged.write_parquet(folder / "inputs" / "lists-three" / "truth.parquet")
    (tally,) = conformance(folder)
    assert (tally.compared, tally.wrong) == (1, [])


def test_case_without_users_left_is_wrong_and_does_not_stop_other_cases(tmp_path: Path) -> None:
    options = {"users": "with_truth", "min_list_length": 9}
    folder = tree(tmp_path, "replay-torch", options=options, expected={"mrr@2": 0.5})
    second = json.loads((folder / "cases/replay-torch/lists-three.json").read_text())
    second |= {"options": {"users": "with_truth"}, "expected": {"mrr@2": 2 / 3}}
    (folder / "cases/replay-torch/lists-three--all.json").write_text(json.dumps(second))
    (tally,) = conformance(folder)
    assert (tally.compared, tally.agree) == (2, 1)
    assert [value.got for value in tally.wrong] == [None]
