"""Ids of every kind are kept as they are, and kinds that do not fit each other are explained."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rectitude as rt
from rectitude.arrays import Pieces
from rectitude.data import ids as ids_module
from rectitude.errors import BadIds

KINDS: dict[str, tuple[Any, Any]] = {
    "integers": (1, 2),
    "integers beyond float precision": (2**53, 2**53 + 1),
    "the largest int64": (2**63 - 2, 2**63 - 1),
    "uint64 above int64": (2**63, 2**64 - 1),
    "small and very large": (0, 2**64 - 1),
    "negative": (-1, -(2**63)),
    "minus one and zero": (-1, 0),
    "text": ("a", "b"),
    "text that differs in case": ("a", "A"),
    "numbers as text": ("7", "007"),
    "text with spaces": ("a", "a "),
    "empty text": ("", "a"),
    "not ASCII": ("ü", "u\u0308"),
    "emoji": ("😀", "😁"),
    "tuples": ((1, "a"), (1, "b")),
    "dates": (dt.date(2024, 1, 1), dt.date(2024, 1, 2)),
    "times": (dt.datetime(2024, 1, 1, 1, 0, 0, 1), dt.datetime(2024, 1, 1, 1, 0, 0, 2)),
    "mixed objects": (1, "1"),
    "floats": (0.5, 0.25),
    "bytes": (b"a", b"b"),
    "frozen sets": (frozenset((1,)), frozenset((2,))),
    "numbers and their texts in tuples": ((1,), ("1",)),
}


@pytest.mark.parametrize(("one", "other"), KINDS.values(), ids=list(KINDS))
def test_items_of_any_kind_are_told_apart(one: Any, other: Any, kernels: str) -> None:
    lists = {"u": [other, one], "v": [one, other]}
    evaluation = rt.evaluate(lists, {"u": [one], "v": [one]}, "mrr")
    assert evaluation["mrr"] == (1 / 2 + 1) / 2


@pytest.mark.parametrize(("one", "other"), KINDS.values(), ids=list(KINDS))
def test_users_of_any_kind_are_told_apart(one: Any, other: Any, kernels: str) -> None:
    lists, truth = {one: ["a"], other: ["x"]}, {other: ["a"], one: ["a"]}
    evaluation = rt.evaluate(lists, truth, "hit")
    assert evaluation["hit"] == 1 / 2
    table = dict(evaluation.per_list().rows())
    assert table == {one: 1.0, other: 0.0}


@pytest.mark.parametrize(
    "dtype", [pl.Int8, pl.UInt8, pl.Int32, pl.UInt32, pl.Int64, pl.UInt64, pl.Int128]
)
def test_integers_of_different_width_are_the_same_ids(dtype: Any, kernels: str) -> None:
    lists = pl.DataFrame({"user": [1, 1], "item": [3, 5]}).cast(dtype)
    evaluation = rt.evaluate(lists, {1: [5]}, "mrr")
    assert evaluation["mrr"] == 1 / 2


def test_ids_that_differ_beyond_float_precision_in_pandas_and_arrow() -> None:
    big = 2**53
    frame = pd.DataFrame({"user": [big, big + 1], "item": [big + 3, big + 2]})
    truth = pd.DataFrame({"user": [big, big + 1], "item": [big + 2, big + 2]})
    assert rt.evaluate(frame, truth, "hit")["hit"] == 1 / 2
    assert rt.evaluate(pl.from_pandas(frame).to_arrow(), truth, "hit")["hit"] == 1 / 2


@pytest.mark.parametrize("side", ["lists", "truth", "both"])
def test_categories_and_enums_are_their_text(side: str, kernels: str) -> None:
    plain = pl.DataFrame({"user": ["u", "u", "v"], "item": ["b", "a", "b"]})
    # a and b get other physical numbers than their order
    enum = plain.with_columns(pl.col("item").cast(pl.Enum(["b", "zz", "a"])))
    category = plain.to_pandas().astype(
        {"item": pd.CategoricalDtype(["zz", "b", "a"]), "user": "category"}
    )
    truth = pl.DataFrame({"user": ["u", "v"], "item": ["a", "a"]})
    for made in (enum, category, plain.cast({"item": pl.Categorical})):
        lists = made if side in ("lists", "both") else plain
        told = truth
        if side in ("truth", "both"):
            told = truth.with_columns(pl.col("item").cast(pl.Enum(["c", "a"])))
        assert rt.evaluate(lists, told, "mrr")["mrr"] == (1 / 2 + 0) / 2


@pytest.mark.parametrize(("ours", "theirs", "words"), [
    ([1, 2], ["1", "2"], ("integer", "text", "1", "'1'")),
    ([1, 2], [1.0, 2.0], ("integer", "float", "1.0")),
    (["1"], [1.0], ("text", "float")),
    ([dt.date(2024, 1, 1)], ["2024-01-01"], ("Date", "text")),
    ([True], [1], ("Boolean", "integer")),
])  # fmt: skip
@pytest.mark.parametrize("column", ["user", "item"])
def test_1_and_1_0_and_text_1_are_noticed_and_explained(
    ours: list[Any], theirs: list[Any], words: tuple[str, ...], column: str
) -> None:
    same = {"user": "u", "item": "a"}
    other = "item" if column == "user" else "user"
    lists = pl.DataFrame({column: ours, other: [same[other]] * len(ours)})
    truth = pd.DataFrame({column: theirs, other: [same[other]] * len(theirs)})
    with pytest.raises(BadIds) as caught:
        rt.evaluate(lists, truth, "hit")
    message = str(caught.value)
    for word in (*words, f"{column} ids", "polars DataFrame", "pandas DataFrame", "cast"):
        assert word in message
    assert isinstance(caught.value, TypeError)


def test_missing_ids_are_refused_with_their_number() -> None:
    lists = pl.DataFrame({"user": [1, None, None], "item": [1, 2, 3]})
    with pytest.raises(BadIds, match=r"2 of 3 rows have no user \(first: row 2\)"):
        rt.evaluate(lists, {1: [1]}, "hit")


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_ids_in_csv_keep_their_zeros(tmp_path: Path) -> None:
    lists = written(tmp_path / "lists.csv", "user,item,rank\nu,007,1\nu,7,2\n")
    truth = written(tmp_path / "truth.csv", "user,item\nu,7\n")
    assert rt.evaluate(lists, truth, "mrr")["mrr"] == 1 / 2


def test_ids_in_csv_take_the_type_of_the_other_side(tmp_path: Path) -> None:
    big = 2**53
    lists = written(tmp_path / "lists.csv", f"user,item,rank\n1,{big},1\n1,{big + 1},2\n")
    whole = pl.DataFrame({"user": [1], "item": [big + 1]})
    whole.write_parquet(tmp_path / "truth.parquet")
    assert rt.evaluate(lists, tmp_path / "truth.parquet", "mrr")["mrr"] == 1 / 2
    assert rt.evaluate(lists, whole.cast(pl.String), "mrr")["mrr"] == 1 / 2


def test_ids_above_int64_in_csv_take_the_type_of_the_other_side(tmp_path: Path) -> None:
    lists = written(tmp_path / "lists.csv", f"user,item,rank\n1,{2**64 - 2},1\n1,{2**64 - 1},2\n")
    truth = pl.DataFrame({"user": [1], "item": pl.Series([2**64 - 1], dtype=pl.UInt64)})
    assert rt.evaluate(lists, truth, "mrr")["mrr"] == 1 / 2


def test_ids_in_csv_that_are_no_numbers_do_not_fit_integers(tmp_path: Path) -> None:
    lists = written(tmp_path / "lists.csv", "user,item,rank\n1,007,1\n1,8,2\n")
    with pytest.raises(BadIds, match="item ids") as caught:
        rt.evaluate(lists, pl.DataFrame({"user": [1], "item": [7]}), "mrr")
    assert "007" in str(caught.value)


def test_numbers_of_numpy_in_mixed_ids_are_numbers() -> None:
    lists = {np.int64(1): ["a"], "one": ["x"]}
    assert rt.evaluate(lists, {1: ["a"], "one": ["a"]}, "hit")["hit"] == 1 / 2


def colliding(series: pl.Series) -> Pieces:
    """A hash that tells only the lengths of ids apart."""
    return Pieces(series.str.len_bytes().to_numpy().astype(np.int64))


def everything_collides(series: pl.Series) -> Pieces:
    return Pieces(np.zeros(len(series), np.int64))


@pytest.mark.parametrize("hashes", [None, colliding, everything_collides])
@pytest.mark.parametrize("more", [{}, {"items": ["a", "cc", "x"]}, {"train": {"u": ["a", "x"]}}])
def test_hash_collisions_change_nothing(
    hashes: Any, more: dict[str, Any], kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = {"u": ["x", "a", "bb"], "v": ["cc", "y", "a"], "w": ["zzz", "yy"]}
    truth = {"u": ["a", "b"], "v": ["bb", "dd", "y"], "w": ["xxx"]}
    convention = {"unknown_items": "drop", "truth_needed": "judged", "undefined": "zero"}
    asked = ["ndcg@2", "map", "recall", "precision@1", "bpref"]
    exact = rt.evaluate(lists, truth, asked, convention, **more)
    monkeypatch.setattr(ids_module, "HASH_FROM_ROWS", 0)
    if hashes is not None:
        monkeypatch.setattr(ids_module, "_hashes", hashes)
    hashed = rt.evaluate(lists, truth, asked, convention, **more)
    assert hashed.values() == exact.values()
    assert hashed.ledger.as_dict() == exact.ledger.as_dict()
    assert hashed.manifest["inputs"] == exact.manifest["inputs"]


def fingerprint(evaluation: rt.Evaluation) -> str:
    return str(evaluation.manifest["inputs"]["predictions"]["fingerprint"])


def test_the_fingerprint_of_one_side_does_not_depend_on_the_other() -> None:
    for one, others in [
        (2**63 + 5, (7, 8)),
        (5, (7, 2**40)),
        ("e", ("a", "zz")),
        ((1,), ((0,), (2,))),
    ]:
        prints = {
            fingerprint(rt.evaluate({"u": [one]}, {"u": truth}, "hit"))
            for truth in ([one], [one, *others])
        }
        assert len(prints) == 1, one


def test_the_fingerprint_tells_contents_apart() -> None:
    lists: list[Any] = [
        {"u": ["a", "b"]}, {"u": ["b", "a"]}, {"u": ["a"]}, {"v": ["a", "b"], "u": ["x"]},
        {"u": {"a": 1.0, "b": 2.0}}, {"u": {"a": 1.0, "b": 3.0}},
    ]  # fmt: skip
    truth = {"u": ["a"], "v": ["a"]}
    prints = {fingerprint(rt.evaluate(made, truth, "hit")) for made in lists}
    assert len(prints) == len(lists)


def test_a_collision_between_truth_and_catalogue_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # b is unknown; only the hash says that it is q, which stands in no list and not in the truth.
    def one_collision(series: pl.Series) -> Pieces:
        return Pieces(series.replace("b", "q").hash().to_numpy().view(np.int64))

    monkeypatch.setattr(ids_module, "HASH_FROM_ROWS", 0)
    monkeypatch.setattr(ids_module, "_hashes", one_collision)
    evaluation = rt.evaluate(
        {"u": ["a"]}, {"u": ["a", "b"]}, "recall", {"unknown_items": "drop"}, items=["a", "q"]
    )
    assert evaluation["recall"] == 1
    assert evaluation.ledger["items_unknown"] == 1
