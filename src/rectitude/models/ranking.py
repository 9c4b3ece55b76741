"""Select the best items of each user, from scores of any shape.

Ties are in the order of item ids. Results do not depend on how users are split into blocks: inner
products are summed in a fixed order wherever rounding could decide between two items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, Ragged, run_starts
from rectitude.candidate_sets.sampling import is_among
from rectitude.kernels import should_compile
from rectitude.models.matrix import Offer
from rectitude.rowkernels.rows import best as dense_best

_PRODUCTS = 1 << 22
_ROUNDING = 2.0**-53
_SPARE = 8
"""How many more items to look at if rounding of products can change their order."""
_CELLS_PER_ROW = 50
"""How many scores take as long as one table row, to decide whether compiling code pays off."""


class ScoredCells(NamedTuple):
    """Scores of some items: the user's row in a block, the item, and the score."""

    row: Integers
    item: Integers
    score: Floats

    def where(self, keep: Flags | Integers) -> ScoredCells:
        """Return some of the cells."""
        return ScoredCells(self.row[keep], self.item[keep], self.score[keep])


class Common(NamedTuple):
    """One score per item, the same for all users of a block."""

    scores: Floats
    users: int


class Products(NamedTuple):
    """Scores that are inner products of user vectors and item vectors."""

    left: Floats
    right: Floats

    def exact(self, row: Integers, item: Integers) -> Floats:
        """Return the products of pairs, summed in the order of dimensions."""
        total = np.zeros(len(row))
        for left, right in zip(self.left.T, self.right.T, strict=True):
            total += left[row] * right[item]
        return total

    def slack(self) -> Floats:
        """Return (users) how much a product may differ from `exact` in any order of summation."""
        dimensions = self.right.shape[1]
        longest = np.sqrt((self.right**2).sum(axis=1)).max(initial=0.0)
        lengths = np.sqrt((self.left**2).sum(axis=1))
        bound: Floats = 2.02 * (dimensions + 2) * _ROUNDING * lengths * longest
        return bound


Scores = Floats | ScoredCells | Common | Products
"""Scores of a block of users: for all items (users x items), or in one of the shapes above. An item
with a score of -inf, or without a cell, is not recommended."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Which items the users of a block may be recommended."""

    positions: Integers
    """the positions of the block's users among all users"""
    items: int
    banned: Ragged
    offer: Offer | None
    cells: int = 0
    """number of scores of all blocks together, to decide whether compiling code pays off"""

    def part(self, first: int, last: int) -> Limits:
        """Return the limits of some of the users."""
        return replace(self, positions=self.positions[first:last])

    def key(self, cells: ScoredCells) -> Integers:
        """Return a number for each cell, ascending with row and item."""
        return cells.row * self.items + cells.item

    def allows(self, cells: ScoredCells) -> Flags:
        """Return which cells may be recommended."""
        row, item = self.banned.of(self.positions).pairs()
        allowed = ~is_among(row * self.items + item, self.key(cells))
        if self.offer is None:
            return allowed
        allowed &= self.offer.owner[self.positions][cells.row]
        if self.offer.own is None:
            return allowed & _flags(self.offer.shared, self.items)[cells.item]
        row, item = self.offer.own.of(self.positions).pairs()
        return allowed & is_among(row * self.items + item, self.key(cells))

    def own_candidates(self) -> tuple[Integers, Integers] | None:
        """Return the candidates of the block's users, if users have different ones."""
        if self.offer is None or self.offer.own is None:
            return None
        return self.offer.own.of(self.positions).pairs()


def _flags(items: Integers | None, size: int) -> Flags:
    flags = np.zeros(size, np.bool_)
    flags[items] = True
    return flags


@singledispatch
def best(scores: Scores, k: int, limits: Limits) -> ScoredCells:
    """Return the k best items of each user, user by user and best first."""
    raise TypeError(f"a model returned scores of type {type(scores).__name__}")


@best.register
def _(scores: np.ndarray, k: int, limits: Limits) -> ScoredCells:
    pairs = limits.own_candidates()
    if pairs is not None:
        return _allow(ScoredCells(*pairs, scores[pairs]), k, limits)
    kept = _keep_best(scores, k, np.zeros(len(scores)), limits)
    return top_k(ScoredCells(*kept, scores[kept]), k)


