"""What tests need to know about differences, as exact sums: parts are added with +, in any order.

`Moments` give the mean, the standard deviation and Student's t. `Magnitudes` count the differences
of each size, for statistics that rank them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.exact import UNIT_BITS, quotient, total, total_of_squares

EQUAL = 1e-12
"""a difference this small, relative to the largest value, is rounding error"""


@dataclass(frozen=True, slots=True)
class Moments:
    """Exact sums of values and of their squares, in units of 2**-1074, and their range."""

    users: int = 0
    total: int = 0
    squares: int = 0
    lowest: float = math.inf
    highest: float = -math.inf

    @staticmethod
    def of(values: Floats) -> Moments:
        """Return the sums of finite values."""
        if not len(values):
            return Moments()
        low, high = float(values.min()), float(values.max())
        return Moments(len(values), total(values), total_of_squares(values), low, high)

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.users + other.users,
            self.total + other.total,
            self.squares + other.squares,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
        )

    @property
    def mean(self) -> float:
        """The mean of the values."""
        return quotient(self.total, self.users << UNIT_BITS)

    @property
    def largest(self) -> float:
        """The largest absolute value."""
        return max(abs(self.lowest), abs(self.highest))

    @property
    def is_constant(self) -> bool:
        """Whether all values are equal up to rounding errors."""
        return self.highest - self.lowest <= EQUAL * self.largest

    @property
    def deviation(self) -> float:
        """The standard deviation; 0 if all values are equal up to rounding errors."""
        if self.is_constant:
            return 0.0
        spread = self.users * (self.squares << UNIT_BITS) - self.total**2
        return math.sqrt(max(spread, 0) / (self.users * (self.users - 1) << 2 * UNIT_BITS))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / math.sqrt(self.users)


@dataclass(frozen=True, slots=True, eq=False)
class Magnitudes:
    """How many differences of each size there are above and below 0."""

    sizes: Floats
    """(sizes,) the distinct absolute differences other than 0, ascending"""
    above: Integers
    below: Integers

    @staticmethod
    def of(differences: Floats) -> Magnitudes:
        """Count differences by their size."""
        changed = differences[differences != 0]
        sizes, which = np.unique(np.abs(changed), return_inverse=True)
        above = np.bincount(which[changed > 0], minlength=len(sizes))
        return Magnitudes(sizes, above, np.bincount(which, minlength=len(sizes)) - above)

    def __add__(self, other: Magnitudes) -> Magnitudes:
        sizes, which = np.unique(np.concatenate([self.sizes, other.sizes]), return_inverse=True)
        above, below = (np.zeros(len(sizes), np.int64) for _ in range(2))
        np.add.at(above, which, np.concatenate([self.above, other.above]))
        np.add.at(below, which, np.concatenate([self.below, other.below]))
        return Magnitudes(sizes, above, below)

    @property
    def gains(self) -> int:
        """How many differences are above 0."""
        return int(self.above.sum())

    @property
    def losses(self) -> int:
        """How many differences are below 0."""
        return int(self.below.sum())

    @property
    def rank_biserial(self) -> float:
        """The share of positive signed ranks minus the share of negative ones, without zeros."""
        times = self.above + self.below
        changed = int(times.sum())
        if not changed:
            return 0.0
        doubled = 2 * np.cumsum(times) - times + 1  # twice the mean rank of each size
        return float(doubled @ (self.above - self.below)) / (changed * (changed + 1))
