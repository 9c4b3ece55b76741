"""Rows that masks mark, copied on several threads, and their users and items counted on the way.

Copying is bound by memory. What Polars writes goes into pages that the system maps one by one, and
NumPy asks for large ones; a block of a column stays in the processor's cache until it is copied for
every mask and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rectitude.compiled import frozen, kernel, repay
from rectitude.data.blocks import blocks, flags_of, kind, plain
from rectitude.threads import in_blocks

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rectitude.data.blocks import Mask

_FEW = 1 << 12
"""Frames in pieces of so few rows are made whole first."""
_SPARSE = 4
"""With so many rows for one that is marked, it is faster to go from one to the next."""
_SPARE = 1024
"""Ids are counted in a table of all numbers up to that of rows and so many more."""


class Taken(NamedTuple):
    """The rows of each mask, and how many different ids there are among them, then in the whole;
    only of columns of whole numbers that are not much above the number of rows."""

    frames: list[pl.DataFrame]
    distinct: Mapping[str, list[int]]


def taken(frame: pl.DataFrame, masks: Sequence[Mask], counted: Sequence[str] = ()) -> Taken:
    """The rows that each mask marks, in the order of the frame."""
    import polars as pl

    if not (frame.height and repay(frame.height)):
        return Taken([frame.filter(pl.Series(mask)) for mask in masks], {})
    if max(frame.n_chunks("all")) * _FEW > frame.height:
        frame = frame.rechunk()
    columns = [
        _Column(values, values.name in counted and values.dtype.is_integer())
        for values in frame
        if plain(values)
    ]
    if columns:
        _copy(columns, [frozen(flags_of(mask).view(np.uint8)) for mask in masks], frame.height)
    others = frame.drop(column.values.name for column in columns)
    left = [others.filter(pl.Series(mask)) if others.width else pl.DataFrame() for mask in masks]
    parts = [
        pl.DataFrame([*rows, *(column.copied(nth) for column in columns)]).select(frame.columns)
        for nth, rows in enumerate(left)
    ]
    return Taken(parts, {each.values.name: each.distinct() for each in columns if each.known()})


@dataclass(slots=True)
class _Column:
    """A column that is being copied, as unsigned numbers of its width."""

    values: pl.Series
    counted: bool
    blocks: list[NDArray[Any]] = field(default_factory=list)
    copies: list[NDArray[Any]] = field(default_factory=list)
    met: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    """for each mask and for rows of none, which ids were met"""
    highest: list[int] = field(default_factory=list)
    """of each block"""

    def known(self) -> bool:
        """Whether the ids were counted, and none was too high for that."""
        return self.counted and max(self.highest, default=0) < self.met.shape[1]

    def distinct(self) -> list[int]:
        """How many ids the rows of each mask have, and all rows."""
        met = self.met[:, : max(self.highest, default=0) + 1]
        return [*(int(np.count_nonzero(ids)) for ids in met[:-1]), int(met.any(axis=0).sum())]

    def copied(self, nth: int) -> pl.Series:
        """The rows of a mask."""
        import polars as pl

        name, dtype = self.values.name, self.values.dtype
        return pl.Series(name, self.copies[nth].view(kind(self.values))).cast(dtype)


def _copy(columns: Sequence[_Column], flags: list[NDArray[np.uint8]], rows: int) -> None:
    """Fill the copies of all columns, block by block, and count ids, also those of rows that no
    mask marks."""
    cuts, found = blocks(*(each.values for each in columns))
    rest = ~reduce(np.logical_or, (mask.view(bool) for mask in flags))
    every = [*flags, frozen(rest.view(np.uint8))]
    ends = [np.cumsum([0, *(np.count_nonzero(f[a:b]) for a, b in pairwise(cuts))]) for f in every]
    for each, parts in zip(columns, found, strict=True):
        each.blocks = [part.view(f"u{part.itemsize}") for part in parts]
        each.copies = [np.empty(last[-1], each.blocks[0].dtype) for last in ends[:-1]]
        each.met = np.zeros((len(every), rows + _SPARE if each.counted else 0), np.uint8)
        each.highest = [0] * (len(cuts) - 1)
    pick, meet = kernel(_pick), kernel(_meet)

    def one(each: _Column, block: int, nth: int, marked: NDArray[Any]) -> int:
        values, few = each.blocks[block], marked.dtype != np.uint8
        if nth == len(flags):  # these are counted only, with the others if they are not few
            kept = values.take(marked) if few else values
        else:
            kept = each.copies[nth][ends[nth][block] : ends[nth][block + 1]]
            values.take(marked, out=kept, mode="clip") if few else pick(values, marked, kept)
        return int(meet(frozen(kept), each.met[nth])) if each.counted else 0

    def work(first: int, last: int) -> None:
        for block in range(first, last):
            marked = [_few(mask[cuts[block] : cuts[block + 1]]) for mask in every]
            for each in columns:
                masks = list(enumerate(marked))[: len(flags) + each.counted]
                each.highest[block] = max(one(each, block, *mask) for mask in masks)

    in_blocks(work, len(cuts) - 1, 1)


def _few(flags: NDArray[np.uint8]) -> NDArray[Any]:
    """The places of flags if few are set, or else the flags."""
    few = np.count_nonzero(flags) * _SPARSE < len(flags)
    return np.flatnonzero(flags.view(bool)) if few else flags


def _pick(values, flags, out):  # type: ignore[no-untyped-def]
    """The marked values, one after the other; without a branch that could be foreseen wrongly."""
    row = place = 0
    while place < out.shape[0]:
        out[place] = values[row]
        place += flags[row]
        row += 1


def _meet(values, met):  # type: ignore[no-untyped-def]
    """Note which numbers occur unless one is too high for the table; the highest. Threads share the
    table: a number is noted once, so that they do not wait for each other's writing."""
    highest = np.uint64(0)
    for row in range(values.shape[0]):
        highest = max(highest, np.uint64(values[row]))
    if highest < np.uint64(met.shape[0]):
        for row in range(values.shape[0]):
            if not met[values[row]]:
                met[values[row]] = 1
    return highest
