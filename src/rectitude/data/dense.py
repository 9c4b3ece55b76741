"""Dense predictions as judging sees them: rows of scores that come in blocks, and their ids.

Whatever holds the scores (an array, a file, a function, a product of embeddings) is read block by
block, so that memory is bounded and a file is mapped, not loaded. Rows that hold a NaN are counted
meanwhile, and refused together (`Holes`). Whoever cannot keep the scores, or reads them elsewhere,
counts first and hands over where items stand in their place (`Known`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers
from rectitude.convention import Convention
from rectitude.data.values import EXACT
from rectitude.errors import BadScores
from rectitude.rowkernels.standings import MASKED, Chances

if TYPE_CHECKING:
    from rectitude.data.table import Table


Block = NDArray[Any]
"""(rows, columns) float32 or float64, C-contiguous and aligned."""
Counts = NDArray[np.signedinteger[Any]]
VIEWED_BYTES = 1 << 30
COPIED_BYTES = 1 << 25


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
    known: Mapping[ReadingKey, Known] | None = None
    """what was counted ahead, if it was"""

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
    if largest > EXACT:
        raise BadScores(
            f"a score is the integer {largest}, which float64 cannot hold.",
            f"integers up to {EXACT}, or floats.",
        )


@dataclass
class Holes:
    """Rows that hold a NaN."""

    dense: Dense
    rows: int = 0
    cells: int = 0
    first: tuple[int, int] = (0, 0)

    def note(self, start: int, block: Block, flags: Flags) -> None:
        """Count the NaN of a block."""
        for row in np.flatnonzero(flags):
            holes = np.flatnonzero(np.isnan(block[row]))
            if not self.rows:
                self.first = (start + int(row), int(holes[0]))
            self.rows += 1
            self.cells += len(holes)

    def require_none(self) -> None:
        """An error if there was any."""
        if not self.rows:
            return
        where, column = self.first
        user = self.dense.table.frame["list"][where]
        raise BadScores(
            f"{self.rows} of {self.dense.rows} rows of {self.dense.source} hold NaN, {self.cells} "
            f"in all (first: row {where}, list {user!r}, item {self.dense.items[column]!r}).",
            "a number for every item.",
            "repair the model's output; for an item that must not be ranked, name it in train= and "
            "give it any number, or the score -inf.",
        )


class ReadingKey(NamedTuple):
    """The choices on which a reading depends: conventions that share them share the reading."""

    seen: str
    precision: str
    hit_scores: str
    by_item: bool
    """whether equal scores stand in an order of ids that is not that of the columns"""

    @staticmethod
    def of(convention: Convention, ascending: bool = True) -> ReadingKey:
        """The key of a convention, where columns stand in the order of item ids, or do not."""
        by_item = convention.ties.startswith("item") and not ascending
        return ReadingKey(
            convention.seen, convention.score_precision, convention.hit_scores, by_item
        )


@dataclass(frozen=True, slots=True)
class Known:
    """Where some cells of a matrix stand in their rows.

    A cell that is not among them stands deeper than anybody asks, or is masked.
    """

    cells: Integers
    """(cells,) row * columns + column, strictly ascending"""
    standings: Counts
    """(3, cells) how many columns stand above, are tied, and are tied with a lower column"""
    score: Floats | None = None
    """(cells,) their own scores, where somebody looks at them"""
    firsts: Firsts | None = None

    @staticmethod
    def of(
        cells: Integers, standings: Counts, score: Floats | None, firsts: Firsts | None
    ) -> Known:
        """The cells in any order, each once or more often."""
        once, where = np.unique(cells, return_index=True)
        own = None if score is None else score[where]
        return Known(once, standings[:, where], own, firsts)

    def at(
        self, cells: Integers, hidden: Integers | None, depth: int | None
    ) -> tuple[Counts, Floats | None]:
        """The standings of some cells, -1 for one that does not exist, and their own scores."""
        place = np.minimum(np.searchsorted(self.cells, cells), max(len(self.cells) - 1, 0))
        lost = self.cells[place] != cells if len(self.cells) else np.ones(len(cells), bool)
        found = np.zeros((3, len(cells)), np.int32)
        found[:, ~lost] = self.standings[:, place[~lost]]
        if depth is not None:
            lost = lost | (found[0] >= depth)
        found[:, lost] = [[-1], [0], [0]]
        if hidden is not None:
            found[:, np.isin(cells, hidden)] = [[MASKED], [0], [0]]
        own = None if self.score is None or not len(self.cells) else self.score[place]
        return found, own

    def of_rows(self, rows: Integers, columns: int) -> Known:
        """What is known of some rows, ascending, which are numbered anew."""
        row, column = np.divmod(self.cells, columns)
        number = np.searchsorted(rows, row)
        inside = np.flatnonzero(rows[np.minimum(number, len(rows) - 1)] == row)
        firsts = self.firsts
        if firsts is not None:
            best, second, last, loss, chances = firsts
            lost = None if loss is None else loss[rows]
            sure = None if chances is None else chances.of(rows)
            firsts = Firsts(best[rows], second[rows], last[rows], lost, sure)
        own = None if self.score is None else self.score[inside]
        cells = number[inside] * columns + column[inside]
        return Known(cells, self.standings[:, inside], own, firsts)


class Firsts(NamedTuple):
    """What stands first in each row of logits, the loss of its target, and how probable both are,
    if somebody asked."""

    best: Integers
    second: Integers
    last_best: Integers
    loss: Floats | None
    chances: Chances | None = None
