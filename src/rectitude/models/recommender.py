"""`Recommender`: a built-in model with its parameters, as an object with `fit` and `recommend`.

It recommends in blocks of users: first to users it can score, then to the others. It counts both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, Ragged
from rectitude.candidate_sets.sampling import is_among
from rectitude.data.frames import series
from rectitude.data.ids import fit_ids, numbers_in
from rectitude.data.ledger import Ledger
from rectitude.data.log import open_log
from rectitude.errors import BadArgument, NothingToEvaluate
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
from rectitude.models.ranking import Common, Limits, ScoredCells, best, rank_of, stack_cells
from rectitude.models.registry import Learnt, Progress, RegisteredModel

BLOCK_CELLS = 1 << 22
"""How many scores of users and items are in memory at a time."""


@dataclass(slots=True)
class Recommender:
    """A built-in model: `model_of("item-knn", neighbours=50).fit(train).recommend(users, 10)`."""

    entry: RegisteredModel
    given: Mapping[str, Any] = field(default_factory=dict)
    """parameters that differ from the defaults"""
    ledger: Ledger = field(default_factory=Ledger)
    """counts of the last fit, and of the last call of `recommend` after it"""
    block_cells: int = BLOCK_CELLS
    matrix: Matrix | None = field(default=None, repr=False)
    learnt: Learnt | None = field(default=None, repr=False)
    _fitted: Ledger = field(default_factory=Ledger, repr=False)

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.entry.name

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters, including defaults."""
        return {**self.entry.parameters, **self.given}

    @property
    def unknown_users(self) -> str:
        """What unknown users get; "scored" if the model can score all users."""
        return str(self.parameters.get("unknown_users", "scored"))

    @property
    def unknown_items(self) -> str:
        """Whether items outside the training data can be recommended: "scored" or "left_out"."""
        return self.entry.unknown_items

    def fit(self, train: object, progress: Progress | None = None) -> Recommender:
        """Learn from interactions, and forget everything learnt before."""
        log = open_log(train)
        matrix = matrix_of(log, self.parameters.get("weights", "binary"))
        arguments = {name: self.parameters[name] for name in self.entry.own}
        if progress is not None and "progress" in self.entry.learn.__annotations__:
            arguments["progress"] = progress
        learnt = self.entry.learn(matrix, **arguments)
        self.matrix, self.learnt, self._fitted = matrix, learnt, Ledger()
        rows, users, items = log.frame.height, len(matrix.users), len(matrix.items)
        about = f"rows of {users:,} users and {items:,} items were used for training"
        self._fitted.count("rows_learnt_from", rows, about)
        for name, text in (learnt.note or {}).items():
            self._fitted.note(name, text)
        self.ledger = self._fitted
        return self

    def update(self, train: object, progress: Progress | None = None) -> Recommender:
        """Learn from further rows, as if all rows had been there from the start."""
        known, log = self._require_fitted()[0], open_log(train)
        columns = [name for name in known.log.frame.columns if name in log.frame.columns]
        rows = [known.log.frame.select(columns), log.frame.select(columns)]
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
        """Return the k best items for each user, with columns user, item, score and rank.

        If `candidates` are given, only they are recommended. Pairs in the table `seen` are never
        recommended; by default these are the items that the user had in the training data or in
        `history`. `history` holds interactions that are known in addition to the training data.
        """
        matrix, learnt = self._require_fitted()
        if not isinstance(k, int) or k < 1:
            raise BadArgument(f"k is {k!r}.", "a whole number of at least 1.")
        chosen = choose_users(users, matrix.users)
        shown = None if history is None else open_log(history)
        profiles = profiles_of(matrix, chosen, shown)
        items = matrix.items if learnt.items is None else learnt.items
        banned = (
            _find_seen(profiles, matrix, items) if seen is None else pairs_in(seen, chosen, items)
        )
        offer = None if candidates is None else offer_of(candidates, chosen, items)
        policy = Policy(self.parameters.get("unknown_users"), self.parameters.get("rest"))
        request = Request(profiles, items, banned, offer, k, self.block_cells, progress)
        cells, counts = recommend(learnt, popularity_of(matrix, items), request, policy)
        self.ledger = self._fitted + counts
        return _as_table(cells, chosen, items, matrix)

    def _require_fitted(self) -> tuple[Matrix, Learnt]:
        if self.matrix is None or self.learnt is None:
            raise NothingToEvaluate(
                f"model {self.name!r} is not fitted.", "fit(train) before recommend or update."
            )
        return self.matrix, self.learnt


def choose_users(users: object, known: pl.Series) -> pl.Series:
    """Return the distinct users to recommend to, with ids of the type of the known ones."""
    ids = series(users, "user")
    if not len(ids):
        return known.clear().alias("user")
    return fit_ids(ids, known.dtype, "users").unique(maintain_order=True)


def _find_seen(profiles: UserProfiles, matrix: Matrix, items: pl.Series) -> Ragged:
    """Return the items that each user has already seen, as indices into `items`."""
    row = np.repeat(np.arange(len(profiles)), np.diff(profiles.seen.indptr))
    at = numbers_in(matrix.items, items)[profiles.seen.indices]
    return pairs_of(row, at, (len(profiles), len(items)))


