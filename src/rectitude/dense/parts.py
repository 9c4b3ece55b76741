"""What the kernels of dense rows have in common, compiled. Importing this imports numba."""

from __future__ import annotations

import numpy as np

from rectitude.compiled import part
from rectitude.dense.lanes import LANES, bit_count, higher, not_below


@part
def longest(start):  # type: ignore[no-untyped-def]
    """The length of the longest row."""
    most = 0
    for row in range(len(start) - 1):
        most = max(most, start[row + 1] - start[row])
    return most


@part
def fetch(line, columns, values):  # type: ignore[no-untyped-def]
    """The scores of some columns; of column 0 where there is none."""
    for number in range(len(columns)):
        values[number] = line[max(columns[number], 0)]


@part
def bisect(rising, value):  # type: ignore[no-untyped-def]
    """How many of some ascending values are smaller. The steps do not depend on the value."""
    low, size = 0, len(rising)
    while size > 0:
        half = (size + 1) >> 1
        low += half * (rising[low + half - 1] < value)
        size -= half
    return low


@part
def count_above(values, limit):  # type: ignore[no-untyped-def]
    """How many values are higher. The sum is narrow so that whole vectors are compared."""
    found = np.int32(0)
    for place in range(len(values)):
        found = np.int32(found + np.int32(values[place] > limit))
    return np.int64(found)


@part
def count_least(values, limit):  # type: ignore[no-untyped-def]
    """How many values are higher or the same."""
    found = np.int32(0)
    for place in range(len(values)):
        found = np.int32(found + np.int32(values[place] >= limit))
    return np.int64(found)


@part
def count_equal(values, limit):  # type: ignore[no-untyped-def]
    """How many values are the same."""
    found = np.int32(0)
    for place in range(len(values)):
        found = np.int32(found + np.int32(values[place] == limit))
    return np.int64(found)


@part
def count_both(values, limit):  # type: ignore[no-untyped-def]
    """How many values are higher, and how many the same, if none is NaN."""
    more, least = 0, 0
    whole = len(values) // LANES * LANES
    for block in range(0, whole, LANES):
        more += bit_count(higher(values, block, limit))
        least += bit_count(not_below(values, block, limit))
    rest = values[whole:]
    return more + count_above(rest, limit), least - more + count_equal(rest, limit)
