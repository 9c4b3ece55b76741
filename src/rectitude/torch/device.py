"""A batch on a device: count ranks there, and copy only what judging needs.

What cannot be counted on a device (see `must_move`) is done on the CPU by the same functions as for
arrays. For that, the scores are copied, and the host waits for the copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rectitude.arrays import offsets_of
from rectitude.convention import Convention
from rectitude.data.dense import CountedCells, Dense, ReadingKey, TopClasses
from rectitude.data.read import read
from rectitude.evaluation.counted import CountedBatch
from rectitude.evaluation.inputs import Reach
from rectitude.evaluation.restrict import cells_of_table
from rectitude.judge.dense import keep_scores
from rectitude.predictions.logits import Logits
from rectitude.predictions.scores import Embeddings, Scores
from rectitude.profiles import Asked
from rectitude.torch.adding import BITS
from rectitude.torch.counted import (
    facts_of,
    is_plain,
    read_counted,
    read_counted_logits,
)
from rectitude.torch.grouping import KeptBatch
from rectitude.torch.held import OpenedLogits, OpenedScores, shape_of, tensors_of
from rectitude.torch.host import Batch, require_targets
from rectitude.torch.kernels import choice, count_logits, count_products, count_ranks
from rectitude.torch.scored import (
    DeviceProducts,
    Predictions,
    Scored,
    find_holes,
    own_scores,
    padding_of,
    require_sound,
    score_predictions,
    without_scores,
)
from rectitude.torch.tensors import Arrays, HostCells, Layout, TensorCells, as_tensors, cells_of


@dataclass(frozen=True)
class DevicePlan:
    """What to count for some metrics."""

    conventions: Sequence[Convention]
    loss: bool
    shown: bool
    padding: object
    depth: int | None
    """the deepest rank that a metric looks at; None for all ranks"""
    groups: bool
    """whether lists of scores that stand alike can be grouped on the device"""
    hits: tuple[int, ...] | None
    """the cutoffs of hits, if logits can be added up on the device; else None"""

    @staticmethod
    def of(
        convention: Convention,
        wanted: Sequence[Asked],
        padding: object,
        groups: bool,
        hits: tuple[int, ...] | None,
    ) -> DevicePlan:
        """Return the plan for metrics under a convention."""
        loss = any("logits" in asked.metric.requires for asked in wanted)
        moved = {"shown", "chances"}  # these need the scores themselves
        shown = any(moved & {*asked.metric.requires} for asked in wanted)
        conventions = [keep_scores(asked.convention, asked.metric.requires) for asked in wanted]
        depth = Reach.of(wanted).depth
        return DevicePlan([convention, *conventions], loss, shown, padding, depth, groups, hits)

    @cached_property
    def keys(self) -> list[ReadingKey]:
        """The distinct readings; a device keeps the order of columns (see `must_move`)."""
        return list(dict.fromkeys(map(ReadingKey.of, self.conventions)))


class Job(NamedTuple):
    """Tensors to copy, and what to make of them once they are arrays."""

    tensors: dict[str, Tensor]
    batch: Callable[[Arrays], Batch]
    """returns the batch, ready to be judged"""
    counted: Callable[[Arrays], CountedBatch | None]
    """returns the batch as counts, which can be judged with others; None if it cannot wait"""
    kept: KeptBatch | None
    """the batch as counts that may stay on the device; None if they may not"""


def must_move(
    predictions: object, truth: object, more: Mapping[str, Any], plan: DevicePlan
) -> bool:
    """Return whether the whole batch must be judged on the CPU."""
    if not isinstance(predictions, (Scores, Logits, Embeddings)) or shape_of(predictions) is None:
        return True
    restrictions = ("seen", "candidates", "ranking")
    if plan.shown or any(more.get(what) is not None for what in restrictions):
        return True
    if any(_exceeds_device(tensor) for tensor in tensors_of(predictions).values()):
        return True
    if isinstance(predictions, Logits):
        is_table = not isinstance(truth, (Tensor, np.ndarray))
        with_train = more.get("train") is not None
        return (
            is_table or with_train or any(c.score_precision == "logistic" for c in plan.conventions)
        )
    has_train, has_items = more.get("train") is not None, predictions.items is not None
    return more.get("list_key", "user") != "user" or any(
        c.score_precision == "logistic"
        or c.unknown_items == "lowest"
        or (has_train and (c.unknown_users == "tied" or c.seen_items != "all"))
        or (has_items and c.sorts_ties_by_id)
        for c in plan.conventions
    )


def _exceeds_device(tensor: Tensor) -> bool:
    """Return whether scores need 64-bit floats that the device lacks, or do not fit in them."""
    return tensor.device.type == "mps" or tensor.dtype in (torch.int64, torch.uint64)


@torch.no_grad()
def count_on_device(
    predictions: Predictions, truth: object, more: Mapping[str, Any], plan: DevicePlan
) -> Job:
    """Count ranks in the scores of a batch, on their device."""
    scored = score_predictions(predictions, _needs_scores(predictions, plan))
    (_, columns), names = scored.scores.shape, _tensors_of_ids(predictions, more)
    wanted = _find_truth_cells(predictions, truth, more, scored)
    tensors = {**scored.checks, **names, **as_tensors("truth", wanted)}
    logits, train = isinstance(predictions, Logits), None
    plain = len(plan.keys) == 1 and is_plain(predictions, truth, more, plan.keys[0])
    stays = plain and _may_stay(predictions, wanted, plan, columns)
    if more.get("train") is not None:
        train = _find_train_cells(predictions, more, scored)
        stays = stays and train.offsets is None
        if stays:
            train = train._replace(column=train.column.sort(dim=1).values)
        tensors |= as_tensors("train", train)
    padding = padding_of(predictions, columns, plan.padding)
    tensors |= _count_readings(predictions, plan, scored, (wanted, train), padding, stays)
    batch = _open_later(predictions, truth, more, plan, scored, (wanted, train))
    counted_by = _name_kernels(scored.scores.device)
    shape, words = scored.scores.shape, scored.words
    if stays:
        tensors["truth/column"] = wanted.column.clone()  # the caller may write into the tensor
        kept = KeptBatch((shape[0], columns), words, counted_by, tensors)
        return Job(tensors, batch, _none, kept)
    tensors |= facts_of(wanted, train, columns) if plain and not logits else {}

    def counted(arrays: Arrays) -> CountedBatch | None:
        if not plain:
            return None
        read = read_counted_logits if logits else partial(read_counted, depth=plan.depth)
        found = read(arrays, (shape[0], columns), words)
        return found and replace(found, counted_by=counted_by)

    return Job(tensors, batch, counted, None)


def _may_stay(
    predictions: Predictions, wanted: TensorCells, plan: DevicePlan, columns: int
) -> bool:
    """Return whether the counts of a plain batch may stay on the device."""
    if wanted.offsets is not None or not wanted.column.numel():
        return False
    if isinstance(predictions, Logits):
        return plan.hits is not None and columns < 1 << BITS
    return plan.groups


def _open_later(
    predictions: Predictions,
    truth: object,
    more: Mapping[str, Any],
    plan: DevicePlan,
    scored: Scored,
    sides: tuple[TensorCells, TensorCells | None],
) -> Callable[[Arrays], Batch]:
    """Return a function that makes the batch, ready to be judged, once its counts have arrived. It
    must not hold the scores until then."""
    bare, open_names, layout = without_scores(predictions), scored.open, sides[0].layout
    rows, columns = scored.scores.shape
    shape, counted_by = (rows, columns), _name_kernels(scored.scores.device)
    plain_inputs = {what: value for what, value in more.items() if not isinstance(value, Tensor)}
    table = None if isinstance(truth, Tensor) else truth
    train = sides[1]
    masks = train.layout if train is not None and isinstance(more["train"], Tensor) else None

    def batch(arrays: Arrays) -> Batch:
        renamed, inputs = _with_names(bare, plain_inputs, arrays)
        dense = open_names(renamed)
        require_sound(dense, arrays)
        if masks is not None:
            inputs["train"] = HostCells.of(arrays, "train", masks).cells(*shape, "train")
        targets = _read_truth(renamed, arrays, layout, shape) if table is None else table
        known = _read_counts(arrays, plan, shape, layout, isinstance(renamed, Logits))
        dense = replace(dense, known=known, counted_by=counted_by)
        return _wrap_dense(renamed, dense), targets, inputs

    return batch


def _none(arrays: Arrays) -> None:
    """Return no counts: the batch must be judged at once."""


def _needs_scores(predictions: Predictions, plan: DevicePlan) -> bool:
    """Return whether the scores are needed themselves, and not only ranks."""
    positive = any(key.hit_scores == "positive" for key in plan.keys)
    paddings = (plan.padding, getattr(predictions, "padding", None))
    return positive or any(padding is not None for padding in paddings)


def _name_kernels(device: torch.device) -> str | None:
    """Return what counts on a device, for manifests; None on the CPU, where arrays are alike."""
    return None if device.type == "cpu" else f"{choice(device)} on {device.type}"


def _tensors_of_ids(predictions: Predictions, more: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the tensors of ids, which judging needs."""
    sides = ("users", "items", "lists") if not isinstance(predictions, Logits) else ()
    names = {f"names/{side}": getattr(predictions, side) for side in sides}
    others = {f"more/{what}": v for what, v in more.items() if what != "train"}
    return {name: v for name, v in {**names, **others}.items() if isinstance(v, Tensor)}


