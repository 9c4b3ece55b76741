"""Scores on their device: merged or multiplied, checked, and counted in plain torch.

Counting gives the same results as `rectitude.rowkernels.rows`, number for number, and nothing here
waits for the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rectitude.data.dense import Block, Dense, Holes
from rectitude.data.matrices import (
    require_dimensions,
    require_finite_vectors,
    require_numbers,
    require_same_dimensions,
)
from rectitude.errors import BadScores
from rectitude.predictions.logits import Logits
from rectitude.predictions.scores import (
    DIMENSIONS,
    Embeddings,
    Kind,
    Scores,
    column_of,
    names_of,
)
from rectitude.torch.held import opened, words_of
from rectitude.torch.tensors import Arrays, name_of, plain

Predictions = Scores | Logits | Embeddings
STEP = 1 << 25
"""Scores that are compared at a time: what is noted of them takes as many bytes, or a few more."""


class Scored(NamedTuple):
    """Scores that can be compared, on their device, and what is to be known of them elsewhere."""

    scores: Tensor
    checks: dict[str, Tensor]
    """what tells whether they are sound"""
    opened: Callable[[Predictions], Dense]
    """names and shape without the scores, of the predictions with names in main memory"""


def scored(predictions: Predictions) -> Scored:
    """The scores of dense predictions that lie on a device."""
    if isinstance(predictions, Embeddings):
        return _products(predictions)
    kind: Kind = "logits" if isinstance(predictions, Logits) else "scores"
    source = _real(predictions.source, kind, DIMENSIONS[kind])
    scores = comparable(source)
    words = words_of(predictions, source)
    made = partial(opened, shape=tuple(source.shape), words=words, blocks=gone)
    return Scored(scores, holes(scores), made)


def _products(predictions: Embeddings) -> Scored:
    """The products, in the precision of the vectors, whatever autocast would make of them."""
    sides = {"user": predictions.user_vectors, "item": predictions.item_vectors}
    left, right = (_wide(_real(side, f"{name} vectors", (2,))) for name, side in sides.items())
    require_same_dimensions(left.shape[1], right.shape[1])
    kind = torch.promote_types(left.dtype, right.dtype)
    with torch.autocast(left.device.type, enabled=False):
        scores = left.to(kind) @ right.to(kind).T
    finite = {"user": left.isfinite().all(dim=1), "item": right.isfinite().all(dim=1)}
    checks = {f"finite/{name}": flags for name, flags in finite.items()}
    words = f"embeddings ({len(left)} x {len(right)}, {left.shape[1]} dimensions)"
    made = partial(opened, shape=(len(left), len(right)), words=words, blocks=gone)
    return Scored(scores, {**checks, **holes(scores)}, made)


def _real(given: object, what: str, dimensions: tuple[int, ...]) -> Tensor:
    """A tensor of real numbers, or an error."""
    if not isinstance(given, Tensor):
        raise BadScores(f"{what} is a {type(given).__name__}.", "a tensor, like the others.")
    shape = tuple(given.shape)
    if given.layout != torch.strided:
        raise BadScores(f"{what} has the shape {shape}.", "(rows, columns).")
    require_dimensions(shape, what, dimensions)
    require_numbers(shape, what, name_of(given.dtype) if given.is_complex() else None)
    return given.detach()


def _wide(vectors: Tensor) -> Tensor:
    if not vectors.is_floating_point():
        return vectors.double()
    return vectors if vectors.dtype.itemsize > 2 else vectors.float()


def comparable(scores: Tensor) -> Tensor:
    """(rows, columns) floats that compare as the scores do: interests merged by the best score."""
    if not scores.is_floating_point():
        scores = scores.double()
    elif scores.dtype.itemsize == 1:  # of which torch compares nothing
        scores = scores.float()
    return scores.amax(dim=1) if scores.ndim == 3 else scores


def gone() -> Iterator[Block]:
    """The blocks of scores that were counted and not kept."""
    raise BadScores("the scores were not kept.", "what was counted in them.")


def holes(scores: Tensor) -> dict[str, Tensor]:
    """How many NaN each row holds, and the column of the first; `require_sound` reads them."""
    parts = []
    for block in torch.split(scores, _rows(scores)):
        missing = block.isnan()
        parts.append((missing.sum(dim=1), missing.to(torch.int8).argmax(dim=1)))
    cells, first = (torch.cat(part) for part in zip(*parts, strict=True))
    return {"holes/cells": cells, "holes/first": first}


def require_sound(made: Dense, arrays: Arrays) -> None:
    """An error if a vector is not finite, or a score NaN."""
    for name in ("user", "item"):
        if f"finite/{name}" in arrays:
            require_finite_vectors(arrays[f"finite/{name}"], name)
    cells, first = arrays["holes/cells"], arrays["holes/first"]
    rows = np.flatnonzero(cells)
    if len(rows):
        where = (int(rows[0]), int(first[rows[0]]))
        Holes(made, len(rows), int(cells.sum()), where).require_none()


def without_scores(predictions: Predictions) -> Predictions:
    """The predictions' names alone, so that no scores are held."""
    if isinstance(predictions, Embeddings):
        return replace(predictions, user_vectors=None, item_vectors=None)
    return replace(predictions, source=None)


