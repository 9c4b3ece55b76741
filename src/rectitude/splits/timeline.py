"""Splits of the whole log at moments: a timestamp, a share of the timeline, sliding windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags
from rectitude.data.ledger import Ledger
from rectitude.data.log import Log
from rectitude.data.times import SECONDS, SPAN, moment, ticks
from rectitude.data.times import span as length_of
from rectitude.data.values import compared, flags_of
from rectitude.errors import BadName
from rectitude.options import require_ratio, require_whole
from rectitude.prepare.order import Ties, by_time
from rectitude.splits.shares import Arithmetic, Part, Rounding, held_out, refuse_unused
from rectitude.splits.split import Split, parted, splitter

Cut = Literal["timestamp", "position", "percentile"]
_MOST_WINDOWS = 10_000


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
) -> Split | list[Split]:
    """Learn from what happened before t, find what happened from t on.

    `delta_in` and `delta_out` limit both sides to lengths of time next to t. t "best" is the moment
    at which most users have `min_before` rows before and `min_after` rows from it on (1 unless
    given), the latest of equals. Several moments give a series in which each truth ends where the
    next begins.
    """
    log.require("timestamp", "at_time")
    if t != "best":
        refuse_unused("only t='best' looks at it", min_before=min_before, min_after=min_after)
    if isinstance(t, Sequence) and not isinstance(t, str):
        require_whole(len(t), "the number of moments in t")
        refuse_unused("each truth ends where the next begins", delta_out=delta_out)
        return _at_times(log, sorted(inside(log, one) for one in t), delta_in, end)
    ledger = Ledger()
    if t == "best":
        t = best_time(log, min_before or 1, min_after or 1)
        ledger.note("t", str(t))
    start = inside(log, t)
    stop = None if end is None else moment(log, end, "end")
    if delta_out is not None:
        refuse_unused("delta_out says where truth ends", end=end)
        stop = start + length_of(log, delta_out, "delta_out")
    return _between(log, start, stop, delta_in, ledger=ledger)


def _at_times(log: Log, starts: list[Any], delta_in: object, end: object) -> list[Split]:
    stops = [*starts[1:], None if end is None else moment(log, end, "end")]
    both = zip(starts, stops, strict=True)
    return [_between(log, a, b, delta_in, f"window-{nth}") for nth, (a, b) in enumerate(both, 1)]


def best_time(log: Log, min_before: int, min_after: int) -> Any:
    """The moment at which most users have enough rows on both sides, the latest of equals.

    A user has enough from the moment after his row number `min_before` up to the moment of his row
    number `min_after` from the end: an interval, so that one pass over sorted ends counts all.
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
        raise BadName(
            f"no user of {log.source} has {min_before} rows before a moment and {min_after} from"
            " it on.",
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
    cut: Cut = "timestamp",
    ties: Ties = "content",
    boundary: Part = "truth",
    rounding: Rounding = "half_even",
    of: Part = "truth",
    arithmetic: Arithmetic = "decimal",
    validation: float = 0.0,
) -> Split:
    """Hold out the latest share of all rows.

    By default the cut is at a timestamp: rows of one moment stay together, in truth. "position"
    counts rows and may cut through equal timestamps. "percentile" cuts at the interpolated
    percentile of the timestamps; `boundary` is the part that rows exactly there belong to.
    """
    log.require("timestamp", "time_ratio")
    require_ratio(ratio)
    every = np.array([log.frame.height])
    held = int(held_out(every, ratio, rounding, of, arithmetic)[0])
    more = 0
    if validation:
        require_ratio(validation, "validation")
        more = int(held_out(every, validation, rounding, "truth", arithmetic)[0])
    if cut == "position":
        after = by_time(log, "all", ties).after
        return parted(log, after < held, validation=(after >= held) & (after < held + more))
    if cut == "percentile":
        because = "a percentile cuts once: split train again with validation={'how': ...}"
        refuse_unused(because, validation=validation)
        shown = ratio if of == "truth" else 1 - ratio
        return parted(log, _beyond_percentile(log, shown, boundary))
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
    return parted(log, truth, validation=tuned, ledger=ledger)


def _nth_last(times: pl.Series, places: list[int]) -> pl.Series:
    """The timestamps at these places from the end, as if all were sorted."""
    at = [max(len(times) - place, 0) for place in places]
    found = np.partition(times.to_physical().to_numpy(), at)[at]
    return pl.Series(found).cast(times.dtype)


def _beyond_percentile(log: Log, ratio: float, boundary: Part) -> Flags:
    times = log.frame["timestamp"]
    numbers = times.to_physical().to_numpy()
    point = np.percentile(numbers, 100 * (1 - ratio))
    beyond: Flags = numbers >= point if boundary == "truth" else numbers > point
    return beyond


