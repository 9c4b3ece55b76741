"""Where the one target of each row stands, compiled. Importing this imports numba."""

from __future__ import annotations

import numpy as np

from rectitude.kernels import part, summing
from rectitude.rowkernels.lanes import (
    LANES,
    bit_count,
    count_equal,
    equal,
    higher,
    highest_bit,
    lowest_bit,
    not_below,
    scaled,
)

CHUNK = 1024  # scores that stay in the nearest cache until their exponentials are added up
EVERY = ~np.uint64(0)  # the bits of a whole block
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
    short = np.empty(LANES, logits.dtype)
    for row in range(logits.shape[0]):
        line, here = logits[row], target[row]
        score = line[here] if here >= 0 else logits.dtype.type(-np.inf)
        top, total = _read(line, score, here, notes, short, len(loss) > 0)
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
def _read(line, score, here, notes, short, want_loss):  # type: ignore[no-untyped-def]
    """The highest score, NaN if there is one, and the sum of exponentials of all scores less it."""
    notes[:] = 0
    notes[BEST] = notes[OTHER] = -1
    size = len(line)
    values = line
    if size < LANES:
        short[:size] = line
        values = short
    top, total = score, 0.0
    for low in range(0, size, CHUNK):
        high = min(low + CHUNK, size)
        lower, top = top, _climb(values, low, high, size, score, here, top, notes)
        if want_loss and top > -np.inf:
            if top > lower:
                total *= np.exp(np.float64(lower) - np.float64(top))
            total += np.float64(_exponentials(line[low:high], top))
    return top, total


@part
def _climb(values, low, high, size, score, here, top, notes):  # type: ignore[no-untyped-def]
    """The highest score so far; notes how many scores are above the target's, or not below it.

    Blocks of lower scores are skipped: the highest score is never below the target's. The last
    block reaches back over scores that were seen, whose bits do not count.
    """
    real = EVERY >> np.uint64(LANES - min(size, LANES))
    for first in range(low, high, LANES):
        block = max(min(first, size - LANES), 0)
        valid = real & (EVERY << np.uint64(first - block))
        bits = not_below(values, block, score) & valid
        if bits != 0:
            notes[LEAST] += bit_count(bits)
            notes[ABOVE] += bit_count(higher(values, block, score) & valid)
            if not_below(values, block, top) & valid != 0:
                top = _rise(values, block, valid, here, top, notes)
    return top


@part
def _rise(values, block, valid, here, top, notes):  # type: ignore[no-untyped-def]
    """The highest score after a block with something not below it; NaN stays. Notes who holds it.

    The last of the higher ones is tried next: where scores rise, that is the highest.
    """
    more = higher(values, block, top) & valid
    if more != 0:
        notes[HOLDERS] = 0
        notes[BEST] = notes[OTHER] = -1
    while more != 0:
        top = values[block + highest_bit(more)]
        more = higher(values, block, top) & valid
    same = equal(values, block, top) & valid
    if same != not_below(values, block, top) & valid:
        return values.dtype.type(np.nan)
    notes[HOLDERS] += bit_count(same)
    if notes[BEST] < 0:
        notes[BEST] = block + lowest_bit(same)
    if 0 <= here - block < LANES:
        same &= ~(np.uint64(1) << np.uint64(here - block))
    if notes[OTHER] < 0 and same != 0:
        notes[OTHER] = block + lowest_bit(same)
    return top


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