def _with_names(
    predictions: Predictions, more: Mapping[str, Any], arrays: Arrays
) -> tuple[Predictions, dict[str, Any]]:
    """Return predictions and other arguments with arrays instead of tensors of ids."""

    def select(group: str) -> dict[str, Any]:
        return {n.partition("/")[2]: v for n, v in arrays.items() if n.startswith(f"{group}/")}

    return replace(predictions, **select("names")), {**more, **select("more")}


def _find_truth_cells(
    predictions: Predictions, truth: object, more: Mapping[str, Any], scored: Scored
) -> TensorCells:
    """Return the cells of the truth, on the device."""
    scores, logits = scored.scores, isinstance(predictions, Logits)
    if logits and not isinstance(truth, Tensor):
        truth = torch.as_tensor(np.asarray(truth))
    if not isinstance(truth, Tensor):
        return _find_cells(scored.open(predictions), truth, "truth", more, scores.device)
    if logits:
        require_targets(truth)
    rows, columns = scores.shape
    cells = cells_of(truth, rows, columns, "targets" if logits else "truth")
    return _move(cells, scores.device)


def _find_train_cells(
    predictions: Predictions, more: Mapping[str, Any], scored: Scored
) -> TensorCells:
    train, scores = more["train"], scored.scores
    rows, columns = scores.shape
    if isinstance(train, Tensor):
        return _move(cells_of(train, rows, columns, "train"), scores.device)
    return _find_cells(scored.open(predictions), train, "train", more, scores.device)


