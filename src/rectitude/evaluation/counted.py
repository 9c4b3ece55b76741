"""Batches of scores that are counted when they arrive and judged later, many at a time.

The ranks of the items in the truth must be found while the scores are available. Everything after
that needs only these counts and costs the same for one batch as for many. Judging is postponed only
if it cannot raise an error, so `update` still reports every problem with its batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers, Ragged
from rectitude.convention import Convention
from rectitude.data.dense import VIEWED_BYTES, Block, Dense, ReadingKey, TopClasses
from rectitude.data.table import Inputs, Table
from rectitude.evaluation.inputs import RawInputs, truth_by_number
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.restrict import make_table
from rectitude.judge.align import Aligned, align_numbers, are_known, known_columns
from rectitude.judge.dense import count_seen, reading_from_counts, round_scores
from rectitude.judge.judge import Judging
from rectitude.predictions.masks import Cells, are_cells
from rectitude.predictions.scores import Kind, Scores, dense, numbers_from_0, table_of
from rectitude.profiles import Asked
from rectitude.rowkernels.rows import count


@dataclass(frozen=True, slots=True, eq=False)
class CountedBatch:
    """A batch of scores without ids: its truth, and the ranks of the items in the truth."""

    shape: tuple[int, int]
    source_description: str
    """their kind, shape and type, in words"""
    items: Ragged
    """(rows,) the columns of the items in the truth, as 32-bit integers"""
    grades: Floats | None
    """(truth rows,) the grade of each item; None if all are 1"""
    known: Flags
    """(truth rows,) whether the item is in the training data"""
    scores_of_unknown_items: int
    """how many scores are for items that are not in the training data"""
    standings: NDArray[np.int32]
    """(3, truth rows) how many columns have a higher score, have an equal score, and have an equal
    score and a lower number"""
    seen: Integers | None
    """(rows,) how many items of each row are in the training data; None without training data"""
    trained: int
    """how many items of the truth are in the training data and not masked"""
    top_classes: TopClasses | None = None
    """the highest-ranked classes of each row; None unless the batch is logits"""
    counted_by: str | None = None
    """what counted the ranks, and where, if that was not the main processor"""
    number: int = 0
    """the number of the update that added it, from 1"""

    @property
    def bytes(self) -> int:
        """How much memory the arrays take."""
        arrays = (self.items.offsets, self.items.values, self.known, self.standings)
        others = [array for array in (self.grades, self.seen, *(self.top_classes or ()))
                  if isinstance(array, np.ndarray)]  # fmt: skip
        return sum(array.nbytes for array in (*arrays, *others))

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The fields that must match before batches can be added; the others are filled in when the
        batch is judged."""
        return {"inputs": {"predictions": {"source": self.source_description}}}

    def goes_with(self, other: object) -> bool:
        """Return whether both can be judged as one batch."""
        return (
            isinstance(other, CountedBatch)
            and self.source_description == other.source_description
            and self.counted_by == other.counted_by
            and (self.seen is None) == (other.seen is None)
            and (self.top_classes is None) == (other.top_classes is None)
        )


def can_defer_judging(plan: Plan, kind: Kind) -> bool:
    """Return whether judging scores or logits can be deferred, because it cannot raise an error if
    the truth of the batch is valid: metrics use only ranks (and of logits, what is known of every
    row), and the convention rejects nothing and leaves nothing out."""
    convention = plan.convention
    of_rows = {"classes", "logits"} if kind == "logits" else set[str]()
    beyond = plan.metrics_beyond_ranks.values()
    return (
        list(plan.ways) == [Judging.of(convention)]
        and all(_needs_only(asked, of_rows) for asked in beyond)
        and not (plan.batches_one_by_one or plan.by_user)
        and not plan.find_conflicts(False)
        and plan.profile.padding is None
        and _rejects_nothing(convention)
    )


def _needs_only(asked: Asked, available: set[str]) -> bool:
    metric = asked.metric
    averages_ties = asked.convention.ties != "average" or metric.can_average
    needs_little = {*metric.requires, *metric.needs} <= available and not asked.by
    return bool(available) and needs_little and averages_ties


def _rejects_nothing(convention: Convention) -> bool:
    return (
        convention.ties != "error"
        and convention.unknown_users == convention.unknown_items == "keep"
        and convention.unjudged == convention.own_item == "kept"
        and convention.hit_scores == "any"
        and convention.scores_from is None
        and convention.seen != "last"
        and convention.seen_items == "all"
        and convention.score_precision != "logistic"
    )


def count_batch(plan: Plan, given: RawInputs) -> CountedBatch | None:
    """Count the ranks in a batch of scores. The scores, truth and seen items must be valid, by
    position and without ids; return None for any other batch, which must be judged at once."""
    block, truth, train = _plain_scores(given), given.inputs["truth"], given.inputs["train"]
    if block is None or not are_cells(truth) or not (train is None or are_cells(train)):
        return None
    truth_cells = _as_cells(truth)
    seen = None if train is None else _as_cells(train)
    if not _is_valid_truth(truth_cells, block) or (seen is not None and seen.shape != block.shape):
        return None
    masked = None if seen is None else seen.mark()
    hidden = None if plan.convention.seen == "kept" else masked
    scores = round_scores(block, plan.convention.score_precision)
    standings, invalid = count(scores, truth_cells.columns, hidden, plan.reach.depth)
    if invalid.any():
        return None
    if callable(given.progress):
        given.progress(len(block), len(block))
    unmasked = masked if hidden is None else None
    trained = 0 if unmasked is None else count_seen(truth_cells.columns, unmasked, block.shape[1])
    counts = np.array(standings, np.int32)
    return _make_counted(block, truth_cells, masked, counts, trained)


