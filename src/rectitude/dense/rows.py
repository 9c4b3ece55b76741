"""Dense rows of scores: where wanted items stand, single targets, best columns.

Ranks come from counting, never from sorting a row: an item's rank is one more than the number of
columns before it. Rows are independent, so blocks of them are shared among threads, and neither
threads nor blocks change a result. Scores are read where they lie and never written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from rectitude.arrays import Flags, Integers, together
from rectitude.compiled import frozen, kernel, repay
from rectitude.dense import twins
from rectitude.dense.standings import Scores, Singles, Standings, Wanted

__all__ = ["Singles", "Standings", "Wanted", "best", "count", "single"]

BLOCK = 1 << 18  # scores
WORTH_THREADS = 1 << 21


def count(
    scores: Scores, wanted: Wanted, masked: Wanted | None, depth: int | None
) -> tuple[Standings, Flags]:
    """Where each wanted item stands in its row, and which rows hold a NaN.

    Masked columns are passed over. Items with `depth` columns above them are not followed further.
    """
    rows, columns = scores.shape
    masks = _none(rows) if masked is None else masked
    limit = columns if depth is None else min(depth, columns)
    standings = Standings(*np.empty((3, len(wanted.column)), np.int64))
    broken = np.empty(rows, np.bool_)
    counted = _counter(scores)

    def work(first: int, last: int) -> None:
        here = slice(wanted.start[first], wanted.start[last])
        counted(
            frozen(scores[first:last]),
            *map(frozen, wanted.of_rows(first, last)),
            *map(frozen, masks.of_rows(first, last)),
            limit,
            *(values[here] for values in standings),
            broken[first:last],
        )

    _by_rows(work, scores)
    return standings, broken


def single(
    logits: Scores, target: Integers, want_loss: Literal["loss", "ranks"]
) -> tuple[Singles, Flags]:
    """Where the one target of each row stands, what stands first, and which rows hold a NaN."""
    rows = len(logits)
    found = np.empty((6, rows), np.int64)
    loss = np.empty(rows if want_loss == "loss" else 0, np.float64)
    broken = np.empty(rows, np.bool_)
    from rectitude.dense.singles import single_kernel
    k = kernel(single_kernel) if repay(logits.size) else twins.single_rows

    def work(first: int, last: int) -> None:
        here = slice(first, last)
        k(frozen(logits[here]), frozen(target[here]), *found[:, here], loss[here], broken[here])

    _by_rows(work, logits)
    return Singles(*found, loss if want_loss == "loss" else None), broken


def best(scores: Scores, masked: Wanted | None, k: int) -> Integers:
    """The columns of the k best unmasked scores of each row, best first; -1 where none is left.

    Among equal scores the lower column comes first. A NaN is never among the best.
    """
    masks = _none(len(scores)) if masked is None else masked
    columns = np.empty((len(scores), k), np.int64)
    from rectitude.dense.listing import best_kernel
    kk = kernel(best_kernel) if repay(scores.size) else twins.best_rows

    def work(first: int, last: int) -> None:
        kk(frozen(scores[first:last]), *map(frozen,masks.of_rows(first, last)), columns[first:last])

    _by_rows(work, scores)
    return columns


def _counter(scores: Scores) -> Callable[..., None]:
    if not repay(scores.size):
        return twins.count_rows
    from rectitude.dense.counting import count_kernel

    return kernel(count_kernel)


def _none(rows: int) -> Wanted:
    """No column in any row."""
    return Wanted(np.zeros(rows + 1, np.int64), np.empty(0, np.int32))


def _by_rows(work: Callable[[int, int], Any], scores: Scores) -> None:
    """Call `work(first, last)` on small blocks of rows, on several threads if it pays."""
    rows, columns = scores.shape
    step = max(1, BLOCK // max(columns, 1))
    tasks = [partial(work, first, min(first + step, rows)) for first in range(0, rows, step)]
    together(tasks, pays=scores.size >= WORTH_THREADS)
