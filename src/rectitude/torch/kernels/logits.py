"""Logits: where the target stands, the loss, and the columns ranked first, in one pass."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .choice import choose
from .ranks import STEP, first_of


class LogitCounts(NamedTuple):
    """What one pass over logits finds, on their device.

    `counts` is (8, rows), 32-bit integers: other columns above the target, level with it, and level
    with it at a lower column (-1, 0, 0 for a target that does not exist); the first best column,
    the last best column, and the first best column other than the target (-1 if none); the
    columns with NaN, and the first of them (-1 if none).

    `values` is (4, rows): the cross-entropy of the target, the log-sum-exp, the best logit, and
    the second largest, which is the best one if several columns have it.
    """

    counts: Tensor
    values: Tensor


def count_logits(logits: Tensor, target: Tensor) -> LogitCounts:
    """Count ranks of one target a row, and compute the loss, with one read of (rows, classes).

    `values` has 64 bits. The sums of exponentials are exact to 64 bits for 64-bit logits and in
    plain torch. Triton computes exponentials of other logits in 32 bits and adds groups of them in
    64 bits, in an order that depends on the number of classes only: the loss is within 1e-6 of the
    one computed in 64 bits. Where a row has NaN, its log-sum-exp is NaN, and its best columns have
    no meaning.
    """
    if logits.ndim != 2 or tuple(target.shape) != (len(logits),):
        raise ValueError(
            f"the logits have the shape {tuple(logits.shape)} and the targets "
            f"{tuple(target.shape)}; (rows, classes) and (rows,) fit."
        )
    if not logits.is_floating_point() or logits.dtype.itemsize == 1 or not logits.shape[1]:
        raise ValueError(f"the logits are of type {logits.dtype}, shape {tuple(logits.shape)}.")
    logits = logits.detach()
    if choose(logits.device) == "triton":
        from .logits_triton import count_dense  # noqa: PLC0415  (imports triton)

        return count_dense(logits if logits.stride(1) == 1 else logits.contiguous(), target)
    return count_plain(logits, target)


def count_plain(logits: Tensor, target: Tensor) -> LogitCounts:
    """Count logits in plain torch."""
    step = max(1, STEP // logits.shape[1])
    blocks = zip(torch.split(logits, step), torch.split(target.long(), step), strict=True)
    counts, values = zip(*(_count_block(*block) for block in blocks), strict=True)
    return LogitCounts(torch.cat(counts, dim=1), torch.cat(values, dim=1))


def _count_block(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    columns = logits.shape[1]
    numbers = torch.arange(columns, device=logits.device)
    inside = (target >= 0) & (target < columns)
    at = torch.where(inside, target, 0)[:, None]
    own = torch.where(inside[:, None], logits.gather(1, at), float("nan"))
    equal, missing = (logits == own) & (numbers != at), logits.isnan()
    above = torch.where(inside, (logits > own).sum(dim=1), -1)
    first = logits.masked_fill(missing, float("-inf")).topk(min(2, columns), dim=1).values
    is_best = logits == first[:, :1]
    last = torch.where(is_best, numbers, -1).amax(dim=1)
    second = first_of(is_best & (numbers != target[:, None]))
    parts = [above, equal.sum(dim=1), (equal & (numbers < at)).sum(dim=1)]
    parts += [first_of(is_best), last, second, missing.sum(dim=1), first_of(missing)]
    wide, top = logits.double(), first[:, 0].double()
    top = torch.where(top.isfinite(), top, 0)
    total = (wide - top[:, None]).exp().sum(dim=1).log()
    values = [total + (top - own[:, 0].double()), total + top, first[:, 0], first[:, -1]]
    if columns == 1:
        values[3] = torch.full_like(top, float("-inf"))
    return torch.stack(parts).to(torch.int32), torch.stack([part.double() for part in values])
