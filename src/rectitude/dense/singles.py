"""Where the one target of each row stands, compiled. Importing this imports numba."""

from __future__ import annotations

import numpy as np

from rectitude.compiled import part, summing
from rectitude.dense.counting import above_and_equal, equal
from rectitude.dense.lanes import LANES, lowest_bit, not_below, scaled

CHUNK = 2048  # scores that stay in the nearest cache while they are looked at several times
BINARY = np.float32(1.4426950408889634)  # powers of e as powers of two
LEAST = np.float32(-126.0)  # the lowest power of two that is an ordinary 32-bit float


def single_kernel(  # type: ignore[no-untyped-def]
    logits, target, above, tied, before, best, best_tied, second, loss, broken
):
    """Where the target of each row stands, what stands first, and the loss if there is room for it.

    The loss is computed with 32 bits: it was measured to be within 1e-6 of the exact one.
    """
    first = np.empty(3, np.int64)
    for row in range(logits.shape[0]):
        line, here = logits[row], target[row]
        score = line[here] if here >= 0 else logits.dtype.type(-np.inf)
        first[0], first[1], first[2] = -1, 0, -1
        top, more, same = score, 0, 0
        for low in range(0, len(line), CHUNK):
            chunk = line[low : low + CHUNK]
            top = _climb(chunk, low, here, top, first)
            higher, equals = above_and_equal(chunk, score)
            more += higher
            same += equals
        broken[row] = top != top
        known = here >= 0 and not broken[row]
        above[row] = more if known else -1
        tied[row] = same if known else 0
        before[row] = equal(line[:here], score) if known and same > 1 else 0
        best[row] = -1 if broken[row] else first[0]
        best_tied[row] = 0 if broken[row] else first[1]
        second[row] = -1 if broken[row] else first[2]
        if len(loss) > 0 and known:
            loss[row] = _log_sum(line, top) + (np.float64(top) - np.float64(score))
        elif len(loss) > 0:
            loss[row] = np.nan if broken[row] else np.inf


@part
def _climb(chunk, low, here, top, first):  # type: ignore[no-untyped-def]
    """The highest score so far, NaN if there is one. Notes which columns hold it."""
    whole = len(chunk) // LANES * LANES
    for block in range(0, whole, LANES):
        bits = not_below(chunk, block, top)
        while bits != 0:
            place = block + lowest_bit(bits)
            top = _rise(chunk[place], low + place, here, top, first)
            bits &= bits - np.uint64(1)
    for place in range(whole, len(chunk)):
        if not chunk[place] < top:
            top = _rise(chunk[place], low + place, here, top, first)
    return top


@part
def _rise(value, column, here, top, first):  # type: ignore[no-untyped-def]
    """Note the column of a score that may be the highest; the highest score, where NaN stays."""
    if value != value or top != top:
        return top + value
    if value > top:
        first[0], first[1], first[2] = -1, 0, -1
    if value >= top:
        first[1] += 1
        if first[0] < 0:
            first[0] = column
        if first[2] < 0 and column != here:
            first[2] = column
    return max(value, top)


@part
def _log_sum(line, top):  # type: ignore[no-untyped-def]
    """The logarithm of the sum of the exponentials of all scores less the highest."""
    total = 0.0
    for low in range(0, len(line), CHUNK):
        total += np.float64(_exponentials(line[low : low + CHUNK], top))
    return np.log(total)


@summing
def _exponentials(values, top):  # type: ignore[no-untyped-def]
    """The sum of the exponentials of scores less the highest, with 32 bits.

    Two to a power is a polynomial in the power's fraction, whose error is at most 2e-7 of it, and
    the whole part is added to the exponent.
    """
    total = np.float32(0)
    for place in range(len(values)):
        power = max(np.float32(values[place] - top) * BINARY, LEAST)
        whole = np.floor(power + np.float32(0.5))
        part = power - whole
        value = part * np.float32(0.0013202981790527701) + np.float32(0.009674952365458012)
        value = value * part + np.float32(0.055510472506284714)
        value = value * part + np.float32(0.24022166430950165)
        value = value * part + np.float32(0.6931465864181519)
        value = value * part + np.float32(1.0)
        total += scaled(value, np.int32(whole))
    return total
