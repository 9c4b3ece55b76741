"""Logs read from tables: valid ids, grades and timestamps, or an error that names the row."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.data.log import open_log
from rectitude.errors import BadIds, BadTable


def times(values: list[Any]) -> pl.Series:
    table = {"user": list(range(len(values))), "item": [1] * len(values), "timestamp": values}
    return open_log(table).frame["timestamp"]


NOON = dt.datetime(2024, 5, 31, 12)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, 1], [3, 1]),
        ([3.5, 1.0], [3.5, 1.0]),
        (["3", "1"], [3, 1]),
        (["3.5", "1"], [3.5, 1.0]),
        ([NOON, NOON], [NOON, NOON]),
        ([dt.date(2024, 5, 31)], [dt.datetime(2024, 5, 31)]),
        (["2024-05-31", "2024-05-31 12:00"], [dt.datetime(2024, 5, 31), NOON]),
        (["2024-05-31T12:00:00Z", "2024-05-31T14:00:00+02:00"], [NOON, NOON]),
        ([" 2024-05-31T14:00+0200", "2024-05-31 12:00:00.000"], [NOON, NOON]),
        ([NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=2)))], [NOON.replace(hour=10)]),
    ],
)  # fmt: skip
def test_timestamps_may_be_numbers_dates_or_text(values: list[Any], expected: list[Any]) -> None:
    timestamps = times(values)
    assert timestamps.to_list() == expected
    assert timestamps.dtype in (pl.Int64, pl.Float64) or isinstance(timestamps.dtype, pl.Datetime)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["2024-05-31", "31.5.2024", "2024-02-30"], "2 of 3 .* cannot be .*row 2, '31.5.2024'"),
        (["7", "8", "later"], "1 of 3 .* cannot be read .*row 3, 'later'"),
        (["7", "8", "nan"], "1 of 3 .* cannot be read .*row 3, 'nan'"),
        (["7", None], "1 of 2 .* missing .*row 2"),
        ([1, None, None], "2 of 3 .* missing.*row 2"),
        ([1.0, float("nan")], "1 of 2 .* NaN .*row 2"),
        ([float("inf"), 1.0], "1 of 2 .* infinite .*row 1"),
        ([True, False], "type Boolean"),
        ([dt.time(1), dt.time(2)], "type Time"),
    ],
)  # fmt: skip
def test_unreadable_timestamps_are_counted_and_the_first_is_named(
    values: list[Any], message: str
) -> None:
    with pytest.raises(BadTable, match=message):
        times(values)


@pytest.mark.parametrize(
    ("values", "words"),
    [(["3"], "whole numbers"), ([0.5], "numbers"), (["2024-05-31"], "dates and times, in UTC")],
)
def test_the_ledger_records_the_type_of_timestamps(values: list[Any], words: str) -> None:
    log = open_log({"user": [1], "item": [1], "timestamp": values})
    assert log.ledger.notes["timestamps"] == words


@pytest.mark.parametrize("ids", [[1, None], [1.0, float("nan")], ["a", None]])
@pytest.mark.parametrize("column", ["user", "item"])
def test_missing_ids_are_an_error_with_the_row(ids: list[Any], column: str) -> None:
    table: dict[str, list[Any]] = {"user": [1, 2], "item": [1, 2]}
    with pytest.raises(BadIds, match=rf"1 of 2 rows have no {column} \(first: row 2\)"):
        open_log(table | {column: ids})


def test_ids_of_several_types_are_an_error() -> None:
    with pytest.raises(BadIds, match="user ids have several types: 1 of type int"):
        open_log({"user": [1, "a"], "item": [1, 2]})


def test_ids_in_text_files_are_integers_only_if_nothing_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("user,item,rating,timestamp\n12,007,3,2024-05-31\n9,8,4,2024-06-01\n")
    frame = open_log(file).frame
    assert frame["user"].to_list() == [12, 9]
    assert frame["item"].to_list() == ["007", "8"]
    assert frame["timestamp"].to_list() == [dt.datetime(2024, 5, 31), dt.datetime(2024, 6, 1)]


def test_negative_grades_in_a_column_of_counts_are_an_error() -> None:
    table = {"user": [1, 1], "item": [1, 2], "Quantity": [3, -2]}
    with pytest.raises(BadTable, match=r"1 of 2 numbers in 'Quantity' .*row 2, -2"):
        open_log(rt.Interactions(table, grade="Quantity"))


def test_negative_grades_are_counted_in_the_ledger() -> None:
    ledger = open_log({"user": [1, 1], "item": [1, 2], "rating": [3, -2]}).ledger
    assert ledger["negative_grades"] == 1
    assert ledger.entries["negative_grades"].example == "row 2, -2"


def test_rows_keep_their_number_in_the_source() -> None:
    log = open_log(pl.DataFrame({"user": [3, 1], "item": [1, 2], "row": [8, 9]}))
    assert log.frame["row"].to_list() == [0, 1]
    assert open_log(log) is log


@pytest.mark.parametrize("dtype", [pl.Int16, pl.Int32, pl.UInt8, pl.UInt32, pl.UInt64])
def test_integers_of_any_width_are_timestamps(dtype: type[pl.DataType]) -> None:
    times = pl.Series([100, 7], dtype=dtype)
    log = open_log(pl.DataFrame({"user": [1, 2], "item": [1, 2], "timestamp": times}))
    assert log.frame["timestamp"].to_list() == [100, 7]


def test_a_timestamp_that_does_not_fit_is_named() -> None:
    times = pl.Series([100, 2**64 - 1], dtype=pl.UInt64)
    with pytest.raises(BadTable, match="row 2"):
        open_log(pl.DataFrame({"user": [1, 2], "item": [1, 2], "timestamp": times}))


@pytest.mark.parametrize("text", ["1,2,-3\n1,3,4\n", "1,3,4\n1,2,-3\n"])
def test_negative_counts_are_refused_even_in_columns_that_are_not_used(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"user,item,quantity\n{text}")
    with pytest.raises(BadTable, match=r"1 of 2 numbers in 'quantity' are negative \(first: row"):
        open_log(path)


def test_unused_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,quantity,price\n1,2,3,4\n")
    assert open_log(path).ledger.notes["columns left out"] == "quantity, price"


def test_words_such_as_nan_among_numeric_ids_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item\n1,2\nNaN,3\n2,3\n")
    with pytest.raises(BadIds, match=r"1 of 3 rows have 'NaN' as their user.*first: row 2"):
        open_log(path)
    path.write_text("user,item\nAnn,2\nNull,3\n")
    assert open_log(path).frame["user"].to_list() == ["Ann", "Null"]
