"""`Recommender`: a model that ships, with its parameters, behind the protocol of all models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rectitude.candidates.ids import fitted
from rectitude.data.ledger import Ledger
from rectitude.data.log import open_log
from rectitude.data.series import series
from rectitude.errors import BadName, NothingToEvaluate
from rectitude.models.blocks import Policy, Request, popularity_of, recommended
from rectitude.models.matrix import Matrix, matrix_of, numbers_in
from rectitude.models.pairs import Pairs, offer_of, pairs_in, pairs_of
from rectitude.models.profiles import Profiles, profiles_of
from rectitude.models.ranking import Cells, rank_of
from rectitude.models.registry import Entry, Learnt, Progress

if TYPE_CHECKING:
    import polars as pl

BLOCK_CELLS = 1 << 22
"""Scores of users and items that are held at a time."""


@dataclass(slots=True)
class Recommender:
    """A model by name: `model_of("item-knn", neighbours=50).fit(train).recommend(users, 10)`."""

    entry: Entry
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
        import polars as pl

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


def _banned(profiles: Profiles, matrix: Matrix, items: pl.Series) -> Pairs:
    """What users had, in the numbers of the items that can be recommended."""
    row = np.repeat(np.arange(len(profiles)), np.diff(profiles.met.indptr))
    at = numbers_in(matrix.items, items)[profiles.met.indices]
    return pairs_of(row, at, (len(profiles), len(items)))


def _table(cells: Cells, users: pl.Series, items: pl.Series, matrix: Matrix) -> pl.DataFrame:
    import polars as pl

    frame = matrix.log.frame
    return pl.DataFrame(
        {
            "user": users.gather(cells.row).cast(frame["user"].dtype),
            "item": items.gather(cells.item).cast(frame["item"].dtype),
            "score": cells.score,
            "rank": rank_of(cells.row),
        }
    )
