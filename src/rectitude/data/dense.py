"""Dense predictions for judging: rows of scores, read in blocks, with their ids.

Scores may come from an array, a file, a function or a product of embeddings. They are read block
by block, which bounds memory; files are mapped, not loaded. Reading counts the rows that contain a
NaN, and one error reports all of them (`NanRows`). Code that cannot keep the scores, or reads them
elsewhere, counts the standings of items first and passes those instead (`CountedCells`).
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
from rectitude.data.matrices import mapped_file, watch_file
from rectitude.data.values import EXACT
from rectitude.errors import BadScores
from rectitude.rowkernels.standings import MASKED, Chances

if TYPE_CHECKING:
    from rectitude.data.table import Table


Block = NDArray[Any]
"""(rows, columns) float32 or float64, C-contiguous and aligned."""
Counts = NDArray[np.signedinteger[Any]]
VIEWED_BYTES = 1 << 30
MAPPED_BYTES = 1 << 26
"""how much of a file is read between two looks at whether it has changed"""
COPIED_BYTES = 1 << 25


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """Scores of all items for every row, with the ids of rows and columns."""

    rows: int
    columns: int
    blocks: Callable[[], Iterator[Block]]
    """return an iterator over all rows, in order; may be called again"""
    table: Table
    """one row per row of scores: its list, and its user if the list key is not the user"""
    items: pl.Series
    """the item of each column"""
    kind: Literal["scores", "logits"]
    padding: int | None = None
    """the padding column, which does not represent an item"""
    named: bool = True
    """whether rows have ids, which mean the same in every batch"""
    text: bool = False
    """whether items are names of columns, which may stand for integers"""
    depth: int | None = None
    """the deepest rank that any metric needs; None for all ranks"""
    need_loss: bool = False
    """whether a metric needs the loss of each row of logits"""
    need_probabilities: bool = False
    """whether a metric needs the probabilities of classes"""
    progress: Callable[[int, int], None] | None = None
    """called after each block with the number of rows done and the total number of rows"""
    known: Mapping[ReadingKey, CountedCells] | None = None
    """standings that were counted in advance, if any"""
    counted_by: str | None = None
    """what counted these, and where, if that was not the main processor"""

    @property
    def source(self) -> str:
        """A description of the source of the scores."""
        return self.table.source

    def spans(self) -> Iterator[tuple[int, int, Block]]:
        """Yield each block with its first row and the row after its last."""
        first = 0
        for block in self.blocks():
            yield first, first + len(block), block
            first += len(block)

    def at(self, row: Integers, column: Integers) -> Floats:
        """Return the scores of some cells, NaN for cells that do not exist."""
        rows, columns = np.broadcast_to(row, column.shape).ravel(), column.ravel()
        order = np.flatnonzero((rows >= 0) & (columns >= 0))
        order = order[np.argsort(rows[order], kind="stable")]
        scores, ascending = np.full(column.size, np.nan), rows[order]
        for first, last, block in self.spans():
            begin, end = np.searchsorted(ascending, (first, last))
            cells = order[begin:end]
            scores[cells] = block[rows[cells] - first, columns[cells]]
        return scores.reshape(column.shape)


def array_blocks(array: NDArray[Any]) -> Callable[[], Iterator[Block]]:
    """Return an iterator factory for the rows of an array, copied only if conversion needs it."""
    row = array[:1].nbytes
    viewed = array.ndim == 2 and _is_float(array.dtype) and _is_contiguous(array)
    file = mapped_file(array)
    most = VIEWED_BYTES if file is None else MAPPED_BYTES
    step = max(1, (most if viewed else COPIED_BYTES) // max(1, row))
    require_unchanged = watch_file(file)

    def blocks() -> Iterator[Block]:
        for first in range(0, len(array), step):
            require_unchanged()
            yield prepare_block(array[first : first + step])
        require_unchanged()

    return blocks


def prepare_block(block: NDArray[Any]) -> Block:
    """Return a block ready for counting: float32 or float64.

    If users have several vectors, the highest score of each item is taken.
    """
    merged = block.max(axis=1) if block.ndim == 3 else block
    if merged.dtype.kind in "iu" and merged.dtype.itemsize == 8:
        _require_exact(merged)
    single = merged.dtype.kind == "f" and merged.dtype.itemsize <= 4
    return np.require(merged, np.float32 if single else np.float64, ["C", "ALIGNED"])


def _is_contiguous(array: NDArray[Any]) -> bool:
    """Whether the rows are contiguous and aligned in memory.

    An array inside an archive may start at any byte.
    """
    return array.flags.c_contiguous and array.flags.aligned


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype in (np.dtype(np.float32), np.dtype(np.float64))


def _require_exact(block: NDArray[Any]) -> None:
    largest = max(abs(int(block.max(initial=0))), abs(int(block.min(initial=0))))
    if largest > EXACT:
        raise BadScores(
            f"a score is the integer {largest}, which float64 cannot represent exactly.",
            f"integers up to {EXACT}, or floats.",
            "scale the scores down, or convert them to float64.",
        )


@dataclass(eq=False)
class NanRows:
    """A count of the rows that contain NaN."""

    dense: Dense
    rows: int = 0
    cells: int = 0
    first: tuple[int, int] = (0, 0)

    def note(self, start: int, block: Block, flags: Flags) -> None:
        """Count the NaN values of a block."""
        for row in np.flatnonzero(flags):
            holes = np.flatnonzero(np.isnan(block[row]))
            if not self.rows:
                self.first = (start + int(row), int(holes[0]))
            self.rows += 1
            self.cells += len(holes)

    def require_none(self) -> None:
        """Raise an error if any row contains NaN."""
        if not self.rows:
            return
        row, column = self.first
        list_key = self.dense.table.frame["list"][row]
        raise BadScores(
            f"{self.rows} of {self.dense.rows} rows of {self.dense.source} contain NaN, "
            f"{self.cells} values in all (first: row {row}, list {list_key!r}, "
            f"item {self.dense.items[column]!r}).",
            "a number for every item.",
            "fix the model's output; to keep an item out of the ranking, give it the score "
            "-inf, or put it in train= with any number as its score here.",
        )


class ReadingKey(NamedTuple):
    """The switches that affect how ranks are counted from scores.

    Conventions with equal keys share the counts.
    """

    seen: str
    precision: str
    hit_scores: str
    by_item: bool
    """whether ties are ordered by item id and the columns are not in that order"""

    @staticmethod
    def of(convention: Convention, ascending: bool = True) -> ReadingKey:
        """Return the key of a convention; `ascending` says that columns are sorted by item id."""
        by_item = convention.sorts_ties_by_id and not ascending
        return ReadingKey(
            convention.seen, convention.score_precision, convention.hit_scores, by_item
        )


@dataclass(frozen=True, slots=True, eq=False)
class CountedCells:
    """The standings of some cells of a matrix within their rows.

    A cell that is not listed is masked, or ranked deeper than any metric needs.
    """

    cells: Integers
    """(cells,) row * columns + column, strictly ascending"""
    standings: Counts
    """(3, cells) how many columns score higher, are tied, and are tied and further left"""
    score: Floats | None = None
    """(cells,) the scores of the cells, if a metric needs them"""
    top_classes: TopClasses | None = None
    """the highest-ranked classes of each row; only for logits"""

    @staticmethod
    def of(
        cells: Integers, standings: Counts, score: Floats | None, top_classes: TopClasses | None
    ) -> CountedCells:
        """Return the standings of cells given in any order, possibly repeated."""
        distinct, first = np.unique(cells, return_index=True)
        scores = None if score is None else score[first]
        return CountedCells(distinct, standings[:, first], scores, top_classes)

    def at(
        self, cells: Integers, hidden: Integers | None, depth: int | None
    ) -> tuple[Counts, Floats | None]:
        """Return the standings of some cells, -1 for missing cells, and their scores."""
        position = np.minimum(np.searchsorted(self.cells, cells), max(len(self.cells) - 1, 0))
        missing = self.cells[position] != cells if len(self.cells) else np.ones(len(cells), bool)
        standings = np.zeros((3, len(cells)), np.int32)
        standings[:, ~missing] = self.standings[:, position[~missing]]
        if depth is not None:
            missing = missing | (standings[0] >= depth)
        standings[:, missing] = [[-1], [0], [0]]
        if hidden is not None:
            standings[:, np.isin(cells, hidden)] = [[MASKED], [0], [0]]
        scores = None if self.score is None or not len(self.cells) else self.score[position]
        return standings, scores

    def of_rows(self, rows: Integers, columns: int) -> CountedCells:
        """Return the standings of some rows, given in ascending order and renumbered from 0."""
        row, column = np.divmod(self.cells, columns)
        new_row = np.searchsorted(rows, row)
        inside = np.flatnonzero(rows[np.minimum(new_row, len(rows) - 1)] == row)
        top_classes = self.top_classes
        if top_classes is not None:
            best, second, last, loss, chances = top_classes
            losses = None if loss is None else loss[rows]
            probabilities = None if chances is None else chances.of(rows)
            top_classes = TopClasses(best[rows], second[rows], last[rows], losses, probabilities)
        scores = None if self.score is None else self.score[inside]
        cells = new_row[inside] * columns + column[inside]
        return CountedCells(cells, self.standings[:, inside], scores, top_classes)


class TopClasses(NamedTuple):
    """The highest-ranked classes of each row of logits; if needed, also loss and probabilities."""

    best: Integers
    second: Integers
    last_best: Integers
    loss: Floats | None
    chances: Chances | None = None
