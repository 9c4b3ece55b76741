"""Compiled: count how wanted items rank in their rows. Importing this module imports numba."""

from __future__ import annotations

import numpy as np

from rectitude.kernels import subkernel
from rectitude.rowkernels.lanes import (
    LANES,
    bisect,
    count_above,
    count_both,
    count_equal,
    fetch,
    longest,
    lowest_bit,
    not_below,
)
from rectitude.rowkernels.standings import MASKED

CHUNK = 4096  # scores that stay in the fastest cache while several items are counted
STEP = 1024  # scores between two checks whether enough were found
SAMPLE = 256  # scores for a first estimate
FEW = 256  # up to this many masked columns are not looked up one by one
CHECK_EVERY = 16  # at least this many scores are collected between two checks
LAST_BIT = np.uint64(1) << np.uint64(LANES - 1)


def count_kernel(  # type: ignore[no-untyped-def]
    scores, start, column, mask_start, mask_column, depth, above, tied, before, broken
):
    """Count the standings of the wanted items of each row.

    Few scores are higher than an item ranked above `depth`. One pass collects these scores: it
    compares every score only with the lowest item that may still rank above `depth`. The standings
    of the items are then counted among the collected scores. If too many scores would have to be
    collected, the whole row is counted.
    """
    rows, columns = scores.shape
    most_wanted = longest(start)
    next_scores = np.empty(most_wanted, scores.dtype)
    score = np.empty(most_wanted, scores.dtype)
    order = np.empty((2, most_wanted), np.int64)
    counts = np.empty((2, most_wanted), np.int64)
    masked = np.empty(longest(mask_start), scores.dtype)
    room = 2 * (min(depth, columns) + len(masked)) + 2 * LANES
    pool = np.empty(room if room < columns // 4 else 0, scores.dtype)
    above[:], tied[:], before[:] = -1, 0, 0
    if rows > 0:
        fetch(scores[0], column[: start[1]], next_scores)
    for row in range(rows):
        line = scores[row]
        here = slice(start[row], start[row + 1])
        hidden = mask_column[mask_start[row] : mask_start[row + 1]]
        alive = _sort_items(next_scores, column[here], score, order)
        if row + 1 < rows:  # prefetch: these scores arrive from memory while this row is read
            fetch(scores[row + 1], column[start[row + 1] : start[row + 2]], next_scores)
        pool_size = -1
        if alive > 0 and len(pool) > 0:
            alive, pool_size = _collect(line, score[:alive], hidden, masked, depth, pool)
        broken[row] = _count_values(
            pool[:pool_size] if pool_size >= 0 else line, score[:alive], counts
        )
        if not broken[row]:
            _mark_masked(column[here], hidden, above[here])
            fetch(line, hidden, masked)
            _store_standings(
                line, column[here], score[:alive], order[0], counts, hidden,
                masked[: len(hidden)], depth, above[here], tied[here], before[here],
            )  # fmt: skip


@subkernel
def _sort_items(values, columns, score, order):  # type: ignore[no-untyped-def]
    """Sort the scores of the items that have a column, best first; return how many there are.

    The index of a score is the number of scores before it: there are no branches to mispredict.
    """
    size = 0
    for number in range(len(columns)):
        values[size] = values[number]
        order[1, size] = number
        size += columns[number] >= 0
    for number in range(size):
        position = count_above(values[:size], values[number])
        position += count_equal(values[:number], values[number])
        score[position] = values[number]
        order[0, position] = order[1, number]
    return size


@subkernel
def _collect(line, score, hidden, masked, depth, pool):  # type: ignore[no-untyped-def]
    """Collect every score of a row that is not below the lowest item that may rank above `depth`.

    Return the number of such items, and the number of scores in the pool, including NaN; -1 if
    tied scores filled the pool.
    """
    alive = _count_alive(line[:CHUNK], score, depth + bisect(hidden, CHUNK))
    room = len(pool) - 2 * LANES
    pool_size, check_at, fetched = 0, min(depth + CHECK_EVERY, room), 0
    whole = len(line) // LANES * LANES
    limit = _lowest_alive(score, alive)
    for block in range(0, whole, LANES):
        pool_size = _add_to_pool(line, block, not_below(line, block, limit), pool, pool_size)
        if pool_size < check_at:
            continue
        enough, last = depth, bisect(hidden, block + LANES)
        if len(hidden) <= FEW:
            enough += last  # as if all of them scored higher
        else:
            fetch(line, hidden[fetched:last], masked[fetched:last])
            fetched = last
        alive, lacking = _drop_items(score, alive, masked[:fetched], pool[:pool_size], enough)
        limit = _lowest_alive(score, alive)
        if pool_size >= room:
            pool_size = _shrink_pool(pool, pool_size, limit)
            if pool_size + LANES > room:
                return alive, -1
        check_at = min(pool_size + max(lacking, CHECK_EVERY), room)
    for column in range(whole, len(line)):
        pool[pool_size] = line[column]
        pool_size += not line[column] < limit
    return alive, pool_size


@subkernel
def _count_alive(values, score, enough):  # type: ignore[no-untyped-def]
    """Count the items that have fewer than `enough` scores above them in the start of a row.

    A small sample of these scores tells where the search begins.
    """
    sample = values[:SAMPLE]
    guess = _count_short(sample, score, enough * len(sample) // len(values), 0)
    return _count_short(values, score, enough, guess)


@subkernel
def _count_short(values, score, enough, low):  # type: ignore[no-untyped-def]
    """Count the items that have fewer than `enough` values above them; at least `low` do."""
    high, middle = len(score), low
    while low < high:
        higher = 0
        for first in range(0, len(values), STEP):
            higher += count_above(values[first : first + STEP], score[middle])
            if higher >= enough:
                break
        if higher < enough:
            low = middle + 1
        else:
            high = middle
        middle = (low + high) >> 1
    return low


@subkernel
def _lowest_alive(score, alive):  # type: ignore[no-untyped-def]
    """Return the score of the lowest item still alive; infinity if none is, to find NaN only."""
    return score[alive - 1] if alive > 0 else score.dtype.type(np.inf)


@subkernel
def _add_to_pool(line, block, bits, pool, pool_size):  # type: ignore[no-untyped-def]
    """Add the scores whose bits are set to the pool; return the new size of the pool.

    The first three are added without a branch, which avoids mispredictions.
    """
    for _ in range(3):
        pool[pool_size] = line[block + lowest_bit(bits | LAST_BIT)]
        pool_size += bits != 0
        bits &= bits - np.uint64(1)
    while bits != 0:
        pool[pool_size] = line[block + lowest_bit(bits)]
        pool_size += 1
        bits &= bits - np.uint64(1)
    return pool_size


@subkernel
def _drop_items(score, alive, masked, pool, enough):  # type: ignore[no-untyped-def]
    """Count the items with fewer than `enough` scores above, and how many the lowest lacks."""
    while alive > 0:
        limit = score[alive - 1]
        lacking = enough + count_above(masked, limit) - count_above(pool, limit)
        if lacking > 0:
            return alive, lacking
        alive -= 1
    return 0, len(pool)


@subkernel
def _shrink_pool(pool, pool_size, limit):  # type: ignore[no-untyped-def]
    """Remove the scores below the limit from the pool; return its new size."""
    new_size = 0
    for position in range(pool_size):
        pool[new_size] = pool[position]
        new_size += not pool[position] < limit
    return new_size


@subkernel
def _count_values(values, score, counts):  # type: ignore[no-untyped-def]
    """Count the values above and equal to each score; return whether a value is NaN."""
    broken = False
    counts[:, : len(score)] = 0
    for first in range(0, len(values), CHUNK):
        chunk = values[first : first + CHUNK]
        broken |= _holds_nan(chunk)
        for number in range(len(score)):
            higher, same = count_both(chunk, score[number])
            counts[0, number] += higher
            counts[1, number] += same
    return broken


@subkernel
def _holds_nan(values):  # type: ignore[no-untyped-def]
    """Whether a value is NaN."""
    nan_count = np.int32(0)
    for position in range(len(values)):
        nan_count = np.int32(nan_count + np.int32(values[position] != values[position]))
    return nan_count > 0


@subkernel
def _mark_masked(items, hidden, above):  # type: ignore[no-untyped-def]
    """Mark the items that are masked."""
    for number in range(len(items)):
        if len(hidden) <= FEW:
            is_masked = count_equal(hidden, items[number]) > 0
        else:
            position = bisect(hidden, items[number])
            is_masked = position < len(hidden) and hidden[position] == items[number]
        if is_masked:
            above[number] = MASKED


@subkernel
def _store_standings(  # type: ignore[no-untyped-def]
    line, items, score, order, counts, hidden, masked, depth, above, tied, before
):
    """Store the standings of the items that are alive, without masked columns."""
    for position in range(len(score)):
        value, number = score[position], order[position]
        column = items[number]
        higher = counts[0, position] - count_above(masked, value)
        same = count_equal(masked, value)
        masked_before = bisect(hidden, column) if same > 0 else 0
        is_masked = same > 0 and masked_before < len(hidden) and hidden[masked_before] == column
        if higher >= depth or is_masked:
            continue
        above[number] = higher
        tied[number] = counts[1, position] - same
        if tied[number] > 1:
            before[number] = count_equal(line[:column], value)
            before[number] -= count_equal(masked[:masked_before], value)
