"""Where each row stands within its group: one sort of whole numbers, and a second one of ties.

Group and first key are packed into one 64-bit number where they fit, so that the sort that matters
is of a single column. The other keys only decide between rows that are equal so far, mostly few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import polars as pl

    Whole = np.ndarray[Any, np.dtype[np.signedinteger[Any]]]
    Words = np.ndarray[Any, np.dtype[np.uint64]]

Level = Literal["user", "item", "all"]
BITS = 64


class Standing(NamedTuple):
    """For each row: how many rows of its group stand after it, and how many there are."""

    after: Whole
    size: Whole

    @property
    def before(self) -> Whole:
        """How many rows of the group stand before each row."""
        return self.size - 1 - self.after


class Packed(NamedTuple):
    """Numbers whose order is that of group and first key, how many low bits are the key's, and
    whether bits of the key had to be cut off: then rows of equal numbers may differ in it."""

    keys: Words
    low: int
    cut: bool


def standing(
    frame: pl.DataFrame, first: pl.Series, others: list[str], turned: list[str], level: Level
) -> Standing:
    """Where each row stands when sorted by a first key, then by other columns.

    `turned` are the columns that are sorted from large to small.
    """
    groups = None if level == "all" else frame[level]
    packed = _packed(groups, first)
    at = _sorted(packed.keys)
    keys = packed.keys[at]
    others = [name for name in others if name != level]
    if packed.cut:
        frame, others = frame.with_columns(first.alias("_first")), ["_first", *others]
    at = _settled(frame, at, keys, others, turned)
    starts = _starts(keys >> np.uint64(packed.low) if packed.low < BITS else keys * 0)
    small: Any = np.int32 if len(at) < 2**31 else np.int64  # half the memory where it will do
    counts = np.diff(starts, append=len(at)).astype(small)
    after, size = np.empty(len(at), small), np.empty(len(at), small)
    size[at] = np.repeat(counts, counts)
    ends = np.repeat((starts + counts - 1).astype(small), counts)
    ends -= np.arange(len(at), dtype=small)
    after[at] = ends
    return Standing(after, size)


def _packed(groups: pl.Series | None, first: pl.Series) -> Packed:
    numbers = _numbers(first)
    if groups is None:
        return Packed(numbers, BITS, cut=False)
    codes = _codes(groups)
    free = BITS - int(codes.max(initial=0)).bit_length()
    low = int(numbers.max(initial=0)).bit_length()
    over = max(low - free, 0)
    low -= over
    numbers >>= np.uint64(over)
    codes <<= np.uint64(low)
    codes |= numbers
    return Packed(codes, low, cut=over > 0)


def _numbers(key: pl.Series) -> Words:
    """Numbers from 0 in the order of a key."""
    import polars as pl

    physical = key.to_physical()
    if physical.dtype.is_float():
        bits = (physical.cast(pl.Float64).to_numpy() + 0.0).view(np.int64)
        turned: Words = (bits ^ ((bits >> 63) | np.int64(-(2**63)))).view(np.uint64)
        return turned
    whole = physical.cast(pl.UInt64 if physical.dtype == pl.UInt64 else pl.Int64).to_numpy()
    least = whole.min() if len(whole) else whole.sum()
    numbers: Words = whole.view(np.uint64) - least.view(np.uint64)  # wraps where it must
    return numbers


def _codes(ids: pl.Series) -> Words:
    """A number for each id, the same for the same id; in no particular order."""
    import polars as pl

    if ids.dtype.is_integer() and len(ids):
        low, high = int(ids.min() or 0), int(ids.max() or 0)  # type: ignore[arg-type]
        if high - low < 2**40:
            return (ids.cast(pl.Int64).to_numpy() - low).view(np.uint64)
    distinct = pl.DataFrame({"id": ids.unique()}).with_row_index("code")
    found = pl.DataFrame({"id": ids}).join(distinct, "id", "left", maintain_order="left")
    return found["code"].to_numpy().astype(np.uint64)


def _sorted(keys: Words) -> Whole:
    """The rows in the order of their keys."""
    import polars as pl

    rows: Whole = pl.Series(keys).arg_sort().to_numpy()
    return rows


def _settled(
    frame: pl.DataFrame, at: Whole, keys: Words, others: list[str], turned: list[str]
) -> Whole:
    """The order with rows of equal keys put in the order of the other columns."""
    import polars as pl

    same = keys[1:] == keys[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same)) if len(at) else at
    if not len(tied):
        return at
    rows = frame.select(others)[at[tied]].with_columns(
        pl.Series("_key", keys[tied]), pl.Series("_at", at[tied])
    )
    names = ["_key", *others]
    settled = at.copy()
    settled[tied] = rows.sort(names, descending=[name in turned for name in names])["_at"]
    return settled


def _starts(groups: Words) -> Whole:
    """Where each run of equal groups begins."""
    if not len(groups):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.append(True, groups[1:] != groups[:-1])).astype(np.int64)
