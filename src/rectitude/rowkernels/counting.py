"""Where wanted items stand, compiled; see `rectitude.kernels`. Importing this imports numba."""

from __future__ import annotations

import numpy as np

from rectitude.kernels import part
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

CHUNK = 4096  # scores that stay in the nearest cache while several items are counted
STEP = 1024  # scores after which it is seen whether there are enough
SAMPLE = 256  # scores that tell nearly how many are enough
FEW = 256  # masked columns that are not worth looking up one by one
SOME = 16  # scores that are collected between two looks at what they mean
LAST_BIT = np.uint64(1) << np.uint64(LANES - 1)


def count_kernel(  # type: ignore[no-untyped-def]
    scores, start, column, mask_start, mask_column, depth, above, tied, before, broken
):
    """Where the wanted items of each row stand.

    Few scores beat an item that stands above `depth`. Those are collected in one pass, which
    compares every score only with the lowest item that may still stand so high, and the items are
    counted among them. A row of which too much would have to be collected is counted in full.
    """
    rows, columns = scores.shape
    wanted = longest(start)
    coming = np.empty(wanted, scores.dtype)
    score = np.empty(wanted, scores.dtype)
    order = np.empty((2, wanted), np.int64)
    counts = np.empty((2, wanted), np.int64)
    masked = np.empty(longest(mask_start), scores.dtype)
    room = 2 * (min(depth, columns) + len(masked)) + 2 * LANES
    pool = np.empty(room if room < columns // 4 else 0, scores.dtype)
    above[:], tied[:], before[:] = -1, 0, 0
    if rows > 0:
        fetch(scores[0], column[: start[1]], coming)
    for row in range(rows):
        line = scores[row]
        here = slice(start[row], start[row + 1])
        hidden = mask_column[mask_start[row] : mask_start[row + 1]]
        alive = _sort(coming, column[here], score, order)
        if row + 1 < rows:  # they lie far apart, and arrive while this row is read
            fetch(scores[row + 1], column[start[row + 1] : start[row + 2]], coming)
        held = -1
        if alive > 0 and len(pool) > 0:
            alive, held = _collect(line, score[:alive], hidden, masked, depth, pool)
        broken[row] = _tally(pool[:held] if held >= 0 else line, score[:alive], counts)
        if not broken[row]:
            _mark(column[here], hidden, above[here])
            fetch(line, hidden, masked)
            _settle(
                line, column[here], score[:alive], order[0], counts, hidden,
                masked[: len(hidden)], depth, above[here], tied[here], before[here],
            )  # fmt: skip


@part
def _sort(values, items, score, order):  # type: ignore[no-untyped-def]
    """The scores of the items that have a column, best first, and their numbers; how many.

    Each goes to the place that is the number of scores before it: no branch to guess.
    """
    size = 0
    for number in range(len(items)):
        values[size] = values[number]
        order[1, size] = number
        size += items[number] >= 0
    for number in range(size):
        place = count_above(values[:size], values[number])
        place += count_equal(values[:number], values[number])
        score[place] = values[number]
        order[0, place] = order[1, number]
    return size


@part
def _collect(line, score, hidden, masked, depth, pool):  # type: ignore[no-untyped-def]
    """Every score of a row that is not below the lowest item which may stand above `depth`.

    Returns how many items may do so, and how many scores the pool holds, NaN among them; -1 where
    equal scores filled it.
    """
    alive = _alive(line[:CHUNK], score, depth + bisect(hidden, CHUNK))
    room = len(pool) - 2 * LANES
    held, check, known = 0, min(depth + SOME, room), 0
    whole = len(line) // LANES * LANES
    limit = _limit(score, alive)
    for block in range(0, whole, LANES):
        held = _take(line, block, not_below(line, block, limit), pool, held)
        if held < check:
            continue
        enough, last = depth, bisect(hidden, block + LANES)
        if len(hidden) <= FEW:
            enough += last  # as if all of them were above
        else:
            fetch(line, hidden[known:last], masked[known:last])
            known = last
        alive, lacking = _drop(score, alive, masked[:known], pool[:held], enough)
        limit = _limit(score, alive)
        if held >= room:
            held = _keep(pool, held, limit)
            if held + LANES > room:
                return alive, -1
        check = min(held + max(lacking, SOME), room)
    for place in range(whole, len(line)):
        pool[held] = line[place]
        held += not line[place] < limit
    return alive, held


@part
def _alive(glance, score, enough):  # type: ignore[no-untyped-def]
    """How many items, best first, do not have enough scores above them in a part of the row.

    The search begins where a few of these scores would have it end.
    """
    few = glance[:SAMPLE]
    guess = _short(few, score, enough * len(few) // len(glance), 0)
    return _short(glance, score, enough, guess)


@part
def _short(values, score, enough, low):  # type: ignore[no-untyped-def]
    """How many items do not have enough values above them, at least so many as are taken for it."""
    high, middle = len(score), low
    while low < high:
        more = 0
        for first in range(0, len(values), STEP):
            more += count_above(values[first : first + STEP], score[middle])
            if more >= enough:
                break
        if more < enough:
            low = middle + 1
        else:
            high = middle
        middle = (low + high) >> 1
    return low


@part
def _limit(score, alive):  # type: ignore[no-untyped-def]
    """The score of the lowest item that is alive; if none is, only NaN must be found."""
    return score[alive - 1] if alive > 0 else score.dtype.type(np.inf)


@part
def _take(line, block, bits, pool, held):  # type: ignore[no-untyped-def]
    """Put the scores at some bits of a block into the pool; how many it holds.

    Up to three are taken without a branch, so that the reading of the row never stops to guess.
    """
    for _ in range(3):
        pool[held] = line[block + lowest_bit(bits | LAST_BIT)]
        held += bits != 0
        bits &= bits - np.uint64(1)
    while bits != 0:
        pool[held] = line[block + lowest_bit(bits)]
        held += 1
        bits &= bits - np.uint64(1)
    return held


@part
def _drop(score, alive, masked, pool, enough):  # type: ignore[no-untyped-def]
    """How many items do not have enough scores above them, and how many the lowest is short of."""
    while alive > 0:
        limit = score[alive - 1]
        lacking = enough + count_above(masked, limit) - count_above(pool, limit)
        if lacking > 0:
            return alive, lacking
        alive -= 1
    return 0, len(pool)


@part
def _keep(pool, held, limit):  # type: ignore[no-untyped-def]
    """Throw out of the pool what is below the limit; how much is left."""
    left = 0
    for place in range(held):
        pool[left] = pool[place]
        left += not pool[place] < limit
    return left


@part
def _tally(values, score, counts):  # type: ignore[no-untyped-def]
    """Count the values above and equal to each score; whether a value is NaN."""
    broken = False
    counts[:, : len(score)] = 0
    for first in range(0, len(values), CHUNK):
        chunk = values[first : first + CHUNK]
        broken |= _holds_nan(chunk)
        for place in range(len(score)):
            more, same = count_both(chunk, score[place])
            counts[0, place] += more
            counts[1, place] += same
    return broken


@part
def _holds_nan(values):  # type: ignore[no-untyped-def]
    """Whether a value is NaN."""
    found = np.int32(0)
    for place in range(len(values)):
        found = np.int32(found + np.int32(values[place] != values[place]))
    return found > 0


@part
def _mark(items, hidden, above):  # type: ignore[no-untyped-def]
    """Write down which items are masked."""
    for number in range(len(items)):
        if len(hidden) <= FEW:
            is_masked = count_equal(hidden, items[number]) > 0
        else:
            place = bisect(hidden, items[number])
            is_masked = place < len(hidden) and hidden[place] == items[number]
        if is_masked:
            above[number] = MASKED


@part
def _settle(  # type: ignore[no-untyped-def]
    line, items, score, order, counts, hidden, masked, depth, above, tied, before
):
    """Write down where the items that are alive stand, once masked columns are left out."""
    for place in range(len(score)):
        value, number = score[place], order[place]
        column = items[number]
        more = counts[0, place] - count_above(masked, value)
        same = count_equal(masked, value)
        behind = bisect(hidden, column) if same > 0 else 0
        is_masked = same > 0 and behind < len(hidden) and hidden[behind] == column
        if more >= depth or is_masked:
            continue
        above[number] = more
        tied[number] = counts[1, place] - same
        if tied[number] > 1:
            before[number] = count_equal(line[:column], value)
            before[number] -= count_equal(masked[:behind], value)
