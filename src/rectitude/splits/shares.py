"""How many rows of a group a ratio stands for: rounding and arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from rectitude.arrays import Integers
from rectitude.errors import BadArgument
from rectitude.options import fits, require_ratio, require_whole

Rounding = Literal["floor", "ceil", "round", "half_even", "above"]
Arithmetic = Literal["decimal", "binary", "thousandths"]
Part = Literal["truth", "train"]
Of = Literal[Part, "cuts"]
"""Which part a ratio sizes. Cuts are the shares of rows before the truth and before validation."""

_BINARY: Mapping[str, Callable[[Any], Any]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round": lambda product: np.floor(product + 0.5),
    "half_even": np.rint,
    "above": lambda product: np.floor(product) + 1,
}


@dataclass(frozen=True, slots=True)
class Portion:
    """How much of each group is held out: a share of its rows, or a number of them."""

    ratio: float
    size: int | None = None
    """a number of rows, used instead of the ratio"""
    rounding: Rounding = "half_even"
    of: Of = "truth"
    arithmetic: Arithmetic = "decimal"
    minimum: int = 0
    """hold out at least this many rows, ..."""
    keep: int = 0
    """... if at least this many rows then remain in train"""

    def count_held_out(self, sizes: Integers) -> Integers:
        """Count the rows to hold out from groups of these sizes."""
        if self.size is not None:
            require_whole(self.size, "size")
            return _limit(np.minimum(sizes, self.size), sizes, self.minimum, self.keep)
        require_ratio(self.ratio)
        held = count_held_out(sizes, self.ratio, self.rounding, self.of, self.arithmetic)
        return _limit(held, sizes, self.minimum, self.keep)

    def count_validation(self, sizes: Integers, held: Integers, amount: float) -> Integers:
        """Count the rows that each group also gives to validation: a share of all its rows, or a
        whole number of them."""
        if fits(amount, int):
            require_whole(amount, "validation")
            left = sizes - held
            return _limit(np.minimum(left, int(amount)), left, self.minimum, self.keep)
        require_ratio(amount, "validation")
        of: Of = "cuts" if self.of == "cuts" else "truth"
        more = count_held_out(sizes, amount, self.rounding, of, self.arithmetic)
        if of == "cuts":
            more = np.maximum(more - held, 0)
        return _limit(more, sizes - held, self.minimum, self.keep)


def count_held_out(
    sizes: Integers,
    ratio: float,
    rounding: Rounding = "half_even",
    of: Of = "truth",
    arithmetic: Arithmetic = "decimal",
) -> Integers:
    """Count the rows to hold out from groups of these sizes.

    `of` is the part whose size is ratio times the rows, rounded; the other part gets the rest.
    "cuts" is as "train" here.
    "decimal" reads 0.3 as three tenths, so that 0.3 of 90 rows are 27; in "binary" arithmetic, 0.7
    of 90 is 62.99, whose floor is 62. "thousandths" holds out the rows whose position / size,
    rounded to three decimals, is above 1 - ratio. Rounding "above" takes the next larger whole
    number, even of a whole number.
    """
    if arithmetic == "thousandths":
        return _thousandths(sizes, ratio if of == "truth" else 1 - ratio)
    counts = _portion(sizes, ratio, rounding, arithmetic)
    return counts if of == "truth" else sizes - counts


def by_size(sizes: Any, function: Callable[[Integers], Any]) -> Any:
    """Apply a function of the group size to every row, computing it once per size."""
    some = sizes[:1] if sizes.strides == (0,) else sizes
    low, high = (int(some.min()), int(some.max())) if len(some) else (0, 0)
    if low == high:
        return np.broadcast_to(function(np.array([low]))[0].astype(np.int32), sizes.shape)
    if high < len(sizes):
        return function(np.arange(high + 1)).astype(np.int32)[sizes]
    return function(sizes.astype(np.int64))


def _portion(sizes: Integers, ratio: float, rounding: str, arithmetic: str) -> Integers:
    if arithmetic == "binary":
        counts: Integers = _BINARY[rounding](sizes * float(ratio)).astype(np.int64)
        return counts
    exact = Fraction(str(float(ratio))).limit_denominator(10**9)
    above, below = sizes * exact.numerator, exact.denominator
    if rounding == "floor":
        return above // below
    if rounding == "ceil":
        return -(-above // below)
    if rounding == "above":
        return above // below + 1
    up = (2 * above + below) // (2 * below)
    if rounding == "half_even":
        halves = (2 * above + below) % (2 * below) == 0
        up = up - (halves & (up % 2 == 1))
    return up


def _thousandths(sizes: Integers, ratio: float) -> Integers:
    """Hold out the rows after the last position whose rounded fraction is not above 1 - ratio."""
    train = round(1 - ratio, 3)
    kept: Integers = np.floor(sizes * (train + 0.0005)).astype(np.int64) + 1
    while (over := (kept > 0) & (np.round(kept / np.maximum(sizes, 1), 3) > train)).any():
        kept = kept - over
    left: Integers = sizes - np.minimum(kept, sizes)
    return left


def _limit(held: Integers, sizes: Integers, minimum: int, keep: int) -> Integers:
    """Hold out at least `minimum` rows if at least `keep` rows then remain in train."""
    if minimum:
        held = np.where((held < minimum) & (sizes - minimum >= keep), minimum, held)
    return np.minimum(held, np.maximum(sizes - keep, 0))


def refuse_unused(because: str, **given: object) -> None:
    """Raise an error for parameters that would have no effect; None and 0 count as not given."""
    for name, value in given.items():
        if value is not None and value != 0:
            raise BadArgument(f"{name}= is {value!r}, but {because}.", f"no {name}=.")
