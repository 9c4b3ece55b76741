"""Where wanted items stand, compiled; see `rectitude.compiled`. Importing this imports numba."""

from __future__ import annotations

import numpy as np

from rectitude.compiled import part
from rectitude.dense.lanes import LANES, lowest_bit, not_below

CHUNK = 4096  # scores that stay in the nearest cache while several items are counted
GLANCE = 2048  # scores at the start of a row that show which items stand too deep


def count_kernel(  # type: ignore[no-untyped-def]
    scores, start, column, mask_start, mask_column, depth, above, tied, before, broken
):
    """Where the wanted items of each row stand.

    Few scores beat an item that stands above `depth`. Those are collected in one pass, which
    compares every score only with the lowest item that may still stand so high, and the items are
    counted among them. A row of which too much would have to be collected is counted in full.
    """
    columns = scores.shape[1]
    wanted = _longest(start)
    score = np.empty(wanted, scores.dtype)
    order = np.empty(wanted, np.int64)
    higher = np.empty(wanted, np.int64)
    equal = np.empty(wanted, np.int64)
    masked = np.empty(_longest(mask_start), scores.dtype)
    room = 2 * (min(depth, columns) + len(masked)) + 4 * LANES
    pool = np.empty(room if room < columns // 4 else 0, scores.dtype)
    for row in range(scores.shape[0]):
        line = scores[row]
        first, last = start[row], start[row + 1]
        hidden = mask_column[mask_start[row] : mask_start[row + 1]]
        for place in range(len(hidden)):
            masked[place] = line[hidden[place]]
        aside = masked[: len(hidden)]
        asked = _take(line, column[first:last], hidden, score, order)
        above[first:last], tied[first:last], before[first:last] = -1, 0, 0
        alive, held = asked, -1
        if asked > 0 and len(pool) > 0:
            alive, held = _collect(line, score[:asked], aside, depth, pool)
        if held < 0:
            broken[row] = _tally(line, score[:alive], higher, equal)
        else:
            broken[row] = _tally(pool[:held], score[:alive], higher, equal)
        if broken[row]:
            continue
        for place in range(alive):
            item = first + order[place]
            more = higher[place] - _above(aside, score[place])
            if more >= depth:
                continue
            above[item] = more
            tied[item] = equal[place] - _equal(aside, score[place])
            if tied[item] > 1:
                here = column[item]
                before[item] = _equal(line[:here], score[place]) - _equal(
                    aside[: _bisect(hidden, here)], score[place]
                )


@part
def _longest(start):  # type: ignore[no-untyped-def]
    """The length of the longest row."""
    most = 0
    for row in range(len(start) - 1):
        most = max(most, start[row + 1] - start[row])
    return most


@part
def _bisect(rising, value):  # type: ignore[no-untyped-def]
    """How many of some ascending values are smaller."""
    low, high = 0, len(rising)
    while low < high:
        middle = (low + high) >> 1
        if rising[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@part
def _take(line, items, hidden, score, order):  # type: ignore[no-untyped-def]
    """The scores of the items that have a column and are not hidden, best first; how many."""
    taken = 0
    for number in range(len(items)):
        item = items[number]
        place = _bisect(hidden, item)
        if item < 0 or (place < len(hidden) and hidden[place] == item):
            continue
        value = line[item]
        hole = taken
        while hole > 0 and score[hole - 1] < value:
            score[hole] = score[hole - 1]
            order[hole] = order[hole - 1]
            hole -= 1
        score[hole] = value
        order[hole] = number
        taken += 1
    return taken


@part
def _above(values, limit):  # type: ignore[no-untyped-def]
    """How many values are higher. Narrow sums let this run on whole vectors."""
    found = np.int32(0)
    for place in range(len(values)):
        found = np.int32(found + np.int32(values[place] > limit))
    return np.int64(found)


@part
def _equal(values, limit):  # type: ignore[no-untyped-def]
    """How many values are the same."""
    found = np.int32(0)
    for place in range(len(values)):
        found = np.int32(found + np.int32(values[place] == limit))
    return np.int64(found)


@part
def _above_and_equal(values, limit):  # type: ignore[no-untyped-def]
    """How many values are higher, and how many the same."""
    found = np.int32(0)
    same = np.int32(0)
    for place in range(len(values)):
        found = np.int32(found + np.int32(values[place] > limit))
        same = np.int32(same + np.int32(values[place] == limit))
    return np.int64(found), np.int64(same)


@part
def _holds_nan(values):  # type: ignore[no-untyped-def]
    """Whether a value is NaN."""
    found = np.int32(0)
    for place in range(len(values)):
        found = np.int32(found + np.int32(values[place] != values[place]))
    return found > 0


@part
def _tally(values, score, higher, equal):  # type: ignore[no-untyped-def]
    """Count the values above and equal to each score; whether a value is NaN."""
    broken = False
    higher[: len(score)] = 0
    equal[: len(score)] = 0
    for first in range(0, len(values), CHUNK):
        chunk = values[first : first + CHUNK]
        broken |= _holds_nan(chunk)
        for place in range(len(score)):
            found, same = _above_and_equal(chunk, score[place])
            higher[place] += found
            equal[place] += same
    return broken


@part
def _collect(line, score, masked, depth, pool):  # type: ignore[no-untyped-def]
    """Every score of a row that is not below the lowest item which may stand above `depth`.

    Returns how many items may do so, and how many scores the pool holds, NaN among them; -1 where
    equal scores filled it.
    """
    alive = _bisect_alive(line[:GLANCE], score, masked, depth)
    limit, goal = _next(score, alive, masked, depth)
    check = goal
    held = 0
    whole = len(line) // LANES * LANES
    for first in range(0, len(line), LANES):
        if first < whole:
            bits = not_below(line, first, limit)
            while bits != 0:
                pool[held] = line[first + lowest_bit(bits)]
                held += 1
                bits &= bits - np.uint64(1)
        else:
            for place in range(first, len(line)):
                if not line[place] < limit:
                    pool[held] = line[place]
                    held += 1
        if held >= check:
            while alive > 0 and _above(pool[:held], limit) >= goal:
                alive -= 1
                limit, goal = _next(score, alive, masked, depth)
            held = _keep(pool, held, limit)
            if held > len(pool) - 2 * LANES:
                return alive, -1
            check = min(max(goal, held + LANES), len(pool) - LANES)
    return alive, held


@part
def _next(score, alive, masked, depth):  # type: ignore[no-untyped-def]
    """The lowest item's score, and how many scores above it, masked ones too, put it too deep."""
    if alive == 0:
        return score.dtype.type(np.inf), depth
    return score[alive - 1], depth + _above(masked, score[alive - 1])


@part
def _bisect_alive(glance, score, masked, depth):  # type: ignore[no-untyped-def]
    """How many items, best first, may stand above `depth` for all that a part of the row shows."""
    low, high = 0, len(score)
    while low < high:
        middle = (low + high) >> 1
        if _above(glance, score[middle]) - _above(masked, score[middle]) < depth:
            low = middle + 1
        else:
            high = middle
    return low


@part
def _keep(pool, held, limit):  # type: ignore[no-untyped-def]
    """Throw out of the pool what is below the limit; how much is left."""
    left = 0
    for place in range(held):
        pool[left] = pool[place]
        left += not pool[place] < limit
    return left
