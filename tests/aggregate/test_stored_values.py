"""Stored evaluations that keep their values per list: in a zip, or as Parquet next to the JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadIds, MissingNeed, RectitudeError, UnreadableFile

FROZEN = Path(__file__).parents[1] / "layers" / "frozen" / "evaluation-1.json"
TRUTH = {"ann": ["a"], "ben": ["b", "c"], "cid": ["d"], "dan": ["e"]}
LISTS = {"ann": ["a", "x"], "ben": ["x", "b"], "cid": ["x"]}
NAMES = ["ndcg@2", "mrr", "f1_of_means@2"]


def evaluation(**switches: Any) -> rt.Evaluation:
    """An evaluation of four users, one without a list, who does not count."""
    return rt.evaluate(LISTS, TRUTH, NAMES, {"list_needed": "items", **switches})


def sessions() -> rt.Evaluation:
    """An evaluation of users with several weighted lists."""
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
def test_kept_values_are_read_again(name: str, made: Any, tmp_path: Path) -> None:
    before = made()
    before.save(tmp_path / name, per_list="kept")
    after = rt.Evaluation.load(tmp_path / name)
    assert after.per_list().equals(before.per_list())
    assert after.per_user().sort("user").equals(before.per_user().sort("user"))
    assert after.as_dict() == before.as_dict()
    for metric in before:
        saved, loaded = before.result(metric).values, after.result(metric).values
        assert (saved is None) == (loaded is None)
        assert saved is None or loaded is None or np.array_equal(saved, loaded, equal_nan=True)


def test_a_zip_keeps_values_by_default_and_json_does_not(tmp_path: Path) -> None:
    evaluation().save(tmp_path / "a.zip")
    evaluation().save(tmp_path / "a.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.zip"]
    frame = rt.Evaluation.load(tmp_path / "a.zip").per_list()
    assert (frame.height, frame["mrr"].null_count()) == (4, 1)
    with pytest.raises(MissingNeed, match=r"save it as a zip, which keeps them"):
        rt.Evaluation.load(tmp_path / "a.json").per_list()


def test_other_programs_can_read_kept_values(tmp_path: Path) -> None:
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


def test_an_unpacked_zip_is_read_like_the_zip(tmp_path: Path) -> None:
    evaluation().save(tmp_path / "a.zip")
    with ZipFile(tmp_path / "a.zip") as archive:
        archive.extractall(tmp_path / "a")
    loaded = rt.Evaluation.load(tmp_path / "a" / "evaluation.json")
    assert loaded.per_list().equals(evaluation().per_list())


def test_values_of_another_evaluation_are_ignored(tmp_path: Path) -> None:
    evaluation().save(tmp_path / "a.json", per_list="kept")
    evaluation(discount_by="place").save(tmp_path / "a.json")
    with pytest.raises(MissingNeed, match="without values per list"):
        rt.Evaluation.load(tmp_path / "a.json").per_list()
    pl.DataFrame({"user": ["ann"]}).write_parquet(tmp_path / "a.lists.parquet")
    assert rt.Evaluation.load(tmp_path / "a.json").lists is None


def test_an_evaluation_of_the_first_release_can_be_saved_as_a_zip(tmp_path: Path) -> None:
    old = rt.Evaluation.load(FROZEN)
    old.save(tmp_path / "old.zip")
    again = rt.Evaluation.load(tmp_path / "old.zip")
    assert (again.values(), again.lists) == (old.values(), None)
    with pytest.raises(MissingNeed, match="without values per list"):
        old.save(tmp_path / "old.json", per_list="kept")


def test_bad_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(UnreadableFile, match=r"broken.zip is truncated or damaged"):
        rt.Evaluation.load(broken)
    with ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(UnreadableFile, match=r"does not contain evaluation.json"):
        rt.Evaluation.load(tmp_path / "other.zip")
    with pytest.raises(UnreadableFile, match=r"none.zip cannot be read"):
        rt.Evaluation.load(tmp_path / "none.zip")
    evaluation().save(tmp_path / "a.json", per_list="kept")
    (tmp_path / "a.lists.parquet").write_bytes(b"PAR1 half a file")
    with pytest.raises(UnreadableFile, match=r"a.lists.parquet cannot be read"):
        rt.Evaluation.load(tmp_path / "a.json")
    with pytest.raises(BadArgument, match="per_list is 'yes'"):
        evaluation().save(tmp_path / "a.json", per_list="yes")  # type: ignore[arg-type]


def test_ids_that_cannot_be_saved_are_refused(tmp_path: Path) -> None:
    mixed = {("a", 1): ["x"], ("b", 2): ["y"]}
    evaluated = rt.evaluate(mixed, mixed, "mrr")
    assert evaluated.per_list()["user"].dtype == pl.Object
    with pytest.raises(BadIds, match="user ids are Python objects"):
        evaluated.save(tmp_path / "a.zip")


def damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    start = data.index(b"PK\x01\x02")  # the first entry of the list of members
    if how == "method":
        data[start + 10] = 99
    elif how == "encrypted":
        data[start + 8] |= 1
    elif how == "content":
        data[45:60] = bytes(15)
    else:
        del data[len(data) // 2 :]
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["method", "encrypted", "content", "cut"])
def test_damaged_zips_are_refused(how: str, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.zip", tmp_path / "bad.zip"
    evaluation().save(good)
    evaluation().save(bad)
    damage(bad, how)
    for use in (rt.load, rt.Evaluation.load, lambda path: rt.compare([good, path])):
        with pytest.raises(RectitudeError):
            use(bad)


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", '{"format": "rectitude.evaluation"}'])
def test_other_documents_in_a_zip_are_refused(text: str, tmp_path: Path) -> None:
    with ZipFile(tmp_path / "e.zip", "w") as archive:
        archive.writestr("evaluation.json", text)
    with pytest.raises(UnreadableFile):
        rt.load(tmp_path / "e.zip")


def test_values_without_users_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    evaluation().save(path, per_list="kept")
    lists = tmp_path / "kept.lists.parquet"
    metadata = pl.read_parquet_metadata(lists)
    marks = {"rectitude.evaluation": metadata["rectitude.evaluation"]}
    pl.read_parquet(lists).drop("user").write_parquet(lists, metadata=marks)
    with pytest.raises(UnreadableFile, match="a column user, and one for each metric"):
        rt.Evaluation.load(path)
