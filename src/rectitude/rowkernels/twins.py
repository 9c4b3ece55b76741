"""Dense rows in NumPy: what small work runs on, and what the compiled kernels must agree with.

Each function takes a block of rows and writes its answers into arrays, as its kernel does.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Flags, Floats, Integers
from rectitude.rowkernels.standings import MASKED, Columns, Scores

CHUNK = 1 << 18  # scores


def count_rows(
    scores: Scores,
    start: Integers,
    column: Columns,
    mask_start: Integers,
    mask_column: Columns,
    depth: int,
    above: Integers,
    tied: Integers,
    before: Integers,
    broken: Flags,
) -> None:
    """Where wanted items stand, by sorting each row and looking their scores up."""
    left = _left(scores, mask_start, mask_column)
    broken[:] = np.isnan(scores).any(axis=1)
    row = np.repeat(np.arange(len(scores)), np.diff(start))
    score = np.where(column < 0, np.nan, left[row, column])
    rising = np.sort(left, axis=1)
    kept = (left.shape[1] - np.isnan(left).sum(axis=1))[row]
    below = _smaller(rising, row, score, kept, np.less)
    up_to = _smaller(rising, row, score, kept, np.less_equal)
    above[:], tied[:], before[:] = kept - up_to, up_to - below, 0
    lost = np.isnan(score) | broken[row] | (above >= depth)
    above[lost], tied[lost] = -1, 0
    above[(column >= 0) & np.isnan(score) & ~broken[row]] = MASKED
    several = np.flatnonzero(tied > 1)
    if len(several):
        before[several] = _place(left, row[several], column[several]) - below[several]


def _left(scores: Scores, mask_start: Integers, mask_column: Columns) -> Scores:
    """The scores with NaN in place of masked ones: it is neither above, below nor equal."""
    if not len(mask_column):
        return scores
    left = scores.copy()
    left[np.repeat(np.arange(len(scores)), np.diff(mask_start)), mask_column] = np.nan
    return left


def _smaller(
    rising: Scores, row: Integers, score: Scores, kept: Integers, compare: np.ufunc
) -> Integers:
    """How many of the first `kept` values of a sorted row are smaller (or equal), by bisection."""
    low, high = np.zeros_like(kept), kept.copy()
    for _ in range(int(rising.shape[1]).bit_length()):
        middle = np.minimum((low + high) // 2, rising.shape[1] - 1)
        ahead = compare(rising[row, middle], score) & (low < high)
        low, high = np.where(ahead, middle + 1, low), np.where(ahead, high, middle)
    return low


def _place(left: Scores, row: Integers, column: Columns) -> Integers:
    """The place of some columns when their row is sorted, lower columns first among equals."""
    rows, number = np.unique(row, return_inverse=True)
    order = np.argsort(left[rows], axis=1, kind="stable")
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(order.shape[1])[None], axis=1)
    return place[number, column].astype(np.int64, copy=False)


def single_rows(
    logits: Scores,
    target: Integers,
    above: Integers,
    tied: Integers,
    before: Integers,
    best: Integers,
    best_tied: Integers,
    second: Integers,
    loss: Floats,
    broken: Flags,
) -> None:
    """Where the one target of each row stands; the loss too if there is room for it."""
    column = np.arange(logits.shape[1])
    broken[:] = np.isnan(logits).any(axis=1)
    score = np.where(target < 0, np.nan, logits[np.arange(len(logits)), target])[:, None]
    equal = logits == score
    above[:] = (logits > score).sum(axis=1)
    tied[:] = equal.sum(axis=1)
    before[:] = (equal & (column < target[:, None])).sum(axis=1)
    highest = logits.max(axis=1, keepdims=True)
    holds = logits == highest
    best[:] = holds.argmax(axis=1)
    best_tied[:] = holds.sum(axis=1)
    holds &= column != target[:, None]
    second[:] = np.where(holds.any(axis=1), holds.argmax(axis=1), -1)
    above[(target < 0) | broken] = -1
    for values, missing in ((tied, 0), (before, 0), (best, -1), (best_tied, 0), (second, -1)):
        values[broken] = missing
    if len(loss):
        loss[:] = loss_rows(logits, target)


def loss_rows(logits: Scores, target: Integers) -> Floats:
    """The log-sum-exp of each row less its target's score, with 64 bits; infinite without target.

    Few rows at a time: their exponentials take memory.
    """
    loss = np.full(len(logits), np.inf)
    step = max(1, CHUNK // max(logits.shape[1], 1))
    for first in range(0, len(logits), step):
        row = np.arange(first, min(first + step, len(logits)))
        row = row[(target[row] >= 0) | np.isnan(logits[row]).any(axis=1)]
        block = logits[row].astype(np.float64)
        top = block.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", over="ignore"):
            above = top[:, 0] - block[np.arange(len(row)), target[row]]
            loss[row] = np.log(np.exp(block - top).sum(axis=1)) + above
    return loss


def best_rows(scores: Scores, mask_start: Integers, mask_column: Columns, best: Integers) -> None:
    """The columns of the best scores: those not below the k-th best, sorted."""
    best[:] = -1
    left = _left(scores, mask_start, mask_column)
    k = min(best.shape[1], left.shape[1])
    least = np.full((len(left), 1), -np.inf, left.dtype)
    if k < left.shape[1]:
        with np.errstate(invalid="ignore"):
            least = np.fmax(-np.partition(-left, k - 1, axis=1)[:, k - 1 : k], least)
    row, column = np.nonzero(left >= least)
    order = np.lexsort((-left[row, column], row))
    first = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(left)))))
    place = np.arange(len(row)) - first[row]
    shown = place < k
    best[row[shown], place[shown]] = column[order][shown]
