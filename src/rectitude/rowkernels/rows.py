"""Dense rows of scores: standings of wanted items, single targets, best columns, probabilities.

Ranks come from counting: the rank of an item is one more than the number of columns before it. Rows
are independent, so threads share blocks of rows; the results depend on neither threads nor blocks.
Scores are read in place and never written.

Wanted columns may be in any order, with -1 for an item without a column. The masked columns of a
row must strictly ascend.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers, Ragged
from rectitude.kernels import freeze, kernel, should_compile
from rectitude.parallel import run_tasks, thread_count
from rectitude.rowkernels import twins
from rectitude.rowkernels.standings import Chances, Scores, Singles, Standings

BLOCK = 1 << 18  # scores per task: enough to pay for it, and small enough to copy in NumPy
LOGITS = 1 << 18  # logits that are processed together
LONGEST = 1024  # the kernel handles up to this k; NumPy handles a larger one
Work = Callable[..., Any]
Way = Literal["numpy", "compiled"]


def count(
    scores: Scores, wanted: Ragged, masked: Ragged | None, depth: int | None
) -> tuple[Standings, Flags]:
    """Return the standing of each wanted item in its row, and flag the rows that contain NaN.

    Masked columns are skipped. Items with at least `depth` columns above them are not ranked.
    """
    rows, columns = scores.shape
    masks = _no_columns(rows) if masked is None else masked
    limit = columns if depth is None else min(depth, columns)
    standings = Standings(*np.empty((3, len(wanted.values)), np.int64))
    broken = np.empty(rows, np.bool_)
    way: Way = "compiled" if should_compile(scores.size) else "numpy"
    count_rows: Work = twins.count_rows
    if way == "compiled":
        from rectitude.rowkernels.counting import count_kernel  # noqa: PLC0415  (imports numba)

        count_rows = kernel(count_kernel)

    def work(first: int, last: int) -> None:
        items_here = slice(wanted.offsets[first], wanted.offsets[last])
        arrays = (
            scores[first:last],
            *_take_block(wanted, first, last),
            *_take_block(masks, first, last),
        )
        outputs = (values[items_here] for values in standings)
        count_rows(*map(freeze, arrays), limit, *outputs, broken[first:last])

    _for_each_block(work, scores, way)
    return standings, broken


def single(
    logits: Scores, target: Integers, result: Literal["loss", "ranks"]
) -> tuple[Singles, Flags]:
    """Return the standing of the target of each row and the best column; flag rows with NaN."""
    rows = len(logits)
    counts = np.empty((6, rows), np.int64)
    loss = np.empty(rows if result == "loss" else 0, np.float64)
    broken = np.empty(rows, np.bool_)
    way: Way = "compiled" if should_compile(logits.size) else "numpy"
    single_rows: Work = twins.single_rows
    if way == "compiled":
        from rectitude.rowkernels.singles import single_kernel  # noqa: PLC0415  (imports numba)

        single_rows = kernel(single_kernel)
    exact = (
        way == "compiled" and logits.dtype == np.float64
    )  # the kernel computes the loss in 32-bit precision only

    def work(first: int, last: int) -> None:
        block_rows = slice(first, last)
        block, targets = freeze(logits[block_rows]), freeze(target[block_rows])
        block_loss = loss[:0] if exact else loss[block_rows]
        single_rows(block, targets, *counts[:, block_rows], block_loss, broken[block_rows])
        if exact and len(loss):
            loss[block_rows] = twins.loss_rows(block, targets)

    _for_each_block(work, logits, way)
    results = (*counts, loss if result == "loss" else None)
    return Singles._make(results), broken


def best(scores: Scores, masked: Ragged | None, k: int) -> Integers:
    """Return the columns of the k best unmasked scores of each row, best first; -1 if there are
    fewer.

    Among equal scores the lower column comes first. NaN is never among the best.
    """
    masks = _no_columns(len(scores)) if masked is None else masked
    columns = np.empty((len(scores), k), np.int64)
    way: Way = "compiled" if k <= LONGEST and should_compile(scores.size) else "numpy"
    best_rows: Work = twins.best_rows
    if way == "compiled":
        from rectitude.rowkernels.listing import best_kernel  # noqa: PLC0415  (imports numba)

        best_rows = kernel(best_kernel)

    def work(first: int, last: int) -> None:
        arrays = (scores[first:last], *_take_block(masks, first, last))
        best_rows(*map(freeze, arrays), columns[first:last])

    _for_each_block(work, scores, way)
    return columns


def chances(logits: Scores, target: Integers) -> Chances:
    """Summarize the softmax of each row in three numbers; a target below 0 is not a class.

    This is a separate pass with 64 bits, made only if a metric needs it.
    """
    result = Chances(*np.empty((3, len(logits))))
    step = max(1, LOGITS // max(logits.shape[1], 1))

    def work(first: int) -> None:
        block_rows = slice(first, min(first + step, len(logits)))
        for values, block_values in zip(
            result, _summarize_softmax(logits[block_rows], target[block_rows]), strict=True
        ):
            values[block_rows] = block_values

    run_tasks([partial(work, first) for first in range(0, len(logits), step)])
    return result


def _summarize_softmax(logits: Scores, target: Integers) -> tuple[Floats, Floats, Floats]:
    block = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):
        powers = np.exp(block - block.max(axis=1, keepdims=True))
    total = powers.sum(axis=1)
    target_chance = powers[np.arange(len(block)), np.maximum(target, 0)] / total
    return (
        np.where(target < 0, 0.0 * total, target_chance),
        1 / total,
        (powers**2).sum(axis=1) / total**2,
    )


def _no_columns(rows: int) -> Ragged:
    """Return rows without columns."""
    return Ragged(np.zeros(rows + 1, np.int64), np.empty(0, np.int32))


def _take_block(columns: Ragged, first: int, last: int) -> tuple[Integers, NDArray[np.int32]]:
    """Return the columns of some rows in the types that kernels expect."""
    block = columns.block(first, last)
    return block.offsets, np.asarray(block.values, np.int32)


def _for_each_block(work: Callable[[int, int], None], scores: Scores, way: Way) -> None:
    """Call `work(first, last)` on blocks of rows, on several threads."""
    rows, columns = scores.shape
    step = max(1, BLOCK // max(columns, 1))
    if way == "compiled":
        threads = thread_count()
        step = max(2 * step, rows // (8 * threads))
        shares = threads * max(1, -(-rows // (step * threads)))  # the same number for each thread
        step = max(1, -(-rows // shares))
    tasks = [partial(work, first, min(first + step, rows)) for first in range(0, rows, step)]
    run_tasks(tasks)
