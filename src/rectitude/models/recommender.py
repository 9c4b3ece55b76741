"""`Recommender`: a model that ships, with its parameters, behind the protocol of all models.

It recommends in blocks of users: those who can be scored, then the others, and counts both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, Ragged
from rectitude.candidates.sampling import among
from rectitude.data.frames import series
from rectitude.data.ids import fitted, numbers_in
from rectitude.data.ledger import Ledger
from rectitude.data.log import open_log
from rectitude.errors import BadName, NothingToEvaluate
from rectitude.models.matrix import (
    Matrix,
    Offer,
    UserProfiles,
    matrix_of,
    offer_of,
    pairs_in,
    pairs_of,
    profiles_of,
)
from rectitude.models.protocol import Rest, UnknownUsers
from rectitude.models.ranking import Common, Limits, ScoredCells, best, rank_of, stacked
from rectitude.models.registry import Learnt, Progress, RegisteredModel

BLOCK_CELLS = 1 << 22
"""Scores of users and items that are held at a time."""


@dataclass(slots=True)
class Recommender:
    """A model by name: `model_of("item-knn", neighbours=50).fit(train).recommend(users, 10)`."""

    entry: RegisteredModel
    given: Mapping[str, Any] = field(default_factory=dict)
    """parameters that differ from the defaults"""
    ledger: Ledger = field(default_factory=Ledger)
    """what was met in the last fit, and in the last recommending after it"""
    block_cells: int = BLOCK_CELLS
    matrix: Matrix | None = field(default=None, repr=False)
    learnt: Learnt | None = field(default=None, repr=False)
    _fitted: Ledger = field(default_factory=Ledger, repr=False)

    @property
    def name(self) -> str:
        """The name it is asked for by."""
        return self.entry.name

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters in force."""
        return {**self.entry.parameters, **self.given}

    @property
    def unknown_users(self) -> str:
        """What users get of whom nothing is known; "scored" where nothing need be known."""
        return str(self.parameters.get("unknown_users", "scored"))

    @property
    def unknown_items(self) -> str:
        """Whether items that train does not hold are never recommended, or can be."""
        return self.entry.unknown_items

    def fit(self, train: object, progress: Progress | None = None) -> Recommender:
        """Learn from interactions, and forget what was learnt before."""
        log = open_log(train)
        matrix = matrix_of(log, self.parameters.get("weights", "binary"))
        own = {name: self.parameters[name] for name in self.entry.own}
        if progress is not None and "progress" in self.entry.learn.__annotations__:
            own["progress"] = progress
        learnt = self.entry.learn(matrix, **own)
        self.matrix, self.learnt, self._fitted = matrix, learnt, Ledger()
        rows, users, items = log.frame.height, len(matrix.users), len(matrix.items)
        about = f"rows of {users:,} users and {items:,} items were learnt from"
        self._fitted.count("rows_learnt_from", rows, about)
        for word, text in (learnt.note or {}).items():
            self._fitted.note(word, text)
        self.ledger = self._fitted
        return self

    def update(self, train: object, progress: Progress | None = None) -> Recommender:
        """Learn from further rows, as if all had been there from the beginning."""
        known, log = self._known()[0], open_log(train)
        held = [name for name in known.log.frame.columns if name in log.frame.columns]
        rows = [known.log.frame.select(held), log.frame.select(held)]
        return self.fit(known.log.with_frame(pl.concat(rows, how="vertical_relaxed")), progress)

    def recommend(
        self,
        users: object,
        k: int,
        *,
        candidates: object = None,
        seen: object = None,
        history: object = None,
        progress: Progress | None = None,
    ) -> pl.DataFrame:
        """For each user the k best items: columns user, item, score and rank.

        Nothing but `candidates` is recommended, and nothing that the table `seen` holds; without
        one, what the user had in train or in `history`. `history` is what is shown of users beside
        train.
        """
        matrix, learnt = self._known()
        if not isinstance(k, int) or k < 1:
            raise BadName(f"{k!r} items were asked for.", "a whole number from 1 on.")
        asked = asked_for(users, matrix.users)
        shown = None if history is None else open_log(history)
        profiles = profiles_of(matrix, asked, shown)
        items = matrix.items if learnt.items is None else learnt.items
        banned = _banned(profiles, matrix, items) if seen is None else pairs_in(seen, asked, items)
        offer = None if candidates is None else offer_of(candidates, asked, items)
        policy = Policy(self.parameters.get("unknown_users"), self.parameters.get("rest"))
        request = Request(profiles, items, banned, offer, k, self.block_cells, progress)
        cells, met = recommended(learnt, popularity_of(matrix, items), request, policy)
        self.ledger = self._fitted + met
        return _table(cells, asked, items, matrix)

    def _known(self) -> tuple[Matrix, Learnt]:
        if self.matrix is None or self.learnt is None:
            raise NothingToEvaluate(
                f"model {self.name!r} has learnt nothing.", "fit(train) before recommend or update."
            )
        return self.matrix, self.learnt


def asked_for(users: object, known: pl.Series) -> pl.Series:
    """The users who are recommended to, each once, with ids of the type of those that are known."""
    ids = series(users, "user")
    if not len(ids):
        return known.clear().alias("user")
    return fitted(ids, known.dtype, "users").unique(maintain_order=True)


def _banned(profiles: UserProfiles, matrix: Matrix, items: pl.Series) -> Ragged:
    """What users had, in the numbers of the items that can be recommended."""
    row = np.repeat(np.arange(len(profiles)), np.diff(profiles.met.indptr))
    at = numbers_in(matrix.items, items)[profiles.met.indices]
    return pairs_of(row, at, (len(profiles), len(items)))


def _table(cells: ScoredCells, users: pl.Series, items: pl.Series, matrix: Matrix) -> pl.DataFrame:
    frame = matrix.log.frame
    return pl.DataFrame(
        {
            "user": users.gather(cells.row).cast(frame["user"].dtype),
            "item": items.gather(cells.item).cast(frame["item"].dtype),
            "score": cells.score,
            "rank": rank_of(cells.row),
        }
    )


@dataclass(frozen=True, slots=True)
class Policy:
    """What is done where a model has no score; None where it always has one."""

    unknown_users: UnknownUsers | None
    rest: Rest | None


@dataclass(frozen=True, slots=True)
class Request:
    """Who is recommended how much, and of what."""

    profiles: UserProfiles
    items: pl.Series
    """that can be recommended, sorted"""
    banned: Ragged
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
) -> tuple[ScoredCells, Ledger]:
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


def _more(found: ScoredCells, popularity: Floats, k: int, limits: Limits) -> ScoredCells:
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


def _merged(one: ScoredCells, other: ScoredCells) -> ScoredCells:
    """Both, the cells of the second after those of the first within a row."""
    both = stacked([one, other])
    return both.where(np.argsort(both.row, kind="stable"))


def _account(
    cells: ScoredCells, knows: Flags, request: Request, policy: Policy, filled: tuple[int, int]
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
