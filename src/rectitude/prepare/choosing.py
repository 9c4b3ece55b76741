"""Steps that choose items, or some interactions of each user, or some users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rectitude.data.log import Log
from rectitude.errors import BadName
from rectitude.prepare.counting import Repeats
from rectitude.prepare.draws import numbers
from rectitude.prepare.ids import ranks
from rectitude.prepare.order import End, Ties, nearest_to

if TYPE_CHECKING:
    import polars as pl


def popular_items(log: Log, *, n: int, repeats: Repeats = "counted") -> Log:
    """The n items with the most rows (or users); of equally popular ones, those of lower id."""
    import polars as pl

    once = pl.col("user").n_unique() if repeats == "once" else pl.len()
    return _items(log, n, once.alias("weight"))


def recent_items(log: Log, *, n: int) -> Log:
    """The n items whose last interaction is the most recent; of equals, those of lower id."""
    import polars as pl

    log.require("timestamp", "recent_items")
    return _items(log, n, pl.col("timestamp").max().alias("weight"))


def _items(log: Log, n: int, weight: pl.Expr) -> Log:
    import polars as pl

    _require(n, "n")
    items = log.frame.group_by("item").agg(weight)
    chosen = items.sort("weight", "item", descending=[True, False]).head(n)
    return log.with_frame(log.frame.filter(pl.col("item").is_in(chosen["item"].implode())))


def latest(log: Log, *, n: int, ties: Ties = "content") -> Log:
    """The n most recent interactions of each user."""
    _require(n, "n")
    log.require("timestamp", "latest")
    return _at_the_end(log, "latest", n, ties)


def earliest(log: Log, *, n: int, ties: Ties = "content") -> Log:
    """The n first interactions of each user."""
    _require(n, "n")
    log.require("timestamp", "earliest")
    return _at_the_end(log, "earliest", n, ties)


def _at_the_end(log: Log, end: End, n: int, ties: Ties) -> Log:
    import polars as pl

    return log.with_frame(log.frame.filter(pl.Series(nearest_to(log.frame, end, n, ties))))


def sample_users(
    log: Log, *, n: int | None = None, share: float | None = None, seed: int = 0
) -> Log:
    """All rows of n users, or of a share of the users, drawn by the seed."""
    import polars as pl

    users = ranks(log.frame["user"])
    size = users.n_unique()
    wanted = _wanted(n, share, size)
    drawn = np.argsort(numbers(seed, np.arange(size)), kind="stable")[:wanted]
    kept = np.zeros(size, bool)
    kept[drawn] = True
    return log.with_frame(log.frame.filter(pl.Series(kept[users.to_numpy()])))


def _wanted(n: int | None, share: float | None, size: int) -> int:
    if (n is None) == (share is None):
        raise BadName(f"n is {n} and share is {share}.", "one of them.")
    if share is not None:
        if not 0 < share <= 1:
            raise BadName(f"share is {share}.", "more than 0, and at most 1.")
        return max(round(share * size), 1)
    count = int(n or 0)
    _require(count, "n")
    if count > size:
        raise BadName(f"n is {count:,}, and there are {size:,} users.", "at most as many.")
    return count


def _require(n: int, name: str) -> None:
    if n < 1:
        raise BadName(f"{name} is {n}.", "1 or more.")
