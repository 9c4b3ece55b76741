"""What is refused: classes that are not complete, and batches that cannot be what was meant, before
anything is added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from rectitude.errors import BadGrades, BadIds, BadName, BadScores, BadTruth, RectitudeError
from rectitude.torch.metrics.blocks import Blocks

if TYPE_CHECKING:
    from rectitude.torch.metrics.base import BaseMetric


def unwritten(method: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a formula that every metric must write, if its `update` calls it."""
    method.is_unwritten = True  # type: ignore[attr-defined]
    return method


def is_unwritten(value: object) -> bool:
    """Whether something in a class is left for its heirs to write."""
    return getattr(value, "__isabstractmethod__", False) or getattr(value, "is_unwritten", False)


def require_complete(cls: type[BaseMetric]) -> None:
    """An error if a class lacks a method that is called."""
    formula = getattr(cls.update, "calls", None)
    needed = ["update", "compute", *([formula] if formula else [])]
    missing = [name for name in needed if is_unwritten(getattr(cls, name))]
    if missing:
        raise BadName(
            f"metric class {cls.__name__} has no {' and no '.join(missing)}.",
            "update, which adds a batch to the accumulators, and compute, which returns their "
            "values by name.",
            "write it; mark it with abc.abstractmethod in a class that others complete.",
        )


class BatchFacts(NamedTuple):
    """What one look at a batch says, brought to the host at once."""

    nan: float
    """scores that are NaN"""
    infinite: float
    """grades that are NaN or infinite"""
    lowest: float
    highest: float
    """user indices"""


def require_batch(
    metric: BaseMetric, preds: object, given: Mapping[str, object], blocks: Blocks
) -> None:
    """An error if a metric cannot take the batch; the look at its values is shared by metrics."""
    scores = _matrix(metric, preds)
    for name in (*metric.requires, *(["ground"] if metric.blocks else [])):
        one = given.get(name)
        if not isinstance(one, Tensor):
            found = f"no {name}=" if one is None else f"{type(one).__name__} as {name}="
            raise BadName(f"{metric.name}.update was given {found}.", "a tensor.")
    tensors = {n: t for n in ("ground", "user_indices") if isinstance(t := given.get(n), Tensor)}
    for name, tensor in {"preds": scores, **tensors}.items():
        _require_device(metric, name, tensor)
        if tensor.layout != torch.strided:
            found = f"{name} is a tensor with the layout {tensor.layout}."
            raise BadScores(found, "a dense one.", f"{name}.to_dense()")
    ground, users = tensors.get("ground"), tensors.get("user_indices")
    _require_shapes(scores, ground, users)
    if scores.shape[0]:
        looked = tuple(tensor for tensor in (scores, ground, users) if tensor is not None)
        facts = blocks.once("checks", looked, lambda: _facts(scores, ground, users))
        _require_values(metric, facts, scores, ground)
        if ground is not None:
            metric.require(scores, ground)


def _matrix(metric: BaseMetric, preds: object) -> Tensor:
    if not isinstance(preds, Tensor) or preds.dim() != 2 or not preds.is_floating_point():
        found = type(preds).__name__
        if isinstance(preds, Tensor):
            found = f"a tensor of shape {tuple(preds.shape)} and type {preds.dtype}"
        raise BadScores(
            f"{metric.name}.update was given {found} as preds.",
            "a tensor of floating-point scores, one row per list and one column per item.",
        )
    if metric.k is not None and metric.k > preds.shape[1]:
        raise BadScores(
            f"{metric.name} looks at the first {metric.k} items, and rows have {preds.shape[1]}.",
            f"k up to {preds.shape[1]}, or scores of all items.",
        )
    return preds


def _require_device(metric: BaseMetric, name: str, tensor: Tensor) -> None:
    if tensor.device != metric.device:
        raise BadScores(
            f"{name} is on {tensor.device}, and {metric.name} on {metric.device}.",
            "one device.",
            f"move the metric once: metric.to({str(tensor.device)!r}).",
        )


def _require_shapes(preds: Tensor, ground: Tensor | None, users: Tensor | None) -> None:
    if ground is not None and ground.shape != preds.shape:
        raise BadTruth(
            f"ground has the shape {tuple(ground.shape)}, and preds {tuple(preds.shape)}.",
            "a grade for every score.",
        )
    if users is None:
        return
    if users.shape != preds.shape[:1] or users.dtype not in (torch.int64, torch.int32):
        raise BadIds(
            f"user_indices has the shape {tuple(users.shape)} and type {users.dtype}, and preds "
            f"{preds.shape[0]} rows.",
            "a whole number of 64 or 32 bits for every row.",
        )


def _facts(preds: Tensor, ground: Tensor | None, users: Tensor | None) -> BatchFacts:
    nothing = torch.zeros((), dtype=torch.float64, device=preds.device)
    counts = [preds.isnan().sum(), nothing, nothing, nothing]
    if ground is not None:
        counts[1] = (~ground.isfinite()).sum()
    if users is not None:
        counts[2:] = [users.min(), users.max()]
    return BatchFacts(*torch.stack([count.double() for count in counts]).tolist())


def _require_values(
    metric: BaseMetric, facts: BatchFacts, preds: Tensor, ground: Tensor | None
) -> None:
    if facts.nan:
        raise _first(BadScores, facts.nan, preds.isnan(), "scores are NaN", "a number everywhere.")
    if facts.infinite and ground is not None:
        raise _first(
            BadGrades, facts.infinite, ~ground.isfinite(), "grades in ground are NaN or infinite",
            "finite grades.",
        )  # fmt: skip
    users = metric.num_users
    if users is not None and (facts.lowest < 0 or facts.highest >= users):
        wrong = facts.lowest if facts.lowest < 0 else facts.highest
        raise BadIds(
            f"user_indices holds {int(wrong)}, and {metric.name} was made for num_users={users}.",
            f"whole numbers from 0 to {users - 1}.",
        )


def _first(
    error: type[RectitudeError], count: float, wrong: Tensor, what: str, expected: str
) -> RectitudeError:
    row, column = wrong.nonzero()[0].tolist()
    return error(
        f"{int(count)} of {wrong.numel()} {what} (first: row {row}, column {column}).", expected
    )
