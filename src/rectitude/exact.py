"""Exact sums: the same bits for any order of rows, batches, shards and threads.

A float64 is a whole number of units of 2**-1074. Sums are therefore kept as Python integers in that
unit; adding them is exact, merging states is `+`, and one division at the end rounds correctly.
"""

from __future__ import annotations

import math

import numpy as np

from rectitude.arrays import Floats, Integers

UNIT_BITS = 1074
_LARGEST = 2.0**960
_SPLIT = 2.0**27 + 1  # cuts a float64 into two halves whose products are exact


def total(values: Floats) -> int:
    """The exact sum of finite numbers, in units of 2**-1074.

    Each round rounds all values to a common grid so coarse that their sum on it is exact in
    float64, adds that up, and goes on with what is left over; two or three rounds leave nothing.
    """
    left = np.asarray(values, np.float64)
    if not len(left):
        return 0
    largest = max(float(left.max()), -float(left.min()))
    if not math.isfinite(largest):
        raise ValueError("total() adds finite numbers only")
    if largest > _LARGEST:
        return sum(units(value) for value in left.tolist())
    whole, reach, spread = 0, math.frexp(largest)[1], len(left).bit_length()
    while left.any():
        grid = max(reach + spread - 52, -UNIT_BITS)
        anchor = math.ldexp(1.5, grid + 52)
        coarse = left + anchor
        coarse -= anchor
        whole += units(float(coarse.sum()))
        left = np.subtract(left, coarse, out=coarse)
        reach = grid
    return whole


def total_of_squares(values: Floats) -> int:
    """The exact sum of squares, in units of 2**-1074: each as the nearest float64 and what that
    leaves (Dekker 1971). Exact unless squares leave the range of ordinary floats."""
    square = values * values
    high = values * _SPLIT - (values * _SPLIT - values)
    low = values - high
    rest = ((high * high - square) + 2 * high * low) + low * low
    return total(square) + total(rest)


def units(value: float) -> int:
    """A float64 in units of 2**-1074."""
    above, below = value.as_integer_ratio()
    return above * ((1 << UNIT_BITS) // below)


def digits(whole: int) -> Integers:
    """A sum as counts, which add up like all counts: its digits to the base 2**32, lowest first."""
    size = -(-whole.bit_length() // 32) * 4
    words = np.frombuffer(abs(whole).to_bytes(size, "little"), "<u4").astype(np.int64)
    return words if whole >= 0 else -words


def whole(digits: Integers) -> int:
    """The sum that digits stand for, added up or not."""
    return sum(int(digit) << 32 * place for place, digit in enumerate(digits))


def quotient(above: int, below: int) -> float:
    """The quotient of two exact sums, rounded once; NaN for 0/0 and infinite for x/0."""
    if below == 0 and above == 0:
        return math.nan
    endless = math.inf if (above > 0) == (below >= 0) else -math.inf
    try:
        return above / below if below else endless
    except OverflowError:
        return endless
