"""Timestamps in columns, and points and spans of time as people write them.

A column holds whole numbers, numbers, dates and times, or text with any of these. Points and spans
of time are converted to the unit of a log's timestamps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import polars as pl

from rectitude.errors import BadArgument, BadTable

if TYPE_CHECKING:
    from rectitude.data.log import Log


_FORMATS = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d", "%Y-%m-%d %H:%M")
_ZONED = ("%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M%#z")
_EXPECTED = (
    "numbers, or dates such as 2024-05-31, 2024-05-31 18:30:00 or 2024-05-31 18:30:00+02:00."
)


def convert_times(column: pl.Series, title: str) -> pl.Series:
    """Convert timestamps to one comparable type: int64, float64, or datetimes in UTC.

    Every row must have a timestamp: an event without one cannot be ordered.
    """
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        _require_none(column, column.is_null(), title, "are missing")
        text = column.cast(pl.String)
        integers = text.cast(pl.Int64, strict=False)  # the usual case in files
        return _from_text(text.str.strip_chars(), title) if integers.null_count() else integers
    converted = _cast_times(column, title)
    missing = converted.is_null()
    if converted.dtype.is_float():
        missing = missing | ~converted.is_finite()
    _require_none(column, missing, title, "are missing, NaN or infinite")
    return converted


def describe_times(timestamps: pl.Series) -> str:
    """Return the type of converted timestamps in words."""
    if timestamps.dtype.is_integer():
        return "whole numbers"
    return "numbers" if timestamps.dtype.is_float() else "dates and times, in UTC"


def _cast_times(column: pl.Series, title: str) -> pl.Series:
    dtype = column.dtype
    if dtype.is_integer():
        return column.cast(pl.Int64, strict=False)  # values that do not fit become null
    if dtype.is_float():
        return column.cast(pl.Float64)
    if dtype == pl.Date:
        return column.cast(pl.Datetime("us"))
    if isinstance(dtype, pl.Datetime):
        return column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if column.null_count() == len(column):
        return column.cast(pl.Int64)
    raise BadTable(
        f"{title}: the timestamp column has the type {dtype} (first value: {column[0]!r}).",
        _EXPECTED,
        "convert it, or name another column: rt.Interactions(source, timestamp=...).",
    )


def _from_text(text: pl.Series, title: str) -> pl.Series:
    """Convert text to the type that most of it has; raise an error for the first exception."""
    integers = text.cast(pl.Int64, strict=False)
    if not integers.null_count():
        return integers
    numbers = text.cast(pl.Float64, strict=False)
    numbers = numbers.set(~numbers.is_finite(), None)
    converted = numbers if 2 * numbers.null_count() < len(text) else _parse_dates(text)
    _require_none(text, converted.is_null(), title, "cannot be read")
    return converted


def _parse_dates(text: pl.Series) -> pl.Series:
    """Parse ISO dates and times, converted to UTC if they have a zone; null if invalid."""
    spaced = text.str.replace("T", " ", literal=True)
    parsed = pl.Series(text.name, [None], dtype=pl.Datetime("us")).new_from_index(0, len(text))
    for form in (*_FORMATS, *_ZONED):
        unparsed = parsed.is_null()
        if not unparsed.any():
            break
        dates = spaced.set(~unparsed, None).str.to_datetime(form, strict=False, time_unit="us")
        if form in _ZONED:
            dates = dates.dt.replace_time_zone(None)
        parsed = parsed.zip_with(~unparsed, dates)
    return parsed


def _require_none(column: pl.Series, wrong: pl.Series, title: str, problem: str) -> None:
    """Raise an error with the count and the first row, if any row is wrong."""
    count = int(wrong.sum())
    if not count:
        return
    first = int(wrong.arg_max() or 0)
    raise BadTable(
        f"{title}: {count:,} of {len(column):,} timestamps {problem}"
        f" (first: row {first + 1}, {column[first]!r}).",
        _EXPECTED,
        "fix or remove these rows, or name another column: rt.Interactions(source, timestamp=...).",
    )


SECONDS: Mapping[str, int] = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
SPAN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|d|w)\s*", re.IGNORECASE)
_TICKS = ((10**11, 1), (10**14, 10**3), (10**17, 10**6))


def ticks_per_second(log: Log) -> int:
    """Return how many units of a numeric timestamp make a second."""
    largest: Any = log.frame["timestamp"].max() or 0
    return ticks_by(largest)


def ticks_by(largest: float) -> int:
    """Return how many units make a second, guessed from the largest timestamp.

    Seconds since 1970 reach 10^11 in the year 5138, milliseconds 10^14, microseconds 10^17.
    """
    return next((unit for limit, unit in _TICKS if largest < limit), 10**9)


def parse_moment(log: Log, value: object, name: str) -> Any:
    """Convert a point in time to the type of the timestamps; text must be an ISO date."""
    temporal = log.frame["timestamp"].dtype.is_temporal()
    number = _to_number(value)
    if number is not None:
        if not temporal:
            return number
        return datetime.fromtimestamp(number, tz=UTC).replace(tzinfo=None)
    when = _parse_time(value, name)
    when = when.replace(tzinfo=when.tzinfo or UTC).astimezone(UTC)
    return (
        when.replace(tzinfo=None)
        if temporal
        else _drop_zero_fraction(when.timestamp() * ticks_per_second(log))
    )


def _parse_time(value: object, name: str) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    try:
        return datetime.fromisoformat(str(value))
    except ValueError as error:
        raise BadArgument(
            f"{name} is {value!r}.",
            "a number in the unit of the timestamps, or a date such as 2024-05-01.",
        ) from error


def parse_span(log: Log, value: object, name: str) -> Any:
    """Convert a length of time, such as `10D` or a number, to the unit of the timestamps."""
    temporal = log.frame["timestamp"].dtype.is_temporal()
    number = _to_number(value)
    length = _parse_seconds(value, name) if number is None else float(number)
    if not length > 0:
        raise BadArgument(f"{name} is {value!r}.", "a positive length of time, such as 10D.")
    if temporal:
        return timedelta(seconds=length)
    return _drop_zero_fraction(length * ticks_per_second(log)) if number is None else number


def _to_number(value: object) -> int | float | None:
    """Return a number of any library as a Python number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    return int(value) if isinstance(value, Integral) else float(value)


def _parse_seconds(value: object, name: str) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    match = SPAN.fullmatch(str(value))
    if match is None:
        raise BadArgument(
            f"{name} is {value!r}.",
            "a number in the unit of the timestamps, or a length such as 10D, 4h or 30min.",
        )
    return float(match[1]) * SECONDS[match[2].lower()]


def _drop_zero_fraction(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number
