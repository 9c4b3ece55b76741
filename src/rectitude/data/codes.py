"""Ids of a column as small numbers, how many different ones there are, and tables by number."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rectitude.arrays import Flags, Integers
from rectitude.compiled import frozen, kernel, repay
from rectitude.data.blocks import blocks, plain
from rectitude.data.ids import has_128_bits
from rectitude.threads import in_blocks, thread_count, together

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Codes = NDArray[np.uint32]

_BLOCK = 1 << 18
_ROWS_EACH = 4
"""With so many rows for each number up to the highest, numbers need not be made denser."""
_SPARE = 1024
"""A table of all numbers up to the highest id may have so many entries more than the column."""


def ranks(ids: pl.Series) -> Codes:
    """Each id's place among the sorted distinct ids, from 0: numbers by value, text by bytes."""
    import polars as pl

    if ids.dtype in (pl.Categorical, pl.Enum):
        ids = ids.cast(pl.String)
    if ids.dtype == pl.Boolean:
        ids = ids.cast(pl.UInt8)
    near, size = _near_zero(ids)
    if near is not None:
        table = np.cumsum(_met(near, size), dtype=np.uint32) - np.uint32(1)
        return looked_up(table, _whole(near))
    known = ids.unique().sort()
    if ids.dtype == pl.String:
        return ids.cast(pl.Enum(known)).to_physical().cast(pl.UInt32).to_numpy()
    return known.search_sorted(ids).cast(pl.UInt32).to_numpy()


def codes(ids: pl.Series) -> tuple[Codes, int]:
    """Numbers from 0 on that are equal exactly where ids are, and a bound that they stay below.

    Integers that lie close together are their own numbers; others are ranked.
    """
    low = len(ids) // _ROWS_EACH + _SPARE
    if ids.dtype.is_integer() and plain(ids) and len(ids) and repay(len(ids)):
        numbers, highest = _narrowed(ids)
        if highest < low:
            return numbers, highest + 1
    near, size = _near_zero(ids)
    if near is not None and size <= low:
        return _whole(near), size
    numbers = ranks(ids)
    return numbers, int(numbers.max()) + 1 if len(numbers) else 0


def distinct(ids: pl.Series) -> int:
    """How many different ids there are."""
    near, size = _near_zero(ids)
    return ids.n_unique() if near is None else int(np.count_nonzero(_met(near, size)))


def counts(numbers: NDArray[Any], size: int) -> Integers:
    """How many rows each number has."""
    if not repay(len(numbers)):
        return np.bincount(numbers, minlength=size)
    tables, cuts = stretches(len(numbers), size)
    found = np.zeros((tables, size), np.int64)
    count, rows = kernel(_count), frozen(numbers)
    together([partial(count, rows[cuts[n] : cuts[n + 1]], found[n]) for n in range(tables)])
    total: Integers = found.sum(axis=0)
    return total


def stretches(rows: int, size: int) -> tuple[int, list[int]]:
    """Into how many stretches rows are cut that each fill a table of this size, and where: one for
    each thread, or fewer where adding up the tables would take longer."""
    number = int(np.clip(rows // max(_ROWS_EACH * size, 1), 1, thread_count()))
    return number, np.linspace(0, rows, number + 1).astype(np.int64).tolist()


def first_rows(numbers: Codes, size: int) -> Integers:
    """A row of each number, or -1 for numbers that have none."""
    row = np.full(size, -1, np.int64)
    if repay(len(numbers)):
        kernel(_note)(frozen(numbers), row)
    else:
        row[numbers] = np.arange(len(numbers))
    return row


def looked_up(table: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """The entries of a table at these places, on several threads."""
    found = np.empty(len(places), table.dtype)

    def work(first: int, last: int) -> None:
        table.take(places[first:last], out=found[first:last], mode="clip")

    in_blocks(work, len(places), _BLOCK)
    return found


def members(ids: pl.Series, known: pl.Series) -> Flags:
    """Which ids are some of the known ones."""
    near, size = _near_zero(ids)
    if near is not ids or known.dtype != ids.dtype:  # not their own numbers
        mask: Flags = ids.is_in(known.unique().implode()).to_numpy()
        return mask
    inside = known.filter(known.is_between(0, size - 1))
    return looked_up(_met(inside, size), _whole(ids))


def _near_zero(ids: pl.Series) -> tuple[pl.Series | None, int]:
    """Integers that lie close together as numbers from 0 on, and a bound that they stay below; None
    for other ids. They are counted and ranked by a table of all numbers up to the highest."""
    import polars as pl

    if not (ids.dtype.is_integer() and len(ids)):
        return None, 0
    low, high = cast("tuple[int, int]", (ids.min(), ids.max()))
    room, wide = len(ids) + _SPARE, ids.dtype == pl.UInt64 or has_128_bits(ids)
    if high - low > room:
        return None, 0
    if not 0 <= low <= room:  # a longer table is cheaper than another copy of the column
        first = pl.Series([low], dtype=ids.dtype if wide else pl.Int64)
        ids, high = ids.cast(first.dtype) - first, high - low
    return ids.cast(pl.Int64) if wide else ids, high + 1


def _narrowed(ids: pl.Series) -> tuple[Codes, int]:
    """Whole numbers in 32 bits, and the highest, in one pass; one below zero counts as very
    high."""
    cuts, (parts,) = blocks(ids)
    found, highest = np.empty(len(ids), np.uint32), np.zeros(len(parts), np.uint64)
    narrow = kernel(_narrow)

    def work(first: int, last: int) -> None:
        for nth in range(first, last):
            highest[nth] = narrow(parts[nth], found[cuts[nth] : cuts[nth + 1]])

    in_blocks(work, len(parts), 1)
    return found, int(highest.max())


def _whole(near: pl.Series) -> Codes:
    """Numbers from 0 on as one array, however many pieces the column is in."""
    found, first = np.empty(len(near), np.uint32), 0
    for piece in near.get_chunks():
        found[first : first + len(piece)] = piece.to_numpy()
        first += len(piece)
    return found


def _met(near: pl.Series, size: int) -> Flags:
    """Which numbers occur, piece by piece of the column."""
    met = np.zeros(size, bool)
    pays = repay(len(near))
    for piece in near.get_chunks():
        if pays:
            kernel(_tick)(frozen(piece.to_numpy()), met)
        else:
            met[piece.to_numpy()] = True
    return met


def _tick(numbers, met):  # type: ignore[no-untyped-def]
    """Note all these numbers."""
    for row in range(numbers.shape[0]):
        met[numbers[row]] = True


def _count(numbers, found):  # type: ignore[no-untyped-def]
    """Count without the copy in wider integers that NumPy makes."""
    for row in range(numbers.shape[0]):
        found[numbers[row]] += 1


def _note(numbers, row):  # type: ignore[no-untyped-def]
    """The last row of each number."""
    for place in range(numbers.shape[0]):
        row[numbers[place]] = place


def _narrow(values, found):  # type: ignore[no-untyped-def]
    """Cut values to 32 bits; the highest of them as they are, in unsigned numbers."""
    highest = np.uint64(0)
    for row in range(values.shape[0]):
        highest = max(highest, np.uint64(values[row]))
        found[row] = np.uint32(values[row])
    return highest
