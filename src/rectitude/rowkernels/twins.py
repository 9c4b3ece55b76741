"""Dense rows in NumPy: used for small inputs, and the reference for the compiled kernels.

Each function takes a block of rows and writes its results into arrays, like its kernel.
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
    """Count the standings of wanted items by sorting each row and looking up their scores."""
    unmasked = _hide_masked(scores, mask_start, mask_column)
    broken[:] = np.isnan(scores).any(axis=1)
    row = np.repeat(np.arange(len(scores)), np.diff(start))
    score = np.where(column < 0, np.nan, unmasked[row, column])
    sorted_rows = np.sort(unmasked, axis=1)
    kept = (unmasked.shape[1] - np.isnan(unmasked).sum(axis=1))[row]
    below = _count_below(sorted_rows, row, score, kept, np.less)
    up_to = _count_below(sorted_rows, row, score, kept, np.less_equal)
    above[:], tied[:], before[:] = kept - up_to, up_to - below, 0
    unranked = np.isnan(score) | broken[row] | (above >= depth)
    above[unranked], tied[unranked] = -1, 0
    above[(column >= 0) & np.isnan(score) & ~broken[row]] = MASKED
    ties = np.flatnonzero(tied > 1)
    if len(ties):
        before[ties] = _find_position(unmasked, row[ties], column[ties]) - below[ties]


def _hide_masked(scores: Scores, mask_start: Integers, mask_column: Columns) -> Scores:
    """Replace masked scores with NaN, which is neither above, below nor equal to any score."""
    if not len(mask_column):
        return scores
    unmasked = scores.copy()
    unmasked[np.repeat(np.arange(len(scores)), np.diff(mask_start)), mask_column] = np.nan
    return unmasked


def _count_below(
    sorted_rows: Scores, row: Integers, score: Scores, kept: Integers, compare: np.ufunc
) -> Integers:
    """Count, by bisection, which of the first `kept` values of a sorted row are below a score (or
    equal to it)."""
    low, high = np.zeros_like(kept), kept.copy()
    for _ in range(int(sorted_rows.shape[1]).bit_length()):
        middle = np.minimum((low + high) // 2, sorted_rows.shape[1] - 1)
        is_below = compare(sorted_rows[row, middle], score) & (low < high)
        low, high = np.where(is_below, middle + 1, low), np.where(is_below, high, middle)
    return low


def _find_position(scores: Scores, row: Integers, column: Columns) -> Integers:
    """Return the position of some columns in their sorted row; ties by lower column."""
    rows, number = np.unique(row, return_inverse=True)
    order = np.argsort(scores[rows], axis=1, kind="stable")
    position = np.empty_like(order)
    np.put_along_axis(position, order, np.arange(order.shape[1])[None], axis=1)
    return position[number, column].astype(np.int64, copy=False)


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
    """Find the standing of the target of each row; also the loss, if `loss` is not empty."""
    column = np.arange(logits.shape[1])
    broken[:] = np.isnan(logits).any(axis=1)
    score = np.where(target < 0, np.nan, logits[np.arange(len(logits)), target])[:, None]
    equal = logits == score
    above[:] = (logits > score).sum(axis=1)
    tied[:] = equal.sum(axis=1)
    before[:] = (equal & (column < target[:, None])).sum(axis=1)
    highest = logits.max(axis=1, keepdims=True)
    is_best = logits == highest
    best[:] = is_best.argmax(axis=1)
    best_tied[:] = is_best.sum(axis=1)
    is_best &= column != target[:, None]
    second[:] = np.where(is_best.any(axis=1), is_best.argmax(axis=1), -1)
    above[(target < 0) | broken] = -1
    for values, value in ((tied, 0), (before, 0), (best, -1), (best_tied, 0), (second, -1)):
        values[broken] = value
    if len(loss):
        loss[:] = loss_rows(logits, target)


def loss_rows(logits: Scores, target: Integers) -> Floats:
    """Return the log-sum-exp of each row minus its target's score, with 64 bits; infinite if a row
    has no target.

    Only a few rows are processed at a time, because their exponentials take memory.
    """
    loss = np.full(len(logits), np.inf)
    step = max(1, CHUNK // max(logits.shape[1], 1))
    for first in range(0, len(logits), step):
        row = np.arange(first, min(first + step, len(logits)))
        row = row[(target[row] >= 0) | np.isnan(logits[row]).any(axis=1)]
        block = logits[row].astype(np.float64)
        top = block.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", over="ignore"):
            difference = top[:, 0] - block[np.arange(len(row)), target[row]]
            loss[row] = np.log(np.exp(block - top).sum(axis=1)) + difference
    return loss


def best_rows(scores: Scores, mask_start: Integers, mask_column: Columns, best: Integers) -> None:
    """Find the columns of the best scores: those not below the k-th best, sorted."""
    best[:] = -1
    unmasked = _hide_masked(scores, mask_start, mask_column)
    k = min(best.shape[1], unmasked.shape[1])
    threshold = np.full((len(unmasked), 1), -np.inf, unmasked.dtype)
    if k < unmasked.shape[1]:
        with np.errstate(invalid="ignore"):
            threshold = np.fmax(-np.partition(-unmasked, k - 1, axis=1)[:, k - 1 : k], threshold)
    row, column = np.nonzero(unmasked >= threshold)
    order = np.lexsort((-unmasked[row, column], row))
    first = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(unmasked)))))
    position = np.arange(len(row)) - first[row]
    in_top = position < k
    best[row[in_top], position[in_top]] = column[order][in_top]
