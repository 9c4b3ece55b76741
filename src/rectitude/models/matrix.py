"""Train as a sparse matrix, with its users and items in the order of their ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rectitude.arrays import Floats, Integers, offsets_of, run_starts
from rectitude.candidates.ids import plain
from rectitude.data.log import Log
from rectitude.errors import NothingToEvaluate

if TYPE_CHECKING:
    import polars as pl

Weights = Literal["binary", "count", "grade"]
"""What a user and an item weigh that meet in train: 1, the number of rows, the highest grade."""
Sparse = Any
"""a scipy.sparse.csr_array, whose rows hold ascending columns, each once"""


@dataclass(frozen=True, slots=True)
class Matrix:
    """What users had: a row for each user, a column for each item, in the order of their ids."""

    log: Log
    users: pl.Series
    """sorted, each once; categories as the text they stand for"""
    items: pl.Series
    user: Integers
    """(rows of the log) the number of the user"""
    item: Integers
    met: Sparse
    """1 wherever a user had an item"""
    weighted: Sparse
    """what the pair weighs; nothing is stored where that is not above 0"""
    weights: Weights

    @property
    def popularity(self) -> Floats:
        """(items) how many users had each."""
        return np.bincount(self.met.indices, minlength=len(self.items)).astype(np.float64)


def matrix_of(log: Log, weights: Weights) -> Matrix:
    """A log as a matrix. The order of its rows plays no part."""
    if log.frame.is_empty():
        raise NothingToEvaluate(f"{log.source} has no rows.", "interactions to learn from.")
    ids = plain(log.frame)
    users, items = (ids[side].unique().sort() for side in ("user", "item"))
    user, item = numbers_in(ids["user"], users), numbers_in(ids["item"], items)
    size = len(users), len(items)
    met = cells(user, item, worth(log, "binary"), size, "binary")
    weighted = met
    if weights != "binary":
        weighted = cells(user, item, worth(log, weights), size, weights)
    return Matrix(log, users, items, user, item, met, weighted, weights)


def worth(log: Log, weights: Weights) -> Floats:
    """(rows) what each row of a log weighs."""
    if weights == "grade":
        log.require("grade", "weights='grade'")
        grades: Floats = log.frame["grade"].to_numpy().astype(np.float64)
        return grades
    return np.ones(log.frame.height)


def numbers_in(ids: pl.Series, known: pl.Series) -> Integers:
    """The number of each id among known ones, -1 where it is none of them."""
    import polars as pl

    places = pl.DataFrame({"id": known}).with_row_index("number")
    asked = pl.DataFrame({"id": ids.cast(known.dtype)})
    found = asked.join(places, on="id", how="left", maintain_order="left")["number"]
    return found.cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int64)


_MERGED: Mapping[Weights, Callable[[Floats, Integers], Floats]] = {
    "binary": lambda _, starts: np.ones(len(starts)),
    "count": np.add.reduceat,
    "grade": np.maximum.reduceat,
}


def cells(
    row: Integers, item: Integers, values: Floats, size: tuple[int, int], weights: Weights
) -> Sparse:
    """Pairs as a matrix; what comes several times is merged as the weights say."""
    from scipy.sparse import csr_array

    key = row * size[1] + item
    order = np.argsort(key, kind="stable")
    starts = run_starts(key[order])
    key = key[order][starts]
    data = _MERGED[weights](values[order], starts) if len(starts) else np.zeros(0)
    key, data = key[data > 0], data[data > 0]
    return csr_array((data, key % size[1], offsets_of(key // size[1], size[0])), shape=size)
