"""Recommending in blocks of users: those who can be scored, then the others, and the account."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Flags, Floats, Integers
from rectitude.candidates.drawing import among
from rectitude.data.ledger import Ledger
from rectitude.models.matrix import Matrix, numbers_in
from rectitude.models.pairs import Offer, Pairs
from rectitude.models.profiles import Profiles
from rectitude.models.protocol import Rest, UnknownUsers
from rectitude.models.ranking import Cells, Common, Limits, best, rank_of, stacked
from rectitude.models.registry import Learnt, Progress

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Policy:
    """What is done where a model has no score; None where it always has one."""

    unknown_users: UnknownUsers | None
    rest: Rest | None


@dataclass(frozen=True, slots=True)
class Request:
    """Who is recommended how much, and of what."""

    profiles: Profiles
    items: pl.Series
    """that can be recommended, sorted"""
    banned: Pairs
    offer: Offer | None
    k: int
    block_cells: int
    progress: Progress | None

    def limits(self, places: Integers) -> Limits:
        """What the users in these places may be recommended."""
        cells = len(self.profiles) * len(self.items)
        return Limits(places, len(self.items), self.banned, self.offer, cells)

    def blocks(self, users: Flags, done: int) -> Iterator[Integers]:
        """The places of some users in blocks, each told of when the next is asked for."""
        places = np.flatnonzero(users)
        step = max(1, self.block_cells // max(len(self.items), 1))
        for low in range(0, len(places), step):
            yield places[low : low + step]
            if self.progress is not None:
                self.progress(done + min(low + step, len(places)), len(users))


def popularity_of(matrix: Matrix, items: pl.Series) -> Floats:
    """(items) how many users of train had each; 0 for items that train does not hold."""
    at = numbers_in(items, matrix.items)
    return np.where(at >= 0, matrix.popularity[at], 0.0)


def recommended(
    learnt: Learnt, popularity: Floats, request: Request, policy: Policy
) -> tuple[Cells, Ledger]:
    """The best items of all users, in their order, and what was met on the way."""
    knows = learnt.knows(request.profiles)
    parts, filled = [], [0, 0]
    for places in request.blocks(knows, 0):
        limits = request.limits(places)
        found = best(learnt.score(request.profiles.take(places)), request.k, limits)
        if policy.rest == "popular":
            more = _more(found, popularity, request.k, limits)
            filled = [filled[0] + len(np.unique(more.row)), filled[1] + len(more.row)]
            found = _merged(found, more)
        parts.append(found._replace(row=places[found.row]))
    if policy.unknown_users == "popular":
        for places in request.blocks(~knows, int(knows.sum())):
            common = Common(popularity, len(places))
            found = best(common, request.k, request.limits(places))
            parts.append(found._replace(row=places[found.row]))
    cells = stacked(parts)
    cells = cells.where(np.argsort(cells.row, kind="stable"))
    return cells, _account(cells, knows, request, policy, (filled[0], filled[1]))


def _more(found: Cells, popularity: Floats, k: int, limits: Limits) -> Cells:
    """Popular items that fill lists up to k; their scores are their places, below zero."""
    users = len(limits.places)
    short = k - np.bincount(found.row, minlength=users)
    if not short.any():
        return stacked([])
    more = best(Common(popularity, users), 2 * k, limits)
    more = more.where(~among(np.sort(limits.key(found)), limits.key(more)))
    more = more.where(rank_of(more.row) <= short[more.row])
    place = np.empty(len(popularity))
    place[np.lexsort((np.arange(len(popularity)), -popularity))] = np.arange(len(popularity)) + 1.0
    return more._replace(score=-place[more.item])


def _merged(one: Cells, other: Cells) -> Cells:
    """Both, the cells of the second after those of the first within a row."""
    both = stacked([one, other])
    return both.where(np.argsort(both.row, kind="stable"))


def _account(
    cells: Cells, knows: Flags, request: Request, policy: Policy, filled: tuple[int, int]
) -> Ledger:
    ledger, users = Ledger(), request.profiles.users
    if policy.unknown_users is not None:
        does = "popular items" if policy.unknown_users == "popular" else "no list"
        _count(ledger, "users_not_known", users, ~knows, f"users are not known: they get {does}")
    alone = request.profiles.shown & (request.profiles.number < 0) & knows
    if alone.any():
        _count(ledger, "users_folded_in", users, alone, "users were scored by their history alone")
    if policy.rest == "popular":
        about = f"lists were filled up with popular items, {filled[1]:,} in all"
        ledger.count("lists_filled", filled[0], about, of=len(users), weight="notice")
    if request.offer is not None:
        about = "candidates are items that the model cannot score: left out"
        offer = request.offer
        ledger.count(
            "candidates_not_known", offer.unknown, about, example=offer.example, weight="notice"
        )
        _count(ledger, "users_without_candidates", users, ~offer.owner, "users have no candidates")
    return ledger


def _count(ledger: Ledger, name: str, users: pl.Series, which: Flags, about: str) -> None:
    example = f"user {users[int(which.argmax())]!r}" if which.any() else ""
    ledger.count(name, int(which.sum()), about, of=len(users), example=example, weight="notice")