def padding_of(predictions: Predictions, columns: int, usual: object) -> int | None:
    """The column that stands for no item: the one named, or else the usual one."""
    if isinstance(predictions, Logits):
        return None
    item = usual if predictions.padding is None else predictions.padding
    if item is None:
        return None
    return column_of(names_of(plain(predictions.items), columns, "items", "columns"), item)


def hidden(
    scores: Tensor, row: Tensor | None, column: Tensor | None, padding: int | None
) -> Tensor:
    """The scores with NaN in place of masked ones: it is neither above, below nor equal."""
    rows, columns = scores.shape
    left = scores.new_empty((rows, columns + 1))  # the last column takes what is no column
    left[:, :columns] = scores
    if row is not None and column is not None:
        inside = (column >= 0) & (column < columns)
        where = row * (columns + 1) + torch.where(inside, column, columns)
        left.view(-1).index_fill_(0, where, float("nan"))
    if padding is not None:
        left[:, padding].fill_(float("nan"))
    return left[:, :columns]


class DeviceCounts(NamedTuple):
    """Where cells stand in their rows; `tied` is 0 for a cell that is masked or does not exist."""

    above: Tensor
    tied: Tensor
    before: Tensor


def count(scores: Tensor, row: Tensor, column: Tensor) -> DeviceCounts:
    """Where each cell stands: columns above it, equal to it (itself too), equal with a lower
    number."""
    columns = scores.shape[1]
    own = own_scores(scores, row, column)
    numbers = torch.arange(columns, device=scores.device)
    parts = [torch.empty((3, 0), dtype=torch.int64, device=scores.device)]
    step = _rows(scores)
    for first in range(0, len(row), step):
        here = slice(first, first + step)
        lines, mine = scores[row[here]], own[here, None]
        equal = lines == mine
        lower = equal & (numbers < column[here, None])
        found = [(lines > mine).sum(dim=1), equal.sum(dim=1), lower.sum(dim=1)]
        parts.append(torch.stack(found))
    above, tied, before = torch.cat(parts, dim=1)
    return DeviceCounts(above, tied, before)


def own_scores(scores: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """The score of each cell, NaN for one that does not exist."""
    inside = (column >= 0) & (column < scores.shape[1])
    own = scores[row, column.clamp(0, scores.shape[1] - 1)]
    return torch.where(inside, own, float("nan"))


class First(NamedTuple):
    """What stands first in each row, and the loss of its target where it was asked for."""

    best: Tensor
    second: Tensor
    last_best: Tensor
    loss: Tensor | None


def first_places(logits: Tensor, target: Tensor, want_loss: bool) -> First:
    """What stands first in each row beside its target, and the target's loss."""
    step = _rows(logits)
    parts = [
        _first_places(*block, want_loss)
        for block in zip(torch.split(logits, step), torch.split(target, step), strict=True)
    ]
    best, second, last, loss = zip(*parts, strict=True)
    lost = torch.cat(loss) if want_loss else None
    return First(torch.cat(best), torch.cat(second), torch.cat(last), lost)


def _first_places(
    logits: Tensor, target: Tensor, want_loss: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    columns = logits.shape[1]
    numbers = torch.arange(columns, device=logits.device, dtype=torch.int32)
    holds = logits == logits.amax(dim=1, keepdim=True)
    best = torch.where(holds, numbers, columns).amin(dim=1)
    last = torch.where(holds, numbers, -1).amax(dim=1)
    other = torch.where(holds & (numbers != target[:, None]), numbers, columns).amin(dim=1)
    second = torch.where(other == columns, -1, other)
    return best, second, last, _loss(logits, target) if want_loss else best


def _loss(logits: Tensor, target: Tensor) -> Tensor:
    """The log-sum-exp of each row less its target's score, with 64 bits."""
    block = logits.double()
    top = block.amax(dim=1)
    inside = target.clamp(0, block.shape[1] - 1)
    mine = block.gather(1, inside[:, None])[:, 0]
    return (block - top[:, None]).exp().sum(dim=1).log() + (top - mine)


def _rows(scores: Tensor) -> int:
    """How many rows are looked at together."""
    return max(1, STEP // max(1, scores.shape[1]))
