"""Ranks by counting, in plain torch, on whatever device the scores lie.

The same results as `rectitude.dense.rows`, number for number; nothing here waits for the device.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

STEP = 1 << 25
"""Scores that are compared at a time: what is noted of them takes as many bytes, or a few more."""


class Counted(NamedTuple):
    """Where cells stand in their rows; `tied` is 0 for a cell that is masked or does not exist."""

    above: Tensor
    tied: Tensor
    before: Tensor


class First(NamedTuple):
    """What stands first in each row, and the loss of its target where it was asked for."""

    best: Tensor
    second: Tensor
    last_best: Tensor
    loss: Tensor | None


class Holes(NamedTuple):
    """How many NaN each row holds, and the column of the first."""

    cells: Tensor
    first: Tensor


def comparable(scores: Tensor) -> Tensor:
    """(rows, columns) floats that compare as the scores do: interests merged by the best score."""
    if not scores.is_floating_point():
        scores = scores.double()
    elif scores.dtype.itemsize == 1:  # of which torch compares nothing
        scores = scores.float()
    return scores.amax(dim=1) if scores.ndim == 3 else scores


def holes(scores: Tensor) -> Holes:
    """Where rows hold NaN."""
    parts = []
    for block in torch.split(scores, _rows(scores)):
        missing = block.isnan()
        parts.append(Holes(missing.sum(dim=1), missing.to(torch.int8).argmax(dim=1)))
    return Holes(*(torch.cat(part) for part in zip(*parts, strict=True)))


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


def count(scores: Tensor, row: Tensor, column: Tensor) -> Counted:
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
    return Counted(above, tied, before)


def own_scores(scores: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """The score of each cell, NaN for one that does not exist."""
    inside = (column >= 0) & (column < scores.shape[1])
    own = scores[row, column.clamp(0, scores.shape[1] - 1)]
    return torch.where(inside, own, float("nan"))


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
