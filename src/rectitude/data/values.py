"""The values of recognised columns: numbers become floats, ids must be there."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from numbers import Real

import polars as pl

from rectitude.errors import BadIds, BadTable

IDS = ("list", "user", "item")
NUMBERS = ("score", "rank", "grade", "weight")
NOTHING = ("NaN", "nan", "NAN", "null", "NULL", "None", "NA", "<NA>", "N/A")
"""How a missing value is written in text."""
EXACT = 2**53
"""Up to here every integer is a float64 of its own."""


def canonical(
    frame: pl.DataFrame, roles: Collection[str], title: str, key: str, text: bool = False
) -> pl.DataFrame:
    """The frame with every number a float (a rank may stay an integer) and every id present.

    `key` is the word for what tells lists apart, such as user or session; `text` says that ids come
    from a file without types.
    """
    for role in [role for role in IDS if role in roles]:
        word = key if role == "list" else role
        _require_ids(frame[role], word, title)
        if text:
            _require_words(frame[role], word, title)
    return frame.with_columns(_number(frame[role], title) for role in NUMBERS if role in roles)


def _require_ids(ids: pl.Series, word: str, title: str) -> None:
    missing = ids.is_null()
    if ids.dtype.is_float():
        missing = missing | ids.is_nan()
    count = int(missing.sum())
    if count:
        first = int(missing.arg_max() or 0) + 1
        raise BadIds(
            f"{title}: {count} of {len(ids)} rows have no {word} (first: row {first}).",
            f"every row to have its {word}.",
            "remove these rows, or fill them in.",
        )


def _require_words(ids: pl.Series, word: str, title: str) -> None:
    """An error for words such as NaN among ids that are all numbers otherwise.

    Among texts they stay what they are: somebody's name may be Null.
    """
    if ids.dtype != pl.String:
        return
    missing = ids.is_in(NOTHING)
    count = int(missing.sum())
    if count == 0 or count == len(ids) or ids.filter(~missing).str.contains(r"\D").any():
        return
    first = int(missing.arg_max() or 0)
    raise BadIds(
        f"{title}: {count} of {len(ids)} rows have {ids[first]!r} for their {word}, and all others"
        f" a number (first: row {first + 1}).",
        f"every row to have its {word}.",
        "remove these rows, or fill them in.",
    )


def require_counts(counts: pl.Series, name: str, title: str) -> None:
    """An error for a column of counts with numbers below zero."""
    if counts.dtype == pl.String:  # from a file without types
        counts = counts.cast(pl.Float64, strict=False)
    if not counts.dtype.is_numeric():
        return
    below = counts < 0
    if count := int(below.sum()):
        first = int(below.arg_max() or 0)
        raise BadTable(
            f"{title}: {count:,} of {len(counts):,} numbers in {name!r} are below zero"
            f" (first: row {first + 1}, {counts[first]:g}).",
            "counts of 0 or more.",
            "remove these rows (returns, cancellations) first.",
        )


def _number(column: pl.Series, title: str) -> pl.Series:
    if column.dtype == pl.Object:
        column = _unboxed(column, title)
    dtype = column.dtype
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise _not_numbers(column, title, _first(column))
    if column.name == "rank":
        return _rank(column)
    if column.name == "score":
        return _score(column)
    return column.cast(pl.Float64)


def _not_numbers(column: pl.Series, title: str, value: object) -> BadTable:
    """The error for a column that should hold numbers and does not."""
    return BadTable(
        f"{title}: the {column.name} column has the type {column.dtype} (first value: {value!r}).",
        "numbers.",
        f"convert it to numbers, or name another column with columns={{{column.name!r}: ...}}.",
    )


def _score(column: pl.Series) -> pl.Series:
    """Scores as floats in which no two different values become equal."""
    if column.dtype in (pl.Float32, pl.Float64):
        return column
    if column.dtype.is_float():
        return column.cast(pl.Float32)
    if column.dtype.is_integer() and _beyond(column, EXACT):
        return column.rank("dense").cast(pl.Float64)
    return column.cast(pl.Float64)


def _rank(column: pl.Series) -> pl.Series:
    whole = column.dtype.is_integer() or column.dtype == pl.Boolean
    fits = whole and not _beyond(column, 2**63 - 1)
    return column.cast(pl.Int64 if fits else pl.Float64)


def _beyond(column: pl.Series, limit: int) -> bool:
    if column.dtype.is_integer() and column.len() > column.null_count():
        low, high = column.min(), column.max()
        return bool(-limit > low or high > limit)  # type: ignore[operator]
    return False


def _unboxed(column: pl.Series, title: str) -> pl.Series:
    """Python objects that are all numbers after all, such as fractions or numpy scalars."""
    values = column.to_list()
    wrong = [value for value in values if not (value is None or isinstance(value, Real))]
    if wrong:
        raise _not_numbers(column, title, wrong[0])
    floats = [None if value is None else float(value) for value in values]
    return pl.Series(column.name, floats, dtype=pl.Float64)


def _first(values: Iterable[object]) -> object:
    return next((value for value in values if value is not None), None)
