"""What is known of the users who are recommended to: what they had in train and were shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Flags, Integers
from rectitude.candidates.ids import fitted, plain
from rectitude.data.log import Log, chosen
from rectitude.models.matrix import Matrix, Sparse, Weights, cells, numbers_in, worth
from rectitude.prepare.order import Order, by_time

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Profiles:
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

    def take(self, places: Integers) -> Profiles:
        """Some of the users."""
        some = self.users.gather(places), self.number[places], self.met[places], self.rows[places]
        return Profiles(*some, self.last[places], self.shown[places])


def profiles_of(matrix: Matrix, users: pl.Series, history: Log | None) -> Profiles:
    """The profiles of users, of whom some may be unknown to train."""
    number = numbers_in(users, matrix.users)
    met, rows = _rows_of(matrix.met, number), _rows_of(matrix.weighted, number)
    last, shown = np.full(len(users), -1), np.zeros(len(users), np.bool_)
    if history is None or history.frame.is_empty():
        return Profiles(users, number, met, rows, last, shown)
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
    return Profiles(users, number, met.tocsr(), rows.tocsr(), last, shown)


def _rows_of(matrix: Sparse, number: Integers) -> Sparse:
    """The rows of users; one without entries for a user who has none."""
    from scipy.sparse import csr_array, vstack

    nothing = csr_array((1, matrix.shape[1]))
    return vstack([matrix, nothing], format="csr")[np.where(number < 0, matrix.shape[0], number)]


def _places(matrix: Matrix, users: pl.Series, history: Log) -> tuple[Integers, Integers]:
    """For each row of a history the place of its user, and the number of its item in train."""
    ids = plain(history.frame)
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
