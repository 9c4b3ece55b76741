"""The best items of each user, from scores of whatever shape a model has.

Equal scores stand in the order of item ids. Nothing here depends on how users are cut into blocks:
products are added up in one fixed order wherever their last bits can decide between two items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, Ragged, run_starts
from rectitude.candidates.sampling import among
from rectitude.kernels import repay
from rectitude.models.matrix import Offer
from rectitude.rowkernels.rows import best as dense_best

_PRODUCTS = 1 << 22
_ROUNDING = 2.0**-53
_SPARE = 8
"""So many items more are looked at where the last bits of products can change their order."""
_CELLS_PER_ROW = 50
"""So many scores take as long as a row of a table, for which compiled code is worth its making."""


class ScoredCells(NamedTuple):
    """Scores of some items: which user of a block, which item, what score."""

    row: Integers
    item: Integers
    score: Floats

    def where(self, keep: Flags | Integers) -> ScoredCells:
        """Some of the cells."""
        return ScoredCells(self.row[keep], self.item[keep], self.score[keep])


class Common(NamedTuple):
    """One score for each item, the same for all users of a block."""

    scores: Floats
    users: int


class Products(NamedTuple):
    """Scores that are inner products of vectors of users and items."""

    left: Floats
    right: Floats

    def exact(self, row: Integers, item: Integers) -> Floats:
        """Products of pairs, added up in the order of dimensions."""
        total = np.zeros(len(row))
        for left, right in zip(self.left.T, self.right.T, strict=True):
            total += left[row] * right[item]
        return total

    def slack(self) -> Floats:
        """(users) how far a product may lie from the exact one, whatever order it is added in."""
        dimensions = self.right.shape[1]
        longest = np.sqrt((self.right**2).sum(axis=1)).max(initial=0.0)
        lengths = np.sqrt((self.left**2).sum(axis=1))
        bound: Floats = 2.02 * (dimensions + 2) * _ROUNDING * lengths * longest
        return bound


Scores = Floats | ScoredCells | Common | Products
"""Scores of a block of users: of all items (users x items), or in one of the shapes above. An item
of -inf, or without a cell, is not recommended."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the users of a block may be recommended."""

    places: Integers
    """the places of the block's users among all"""
    items: int
    banned: Ragged
    offer: Offer | None
    cells: int = 0
    """scores of all blocks together: compiled code is worth its making where they are many"""

    def part(self, first: int, last: int) -> Limits:
        """The limits of some of the users."""
        return replace(self, places=self.places[first:last])

    def key(self, cells: ScoredCells) -> Integers:
        """A number for each cell, ascending with row and item."""
        return cells.row * self.items + cells.item

    def allows(self, cells: ScoredCells) -> Flags:
        """Which cells may be recommended."""
        row, item = self.banned.of(self.places).pairs()
        fine = ~among(row * self.items + item, self.key(cells))
        if self.offer is None:
            return fine
        fine &= self.offer.owner[self.places][cells.row]
        if self.offer.own is None:
            return fine & _flags(self.offer.shared, self.items)[cells.item]
        row, item = self.offer.own.of(self.places).pairs()
        return fine & among(row * self.items + item, self.key(cells))

    def own(self) -> tuple[Integers, Integers] | None:
        """The candidates of the block's users, where each has his own."""
        if self.offer is None or self.offer.own is None:
            return None
        return self.offer.own.of(self.places).pairs()


def _flags(items: Integers | None, size: int) -> Flags:
    flags = np.zeros(size, np.bool_)
    flags[items] = True
    return flags


@singledispatch
def best(scores: Scores, k: int, limits: Limits) -> ScoredCells:
    """The k best items of each user, best first, user by user."""
    raise TypeError(f"a model gave scores of type {type(scores).__name__}")


@best.register
def _(scores: np.ndarray, k: int, limits: Limits) -> ScoredCells:
    own = limits.own()
    if own is not None:
        return _allowed(ScoredCells(*own, scores[own]), k, limits)
    kept = _kept(scores, k, np.zeros(len(scores)), limits)
    return first(ScoredCells(*kept, scores[kept]), k)


