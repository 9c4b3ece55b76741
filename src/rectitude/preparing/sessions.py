"""Sessions: interactions of a user without a long pause, numbered and filtered by length."""

from __future__ import annotations

import numpy as np
import polars as pl

from rectitude.data.ids import ranks
from rectitude.data.log import Log, choose_rows
from rectitude.data.times import parse_span
from rectitude.errors import BadArgument, BadTable
from rectitude.preparing.order import in_time, order_groups

Span = int | float | str
"""A number in the unit of the timestamps, or a time span such as 10D, 4h or 30min."""


def session_gap(log: Log, *, gap: Span = "30min") -> Log:
    """Add a `session` column: a new session starts when a user paused for longer than the gap.

    Sessions are numbered from 0, by user id, then by time.
    """
    log.require("timestamp", "session_gap")
    length = parse_span(log, gap, "gap")
    users = ranks(log.frame["user"])
    runs = order_groups((users, int(users.max(initial=0)) + 1), in_time(log.frame))
    times = log.frame["timestamp"].gather(runs.rows)
    begins = (times.diff() > length).fill_null(value=True).to_numpy().copy()
    begins[runs.ends[:-1]] = True
    sessions = np.empty(len(users), np.int64)
    sessions[runs.rows] = np.cumsum(begins) - 1
    return log.with_frame(log.frame.with_columns(pl.Series("session", sessions)))


def session_length(log: Log, *, at_least: int = 1, at_most: int | None = None) -> Log:
    """Keep sessions with this many rows; the step `session_gap` says what a session is."""
    if at_least < 1 or (at_most is not None and at_most < at_least):
        raise BadArgument(
            f"the bounds for sessions are {at_least} and {at_most}.",
            "a lower bound of at least 1, and an upper bound that is not lower.",
        )
    require_sessions(log, "session_length")
    rows = log.frame.select(pl.len().over("user", "session").alias("rows"))["rows"]
    kept = rows >= at_least
    return choose_rows(log, kept if at_most is None else kept & (rows <= at_most))


def require_sessions(log: Log, purpose: str) -> None:
    """Raise an error if the rows of a log have no sessions."""
    if "session" not in log.frame.columns:
        raise BadTable(
            f"{log.source} has no session column, but {purpose} needs one.",
            "sessions of each user.",
            "add them with a step of the recipe: {'step': 'session_gap', 'gap': '30min'}.",
        )
