"""`Spread`: the values of lists, from which statistics other than the mean are computed.

A name asks for one in brackets: `ndcg[stat=median]@10`. Equal values are stored once, with how
often they occur: at most 16 bytes for each list, and far less where values repeat. Spreads are
added exactly, and the statistic is computed once, from all values, with a single rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.errors import NothingToEvaluate, UndefinedValue
from rectitude.exact import UNIT_BITS, total, total_of_squares


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The distinct values of lists in ascending order, and how many lists have each."""

    values: Floats
    times: Integers
    skipped: int = 0
    nan: int = 0

    @staticmethod
    def of(values: Floats, skipped: int = 0, nan: int = 0) -> Spread:
        """Return the spread of values in any order."""
        distinct, times = np.unique(values + 0.0, return_counts=True)  # -0 is 0
        return Spread(distinct, times.astype(np.int64), skipped, nan)

    def __add__(self, other: Spread) -> Spread:
        both = np.concatenate((self.values, other.values))
        distinct, place = np.unique(both, return_inverse=True)
        times = np.zeros(len(distinct), np.int64)
        np.add.at(times, place, np.concatenate((self.times, other.times)))
        return Spread(distinct, times, self.skipped + other.skipped, self.nan + other.nan)

    @property
    def counted(self) -> int:
        """How many lists have a value."""
        return int(self.times.sum())

    @property
    def lists(self) -> int:
        """How many lists count, including those without a value."""
        return self.counted + self.skipped + self.nan

    def statistic(self, stat: str) -> float:
        """Return a statistic by its name; NaN if a list counts as NaN."""
        if self.nan:
            return math.nan
        if not self.counted:
            raise NothingToEvaluate(
                "every list that counts is undefined, and undefined='skip' leaves out undefined "
                "lists.",
                "at least one list with a value.",
            )
        return self._deviation() if stat == "std" else self._quantile(share_of(stat))

    def _quantile(self, share: Fraction) -> float:
        """Return the value that this share of the lists does not exceed, interpolated linearly
        between the two nearest."""
        place = share * (self.counted - 1)
        ends = np.cumsum(self.times)
        below, above = (
            Fraction(float(self.values[np.searchsorted(ends, at, side="right")]))
            for at in (math.floor(place), math.ceil(place))
        )
        return float(below + (above - below) * (place - math.floor(place)))

    def _deviation(self) -> float:
        """Return the standard deviation, with lists - 1 in the denominator."""
        n = self.counted
        if n < 2:
            raise UndefinedValue(
                "one list has no standard deviation.", "at least two lists with a value."
            )
        values = np.repeat(self.values, self.times)
        squares, plain = total_of_squares(values), total(values)
        above = Fraction(n * squares, 1 << UNIT_BITS) - Fraction(plain * plain, 1 << 2 * UNIT_BITS)
        return math.sqrt(above / (n * (n - 1)))

    def as_dict(self) -> dict[str, Any]:
        """Return the values for JSON; it keeps every bit of them."""
        return {"values": self.values.tolist(), "times": self.times.tolist(),
                "skipped": self.skipped, "nan": self.nan}  # fmt: skip

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Spread:
        """Return the spread from the output of `as_dict`."""
        values, times = np.array(stored["values"], np.float64), np.array(stored["times"], np.int64)
        return Spread(values, times, int(stored["skipped"]), int(stored["nan"]))


def share_of(stat: str) -> Fraction:
    """Return the share of the lists that a quantile such as `p90` does not exceed."""
    named = {"min": "0", "median": "50", "max": "100"}
    return Fraction(named.get(stat) or stat.removeprefix("p")) / 100
