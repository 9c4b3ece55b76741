"""Compiled: find the best columns of each row. Importing this module imports numba."""

from __future__ import annotations

import numpy as np

from rectitude.kernels import subkernel
from rectitude.rowkernels.lanes import LANES, count_above, count_least, lowest_bit, not_below

CHUNK = 4096
STRIDE = 37  # step between pivots: taking them in order would be slow if the values are sorted


def best_kernel(scores, mask_start, mask_column, best):  # type: ignore[no-untyped-def]
    """Find the columns of the k best scores of each row, best first; ties by lower column.

    The columns are divided into more than k groups, and the highest score of each group is its
    peak. At least k scores reach the k-th highest peak, so only scores that reach it are collected
    and sorted.
    """
    rows, columns = scores.shape
    k = min(best.shape[1], columns)
    groups = LANES
    while groups < 4 * k and 2 * groups <= columns:
        groups *= 2
    peaks = np.empty(min(groups, columns), scores.dtype)
    value = np.empty(4 * k + LANES, scores.dtype)
    column = np.empty(4 * k + LANES, np.int64)
    masked_bits = np.zeros(columns // LANES + 1, np.uint64)
    blocks = np.empty((2, CHUNK // LANES + 1), np.uint64)
    best[:] = -1
    for row in range(rows):
        line = scores[row]
        hidden = mask_column[mask_start[row] : mask_start[row + 1]]
        limit = _find_limit(line, hidden, peaks, k)
        for item in hidden:
            masked_bits[item // LANES] |= np.uint64(1) << np.uint64(item % LANES)
        size = _collect(line, limit, masked_bits, k, value, column, blocks)
        for item in hidden:
            masked_bits[item // LANES] = 0
        for number in range(size):
            rank = count_least(value[:number], value[number])
            rank += count_above(value[number + 1 : size], value[number])
            if rank < k:
                best[row, rank] = column[number]


@subkernel
def _find_limit(line, hidden, peaks, k):  # type: ignore[no-untyped-def]
    """Find a limit that at least k scores reach, and not many more.

    A group whose peak is a masked column does not count.
    """
    groups = len(peaks)
    whole = len(line) // groups * groups
    peaks[:] = line[:groups]
    for low in range(groups, whole, groups):
        scores = line[low : low + groups]
        for group in range(groups):
            peaks[group] = max(peaks[group], scores[group])
    for item in hidden:
        if item < whole and line[item] == peaks[item % groups]:
            peaks[item % groups] = -np.inf
    return _select_highest(peaks, k, k // 8)


@subkernel
def _select_highest(values, k, slack):  # type: ignore[no-untyped-def]
    """Return the k-th highest value, or one with k to k + slack values above it; -inf if there are
    fewer than k values."""
    low, high = values.dtype.type(-np.inf), values.dtype.type(np.nan)
    for offset in range(min(STRIDE, len(values))):
        for position in range(offset, len(values), STRIDE):
            value = values[position]
            if low <= value and not value >= high:
                higher = count_above(values, value)
                if k <= higher <= k + slack:
                    return value
                if higher < k:
                    high = value
                else:
                    low = value
    return high if count_least(values, high) >= k else values.dtype.type(-np.inf)


@subkernel
def _collect(line, limit, masked_bits, k, value, column, blocks):  # type: ignore[no-untyped-def]
    """Collect every score not below a limit, which rises if there are too many; return how many."""
    size = 0
    whole = len(line) // LANES * LANES
    for first in range(0, whole, CHUNK):
        last = _search_blocks(line, first, min(first + CHUNK, whole), limit, masked_bits, blocks)
        block_number = 0
        bits = blocks[1, 0]
        while block_number < last:
            column[size] = np.int64(blocks[0, block_number]) + lowest_bit(bits)
            value[size] = line[column[size]]
            size += value[size] >= limit
            remaining = bits & (bits - np.uint64(1))
            block_number += remaining == 0
            following = blocks[1, block_number]
            bits = following if remaining == 0 else remaining
            if size == 4 * k:
                size, limit = _keep_best(value, column, size, k)
    for position in range(whole, len(line)):
        column[size] = position
        value[size] = line[position]
        masked = (masked_bits[position // LANES] >> np.uint64(position % LANES)) & np.uint64(1)
        size += masked == 0 and line[position] >= limit
    return size


@subkernel
def _search_blocks(line, first, last, limit, masked_bits, blocks):  # type: ignore[no-untyped-def]
    """Find the blocks with unmasked scores not below the limit, and their bits; return how many."""
    size = 0
    for block in range(first, last, LANES):
        bits = not_below(line, block, limit) & ~masked_bits[block // LANES]
        blocks[0, size] = block
        blocks[1, size] = bits
        size += bits != 0
    return size


@subkernel
def _keep_best(value, column, size, k):  # type: ignore[no-untyped-def]
    """Keep the k best; return their number and a new limit, which later columns must exceed."""
    limit = _select_highest(value[:size], k, -1)
    equal_left = k - count_above(value[:size], limit)
    new_size = 0
    for position in range(size):
        equal = value[position] == limit
        value[new_size] = value[position]
        column[new_size] = column[position]
        new_size += value[position] > limit or (equal and equal_left > 0)
        equal_left -= equal
    return new_size, np.nextafter(limit, value.dtype.type(np.inf))
