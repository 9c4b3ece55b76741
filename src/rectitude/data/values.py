"""The values of columns: numbers become floats, and every row must have its ids.

Columns of plain numbers can be split into blocks without a copy, for work on several threads.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Pieces
from rectitude.errors import BadIds, BadTable
from rectitude.kernels import freeze
from rectitude.parallel import in_blocks

Mask = Flags | pl.Series
Blocks = list[NDArray[Any]]
IDS = ("list", "user", "item")
NUMBERS = ("score", "rank", "grade", "weight")
NOTHING = ("NaN", "nan", "NAN", "null", "NULL", "None", "NA", "<NA>", "N/A")
"""Spellings of a missing value in text."""
EXACT = 2**53
"""The largest integer up to which float64 represents every integer exactly."""


def canonical(
    frame: pl.DataFrame, roles: Collection[str], title: str, key: str, text: bool = False
) -> pl.DataFrame:
    """Return the frame with numbers as floats (ranks may stay integers), after checking its ids.

    `key` is the name of the list key, such as user or session. `text` says that ids come from a
    file without types.
    """
    for role in [role for role in IDS if role in roles]:
        word = key if role == "list" else role
        _require_ids(frame[role], word, title)
        require_one_type(frame[role], word, title)
        if text:
            _refuse_null_words(frame[role], word, title)
    return frame.with_columns(_to_floats(frame[role], title) for role in NUMBERS if role in roles)


def _require_ids(ids: pl.Series, word: str, title: str) -> None:
    missing = ids.is_null()
    if ids.dtype.is_float():
        missing = missing | ids.is_nan()
    count = int(missing.sum())
    if count:
        first = int(missing.arg_max() or 0) + 1
        raise BadIds(
            f"{title}: {count} of {len(ids)} rows have no {word} (first: row {first}).",
            f"no missing {word} ids.",
            f"remove these rows, or fill in the {word}.",
        )


def require_one_type(ids: pl.Series, word: str, title: str) -> None:
    """Raise an error for ids of several Python types, such as 1 and '1'."""
    if ids.dtype != pl.Object:
        return
    firsts: dict[type, Any] = {}
    counts: Counter[type] = Counter()
    for value in ids.drop_nulls().to_list():
        plain = value.item() if isinstance(value, np.generic) else value
        firsts.setdefault(type(plain), plain)
        counts[type(plain)] += 1
    if len(firsts) > 1:
        shown = [f"{counts[k]:,} of type {k.__name__} (first: {v!r})" for k, v in firsts.items()]
        raise BadIds(
            f"{title}: {word} ids have several types: {', '.join(shown)}.",
            "ids of one type: 1 and '1' are different ids.",
            f"convert every {word} id to the same type, for example with str() or int().",
        )


def _refuse_null_words(ids: pl.Series, word: str, title: str) -> None:
    """Raise an error for words such as NaN if all other ids are numbers.

    Among text ids they are allowed: a user may be called Null.
    """
    if ids.dtype != pl.String:
        return
    missing = ids.is_in(NOTHING)
    count = int(missing.sum())
    if count == 0 or count == len(ids) or ids.filter(~missing).str.contains(r"\D").any():
        return
    first = int(missing.arg_max() or 0)
    raise BadIds(
        f"{title}: {count} of {len(ids)} rows have {ids[first]!r} as their {word}, but all others"
        f" have a number (first: row {first + 1}).",
        f"no missing {word} ids.",
        f"remove these rows, or fill in the {word}.",
    )


def require_counts(counts: pl.Series, name: str, title: str) -> None:
    """Raise an error if a column of counts contains negative numbers."""
    if counts.dtype == pl.String:  # read from a file without types
        counts = counts.cast(pl.Float64, strict=False)
    if not counts.dtype.is_numeric():
        return
    below = counts < 0
    if count := int(below.sum()):
        first = int(below.arg_max() or 0)
        raise BadTable(
            f"{title}: {count:,} of {len(counts):,} numbers in {name!r} are negative"
            f" (first: row {first + 1}, {counts[first]:g}).",
            "counts of at least 0.",
            "remove these rows first; they may be returns or cancellations.",
        )


def _to_floats(column: pl.Series, title: str) -> pl.Series:
    if column.dtype == pl.Object:
        column = _unbox_numbers(column, title)
    dtype = column.dtype
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise _not_numbers(column, title, _first_present(column))
    if column.name == "rank":
        return _convert_ranks(column)
    if column.name == "score":
        return _convert_scores(column)
    return column.cast(pl.Float64)


def _not_numbers(column: pl.Series, title: str, value: object) -> BadTable:
    """Return the error for a column that should contain numbers and does not."""
    advice = f"convert it to numbers, or name another column with columns={{{column.name!r}: ...}}."
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d*,\d+\s*", value):
        advice = (
            "its numbers have a decimal comma: read the file with pd.read_csv(path, decimal=','),"
            " or replace the comma, column.str.replace(',', '.').astype(float)."
        )
    return BadTable(
        f"{title}: the {column.name} column has the type {column.dtype} (first value: {value!r}).",
        "numbers.",
        advice,
    )


def _convert_scores(column: pl.Series) -> pl.Series:
    """Return scores as floats; different values stay different."""
    if column.dtype in (pl.Float32, pl.Float64):
        return column
    if column.dtype.is_float():
        return column.cast(pl.Float32)
    if column.dtype.is_integer() and _exceeds(column, EXACT):
        return column.rank("dense").cast(pl.Float64)
    return column.cast(pl.Float64)


def _convert_ranks(column: pl.Series) -> pl.Series:
    whole = column.dtype.is_integer() or column.dtype == pl.Boolean
    fits = whole and not _exceeds(column, 2**63 - 1)
    return column.cast(pl.Int64 if fits else pl.Float64)


def _exceeds(column: pl.Series, limit: int) -> bool:
    if column.dtype.is_integer() and column.len() > column.null_count():
        low, high = column.min(), column.max()
        return bool(-limit > low or high > limit)  # type: ignore[operator]
    return False


def _unbox_numbers(column: pl.Series, title: str) -> pl.Series:
    """Convert Python objects that are numbers, such as fractions or NumPy scalars, to floats."""
    values = column.to_list()
    wrong = [value for value in values if not (value is None or isinstance(value, Real))]
    if wrong:
        raise _not_numbers(column, title, wrong[0])
    try:
        floats = [None if value is None else float(value) for value in values]
    except OverflowError:
        raise BadTable(
            f"{title}: the {column.name} column contains a number of more than 308 digits.",
            "numbers that fit a float.",
            "fix or remove these rows.",
        ) from None
    return pl.Series(column.name, floats, dtype=pl.Float64)


def _first_present(values: Iterable[object]) -> object:
    return next((value for value in values if value is not None), None)


_BLOCK = 1 << 18


_KINDS = (
    *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)), "Float32", "Float64"
)  # fmt: skip
"""Polars types that NumPy also has, under the same name in lower case."""


def is_plain_numeric(values: pl.Series) -> bool:
    """Whether a column has no nulls and a type of numbers or times that NumPy also has."""
    numbers = values.dtype.is_numeric() or values.dtype.is_temporal()
    return numbers and not values.null_count() and str(values.to_physical().dtype) in _KINDS


def kind(values: pl.Series) -> str:
    """Return the NumPy type of a plain column."""
    return str(values.to_physical().dtype).lower()


def blocks(*columns: pl.Series) -> tuple[list[int], list[Blocks]]:
    """Split plain columns with the same rows into blocks, without a copy.

    Return the bounds of the blocks, and the blocks of each column.
    """
    rows, columns_pieces = len(columns[0]), [pieces(values.to_physical()) for values in columns]
    bounds = sorted(
        {0, rows, *(bound for column in columns_pieces for bound in column.bounds.tolist())}
    )
    cuts = [low for a, b in pairwise(bounds) for low in range(a, b, _BLOCK)]
    sizes = np.diff([*cuts, rows]).tolist()
    column_blocks = []
    for column in columns_pieces:
        piece = np.searchsorted(column.bounds, cuts, side="right") - 1
        spans = zip(piece.tolist(), (cuts - column.bounds[piece]).tolist(), sizes, strict=True)
        arrays = [freeze(values) for values in column.parts]
        column_blocks.append([arrays[number][low : low + size] for number, low, size in spans])
    return [*cuts, rows], column_blocks


def compare_values(values: pl.Series, compare: np.ufunc, bound: Any) -> Mask:
    """Compare values with a bound by `np.greater_equal` or `np.less`; return a mask."""
    integers = values.dtype == pl.Int64 and isinstance(bound, int)
    if not ((integers or values.dtype == pl.Float64) and is_plain_numeric(values)):
        mask: pl.Series = values >= bound if compare is np.greater_equal else values < bound
        return mask
    (cuts, (value_blocks,)), flags = blocks(values), np.empty(len(values), bool)

    def compare_blocks(first: int, last: int) -> None:
        for block in range(first, last):
            compare(value_blocks[block], bound, out=flags[cuts[block] : cuts[block + 1]])

    in_blocks(compare_blocks, len(value_blocks), 1)
    return flags


def flags_of(mask: Mask) -> Flags:
    """Return a mask as one byte per row; nulls count as False."""
    if isinstance(mask, np.ndarray):
        return mask
    flags: Flags = mask.fill_null(value=False).to_numpy()
    return flags


def pieces(series: pl.Series) -> Pieces:
    """Return the values of a column without nulls, in the pieces that Polars holds, not copied."""
    chunks = series.get_chunks()
    filled = [chunk for chunk in chunks if len(chunk)] or chunks[:1]
    return Pieces(*(chunk.to_numpy() for chunk in filled))
