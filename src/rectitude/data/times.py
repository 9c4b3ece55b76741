"""Timestamps as columns hold them (whole numbers, numbers, dates and times, or text of these), and
moments and spans as people write them, in the unit of a log's timestamps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import polars as pl

from rectitude.errors import BadName, BadTable

if TYPE_CHECKING:
    from rectitude.data.log import Log


_FORMATS = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d", "%Y-%m-%d %H:%M")
_ZONED = ("%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M%#z")
_EXPECTED = "whole numbers, numbers, or dates as in 2024-05-31, 2024-05-31 18:30:00, with +02:00."


def times(column: pl.Series, title: str) -> pl.Series:
    """Timestamps of one type that can be compared: int64, float64, or datetimes in UTC.

    Every row must have one: an event without a time has no place in any order.
    """
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        _require(column, column.is_null(), title, "are missing")
        text = column.cast(pl.String)
        whole = text.cast(pl.Int64, strict=False)  # what most files hold
        return _from_text(text.str.strip_chars(), title) if whole.null_count() else whole
    read = _typed(column, title)
    missing = read.is_null()
    if read.dtype.is_float():
        missing = missing | ~read.is_finite()
    _require(column, missing, title, "are missing, NaN or infinite")
    return read


def in_words(read: pl.Series) -> str:
    """What timestamps were read as."""
    if read.dtype.is_integer():
        return "whole numbers"
    return "numbers" if read.dtype.is_float() else "dates and times, in UTC"


def _typed(column: pl.Series, title: str) -> pl.Series:
    dtype = column.dtype
    if dtype.is_integer():
        return column.cast(pl.Int64, strict=False)  # what does not fit is missing
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
    )


def _from_text(text: pl.Series, title: str) -> pl.Series:
    """Text of the kind that most of it is; an error that names the first text that is not."""
    whole = text.cast(pl.Int64, strict=False)
    if not whole.null_count():
        return whole
    numbers = text.cast(pl.Float64, strict=False)
    numbers = numbers.set(~numbers.is_finite(), None)
    read = numbers if 2 * numbers.null_count() < len(text) else _dates(text)
    _require(text, read.is_null(), title, "cannot be read")
    return read


def _dates(text: pl.Series) -> pl.Series:
    """ISO dates and times, in UTC where they name a zone; null where it is none."""
    plain = text.str.replace("T", " ", literal=True)
    read = pl.Series(text.name, [None], dtype=pl.Datetime("us")).new_from_index(0, len(text))
    for form in (*_FORMATS, *_ZONED):
        open_rows = read.is_null()
        if not open_rows.any():
            break
        found = plain.set(~open_rows, None).str.to_datetime(form, strict=False, time_unit="us")
        if form in _ZONED:
            found = found.dt.replace_time_zone(None)
        read = read.zip_with(~open_rows, found)
    return read


def _require(column: pl.Series, wrong: pl.Series, title: str, what: str) -> None:
    """An error with the count and the first row, if any row is wrong."""
    count = int(wrong.sum())
    if not count:
        return
    first = int(wrong.arg_max() or 0)
    raise BadTable(
        f"{title}: {count:,} of {len(column):,} timestamps {what}"
        f" (first: row {first + 1}, {column[first]!r}).",
        _EXPECTED,
        "correct or remove these rows, or name another column: rt.Interactions(source,"
        " timestamp=...).",
    )


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
