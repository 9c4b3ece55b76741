"""A batch on a device: ranks are counted there, and only what judging needs is copied.

What a device is not asked to do (see `must_move`) is done in main memory, by the same functions as
for arrays; the scores are copied there, for which the host waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rectitude.convention import Convention
from rectitude.data.dense import Dense, Firsts, Known, ReadingKey
from rectitude.data.read import read
from rectitude.evaluation.restrict import named_by
from rectitude.judge.dense import keeping_scores
from rectitude.predictions.logits import Logits
from rectitude.predictions.scores import Embeddings, Scores
from rectitude.profiles import Asked
from rectitude.torch.held import MadeLogits, MadeScores, shape_of, tensors_of
from rectitude.torch.host import Batch, require_targets
from rectitude.torch.scored import (
    Predictions,
    Scored,
    count,
    first_places,
    hidden,
    own_scores,
    padding_of,
    require_sound,
    scored,
    without_scores,
)
from rectitude.torch.tensors import Arrays, HostCells, Layout, TensorCells, as_tensors, cells_of


@dataclass(frozen=True)
class DevicePlan:
    """What must be counted for some metrics."""

    conventions: Sequence[Convention]
    loss: bool
    shown: bool
    padding: object

    @staticmethod
    def of(convention: Convention, wanted: Sequence[Asked], padding: object) -> DevicePlan:
        """The plan for metrics under a convention."""
        loss = any("logits" in one.metric.requires for one in wanted)
        moved = {"shown", "chances"}  # what is looked up in the scores themselves
        shown = any(moved & {*one.metric.requires} for one in wanted)
        own = [keeping_scores(one.convention, one.metric.requires) for one in wanted]
        return DevicePlan([convention, *own], loss, shown, padding)

    def keys(self) -> list[ReadingKey]:
        """The readings, each once; a device takes columns in their own order (see `must_move`)."""
        return list(dict.fromkeys(map(ReadingKey.of, self.conventions)))


class Job(NamedTuple):
    """Tensors to be copied, and what makes a batch of them once they are arrays."""

    tensors: dict[str, Tensor]
    batch: Callable[[Arrays], Batch]


def must_move(
    predictions: object, truth: object, more: Mapping[str, Any], plan: DevicePlan
) -> bool:
    """Whether a batch must be judged in main memory as a whole."""
    if not isinstance(predictions, (Scores, Logits, Embeddings)) or shape_of(predictions) is None:
        return True
    beside = ("candidates", "ranking")
    if plan.shown or any(more.get(what) is not None for what in beside):
        return True
    if any(_too_much(tensor) for tensor in tensors_of(predictions).values()):
        return True
    if isinstance(predictions, Logits):
        elsewhere = not isinstance(truth, (Tensor, np.ndarray))
        return elsewhere or any(c.score_precision == "logistic" for c in plan.conventions)
    trained, items = more.get("train") is not None, predictions.items is not None
    return more.get("list_key", "user") != "user" or any(
        c.score_precision == "logistic"
        or c.unknown_items == "lowest"
        or (trained and (c.unknown_users == "tied" or c.seen_items != "all"))
        or (items and c.ties.startswith("item"))
        for c in plan.conventions
    )


def _too_much(tensor: Tensor) -> bool:
    """Whether 64-bit floats are needed and not there, or cannot hold the scores."""
    return tensor.device.type == "mps" or tensor.dtype in (torch.int64, torch.uint64)


@torch.no_grad()
def counted(
    predictions: Predictions, truth: object, more: Mapping[str, Any], plan: DevicePlan
) -> Job:
    """Count in the scores of a batch, on their device."""
    held = scored(predictions)
    rows, columns = held.scores.shape
    shape, names = (rows, columns), _names(predictions, more)
    wanted = _wanted(predictions, truth, more, held)
    tensors = {**held.checks, **names, **as_tensors("truth", wanted)}
    train = None
    if more.get("train") is not None:
        train = _train(predictions, more, held)
        tensors |= as_tensors("train", train)
    padding = padding_of(predictions, columns, plan.padding)
    for number, key in enumerate(plan.keys()):
        tensors |= _reading(number, key, held.scores, wanted, train, padding)
    if isinstance(predictions, Logits):
        tensors |= _firsts(held.scores, wanted.column, plan)
    nameless, made_of, layout = without_scores(predictions), held.opened, wanted.layout
    held_back = {what: value for what, value in more.items() if not isinstance(value, Tensor)}
    table = None if isinstance(truth, Tensor) else truth
    masks = train.layout if train is not None and isinstance(more["train"], Tensor) else None

    def batch(arrays: Arrays) -> Batch:
        own, inputs = _with_names(nameless, held_back, arrays)
        made = made_of(own)
        require_sound(made, arrays)
        if masks is not None:
            inputs["train"] = HostCells.of(arrays, "train", masks).matrix(*shape, "train")
        given = _truth(own, arrays, layout, shape) if table is None else table
        known = _known(arrays, plan, shape, isinstance(own, Logits))
        return _made(own, replace(made, known=known)), given, inputs

    return Job(tensors, batch)


def _names(predictions: Predictions, more: Mapping[str, Any]) -> dict[str, Tensor]:
    """Tensors of ids, which are needed when the batch is judged."""
    sides = ("users", "items", "lists") if not isinstance(predictions, Logits) else ()
    own = {f"names/{side}": getattr(predictions, side) for side in sides}
    beside = {f"more/{what}": v for what, v in more.items() if what != "train"}
    return {name: v for name, v in {**own, **beside}.items() if isinstance(v, Tensor)}


def _with_names(
    predictions: Predictions, more: Mapping[str, Any], arrays: Arrays
) -> tuple[Predictions, dict[str, Any]]:
    """Predictions and the rest, with arrays in place of tensors of ids."""

    def of(group: str) -> dict[str, Any]:
        return {n.partition("/")[2]: v for n, v in arrays.items() if n.startswith(f"{group}/")}

    return replace(predictions, **of("names")), {**more, **of("more")}


def _wanted(
    predictions: Predictions, truth: object, more: Mapping[str, Any], held: Scored
) -> TensorCells:
    """The cells of the truth, on the device."""
    scores, logits = held.scores, isinstance(predictions, Logits)
    if logits and not isinstance(truth, Tensor):
        truth = torch.as_tensor(np.asarray(truth))
    if not isinstance(truth, Tensor):
        return _named_cells(held.opened(predictions), truth, "truth", more, scores.device)
    if logits:
        require_targets(truth)
    rows, columns = scores.shape
    cells = cells_of(truth, rows, columns, "targets" if logits else "truth")
    return _moved(cells, scores.device)


def _train(predictions: Predictions, more: Mapping[str, Any], held: Scored) -> TensorCells:
    train, scores = more["train"], held.scores
    rows, columns = scores.shape
    if isinstance(train, Tensor):
        return _moved(cells_of(train, rows, columns, "train"), scores.device)
    return _named_cells(held.opened(predictions), train, "train", more, scores.device)


def _named_cells(
    made: Dense, given: object, what: Any, more: Mapping[str, Any], device: torch.device
) -> TensorCells:
    """The cells that a table or a sparse matrix of main memory names."""
    if hasattr(given, "tocsr"):
        coo = given.tocsr().tocoo()
        keys = coo.row.astype(np.int64) * made.columns + coo.col
    else:
        keys = named_by(made, read(given, what, hints=more.get("columns")))
    row, column = (torch.from_numpy(part) for part in np.divmod(keys, made.columns))
    return _moved(TensorCells(row, column, None, "sparse"), device)


def _moved(cells: TensorCells, device: torch.device) -> TensorCells:
    row, column = (part.to(device, non_blocking=True) for part in (cells.row, cells.column))
    return cells._replace(row=row, column=column)


def _reading(
    number: int,
    key: ReadingKey,
    scores: Tensor,
    wanted: TensorCells,
    train: TensorCells | None,
    padding: int | None,
) -> dict[str, Tensor]:
    compared = scores.float() if key.precision == "float32" else scores
    plain, masks = compared, None if key.seen == "kept" else train
    if masks is not None or padding is not None:
        row, column = (None, None) if masks is None else (masks.row, masks.column)
        compared = hidden(compared, row, column, padding)
    found = count(compared, wanted.row, wanted.column)
    parts = {f"{number}/standings": torch.stack(found).to(torch.int32)}
    if key.hit_scores == "positive":  # masked or not
        own = own_scores(plain, wanted.row, wanted.column)
        parts[f"{number}/score"] = own.double()
    return parts


def _firsts(scores: Tensor, target: Tensor, plan: DevicePlan) -> dict[str, Tensor]:
    """What stands first, in each precision in which scores are compared."""
    parts: dict[str, Tensor] = {}
    for number, key in enumerate(plan.keys()):
        compared = scores.float() if key.precision == "float32" else scores
        first = first_places(compared, target, plan.loss)
        named = first._asdict().items()
        parts |= {f"{number}/{name}": part for name, part in named if part is not None}
    return parts


def _known(
    arrays: Arrays, plan: DevicePlan, shape: tuple[int, int], logits: bool
) -> dict[ReadingKey, Known]:
    row, column = arrays["truth/row"], arrays["truth/column"]
    inside = np.flatnonzero((column >= 0) & (column < shape[1]))
    cells = (row * shape[1] + column)[inside]
    known = {}
    for number, key in enumerate(plan.keys()):
        standings = arrays[f"{number}/standings"][:, inside]
        score = arrays.get(f"{number}/score")
        own = None if score is None else score[inside]
        firsts = _firsts_of(arrays, number) if logits else None
        known[key] = Known.of(cells, standings, own, firsts)
    return known


def _firsts_of(arrays: Arrays, number: int) -> Firsts:
    names = ("best", "second", "last_best")
    best, second, last = (arrays[f"{number}/{name}"].astype(np.int64) for name in names)
    return Firsts(best, second, last, arrays.get(f"{number}/loss"))


def _truth(
    predictions: Predictions, arrays: Arrays, layout: Layout, shape: tuple[int, int]
) -> object:
    taken = HostCells.of(arrays, "truth", layout)
    if isinstance(predictions, Logits):
        taken.require_inside(shape[1], "targets")
        return taken.column
    return taken.matrix(*shape, "truth")


def _made(predictions: Predictions, ready: Dense) -> Scores | Logits:
    if isinstance(predictions, Logits):
        return MadeLogits(None, made=lambda: ready)
    names = {side: getattr(predictions, side) for side in ("users", "lists")}
    return MadeScores(None, made=lambda: ready, **names)
