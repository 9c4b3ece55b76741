"""Dicts, rows, ids, matrices, and frames with one row per list."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from rectitude.data.read import read
from rectitude.errors import BadTable

# dicts


def test_a_dict_of_lists_is_in_order_and_keeps_empty_lists() -> None:
    table = read({"u1": ["b", "a"], "u2": [], "u3": ("c",)}, "predictions")
    assert table.frame.rows() == [("u1", "b"), ("u1", "a"), ("u3", "c")]
    assert table.given
    assert table.handed is not None and table.handed.to_list() == ["u1", "u2", "u3"]
    assert table.columns == {"list": "", "item": ""}
    assert table.source == "dict of lists"


def test_a_dict_of_arrays_keeps_their_type() -> None:
    table = read({1: np.array([5, 6], dtype=np.int32), 2: np.array([], dtype=np.int32)}, "truth")
    assert table.frame["item"].dtype == pl.Int32
    assert table.frame["list"].to_list() == [1, 1]


def test_a_dict_of_sets_is_truth() -> None:
    table = read({"u1": {"b", "a"}, "u2": set()}, "truth")
    assert table.frame.rows() == [("u1", "a"), ("u1", "b")]
    assert not table.given


def test_a_dict_of_sets_cannot_be_predictions() -> None:
    with pytest.raises(BadTable, match="the items of a set are not ranked"):
        read({"u1": {"b", "a"}}, "predictions")


def test_a_dict_of_numbers_is_weights() -> None:
    assert read({"u1": 2, "u2": 0.5}, "weights").frame.rows() == [("u1", 2.0), ("u2", 0.5)]


def test_the_error_for_a_dict_of_single_items_asks_for_lists() -> None:
    with pytest.raises(BadTable, match="the value of 'u1' is of type str: 'a'") as caught:
        read({"u1": "a"}, "truth")
    assert "in a list" in str(caught.value)


def test_a_dict_of_mixed_values_names_the_first() -> None:
    with pytest.raises(
        BadTable, match="the value of 'u2' is of type dict, but the first value is of type list"
    ):
        read({"u1": ["a"], "u2": {"a": 1}}, "truth")


def test_columns_of_different_lengths_are_an_error() -> None:
    with pytest.raises(BadTable, match="different lengths: 'user': 2, 'item': 1"):
        read({"user": [1, 2], "item": [1]}, "truth")


def test_an_empty_dict_is_an_empty_table() -> None:
    table = read({}, "truth")
    assert table.frame.columns == ["list", "item"]
    assert table.frame.is_empty()


# rows, ids, matrices


def test_rows_of_different_lengths_name_the_first() -> None:
    with pytest.raises(BadTable, match="row 2 is of type tuple"):
        read([("u", "a"), ("u", "a", 1)], "truth")


def test_rows_that_are_neither_dicts_nor_tuples_are_an_error() -> None:
    with pytest.raises(BadTable, match="row 1 is of type list"):
        read([["a", "b"]], "train")
    with pytest.raises(BadTable, match="row 1 is of type str"):
        read(["a", "b"], "predictions")


@pytest.mark.parametrize(
    "ids",
    [[3, 1], np.array([3, 1]), pl.Series([3, 1]), pd.Series([3, 1]), pd.Index([3, 1]), (3, 1)],
)
def test_ids_alone_are_items_or_users(ids: object) -> None:
    assert read(ids, "items").frame["item"].to_list() == [3, 1]
    assert read(ids, "users").frame["list"].to_list() == [3, 1]


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.coo_array, sparse.csc_matrix])
def test_a_sparse_matrix_keeps_stored_zeros_and_empty_rows(kind: type) -> None:
    stored = sparse.coo_array(
        (np.array([0.5, 0.0], dtype=np.float32), ([0, 2], [3, 1])), shape=(3, 4)
    )
    table = read(kind(stored), "predictions")
    assert table.frame.rows() == [(0, 3, 0.5), (2, 1, 0.0)]
    assert table.frame["score"].dtype == pl.Float32
    assert table.handed is not None and table.handed.to_list() == [0, 1, 2]


def test_a_sparse_matrix_of_truth_has_grades() -> None:
    table = read(sparse.csr_matrix(np.array([[0, 2], [1, 0]])), "truth")
    assert table.frame.rows() == [(0, 1, 2.0), (1, 0, 1.0)]
    assert table.handed is None


def test_a_sparse_matrix_of_complex_numbers_is_an_error() -> None:
    with pytest.raises(BadTable, match="complex"):
        read(sparse.csr_matrix(np.array([[1j]])), "predictions")


# one row per list


def test_a_frame_with_lists_of_items_is_in_order_and_keeps_empty_lists() -> None:
    frame = pl.DataFrame({"user": [1, 2, 3], "items": [["b", "a"], [], ["c"]]})
    table = read(frame, "predictions")
    assert table.frame.rows() == [(1, "b"), (1, "a"), (3, "c")]
    assert table.given
    assert table.handed is not None and table.handed.to_list() == [1, 2, 3]


def test_lists_of_items_and_scores_must_have_the_same_length() -> None:
    frame = pl.DataFrame(
        {"user": [1, 2], "item": [["a", "b"], ["c"]], "score": [[0.5, 0.1], [1.0]]}
    )
    assert read(frame, "predictions").frame["score"].to_list() == [0.5, 0.1, 1.0]
    with pytest.raises(BadTable, match="a list has 2 items but 1 values in the score column"):
        read(frame.with_columns(score=pl.Series([[0.5], [1.0]])), "predictions")


def test_native_lenskit_lists_are_read() -> None:
    items = [[{"item_id": 7, "score": 0.5, "rank": 1}], []]
    kind = pl.List(pl.Struct({"item_id": pl.Int64, "score": pl.Float32, "rank": pl.Int32}))
    frame = pl.DataFrame({"user_id": [1, 2], "items": pl.Series(items, dtype=kind)})
    table = read(frame, "predictions")
    assert table.frame.rows() == [(1, 7, 0.5, 1)]
    assert table.columns["item"] == "items.item_id"
    assert table.handed is not None and table.handed.to_list() == [1, 2]
