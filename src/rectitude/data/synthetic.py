"""Made-up interactions that look like a shop's: favourites of everybody, and people with tastes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

SHELVES = ("tea", "coffee", "bread", "cheese", "spice", "fruit")
HELD_OUT = 0.25


class Shop(NamedTuple):
    """What customers did: train to learn from, truth to be found."""

    train: pl.DataFrame
    """user, item, grade"""
    truth: pl.DataFrame
    """user, item, grade: 1 looked at, 2 put in the basket, 3 bought"""


def shop(users: int = 300, items: int = 120, seed: int = 7) -> Shop:
    """Interactions of a small shop; equal seeds give equal tables.

    Popularity falls with the item's rank as it does in shops, and each customer prefers some
    shelves. The last item is new: it is in the truth only.
    """
    random = np.random.default_rng(seed)
    who, what = np.nonzero(_chosen(random, users, items))
    grade = random.choice([1, 2, 3], size=len(who), p=[0.6, 0.25, 0.15])
    held_out = (random.random(len(who)) < HELD_OUT) | (what == items - 1)
    return Shop(
        _table(who[~held_out], what[~held_out], grade[~held_out]),
        _table(who[held_out], what[held_out], grade[held_out]),
    )


def _chosen(random: np.random.Generator, users: int, items: int) -> NDArray[np.bool_]:
    """(users, items) who met what: drawn without replacement, by popularity and taste."""
    appeal = -0.9 * np.log1p(random.permutation(items))
    taste = random.dirichlet(np.full(len(SHELVES), 0.3), users)
    shelf = np.arange(items) % len(SHELVES)
    # The largest of log-weights plus Gumbel noise are a weighted draw without replacement.
    noisy = appeal + np.log(taste[:, shelf] + 0.02) + random.gumbel(size=(users, items))
    place = np.argsort(np.argsort(-noisy, axis=1), axis=1)
    chosen: NDArray[np.bool_] = place < random.integers(6, 24, size=(users, 1))
    return chosen


def _table(
    who: NDArray[np.int64], what: NDArray[np.int64], grade: NDArray[np.int64]
) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(
        {
            "user": [f"u{user:04}" for user in who],
            "item": [f"{SHELVES[i % len(SHELVES)]}-{i // len(SHELVES) + 1:02}" for i in what],
            "grade": grade,
        }
    )
