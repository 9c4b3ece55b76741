"""Predictions that exist already, served as a model: lists from a file or a table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from rectitude.arrays import Flags
from rectitude.data.ids import fitting, ids_alone, numbers_in
from rectitude.data.ledger import Ledger
from rectitude.data.log import Log, open_log
from rectitude.data.read import read
from rectitude.errors import NothingToEvaluate
from rectitude.models.matrix import offer_of, pairs_in
from rectitude.models.ranking import Limits, ScoredCells, rank_of
from rectitude.models.recommender import asked_for


@dataclass(slots=True)
class Served:
    """A model that learns nothing: it hands out the lists of a source, without what was seen.

    `source` is whatever `evaluate` takes for lists: a file in any format, a frame, `rt.Lists`. A
    list longer than k is cut; users whom the source does not hold get no list, and are counted.
    """

    source: object
    ledger: Ledger = field(default_factory=Ledger)
    train: Log | None = field(default=None, repr=False)
    lists: pl.DataFrame | None = field(default=None, repr=False)
    unknown_users: str = "empty"
    unknown_items: str = "as the lists have them"
    name: str = "predictions"

    def fit(self, train: object) -> Served:
        """Read the lists; train says what was seen, and of what type ids are."""
        self.train = open_log(train)
        self.lists = self._lists(self.train)
        return self

    def recommend(
        self,
        users: object,
        k: int,
        *,
        candidates: object = None,
        seen: object = None,
        history: object = None,
    ) -> pl.DataFrame:
        """The lists of users as the source has them; columns user, item, score and rank."""
        if self.train is None or self.lists is None:
            raise NothingToEvaluate("the predictions were not fitted.", "fit(train) first.")
        lists = self.lists
        asked = asked_for(users, lists["user"])
        items = lists["item"].unique().sort()
        seen = _met(self.train, history) if seen is None else seen
        offer = None if candidates is None else offer_of(candidates, asked, items)
        limits = Limits(np.arange(len(asked)), len(items), pairs_in(seen, asked, items), offer)
        user, item = numbers_in(lists["user"], asked), numbers_in(lists["item"], items)
        wanted = np.flatnonzero(user >= 0)
        wanted = wanted[np.argsort(user[wanted], kind="stable")]
        cells = ScoredCells(user[wanted], item[wanted], wanted.astype(np.float64))
        kept = limits.allows(cells)
        self._account(asked, cells, kept)
        cells = cells.where(kept)
        cells = cells.where(rank_of(cells.row) <= k)
        found = lists[cells.score.astype(np.int64)]
        ids = [found[name].cast(self.train.frame[name].dtype) for name in ("user", "item")]
        return found.with_columns(*ids, rank=rank_of(cells.row))

    def _lists(self, train: Log) -> pl.DataFrame:
        """The lists in their order: by rank, else as given, else by score and item."""
        table = read(self.source, "predictions")
        frame = fitting(table, ids_alone(train.frame))
        keys: list[pl.Expr] = []
        if "rank" in frame.columns:
            keys = [pl.col("rank")]
        elif "score" in frame.columns and not table.given:
            keys = [-pl.col("score"), pl.col("item")]
        frame = frame.sort("user", *keys, maintain_order=True)
        if "score" not in frame.columns:
            place = pl.int_range(1, pl.len() + 1).over("user")
            frame = frame.with_columns(score=-place.cast(pl.Float64))
        return frame.select("user", "item", pl.col("score").cast(pl.Float64))

    def _account(self, users: pl.Series, cells: ScoredCells, kept: Flags) -> None:
        self.ledger = Ledger()
        has = np.bincount(cells.row, minlength=len(users)) > 0
        example = f"user {users[int((~has).argmax())]!r}" if not has.all() else ""
        self.ledger.count(
            "users_not_served", int((~has).sum()), "users have no list in the predictions",
            of=len(users), example=example, weight="warning",
        )  # fmt: skip
        self.ledger.count(
            "rows_not_served", int((~kept).sum()),
            "items of lists were seen before or are no candidates: left out", of=len(kept),
            weight="notice",
        )  # fmt: skip


def _met(train: Log, history: object) -> pl.DataFrame:
    logs = [train] if history is None else [train, open_log(history)]
    return pl.concat([log.frame.select("user", "item") for log in logs])
