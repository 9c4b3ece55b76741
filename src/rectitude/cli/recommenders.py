"""Two simple recommenders for the demo: what everybody takes, and what goes with what one has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

DEPTH = 20


def popularity(train: pl.DataFrame) -> pl.DataFrame:
    """Everybody's favourites, without what the user has; equal counts are ties."""
    users, items, seen = _matrix(train)
    scores = np.broadcast_to(seen.sum(axis=0), seen.shape)
    return _lists(users, items, scores, seen)


def neighbours(train: pl.DataFrame) -> pl.DataFrame:
    """Items that the same people took, by cosine; the last user is left without a list."""
    users, items, seen = _matrix(train)
    together = seen.T @ seen
    sizes = np.sqrt(np.diag(together))
    alike = together / np.outer(sizes, sizes)
    scores = np.round(seen @ alike, 3)
    return _lists(users[:-1], items, scores[:-1], seen[:-1])


def _matrix(train: pl.DataFrame) -> tuple[NDArray[np.str_], NDArray[np.str_], NDArray[np.float64]]:
    """The users, the items, and (users, items) 1 where they met."""
    users, rows = np.unique(train["user"].to_numpy(), return_inverse=True)
    items, columns = np.unique(train["item"].to_numpy(), return_inverse=True)
    seen = np.zeros((len(users), len(items)))
    seen[rows, columns] = 1.0
    return users, items, seen


def _lists(
    users: NDArray[np.str_],
    items: NDArray[np.str_],
    scores: NDArray[np.float64],
    seen: NDArray[np.float64],
) -> pl.DataFrame:
    """The best unseen items of each user, with their scores."""
    import polars as pl

    open_scores = np.where(seen > 0, -np.inf, scores)
    best = np.argsort(-open_scores, axis=1, kind="stable")[:, :DEPTH]
    return pl.DataFrame(
        {
            "user": np.repeat(users, DEPTH),
            "item": items[best].ravel(),
            "score": np.take_along_axis(open_scores, best, axis=1).ravel(),
        }
    )
