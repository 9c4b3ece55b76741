"""Where the one target of each row stands, compiled. Importing this imports numba."""

from __future__ import annotations

import numpy as np

from rectitude.compiled import part, summing
from rectitude.dense.lanes import LANES, bit_count, higher, lowest_bit, not_below, scaled
from rectitude.dense.parts import count_equal

CHUNK = 2048  # scores that stay in the nearest cache until their exponentials are added up
ABOVE, LEAST, BEST, HOLDERS, OTHER = range(5)  # what is noted while a row is read
BINARY = np.float32(1.4426950408889634)  # makes powers of e powers of two
LOWEST = np.float32(-126.0)  # the lowest power of two that is an ordinary 32-bit float


def single_kernel(  # type: ignore[no-untyped-def]
    logits, target, above, tied, before, best, best_tied, second, loss, broken
):
    """Where the target of each row stands, what stands first, and the loss if there is room for it.

    The loss is computed with 32 bits; it was measured to be within 1e-6 of the exact one.
    """
    notes = np.empty(5, np.int64)
    for row in range(logits.shape[0]):
        line, here = logits[row], target[row]
        score = line[here] if here >= 0 else logits.dtype.type(-np.inf)
        top, total = _read(line, score, here, notes, len(loss) > 0)
        broken[row] = np.isnan(top)
        known = here >= 0 and not broken[row]
        above[row] = notes[ABOVE] if known else -1
        tied[row] = notes[LEAST] - notes[ABOVE] if known else 0
        before[row] = count_equal(line[:here], score) if tied[row] > 1 else 0
        best[row] = -1 if broken[row] else notes[BEST]
        best_tied[row] = 0 if broken[row] else notes[HOLDERS]
        second[row] = -1 if broken[row] else notes[OTHER]
        if len(loss) > 0 and known:
            loss[row] = np.log(total) + (np.float64(top) - np.float64(score))
        elif len(loss) > 0:
            loss[row] = np.nan if broken[row] else np.inf


@part
def _read(line, score, here, notes, want_loss):  # type: ignore[no-untyped-def]
    """The highest score, NaN if there is one, and the sum of exponentials of all scores less it."""
    notes[:] = 0
    notes[BEST] = notes[OTHER] = -1
    top, total = score, 0.0
    for low in range(0, len(line), CHUNK):
        chunk = line[low : low + CHUNK]
        lower, top = top, _climb(chunk, low, score, here, top, notes)
        if want_loss and top > -np.inf:
            if top > lower:
                total *= np.exp(np.float64(lower) - np.float64(top))
            total += np.float64(_exponentials(chunk, top))
    return top, total


@part
def _climb(chunk, low, score, here, top, notes):  # type: ignore[no-untyped-def]
    """The highest score so far; notes how many scores are above the target's, or not below it.

    Blocks of lower scores are skipped: the highest score is never below the target's.
    """
    whole = len(chunk) // LANES * LANES
    for block in range(0, whole, LANES):
        bits = not_below(chunk, block, score)
        if bits == 0:
            continue
        notes[LEAST] += bit_count(bits)
        notes[ABOVE] += bit_count(higher(chunk, block, score))
        bits = not_below(chunk, block, top)
        while bits != 0:
            place = block + lowest_bit(bits)
            top = _rise(chunk[place], low + place, here, top, notes)
            bits &= bits - np.uint64(1)
    for place in range(whole, len(chunk)):
        notes[LEAST] += not chunk[place] < score
        notes[ABOVE] += chunk[place] > score
        if not chunk[place] < top:
            top = _rise(chunk[place], low + place, here, top, notes)
    return top


@part
def _rise(value, column, here, top, notes):  # type: ignore[no-untyped-def]
    """The highest score after one that was not below it; NaN stays. Notes who holds it."""
    if np.isnan(value) or np.isnan(top):
        return top + value
    if value > top:
        notes[HOLDERS] = 0
        notes[BEST] = notes[OTHER] = -1
    if value >= top:
        notes[HOLDERS] += 1
        if notes[BEST] < 0:
            notes[BEST] = column
        if notes[OTHER] < 0 and column != here:
            notes[OTHER] = column
    return max(value, top)


@summing
def _exponentials(values, top):  # type: ignore[no-untyped-def]
    """The sum of the exponentials of scores less the highest, with 32 bits.

    Two to a power is a polynomial in the power's fraction, wrong by at most 2e-7 of it, and the
    whole part is added to the exponent.
    """
    total = np.float32(0)
    for place in range(len(values)):
        power = max(np.float32(values[place] - top) * BINARY, LOWEST)
        whole = np.rint(power)
        rest = power - whole
        value = rest * np.float32(0.0013202981790527701) + np.float32(0.009674952365458012)
        value = value * rest + np.float32(0.055510472506284714)
        value = value * rest + np.float32(0.24022166430950165)
        value = value * rest + np.float32(0.6931465864181519)
        value = value * rest + np.float32(1.0)
        total += scaled(value, np.int32(whole))
    return total