def _as_table(
    cells: ScoredCells, users: pl.Series, items: pl.Series, matrix: Matrix
) -> pl.DataFrame:
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
    """What to do if a model has no score; None if it always has one."""

    unknown_users: UnknownUsers | None
    rest: Rest | None
    """what fills a list after the items that the model can score"""


@dataclass(frozen=True, slots=True)
class Request:
    """Users, the items that may be recommended to them, and how many items to recommend."""

    profiles: UserProfiles
    items: pl.Series
    """the items that can be recommended, sorted"""
    banned: Ragged
    offer: Offer | None
    k: int
    block_cells: int
    progress: Progress | None

    def limits(self, positions: Integers) -> Limits:
        """Return which items the users at these positions may be recommended."""
        cells = len(self.profiles) * len(self.items)
        return Limits(positions, len(self.items), self.banned, self.offer, cells)

    def blocks(self, users: Flags, done: int) -> Iterator[Integers]:
        """Yield the positions of some users in blocks, and report progress after each block."""
        positions = np.flatnonzero(users)
        step = max(1, self.block_cells // max(len(self.items), 1))
        for low in range(0, len(positions), step):
            yield positions[low : low + step]
            if self.progress is not None:
                self.progress(done + min(low + step, len(positions)), len(users))


def popularity_of(matrix: Matrix, items: pl.Series) -> Floats:
    """Return (items) the number of training users of each; 0 for items not in the training data."""
    at = numbers_in(items, matrix.items)
    return np.where(at >= 0, matrix.popularity[at], 0.0)


def recommend(
    learnt: Learnt, popularity: Floats, request: Request, policy: Policy
) -> tuple[ScoredCells, Ledger]:
    """Return the best items of all users, in the order of users, and a ledger of counts."""
    knows = learnt.knows(request.profiles)
    parts, filled = [], [0, 0]
    for positions in request.blocks(knows, 0):
        limits = request.limits(positions)
        top = best(learnt.score(request.profiles.take(positions)), request.k, limits)
        if policy.rest == "popular":
            more = _fill_up(top, popularity, request.k, limits)
            filled = [filled[0] + len(np.unique(more.row)), filled[1] + len(more.row)]
            top = _merge(top, more)
        parts.append(top._replace(row=positions[top.row]))
    if policy.unknown_users == "popular":
        for positions in request.blocks(~knows, int(knows.sum())):
            common = Common(popularity, len(positions))
            top = best(common, request.k, request.limits(positions))
            parts.append(top._replace(row=positions[top.row]))
    cells = stack_cells(parts)
    cells = cells.where(np.argsort(cells.row, kind="stable"))
    return cells, _account(cells, knows, request, policy, (filled[0], filled[1]))


def _fill_up(top: ScoredCells, popularity: Floats, k: int, limits: Limits) -> ScoredCells:
    """Return popular items that fill lists up to k; their score is their negative rank."""
    users = len(limits.positions)
    short = k - np.bincount(top.row, minlength=users)
    if not short.any():
        return stack_cells([])
    more = best(Common(popularity, users), 2 * k, limits)
    more = more.where(~is_among(np.sort(limits.key(top)), limits.key(more)))
    more = more.where(rank_of(more.row) <= short[more.row])
    rank = np.empty(len(popularity))
    rank[np.lexsort((np.arange(len(popularity)), -popularity))] = np.arange(len(popularity)) + 1.0
    return more._replace(score=-rank[more.item])


def _merge(cells: ScoredCells, more: ScoredCells) -> ScoredCells:
    """Return both, with the second cells after the first within each row."""
    both = stack_cells([cells, more])
    return both.where(np.argsort(both.row, kind="stable"))


def _account(
    cells: ScoredCells, knows: Flags, request: Request, policy: Policy, filled: tuple[int, int]
) -> Ledger:
    ledger, users = Ledger(), request.profiles.users
    if policy.unknown_users is not None:
        list_kind = "popular items" if policy.unknown_users == "popular" else "no list"
        about = f"users are unknown to the model: they get {list_kind}"
        _count(ledger, "users_not_known", users, ~knows, about)
    only_history = request.profiles.shown & (request.profiles.number < 0) & knows
    if only_history.any():
        about = "users were scored from their history only"
        _count(ledger, "users_folded_in", users, only_history, about)
    if policy.rest == "popular":
        about = f"lists were filled up with {filled[1]:,} popular items"
        ledger.count("lists_filled", filled[0], about, of=len(users), weight="notice")
    if request.offer is not None:
        about = "candidates were left out, because the model cannot score them"
        offer = request.offer
        ledger.count(
            "candidates_not_known", offer.unknown, about, example=offer.example, weight="notice"
        )
        _count(ledger, "users_without_candidates", users, ~offer.owner, "users have no candidates")
    return ledger


def _count(ledger: Ledger, name: str, users: pl.Series, which: Flags, about: str) -> None:
    example = f"user {users[int(which.argmax())]!r}" if which.any() else ""
    ledger.count(name, int(which.sum()), about, of=len(users), example=example, weight="notice")
