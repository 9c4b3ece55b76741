"""The results for dense rows of scores: NumPy arrays with one entry per item or row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats, Integers

Scores = NDArray[np.floating[Any]]
Columns = NDArray[np.signedinteger[Any]]
MASKED = -2  # instead of a count: the item is masked


class Standings(NamedTuple):
    """The standing of each wanted item in its row.

    `above` counts the unmasked columns with a higher score, `tied` those with the same score
    (including the item itself), and `before` the tied columns to the left of the item. They are -1,
    0 and 0 if the item has no column, has at least `depth` columns above it, or is in a row that
    contains NaN. They are `MASKED`, 0 and 0 if the item is masked.
    """

    above: Integers
    tied: Integers
    before: Integers


class Singles(NamedTuple):
    """The standing of the single target of each row, and the best columns.

    `best` is the first of the `best_tied` columns with the highest score, and `second` the first of
    them that is not the target, or -1. `loss` is the log-sum-exp of the row minus the target's
    score. A row that contains NaN has -1, 0 and a loss of NaN.
    """

    above: Integers
    tied: Integers
    before: Integers
    best: Integers
    best_tied: Integers
    second: Integers
    loss: Floats | None


class Chances(NamedTuple):
    """Probabilities of each row; NaN if its highest logit is infinite."""

    target: Floats
    """(rows,) the probability of the target, 0 if it is not a class"""
    top: Floats
    """(rows,) the highest probability"""
    squares: Floats
    """(rows,) the sum of squares of all probabilities"""

    def of(self, rows: Integers | slice) -> Chances:
        """Return the probabilities of some rows."""
        return Chances(*(values[rows] for values in self))
