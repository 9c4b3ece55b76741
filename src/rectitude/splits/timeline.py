"""Splits of the whole log in time: at a timestamp, by a share of the timeline, in windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags
from rectitude.data.ledger import Ledger
from rectitude.data.log import Log, choose_rows
from rectitude.data.times import SECONDS, SPAN, parse_moment, ticks_per_second
from rectitude.data.times import parse_span as length_of
from rectitude.data.values import compare_values, flags_of
from rectitude.errors import BadArgument
from rectitude.options import MOST_PARTS, MOST_ROWS, require_ratio, require_whole
from rectitude.preparing.order import Order, Ties, by_time
from rectitude.preparing.sessions import require_sessions
from rectitude.splits.shares import (
    Arithmetic,
    Part,
    Portion,
    Rounding,
    refuse_unused,
)
from rectitude.splits.split import Split, part_log, splitter

Cut = Literal["timestamp", "position", "percentile"]
_MOST_WINDOWS = 10_000


@dataclass(frozen=True, slots=True)
class Limit:
    """How many rows of each user stay in a truth, and which come first; None for all."""

    first: int | None = None
    order: Order = "time"

    def __post_init__(self) -> None:
        if self.first is not None:
            require_whole(self.first, "first", most=MOST_ROWS)
        elif self.order != "time":
            refuse_unused("only first= counts rows in an order", order=self.order)

    def apply(self, log: Log, truth: Flags) -> Flags:
        """Return which rows of a truth stay."""
        if self.first is None:
            return truth
        standing = by_time(choose_rows(log, truth), "user", order=self.order)
        kept = truth.copy()
        kept[truth] = standing.before < self.first
        return kept


@splitter
def at_time(
    log: Log,
    *,
    t: object,
    delta_in: object = None,
    delta_out: object = None,
    end: object = None,
    min_before: int | None = None,
    min_after: int | None = None,
    first: int | None = None,
    order: Order = "time",
) -> Split | list[Split]:
    """Train on rows before t; the truth is everything from t on.

    `delta_in` and `delta_out` limit train and truth to a time span before and after t. t "best" is
    the time at which most users have `min_before` earlier and `min_after` later rows (default 1);
    among equally good times, the latest. Several times give a series in which each truth ends where
    the next one begins. `first` keeps only that many rows of each user in the truth, the earliest
    ones, or with order "file" those that come first in the file.
    """
    log.require("timestamp", "at_time")
    limit = Limit(first, order)
    if t != "best":
        refuse_unused("only t='best' uses it", min_before=min_before, min_after=min_after)
    if isinstance(t, Sequence) and not isinstance(t, str):
        require_whole(len(t), "the number of times in t")
        refuse_unused("each truth ends where the next begins", delta_out=delta_out)
        return _at_times(log, sorted(inside(log, time) for time in t), delta_in, end, limit)
    ledger = Ledger()
    if t == "best":
        t = best_time(log, min_before or 1, min_after or 1)
        ledger.note("t", str(t))
    start = inside(log, t)
    stop = None if end is None else parse_moment(log, end, "end")
    if delta_out is not None:
        refuse_unused("delta_out already says where the truth ends", end=end)
        stop = start + length_of(log, delta_out, "delta_out")
    return _between(log, start, stop, delta_in, limit, ledger=ledger)


def _at_times(
    log: Log, starts: list[Any], delta_in: object, end: object, limit: Limit
) -> list[Split]:
    stops = [*starts[1:], None if end is None else parse_moment(log, end, "end")]
    both = zip(starts, stops, strict=True)
    return [
        _between(log, a, b, delta_in, limit, f"window-{nth}") for nth, (a, b) in enumerate(both, 1)
    ]


def best_time(log: Log, min_before: int, min_after: int) -> Any:
    """Return the time at which most users have enough rows on both sides; the latest one if several
    are equally good.

    A user has enough rows between their row number `min_before` and their row number `min_after`
    from the end. One pass over the sorted ends of these intervals counts all users.
    """
    require_whole(min_before, "min_before")
    require_whole(min_after, "min_after")
    times = pl.col("timestamp").sort()
    long = pl.len() >= min_before + min_after
    ends = log.frame.group_by("user").agg(
        pl.when(long).then(times.get(min_before - 1, null_on_oob=True)).alias("after"),
        pl.when(long).then(times.get(-min_after, null_on_oob=True)).alias("until"),
    )
    ends = ends.filter(pl.col("after") < pl.col("until"))
    if ends.is_empty():
        raise BadArgument(
            f"no user of {log.source} has {min_before} rows before some time and {min_after} rows"
            " after it.",
            "smaller min_before and min_after.",
        )
    moments_ = log.frame["timestamp"].unique().sort()
    opened = ends["after"].sort().search_sorted(moments_, "left")
    closed = ends["until"].sort().search_sorted(moments_, "left")
    counts = opened.cast(pl.Int64) - closed.cast(pl.Int64)
    return moments_.filter(counts == counts.max())[-1]


@splitter
def time_ratio(
    log: Log,
    *,
    ratio: float = 0.2,
    size: int | None = None,
    cut: Cut = "timestamp",
    ties: Ties = "content",
    boundary: Part = "truth",
    rounding: Rounding = "half_even",
    of: Part = "truth",
    arithmetic: Arithmetic = "decimal",
    validation: float = 0.0,
) -> Split:
    """Hold out the latest share of all rows.

    By default the cut is a timestamp: rows with the same timestamp stay together, in the truth.
    "position" counts rows and may cut between equal timestamps. "percentile" cuts at the
    interpolated percentile of the timestamps; rows exactly there go to the part `boundary`. `size`
    replaces the ratio by a number of rows. `validation` is a share of all rows, too, or a whole
    number of rows.
    """
    log.require("timestamp", "time_ratio")
    require_ratio(ratio)
    every = np.array([log.frame.height])
    portion = Portion(ratio, size, rounding, of, arithmetic)
    held = int(portion.count_held_out(every)[0])
    left = np.array([held])
    more = int(portion.count_validation(every, left, validation)[0]) if validation else 0
    if cut == "position":
        after = by_time(log, "all", ties).after
        return part_log(log, after < held, validation=(after >= held) & (after < held + more))
    if cut == "percentile":
        because = "a percentile cuts once: split train again with validation={'how': ...}"
        refuse_unused(because, validation=validation)
        refuse_unused("a percentile is a share, not a number of rows", size=size)
        shown = ratio if of == "truth" else 1 - ratio
        return part_log(log, _beyond_percentile(log, shown, boundary))
    return _by_timestamp(log, held, more, boundary)


def _by_timestamp(log: Log, held: int, more: int, boundary: Part) -> Split:
    times = log.frame["timestamp"]
    first, start = _nth_last(times, [max(held, 1), max(held + more, 1)])
    truth = times >= first if boundary == "truth" else times > first
    tuned = None
    if more:
        tuned = (times >= start) & ~truth
    ledger = Ledger()
    ledger.note("t", str(first))
    return part_log(log, truth, validation=tuned, ledger=ledger)


def _nth_last(times: pl.Series, positions: list[int]) -> pl.Series:
    """Return the timestamps at these positions from the end of the sorted timestamps."""
    at = [max(len(times) - position, 0) for position in positions]
    timestamps = np.partition(times.to_physical().to_numpy(), at)[at]
    return pl.Series(timestamps).cast(times.dtype)


def _beyond_percentile(log: Log, ratio: float, boundary: Part) -> Flags:
    times = log.frame["timestamp"]
    numbers = times.to_physical().to_numpy()
    point = np.percentile(numbers, 100 * (1 - ratio))
    beyond: Flags = numbers >= point if boundary == "truth" else numbers > point
    return beyond


@splitter
def late_sessions(log: Log, *, t: object) -> Split:
    """Hold out the sessions that end at t or later, whole, so that no session is cut in two.

    A session is a value of the column `session`, which the step `session_gap` adds.
    """
    require_sessions(log, "late_sessions")
    moment = inside(log, t)
    last = log.frame.select(pl.col("timestamp").max().over("user", "session"))["timestamp"]
    ledger = Ledger()
    ledger.note("t", str(moment))
    return part_log(log, compare_values(last, np.greater_equal, moment), ledger=ledger)


@splitter
def late_share_in_file_order(log: Log, *, ratio: float = 0.2) -> Split:
    """Hold out each user's last rows in the file: as many as they have in the log's latest share.

    This leaks future rows into train. It exists because RecBole does it unless asked to sort."""
    log.require("timestamp", "late_share_in_file_order")
    require_ratio(ratio)
    late = pl.Series("late", _beyond_percentile(log, ratio, "train"))
    held = log.frame.with_columns(late).select(pl.col("late").sum().over("user"))["late"]
    return part_log(log, by_time(log, "user", order="file").after < held.to_numpy())


@splitter
def windows(
    log: Log,
    *,
    span: object,
    stride: object = None,
    folds: int | None = None,
    start: object = None,
    delta_in: object = None,
    end: Literal["last", "unit"] = "last",
    early: Literal["error", "left_out"] = "error",
    first: int | None = None,
    order: Order = "time",
) -> list[Split]:
    """Make a series of splits along the timeline; the truth of each is one time window.

    The windows begin at `start` and are `stride` apart (by default their own length) until the last
    row. Without a start, `folds` windows end at the last row, or at the end of its time unit (the
    day, if the span is 10D). `early` says what happens to windows that begin before the first
    row and therefore have no training data. `first` and `order` limit each truth as in at_time.
    """
    log.require("timestamp", "windows")
    limit = Limit(first, order)
    length = length_of(log, span, "span")
    step = length if stride is None else length_of(log, stride, "stride")
    starts = _starts(log, span, length, step, folds, start, end)
    for begin in starts if early == "error" else ():
        inside(log, begin, "the start of a window")
    times = log.frame["timestamp"]
    bounds = [(nth, begin, begin + length) for nth, begin in enumerate(starts, 1)]
    held = [bound for bound in bounds if times.is_between(*bound[1:], closed="left").any()]
    series = [_between(log, a, b, delta_in, limit, f"window-{nth}") for nth, a, b in held]
    about = "windows of the series have no rows and are left out"
    for split in series:
        empty = len(bounds) - len(held)
        split.ledger.count("empty_windows", empty, about, of=len(bounds), weight="notice")
    return series


def _starts(
    log: Log, span: object, length: Any, step: Any, folds: int | None, start: object, end: str
) -> list[Any]:
    """Return the times at which the windows begin."""
    last: Any = log.frame["timestamp"].max()
    if start is not None:
        first = inside(log, start, "start")
        most = int((last - first) / step) + 1
        moments_ = log.frame["timestamp"].n_unique()
        if folds is None and most > max(moments_, _MOST_WINDOWS):
            raise BadArgument(
                f"a stride of {step} from {first} to the last row at {last} makes {most:,} windows,"
                f" but there are only {moments_:,} different timestamps.",
                "a longer span or stride; plain numbers are in the unit of the timestamps.",
                "write a span with a unit, such as span='10D', or limit the windows with folds=.",
            )
        return [first + nth * step for nth in range(most if folds is None else folds)]
    require_whole(folds, "folds", most=MOST_PARTS)
    stop = next_border(log, span) if end == "unit" else just_after(last)
    return [stop - length - nth * step for nth in reversed(range(folds or 1))]


def _between(
    log: Log,
    start: Any,
    stop: Any,
    delta_in: object,
    limit: Limit,
    name: str = "",
    ledger: Ledger | None = None,
) -> Split:
    """Make a split with its truth between start and stop, and train up to `delta_in` before."""
    times = log.frame["timestamp"]
    truth = after = flags_of(compare_values(times, np.greater_equal, start))
    if stop is not None:
        truth = after & flags_of(compare_values(times, np.less, stop))
    train = ~after
    if delta_in is not None:
        first = start - length_of(log, delta_in, "delta_in")
        train &= flags_of(compare_values(times, np.greater_equal, first))
    ledger = ledger or Ledger()
    ledger.note("t", str(start))
    return part_log(log, limit.apply(log, truth), train=train, name=name, ledger=ledger)


def inside(log: Log, written: object, name: str = "t") -> Any:
    """Convert a time to the type of the timestamps; some rows must be before it and some after."""
    log.require("timestamp", "a time")
    value = parse_moment(log, written, name)
    times = log.frame["timestamp"]
    first: Any = times.min()
    last: Any = times.max()
    if first is None or not first < value <= last:
        raise BadArgument(
            f"{name} is {value!r}, but the timestamps of {log.source} go from {first} to {last}.",
            "a time with rows before and after it.",
        )
    return value


def next_border(log: Log, value: object) -> Any:
    """Return the end of the time unit (the day, for a span of 10D) that has the last timestamp."""
    parsed = SPAN.fullmatch(str(value))
    if parsed is None:
        raise BadArgument(f"span is {value!r}.", "a time span with a unit, such as 10D.")
    last: Any = log.frame["timestamp"].max()
    unit = SECONDS[parsed[2].lower()]
    if not log.frame["timestamp"].dtype.is_temporal():
        whole = unit * ticks_per_second(log)
        return (last // whole + 1) * whole
    start = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    length = timedelta(seconds=unit)
    return start + ((last - start) // length + 1) * length


def just_after(moment: Any) -> Any:
    """Return the next possible timestamp of this type."""
    if isinstance(moment, float):
        return math.nextafter(moment, math.inf)
    if isinstance(moment, int):
        return moment + 1
    return moment + (timedelta(microseconds=1) if isinstance(moment, datetime) else timedelta(1))
