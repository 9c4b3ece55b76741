"""Add up counted logits on their device: standings, classes and losses of all lists.

Sums of losses are exact, as on the host: all values are rounded to a grid that is so coarse that
their sum on it is exact, and again with what remains.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from rectitude.evaluation.targets import CountedTargets
from rectitude.exact import UNIT_BITS, total, units
from rectitude.torch.grouping import KeptBatch, finish_prints, hash_items, hash_ranks

BITS = 21
"""of each part of a standing: so many classes can be told apart in 64 bits"""
_PASSES = 4
_BIAS, _DIGITS = 1023, 52  # of a 64-bit float


def add_up(
    batches: Sequence[KeptBatch], cutoffs: Sequence[int], ties: str
) -> tuple[list[bool], CountedTargets | None]:
    """Return which batches of one kind are sound, and the sums of these.

    About a sound batch nothing is wrong. `cutoffs` are the ranks up to which targets are hits, and
    `ties` is the rule for ties.
    """
    (_, classes), number = batches[0].shape, len(batches)
    target = torch.cat([batch.tensors["truth/column"] for batch in batches]).reshape(-1).long()
    counts = torch.cat([batch.tensors["0/logits"] for batch in batches], dim=1).long()
    wrong = (target < 0) | (target >= classes) | (counts[6] > 0)
    losses = [batch.tensors["0/loss"] for batch in batches if "0/loss" in batch.tensors]
    if losses:
        wrong |= ~torch.cat(losses).isfinite()
    sound = (~wrong.view(number, -1).any(dim=1)).tolist()
    if not all(sound):
        chosen = [batch for batch, flag in zip(batches, sound, strict=True) if flag]
        return sound, add_up(chosen, cutoffs, ties)[1] if chosen else None
    return sound, _add_sound(batches, target, counts, losses, cutoffs, ties)


def _add_sound(
    batches: Sequence[KeptBatch],
    target: Tensor,
    counts: Tensor,
    losses: Sequence[Tensor],
    cutoffs: Sequence[int],
    ties: str,
) -> CountedTargets:
    (rows, classes), words, counted_by, _ = batches[0]
    above, level, before = counts[:3]
    packed = (above << 2 * BITS) | (level << BITS) | before
    kinds, times = (part.cpu().numpy() for part in packed.unique(return_counts=True))
    mask = (1 << BITS) - 1
    standings = np.stack([kinds >> 2 * BITS, (kinds >> BITS & mask) + 1, kinds & mask])
    row = torch.arange(rows, device=target.device).repeat(len(batches))
    first_tied = torch.where(level > 0, row, rows).min()
    prints = [
        hash_ranks(target, above, level + 1).sum(),
        finish_prints(hash_items(target, 0)).sum(),
    ]
    first, *marks = torch.stack([first_tied, *prints]).tolist()
    return CountedTargets(
        len(target),
        classes,
        words,
        counted_by,
        len(batches),
        standings,
        times,
        first,
        _count_classes(target, counts, classes, cutoffs, ties),
        sum_exactly(torch.cat(list(losses))) if losses else None,
        (marks[0] % 2**64, marks[1] % 2**64),
    )


def _count_classes(
    target: Tensor, counts: Tensor, classes: int, cutoffs: Sequence[int], ties: str
) -> dict[int, dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]]:
    """Count targets, predictions and matches of each class, for each cutoff."""
    if not cutoffs:
        return {}
    above, level, before, best, last, second = counts[:6]
    later = {"pessimistic": level, "optimistic": 0, "item_descending": level - before}
    rank = above + 1 + later.get(ties, before)
    top = last if ties == "item_descending" else best
    top = torch.where((top == target) & (rank > 1), second, top)
    top = torch.where(rank == 1, target, torch.where(top < 0, classes, top))
    parts = [_count(target, classes)]
    for cutoff in cutoffs:
        is_hit = rank <= cutoff
        parts += [_count(torch.where(is_hit, target, top), classes),
                  _count(torch.where(is_hit, target, classes + 1), classes)]  # fmt: skip
    support, *others = torch.stack(parts).cpu().numpy()
    found = {}
    for place, cutoff in enumerate(cutoffs):
        predicted, correct = others[2 * place : 2 * place + 2]
        size = classes + bool(predicted[classes])  # one more, if a row has a single class
        names = ("support", "predicted", "correct")
        each = zip(names, (support, predicted, correct), strict=True)
        found[cutoff] = {name: values[:size] for name, values in each}
    return found


def _count(numbers: Tensor, classes: int) -> Tensor:
    """Return how often each class occurs, and `classes` itself; larger numbers are left out."""
    counts = torch.zeros(classes + 2, dtype=torch.int64, device=numbers.device)
    return counts.scatter_add_(0, numbers, torch.ones_like(numbers))[: classes + 1]


def sum_exactly(values: Tensor) -> int:
    """Return the exact sum of finite 64-bit floats, as `rectitude.exact.total`."""
    remainder, parts = values, []
    exponent = torch.frexp(values.abs().max()).exponent.long()
    extra = len(values).bit_length()
    for _ in range(_PASSES):
        grid = (exponent + extra - _DIGITS).clamp(min=_DIGITS - UNIT_BITS)
        anchor = 1.5 * ((grid + _DIGITS + _BIAS) << _DIGITS).view(torch.float64)
        coarse = (remainder + anchor) - anchor
        parts.append(coarse.sum())
        remainder, exponent = remainder - coarse, grid
    *sums, rest = torch.stack([*parts, remainder.abs().max()]).tolist()
    return total(values.cpu().numpy()) if rest else sum(map(units, sums))
