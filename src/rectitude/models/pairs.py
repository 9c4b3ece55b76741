"""Users and items that belong together: what a user may be recommended, or may not."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Flags, Integers, distinct, offsets_of
from rectitude.candidates.ids import fitted, fitting
from rectitude.candidates.value import Candidates, stored
from rectitude.data.read import read
from rectitude.models.matrix import numbers_in

if TYPE_CHECKING:
    import polars as pl

    from rectitude.data.table import Table


@dataclass(frozen=True, slots=True)
class Pairs:
    """Some items for each user, by number: those of user u are `item[start[u]:start[u + 1]]`."""

    start: Integers
    item: Integers
    """ascending within a user, each once"""

    @property
    def sizes(self) -> Integers:
        """(users) how many items each has."""
        return np.diff(self.start)

    def of(self, places: Integers) -> tuple[Integers, Integers]:
        """The pairs of some users: their place among these, and the item."""
        sizes = self.sizes[places]
        row = np.repeat(np.arange(len(places)), sizes)
        first = np.repeat(self.start[places] - np.cumsum(sizes) + sizes, sizes)
        return row, self.item[np.arange(len(row)) + first]


@dataclass(frozen=True, slots=True)
class Offer:
    """Candidates in numbers."""

    shared: Integers | None
    """items that everybody may be recommended, ascending"""
    own: Pairs | None
    """the items of each user, where they differ"""
    owner: Flags
    """(users) who has candidates"""
    unknown: int
    """candidates that no model can score, since nothing is known of their items"""
    example: str


def pairs_of(user: Integers, item: Integers, size: tuple[int, int]) -> Pairs:
    """Pairs in any order, possibly repeated; those with a number below 0 are left out."""
    both = (user >= 0) & (item >= 0)
    key = distinct(user[both] * size[1] + item[both])
    return Pairs(offsets_of(key // size[1], size[0]), key % size[1])


def pairs_in(table: object, users: pl.Series, items: pl.Series) -> Pairs:
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
    if _ids_alone(source):
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


def _ids_alone(source: object) -> bool:
    """Whether these are ids of items, no rows."""
    import polars as pl

    if isinstance(source, (list, tuple)):
        return not any(isinstance(row, (tuple, list, dict)) for row in source)
    return isinstance(source, (pl.Series, np.ndarray, Set))


def _model(users: pl.Series, items: pl.Series) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame({"user": users.clear(), "item": items.clear()})


def _unknown(ids: pl.Series, number: Integers) -> tuple[int, str]:
    """How many candidates have no number, and the first of them."""
    gone = np.flatnonzero(number < 0)
    return len(gone), f"item {ids[int(gone[0])]!r}" if len(gone) else ""