def _find_cells(
    dense: Dense, source: object, what: Any, more: Mapping[str, Any], device: torch.device
) -> TensorCells:
    """Return the cells that a table or a sparse matrix on the CPU refers to."""
    if hasattr(source, "tocsr"):
        matrix = source.tocsr()
        offsets, column = matrix.indptr, matrix.indices.astype(np.int64)
    else:
        keys = cells_of_table(dense, read(source, what, hints=more.get("columns")))
        row, column = np.divmod(keys, dense.columns)
        offsets = offsets_of(row, dense.rows)
    first = torch.from_numpy(offsets.astype(np.int64))
    return _move(TensorCells(torch.from_numpy(column), first, None, "sparse"), device)


def _move(cells: TensorCells, device: torch.device) -> TensorCells:
    offsets = cells.offsets
    return cells._replace(
        column=cells.column.to(device, non_blocking=True),
        offsets=None if offsets is None else offsets.to(device, non_blocking=True),
    )


def _count_readings(
    predictions: Predictions,
    plan: DevicePlan,
    scored: Scored,
    sides: tuple[TensorCells, TensorCells | None],
    padding: int | None,
    ascending: bool,
) -> dict[str, Tensor]:
    """Count the ranks of the truth, without the training data, for every way to read the scores."""
    tensors: dict[str, Tensor] = {}
    wanted, train = sides
    for number, key in enumerate(plan.keys):
        if isinstance(predictions, Logits):
            tensors |= _count_logits(number, key, cast("Tensor", scored.scores), wanted, plan.loss)
        else:
            tensors |= _count_reading(number, key, scored.scores, wanted, train, padding, ascending)
    return tensors


