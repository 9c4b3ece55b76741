"""What the probabilities of a row of logits look like: of the target, of the best class, and how
they are spread.

A pass of its own, with 64 bits: it is made only where somebody asks, and changes nothing of what is
read otherwise.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.dense.standings import Scores
from rectitude.threads import together

BLOCK = 1 << 18  # logits that are looked at together


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


def chances(logits: Scores, target: Integers) -> Chances:
    """The softmax of each row in three numbers; a target below 0 is no class."""
    found = Chances(*np.empty((3, len(logits))))
    step = max(1, BLOCK // max(logits.shape[1], 1))

    def work(first: int) -> None:
        here = slice(first, min(first + step, len(logits)))
        for values, own in zip(found, _of_rows(logits[here], target[here]), strict=True):
            values[here] = own

    together([partial(work, first) for first in range(0, len(logits), step)])
    return found


def _of_rows(logits: Scores, target: Integers) -> tuple[Floats, Floats, Floats]:
    block = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        powers = np.exp(block - block.max(axis=1, keepdims=True))
    total = powers.sum(axis=1)
    mine = powers[np.arange(len(block)), np.maximum(target, 0)] / total
    return np.where(target < 0, 0.0 * total, mine), 1 / total, (powers**2).sum(axis=1) / total**2
