"""Moments at which a log can be split, and the borders of days and hours."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from rectitude.data.log import Log
from rectitude.data.moments import SECONDS, SPAN, moment, ticks
from rectitude.errors import BadName


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
