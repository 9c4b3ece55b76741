"""The items that lists, catalogue and training name: their ids, and what training held of each.

The catalogue is what `items=` says, else the columns of dense scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, distinct, places
from rectitude.data.ids import Column, align
from rectitude.data.sources import Sources

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Stock:
    """All items of one evaluation, by number."""

    ids: pl.Series
    """(items,) sorted"""
    listed: Integers
    """the number of each listed item, as lists number their items, and -1 for none"""
    catalogue: Flags | None
    """(items,) whether the item is in the catalogue; None if nobody says what that is"""
    item: Integers
    """(rows of train) the number of the item"""
    user: Integers
    """(rows of train) the number of the user"""

    @cached_property
    def rows(self) -> Integers:
        """(items,) rows of train with the item."""
        return np.bincount(self.item, minlength=len(self.ids))

    @cached_property
    def users(self) -> Integers:
        """(items,) users who had the item in training."""
        size = len(self.ids)
        return np.bincount(distinct(self.user * size + self.item) % size, minlength=size)

    @cached_property
    def everyone(self) -> int:
        """How many users there are in train."""
        return len(distinct(self.user))

    @cached_property
    def bits(self) -> Floats:
        """(items,) log2(users of train / users who had the item, at least 1)."""
        found: Floats = np.log2(max(self.everyone, 1) / np.maximum(self.users, 1))
        return found

    def popularity(self, repeats: float) -> Integers:
        """(items,) rows of train with the item, or users if rows that repeat one do not count."""
        return self.rows if repeats else self.users

    def tail(self, head: float, repeats: float) -> Flags:
        """(items,) the items of train but the most popular, up to the one with which these hold
        this share of the rows; of equally popular ones the first ids are more popular."""
        popularity = self.popularity(repeats)
        order = np.argsort(-popularity, kind="stable")
        before = np.cumsum(popularity[order]) - popularity[order]
        tail = popularity > 0
        tail[order[before < head * popularity.sum()]] = False
        return tail

    def times(self, shown: Integers) -> Integers:
        """(items,) how often each item stands in places of lists."""
        numbers = self.listed[shown]
        return np.bincount(numbers[numbers >= 0], minlength=len(self.ids))

    def total(self, worth: Floats, shown: Integers) -> Floats:
        """(lists,) the sum of what the items in the places of each list are worth."""
        total: Floats = np.append(worth, 0.0)[self.listed[shown]].sum(axis=1)
        return total


def stock(listed: Column, sources: Sources) -> Stock:
    """The items of the lists, in the order in which these number them, with all others."""
    columns = {"listed": listed}
    for side, table in (("items", sources.items), ("train", sources.train)):
        if table is not None:
            columns[side] = Column(table.frame["item"], table.source, table.text)
    ids = align(columns, "item")
    known = distinct(np.concatenate([codes.whole for codes in ids.codes.values()]))
    number = {side: places(known, codes.whole) for side, codes in ids.codes.items()}
    offered = number.get("items")
    if offered is None and sources.dense is not None:
        padding = sources.dense.padding
        offered = number["listed"] if padding is None else np.delete(number["listed"], padding)
    users = np.zeros(0, np.int64)
    if sources.train is not None:
        users = sources.train.frame["list"].rank("dense").to_numpy().astype(np.int64)
    return Stock(
        ids.labels(known),
        np.append(number["listed"], -1),
        None if offered is None else np.bincount(offered, minlength=len(known)) > 0,
        number.get("train", users),
        users,
    )


def united(
    left: pl.Series | None, right: pl.Series | None
) -> tuple[pl.Series | None, tuple[Integers, Integers] | None]:
    """The items of two batches, sorted, and the place of each batch's items among them; None for
    items that stand for themselves, and for places that are the same already."""
    if left is None or right is None or left.equals(right):
        return left, None
    ids = align({"left": Column(left, "a batch"), "right": Column(right, "another")}, "item")
    mine, theirs = (ids.codes[side].whole for side in ("left", "right"))
    known = distinct(np.concatenate((mine, theirs)))
    return ids.labels(known), (places(known, mine), places(known, theirs))
