"""Ids of every type are kept unchanged, and errors explain types that do not fit each other."""

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
    "floats": (0.5, 0.25),
    "bytes": (b"a", b"b"),
    "frozen sets": (frozenset((1,)), frozenset((2,))),
    "numbers and their texts in tuples": ((1,), ("1",)),
}


@pytest.mark.parametrize(("first", "second"), KINDS.values(), ids=list(KINDS))
def test_items_of_any_type_are_distinguished(first: Any, second: Any, kernels: str) -> None:
    lists = {"u": [second, first], "v": [first, second]}
    evaluation = rt.evaluate(lists, {"u": [first], "v": [first]}, "mrr")
    assert evaluation["mrr"] == (1 / 2 + 1) / 2


@pytest.mark.parametrize(("first", "second"), KINDS.values(), ids=list(KINDS))
def test_users_of_any_type_are_distinguished(first: Any, second: Any, kernels: str) -> None:
    lists, truth = {first: ["a"], second: ["x"]}, {second: ["a"], first: ["a"]}
    evaluation = rt.evaluate(lists, truth, "hit")
    assert evaluation["hit"] == 1 / 2
    table = dict(evaluation.per_list().rows())
    assert table == {first: 1.0, second: 0.0}


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
    # the physical numbers of a and b differ from their order
    enum = plain.with_columns(pl.col("item").cast(pl.Enum(["b", "zz", "a"])))
    category = plain.to_pandas().astype(
        {"item": pd.CategoricalDtype(["zz", "b", "a"]), "user": "category"}
    )
    truth = pl.DataFrame({"user": ["u", "v"], "item": ["a", "a"]})
    for typed in (enum, category, plain.cast({"item": pl.Categorical})):
        lists = typed if side in ("lists", "both") else plain
        typed_truth = truth
        if side in ("truth", "both"):
            typed_truth = truth.with_columns(pl.col("item").cast(pl.Enum(["c", "a"])))
        assert rt.evaluate(lists, typed_truth, "mrr")["mrr"] == (1 / 2 + 0) / 2


@pytest.mark.parametrize(("lists_ids", "truth_ids", "words"), [
    ([1, 2], ["1", "2"], ("integer", "text", "1", "'1'")),
    ([1, 2], [1.0, 2.0], ("integer", "float", "1.0")),
    (["1"], [1.0], ("text", "float")),
    ([dt.date(2024, 1, 1)], ["2024-01-01"], ("Date", "text")),
    ([True], [1], ("Boolean", "integer")),
])  # fmt: skip
@pytest.mark.parametrize("column", ["user", "item"])
def test_the_difference_of_1_and_1_0_and_text_1_is_explained(
    lists_ids: list[Any], truth_ids: list[Any], words: tuple[str, ...], column: str
) -> None:
    same = {"user": "u", "item": "a"}
    other = "item" if column == "user" else "user"
    lists = pl.DataFrame({column: lists_ids, other: [same[other]] * len(lists_ids)})
    truth = pd.DataFrame({column: truth_ids, other: [same[other]] * len(truth_ids)})
    with pytest.raises(BadIds) as caught:
        rt.evaluate(lists, truth, "hit")
    message = str(caught.value)
    for word in (*words, f"{column} ids", "polars DataFrame", "pandas DataFrame", "cast"):
        assert word in message
    assert isinstance(caught.value, TypeError)


def test_a_table_without_rows_fits_ids_of_any_type() -> None:
    days = pl.Series("user", [dt.date(2026, 1, 1), dt.date(2026, 1, 2)])
    none = pl.Series("user", [], dtype=pl.String)
    columns = {
        "truth": ids_module.Column(days, "truth"),
        "users": ids_module.Column(none, "users", text=True),
    }
    assert len(ids_module.align(columns, "user").codes["users"].whole) == 0


def test_categories_of_digits_are_whole_numbers() -> None:
    assert ids_module.whole_numbers(pl.Series(["7", "8"], dtype=pl.Categorical)).to_list() == [7, 8]
    assert ids_module.whole_numbers(pl.Series([1.5, 2.0])) is None


def test_missing_ids_are_refused_with_a_count() -> None:
    lists = pl.DataFrame({"user": [1, None, None], "item": [1, 2, 3]})
    with pytest.raises(BadIds, match=r"2 of 3 rows have no user \(first: row 2\)"):
        rt.evaluate(lists, {1: [1]}, "hit")


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_ids_in_csv_keep_leading_zeros(tmp_path: Path) -> None:
    lists = written(tmp_path / "lists.csv", "user,item,rank\nu,007,1\nu,7,2\n")
    truth = written(tmp_path / "truth.csv", "user,item\nu,7\n")
    assert rt.evaluate(lists, truth, "mrr")["mrr"] == 1 / 2


