"""Blocks: intermediate results of a batch that metrics share, each computed once.

A block is identified by its name and the tensors it was made from. If another metric or another
cutoff asks for the same block of the same tensors, it receives the stored one. The best columns are
found once, for the largest cutoff; smaller cutoffs use the beginning of the result.
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
"""The blocks that a metric can receive as keywords of its `update`; `k` becomes the cutoff."""


class Best(NamedTuple):
    """The best columns of each row, best first; `there` is False where a row has fewer."""

    columns: Tensor
    scores: Tensor
    there: Tensor
    """whether the position holds an item, that is, one not masked by a score of minus infinity"""


class Blocks:
    """The blocks of one batch; `computed` counts how often each was actually computed."""

    def __init__(self, largest: int = 0) -> None:
        self.largest = largest
        self.computed: Counter[str] = Counter()
        self._kept: dict[tuple[Any, ...], tuple[tuple[Tensor, ...], Any]] = {}

    def once(self, name: str, tensors: tuple[Tensor, ...], compute: Callable[[], Made]) -> Made:
        """Return a block of some tensors; compute it if it is not stored yet."""
        key = (name, *map(_identify, tensors))
        if key not in self._kept:
            self.keep(name, tensors, compute())
            self.computed[name] += 1
        block: Made = self._kept[key][1]
        return block

    def keep(self, name: str, tensors: tuple[Tensor, ...], block: object) -> None:
        """Store a block. Its tensors are stored too, so that no other tensor gets the same id."""
        self._kept[(name, *map(_identify, tensors))] = (tensors, block)

    def best(self, preds: Tensor, k: int) -> Best:
        """Return the best k columns of each row, found once for the largest cutoff."""
        depth = min(max(k, self.largest), preds.shape[1])
        self.largest = max(depth, k)
        best = self.once(f"top_{depth}", (preds,), lambda: best_of(preds, depth))
        return Best(*(tensor[:, :k] for tensor in best))

    def relevance(self, preds: Tensor, target: Tensor, k: int) -> Tensor:
        """Return the target at the best k columns; 0 at positions without an item."""
        depth = min(max(k, self.largest), preds.shape[1])
        best = self.best(preds, depth)
        gathered = self.once(
            f"top_{depth}_relevance",
            (preds, target),
            lambda: torch.where(best.there, target.gather(1, best.columns), 0),
        )
        return gathered[:, :k]


_CURRENT: ContextVar[Blocks | None] = ContextVar("blocks", default=None)


@contextmanager
def sharing(largest: int = 0) -> Iterator[Blocks]:
    """Share blocks among all metrics updated inside; an outer `sharing` keeps its blocks."""
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
    """Return the best k columns of each row, with ties in column order.

    `torch.topk` does not define the order of ties: its top 5 need not be the start of its top 20,
    and devices differ. If more columns than fit tie for the lowest score in the top k, the first of
    them are chosen.
    """
    top = preds.topk(min(k + 1, preds.shape[1]), dim=1)
    columns, scores = top.indices[:, :k], top.values[:, :k]
    crowded = (top.values[:, k - 1 : k] == top.values[:, k:]).any(dim=1).nonzero()[:, 0]
    if len(crowded):
        columns = columns.index_copy(
            0, crowded, _choose_first_tied(preds[crowded], columns[crowded], scores[crowded])
        )
    columns = columns.sort(dim=1).values
    scores, order = preds.gather(1, columns).sort(dim=1, descending=True, stable=True)
    return Best(columns.gather(1, order), scores, scores > -torch.inf)


def _choose_first_tied(preds: Tensor, columns: Tensor, scores: Tensor) -> Tensor:
    """Return the columns, with those of the lowest score replaced by the first that tie for it."""
    k, width = columns.shape[1], preds.shape[1]
    above = scores > scores[:, -1:]
    numbers = torch.arange(width, device=preds.device, dtype=torch.int32)
    tied = torch.where(preds == scores[:, -1:], numbers, width)
    first = tied.topk(k, dim=1, largest=False, sorted=True).values.long()
    position = torch.arange(k, device=preds.device) - above.sum(dim=1, keepdim=True)
    return torch.where(above, columns, first.gather(1, position.clamp(min=0)))


def _identify(tensor: Tensor) -> tuple[int, int]:
    """Return which tensor it is, and how often it was changed in place."""
    return id(tensor), 0 if tensor.is_inference() else tensor._version
