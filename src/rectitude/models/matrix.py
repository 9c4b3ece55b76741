"""What models see, in numbers: train as a sparse matrix, with its users and items in the order of
their ids; what is known of the users who are recommended to; and what each of them may be
recommended, or may not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, Ragged, distinct, offsets_of, run_starts
from rectitude.candidates.value import Candidates, stored
from rectitude.data.ids import fitted, fitting, ids_alone, numbers_in
from rectitude.data.log import Log, chosen
from rectitude.data.objects import are_ids
from rectitude.data.read import read
from rectitude.data.table import Table
from rectitude.errors import NothingToEvaluate
from rectitude.prepare.order import Order, by_time

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
    ids = ids_alone(log.frame)
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


@dataclass(frozen=True, slots=True)
class UserProfiles:
    """One entry for each user who is recommended to."""

    users: pl.Series
    number: Integers
    """in train; -1 for a user who is not there"""
    met: Sparse
    """(users x items of train) 1 where the user had the item, in train or in his history"""
    rows: Sparse
    """(users x items of train) what the pair weighs"""
    last: Integers
    """the item of train that comes last in the history; -1 where there is none"""
    shown: Flags
    """who has a history beside train"""

    def __len__(self) -> int:
        return len(self.number)

    def take(self, places: Integers) -> UserProfiles:
        """Some of the users."""
        some = self.users.gather(places), self.number[places], self.met[places], self.rows[places]
        return UserProfiles(*some, self.last[places], self.shown[places])


def profiles_of(matrix: Matrix, users: pl.Series, history: Log | None) -> UserProfiles:
    """The profiles of users, of whom some may be unknown to train."""
    number = numbers_in(users, matrix.users)
    met, rows = _rows_of(matrix.met, number), _rows_of(matrix.weighted, number)
    last, shown = np.full(len(users), -1), np.zeros(len(users), np.bool_)
    if history is None or history.frame.is_empty():
        return UserProfiles(users, number, met, rows, last, shown)
    user, item = _places(matrix, users, history)
    inside = user >= 0
    shown[user[inside]] = True
    known = inside & (item >= 0)
    user, item, part = user[known], item[known], chosen(history, known)
    size = len(users), len(matrix.items)
    kinds: tuple[Weights, Weights] = ("binary", matrix.weights)
    more = [cells(user, item, worth(part, kind), size, kind) for kind in kinds]
    last = last_items(part, user, item, len(users))
    met, rows = met.maximum(more[0]), _joined(rows, more[1], matrix.weights)
    return UserProfiles(users, number, met.tocsr(), rows.tocsr(), last, shown)


def _rows_of(matrix: Sparse, number: Integers) -> Sparse:
    """The rows of users; one without entries for a user who has none."""
    from scipy.sparse import csr_array, vstack

    nothing = csr_array((1, matrix.shape[1]))
    return vstack([matrix, nothing], format="csr")[np.where(number < 0, matrix.shape[0], number)]


def _places(matrix: Matrix, users: pl.Series, history: Log) -> tuple[Integers, Integers]:
    """For each row of a history the place of its user, and the number of its item in train."""
    ids = ids_alone(history.frame)
    found = [
        numbers_in(fitted(ids[side], known.dtype, history.source), known)
        for side, known in (("user", users), ("item", matrix.items))
    ]
    return found[0], found[1]


def _joined(one: Sparse, other: Sparse, weights: Weights) -> Sparse:
    return one + other if weights == "count" else one.maximum(other)


def last_items(log: Log, user: Integers, item: Integers, users: int) -> Integers:
    """(users) the item of the last row of each, in time or, without timestamps, as rows stand."""
    last = np.full(users, -1)
    if len(user):
        ends = by_time(log, "user", order=order_of(log)).after == 0
        last[user[ends]] = item[ends]
    return last


def order_of(log: Log) -> Order:
    """By time where rows have one, else as they stand."""
    return "time" if "timestamp" in log.frame.columns else "file"


@dataclass(frozen=True, slots=True)
class Offer:
    """Candidates in numbers."""

    shared: Integers | None
    """items that everybody may be recommended, ascending"""
    own: Ragged | None
    """the items of each user, where they differ"""
    owner: Flags
    """(users) who has candidates"""
    unknown: int
    """candidates that no model can score, since nothing is known of their items"""
    example: str


def pairs_of(user: Integers, item: Integers, size: tuple[int, int]) -> Ragged:
    """(users) the items of each, ascending and each once, from pairs in any order; those with a
    number below 0 are left out."""
    both = (user >= 0) & (item >= 0)
    key = distinct(user[both] * size[1] + item[both])
    return Ragged(offsets_of(key // size[1], size[0]), key % size[1])


def pairs_in(table: object, users: pl.Series, items: pl.Series) -> Ragged:
    """The pairs of a table, by their places among users and items."""
    frame = fitting(read(table, "train"), _model(users, items))
    user, item = numbers_in(frame["user"], users), numbers_in(frame["item"], items)
    return pairs_of(user, item, (len(users), len(items)))


def offer_of(candidates: object, users: pl.Series, items: pl.Series) -> Offer:
    """Candidates of any form: a value, the file of one, a table of users and items, items alone."""
    source = stored(candidates)
    if isinstance(source, Candidates):
        if "user" in source.frame.columns:
            return _own(read(source.frame.select("user", "item"), "candidates"), users, items)
        ids = fitted(source.frame["item"], items.dtype, "the candidates")
        whose = fitted(source.owners, users.dtype, "the candidates")
        return _shared(ids, numbers_in(users, whose.unique()) >= 0, items)
    if are_ids(source):
        table = read(source, "items")
        ids = fitted(table.frame["item"], items.dtype, table.source, table.text)
        return _shared(ids, np.ones(len(users), np.bool_), items)
    return _own(read(source, "candidates"), users, items)


def _shared(ids: pl.Series, owner: Flags, items: pl.Series) -> Offer:
    ids = ids.unique().sort()
    number = numbers_in(ids, items)
    return Offer(number[number >= 0], None, owner, *_unknown(ids, number))


def _own(table: Table, users: pl.Series, items: pl.Series) -> Offer:
    frame = fitting(table, _model(users, items))
    user, item = numbers_in(frame["user"], users), numbers_in(frame["item"], items)
    mine = user >= 0
    owner = np.zeros(len(users), np.bool_)
    owner[user[mine]] = True
    own = pairs_of(user, item, (len(users), len(items)))
    return Offer(None, own, owner, *_unknown(frame["item"].filter(mine), item[mine]))


def _model(users: pl.Series, items: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"user": users.clear(), "item": items.clear()})


def _unknown(ids: pl.Series, number: Integers) -> tuple[int, str]:
    """How many candidates have no number, and the first of them."""
    gone = np.flatnonzero(number < 0)
    return len(gone), f"item {ids[int(gone[0])]!r}" if len(gone) else ""