@best.register
def _(scores: Products, k: int, limits: Limits) -> ScoredCells:
    pairs = limits.own_candidates()
    if pairs is not None:
        return _allow(ScoredCells(*pairs, scores.exact(*pairs)), k, limits)
    step = max(1, _PRODUCTS // max(len(scores.right), 1))
    parts = []
    for low in range(0, len(scores.left), step):
        block = Products(scores.left[low : low + step], scores.right)
        # In any order of summation, the best items are within the slack of the k-th best.
        block_limits = limits.part(low, low + step)
        kept = _keep_best(block.left @ block.right.T, k, block.slack(), block_limits)
        cells = top_k(ScoredCells(*kept, block.exact(*kept)), k)
        parts.append(cells._replace(row=cells.row + low))
    return stack_cells(parts)


@best.register
def _(scores: ScoredCells, k: int, limits: Limits) -> ScoredCells:
    return _allow(scores, k, limits)


@best.register
def _(scores: Common, k: int, limits: Limits) -> ScoredCells:
    pairs = limits.own_candidates()
    if pairs is not None:
        return _allow(ScoredCells(*pairs, scores.scores[pairs[1]]), k, limits)
    order = np.lexsort((np.arange(limits.items), -scores.scores))
    if limits.offer is not None:
        order = order[_flags(limits.offer.shared, limits.items)[order]]
    # Take enough items that k are left after banned ones are removed.
    sizes = np.minimum(k + limits.banned.lengths[limits.positions], len(order))
    row = np.repeat(np.arange(scores.users), sizes)
    item = order[np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)]
    return _allow(ScoredCells(row, item, scores.scores[item]), k, limits)


def _allow(cells: ScoredCells, k: int, limits: Limits) -> ScoredCells:
    cells = cells.where(limits.allows(cells))
    return top_k(cells.where(cells.score != -np.inf), k)


def _keep_best(scores: Floats, k: int, slack: Floats, limits: Limits) -> tuple[Integers, Integers]:
    """Return the cells that may be among the k best of their row: at most `slack` below them."""
    if limits.offer is not None:
        scores = scores.copy()
        scores[:, ~_flags(limits.offer.shared, limits.items)] = -np.inf
        scores[~limits.offer.owner[limits.positions]] = -np.inf
    if not should_compile(limits.cells // _CELLS_PER_ROW):
        return _not_below_kth(scores, k, slack, limits)
    banned = limits.banned.of(limits.positions)
    item = dense_best(scores, banned, k + (_SPARE if slack.any() else 0))
    row = np.broadcast_to(np.arange(len(item))[:, None], item.shape)
    values = np.where(item >= 0, scores[row, item], -np.inf)
    valid = values != -np.inf
    if item.shape[1] == k:
        return row[valid], item[valid]
    clear = values[:, -1] < values[:, k - 1] - 2 * slack
    clear |= ~valid[:, -1]
    valid &= clear[:, None]
    near = np.flatnonzero(~clear)  # too many scores are about equal: look at whole rows
    near_limits = replace(limits, positions=limits.positions[near])
    more = _not_below_kth(scores[near], k, slack[near], near_limits)
    return np.append(row[valid], near[more[0]]), np.append(item[valid], more[1])


def _not_below_kth(
    scores: Floats, k: int, slack: Floats, limits: Limits
) -> tuple[Integers, Integers]:
    """Return the cells that are not below the k-th best allowed score of their row."""
    scores = np.array(scores, np.float64)
    scores[limits.banned.of(limits.positions).pairs()] = -np.inf
    least = np.full(len(scores), -np.inf)
    if k < limits.items:
        least = kth_best(scores, k) - 2 * slack
    row, item = np.nonzero((scores >= least[:, None]) & (scores != -np.inf))
    return row, item


def kth_best(scores: Floats, k: int) -> Floats:
    """Return the k-th best score of each row."""
    # Partitioning by ascending score is many times slower if the lowest scores tie, as zeros do.
    best: Floats = -np.partition(-scores, k - 1, axis=1)[:, k - 1]
    return best


def top_k(cells: ScoredCells, k: int) -> ScoredCells:
    """Return the k best cells of each row, best first; ties are in the order of items."""
    order = np.lexsort((cells.item, -cells.score, cells.row))
    cells = cells.where(order)
    return cells.where(rank_of(cells.row) <= k)


def rank_of(row: Integers) -> Integers:
    """Return the rank of each cell in its row, from 1; the cells of a row must be contiguous."""
    starts = run_starts(row)
    sizes = np.diff(np.append(starts, len(row)))
    return np.arange(len(row)) - np.repeat(starts, sizes) + 1


def stack_cells(parts: list[ScoredCells]) -> ScoredCells:
    """Concatenate the cells of several blocks."""
    if not parts:
        return ScoredCells(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return ScoredCells(*(np.concatenate(column) for column in zip(*parts, strict=True)))
