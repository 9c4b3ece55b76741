"""Rows that masks mark: compiled code copies and counts the same rows that Polars filters."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rectitude as rt
from rectitude.data.ids import codes, counts, first_rows
from rectitude.data.log import Log, choose_rows, open_log, select_parts, take_rows
from rectitude.data.values import blocks, compare_values, flags_of
from rectitude.preparing import prepare
from rectitude.preparing.draws import alike, occurrences
from rectitude.preparing.order import ends_of, order_groups

ROWS = 5_000
RANDOM = np.random.default_rng(5)
DAY = date(2024, 5, 31)


def every_type() -> pl.DataFrame:
    """Return columns of every type, in pieces with different bounds."""
    number = RANDOM.integers(0, 100, ROWS)
    days = [DAY + timedelta(int(days)) for days in number]
    frame = pl.DataFrame(
        {
            "user": number.astype(np.uint16),
            "item": RANDOM.integers(-3, 40, ROWS).astype(np.int8),
            "grade": RANDOM.choice([1.5, -0.0, np.nan, np.inf], ROWS),
            "narrow": RANDOM.random(ROWS).astype(np.float32),
            "date": days,
            "moment": pl.Series(days).cast(pl.Datetime("ms", "UTC")),
            "length": pl.Series(number).cast(pl.Duration("us")),
            "text": pl.Series(number).cast(pl.String),
            "kind": pl.Series(number).cast(pl.String).cast(pl.Categorical),
            "flag": number > 50,
            "wide": pl.Series(number).cast(pl.Int128),
            "list": [[each] for each in number.tolist()],
            "holes": pl.Series(number).set(pl.Series(number > 90), None),
        }
    )
    pieces = pl.concat([frame[:10], frame[10:4000], frame[4000:]], rechunk=False)
    return pieces.with_row_index("row")


def masks() -> list[np.ndarray]:
    some = RANDOM.random(ROWS)
    return [some < 0.3, some > 0.9, np.zeros(ROWS, bool), np.ones(ROWS, bool), some < 0.5]


def test_rows_of_every_column_type_are_those_that_polars_filters(kernels: str) -> None:
    frame = every_type()
    for mask, part in zip(marks := masks(), take_rows(frame, marks).frames, strict=True):
        assert_frame_equal(part, frame.filter(pl.Series(mask)))
    assert_frame_equal(take_rows(frame, [pl.Series(marks[0])]).frames[0], frame.filter(marks[0]))


def test_nulls_in_a_mask_count_as_false(kernels: str) -> None:
    frame = every_type()
    mask = frame["holes"] > 50
    assert mask.null_count()
    assert_frame_equal(take_rows(frame, [mask]).frames[0], frame.filter(mask))


def test_a_frame_without_rows_or_without_numbers_can_be_filtered(kernels: str) -> None:
    frame = every_type()
    nothing = frame.clear()
    assert_frame_equal(take_rows(nothing, [np.zeros(0, bool)]).frames[0], nothing)
    text = frame.select("text")
    mask = masks()[0]
    assert_frame_equal(take_rows(text, [mask]).frames[0], text.filter(mask))


def test_many_small_pieces_are_filtered_too(kernels: str) -> None:
    whole = every_type()
    frame = pl.concat([whole[low : low + 7] for low in range(0, ROWS, 7)], rechunk=False)
    mask = masks()[0]
    assert_frame_equal(take_rows(frame, [mask]).frames[0], whole.filter(mask))


IDS = {
    "small": RANDOM.integers(0, 50, ROWS),
    "narrow": RANDOM.integers(0, 200, ROWS).astype(np.uint8),
    "below zero": RANDOM.integers(-40, 40, ROWS),
    "narrow below zero": RANDOM.integers(-40, 40, ROWS).astype(np.int8),
    "high": RANDOM.integers(0, 50, ROWS) + 10**15,
    "highest": RANDOM.integers(0, 50, ROWS).astype(np.uint64) + np.uint64(2**64 - 51),
    "just too high": np.where(RANDOM.random(ROWS) < 0.5, ROWS + 1024, 7),
    "just not too high": np.where(RANDOM.random(ROWS) < 0.5, ROWS + 1023, 7),
    "text": RANDOM.integers(0, 50, ROWS).astype(str),
}


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("covering", [True, False])
def test_sizes_counted_on_the_way_are_those_of_the_rows(
    ids: str, covering: bool, kernels: str
) -> None:
    log = open_log({"user": IDS[ids], "item": IDS["small"]})
    mask = RANDOM.random(ROWS) < 0.002
    parts = select_parts(log, mask, ~mask) if covering else select_parts(log, mask)
    for part in (log, *parts):
        frame = part.frame
        assert part.size == (frame.height, frame["user"].n_unique(), frame["item"].n_unique())


def test_the_size_of_other_rows_is_counted_again(kernels: str) -> None:
    log = open_log({"user": IDS["small"], "item": IDS["narrow"]})
    few = choose_rows(log, np.arange(ROWS) < 3)
    assert log.size[0] == ROWS
    assert few.with_frame(log.frame.head(1)).size == (1, 1, 1)
    assert Log(few.frame.head(2), "rows").size[0] == 2


def test_parts_and_ledgers_are_the_same_with_and_without_compiled_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("numba")
    table = {"user": IDS["small"], "item": IDS["narrow"], "timestamp": IDS["high"]}
    recipe = [{"step": "n_filter", "users": 90, "items": 20}, {"step": "popular_items", "n": 90}]
    results = []
    for kernels in ("numpy", "numba"):
        monkeypatch.setenv("RECTITUDE_KERNELS", kernels)
        log = prepare(table, recipe)
        for how, options in {
            "random_ratio": {"validation": 0.1},
            "new_users": {},
            "cold_users": {},
            "at_time": {"t": 10**15 + 25},
            "last_span": {"span": 3},
        }.items():
            split = rt.split(log, how, **options)
            assert not isinstance(split, list)
            rows = [part.frame["row"].to_list() for _, part in split.parts()]
            results.append((kernels, how, rows, split.fingerprint, split.ledger.as_dict()))
    half = len(results) // 2
    assert [first[1:] for first in results[:half]] == [second[1:] for second in results[half:]]


def test_blocks_end_where_any_column_has_a_new_piece() -> None:
    integers = pl.concat([pl.Series([1, 2, 3]), pl.Series([4, 5])], rechunk=False)
    floats = pl.concat([pl.Series([1.0]), pl.Series([2.0, 3.0, 4.0, 5.0])], rechunk=False)
    cuts, (left, right) = blocks(integers, floats)
    assert cuts == [0, 1, 3, 5]
    assert [part.tolist() for part in left] == [[1], [2, 3], [4, 5]]
    assert [part.tolist() for part in right] == [[1.0], [2.0, 3.0], [4.0, 5.0]]


@pytest.mark.parametrize("bound", [3, 2.5])
@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64, pl.Int32])
def test_columns_are_compared_as_polars_does(kind: type[pl.DataType], bound: float) -> None:
    values = pl.concat([pl.Series([1, 2, 3]), pl.Series([4, 3])], rechunk=False).cast(kind)
    reached = [value >= bound for value in values.to_list()]
    assert flags_of(compare_values(values, np.greater_equal, bound)).tolist() == reached
    assert flags_of(compare_values(values, np.less, bound)).tolist() == [
        not each for each in reached
    ]
    with_hole = values.extend_constant(None, 1)
    assert flags_of(compare_values(with_hole, np.greater_equal, bound)).tolist() == [
        *reached,
        False,
    ]


@pytest.mark.parametrize("ids", IDS)
def test_numbers_of_ids_are_the_same_with_and_without_compiled_code(
    ids: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    results = []
    for kernels in ("numpy", "numba"):
        monkeypatch.setenv("RECTITUDE_KERNELS", kernels)
        numbers, size = codes(pl.Series(IDS[ids]))
        rows = first_rows(numbers, size)
        results.append((numbers.tolist(), size, rows.tolist(), counts(numbers, size).tolist()))
    assert results[0] == results[1]


def test_rows_with_the_same_number_are_found_with_few_others(kernels: str) -> None:
    pytest.importorskip("numba")
    words = RANDOM.integers(0, 2**64, ROWS, dtype=np.uint64)
    words[:9] = [0, 0, 2**64 - 1, 2**64 - 1, 5, 5, 5, 2**63, 2**32]
    words[900:1000] = words[100:200]
    values, times = np.unique(words, return_counts=True)
    again = np.isin(words, values[times > 1])
    assert alike(words).tolist() == again.tolist()


def test_repeats_are_numbered_alike_with_and_without_compiled_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("numba")
    frame = pl.DataFrame(
        {
            "user": IDS["small"],
            "item": IDS["text"],
            "timestamp": RANDOM.integers(0, 2**40, ROWS) // 2**36,
            "grade": RANDOM.choice([-1.5, 0.0, -0.0, 3.0], ROWS),
        }
    )
    results = []
    for kernels in ("numpy", "numba"):
        monkeypatch.setenv("RECTITUDE_KERNELS", kernels)
        results.append(occurrences(frame).tolist())
    assert results[0] == results[1]
    assert max(results[0]) > 1


def test_columns_wider_than_32_bits_order_rows_by_all_their_bits(kernels: str) -> None:
    wide = RANDOM.integers(0, 4, ROWS) * 2**40 + RANDOM.integers(0, 3, ROWS)
    last = RANDOM.integers(0, 2, ROWS)
    groups = IDS["small"].astype(np.uint32)
    runs = order_groups((groups, 50), [pl.Series(wide), pl.Series(last)])
    expected = np.lexsort((np.arange(ROWS), last, wide, groups))
    assert runs.rows.tolist() == expected.tolist()


@pytest.mark.parametrize("end", ["first", "last"])
@pytest.mark.parametrize("kind", [pl.Int32, pl.Date, pl.Datetime("us"), pl.Float64])
def test_ends_of_users_with_gaps_are_of_the_type_of_the_times(
    kind: pl.DataType, end: str, kernels: str
) -> None:
    times = pl.Series([1, 5, 9]).cast(pl.Int32).cast(kind)
    frame = pl.DataFrame(
        {"user": [0, 2, 2], "item": [1, 2, 3], "timestamp": times, "row": [0, 1, 2]}
    )
    ends, users = ends_of(Log(frame, "a table"), "user", "first" if end == "first" else "last")
    assert (ends.dtype, users.tolist()) == (kind, [0, 2, 2])
    assert (
        ends.gather(users).to_list()
        == times.gather([0, 1, 1] if end == "first" else [0, 2, 2]).to_list()
    )


@pytest.mark.parametrize("end", ["first", "last"])
def test_ends_of_users_are_those_of_their_rows(end: str, kernels: str) -> None:
    times = RANDOM.integers(0, 10**6, ROWS)
    log = open_log({"user": IDS["small"], "item": IDS["narrow"], "timestamp": times})
    ends, users = ends_of(log, "user", "first" if end == "first" else "last")
    which = pl.col("timestamp").min() if end == "first" else pl.col("timestamp").max()
    assert (
        ends.gather(users).to_list() == log.frame.select(which.over("user"))["timestamp"].to_list()
    )