def _count_reading(
    number: int,
    key: ReadingKey,
    scores: Tensor | DeviceProducts,
    wanted: TensorCells,
    train: TensorCells | None,
    padding: int | None,
    ascending: bool,
) -> dict[str, Tensor]:
    seen = None if key.seen == "kept" else train
    lists: dict[str, Any] = {
        "targets": wanted.column,
        "seen": None if seen is None else seen.column,
        "target_offsets": wanted.offsets,
        "seen_offsets": None if seen is None else seen.offsets,
        "seen_sorted": ascending,
    }
    if isinstance(scores, DeviceProducts):  # of 32 bits in any precision
        ranks = count_products(scores.users, scores.items, metric=scores.similarity, **lists)
        return {f"{number}/counts": ranks.counts, f"{number}/rows": ranks.rows}
    compared = scores.float() if key.precision == "float32" else scores
    valid = None
    if padding is not None:
        valid = torch.ones(scores.shape[1], dtype=torch.bool, device=scores.device)
        valid[padding].fill_(value=False)
    ranks = count_ranks(compared, valid_columns=valid, **lists)
    tensors = {f"{number}/counts": ranks.counts, f"{number}/rows": ranks.rows}
    if padding is not None and number == 0:
        tensors |= find_holes(scores)
    if key.hit_scores == "positive":  # needs the scores, masked or not
        of_truth = own_scores(compared, wanted.rows(), wanted.column.reshape(-1))
        tensors[f"{number}/score"] = of_truth.double()
    return tensors


def _count_logits(
    number: int, key: ReadingKey, scores: Tensor, wanted: TensorCells, want_loss: bool
) -> dict[str, Tensor]:
    compared = scores.float() if key.precision == "float32" else scores
    target = wanted.column.reshape(-1)
    found = count_logits(compared, target)
    tensors = {f"{number}/logits": found.counts}
    if want_loss:
        tensors[f"{number}/loss"] = found.values[0]
    if key.hit_scores == "positive":
        of_truth = own_scores(compared, wanted.rows(), target)
        tensors[f"{number}/score"] = of_truth.double()
    return tensors


def _read_counts(
    arrays: Arrays, plan: DevicePlan, shape: tuple[int, int], layout: Layout, logits: bool
) -> dict[ReadingKey, CountedCells]:
    truth = HostCells.of(arrays, "truth", layout)
    inside = np.flatnonzero((truth.column >= 0) & (truth.column < shape[1]))
    cells = (truth.row * shape[1] + truth.column)[inside]
    known = {}
    for number, key in enumerate(plan.keys):
        counts = arrays[f"{number}/logits"][:3] if logits else arrays[f"{number}/counts"]
        standings = standings_of(counts)[:, inside]
        score = arrays.get(f"{number}/score")
        scores = None if score is None else score[inside]
        top_classes = _read_top_classes(arrays, number) if logits else None
        known[key] = CountedCells.of(cells, standings, scores, top_classes)
    return known


def standings_of(counts: NDArray[Any]) -> NDArray[np.int32]:
    """Return the standings of the cells that were counted, flat; 0 for a cell that is hidden or
    does not exist."""
    above, level, before = counts.reshape(3, -1)
    exists = above >= 0
    return np.stack([np.where(exists, above, 0), level + exists, before])


def _read_top_classes(arrays: Arrays, number: int) -> TopClasses:
    best, last, second = arrays[f"{number}/logits"][3:6].astype(np.int64)
    return TopClasses(best, second, last, arrays.get(f"{number}/loss"))


def _read_truth(
    predictions: Predictions, arrays: Arrays, layout: Layout, shape: tuple[int, int]
) -> object:
    cells = HostCells.of(arrays, "truth", layout)
    if isinstance(predictions, Logits):
        cells.require_inside(shape[1], "targets")
        return cells.column
    return cells.cells(*shape, "truth")


def _wrap_dense(predictions: Predictions, ready: Dense) -> Scores | Logits:
    if isinstance(predictions, Logits):
        return OpenedLogits(None, made=lambda: ready)
    names = {side: getattr(predictions, side) for side in ("users", "lists")}
    return OpenedScores(None, made=lambda: ready, **names)
