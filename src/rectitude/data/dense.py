"""Dense predictions as judging sees them: rows of scores that come in blocks, and their ids.

Whatever holds the scores (an array, a file, a function, a product of embeddings) is read block by
block, so that memory is bounded and a file is mapped, not loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats, Integers
from rectitude.data.known import Known
from rectitude.errors import BadScores

if TYPE_CHECKING:
    import polars as pl

    from rectitude.data.table import Table

Block = NDArray[Any]
"""(rows, columns) float32 or float64, C-contiguous and aligned."""
VIEWED_BYTES = 1 << 30
COPIED_BYTES = 1 << 25
_EXACT = 2**53
_CACHED = 1 << 16  # columns that are counted without leaving the cache


@dataclass(frozen=True, slots=True)
class Cells:
    """Some cells of every row, columns ascending: row r has `column[start[r]:start[r + 1]]`."""

    start: Integers
    column: Integers

    def rows(self) -> Integers:
        """The row of each cell."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def columns(self, size: int) -> Integers:
        """The columns, out of so many, that have a cell in some row."""
        step = max(_CACHED, size)
        there = np.zeros(size, np.int64)
        for first in range(0, len(self.column), step):
            there += np.bincount(self.column[first : first + step], minlength=size)
            if there.all():
                break
        return np.flatnonzero(there)

    def within(self, first: int, last: int) -> Cells:
        """The cells of some rows."""
        low, high = self.start[first], self.start[last]
        return Cells(self.start[first : last + 1] - low, self.column[low:high])


@dataclass(frozen=True, slots=True)
class Dense:
    """Scores of all items for every row, with the ids of rows and columns."""

    rows: int
    columns: int
    blocks: Callable[[], Iterator[Block]]
    """all rows once more, in order"""
    table: Table
    """one row for each row of scores: its list, and its user where lists have keys of their own"""
    items: pl.Series
    """the item of each column"""
    kind: Literal["scores", "logits"]
    padding: int | None = None
    """a column that stands for no item"""
    named: bool = True
    """whether rows have names, which are the same in every batch"""
    depth: int | None = None
    """the deepest rank that anybody asks for; None for all"""
    want_loss: Literal["loss", "ranks"] = "ranks"
    want_chances: Literal["chances", "none"] = "none"
    progress: Callable[[int, int], None] | None = None
    """told after each block how many rows are done, and of how many"""
    known: Mapping[tuple[object, ...], Known] | None = None
    """what was counted ahead, by what the counting depends on (see `reading`), if it was"""

    @property
    def source(self) -> str:
        """The scores in words."""
        return self.table.source

    def spans(self) -> Iterator[tuple[int, int, Block]]:
        """Each block with its first row and the one after its last."""
        first = 0
        for block in self.blocks():
            yield first, first + len(block), block
            first += len(block)

    def at(self, row: Integers, column: Integers) -> Floats:
        """The scores of some cells, NaN for those that do not exist."""
        rows, columns = np.broadcast_to(row, column.shape).ravel(), column.ravel()
        order = np.flatnonzero((rows >= 0) & (columns >= 0))
        order = order[np.argsort(rows[order], kind="stable")]
        found, ascending = np.full(column.size, np.nan), rows[order]
        for first, last, block in self.spans():
            begin, end = np.searchsorted(ascending, (first, last))
            here = order[begin:end]
            found[here] = block[rows[here] - first, columns[here]]
        return found.reshape(column.shape)


def array_blocks(array: NDArray[Any]) -> Callable[[], Iterator[Block]]:
    """The rows of an array in blocks, copied only where they must be converted or moved."""
    row = array[:1].nbytes
    viewed = array.ndim == 2 and _plain(array.dtype) and _straight(array)
    step = max(1, (VIEWED_BYTES if viewed else COPIED_BYTES) // max(1, row))

    def blocks() -> Iterator[Block]:
        for first in range(0, len(array), step):
            yield ready(array[first : first + step])

    return blocks


def ready(block: NDArray[Any]) -> Block:
    """A block as the counting needs it: interests merged by best score, float32 or float64."""
    merged = block.max(axis=1) if block.ndim == 3 else block
    if merged.dtype.kind in "iu" and merged.dtype.itemsize == 8:
        _require_exact(merged)
    halves = merged.dtype.kind == "f" and merged.dtype.itemsize <= 4
    return np.require(merged, np.float32 if halves else np.float64, ["C", "ALIGNED"])


def _straight(array: NDArray[Any]) -> bool:
    """Whether rows lie one after the other, and where memory is read fastest: a member of an
    archive may begin anywhere."""
    return array.flags.c_contiguous and array.flags.aligned


def _plain(dtype: np.dtype[Any]) -> bool:
    return dtype in (np.dtype(np.float32), np.dtype(np.float64))


def _require_exact(block: NDArray[Any]) -> None:
    largest = max(abs(int(block.max(initial=0))), abs(int(block.min(initial=0))))
    if largest > _EXACT:
        raise BadScores(
            f"a score is the integer {largest}, which float64 cannot hold.",
            f"integers up to {_EXACT}, or floats.",
        )
