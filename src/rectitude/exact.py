"""Exact sums: the same bits in any order of rows, batches, shards and threads.

Every float64 is a whole number of units of 2**-1074. Sums are therefore stored as Python integers
in that unit. Adding them is exact, states are merged with `+`, and a single division at the end
rounds correctly.
"""

from __future__ import annotations

import math

import numpy as np

from rectitude.arrays import Floats, Integers

UNIT_BITS = 1074
_LARGEST = 2.0**900
_MOST_TIMES = 1 << 26  # so that half of a float64 times this number is exact
_MOST_BITS = 40  # of a number of times, so that a pass has bits left for the values
_SPLIT = 2.0**27 + 1  # splits a float64 into two halves whose products are exact


def total(values: Floats) -> int:
    """Return the exact sum of finite numbers, in units of 2**-1074.

    Each pass rounds all values to a common grid, which is so coarse that their sum on it is exact
    in float64. It adds the rounded values and continues with the remainders. After two or three
    passes nothing remains.
    """
    remainder = np.asarray(values, np.float64)
    if not len(remainder):
        return 0
    largest = max(float(remainder.max()), -float(remainder.min()))
    if not math.isfinite(largest):
        raise ValueError("total() can add finite numbers only")
    if largest > _LARGEST:
        return sum(units(value) for value in remainder.tolist())
    exact_sum, exponent, extra_bits = 0, math.frexp(largest)[1], len(remainder).bit_length()
    while remainder.any():
        grid = max(exponent + extra_bits - 52, -UNIT_BITS)
        anchor = math.ldexp(1.5, grid + 52)
        coarse = remainder + anchor
        coarse -= anchor
        exact_sum += units(float(coarse.sum()))
        remainder = np.subtract(remainder, coarse, out=coarse)
        exponent = grid
    return exact_sum


def total_repeated(values: Floats, times: Integers) -> int:
    """Return the exact sum of finite numbers, each as often as `times` says, in units of 2**-1074.

    Each product is split into the nearest float64 and a remainder (Dekker 1971).
    """
    if not len(values):
        return 0
    size = np.abs(values)
    ordinary = (size == 0) | ((size > 1 / _LARGEST) & (size < _LARGEST))
    if int(times.max()) >= _MOST_TIMES or not ordinary.all():
        pairs = zip(values.tolist(), times.tolist(), strict=True)
        return sum(units(value) * number for value, number in pairs)
    product = values * times
    high = values * _SPLIT - (values * _SPLIT - values)
    remainder = (high * times - product) + (values - high) * times
    return total(product) + total(remainder)


def totals_repeated(rows: Floats, times: Integers) -> list[int]:
    """Return the exact sum of each row of finite numbers, as `total_repeated`; `times` is the same
    for all rows. Many short rows together cost little more than one.

    All rows are rounded to the same grids, which are so coarse that a rounded number times its
    number of times, and the sum of these, are exact in float64.
    """
    sums, remainder, weights = [0] * len(rows), rows, times.astype(np.float64)
    largest, extra_bits = float(np.abs(rows).max(initial=0)), int(times.sum()).bit_length()
    if largest > _LARGEST or extra_bits > _MOST_BITS:
        return [total_repeated(row, times) for row in rows]
    exponent = math.frexp(largest)[1]
    while remainder.any():
        grid = max(exponent + extra_bits - 52, -UNIT_BITS)
        anchor = math.ldexp(1.5, grid + 52)
        coarse = remainder + anchor
        coarse -= anchor
        parts = (coarse @ weights).tolist()
        sums = [exact + units(part) for exact, part in zip(sums, parts, strict=True)]
        remainder, exponent = np.subtract(remainder, coarse, out=coarse), grid
    return sums


def total_of_squares(values: Floats) -> int:
    """Return the exact sum of squares, in units of 2**-1074.

    Each square is split into the nearest float64 and a remainder (Dekker 1971). The sum is exact
    unless squares exceed the range of normal floats.
    """
    square = values * values
    high = values * _SPLIT - (values * _SPLIT - values)
    low = values - high
    remainder = ((high * high - square) + 2 * high * low) + low * low
    return total(square) + total(remainder)


def units(value: float) -> int:
    """Return a float64 in units of 2**-1074."""
    numerator, denominator = value.as_integer_ratio()
    return numerator * ((1 << UNIT_BITS) // denominator)


def digits(whole: int) -> Integers:
    """Return the digits of a sum in base 2**32, lowest first; digits of sums can be added."""
    size = -(-whole.bit_length() // 32) * 4
    words = np.frombuffer(abs(whole).to_bytes(size, "little"), "<u4").astype(np.int64)
    return words if whole >= 0 else -words


def whole(digits: Integers) -> int:
    """Return the sum that digits represent, also after digits of several sums were added."""
    return sum(int(digit) << 32 * position for position, digit in enumerate(digits))


def quotient(numerator: int, denominator: int) -> float:
    """Divide two exact sums and round once; 0/0 is NaN and x/0 is infinite."""
    if denominator == 0 and numerator == 0:
        return math.nan
    infinity = math.inf if (numerator > 0) == (denominator >= 0) else -math.inf
    try:
        return numerator / denominator if denominator else infinity
    except OverflowError:
        return infinity
