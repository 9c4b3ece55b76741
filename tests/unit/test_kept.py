"""Stored evaluations that keep their values per list: in a zip, or as Parquet beside the JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadIds, BadName, MissingNeed, UnreadableFile

FROZEN = Path(__file__).parent / "frozen" / "evaluation-1.json"
TRUTH = {"ann": ["a"], "ben": ["b", "c"], "cid": ["d"], "dan": ["e"]}
LISTS = {"ann": ["a", "x"], "ben": ["x", "b"], "cid": ["x"]}
NAMES = ["ndcg@2", "mrr", "f1_of_means@2"]


def evaluation(**switches: Any) -> rt.Evaluation:
    """Of four users, one of whom has no list and does not count."""
    return rt.evaluate(LISTS, TRUTH, NAMES, {"list_needed": "items", **switches})


def sessions() -> rt.Evaluation:
    """Users with several lists, which have weights."""
    rows = [(u, s, i) for u in range(4) for s in range(2 * u, 2 * u + 2) for i in range(3)]
    lists = pl.DataFrame(rows, schema=["user", "session", "item"], orient="row")
    wanted = pl.DataFrame({"user": [0, 0, 1, 2, 3], "session": [0, 1, 2, 4, 6], "item": 1})
    weights = pl.DataFrame({"session": range(8), "weight": [1.0, 2, 3, 4, 5, 6, 7, 8]})
    return rt.evaluate(
        lists.with_columns(rank=pl.col("item") + 1), wanted, "mrr", list_key="session",
        weights=weights,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["kept.zip", "kept.json"])
@pytest.mark.parametrize("made", [evaluation, sessions])
def test_what_was_kept_is_read_again(name: str, made: Any, tmp_path: Path) -> None:
    before = made()
    before.save(tmp_path / name, per_list="kept")
    after = rt.Evaluation.load(tmp_path / name)
    assert after.per_list().equals(before.per_list())
    assert after.per_user().sort("user").equals(before.per_user().sort("user"))
    assert after.as_dict() == before.as_dict()
    for metric in before:
        mine, theirs = before.result(metric).values, after.result(metric).values
        assert (mine is None) == (theirs is None)
        assert mine is None or theirs is None or np.array_equal(mine, theirs, equal_nan=True)


def test_a_zip_keeps_values_without_being_told_and_json_does_not(tmp_path: Path) -> None:
    evaluation().save(tmp_path / "a.zip")
    evaluation().save(tmp_path / "a.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.zip"]
    frame = rt.Evaluation.load(tmp_path / "a.zip").per_list()
    assert (frame.height, frame["mrr"].null_count()) == (4, 1)
    with pytest.raises(MissingNeed, match=r"save a zip, which keeps them"):
        rt.Evaluation.load(tmp_path / "a.json").per_list()


def test_other_programs_can_read_what_is_kept(tmp_path: Path) -> None:
    evaluation().save(tmp_path / "a.json", per_list="kept")
    frame = pl.read_parquet(tmp_path / "a.lists.parquet")
    assert frame.columns == ["user", "ndcg@2", "mrr"]
    evaluation().save(tmp_path / "a.zip")
    with ZipFile(tmp_path / "a.zip") as archive:
        assert archive.namelist() == ["evaluation.json", "evaluation.lists.parquet"]
        stored = json.loads(archive.read("evaluation.json"))
    assert stored == json.loads((tmp_path / "a.json").read_text())
    assert stored["format"] == "rectitude.evaluation"


def test_a_zip_is_the_same_every_time(tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        evaluation().save(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_what_is_unpacked_is_read_like_the_zip(tmp_path: Path) -> None:
    evaluation().save(tmp_path / "a.zip")
    with ZipFile(tmp_path / "a.zip") as archive:
        archive.extractall(tmp_path / "a")
    found = rt.Evaluation.load(tmp_path / "a" / "evaluation.json")
    assert found.per_list().equals(evaluation().per_list())


def test_values_of_another_evaluation_are_not_taken_for_its_own(tmp_path: Path) -> None:
    evaluation().save(tmp_path / "a.json", per_list="kept")
    evaluation(discount_by="place").save(tmp_path / "a.json")
    with pytest.raises(MissingNeed, match="hold no values per list"):
        rt.Evaluation.load(tmp_path / "a.json").per_list()
    pl.DataFrame({"user": ["ann"]}).write_parquet(tmp_path / "a.lists.parquet")
    assert rt.Evaluation.load(tmp_path / "a.json").lists is None


def test_an_evaluation_of_the_first_release_can_be_saved_as_a_zip(tmp_path: Path) -> None:
    old = rt.Evaluation.load(FROZEN)
    old.save(tmp_path / "old.zip")
    again = rt.Evaluation.load(tmp_path / "old.zip")
    assert (again.values(), again.lists) == (old.values(), None)
    with pytest.raises(MissingNeed, match="hold no values per list"):
        old.save(tmp_path / "old.json", per_list="kept")


def test_bad_files_are_refused_with_what_is_wrong(tmp_path: Path) -> None:
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(UnreadableFile, match=r"broken.zip cannot be read"):
        rt.Evaluation.load(broken)
    with ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(UnreadableFile, match=r"holds no evaluation.json"):
        rt.Evaluation.load(tmp_path / "other.zip")
    with pytest.raises(UnreadableFile, match=r"none.zip cannot be read"):
        rt.Evaluation.load(tmp_path / "none.zip")
    evaluation().save(tmp_path / "a.json", per_list="kept")
    (tmp_path / "a.lists.parquet").write_bytes(b"PAR1 half a file")
    with pytest.raises(UnreadableFile, match=r"a.lists.parquet cannot be read"):
        rt.Evaluation.load(tmp_path / "a.json")
    with pytest.raises(BadName, match="per_list cannot be 'yes'"):
        evaluation().save(tmp_path / "a.json", per_list="yes")  # type: ignore[arg-type]


def test_ids_that_no_file_holds_are_refused(tmp_path: Path) -> None:
    mixed = {("a", 1): ["x"], ("b", 2): ["y"]}
    found = rt.evaluate(mixed, mixed, "mrr")
    assert found.per_list()["user"].dtype == pl.Object
    with pytest.raises(BadIds, match="users are Python objects"):
        found.save(tmp_path / "a.zip")
