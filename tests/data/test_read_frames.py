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

from rectitude.data.log import open_log
from rectitude.data.read import read
from rectitude.data.table import Interactions
from rectitude.errors import BadIds, BadTable

USERS, ITEMS, SCORES = ["u1", "u1", "u2"], ["a", "b", "a"], [0.5, 0.25, 1.0]
COLUMNS = {"user": USERS, "item": ITEMS, "score": SCORES}
ROWS = list(zip(USERS, ITEMS, SCORES, strict=True))


@dataclass
class Lists:
    """A wrapper like that of predictions."""

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


def test_importing_rectitude_imports_no_heavy_package() -> None:
    code = (
        "import sys, rectitude.data.read, rectitude.data.table\n"
        "print([m for m in ('narwhals','pandas','pyarrow','scipy') if m in sys.modules])"
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


@pytest.mark.parametrize("kind", ["string[pyarrow]", "int64[pyarrow]"])
def test_pandas_columns_backed_by_arrow_keep_their_values(kind: str) -> None:
    pytest.importorskip("pyarrow")
    ids = pd.Series(["7", "8"] if "string" in kind else [7, 8], dtype=kind)
    table = read(pd.DataFrame({"user": ids, "item": ids}), "truth")
    assert table.frame["item"].to_list() == ids.tolist()


def test_arrow_dictionaries_stay_categories() -> None:
    items = pytest.importorskip("pyarrow").array(ITEMS).dictionary_encode()
    table = read(arrow_table({"user": USERS, "item": items}), "truth")
    assert table.frame["item"].dtype == pl.Categorical
    assert table.frame["item"].to_list() == ITEMS


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


def test_a_repeated_column_in_pandas_is_ambiguous() -> None:
    frame = pd.DataFrame([[1, 2, 3]], columns=["user", "user", "item"])
    with pytest.raises(BadTable, match="ambiguous"):
        read(frame, "truth")


def test_pandas_columns_may_be_numbered() -> None:
    names = {"user": "0", "item": "1", "score": "2"}
    table = read(pd.DataFrame(ROWS), "predictions", columns=names)
    assert table.frame.rows() == ROWS


@pytest.mark.parametrize("ids", [[("a", 1), ("b", 2), ("a", 1)], [frozenset("a"), frozenset("b")]])
def test_ids_of_one_python_type_stay_objects(ids: list[object]) -> None:
    for source in ({"user": ids, "item": ids}, pd.DataFrame({"user": ids, "item": ids})):
        table = read(source, "truth")
        assert table.frame["item"].dtype == pl.Object
        assert table.frame["item"].to_list() == ids


@pytest.mark.parametrize("ids", [[1, "1", 2], [frozenset("a"), 3, "x"]])
def test_ids_of_several_types_are_an_error(ids: list[object]) -> None:
    for source in ({"user": ids, "item": [7] * 3}, pd.DataFrame({"user": ids, "item": [7] * 3})):
        with pytest.raises(BadIds, match="user ids have several types"):
            read(source, "truth")


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
def test_the_error_for_a_column_without_numbers_names_its_type_and_first_value(role: str) -> None:
    frame = pl.DataFrame({"user": USERS, "item": ITEMS, role: [None, "high", "low"]})
    with pytest.raises(BadTable, match=f"the {role} column has the type String") as caught:
        read(frame, "predictions")
    assert "'high'" in str(caught.value)


def test_a_value_that_is_not_a_number_in_a_dict_of_numbers_is_named() -> None:
    with pytest.raises(BadTable, match="'good'"):
        read({"u1": {"a": 1.0, "b": "good"}}, "truth")


def test_nulls_among_numbers_stay_null() -> None:
    table = read(pl.DataFrame({**COLUMNS, "score": [0.5, None, 1.0]}), "predictions")
    assert table.frame["score"].null_count() == 1


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


@pytest.mark.parametrize("users", ["u1", 3, pl.DataFrame({"user": [1]})])
def test_the_lists_of_a_wrapper_must_be_a_column(users: object) -> None:
    with pytest.raises(BadTable, match="a column of ids is of type"):
        read(Lists({1: ["a"]}, users=users), "predictions")


def test_interactions_say_nothing_about_order() -> None:
    table = read(Interactions(pl.DataFrame(COLUMNS)), "truth")
    assert table.handed is None and not table.given


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (42, "predictions is of type int."),
        (None, "predictions is None."),
        (object(), "predictions is of type object."),
        (np.zeros((2, 2)), "predictions is a NumPy array."),
        ((1, 2), "predictions is of type tuple."),
    ],
)
def test_anything_else_is_refused_with_what_is_accepted(source: object, words: str) -> None:
    with pytest.raises(BadTable) as caught:
        read(source, "predictions")
    assert str(caught.value).startswith(words)
    assert "Polars, pandas, Arrow" in str(caught.value)


def test_null_ids_are_counted() -> None:
    frame = pl.DataFrame({"user": [1, None, None], "item": ITEMS})
    with pytest.raises(BadIds, match=r"2 of 3 rows have no user .*\(first: row 2\)"):
        read(frame, "predictions")
    with pytest.raises(BadIds, match="1 of 1 rows have no item"):
        read({"u": [None]}, "predictions")


def test_a_part_of_a_split_is_a_table_like_any_other() -> None:
    frame = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "timestamp": [3, 4]})
    table = read(open_log(frame), "truth")
    assert table.frame.select("list", "item").rows() == [(1, "a"), (2, "b")]
    assert pl.DataFrame(open_log(frame)).equals(frame)
