"""What was counted in dense scores ahead of judging: where items stand, without the scores.

Whoever cannot keep the scores, or reads them elsewhere, counts first and hands this over in their
place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats, Integers
from rectitude.dense.chances import Chances
from rectitude.dense.standings import MASKED

Counts = NDArray[np.signedinteger[Any]]


class Firsts(NamedTuple):
    """What stands first in each row of logits, the loss of its target, and how probable both are,
    if somebody asked."""

    best: Integers
    second: Integers
    last_best: Integers
    loss: Floats | None
    chances: Chances | None = None


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
