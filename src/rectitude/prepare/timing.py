"""Steps that go by time: a window, the last days, sessions."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any, Literal

import numpy as np

from rectitude.data.codes import looked_up, ranks
from rectitude.data.log import Log, chosen
from rectitude.data.moments import moment, span
from rectitude.errors import BadName
from rectitude.prepare.ends import ends_of
from rectitude.prepare.order import Level, in_time, ordered

Moment = int | float | str | datetime | date
"""A number as in the timestamps, or a date."""
Span = int | float | str
"""A number as in the timestamps, or a length such as 10D, 4h or 30min."""


def time_window(log: Log, *, start: Moment | None = None, end: Moment | None = None) -> Log:
    """Rows from `start` on and before `end`."""
    import polars as pl

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
    import polars as pl

    if level == "all":
        times = log.frame["timestamp"]
        return times.min() if end == "first" else times.max()
    ends, groups = ends_of(log, level, end)
    return pl.Series(looked_up(ends.to_physical().to_numpy(), groups)).cast(ends.dtype)


def session_gap(log: Log, *, gap: Span = "30min") -> Log:
    """All rows, with a `session` column: a new one where a user paused for longer than the gap.

    Sessions are numbered from 0, user by user in the order of ids, each in the order of time.
    """
    import polars as pl

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
