"""What models see, as numbers: the training data as a sparse matrix, the profiles of the users to
recommend to, and which items each of them may be recommended. Users and items are numbered in the
order of their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, Ragged, distinct, offsets_of, run_starts
from rectitude.candidate_sets.value import Candidates, load_stored
from rectitude.data.ids import cast_ids_like, fit_ids, ids_alone, numbers_in
from rectitude.data.log import Log, choose_rows
from rectitude.data.objects import are_ids
from rectitude.data.read import read
from rectitude.data.table import Table
from rectitude.errors import NothingToEvaluate
from rectitude.preparing.order import Order, by_time

Weights = Literal["binary", "count", "grade"]
"""The weight of a user and an item in the training data: 1, their number of rows, or the highest
grade."""
Sparse = Any
"""a scipy.sparse.csr_array whose rows hold distinct columns in ascending order"""


@dataclass(frozen=True, slots=True)
class Matrix:
    """The training data: a row for each user and a column for each item, in the order of ids."""

    log: Log
    users: pl.Series
    """sorted and distinct; categories are converted to text"""
    items: pl.Series
    user: Integers
    """(rows of the log) the number of the user"""
    item: Integers
    seen: Sparse
    """1 for every user and item with an interaction"""
    weighted: Sparse
    """the weight of each pair; only weights above 0 are stored"""
    weights: Weights

    @property
    def popularity(self) -> Floats:
        """(items) the number of users of each item."""
        return np.bincount(self.seen.indices, minlength=len(self.items)).astype(np.float64)


def matrix_of(log: Log, weights: Weights) -> Matrix:
    """Return a log as a matrix. The order of its rows does not matter."""
    if log.frame.is_empty():
        raise NothingToEvaluate(f"{log.source} has no rows.", "interactions to learn from.")
    ids = ids_alone(log.frame)
    users, items = (ids[side].unique().sort() for side in ("user", "item"))
    user, item = numbers_in(ids["user"], users), numbers_in(ids["item"], items)
    size = len(users), len(items)
    seen = build_matrix(user, item, row_weights(log, "binary"), size, "binary")
    weighted = seen
    if weights != "binary":
        weighted = build_matrix(user, item, row_weights(log, weights), size, weights)
    return Matrix(log, users, items, user, item, seen, weighted, weights)


def row_weights(log: Log, weights: Weights) -> Floats:
    """Return (rows) the weight of each row of a log."""
    if weights == "grade":
        log.require("grade", "weights='grade'")
        grades: Floats = log.frame["grade"].to_numpy().astype(np.float64)
        return grades
    return np.ones(log.frame.height)


_MERGE: Mapping[Weights, Callable[[Floats, Integers], Floats]] = {
    "binary": lambda _, starts: np.ones(len(starts)),
    "count": np.add.reduceat,
    "grade": np.maximum.reduceat,
}


def build_matrix(
    row: Integers, item: Integers, values: Floats, size: tuple[int, int], weights: Weights
) -> Sparse:
    """Return pairs as a matrix; the weights decide how repeated pairs are merged."""
    from scipy.sparse import csr_array

    key = row * size[1] + item
    order = np.argsort(key, kind="stable")
    starts = run_starts(key[order])
    key = key[order][starts]
    data = _MERGE[weights](values[order], starts) if len(starts) else np.zeros(0)
    key, data = key[data > 0], data[data > 0]
    return csr_array((data, key % size[1], offsets_of(key // size[1], size[0])), shape=size)


@dataclass(frozen=True, slots=True)
class UserProfiles:
    """The profiles of the users to recommend to."""

    users: pl.Series
    number: Integers
    """their row in the training data; -1 for a user who is not in it"""
    seen: Sparse
    """(users x items) 1 if the user had the item in the training data or in their history"""
    rows: Sparse
    """(users x items) the weight of the pair"""
    last: Integers
    """the last item of the history that is in the training data; -1 if there is none"""
    shown: Flags
    """which users have a history in addition to the training data"""

    def __len__(self) -> int:
        return len(self.number)

    def take(self, positions: Integers) -> UserProfiles:
        """Return the profiles at some positions."""
        fields = (
            self.users.gather(positions),
            self.number[positions],
            self.seen[positions],
            self.rows[positions],
        )
        return UserProfiles(*fields, self.last[positions], self.shown[positions])


def profiles_of(matrix: Matrix, users: pl.Series, history: Log | None) -> UserProfiles:
    """Return the profiles of users, some of whom may not be in the training data."""
    number = numbers_in(users, matrix.users)
    seen, rows = _select_rows(matrix.seen, number), _select_rows(matrix.weighted, number)
    last, shown = np.full(len(users), -1), np.zeros(len(users), np.bool_)
    if history is None or history.frame.is_empty():
        return UserProfiles(users, number, seen, rows, last, shown)
    user, item = _number_history(matrix, users, history)
    inside = user >= 0
    shown[user[inside]] = True
    known = inside & (item >= 0)
    user, item, log = user[known], item[known], choose_rows(history, known)
    size = len(users), len(matrix.items)
    kinds: tuple[Weights, Weights] = ("binary", matrix.weights)
    more = [build_matrix(user, item, row_weights(log, kind), size, kind) for kind in kinds]
    last = last_items(log, user, item, len(users))
    seen, rows = seen.maximum(more[0]), _join(rows, more[1], matrix.weights)
    return UserProfiles(users, number, seen.tocsr(), rows.tocsr(), last, shown)


def _select_rows(matrix: Sparse, number: Integers) -> Sparse:
    """Return the rows of users; an empty row for a user who has none."""
    from scipy.sparse import csr_array, vstack

    empty = csr_array((1, matrix.shape[1]))
    return vstack([matrix, empty], format="csr")[np.where(number < 0, matrix.shape[0], number)]


def _number_history(matrix: Matrix, users: pl.Series, history: Log) -> tuple[Integers, Integers]:
    """Return the number of the user, and of the item in the training data, of each history row."""
    ids = ids_alone(history.frame)
    numbers = [
        numbers_in(fit_ids(ids[side], known.dtype, history.source), known)
        for side, known in (("user", users), ("item", matrix.items))
    ]
    return numbers[0], numbers[1]


def _join(rows: Sparse, more: Sparse, weights: Weights) -> Sparse:
    return rows + more if weights == "count" else rows.maximum(more)


def last_items(log: Log, user: Integers, item: Integers, users: int) -> Integers:
    """Return (users) the item of the last row of each, by time or, without timestamps, by row."""
    last = np.full(users, -1)
    if len(user):
        ends = by_time(log, "user", order=order_of(log)).after == 0
        last[user[ends]] = item[ends]
    return last


def order_of(log: Log) -> Order:
    """Return "time" if rows have timestamps, otherwise "file"."""
    return "time" if "timestamp" in log.frame.columns else "file"


@dataclass(frozen=True, slots=True)
class Offer:
    """Candidates as numbers."""

    shared: Integers | None
    """items that every user may be recommended, ascending"""
    own: Ragged | None
    """the items of each user, if users have different ones"""
    owner: Flags
    """(users) who has candidates"""
    unknown: int
    """how many candidates cannot be scored, because the model does not know the item"""
    example: str


def pairs_of(user: Integers, item: Integers, size: tuple[int, int]) -> Ragged:
    """Return (users) the items of each user, ascending and distinct, from pairs in any order.
    Pairs with a negative number are left out."""
    both = (user >= 0) & (item >= 0)
    key = distinct(user[both] * size[1] + item[both])
    return Ragged(offsets_of(key // size[1], size[0]), key % size[1])


def pairs_in(table: object, users: pl.Series, items: pl.Series) -> Ragged:
    """Return the pairs of a table as numbers of users and items."""
    frame = cast_ids_like(read(table, "train"), _id_types(users, items))
    user, item = numbers_in(frame["user"], users), numbers_in(frame["item"], items)
    return pairs_of(user, item, (len(users), len(items)))


def offer_of(candidates: object, users: pl.Series, items: pl.Series) -> Offer:
    """Return candidates of any form: `Candidates` or their file, user-item pairs, or only items."""
    source = load_stored(candidates)
    if isinstance(source, Candidates):
        if "user" in source.frame.columns:
            return _offer_by_user(
                read(source.frame.select("user", "item"), "candidates"), users, items
            )
        ids = fit_ids(source.frame["item"], items.dtype, "the candidates")
        owners = fit_ids(source.owners, users.dtype, "the candidates")
        return _offer_to_all(ids, numbers_in(users, owners.unique()) >= 0, items)
    if are_ids(source):
        table = read(source, "items")
        ids = fit_ids(table.frame["item"], items.dtype, table.source, table.text)
        return _offer_to_all(ids, np.ones(len(users), np.bool_), items)
    return _offer_by_user(read(source, "candidates"), users, items)


def _offer_to_all(ids: pl.Series, owner: Flags, items: pl.Series) -> Offer:
    ids = ids.unique().sort()
    number = numbers_in(ids, items)
    return Offer(number[number >= 0], None, owner, *_count_unknown(ids, number))


def _offer_by_user(table: Table, users: pl.Series, items: pl.Series) -> Offer:
    frame = cast_ids_like(table, _id_types(users, items))
    user, item = numbers_in(frame["user"], users), numbers_in(frame["item"], items)
    wanted = user >= 0
    owner = np.zeros(len(users), np.bool_)
    owner[user[wanted]] = True
    pairs = pairs_of(user, item, (len(users), len(items)))
    return Offer(None, pairs, owner, *_count_unknown(frame["item"].filter(wanted), item[wanted]))


def _id_types(users: pl.Series, items: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"user": users.clear(), "item": items.clear()})


def _count_unknown(ids: pl.Series, number: Integers) -> tuple[int, str]:
    """Return how many candidates have no number, and the first of them."""
    unknown = np.flatnonzero(number < 0)
    return len(unknown), f"item {ids[int(unknown[0])]!r}" if len(unknown) else ""
