"""Cap or thin the rows of items that are far more popular than the others, so that they do not
dominate a comparison."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Integers, run_starts
from rectitude.data.ids import codes, counts
from rectitude.data.log import Log, choose_rows
from rectitude.options import require_between, require_from
from rectitude.preparing.counting import TwoSides, distinct_pairs
from rectitude.preparing.draws import uniform
from rectitude.preparing.order import introsort, standing

Draws = Literal["content", "numpy"]
ThinTies = Literal["content", "file", "introsort"]


def cap_items(log: Log, *, spread: float = 1.5, seed: int = 0, draws: Draws = "content") -> Log:
    """Keep at most q3 + spread * (q3 - q1) random rows of each item; q1 and q3 are the quartiles of
    the number of users per item, and items with no more users keep all rows.

    `draws` "numpy" shuffles the rows in question as NumPy's RandomState does, in the order of the
    file, as pandas does.
    """
    require_from(spread, "spread", 0)
    items, size = codes(log.frame["item"])
    users, most = codes(log.frame["user"])
    pairs = distinct_pairs(TwoSides(users, items), TwoSides(most, size))
    users_of = counts(pairs.items, size)
    low, high = np.quantile(users_of[users_of > 0], [0.25, 0.75]) if len(items) else (0, 0)
    most_rows = int(high + spread * (high - low))
    capped = np.flatnonzero(users_of[items] > most_rows)
    kept = np.ones(len(items), bool)
    kept[capped] = False
    kept[_choose(log, capped, items[capped], most_rows, seed, draws)] = True
    return choose_rows(log, kept)


def thin_popular_items(
    log: Log, *, above: float = 0.99, share: float = 0.5, ties: ThinTies = "content"
) -> Log:
    """Remove a share of the rows by which popular items exceed all others.

    An item is popular if it has more rows than the quantile `above` of the rows per item; where the
    quantile is between two items, it is halfway. The rows of the users with the most rows go first.
    Among equally active users, the lower id goes first; with `ties` "file", the first row in the
    file; "introsort" is the order in which NumPy's introsort leaves them, as in pandas.
    """
    require_between(above, "above", 0, 1)
    require_between(share, "share", 0, 1)
    if not log.frame.height:
        return log
    items, size = codes(log.frame["item"])
    rows_of = counts(items, size)
    limit = np.quantile(rows_of[rows_of > 0], above, method="midpoint")
    most_others = rows_of[rows_of <= limit].max()
    removed = (share * np.maximum(rows_of - most_others, 0)).astype(np.int64)
    order = _order_by_activity(log, (rows_of > limit)[items], ties)
    return choose_rows(log, standing(log.frame, "item", order).before >= removed[items])


def _order_by_activity(log: Log, popular: Flags, ties: ThinTies) -> list[pl.Series]:
    """Return the columns that sort rows by the number of rows of their user, the most first."""
    users, most = codes(log.frame["user"])
    activity = counts(users, most)[users]
    if ties != "introsort":
        names = [name for name in ("user", "timestamp", "grade") if name in log.frame.columns]
        rest = [log.frame[name] for name in names] if ties == "content" else []
        return [pl.Series(-activity.astype(np.int64)), *rest]
    rows = np.flatnonzero(popular)[::-1]
    place = np.zeros(len(users), np.int64)
    place[rows[introsort(activity[rows].astype(np.int64))][::-1]] = np.arange(len(rows))
    return [pl.Series(place)]


def _choose(
    log: Log, rows: Integers, items: NDArray[np.uint32], most: int, seed: int, draws: Draws
) -> Integers:
    """Return `most` random rows of each item."""
    if draws == "numpy":
        shuffled = np.random.RandomState(seed).permutation(len(rows))
    else:
        shuffled = np.argsort(uniform(log.frame, seed).to_numpy()[rows], kind="stable")
    order = shuffled[np.argsort(items[shuffled], kind="stable")]
    starts = run_starts(items[order].astype(np.int64))
    lengths = np.diff(np.append(starts, len(order)))
    nth = np.arange(len(order)) - np.repeat(starts, lengths)
    return rows[order[nth < most]]
