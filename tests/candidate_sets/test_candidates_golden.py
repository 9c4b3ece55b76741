"""Candidates as Elliot draws them have the properties that its recorded case states."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from rectitude.candidate_sets.protocols import candidates as make_candidates
from rectitude.data.log import open_log
from rectitude.splits.split import Split

CASE = Path("cases", "elliot", "interactions--negatives-random_20.json")


def test_elliots_random_negatives_have_the_recorded_properties(golden: Path) -> None:
    if not (golden / CASE).exists():
        pytest.skip("this golden tree has no data cases")
    case = json.loads((golden / CASE).read_text("utf-8"))
    operation, wanted = case["operation"], case["properties"]["candidates"]
    rows = pl.read_parquet(golden / "inputs" / case["input"] / "interactions.parquet").drop("row")
    early = rows["timestamp"] < operation["base"]["timestamp"]
    split = Split(open_log(rows.filter(early)), open_log(rows.filter(~early)))
    drawn = make_candidates(split, "elliot", count=operation["num_items"], seed=42).frame
    assert drawn["user"].n_unique() == wanted["users"]
    assert set(drawn["user"].value_counts()["count"]) == {wanted["per_user"]}
    assert drawn.is_duplicated().any() != wanted["unique"]
    parts = {"train": split.train.frame, "test": split.truth.frame}
    for name in wanted["not_in"]:
        assert drawn.join(parts[name], on=["user", "item"]).is_empty()
