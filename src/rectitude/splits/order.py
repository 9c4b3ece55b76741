"""The order of rows within a user, an item or the whole log, and where each row stands in it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rectitude.data.log import ROW, Log
from rectitude.errors import BadTable
from rectitude.prepare.draws import uniform
from rectitude.splits.standing import Level, Standing, standing

__all__ = ["Level", "Order", "Standing", "Ties", "at_random", "by_time", "latest", "require_time"]

Ties = Literal["content", "first", "last"]
Order = Literal["time", "file"]


def by_time(log: Log, level: Level, ties: Ties = "content", order: Order = "time") -> Standing:
    """Where each row stands when rows go by time.

    Rows of equal time go by item and grade, so that the order of the file plays no part; "first"
    and "last" go by the file instead, and say which of the rows counts as the latest. `order`
    "file" forgets time altogether.
    """
    if order == "file":
        return standing(log.frame, log.frame[ROW], [], [], level)
    require_time(log)
    times = log.frame["timestamp"]
    if ties != "content":
        return standing(log.frame, times, [ROW], [ROW] if ties == "first" else [], level)
    others = [key for key in ("item", "user", "grade", ROW) if key in log.frame.columns]
    return standing(log.frame, times, others, [], level)


def latest(log: Log, level: Level, ties: Ties = "content") -> Standing:
    """As `by_time`, but only the latest row of each group is told apart: all others count as one
    row before it. Nothing but rows of the latest moment has to be sorted."""
    import polars as pl

    require_time(log)
    times = pl.col("timestamp")
    near = log.frame.select((times == times.max().over(level)).alias("late"), pl.len().over(level))
    late = near["late"].to_numpy()
    after = np.ones(log.frame.height, np.int32)
    last = by_time(log.with_frame(log.frame.filter(near["late"])), level, ties)
    after[late] = np.minimum(last.after, 1)
    return Standing(after, near["len"].cast(pl.Int32).to_numpy())


def at_random(log: Log, level: Level, seed: int) -> Standing:
    """Where each row stands in an order that the seed and the content of rows decide."""
    import polars as pl

    draws = (uniform(log.frame, seed) * 2.0**53).cast(pl.UInt64)
    return standing(log.frame, draws, ["user", "item", *_when(log)], [], level)


def _when(log: Log) -> list[str]:
    """What tells rows of one pair apart, where there is such a column."""
    return [key for key in ("timestamp", "grade", ROW) if key in log.frame.columns]


def require_time(log: Log) -> None:
    """A timestamp in every row, and of a kind that can be ordered."""
    log.require("timestamp", "this split")
    times = log.frame["timestamp"]
    missing = int(times.null_count())
    if times.dtype.is_float():
        missing += int(times.is_nan().sum())
    if missing:
        bad = times.is_null() if times.null_count() else times.is_nan()
        raise BadTable(
            f"{log.source}: {missing} of {len(times)} rows have no timestamp (first: row"
            f" {log.frame[ROW][int(bad.arg_max() or 0)]}).",
            "a timestamp in every row.",
            "fill them in, or drop these rows.",
        )
    if not (times.dtype.is_numeric() or times.dtype.is_temporal()):
        raise BadTable(
            f"{log.source}: the timestamps are of type {times.dtype} (first: {times[0]!r}).",
            "numbers, dates or times.",
        )
