"""Blocks: what metrics compute from a batch and can share, each computed once.

A block is known by the tensors it was made from. Whoever asks for the same block of the same
tensors again, another metric or another cutoff, is handed the one that is there. The best columns
are found once, for the largest cutoff; smaller cutoffs are the beginning of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple, TypeVar

import torch
from torch import Tensor

Made = TypeVar("Made")
Block = Literal[
    "binary_relevance", "discounted_relevance", "valid_users", "top_k_indices", "top_k_values",
    "top_k_binary_relevance", "top_k_discounted_relevance",
]  # fmt: skip
"""The blocks that a metric can ask for as keywords of its `update`; the cutoff stands for `k`."""


class Best(NamedTuple):
    """The best columns of each row, best first; a row may have fewer, and then `there` says so."""

    columns: Tensor
    scores: Tensor
    there: Tensor
    """whether the place holds an item: one that is not masked by a score of minus infinity"""


class Blocks:
    """The blocks of one batch. `computed` counts how often each was really computed."""

    def __init__(self, largest: int = 0) -> None:
        self.largest = largest
        self.computed: Counter[str] = Counter()
        self._kept: dict[tuple[Any, ...], tuple[tuple[Tensor, ...], Any]] = {}

    def once(self, name: str, tensors: tuple[Tensor, ...], compute: Callable[[], Made]) -> Made:
        """A block of some tensors, computed if nobody asked for it yet."""
        key = (name, *map(_version, tensors))
        if key not in self._kept:
            self.keep(name, tensors, compute())
            self.computed[name] += 1
        made: Made = self._kept[key][1]
        return made

    def keep(self, name: str, tensors: tuple[Tensor, ...], made: object) -> None:
        """A block that is known already. Its tensors are kept too, so that no other takes their
        place in memory."""
        self._kept[(name, *map(_version, tensors))] = (tensors, made)

    def best(self, preds: Tensor, k: int) -> Best:
        """The best k columns of each row, found once for the largest cutoff."""
        depth = min(max(k, self.largest), preds.shape[1])
        self.largest = max(depth, k)
        found = self.once(f"top_{depth}", (preds,), lambda: best_of(preds, depth))
        return Best(*(part[:, :k] for part in found))

    def relevance(self, preds: Tensor, target: Tensor, k: int) -> Tensor:
        """What the target says of the best k columns; 0 in places that hold nothing."""
        depth = min(max(k, self.largest), preds.shape[1])
        found = self.best(preds, depth)
        gathered = self.once(
            f"top_{depth}_relevance",
            (preds, target),
            lambda: torch.where(found.there, target.gather(1, found.columns), 0),
        )
        return gathered[:, :k]


_CURRENT: ContextVar[Blocks | None] = ContextVar("blocks", default=None)


@contextmanager
def sharing(largest: int = 0) -> Iterator[Blocks]:
    """The blocks that all metrics updated inside share; those of the outer one if there is one."""
    outer = _CURRENT.get()
    if outer is not None:
        yield outer
        return
    blocks = Blocks(largest)
    token = _CURRENT.set(blocks)
    try:
        yield blocks
    finally:
        _CURRENT.reset(token)


def best_of(preds: Tensor, k: int) -> Best:
    """The best k columns of each row, equal scores in the order of columns.

    `torch.topk` leaves the order of equals open, so that its top 5 need not begin its top 20, and
    devices differ. Where more columns than fit have the least score that gets in, the first of them
    are looked up.
    """
    top = preds.topk(min(k + 1, preds.shape[1]), dim=1)
    columns, scores = top.indices[:, :k], top.values[:, :k]
    crowded = (top.values[:, k - 1 : k] == top.values[:, k:]).any(dim=1).nonzero()[:, 0]
    if len(crowded):
        columns = columns.index_copy(
            0, crowded, _first_of_level(preds[crowded], columns[crowded], scores[crowded])
        )
    columns = columns.sort(dim=1).values
    scores, order = preds.gather(1, columns).sort(dim=1, descending=True, stable=True)
    return Best(columns.gather(1, order), scores, scores > -torch.inf)


def _first_of_level(preds: Tensor, columns: Tensor, scores: Tensor) -> Tensor:
    """The columns with those of the least score replaced by the first that have it."""
    k, width = columns.shape[1], preds.shape[1]
    above = scores > scores[:, -1:]
    numbers = torch.arange(width, device=preds.device, dtype=torch.int32)
    level = torch.where(preds == scores[:, -1:], numbers, width)
    first = level.topk(k, dim=1, largest=False, sorted=True).values.long()
    place = torch.arange(k, device=preds.device) - above.sum(dim=1, keepdim=True)
    return torch.where(above, columns, first.gather(1, place.clamp(min=0)))


def _version(tensor: Tensor) -> tuple[int, int]:
    """Which tensor it is, and how often it was changed in place."""
    return id(tensor), 0 if tensor.is_inference() else tensor._version
