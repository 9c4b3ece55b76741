"""The values of columns: numbers become floats, ids must be there.

Columns that are nothing but numbers are handed out in blocks, not copied, for work on threads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Pieces
from rectitude.errors import BadIds, BadTable
from rectitude.kernels import frozen
from rectitude.parallel import in_blocks

Mask = Flags | pl.Series
Blocks = list[NDArray[Any]]
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


_BLOCK = 1 << 18


_KINDS = (
    *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)), "Float32", "Float64"
)  # fmt: skip
"""What both call so, in small letters there."""


def plain(values: pl.Series) -> bool:
    """Whether a column is nothing but numbers (or times) that NumPy has too."""
    numbers = values.dtype.is_numeric() or values.dtype.is_temporal()
    return numbers and not values.null_count() and str(values.to_physical().dtype) in _KINDS


def kind(values: pl.Series) -> str:
    """The type of the numbers of a plain column in NumPy."""
    return str(values.to_physical().dtype).lower()


def blocks(*columns: pl.Series) -> tuple[list[int], list[Blocks]]:
    """Plain columns of the same rows in blocks, not copied: where these begin and end, and those of
    each column."""
    rows, found = len(columns[0]), [pieces(values.to_physical()) for values in columns]
    bounds = sorted({0, rows, *(bound for each in found for bound in each.bounds.tolist())})
    cuts = [low for a, b in pairwise(bounds) for low in range(a, b, _BLOCK)]
    sizes = np.diff([*cuts, rows]).tolist()
    cut = []
    for each in found:
        part = np.searchsorted(each.bounds, cuts, side="right") - 1
        at = zip(part.tolist(), (cuts - each.bounds[part]).tolist(), sizes, strict=True)
        whole = [frozen(values) for values in each.parts]
        cut.append([whole[nth][low : low + size] for nth, low, size in at])
    return [*cuts, rows], cut


def compared(values: pl.Series, compare: np.ufunc, bound: Any) -> Mask:
    """Which values stand so to a bound: np.greater_equal or np.less."""
    whole = values.dtype == pl.Int64 and isinstance(bound, int)
    if not ((whole or values.dtype == pl.Float64) and plain(values)):
        mask: pl.Series = values >= bound if compare is np.greater_equal else values < bound
        return mask
    (cuts, (parts,)), flags = blocks(values), np.empty(len(values), bool)

    def work(first: int, last: int) -> None:
        for nth in range(first, last):
            compare(parts[nth], bound, out=flags[cuts[nth] : cuts[nth + 1]])

    in_blocks(work, len(parts), 1)
    return flags


def flags_of(mask: Mask) -> Flags:
    """A mask as one byte for each row; what is missing in it is not marked."""
    if isinstance(mask, np.ndarray):
        return mask
    flags: Flags = mask.fill_null(value=False).to_numpy()
    return flags


def pieces(series: pl.Series) -> Pieces:
    """The values of a column without nulls, in the parts in which Polars holds them, not copied."""
    return Pieces(*(chunk.to_numpy() for chunk in series.get_chunks()))
