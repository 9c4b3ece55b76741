"""What is answered about dense rows of scores: NumPy arrays, one entry per item or row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats, Integers

Scores = NDArray[np.floating[Any]]
Columns = NDArray[np.signedinteger[Any]]
MASKED = -2  # in place of a count: the item is masked


class Standings(NamedTuple):
    """Where each wanted item stands in its row.

    `above` counts the unmasked columns that score higher, `tied` those with the same score and the
    item itself, `before` those of them with a lower column. They are -1, 0 and 0 where the item has
    no column, has `depth` columns above it, or stands in a row that holds a NaN; `MASKED`, 0 and 0
    where it is masked.
    """

    above: Integers
    tied: Integers
    before: Integers


class Singles(NamedTuple):
    """Where the one target of each row stands, and what stands first.

    `best` is the lowest of the `best_tied` columns that hold the highest score, `second` the lowest
    of them that is not the target, -1 if there is none. `loss` is the logarithm of the sum of all
    exponentials less the target's score. A row that holds a NaN has -1, 0 and a loss of NaN.
    """

    above: Integers
    tied: Integers
    before: Integers
    best: Integers
    best_tied: Integers
    second: Integers
    loss: Floats | None


class Chances(NamedTuple):
    """Probabilities of each row; NaN where its highest logit is infinite."""

    target: Floats
    """(rows,) of the target, 0 where it is no class"""
    top: Floats
    """(rows,) the highest one"""
    squares: Floats
    """(rows,) the sum of the squares of all"""

    def of(self, rows: Integers | slice) -> Chances:
        """The probabilities of some rows."""
        return Chances(*(values[rows] for values in self))
