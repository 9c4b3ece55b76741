"""All filter steps by name, and those that depend on neither grades nor counts.

Steps remove duplicates, select rows by value, item, user or time, or sort rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers
from rectitude.data.ids import codes, counts, look_up, ranks
from rectitude.data.log import ROW, Log, choose_rows
from rectitude.data.times import parse_moment, parse_span
from rectitude.errors import BadArgument, BadTable
from rectitude.kernels import should_compile
from rectitude.options import require_between
from rectitude.preparing.attributes import items_where, users_where
from rectitude.preparing.capping import cap_items, thin_popular_items
from rectitude.preparing.counting import (
    Repeats,
    TwoSides,
    among,
    between,
    cold_users,
    distinct_pairs,
    items_per_user,
    k_core,
    n_filter,
    popularity_range,
    read_intervals,
    users_per_item,
)
from rectitude.preparing.draws import alike, draw_bits, places
from rectitude.preparing.grading import grade_range, require_grades, threshold
from rectitude.preparing.order import (
    Level,
    SortedRuns,
    StableTies,
    Ties,
    by_time,
    ends_of,
    equals,
    in_time,
    introsort,
    order_groups,
    settle_ties,
    whole,
)
from rectitude.preparing.sessions import session_gap, session_length

Equals = Literal["id", "introsort"]
Keep = Literal["first", "last", "sum", "error"]
Moment = int | float | str | datetime | date
"""A number in the unit of the timestamps, or a date."""
Step = Callable[..., Log]


def deduplicate(
    log: Log, *, keep: Keep = "last", order: Literal["time", "file"] = "time",
    ties: StableTies = "content",
) -> Log:  # fmt: skip
    """Keep one row per user and item: the first or the last, by time or in the file.

    `sum` keeps the last row with the sum of all grades; `error` refuses duplicates.
    """
    if keep == "sum" and "grade" in log.frame.columns:
        require_grades(log)
    again = repeats(log.frame)
    if not len(again.rows):
        return log
    if keep == "error":
        raise _repeats(log, again)
    log = log.with_frame(_sum_grades(log, again)) if keep == "sum" else log
    frame = log.frame
    if order == "time" and "timestamp" not in frame.columns:
        _require_equal(log, frame, again)
        order = "file"
    runs = settle_ties(again, in_time(frame, ties) if order == "time" else [])
    kept = np.ones(frame.height, bool)
    kept[runs.rows] = False
    kept[runs.rows[runs.ends - (runs.sizes if keep == "first" else 1)]] = True
    return choose_rows(log, kept)


def repeats(frame: pl.DataFrame) -> SortedRuns:
    """Find the rows whose user and item occur in other rows too, grouped by pair."""
    (users, size), (items, _) = codes(frame["user"]), codes(frame["item"])
    if not should_compile(frame.height):
        return equals((users, size), items)
    rows = np.flatnonzero(alike(draw_bits(0, users, items))).astype(np.uint32)
    runs = equals((users[rows], size), items[rows])
    return SortedRuns(rows[runs.rows], runs.ends)


def _require_equal(log: Log, frame: pl.DataFrame, again: SortedRuns) -> None:
    """Raise an error if duplicates differ and no timestamp says which is the last."""
    if "grade" not in frame.columns:
        return
    grades = frame["grade"].gather(again.rows).to_numpy()
    starts = again.ends - again.sizes
    low, high = np.minimum.reduceat(grades, starts), np.maximum.reduceat(grades, starts)
    different = int(np.count_nonzero(low != high))
    if different:
        raise BadTable(
            f"{log.source}: {different:,} pairs of user and item have several rows with different"
            " grades, and no timestamp says which is the last.",
            "a timestamp column.",
            "set order='file' to use the order of rows, or keep='sum'.",
        )


def _sum_grades(log: Log, again: SortedRuns) -> pl.DataFrame:
    """Give the rows of each pair the sum of its grades, which are counts here."""
    log.require("grade", "keep = 'sum'")
    rows = log.frame[np.sort(again.rows)]
    wrong = rows.filter(pl.col("grade") < 0)
    if wrong.height:
        first = wrong.row(0, named=True)
        raise BadTable(
            f"{log.source}: {wrong.height:,} of {rows.height:,} grades to sum are negative"
            f" (first: row {first[ROW] + 1}, {first['grade']}).",
            "counts of 0 or more.",
            "remove these rows first, or set keep='first' or keep='last'.",
        )
    # Floats are added from the smallest to the largest, so that row order does not matter.
    runs = settle_ties(again, [log.frame["grade"]])
    grades = log.frame["grade"].to_numpy().copy()
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(grades[runs.rows], runs.ends - runs.sizes)
    if not np.isfinite(sums).all():
        raise _too_large(log, runs, sums)
    grades[runs.rows] = np.repeat(sums, runs.sizes)
    return log.frame.with_columns(pl.Series("grade", grades))


def _too_large(log: Log, runs: SortedRuns, sums: Floats) -> BadTable:
    wrong = np.flatnonzero(np.isinf(sums))
    first = log.frame.row(int(runs.rows[runs.ends[wrong] - 1].min()), named=True)
    return BadTable(
        f"{log.source}: the grades of {len(wrong):,} of {len(sums):,} duplicate pairs add up to"
        f" infinity (first: user {first['user']!r}, item {first['item']!r}).",
        "counts.",
        "set keep='first' or keep='last'.",
    )


def _repeats(log: Log, again: SortedRuns) -> BadTable:
    first = log.frame.row(int(again.rows.min()), named=True)
    return BadTable(
        f"{log.source}: {len(again.rows):,} of {log.frame.height:,} rows repeat a pair of user and"
        f" item (first: row {first[ROW] + 1}, user {first['user']!r}, item {first['item']!r}).",
        "each pair once.",
        "choose the row to keep: keep='first', 'last' or 'sum'.",
    )


def consecutive(
    log: Log, *, keep: Literal["first", "last"] = "first", ties: Ties = "content"
) -> Log:
    """Keep one row where a user has the same item several times in a row: the first or the last."""
    log.require("timestamp", "consecutive")
    users = ranks(log.frame["user"])
    runs = order_groups((users, int(users.max(initial=0)) + 1), in_time(log.frame, ties))
    items = codes(log.frame["item"])[0][runs.rows]
    begins = np.append(True, items[1:] != items[:-1])[: len(items)]
    begins[runs.ends[:-1]] = True
    keeps = begins if keep == "first" else np.append(begins[1:], True)[: len(items)]
    kept = np.zeros(len(items), bool)
    kept[runs.rows[keeps]] = True
    return choose_rows(log, kept)


def in_intervals(log: Log, *, grade: str | None = None, timestamp: str | None = None) -> Log:
    """Keep rows whose grade and timestamp are in one of the given intervals, such as
    [1,2];[4,inf)."""
    every = {"grade": grade, "timestamp": timestamp}
    intervals = {column: text for column, text in every.items() if text is not None}
    if not intervals:
        raise BadArgument("in_intervals has no intervals.", "intervals for grade or timestamp.")
    kept = np.ones(log.frame.height, bool)
    for column, text in intervals.items():
        log.require(column, "in_intervals")
        kept &= among(read_intervals(text), log.frame[column].to_physical().to_numpy())
    return choose_rows(log, kept)


def popular_items(log: Log, *, n: int, repeats: Repeats = "counted", ties: Equals = "id") -> Log:
    """Keep the n items with the most rows (or users); equally popular items go by lower id.

    `ties` "introsort" keeps the items that NumPy's introsort puts first, starting from the order of
    first appearance, as pandas does.
    """
    items, size = codes(log.frame["item"])
    counted = items
    if repeats == "once":
        users, most = codes(log.frame["user"])
        counted = distinct_pairs(TwoSides(users, items), TwoSides(most, size)).items
    rows = counts(counted, size)
    if ties == "id":
        return _items(log, n, items, _by_weight(rows, rows > 0))
    order = _items_met(items, size)[::-1]
    return _items(log, n, items, order[introsort(rows[order].astype(np.int64))[::-1]])


def recent_items(log: Log, *, n: int, ties: Equals = "id") -> Log:
    """Keep the n items with the most recent interaction; ties go by lower id.

    `ties` "introsort" keeps the items that NumPy's introsort of the latest rows puts first, as
    pandas does.
    """
    log.require("timestamp", "recent_items")
    items, size = codes(log.frame["item"])
    if ties == "introsort":
        backwards = introsort(whole(log.frame["timestamp"])[::-1])[::-1]
        return _items(log, n, items, _items_met(items[::-1][backwards], size))
    times = log.frame["timestamp"].to_physical().to_numpy()
    last = np.full(size, times.min(initial=0))
    np.maximum.at(last, items, times)
    return _items(log, n, items, _by_weight(last, counts(items, size) > 0))


def _by_weight(weight: NDArray[Any], there: Flags) -> Integers:
    """Sort item numbers by weight, highest first; ties go by the lower number. `there` marks the
    numbers that exist."""
    numbers = np.flatnonzero(there)[::-1]
    return numbers[np.argsort(weight[numbers], kind="stable")[::-1]]


def _items_met(items: NDArray[np.uint32], size: int) -> Integers:
    """Return each item once, in order of first appearance."""
    first = np.full(size, len(items))
    first[items[::-1]] = np.arange(len(items))[::-1]
    numbers = np.flatnonzero(first < len(items))
    return numbers[np.argsort(first[numbers])]


def _items(log: Log, n: int, items: NDArray[np.uint32], best: NDArray[Any]) -> Log:
    """Keep the rows of the first n of the best items; none for n=0, as in RecPack."""
    if n < 0:
        raise BadArgument(f"n is {n}.", "a whole number of at least 0.")
    kept = np.zeros(int(best.max(initial=0)) + 1, bool)
    kept[best[:n]] = True
    return choose_rows(log, look_up(kept, items))


def latest(log: Log, *, n: int, ties: Ties = "content") -> Log:
    """Keep the n latest interactions of each user."""
    _require(n, "n")
    log.require("timestamp", "latest")
    return choose_rows(log, by_time(log, "user", ties).after < n)


def earliest(log: Log, *, n: int, ties: Ties = "content") -> Log:
    """Keep the n earliest interactions of each user."""
    _require(n, "n")
    log.require("timestamp", "earliest")
    return choose_rows(log, by_time(log, "user", ties).before < n)


def sample_users(
    log: Log, *, n: int | None = None, share: float | None = None, seed: int = 0
) -> Log:
    """Keep all rows of n random users, or of a random share of the users."""
    place, size = places(log.frame["user"], seed)
    return choose_rows(log, place < _size_wanted(n, share, size))


def _size_wanted(n: int | None, share: float | None, size: int) -> int:
    if (n is None) == (share is None):
        raise BadArgument(f"n is {n} and share is {share}.", "exactly one of them.")
    if share is not None:
        if not 0 < share <= 1:
            raise BadArgument(f"share is {share}.", "a number above 0, at most 1.")
        return max(round(share * size), 1)
    count = int(n or 0)
    _require(count, "n")
    if count > size:
        raise BadArgument(f"n is {count:,}, but there are {size:,} users.", "at most that many.")
    return count


def _require(n: int, name: str) -> None:
    if n < 1:
        raise BadArgument(f"{name} is {n}.", "a whole number of at least 1.")


def time_window(log: Log, *, start: Moment | None = None, end: Moment | None = None) -> Log:
    """Keep rows from `start` on and before `end`."""
    log.require("timestamp", "time_window")
    if start is None and end is None:
        raise BadArgument("time_window has neither start nor end.", "at least one of them.")
    kept = pl.lit(value=True)
    if start is not None:
        kept = kept & (pl.col("timestamp") >= pl.lit(parse_moment(log, start, "start")))
    if end is not None:
        kept = kept & (pl.col("timestamp") < pl.lit(parse_moment(log, end, "end")))
    return choose_rows(log, log.frame.select(kept.alias("kept"))["kept"])


_MOST_DAYS = 1_000_000


def last_days(log: Log, *, n: float, level: Level = "all") -> Log:
    """Keep rows less than n days before the latest row: of the log, or of each user or item."""
    log.require("timestamp", "last_days")
    require_between(n, "n", 0, _MOST_DAYS)
    length = parse_span(log, timedelta(days=n), "n")
    if log.frame.is_empty():
        return log
    return choose_rows(log, log.frame["timestamp"] > _ends(log, level, "last") - length)


def first_days(log: Log, *, n: float, level: Level = "all") -> Log:
    """Keep rows less than n days after the first row: of the log, or of each user or item."""
    log.require("timestamp", "first_days")
    require_between(n, "n", 0, _MOST_DAYS)
    length = parse_span(log, timedelta(days=n), "n")
    if log.frame.is_empty():
        return log
    return choose_rows(log, log.frame["timestamp"] < _ends(log, level, "first") + length)


def _ends(log: Log, level: Level, end: Literal["first", "last"]) -> Any:
    """Return the first or last timestamp: of the log, or for each row that of its user or item."""
    if level == "all":
        times = log.frame["timestamp"]
        return times.min() if end == "first" else times.max()
    ends, groups = ends_of(log, level, end)
    return pl.Series(look_up(ends.to_physical().to_numpy(), groups)).cast(ends.dtype)


def sort_rows(
    log: Log,
    *,
    order: Literal["time", "file", "file_backwards"] = "time",
    ties: Ties = "content",
    no_times: Literal["error", "as_is"] = "error",
) -> Log:
    """Sort rows by time, or put them back in the order of the source, forwards or backwards.

    Later steps and splits that depend on row order use this order. `no_times` "as_is" leaves a log
    without timestamps unchanged.
    """
    if order != "time":
        return log.with_frame(log.frame.sort(ROW, descending=order == "file_backwards"))
    if no_times == "as_is" and "timestamp" not in log.frame.columns:
        return log
    log.require("timestamp", "sort_rows")
    rows = np.empty(log.frame.height, np.uint32)
    rows[by_time(log, "all", ties).before] = np.arange(log.frame.height, dtype=np.uint32)
    return log.with_frame(log.frame[rows])


STEPS: Mapping[str, Step] = {
    step.__name__: step
    for step in (
        deduplicate,
        consecutive,
        threshold,
        grade_range,
        in_intervals,
        n_filter,
        k_core,
        between,
        items_per_user,
        users_per_item,
        popularity_range,
        cold_users,
        popular_items,
        recent_items,
        cap_items,
        thin_popular_items,
        latest,
        earliest,
        time_window,
        last_days,
        first_days,
        session_gap,
        session_length,
        users_where,
        items_where,
        sample_users,
        sort_rows,
    )
}