def test_ids_in_csv_take_the_type_of_the_other_table(tmp_path: Path) -> None:
    big = 2**53
    lists = written(tmp_path / "lists.csv", f"user,item,rank\n1,{big},1\n1,{big + 1},2\n")
    whole = pl.DataFrame({"user": [1], "item": [big + 1]})
    whole.write_parquet(tmp_path / "truth.parquet")
    assert rt.evaluate(lists, tmp_path / "truth.parquet", "mrr")["mrr"] == 1 / 2
    assert rt.evaluate(lists, whole.cast(pl.String), "mrr")["mrr"] == 1 / 2


def test_ids_above_int64_in_csv_take_the_type_of_the_other_table(tmp_path: Path) -> None:
    lists = written(tmp_path / "lists.csv", f"user,item,rank\n1,{2**64 - 2},1\n1,{2**64 - 1},2\n")
    truth = pl.DataFrame({"user": [1], "item": pl.Series([2**64 - 1], dtype=pl.UInt64)})
    assert rt.evaluate(lists, truth, "mrr")["mrr"] == 1 / 2


def test_ids_in_csv_that_are_not_numbers_do_not_fit_integers(tmp_path: Path) -> None:
    lists = written(tmp_path / "lists.csv", "user,item,rank\n1,007,1\n1,8,2\n")
    with pytest.raises(BadIds, match="item ids") as caught:
        rt.evaluate(lists, pl.DataFrame({"user": [1], "item": [7]}), "mrr")
    assert "007" in str(caught.value)


def test_ids_of_several_types_in_one_dict_are_an_error() -> None:
    words = r"user ids have several types: 2 of type int \(first: 1\), 1 of type str \(first: '2'\)"
    with pytest.raises(BadIds, match=words):
        rt.evaluate({1: [2, 3], "2": [3]}, {1: [2], 2: [3]}, "recall@10")
    with pytest.raises(BadIds, match="item ids have several types"):
        rt.evaluate({1: [2, "3"]}, {1: [2]}, "recall@10")
    with pytest.raises(BadIds, match="item ids have several types"):
        rt.evaluate({1: [2, 3]}, {1: {2, "3"}}, "recall@10")


def test_numpy_and_python_numbers_are_ids_of_one_type() -> None:
    lists = {np.int64(1): [(3,)], 2: [(4,)]}
    assert rt.evaluate(lists, {1: [(3,)], 2: [(3,)]}, "hit")["hit"] == 1 / 2


def test_ids_with_several_parts_do_not_fit_single_ids() -> None:
    with pytest.raises(BadIds, match="item ids are object in predictions"):
        rt.evaluate({1: [("a", "b")]}, {1: ["a"]}, "hit")


def colliding(series: pl.Series) -> Pieces:
    """Hash ids by their length only."""
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
    metrics = ["ndcg@2", "map", "recall", "precision@1", "bpref"]
    exact = rt.evaluate(lists, truth, metrics, convention, **more)
    monkeypatch.setattr(ids_module, "HASH_FROM_ROWS", 0)
    if hashes is not None:
        monkeypatch.setattr(ids_module, "_hash_ids", hashes)
    hashed = rt.evaluate(lists, truth, metrics, convention, **more)
    assert hashed.values() == exact.values()
    assert hashed.ledger.as_dict() == exact.ledger.as_dict()
    assert hashed.manifest["inputs"] == exact.manifest["inputs"]


def fingerprint(evaluation: rt.Evaluation) -> str:
    return str(evaluation.manifest["inputs"]["predictions"]["fingerprint"])


def test_the_fingerprint_of_one_table_does_not_depend_on_the_other() -> None:
    for item, others in [
        (2**63 + 5, (7, 8)),
        (5, (7, 2**40)),
        ("e", ("a", "zz")),
        ((1,), ((0,), (2,))),
    ]:
        prints = {
            fingerprint(rt.evaluate({"u": [item]}, {"u": truth}, "hit"))
            for truth in ([item], [item, *others])
        }
        assert len(prints) == 1, item


def test_different_contents_have_different_fingerprints() -> None:
    lists: list[Any] = [
        {"u": ["a", "b"]}, {"u": ["b", "a"]}, {"u": ["a"]}, {"v": ["a", "b"], "u": ["x"]},
        {"u": {"a": 1.0, "b": 2.0}}, {"u": {"a": 1.0, "b": 3.0}},
    ]  # fmt: skip
    truth = {"u": ["a"], "v": ["a"]}
    prints = {fingerprint(rt.evaluate(predictions, truth, "hit")) for predictions in lists}
    assert len(prints) == len(lists)


def test_a_collision_between_truth_and_catalogue_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # b is unknown; only the hash makes it equal to q, which is in no list and not in the truth.
    def one_collision(series: pl.Series) -> Pieces:
        return Pieces(series.replace("b", "q").hash().to_numpy().view(np.int64))

    monkeypatch.setattr(ids_module, "HASH_FROM_ROWS", 0)
    monkeypatch.setattr(ids_module, "_hash_ids", one_collision)
    evaluation = rt.evaluate(
        {"u": ["a"]}, {"u": ["a", "b"]}, "recall", {"unknown_items": "drop"}, items=["a", "q"]
    )
    assert evaluation["recall"] == 1
    assert evaluation.ledger["items_unknown"] == 1