@best.register
def _(scores: Products, k: int, limits: Limits) -> ScoredCells:
    own = limits.own()
    if own is not None:
        return _allowed(ScoredCells(*own, scores.exact(*own)), k, limits)
    step = max(1, _PRODUCTS // max(len(scores.right), 1))
    parts = []
    for low in range(0, len(scores.left), step):
        part = Products(scores.left[low : low + step], scores.right)
        # However the product is added up, what belongs to the best is within the slack of them.
        inner = limits.part(low, low + step)
        kept = _kept(part.left @ part.right.T, k, part.slack(), inner)
        found = first(ScoredCells(*kept, part.exact(*kept)), k)
        parts.append(found._replace(row=found.row + low))
    return stacked(parts)


@best.register
def _(scores: ScoredCells, k: int, limits: Limits) -> ScoredCells:
    return _allowed(scores, k, limits)


@best.register
def _(scores: Common, k: int, limits: Limits) -> ScoredCells:
    own = limits.own()
    if own is not None:
        return _allowed(ScoredCells(*own, scores.scores[own[1]]), k, limits)
    order = np.lexsort((np.arange(limits.items), -scores.scores))
    if limits.offer is not None:
        order = order[_flags(limits.offer.shared, limits.items)[order]]
    # So many of the best that enough are left when the banned ones are gone.
    sizes = np.minimum(k + limits.banned.lengths[limits.places], len(order))
    row = np.repeat(np.arange(scores.users), sizes)
    item = order[np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)]
    return _allowed(ScoredCells(row, item, scores.scores[item]), k, limits)


def _allowed(cells: ScoredCells, k: int, limits: Limits) -> ScoredCells:
    cells = cells.where(limits.allows(cells))
    return first(cells.where(cells.score != -np.inf), k)


def _kept(scores: Floats, k: int, slack: Floats, limits: Limits) -> tuple[Integers, Integers]:
    """The cells that may be among the k best of their row: no more than `slack` away from them."""
    if limits.offer is not None:
        scores = scores.copy()
        scores[:, ~_flags(limits.offer.shared, limits.items)] = -np.inf
        scores[~limits.offer.owner[limits.places]] = -np.inf
    if not repay(limits.cells // _CELLS_PER_ROW):
        return _above(scores, k, slack, limits)
    banned = limits.banned.of(limits.places)
    item = dense_best(scores, banned, k + (_SPARE if slack.any() else 0))
    row = np.broadcast_to(np.arange(len(item))[:, None], item.shape)
    values = np.where(item >= 0, scores[row, item], -np.inf)
    there = values != -np.inf
    if item.shape[1] == k:
        return row[there], item[there]
    far = values[:, -1] < values[:, k - 1] - 2 * slack
    far |= ~there[:, -1]
    there &= far[:, None]
    near = np.flatnonzero(~far)  # too many are about equal: look at whole rows
    places = replace(limits, places=limits.places[near])
    more = _above(scores[near], k, slack[near], places)
    return np.append(row[there], near[more[0]]), np.append(item[there], more[1])


def _above(scores: Floats, k: int, slack: Floats, limits: Limits) -> tuple[Integers, Integers]:
    """The cells of rows that are not below the k-th best of what is allowed."""
    scores = np.array(scores, np.float64)
    scores[limits.banned.of(limits.places).pairs()] = -np.inf
    least = np.full(len(scores), -np.inf)
    if k < limits.items:
        least = kth(scores, k) - 2 * slack
    row, item = np.nonzero((scores >= least[:, None]) & (scores != -np.inf))
    return row, item


def kth(scores: Floats, k: int) -> Floats:
    """The k-th best score of each row."""
    # Selecting from below takes many times longer where lowest scores are equal, as zeros are.
    best: Floats = -np.partition(-scores, k - 1, axis=1)[:, k - 1]
    return best


def first(cells: ScoredCells, k: int) -> ScoredCells:
    """The k best cells of each row, best first; equal ones in the order of items."""
    order = np.lexsort((cells.item, -cells.score, cells.row))
    cells = cells.where(order)
    return cells.where(rank_of(cells.row) <= k)


def rank_of(row: Integers) -> Integers:
    """The rank of each cell in its row, from 1; the cells of a row stand together."""
    starts = run_starts(row)
    sizes = np.diff(np.append(starts, len(row)))
    return np.arange(len(row)) - np.repeat(starts, sizes) + 1


def stacked(parts: list[ScoredCells]) -> ScoredCells:
    """Cells of several blocks one after the other."""
    if not parts:
        return ScoredCells(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return ScoredCells(*(np.concatenate(column) for column in zip(*parts, strict=True)))
