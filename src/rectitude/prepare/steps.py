"""The steps by name, as recipes call them, and those that go by neither grades nor counts.

Steps leave one row of each user and item, choose rows by their values, their items, their users or
their time, number sessions, or put rows in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers
from rectitude.data.ids import codes, counts, looked_up, ranks
from rectitude.data.log import ROW, Log, chosen
from rectitude.data.times import moment, span
from rectitude.errors import BadName, BadTable
from rectitude.kernels import repay
from rectitude.prepare.counting import (
    Repeats,
    TwoSides,
    among,
    between,
    cold_users,
    distinct_pairs,
    items_per_user,
    k_core,
    n_filter,
    read_intervals,
    users_per_item,
)
from rectitude.prepare.draws import alike, drawn, places
from rectitude.prepare.grading import grade_range, require_grades, threshold
from rectitude.prepare.order import (
    Level,
    SortedRuns,
    StableTies,
    Ties,
    by_time,
    ends_of,
    equals,
    in_time,
    introsort,
    ordered,
    settled,
    whole,
)

Equals = Literal["id", "introsort"]
Keep = Literal["first", "last", "sum", "error"]
Moment = int | float | str | datetime | date
"""A number as in the timestamps, or a date."""
Span = int | float | str
"""A number as in the timestamps, or a length such as 10D, 4h or 30min."""
Step = Callable[..., Log]


def deduplicate(
    log: Log, *, keep: Keep = "last", order: Literal["time", "file"] = "time",
    ties: StableTies = "content",
) -> Log:  # fmt: skip
    """One row of each user and item: the first or the last, by time or in the file.

    `sum` keeps the last row with the sum of all grades; `error` refuses repeats.
    """
    if keep == "sum" and "grade" in log.frame.columns:
        require_grades(log)
    again = repeats(log.frame)
    if not len(again.rows):
        return log
    if keep == "error":
        raise _repeats(log, again)
    log = log.with_frame(_summed(log, again)) if keep == "sum" else log
    frame = log.frame
    if order == "time" and "timestamp" not in frame.columns:
        _require_equal(log, frame, again)
        order = "file"
    runs = settled(again, in_time(frame, ties) if order == "time" else [])
    kept = np.ones(frame.height, bool)
    kept[runs.rows] = False
    kept[runs.rows[runs.ends - (runs.sizes if keep == "first" else 1)]] = True
    return chosen(log, kept)


def repeats(frame: pl.DataFrame) -> SortedRuns:
    """The rows whose user and item other rows have too, one pair after the other."""
    (users, size), (items, _) = codes(frame["user"]), codes(frame["item"])
    if not repay(frame.height):
        return equals((users, size), items)
    rows = np.flatnonzero(alike(drawn(0, users, items))).astype(np.uint32)
    runs = equals((users[rows], size), items[rows])
    return SortedRuns(rows[runs.rows], runs.ends)


def _require_equal(log: Log, frame: pl.DataFrame, again: SortedRuns) -> None:
    """Without times, rows of a pair must be alike, or the first and the last mean nothing."""
    if "grade" not in frame.columns:
        return
    grades = frame["grade"].gather(again.rows).to_numpy()
    starts = again.ends - again.sizes
    low, high = np.minimum.reduceat(grades, starts), np.maximum.reduceat(grades, starts)
    different = int(np.count_nonzero(low != high))
    if different:
        raise BadTable(
            f"{log.source}: {different:,} pairs of user and item come with different"
            " grades, and no timestamp says which is the last.",
            "a timestamp column, or order = 'file'.",
            "choose with order='file', or keep='sum'.",
        )


def _summed(log: Log, again: SortedRuns) -> pl.DataFrame:
    """The rows of every pair with the sum of all its grades; the grades are counts here."""
    log.require("grade", "keep = 'sum'")
    rows = log.frame[np.sort(again.rows)]
    wrong = rows.filter(pl.col("grade") < 0)
    if wrong.height:
        first = wrong.row(0, named=True)
        raise BadTable(
            f"{log.source}: {wrong.height:,} of {rows.height:,} grades to be summed are below zero"
            f" (first: row {first[ROW] + 1}, {first['grade']}).",
            "counts of 0 or more.",
            "remove these rows first, or keep the first or last.",
        )
    # Floats are added from the smallest on, so that the order of rows plays no part.
    runs = settled(again, [log.frame["grade"]])
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
        f"{log.source}: the grades of {len(wrong):,} of {len(sums):,} repeated pairs add up to more"
        f" than a number can hold (first: user {first['user']!r}, item {first['item']!r}).",
        "counts.",
        "keep the first or last.",
    )


def _repeats(log: Log, again: SortedRuns) -> BadTable:
    first = log.frame.row(int(again.rows.min()), named=True)
    return BadTable(
        f"{log.source}: {len(again.rows):,} of {log.frame.height:,} rows repeat a pair of user and"
        f" item (first: row {first[ROW] + 1}, user {first['user']!r}, item {first['item']!r}).",
        "each pair once.",
        "choose which to keep: keep = 'first', 'last' or 'sum'.",
    )


def consecutive(
    log: Log, *, keep: Literal["first", "last"] = "first", ties: Ties = "content"
) -> Log:
    """One row where a user meets the same item several times in a row: the first or the last."""
    log.require("timestamp", "consecutive")
    users = ranks(log.frame["user"])
    runs = ordered((users, int(users.max(initial=0)) + 1), in_time(log.frame, ties))
    items = codes(log.frame["item"])[0][runs.rows]
    begins = np.append(True, items[1:] != items[:-1])[: len(items)]
    begins[runs.ends[:-1]] = True
    stays = begins if keep == "first" else np.append(begins[1:], True)[: len(items)]
    kept = np.zeros(len(items), bool)
    kept[runs.rows[stays]] = True
    return chosen(log, kept)


def in_intervals(log: Log, *, grade: str | None = None, timestamp: str | None = None) -> Log:
    """Rows whose grade and timestamp lie in one of the intervals given for them, such as
    [1,2];[4,inf)."""
    asked = {"grade": grade, "timestamp": timestamp}
    given = {column: text for column, text in asked.items() if text is not None}
    if not given:
        raise BadName("in_intervals has no intervals.", "some for grade, timestamp or both.")
    kept = np.ones(log.frame.height, bool)
    for column, text in given.items():
        log.require(column, "in_intervals")
        kept &= among(read_intervals(text), log.frame[column].to_physical().to_numpy())
    return chosen(log, kept)


def popular_items(log: Log, *, n: int, repeats: Repeats = "counted", ties: Equals = "id") -> Log:
    """The n items with the most rows (or users); of equally popular ones, those of lower id.

    `ties` "introsort" takes those that NumPy's introsort leaves first when it sorts items that come
    in the order of their first rows, as pandas counts them.
    """
    items, size = codes(log.frame["item"])
    counted = items
    if repeats == "once":
        users, most = codes(log.frame["user"])
        counted = distinct_pairs(TwoSides(users, items), TwoSides(most, size)).items
    rows = counts(counted, size)
    if ties == "id":
        return _items(log, n, items, _by_weight(rows, rows > 0))
    met = _met(items, size)[::-1]
    return _items(log, n, items, met[introsort(rows[met].astype(np.int64))[::-1]])


def recent_items(log: Log, *, n: int, ties: Equals = "id") -> Log:
    """The n items whose last interaction is the most recent; of equals, those of lower id.

    `ties` "introsort" takes those that come first when NumPy's introsort puts the latest rows
    first, as pandas does.
    """
    log.require("timestamp", "recent_items")
    items, size = codes(log.frame["item"])
    if ties == "introsort":
        backwards = introsort(whole(log.frame["timestamp"])[::-1])[::-1]
        return _items(log, n, items, _met(items[::-1][backwards], size))
    times = log.frame["timestamp"].to_physical().to_numpy()
    last = np.full(size, times.min(initial=0))
    np.maximum.at(last, items, times)
    return _items(log, n, items, _by_weight(last, counts(items, size) > 0))


def _by_weight(weight: NDArray[Any], there: Flags) -> Integers:
    """The numbers of items by weight from the highest on, equals from the lowest on: they go by
    their ids. Not every number is `there`."""
    known = np.flatnonzero(there)[::-1]
    return known[np.argsort(weight[known], kind="stable")[::-1]]


def _met(items: NDArray[np.uint32], size: int) -> Integers:
    """Every item once, in the order in which they are met."""
    first = np.full(size, len(items))
    first[items[::-1]] = np.arange(len(items))[::-1]
    known = np.flatnonzero(first < len(items))
    return known[np.argsort(first[known])]


def _items(log: Log, n: int, items: NDArray[np.uint32], best: NDArray[Any]) -> Log:
    """The rows of the n items that come first among the best."""
    _require(n, "n")
    kept = np.zeros(int(best.max(initial=0)) + 1, bool)
    kept[best[:n]] = True
    return chosen(log, looked_up(kept, items))


def latest(log: Log, *, n: int, ties: Ties = "content") -> Log:
    """The n most recent interactions of each user."""
    _require(n, "n")
    log.require("timestamp", "latest")
    return chosen(log, by_time(log, "user", ties).after < n)


def earliest(log: Log, *, n: int, ties: Ties = "content") -> Log:
    """The n first interactions of each user."""
    _require(n, "n")
    log.require("timestamp", "earliest")
    return chosen(log, by_time(log, "user", ties).before < n)


def sample_users(
    log: Log, *, n: int | None = None, share: float | None = None, seed: int = 0
) -> Log:
    """All rows of n users, or of a share of the users, drawn by the seed."""
    place, size = places(log.frame["user"], seed)
    return chosen(log, place < _wanted(n, share, size))


def _wanted(n: int | None, share: float | None, size: int) -> int:
    if (n is None) == (share is None):
        raise BadName(f"n is {n} and share is {share}.", "one of them.")
    if share is not None:
        if not 0 < share <= 1:
            raise BadName(f"share is {share}.", "more than 0, and at most 1.")
        return max(round(share * size), 1)
    count = int(n or 0)
    _require(count, "n")
    if count > size:
        raise BadName(f"n is {count:,}, and there are {size:,} users.", "at most as many.")
    return count


def _require(n: int, name: str) -> None:
    if n < 1:
        raise BadName(f"{name} is {n}.", "1 or more.")


def time_window(log: Log, *, start: Moment | None = None, end: Moment | None = None) -> Log:
    """Rows from `start` on and before `end`."""
    log.require("timestamp", "time_window")
    if start is None and end is None:
        raise BadName("time_window has neither start nor end.", "at least one of them.")
    kept = pl.lit(value=True)
    if start is not None:
        kept = kept & (pl.col("timestamp") >= pl.lit(moment(log, start, "start")))
    if end is not None:
        kept = kept & (pl.col("timestamp") < pl.lit(moment(log, end, "end")))
    return chosen(log, log.frame.select(kept.alias("kept"))["kept"])


def last_days(log: Log, *, n: float, level: Level = "all") -> Log:
    """Rows less than n days before the latest one: of the log, of their user or of their item."""
    log.require("timestamp", "last_days")
    length = span(log, timedelta(days=n), "n")
    if log.frame.is_empty():
        return log
    return chosen(log, log.frame["timestamp"] > _ends(log, level, "last") - length)


def first_days(log: Log, *, n: float, level: Level = "all") -> Log:
    """Rows less than n days after the first one: of the log, of their user or of their item."""
    log.require("timestamp", "first_days")
    length = span(log, timedelta(days=n), "n")
    if log.frame.is_empty():
        return log
    return chosen(log, log.frame["timestamp"] < _ends(log, level, "first") + length)


def _ends(log: Log, level: Level, end: Literal["first", "last"]) -> Any:
    """The first or last moment of the log, or for each row that of its user or item."""
    if level == "all":
        times = log.frame["timestamp"]
        return times.min() if end == "first" else times.max()
    ends, groups = ends_of(log, level, end)
    return pl.Series(looked_up(ends.to_physical().to_numpy(), groups)).cast(ends.dtype)


def session_gap(log: Log, *, gap: Span = "30min") -> Log:
    """All rows, with a `session` column: a new one where a user paused for longer than the gap.

    Sessions are numbered from 0, user by user in the order of ids, each in the order of time.
    """
    log.require("timestamp", "session_gap")
    length = span(log, gap, "gap")
    users = ranks(log.frame["user"])
    runs = ordered((users, int(users.max(initial=0)) + 1), in_time(log.frame))
    times = log.frame["timestamp"].gather(runs.rows)
    begins = (times.diff() > length).fill_null(value=True).to_numpy().copy()
    begins[runs.ends[:-1]] = True
    sessions = np.empty(len(users), np.int64)
    sessions[runs.rows] = np.cumsum(begins) - 1
    return log.with_frame(log.frame.with_columns(pl.Series("session", sessions)))


def sort_rows(
    log: Log,
    *,
    order: Literal["time", "file", "file_backwards"] = "time",
    ties: Ties = "content",
    no_times: Literal["error", "as_is"] = "error",
) -> Log:
    """The same rows in the order of time, or in that of the source, from its last row if wanted.

    Steps and splits that go by the order of the log go by this one afterwards. `no_times` "as_is"
    leaves a log without timestamps as it is.
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
        cold_users,
        popular_items,
        recent_items,
        latest,
        earliest,
        time_window,
        last_days,
        first_days,
        session_gap,
        sample_users,
        sort_rows,
    )
}
