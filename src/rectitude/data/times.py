"""Timestamps as columns hold them: whole numbers, numbers, dates and times, or text of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rectitude.errors import BadTable

if TYPE_CHECKING:
    import polars as pl

_FORMATS = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d", "%Y-%m-%d %H:%M")
_ZONED = ("%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M%#z")
_EXPECTED = "whole numbers, numbers, or dates as in 2024-05-31, 2024-05-31 18:30:00, with +02:00."


def times(column: pl.Series, title: str) -> pl.Series:
    """Timestamps of one type that can be compared: int64, float64, or datetimes in UTC.

    Every row must have one: an event without a time has no place in any order.
    """
    import polars as pl

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
    import polars as pl

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
    import polars as pl

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
    import polars as pl

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
