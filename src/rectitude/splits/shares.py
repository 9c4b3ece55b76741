"""How many of a group's rows a ratio is: rounding, and the arithmetic behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from rectitude.arrays import Integers
from rectitude.errors import BadName
from rectitude.options import require_ratio, require_whole

Rounding = Literal["floor", "ceil", "round", "half_even", "above"]
Arithmetic = Literal["decimal", "binary", "thousandths"]
Part = Literal["truth", "train"]

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
    """a number of rows in place of the ratio"""
    rounding: Rounding = "half_even"
    of: Part = "truth"
    arithmetic: Arithmetic = "decimal"
    minimum: int = 0
    """at least so many are held out"""
    keep: int = 0
    """where at least so many then stay in train"""

    def held(self, sizes: Integers) -> Integers:
        """How many rows of groups of these sizes are held out."""
        if self.size is not None:
            require_whole(self.size, "size")
            return np.minimum(sizes, self.size)
        require_ratio(self.ratio)
        held = held_out(sizes, self.ratio, self.rounding, self.of, self.arithmetic)
        return _limited(held, sizes, self.minimum, self.keep)

    def validated(self, sizes: Integers, held: Integers, ratio: float) -> Integers:
        """How many more rows of each group serve for validation: a share of all its rows."""
        more = held_out(sizes, ratio, self.rounding, "truth", self.arithmetic)
        return _limited(more, sizes - held, self.minimum, self.keep)


def held_out(
    sizes: Integers,
    ratio: float,
    rounding: Rounding = "half_even",
    of: Part = "truth",
    arithmetic: Arithmetic = "decimal",
) -> Integers:
    """How many rows of groups of these sizes are held out.

    `of` is the part that the ratio is of and whose number is rounded; the other gets the rest.
    "decimal" takes 0.3 for three tenths: of 90 rows they are 27, where "binary" finds 0.7 of 90 to
    be 62.99 and its floor 62. "thousandths" holds out the rows whose place / size, rounded to three
    decimals, is above 1 - ratio. Rounding "above" is the next whole number, also of a whole one.
    """
    if arithmetic == "thousandths":
        return _thousandths(sizes, ratio if of == "truth" else 1 - ratio)
    counts = _portion(sizes, ratio, rounding, arithmetic)
    return counts if of == "truth" else sizes - counts


def by_size(sizes: Any, function: Callable[[Integers], Any]) -> Any:
    """What a function of a group's size gives for each row, computed once for each size."""
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
    """The train part ends with the last place whose rounded fraction is not above 1 - ratio."""
    train = round(1 - ratio, 3)
    kept: Integers = np.floor(sizes * (train + 0.0005)).astype(np.int64) + 1
    while (over := (kept > 0) & (np.round(kept / np.maximum(sizes, 1), 3) > train)).any():
        kept = kept - over
    left: Integers = sizes - np.minimum(kept, sizes)
    return left


def _limited(held: Integers, sizes: Integers, minimum: int, keep: int) -> Integers:
    """At least `minimum` rows held out where at least `keep` then stay in train."""
    if minimum:
        held = np.where((held < minimum) & (sizes - minimum >= keep), minimum, held)
    return np.minimum(held, np.maximum(sizes - keep, 0))


def refuse_unused(because: str, **given: object) -> None:
    """An error for parameters that would change nothing; None, 0 and 0.0 are not given."""
    for name, value in given.items():
        if value is not None and value != 0:
            raise BadName(f"{name} is {value!r}, and {because}.", f"no {name}.")
