"""Frames, dicts, rows and matrices become one table."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from rectitude.data.interactions import Interactions
from rectitude.data.read import read
from rectitude.errors import BadIds, BadTable

USERS, ITEMS, SCORES = ["u1", "u1", "u2"], ["a", "b", "a"], [0.5, 0.25, 1.0]
COLUMNS = {"user": USERS, "item": ITEMS, "score": SCORES}
ROWS = list(zip(USERS, ITEMS, SCORES, strict=True))


@dataclass
class Lists:
    """A wrapper as predictions have one."""

    source: object
    columns: dict[str, str] = field(default_factory=dict)
    users: object | None = None
    ordered: bool = False


def arrow_table(columns: dict[str, object]) -> object:
    return pytest.importorskip("pyarrow").table(columns)


SOURCES = {
    "polars DataFrame": lambda: pl.DataFrame(COLUMNS),
    "polars LazyFrame": lambda: pl.LazyFrame(COLUMNS),
    "pandas DataFrame": lambda: pd.DataFrame(COLUMNS, index=[7, 8, 9]),
    "pyarrow Table": lambda: arrow_table(COLUMNS),
    "pyarrow RecordBatch": lambda: arrow_table(COLUMNS).to_batches()[0],
    "narwhals of polars": lambda: nw.from_native(pl.DataFrame(COLUMNS)),
    "narwhals of lazy": lambda: nw.from_native(pl.LazyFrame(COLUMNS)),
    "narwhals of pandas": lambda: nw.from_native(pd.DataFrame(COLUMNS)),
    "dict of columns": lambda: COLUMNS,
    "dict of arrays": lambda: {name: np.array(values) for name, values in COLUMNS.items()},
    "dict of dicts": lambda: {"u1": {"a": 0.5, "b": 0.25}, "u2": {"a": 1}},
    "list of dicts": lambda: [dict(zip(COLUMNS, row, strict=True)) for row in ROWS],
    "list of tuples": lambda: ROWS,
    "tuples with time": lambda: [(*row, 99) for row in ROWS],
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source_gives_the_same_table(kind: str) -> None:
    table = read(SOURCES[kind](), "predictions")
    assert table.frame.columns == ["list", "item", "score"]
    assert table.frame.rows() == ROWS
    assert not table.given and not table.text
    assert table.source


def test_importing_reads_no_heavy_package() -> None:
    code = (
        "import sys, rectitude.data.read, rectitude.data.interactions\n"
        "print([m for m in ('polars','narwhals','pandas','pyarrow','scipy') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("ids", "dtype"),
    [
        (pl.Series([1, 2, 3], dtype=pl.Int8), pl.Int8),
        (pl.Series([1, 2, 2**64 - 1], dtype=pl.UInt64), pl.UInt64),
        (pl.Series(["x", "y", "z"], dtype=pl.Categorical), pl.Categorical),
        (pl.Series([1.5, 2.0, 3.0]), pl.Float64),
        (pl.Series([date(2024, 1, day) for day in (1, 2, 3)]), pl.Date),
    ],
)
def test_ids_keep_their_type(ids: pl.Series, dtype: pl.DataType) -> None:
    table = read(pl.DataFrame({"user": ids, "item": ids}), "truth")
    assert table.frame["list"].dtype == dtype
    assert table.frame["list"].to_list() == ids.to_list()


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (pd.Series(["a", "b", "c"], dtype="string"), pl.String),
        (pd.Series(["a", "b", "c"], dtype=object), pl.String),
        (pd.Series([1, 2, 3], dtype="Int64"), pl.Int64),
        (pd.Series([1, 2, 3], dtype="uint16"), pl.UInt16),
        (pd.Series([1, 2, 3]).astype("category"), pl.Int64),
        (pd.Series(["b", "a", "b"]).astype("category"), pl.Enum(["a", "b"])),
        (pd.to_datetime(pd.Series(["2024-01-01"] * 3)), None),
    ],
)
def test_pandas_columns_keep_their_values(column: pd.Series, dtype: pl.DataType | None) -> None:
    table = read(pd.DataFrame({"user": column, "item": column}), "truth")
    assert table.frame["item"].to_list() == column.tolist()
    assert dtype is None or table.frame["item"].dtype == dtype


def test_missing_values_of_pandas_become_null() -> None:
    grades = pd.Series([1, None, 3], dtype="Int64")
    table = read(pd.DataFrame({"user": USERS, "item": ITEMS, "grade": grades}), "truth")
    assert table.frame["grade"].to_list() == [1.0, None, 3.0]


def test_missing_pandas_strings_are_missing_ids() -> None:
    for dtype in ("string", object, "category"):
        users = pd.Series(["u1", None, "u2"], dtype=dtype)
        with pytest.raises(BadIds, match=r"1 of 3 rows have no user .*\(first: row 2\)"):
            read(pd.DataFrame({"user": users, "item": ITEMS}), "truth")


def test_nan_in_an_id_column_is_a_missing_id() -> None:
    frame = pd.DataFrame({"user": [1.0, 2.0, np.nan], "item": ITEMS})
    with pytest.raises(BadIds, match=r"1 of 3 rows .*\(first: row 3\)"):
        read(frame, "truth")


def test_columns_in_the_index_are_mentioned() -> None:
    frame = pd.DataFrame(COLUMNS).set_index("user")
    with pytest.raises(BadTable, match=r"the index holds 'user': call \.reset_index\(\)"):
        read(frame, "predictions")


def test_a_column_twice_in_pandas_is_ambiguous() -> None:
    frame = pd.DataFrame([[1, 2, 3]], columns=["user", "user", "item"])
    with pytest.raises(BadTable, match="ambiguous"):
        read(frame, "truth")


def test_pandas_columns_may_be_numbered() -> None:
    names = {"user": "0", "item": "1", "score": "2"}
    table = read(pd.DataFrame(ROWS), "predictions", columns=names)
    assert table.frame.rows() == ROWS


@pytest.mark.parametrize(
    ("ids"), [[("a", 1), ("b", 2), ("a", 1)], [1, "1", 2], [frozenset("a"), None or 3, "x"]]
)
def test_ids_of_several_types_stay_the_objects_they_are(ids: list[object]) -> None:
    for source in ({"user": ids, "item": ids}, pd.DataFrame({"user": ids, "item": ids})):
        table = read(source, "truth")
        assert table.frame["item"].dtype == pl.Object
        assert table.frame["item"].to_list() == ids


def test_keys_of_several_types_stay_the_objects_they_are() -> None:
    table = read({1: ["a", 2], "1": [("b", "c")]}, "predictions")
    assert table.frame["list"].to_list() == [1, 1, "1"]
    assert table.frame["item"].to_list() == ["a", 2, ("b", "c")]
    assert table.handed is not None and table.handed.to_list() == [1, "1"]


# numbers


@pytest.mark.parametrize(
    ("scores", "dtype"),
    [
        (np.array([1, 2, 3], dtype=np.float16), pl.Float32),
        (np.array([1, 2, 3], dtype=np.float32), pl.Float32),
        (np.array([1, 2, 3], dtype=np.int8), pl.Float64),
        (np.array([True, False, True]), pl.Float64),
        ([Decimal(1), Decimal(2), Decimal(3)], pl.Float64),
        ([1, 0.5, 2], pl.Float64),
        ([None, None, None], pl.Float64),
    ],
)
def test_scores_become_floats(scores: object, dtype: pl.DataType) -> None:
    table = read({"user": USERS, "item": ITEMS, "score": scores}, "predictions")
    assert table.frame["score"].dtype == dtype


def test_integer_scores_beyond_float64_keep_their_order() -> None:
    scores = [2**53 + 1, 2**53, 2**53 + 2]
    table = read({"user": USERS, "item": ITEMS, "score": scores}, "predictions")
    assert table.frame["score"].to_list() == [2.0, 1.0, 3.0]


def test_ranks_stay_integers_and_grades_become_floats() -> None:
    ranks = np.array([1, 2, 1], dtype=np.uint8)
    predictions = read({"user": USERS, "item": ITEMS, "rank": ranks}, "predictions")
    truth = read({"user": USERS, "item": ITEMS, "rating": ranks}, "truth")
    assert predictions.frame["rank"].dtype == pl.Int64
    assert truth.frame["grade"].dtype == pl.Float64


@pytest.mark.parametrize("role", ["score", "rank"])
def test_a_column_that_holds_no_numbers_names_its_type_and_first_value(role: str) -> None:
    frame = pl.DataFrame({"user": USERS, "item": ITEMS, role: [None, "high", "low"]})
    with pytest.raises(BadTable, match=f"the {role} column has the type String") as caught:
        read(frame, "predictions")
    assert "'high'" in str(caught.value)


def test_a_number_that_is_none_among_dicts_of_numbers_is_named() -> None:
    with pytest.raises(BadTable, match="'good'"):
        read({"u1": {"a": 1.0, "b": "good"}}, "truth")


def test_nulls_among_numbers_stay_null() -> None:
    table = read(pl.DataFrame({**COLUMNS, "score": [0.5, None, 1.0]}), "predictions")
    assert table.frame["score"].null_count() == 1


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


def test_a_dict_of_sets_is_no_prediction() -> None:
    with pytest.raises(BadTable, match="a set has no order"):
        read({"u1": {"b", "a"}}, "predictions")


def test_a_dict_of_numbers_is_weights() -> None:
    assert read({"u1": 2, "u2": 0.5}, "weights").frame.rows() == [("u1", 2.0), ("u2", 0.5)]


def test_a_dict_of_single_items_asks_for_lists() -> None:
    with pytest.raises(BadTable, match="the value of 'u1' is a str: 'a'") as caught:
        read({"u1": "a"}, "truth")
    assert "in a list" in str(caught.value)


def test_a_dict_of_mixed_values_names_the_first() -> None:
    with pytest.raises(BadTable, match="the value of 'u2' is a dict after a list"):
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
    with pytest.raises(BadTable, match="row 2 is a tuple"):
        read([("u", "a"), ("u", "a", 1)], "truth")


def test_rows_that_are_neither_dicts_nor_tuples_are_an_error() -> None:
    with pytest.raises(BadTable, match="row 1 is a list"):
        read([["a", "b"]], "predictions")


@pytest.mark.parametrize(
    "ids", [[3, 1], np.array([3, 1]), pl.Series([3, 1]), pd.Series([3, 1]), pd.Index([3, 1]), (3, 1)]
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


def test_the_native_lists_of_lenskit_are_read() -> None:
    items = [[{"item_id": 7, "score": 0.5, "rank": 1}], []]
    kind = pl.List(pl.Struct({"item_id": pl.Int64, "score": pl.Float32, "rank": pl.Int32}))
    frame = pl.DataFrame({"user_id": [1, 2], "items": pl.Series(items, dtype=kind)})
    table = read(frame, "predictions")
    assert table.frame.rows() == [(1, 7, 0.5, 1)]
    assert table.columns["item"] == "items.item_id"
    assert table.handed is not None and table.handed.to_list() == [1, 2]


# wrappers and everything else


def test_a_wrapper_states_order_names_and_lists() -> None:
    source = Lists(pd.DataFrame({"who": [2, 1], "item": [5, 6]}), {"user": "who"}, [1, 2, 3], True)
    table = read(source, "predictions")
    assert table.given
    assert table.handed is not None and table.handed.to_list() == [1, 2, 3]
    assert table.columns["list"] == "who"


@pytest.mark.parametrize("users", [pl.Series([1, 2]), pd.Series([1, 2]), np.array([1, 2]), (1, 2)])
def test_the_lists_of_a_wrapper_may_be_any_column(users: object) -> None:
    table = read(Lists({1: ["a"]}, users=users), "predictions")
    assert table.handed is not None and table.handed.to_list() == [1, 2]


def test_interactions_say_nothing_about_order() -> None:
    table = read(Interactions(pl.DataFrame(COLUMNS)), "truth")
    assert table.handed is None and not table.given


@pytest.mark.parametrize("source", [42, None, object(), np.zeros((2, 2)), iter([1])])
def test_anything_else_is_refused_with_what_is_accepted(source: object) -> None:
    with pytest.raises(BadTable, match="which is no table") as caught:
        read(source, "predictions")
    assert "Polars, pandas, Arrow" in str(caught.value)


def test_null_ids_are_counted() -> None:
    frame = pl.DataFrame({"user": [1, None, None], "item": ITEMS})
    with pytest.raises(BadIds, match=r"2 of 3 rows have no user .*\(first: row 2\)"):
        read(frame, "predictions")
    with pytest.raises(BadIds, match="1 of 1 rows have no item"):
        read({"u": [None]}, "predictions")
