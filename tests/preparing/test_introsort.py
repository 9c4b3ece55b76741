"""Equal numbers in the order of NumPy's introsort, and frameworks whose rows follow from it.

The rows that frameworks choose were written down from the frameworks themselves, run with NumPy's
vector instructions switched off, where a sort has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.data.log import Log, open_log
from rectitude.errors import BadTable
from rectitude.preparing import STEPS, prepare
from rectitude.preparing.order import Ties, by_time, introsort, introsort_rows, whole
from rectitude.splits.protocols import resolve, steps

ROWS = 60


def reference(numbers: list[int]) -> list[int]:
    """Places of numbers, sorted by quicksort around the median of three, and short parts by
    insertion. NumPy gives up on parts that stay long too often; those drawn here do not."""
    places = list(range(len(numbers)))
    parts = [(0, len(numbers) - 1)]
    while parts:
        low, high = parts.pop()
        if high - low < 16:
            places[low : high + 1] = sorted(places[low : high + 1], key=numbers.__getitem__)
            continue
        middle = divided(places, numbers, low, high)
        parts += [(low, middle - 1), (middle + 1, high)]
    return places


def divided(places: list[int], numbers: list[int], low: int, high: int) -> int:
    """Put what is lower than a pivot before it and what is higher after it; where the pivot is."""

    def swap(one: int, other: int) -> None:
        places[one], places[other] = places[other], places[one]

    middle = low + (high - low) // 2
    for one, other in ((low, middle), (middle, high), (low, middle)):
        if numbers[places[other]] < numbers[places[one]]:
            swap(one, other)
    pivot, left, right = numbers[places[middle]], low, high - 1
    swap(middle, right)
    while left < right:
        left = next(one for one in range(left + 1, high) if numbers[places[one]] >= pivot)
        right = next(one for one in range(right - 1, -1, -1) if numbers[places[one]] <= pivot)
        if left < right:
            swap(left, right)
    swap(left, high - 1)
    return left


@pytest.mark.parametrize("size", [*range(40), 100, 257, 1000, 5000])
def test_equal_numbers_stand_as_the_algorithm_leaves_them(size: int) -> None:
    draw = np.random.default_rng(size)
    for values in (1, 2, 7, size // 3 + 1, 2 * size + 1):
        numbers = draw.integers(-values, values, size)
        for given in (numbers, np.sort(numbers), numbers[::-1]):
            assert introsort(given).tolist() == reference(given.tolist())


def test_long_runs_of_equal_numbers_are_not_left_as_they_stood() -> None:
    equal = np.zeros(17, np.int64)
    assert introsort(equal[:16]).tolist() == list(range(16))
    assert introsort(equal).tolist() != list(range(17))


@pytest.mark.parametrize(
    "values",
    [
        [-(2**63), 5, 2**63 - 1, 5, -(2**63)],
        [0.5, -1.5, 0.0, -0.0, 1e300, -1e300, 0.5],
        pl.Series([2**64 - 1, 0, 2**63, 0], dtype=pl.UInt64),
        pl.Series([3, 1, 2, 1], dtype=pl.Int8),
        pl.Series([3, 1, 2, 1]).cast(pl.Datetime("ms")),
    ],
)
def test_columns_of_any_type_are_whole_numbers_in_their_order(values: Any) -> None:
    column = pl.Series(values)
    numbers = whole(column)
    assert numbers.dtype == np.int64 and numbers.min() > np.iinfo(np.int64).min
    listed = column.to_list()
    for one, left in zip(numbers, listed, strict=True):
        for other, right in zip(numbers, listed, strict=True):
            assert (one < other, one == other) == (left < right, left == right)


def test_every_group_is_sorted_by_itself() -> None:
    draw = np.random.default_rng(4)
    rows, numbers = draw.permutation(70), draw.integers(0, 3, 70)
    ends = np.array([30, 30, 70])
    expected = [
        rows[low + place]
        for low, high in ((0, 30), (30, 70))
        for place in reference(numbers[rows[low:high]].tolist())
    ]
    assert introsort_rows(rows, ends, numbers).tolist() == expected


def table(rows: int = ROWS) -> Log:
    """Rows by a formula: 20 of user 0, 40 of user 1, five different times, repeated pairs."""
    k = np.arange(rows)
    columns = {"user": k * k % 3, "item": k * 17 % 23, "timestamp": 100 + k * 7 % 5}
    return open_log(pl.DataFrame({**columns, "grade": 1.0 + k % 5}))


@pytest.mark.parametrize("level", ["user", "item", "all"])
@pytest.mark.parametrize("ties", ["introsort", "content_introsort"])
@pytest.mark.parametrize("rows", [1, 15, 60, 900])
def test_rows_stand_where_a_sort_of_their_group_puts_them(
    level: Any, ties: Ties, rows: int
) -> None:
    log = table(rows)
    frame = log.frame.with_columns(all=0)
    came = frame if ties == "introsort" else frame.sort("item", "user", "grade", "row")
    before = np.empty(rows, np.int64)
    for group in came.partition_by(level):
        order = reference(group["timestamp"].to_list())
        before[group["row"].to_numpy()[order]] = np.arange(group.height)
    assert by_time(log, level, ties).before.tolist() == before.tolist()


def held_out(log: object, protocol: str, **words: Any) -> list[int]:
    return sorted(rt.split(log, protocol=protocol, **words).truth.frame["row"])


def filtered(protocol: str, *words: dict[str, Any]) -> Log:
    return prepare(table(), [step for one in words for step in steps(protocol, one)])


@pytest.mark.parametrize(
    ("holdout", "rows"),
    [
        ({"method": "LastN", "n": 1}, [27, 37]),
        ({"method": "LastN", "n": 3}, [12, 22, 27, 37, 42, 47]),
        (
            {"method": "LastFrac", "fraction": 0.3},
            [12, 19, 22, 27, 37, 39, 42, 47, 49, 52, 54, 57, 59],
        ),
    ],
)
def test_last_rows_of_lenskit_2026_4(holdout: dict[str, Any], rows: list[int]) -> None:
    once = STEPS["deduplicate"](table(), keep="last", order="file")
    words = {"method": "sample_users", "size": "all", "holdout": holdout, "rng": 1}
    assert held_out(once, "lenskit-2026", **words) == rows
    assert held_out(once, "lenskit", **words) == rows
    shuffled = once.with_frame(once.frame.sample(fraction=1, shuffle=True, seed=3))
    assert held_out(shuffled, "lenskit", **words) == rows


def test_lenskit_2025_is_like_2026_but_for_equal_times() -> None:
    other = resolve("lenskit-2025", {"method": "LastN", "n": 1})
    same = resolve("lenskit-2026", {"method": "LastN", "n": 1})
    assert "ties" not in other.options
    assert {**other.options, "ties": "content_introsort"} == same.options
    words = {"method": "SampleN", "n": 1}
    assert resolve("lenskit-2025", words) == resolve("lenskit-2026", words)


def test_rows_and_splits_of_daisyrec_2_0() -> None:
    log = filtered("daisyrec", {"name": "preprocess"})
    assert log.frame["row"].to_list() == [
        0, 55, 50, 15, 45, 40, 30, 25, 53, 48, 43, 58, 33, 28, 38, 3, 18, 16, 31, 56, 36, 21, 6, 51,
        41, 46, 54, 9, 49, 24, 44, 19, 39, 34, 59, 47, 12, 42, 52, 37, 22, 57, 27,
    ]  # fmt: skip
    assert held_out(log, "daisyrec", method="tloo") == [12, 47]
    last = [12, 22, 27, 37, 42, 47, 52, 57]
    assert held_out(log, "daisyrec", method="tsbr", test_size=0.2) == last
    more = [9, 12, 19, 22, 24, 27, 34, 37, 39, 42, 44, 47, 49, 52, 54, 57, 59]
    assert held_out(log, "daisyrec", method="tsbr", test_size=0.4) == more


FIRST = [
    0, 35, 15, 50, 55, 5, 30, 20, 40, 25, 10, 45, 33, 23, 18, 48, 8, 3, 53, 38, 13, 51, 11, 21, 26,
    6, 41, 1, 36, 16, 44, 54, 29, 24, 9, 19, 39, 14, 57, 22, 27, 42, 12,
]  # fmt: skip
LAST = [
    0, 15, 30, 45, 28, 58, 43, 33, 18, 48, 3, 38, 51, 21, 6, 31, 56, 41, 36, 46, 16, 44, 49, 54, 59,
    34, 4, 24, 9, 19, 39, 57, 2, 7, 52, 37, 47, 22, 27, 32, 42, 12, 17,
]  # fmt: skip


@pytest.mark.parametrize(
    ("keep", "rows", "found"), [("first", FIRST, [12, 22]), ("last", LAST, [12, 17])]
)
def test_pairs_without_repeats_of_recbole_1_2_1(
    keep: str, rows: list[int], found: list[int]
) -> None:
    log = filtered("recbole", {"rm_dup_inter": keep})
    assert log.frame["row"].to_list() == rows
    assert held_out(log, "recbole", method="LS_valid_and_test", order="TO") == found


def test_pairs_without_repeats_of_recpack_0_3_6() -> None:
    log = filtered("recpack", {"filter": "Deduplicate", "timestamp": True})
    assert log.frame["row"].to_list() == FIRST
    in_file = filtered("recpack", {"filter": "Deduplicate"}).frame["row"]
    assert in_file.is_sorted() and in_file.to_list() != sorted(FIRST)


@pytest.mark.parametrize(
    ("words", "items"),
    [
        ([{"filter": "NMostPopular", "n": 3}], [0, 14, 21]),
        ([{"filter": "NMostPopular", "n": 5}], [0, 14, 17, 20, 21]),
        ([{"filter": "NMostPopular", "n": 8}], [0, 3, 9, 14, 15, 17, 20, 21]),
        ([{"filter": "NMostRecent", "n": 3}], [4, 8, 13]),
        ([{"filter": "NMostRecent", "n": 5}], [4, 8, 13, 15, 22]),
        ([{"filter": "NMostRecent", "n": 8}], [3, 4, 6, 8, 13, 15, 20, 22]),
        (
            [{"filter": "Deduplicate", "timestamp": True}, {"filter": "NMostPopular", "n": 8}],
            [0, 1, 3, 7, 10, 12, 17, 19],
        ),
        (
            [{"filter": "Deduplicate", "timestamp": True}, {"filter": "NMostRecent", "n": 8}],
            [1, 3, 6, 12, 15, 20, 21, 22],
        ),
    ],
)
def test_items_of_recpack_0_3_6(words: list[dict[str, Any]], items: list[int]) -> None:
    log = filtered("recpack", *words)
    assert sorted(set(log.frame["item"])) == items


def test_latest_rows_of_recpack_0_3_6_are_those_of_ties_introsort() -> None:
    latest = rt.split(table(), "leave_last", n=3, ties="introsort").truth.frame["row"]
    assert sorted(latest) == [2, 7, 12, 37, 42, 57]
    earliest = rt.split(table(), "leave_last", n=None, keep=3, ties="introsort").train.frame["row"]
    assert sorted(earliest) == [0, 5, 15, 30, 35, 55]


@pytest.mark.parametrize(
    ("n", "first", "rows"),
    [
        (1, True, [0, 35]),
        (1, False, [27, 37]),
        (3, True, [0, 15, 30, 35, 50, 55]),
        (3, False, [7, 12, 17, 27, 37, 57]),
    ],
)
def test_first_and_last_rows_of_replay_0_22_0_with_pandas(
    n: int, first: bool, rows: list[int]
) -> None:
    words = {"filter": "NumInteractionsFilter", "num_interactions": n, "first": first}
    for container in ({}, {"container": "pandas"}):
        assert filtered("replay", {**words, **container}).frame["row"].to_list() == rows


def test_rows_are_put_in_the_order_of_time_and_back() -> None:
    turned = open_log({"user": [1, 2, 1], "item": [5, 4, 3], "timestamp": [9, 2, 2]})
    sort = STEPS["sort_rows"]
    assert sort(turned).frame["row"].to_list() == [2, 1, 0]
    assert sort(turned, ties="last").frame["row"].to_list() == [1, 2, 0]
    assert sort(turned, order="file_backwards").frame["row"].to_list() == [2, 1, 0]
    assert sort(sort(turned), order="file").frame.equals(turned.frame)


def test_ties_first_and_last_go_by_the_order_that_rows_were_put_in() -> None:
    log = open_log({"user": [1, 1, 1], "item": [7, 8, 9], "timestamp": [5, 5, 5]})
    backwards = STEPS["sort_rows"](log, order="file_backwards")
    assert STEPS["latest"](backwards, n=1, ties="last").frame["row"].to_list() == [0]
    assert STEPS["latest"](backwards, n=1, ties="first").frame["row"].to_list() == [2]


def test_without_timestamps_rows_are_sorted_only_where_that_may_be_left_out() -> None:
    log = open_log({"user": [2, 1], "item": [1, 2]})
    with pytest.raises(BadTable, match="no timestamp column"):
        STEPS["sort_rows"](log)
    assert STEPS["sort_rows"](log, no_times="as_is").frame["row"].to_list() == [0, 1]
