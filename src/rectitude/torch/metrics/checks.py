"""Refuse metric classes that are incomplete, and batches that cannot be right, before anything is
added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from rectitude.errors import (
    BadArgument,
    BadExtension,
    BadGrades,
    BadIds,
    BadScores,
    BadTruth,
    RectitudeError,
)
from rectitude.torch.metrics.blocks import Blocks

if TYPE_CHECKING:
    from rectitude.torch.metrics.base import BaseMetric


def unwritten(method: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a formula that a metric must write if its `update` calls it."""
    method.is_unwritten = True  # type: ignore[attr-defined]
    return method


def is_unwritten(value: object) -> bool:
    """Return whether a member of a class is left for subclasses to write."""
    return getattr(value, "__isabstractmethod__", False) or getattr(value, "is_unwritten", False)


def require_complete(cls: type[BaseMetric]) -> None:
    """Raise an error if a class lacks a method that will be called."""
    formula = getattr(cls.update, "calls", None)
    needed = ["update", "compute", *([formula] if formula else [])]
    missing = [name for name in needed if is_unwritten(getattr(cls, name))]
    if missing:
        raise BadExtension(
            f"metric class {cls.__name__} has no {' and no '.join(missing)}.",
            "update, which adds a batch to the accumulators, and compute, which returns their "
            "values by name.",
            "write the method, or mark it with abc.abstractmethod if subclasses write it.",
        )


class BatchFacts(NamedTuple):
    """What a batch contains, copied to the host in one step."""

    nan: float
    """number of scores that are NaN"""
    infinite: float
    """number of grades that are NaN or infinite"""
    lowest: float
    highest: float
    """range of the user indices"""


def require_batch(
    metric: BaseMetric, preds: object, given: Mapping[str, object], blocks: Blocks
) -> None:
    """Raise an error if a metric cannot use the batch; metrics share the check of its values."""
    scores = _require_matrix(metric, preds)
    for name in (*metric.requires, *(["ground"] if metric.blocks else [])):
        value = given.get(name)
        if not isinstance(value, Tensor):
            found = f"no {name}=" if value is None else f"{type(value).__name__} as {name}="
            raise BadArgument(f"{metric.name}.update was given {found}.", f"a tensor as {name}=.")
    tensors = {n: t for n in ("ground", "user_indices") if isinstance(t := given.get(n), Tensor)}
    for name, tensor in {"preds": scores, **tensors}.items():
        _require_device(metric, name, tensor)
        if tensor.layout != torch.strided:
            found = f"{name} is a tensor with layout {tensor.layout}."
            raise BadScores(found, "a dense tensor.", f"{name}.to_dense()")
    ground, users = tensors.get("ground"), tensors.get("user_indices")
    _require_shapes(scores, ground, users)
    if scores.shape[0]:
        checked = tuple(tensor for tensor in (scores, ground, users) if tensor is not None)
        facts = blocks.once("checks", checked, lambda: _count_bad(scores, ground, users))
        _require_values(metric, facts, scores, ground)
        if ground is not None:
            metric.require(scores, ground)


def _require_matrix(metric: BaseMetric, preds: object) -> Tensor:
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
            f"{metric.name} needs {metric.k} items per list, but preds has {preds.shape[1]} "
            "columns.",
            f"a cutoff of at most {preds.shape[1]}, or scores for all items.",
        )
    return preds


def _require_device(metric: BaseMetric, name: str, tensor: Tensor) -> None:
    if tensor.device != metric.device:
        raise BadScores(
            f"{name} is on {tensor.device}, but {metric.name} is on {metric.device}.",
            "the same device for both.",
            f"move the metric once: metric.to({str(tensor.device)!r}).",
        )


def _require_shapes(preds: Tensor, ground: Tensor | None, users: Tensor | None) -> None:
    if ground is not None and ground.shape != preds.shape:
        raise BadTruth(
            f"ground has the shape {tuple(ground.shape)}, but preds has {tuple(preds.shape)}.",
            "one grade per score.",
        )
    if users is None:
        return
    if users.shape != preds.shape[:1] or users.dtype not in (torch.int64, torch.int32):
        raise BadIds(
            f"user_indices has the shape {tuple(users.shape)} and type {users.dtype}; preds has "
            f"{preds.shape[0]} rows.",
            "one integer of 32 or 64 bits per row.",
        )


def _count_bad(preds: Tensor, ground: Tensor | None, users: Tensor | None) -> BatchFacts:
    zero = torch.zeros((), dtype=torch.float64, device=preds.device)
    counts = [preds.isnan().sum(), zero, zero, zero]
    if ground is not None:
        counts[1] = (~ground.isfinite()).sum()
    if users is not None:
        counts[2:] = [users.min(), users.max()]
    return BatchFacts(*torch.stack([count.double() for count in counts]).tolist())


def _require_values(
    metric: BaseMetric, facts: BatchFacts, preds: Tensor, ground: Tensor | None
) -> None:
    if facts.nan:
        raise _error_with_first(
            BadScores, facts.nan, preds.isnan(), "scores are NaN", "numbers only."
        )
    if facts.infinite and ground is not None:
        raise _error_with_first(
            BadGrades, facts.infinite, ~ground.isfinite(), "grades in ground are NaN or infinite",
            "finite grades.",
        )  # fmt: skip
    users = metric.num_users
    if users is not None and (facts.lowest < 0 or facts.highest >= users):
        wrong = facts.lowest if facts.lowest < 0 else facts.highest
        raise BadIds(
            f"user_indices contains {int(wrong)}, but {metric.name} has num_users={users}.",
            f"integers from 0 to {users - 1}.",
        )


def _error_with_first(
    error: type[RectitudeError], count: float, wrong: Tensor, what: str, expected: str
) -> RectitudeError:
    row, column = wrong.nonzero()[0].tolist()
    return error(
        f"{int(count)} of {wrong.numel()} {what} (first: row {row}, column {column}).", expected
    )
