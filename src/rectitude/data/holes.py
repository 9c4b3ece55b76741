"""Rows of dense scores that hold a NaN: counted while they are read, and refused together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rectitude.arrays import Flags
from rectitude.data.dense import Block, Dense
from rectitude.errors import BadScores


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