def _make_counted(
    block: Block,
    truth_cells: Cells,
    masked: Ragged | None,
    standings: NDArray[np.int32],
    trained: int,
) -> CountedBatch:
    rows, columns = block.shape
    known = known_columns(columns, None if masked is None else masked.values)
    items = truth_cells.columns.values.astype(np.int32)
    grades = truth_cells.values
    return CountedBatch(
        (rows, columns),
        f"scores ({rows} x {columns}, {block.dtype})",
        Ragged(truth_cells.columns.offsets.copy(), items),
        None if grades is None or (grades == 1).all() else grades.astype(np.float64),
        are_known(known, items),
        int((~known[:-1]).sum()) * rows,
        standings,
        None if masked is None else masked.lengths,
        trained,
    )


def _plain_scores(given: RawInputs) -> Block | None:
    """Return the scores of a batch if they are an array without ids and only truth and train are
    given with them, else None."""
    scores = given.inputs["predictions"]
    if type(scores) is not Scores or type(scores.source) is not np.ndarray:
        return None
    names = (scores.users, scores.items, scores.lists, scores.padding)
    options = (*names, given.ranking, given.columns)
    others = [value for name, value in given.inputs.items() if name not in _COUNTED_INPUTS]
    if given.list_key != "user" or any(value is not None for value in (*options, *others)):
        return None
    block = scores.source
    valid_array = block.ndim == 2 and block.dtype in (np.dtype(np.float32), np.dtype(np.float64))
    plain_memory = block.flags.c_contiguous and block.flags.aligned and block.dtype.isnative
    return block if valid_array and plain_memory and 0 < block.nbytes <= VIEWED_BYTES else None


_COUNTED_INPUTS = ("predictions", "truth", "train")


def _as_cells(given: object) -> Cells:
    return given if isinstance(given, Cells) else Cells.of(given)


def _is_valid_truth(truth: Cells, block: Block) -> bool:
    """Return whether a truth can be judged: it has the shape of the scores, at least one cell,
    finite grades of at least 0, and no duplicates."""
    if truth.shape != block.shape or not len(truth.columns.values):
        return False
    grades = truth.values
    if grades is not None and not bool(((grades >= 0) & (grades < np.inf)).all()):
        return False
    return truth.are_distinct()


def align_counted(
    batches: Sequence[CountedBatch], plan: Plan, numbers: Integers | None = None
) -> Aligned:
    """Concatenate batches, ready to be judged by their counts. `numbers` are the numbers of their
    rows, which are those of each batch otherwise."""
    convention, first, (rows, columns) = plan.convention, batches[0], batches[0].shape
    size = rows * len(batches)
    lengths = np.concatenate([batch.items.lengths for batch in batches])
    columns_of_items = np.concatenate([batch.items.values for batch in batches]).astype(np.int64)
    items = Ragged(np.append(0, np.cumsum(lengths)), columns_of_items)
    seen = [batch.seen for batch in batches if batch.seen is not None]
    seen_counts = np.concatenate(seen) if seen else None
    scores = _without_scores(size, first, plan.reach.depth)
    sources = Inputs(predictions=scores.table, truth=_truth_of(batches, items), dense=scores)
    aligned = align_numbers(
        sources,
        pl.Series("id", np.tile(np.arange(rows), len(batches)) if numbers is None else numbers),
        None if seen_counts is None else seen_counts > 0,
        np.concatenate([batch.known for batch in batches]),
        sum(batch.scores_of_unknown_items for batch in batches),
    )
    ranked = np.full(size, columns)
    if seen_counts is not None and convention.seen != "kept":
        ranked -= seen_counts
    standings = np.concatenate([batch.standings for batch in batches], axis=1)
    total = None if seen_counts is None else int(seen_counts.sum())
    trained = sum(batch.trained for batch in batches)
    aligned.readings[ReadingKey.of(convention)] = reading_from_counts(
        items, standings, ranked, total, trained, _join_top_classes(batches)
    )
    return replace(
        aligned, distinct_truth=True, repeats_keys=numbers is not None or len(batches) > 1
    )


def _truth_of(batches: Sequence[CountedBatch], items: Ragged) -> Table:
    if batches[0].top_classes is not None:
        return make_table({"list": items.rows(), "item": items.values}, "targets")
    return truth_by_number(items, np.concatenate([_grades_of(batch) for batch in batches]))


def _grades_of(batch: CountedBatch) -> Floats:
    return np.ones(len(batch.items.values)) if batch.grades is None else batch.grades


def _join_top_classes(batches: Sequence[CountedBatch]) -> TopClasses | None:
    """Return the highest-ranked classes of all rows, with their losses if they are known."""
    parts = [batch.top_classes for batch in batches if batch.top_classes is not None]
    if not parts:
        return None
    best, second, last = (
        np.concatenate([part[n] for part in parts]).astype(np.int64) for n in range(3)
    )
    losses = [part.loss for part in parts if part.loss is not None]
    return TopClasses(best, second, last, np.concatenate(losses) if losses else None)


def _without_scores(rows: int, batch: CountedBatch, depth: int | None) -> Dense:
    """Return dense predictions whose scores were counted and are no longer available."""
    kind: Kind = "scores" if batch.top_classes is None else "logits"
    items = numbers_from_0(batch.shape[1], "items" if kind == "scores" else "classes")
    table = table_of(None, None, rows, batch.source_description)
    scores = dense(lambda: iter(()), table, items, kind)
    return replace(scores, depth=depth, counted_by=batch.counted_by)
