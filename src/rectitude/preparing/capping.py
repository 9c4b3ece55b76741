"""Cap the rows of items that are far more popular than the others, so that they do not dominate
a comparison."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Integers, run_starts
from rectitude.data.ids import codes, counts
from rectitude.data.log import Log, choose_rows
from rectitude.options import require_from
from rectitude.preparing.counting import TwoSides, distinct_pairs
from rectitude.preparing.draws import uniform

Draws = Literal["content", "numpy"]


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
