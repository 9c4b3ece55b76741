"""Compiled: rank the single target of each row. Importing this module imports numba."""

from __future__ import annotations

import numpy as np

from rectitude.kernels import subkernel, summing
from rectitude.rowkernels.lanes import (
    LANES,
    bit_count,
    count_equal,
    equal,
    higher,
    highest_bit,
    lowest_bit,
    not_below,
    scale,
)

CHUNK = 1024  # scores that stay in the fastest cache until their exponentials are summed
ALL_LANES = ~np.uint64(0)  # the bits of a whole block
ABOVE, AT_LEAST, BEST, BEST_TIED, SECOND = range(5)  # indexes of the statistics of a row
LOG2_E = np.float32(1.4426950408889634)  # log2(e): turns powers of e into powers of two
LOWEST_EXPONENT = np.float32(-126.0)  # the lowest exponent of a normal float32


def single_kernel(  # type: ignore[no-untyped-def]
    logits, target, above, tied, before, best, best_tied, second, loss, broken
):
    """Find the standing of the target of each row, and the best column; also the loss, if `loss` is
    not empty.

    The loss is computed in 32-bit precision; in measurements it was within 1e-6 of the exact value.
    """
    stats = np.empty(5, np.int64)
    short = np.empty(LANES, logits.dtype)
    for row in range(logits.shape[0]):
        line, column = logits[row], target[row]
        score = line[column] if column >= 0 else logits.dtype.type(-np.inf)
        top, total = _read_row(line, score, column, stats, short, len(loss) > 0)
        broken[row] = np.isnan(top)
        has_rank = column >= 0 and not broken[row]
        above[row] = stats[ABOVE] if has_rank else -1
        tied[row] = stats[AT_LEAST] - stats[ABOVE] if has_rank else 0
        before[row] = count_equal(line[:column], score) if tied[row] > 1 else 0
        best[row] = -1 if broken[row] else stats[BEST]
        best_tied[row] = 0 if broken[row] else stats[BEST_TIED]
        second[row] = -1 if broken[row] else stats[SECOND]
        if len(loss) > 0 and has_rank:
            loss[row] = np.log(total) + (np.float64(top) - np.float64(score))
        elif len(loss) > 0:
            loss[row] = np.nan if broken[row] else np.inf


@subkernel
def _read_row(line, score, column, stats, short, need_loss):  # type: ignore[no-untyped-def]
    """Return the highest score (NaN if there is a NaN), and the sum of exp(score - highest)."""
    stats[:] = 0
    stats[BEST] = stats[SECOND] = -1
    size = len(line)
    values = line
    if size < LANES:
        short[:size] = line
        values = short
    top, total = score, 0.0
    for low in range(0, size, CHUNK):
        high = min(low + CHUNK, size)
        previous_top, top = top, _read_chunk(values, low, high, size, score, column, top, stats)
        if need_loss and top > -np.inf:
            if top > previous_top:
                total *= np.exp(np.float64(previous_top) - np.float64(top))
            total += np.float64(_sum_exponentials(line[low:high], top))
    return top, total


@subkernel
def _read_chunk(values, low, high, size, score, column, top, stats):  # type: ignore[no-untyped-def]
    """Return the highest score so far; count the scores above the target's, and those at
    least as high.

    Blocks of lower scores are skipped: the highest score is never below the target's. The last
    block overlaps scores that were already read; their bits are ignored.
    """
    real_lanes = ALL_LANES >> np.uint64(LANES - min(size, LANES))
    for first in range(low, high, LANES):
        block = max(min(first, size - LANES), 0)
        valid = real_lanes & (ALL_LANES << np.uint64(first - block))
        bits = not_below(values, block, score) & valid
        if bits != 0:
            stats[AT_LEAST] += bit_count(bits)
            stats[ABOVE] += bit_count(higher(values, block, score) & valid)
            if not_below(values, block, top) & valid != 0:
                top = _raise_top(values, block, valid, column, top, stats)
    return top


@subkernel
def _raise_top(values, block, valid, column, top, stats):  # type: ignore[no-untyped-def]
    """Return the highest score after a block that may exceed it, and record its
    columns; once it is NaN, it stays NaN.

    The last higher score is tried next: if the scores ascend, it is the highest.
    """
    higher_bits = higher(values, block, top) & valid
    if higher_bits != 0:
        stats[BEST_TIED] = 0
        stats[BEST] = stats[SECOND] = -1
    while higher_bits != 0:
        top = values[block + highest_bit(higher_bits)]
        higher_bits = higher(values, block, top) & valid
    equal_bits = equal(values, block, top) & valid
    if equal_bits != not_below(values, block, top) & valid:
        return values.dtype.type(np.nan)
    stats[BEST_TIED] += bit_count(equal_bits)
    if stats[BEST] < 0:
        stats[BEST] = block + lowest_bit(equal_bits)
    if 0 <= column - block < LANES:
        equal_bits &= ~(np.uint64(1) << np.uint64(column - block))
    if stats[SECOND] < 0 and equal_bits != 0:
        stats[SECOND] = block + lowest_bit(equal_bits)
    return top


@summing
def _sum_exponentials(values, top):  # type: ignore[no-untyped-def]
    """Sum exp(score - highest score) in 32-bit precision.

    The power of two is a polynomial of the fractional part, with a relative error of at most 2e-7;
    the integer part is added to the exponent.
    """
    total = np.float32(0)
    for position in range(len(values)):
        power = max(np.float32(values[position] - top) * LOG2_E, LOWEST_EXPONENT)
        whole = np.rint(power)
        fraction = power - whole
        value = fraction * np.float32(0.0013202981790527701) + np.float32(0.009674952365458012)
        value = value * fraction + np.float32(0.055510472506284714)
        value = value * fraction + np.float32(0.24022166430950165)
        value = value * fraction + np.float32(0.6931465864181519)
        value = value * fraction + np.float32(1.0)
        total += scale(value, np.int32(whole))
    return total
