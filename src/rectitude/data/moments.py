"""Moments and spans of time as people write them, in the unit of a log's timestamps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from numbers import Integral, Real
from typing import Any

from rectitude.data.log import Log
from rectitude.errors import BadName

SECONDS: Mapping[str, int] = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
SPAN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|d|w)\s*", re.IGNORECASE)
_TICKS = ((10**11, 1), (10**14, 10**3), (10**17, 10**6))


def ticks(log: Log) -> int:
    """How many units of a numeric timestamp are a second."""
    largest: Any = log.frame["timestamp"].max() or 0
    return ticks_by(largest)


def ticks_by(largest: float) -> int:
    """How many units of numeric timestamps are a second, judged by the size of the largest.

    Seconds since 1970 reach 10^11 in the year 5138, milliseconds 10^14, microseconds 10^17.
    """
    return next((unit for limit, unit in _TICKS if largest < limit), 10**9)


def moment(log: Log, value: object, name: str) -> Any:
    """A moment as a value that compares with the timestamps: numbers stay, texts are ISO dates."""
    temporal = log.frame["timestamp"].dtype.is_temporal()
    number = _number(value)
    if number is not None:
        if not temporal:
            return number
        return datetime.fromtimestamp(number, tz=UTC).replace(tzinfo=None)
    when = _parsed(value, name)
    when = when.replace(tzinfo=when.tzinfo or UTC).astimezone(UTC)
    return when.replace(tzinfo=None) if temporal else _whole(when.timestamp() * ticks(log))


def _parsed(value: object, name: str) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    try:
        return datetime.fromisoformat(str(value))
    except ValueError as error:
        raise BadName(
            f"{name} is {value!r}.", "a number as in the timestamps, or a date such as 2024-05-01."
        ) from error


def span(log: Log, value: object, name: str) -> Any:
    """A length of time that can be added to a timestamp: a number as in the timestamps, or 10D."""
    temporal = log.frame["timestamp"].dtype.is_temporal()
    number = _number(value)
    length = _seconds(value, name) if number is None else float(number)
    if not length > 0:
        raise BadName(f"{name} is {value!r}.", "a length of time above 0, such as 10D.")
    if temporal:
        return timedelta(seconds=length)
    return _whole(length * ticks(log)) if number is None else number


def _number(value: object) -> int | float | None:
    """A number of any library as one of Python's own; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    return int(value) if isinstance(value, Integral) else float(value)


def _seconds(value: object, name: str) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    found = SPAN.fullmatch(str(value))
    if found is None:
        raise BadName(
            f"{name} is {value!r}.",
            "a number as in the timestamps, or a length such as 10D, 4h or 30min.",
        )
    return float(found[1]) * SECONDS[found[2].lower()]


def _whole(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number