@splitter
def late_share_in_file_order(log: Log, *, ratio: float = 0.2) -> Split:
    """Hold out as many rows of each user as he has in the latest share of time, but his last ones
    in the file. It leaks, and is here because RecBole does so unless it was told to sort."""
    log.require("timestamp", "late_share_in_file_order")
    require_ratio(ratio)
    late = pl.Series("late", _beyond_percentile(log, ratio, "train"))
    held = log.frame.with_columns(late).select(pl.col("late").sum().over("user"))["late"]
    return parted(log, by_time(log, "user", order="file").after < held.to_numpy())


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
) -> list[Split]:
    """A series of splits along the timeline: each finds what happens in one window of time.

    The windows begin at `start` and follow each other by `stride` (their own length unless it is
    given) until the last row. Without a start, the `folds` windows end with the last row, or with
    the unit of the span (the day of 10D) that holds it. `early` says what becomes of windows that
    begin before the first row, so that there is nothing to learn from.
    """
    log.require("timestamp", "windows")
    length = length_of(log, span, "span")
    step = length if stride is None else length_of(log, stride, "stride")
    starts = _starts(log, span, length, step, folds, start, end)
    for first in starts if early == "error" else ():
        inside(log, first, "the start of a window")
    times = log.frame["timestamp"]
    bounds = [(nth, first, first + length) for nth, first in enumerate(starts, 1)]
    held = [one for one in bounds if times.is_between(one[1], one[2], closed="left").any()]
    series = [_between(log, a, b, delta_in, f"window-{nth}") for nth, a, b in held]
    about = "windows of the series hold no row and are left out"
    for split in series:
        empty = len(bounds) - len(held)
        split.ledger.count("empty_windows", empty, about, of=len(bounds), weight="notice")
    return series


def _starts(
    log: Log, span: object, length: Any, step: Any, folds: int | None, start: object, end: str
) -> list[Any]:
    """Where the windows begin."""
    last: Any = log.frame["timestamp"].max()
    if start is not None:
        first = inside(log, start, "start")
        most = int((last - first) / step) + 1
        moments_ = log.frame["timestamp"].n_unique()
        if folds is None and most > max(moments_, _MOST_WINDOWS):
            raise BadName(
                f"from {first} to the last row at {last} there are {most:,} windows with a stride"
                f" of {step}, and {moments_:,} different timestamps.",
                "a longer span or stride: numbers are in the unit of the timestamps.",
                "write a length such as span='10D', or say how many windows with folds=.",
            )
        return [first + nth * step for nth in range(most if folds is None else folds)]
    require_whole(folds, "folds")
    stop = next_border(log, span) if end == "unit" else just_after(last)
    return [stop - length - nth * step for nth in reversed(range(folds or 1))]


def _between(
    log: Log, start: Any, stop: Any, delta_in: object, name: str = "", ledger: Ledger | None = None
) -> Split:
    """Truth from start to before stop, train before start and not longer before it than allowed."""
    times = log.frame["timestamp"]
    truth = after = flags_of(compared(times, np.greater_equal, start))
    if stop is not None:
        truth = after & flags_of(compared(times, np.less, stop))
    train = ~after
    if delta_in is not None:
        first = start - length_of(log, delta_in, "delta_in")
        train &= flags_of(compared(times, np.greater_equal, first))
    ledger = ledger or Ledger()
    ledger.note("t", str(start))
    return parted(log, truth, train=train, name=name, ledger=ledger)


def inside(log: Log, written: object, name: str = "t") -> Any:
    """A moment as a value that compares with the timestamps: some before it, some from it on."""
    log.require("timestamp", "a moment")
    value = moment(log, written, name)
    times = log.frame["timestamp"]
    first: Any = times.min()
    last: Any = times.max()
    if first is None or not first < value <= last:
        raise BadName(
            f"{name} is {value!r}, and the timestamps of {log.source} go from {first} to {last}.",
            "a moment with rows before it and rows from it on.",
        )
    return value


def next_border(log: Log, value: object) -> Any:
    """The first border of the unit of a span (a day for 10D) after the last timestamp."""
    found = SPAN.fullmatch(str(value))
    if found is None:
        raise BadName(f"span is {value!r}.", "a length with a unit, such as 10D, to end at one.")
    last: Any = log.frame["timestamp"].max()
    unit = SECONDS[found[2].lower()]
    if not log.frame["timestamp"].dtype.is_temporal():
        whole = unit * ticks(log)
        return (last // whole + 1) * whole
    start = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    length = timedelta(seconds=unit)
    return start + ((last - start) // length + 1) * length


def just_after(moment: Any) -> Any:
    """The next moment that a timestamp of this kind can have."""
    if isinstance(moment, float):
        return math.nextafter(moment, math.inf)
    if isinstance(moment, int):
        return moment + 1
    return moment + (timedelta(microseconds=1) if isinstance(moment, datetime) else timedelta(1))
