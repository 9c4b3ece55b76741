"""Existing predictions as a model: lists from a file or a table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from rectitude.arrays import Flags
from rectitude.data.columns import require_order
from rectitude.data.ids import cast_ids_like, ids_alone, numbers_in
from rectitude.data.ledger import Ledger
from rectitude.data.log import Log, open_log
from rectitude.data.read import read
from rectitude.errors import NothingToEvaluate
from rectitude.models.matrix import offer_of, pairs_in
from rectitude.models.ranking import Limits, ScoredCells, rank_of
from rectitude.models.recommender import choose_users


@dataclass(slots=True)
class Served:
    """A model that learns nothing: it returns the lists of a source, without items seen before.

    `source` is anything that `evaluate` takes as lists: a file in any format, a frame, `rt.Lists`.
    Lists are cut to k items. Users without a list in the source get no list and are counted.
    """

    source: object
    ledger: Ledger = field(default_factory=Ledger)
    train: Log | None = field(default=None, repr=False)
    lists: pl.DataFrame | None = field(default=None, repr=False)
    unknown_users: str = "empty"
    unknown_items: str = "as in the lists"
    name: str = "predictions"

    def fit(self, train: object) -> Served:
        """Read the lists; the training data shows what was seen, and the type of ids."""
        self.train = open_log(train)
        self.lists = self._read_lists(self.train)
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
        """Return the lists of users as in the source, with columns user, item, score and rank."""
        if self.train is None or self.lists is None:
            raise NothingToEvaluate(
                "the model 'predictions' is not fitted.", "fit(train) before recommend."
            )
        lists = self.lists
        chosen = choose_users(users, lists["user"])
        items = lists["item"].unique().sort()
        seen = _pairs_seen(self.train, history) if seen is None else seen
        offer = None if candidates is None else offer_of(candidates, chosen, items)
        limits = Limits(np.arange(len(chosen)), len(items), pairs_in(seen, chosen, items), offer)
        user, item = numbers_in(lists["user"], chosen), numbers_in(lists["item"], items)
        rows = np.flatnonzero(user >= 0)
        rows = rows[np.argsort(user[rows], kind="stable")]
        cells = ScoredCells(user[rows], item[rows], rows.astype(np.float64))
        allowed = limits.allows(cells)
        self._account(chosen, cells, allowed)
        cells = cells.where(allowed)
        cells = cells.where(rank_of(cells.row) <= k)
        result = lists[cells.score.astype(np.int64)]
        ids = [result[name].cast(self.train.frame[name].dtype) for name in ("user", "item")]
        return result.with_columns(*ids, rank=rank_of(cells.row))

    def _read_lists(self, train: Log) -> pl.DataFrame:
        """Return the lists in order: by rank, or as given, or by score and item."""
        table = read(self.source, "predictions")
        require_order(table)
        frame = cast_ids_like(table, ids_alone(train.frame))
        keys: list[pl.Expr] = []
        if "rank" in frame.columns:
            keys = [pl.col("rank")]
        elif "score" in frame.columns and not table.given:
            keys = [-pl.col("score"), pl.col("item")]
        frame = frame.sort("user", *keys, maintain_order=True)
        if "score" not in frame.columns:
            rank = pl.int_range(1, pl.len() + 1).over("user")
            frame = frame.with_columns(score=-rank.cast(pl.Float64))
        return frame.select("user", "item", pl.col("score").cast(pl.Float64))

    def _account(self, users: pl.Series, cells: ScoredCells, allowed: Flags) -> None:
        self.ledger = Ledger()
        served = np.bincount(cells.row, minlength=len(users)) > 0
        example = f"user {users[int((~served).argmax())]!r}" if not served.all() else ""
        self.ledger.count(
            "users_not_served", int((~served).sum()), "users have no list in the predictions",
            of=len(users), example=example, weight="warning",
        )  # fmt: skip
        self.ledger.count(
            "rows_not_served", int((~allowed).sum()),
            "items of lists were left out: seen before, or not candidates", of=len(allowed),
            weight="notice",
        )  # fmt: skip


def _pairs_seen(train: Log, history: object) -> pl.DataFrame:
    logs = [train] if history is None else [train, open_log(history)]
    return pl.concat([log.frame.select("user", "item") for log in logs])
