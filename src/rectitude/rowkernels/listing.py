"""The best columns of each row, compiled. Importing this imports numba."""

from __future__ import annotations

import numpy as np

from rectitude.kernels import part
from rectitude.rowkernels.lanes import LANES, count_above, count_least, lowest_bit, not_below

CHUNK = 4096
STRIDE = 37  # in which order pivots are taken: not the order of the values, should they be sorted


def best_kernel(scores, mask_start, mask_column, best):  # type: ignore[no-untyped-def]
    """The columns of the best scores of each row, best first, equal scores by lower column.

    The row is dealt into more groups than columns are asked for. As many groups hold a score not
    below the k-th highest of their peaks, so only scores that reach it are collected and sorted.
    """
    rows, columns = scores.shape
    k = min(best.shape[1], columns)
    groups = LANES
    while groups < 4 * k and 2 * groups <= columns:
        groups *= 2
    peaks = np.empty(min(groups, columns), scores.dtype)
    value = np.empty(4 * k + LANES, scores.dtype)
    column = np.empty(4 * k + LANES, np.int64)
    shut = np.zeros(columns // LANES + 1, np.uint64)
    found = np.empty((2, CHUNK // LANES + 1), np.uint64)
    best[:] = -1
    for row in range(rows):
        line = scores[row]
        hidden = mask_column[mask_start[row] : mask_start[row + 1]]
        limit = _reached(line, hidden, peaks, k)
        for item in hidden:
            shut[item // LANES] |= np.uint64(1) << np.uint64(item % LANES)
        held = _collect(line, limit, shut, k, value, column, found)
        for item in hidden:
            shut[item // LANES] = 0
        for place in range(held):
            rank = count_least(value[:place], value[place])
            rank += count_above(value[place + 1 : held], value[place])
            if rank < k:
                best[row, rank] = column[place]


@part
def _reached(line, hidden, peaks, k):  # type: ignore[no-untyped-def]
    """A limit that at least k scores reach, and not many more.

    A group of which a hidden column holds the peak does not count.
    """
    groups = len(peaks)
    whole = len(line) // groups * groups
    peaks[:] = line[:groups]
    for low in range(groups, whole, groups):
        dealt = line[low : low + groups]
        for group in range(groups):
            peaks[group] = max(peaks[group], dealt[group])
    for item in hidden:
        if item < whole and line[item] == peaks[item % groups]:
            peaks[item % groups] = -np.inf
    return _highest(peaks, k, k // 8)


@part
def _highest(values, k, slack):  # type: ignore[no-untyped-def]
    """The k-th highest value, or one with k to k + slack values above it; -inf of fewer values."""
    low, high = values.dtype.type(-np.inf), values.dtype.type(np.nan)
    for offset in range(min(STRIDE, len(values))):
        for place in range(offset, len(values), STRIDE):
            value = values[place]
            if low <= value and not value >= high:
                more = count_above(values, value)
                if k <= more <= k + slack:
                    return value
                if more < k:
                    high = value
                else:
                    low = value
    return high if count_least(values, high) >= k else values.dtype.type(-np.inf)


@part
def _collect(line, limit, shut, k, value, column, found):  # type: ignore[no-untyped-def]
    """Every score not below a limit, which rises when too many are held; how many."""
    held = 0
    whole = len(line) // LANES * LANES
    for first in range(0, whole, CHUNK):
        last = _search(line, first, min(first + CHUNK, whole), limit, shut, found)
        turn = 0
        bits = found[1, 0]
        while turn < last:
            column[held] = np.int64(found[0, turn]) + lowest_bit(bits)
            value[held] = line[column[held]]
            held += value[held] >= limit
            rest = bits & (bits - np.uint64(1))
            turn += rest == 0
            following = found[1, turn]
            bits = following if rest == 0 else rest
            if held == 4 * k:
                held, limit = _thin(value, column, held, k)
    for place in range(whole, len(line)):
        column[held] = place
        value[held] = line[place]
        masked = (shut[place // LANES] >> np.uint64(place % LANES)) & np.uint64(1)
        held += masked == 0 and line[place] >= limit
    return held


@part
def _search(line, first, last, limit, shut, found):  # type: ignore[no-untyped-def]
    """Note the blocks that hold something open not below the limit, and where; how many."""
    size = 0
    for block in range(first, last, LANES):
        bits = not_below(line, block, limit) & ~shut[block // LANES]
        found[0, size] = block
        found[1, size] = bits
        size += bits != 0
    return size


@part
def _thin(value, column, held, k):  # type: ignore[no-untyped-def]
    """Keep the k best, and the limit that any other must reach: later columns must be higher."""
    limit = _highest(value[:held], k, -1)
    spare = k - count_above(value[:held], limit)
    left = 0
    for place in range(held):
        equal = value[place] == limit
        value[left] = value[place]
        column[left] = column[place]
        left += value[place] > limit or (equal and spare > 0)
        spare -= equal
    return left, np.nextafter(limit, value.dtype.type(np.inf))
