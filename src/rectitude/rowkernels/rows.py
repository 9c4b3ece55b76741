"""Dense rows of scores: where wanted items stand, single targets, best columns, probabilities.

Ranks come from counting: an item's rank is one more than the number of columns before it. Rows are
independent, so blocks of them are shared among threads, and neither threads nor blocks change a
result. Scores are read where they lie and never written.

Wanted columns may come in any order, -1 for an item without a column; masked columns ascend
strictly within their row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers, Ragged
from rectitude.kernels import frozen, kernel, repay
from rectitude.parallel import thread_count, together
from rectitude.rowkernels import twins
from rectitude.rowkernels.standings import Chances, Scores, Singles, Standings

BLOCK = 1 << 18  # scores that are worth a task, and whose copies in NumPy take little memory
LOGITS = 1 << 18  # logits that are looked at together
LONGEST = 1024  # a kernel sorts so many best columns; more are for NumPy
Work = Callable[..., Any]
Way = Literal["numpy", "compiled"]


def count(
    scores: Scores, wanted: Ragged, masked: Ragged | None, depth: int | None
) -> tuple[Standings, Flags]:
    """Where each wanted item stands in its row, and which rows hold a NaN.

    Masked columns are passed over. Items with `depth` columns above them are not followed further.
    """
    rows, columns = scores.shape
    masks = _none(rows) if masked is None else masked
    limit = columns if depth is None else min(depth, columns)
    standings = Standings(*np.empty((3, len(wanted.values)), np.int64))
    broken = np.empty(rows, np.bool_)
    way: Way = "compiled" if repay(scores.size) else "numpy"
    count_rows: Work = twins.count_rows
    if way == "compiled":
        from rectitude.rowkernels.counting import count_kernel  # noqa: PLC0415  (brings numba)

        count_rows = kernel(count_kernel)

    def work(first: int, last: int) -> None:
        here = slice(wanted.offsets[first], wanted.offsets[last])
        parts = (scores[first:last], *_narrow(wanted, first, last), *_narrow(masks, first, last))
        answers = (values[here] for values in standings)
        count_rows(*map(frozen, parts), limit, *answers, broken[first:last])

    _by_rows(work, scores, way)
    return standings, broken


def single(
    logits: Scores, target: Integers, want_loss: Literal["loss", "ranks"]
) -> tuple[Singles, Flags]:
    """Where the one target of each row stands, what stands first, and which rows hold a NaN."""
    rows = len(logits)
    places = np.empty((6, rows), np.int64)
    loss = np.empty(rows if want_loss == "loss" else 0, np.float64)
    broken = np.empty(rows, np.bool_)
    way: Way = "compiled" if repay(logits.size) else "numpy"
    single_rows: Work = twins.single_rows
    if way == "compiled":
        from rectitude.rowkernels.singles import single_kernel  # noqa: PLC0415  (brings numba)

        single_rows = kernel(single_kernel)
    exact = way == "compiled" and logits.dtype == np.float64  # the kernel's loss has 32 bits

    def work(first: int, last: int) -> None:
        here = slice(first, last)
        block, mine = frozen(logits[here]), frozen(target[here])
        later = loss[:0] if exact else loss[here]
        single_rows(block, mine, *places[:, here], later, broken[here])
        if exact and len(loss):
            loss[here] = twins.loss_rows(block, mine)

    _by_rows(work, logits, way)
    answers = (*places, loss if want_loss == "loss" else None)
    return Singles._make(answers), broken


def best(scores: Scores, masked: Ragged | None, k: int) -> Integers:
    """The columns of the k best unmasked scores of each row, best first; -1 where none is left.

    Among equal scores the lower column comes first. A NaN is never among the best.
    """
    masks = _none(len(scores)) if masked is None else masked
    columns = np.empty((len(scores), k), np.int64)
    way: Way = "compiled" if k <= LONGEST and repay(scores.size) else "numpy"
    best_rows: Work = twins.best_rows
    if way == "compiled":
        from rectitude.rowkernels.listing import best_kernel  # noqa: PLC0415  (brings numba)

        best_rows = kernel(best_kernel)

    def work(first: int, last: int) -> None:
        parts = (scores[first:last], *_narrow(masks, first, last))
        best_rows(*map(frozen, parts), columns[first:last])

    _by_rows(work, scores, way)
    return columns


def chances(logits: Scores, target: Integers) -> Chances:
    """The softmax of each row in three numbers; a target below 0 is no class.

    A pass of its own, with 64 bits: it is made only where somebody asks for it.
    """
    found = Chances(*np.empty((3, len(logits))))
    step = max(1, LOGITS // max(logits.shape[1], 1))

    def work(first: int) -> None:
        here = slice(first, min(first + step, len(logits)))
        for values, own in zip(found, _softmax(logits[here], target[here]), strict=True):
            values[here] = own

    together([partial(work, first) for first in range(0, len(logits), step)])
    return found


def _softmax(logits: Scores, target: Integers) -> tuple[Floats, Floats, Floats]:
    block = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        powers = np.exp(block - block.max(axis=1, keepdims=True))
    total = powers.sum(axis=1)
    mine = powers[np.arange(len(block)), np.maximum(target, 0)] / total
    return np.where(target < 0, 0.0 * total, mine), 1 / total, (powers**2).sum(axis=1) / total**2


def _none(rows: int) -> Ragged:
    """No column in any row."""
    return Ragged(np.zeros(rows + 1, np.int64), np.empty(0, np.int32))


def _narrow(columns: Ragged, first: int, last: int) -> tuple[Integers, NDArray[np.int32]]:
    """The columns of some rows as kernels take them."""
    mine = columns.block(first, last)
    return mine.offsets, np.asarray(mine.values, np.int32)


def _by_rows(work: Callable[[int, int], None], scores: Scores, way: Way) -> None:
    """Call `work(first, last)` on blocks of rows that several threads take in turn."""
    rows, columns = scores.shape
    step = max(1, BLOCK // max(columns, 1))
    if way == "compiled":
        step = max(2 * step, rows // (8 * thread_count()))
    tasks = [partial(work, first, min(first + step, rows)) for first in range(0, rows, step)]
    together(tasks)
