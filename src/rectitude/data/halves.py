"""Head and tail: the items of one evaluation, parted by how popular they are in training."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rectitude.arrays import Flags, Integers
from rectitude.data.attributes import Groups
from rectitude.data.stock import Stock
from rectitude.errors import unknown_name

HEAD, TAIL = 0, 1
BORDERS = ("reached", "passed")
TAILS = ("train", "catalogue")


def halves(
    stock: Stock, head: float, repeats: float, border: str, tail: str, equals: str
) -> Groups:
    """The group of each item: 0 for the head, the most popular items up to the one with which they
    reach this share of train, or pass it; 1 for the tail, the others of train or of the catalogue.

    Of equally popular items, those with the first values in the column `equals` of the items are
    more popular; `item` stands for the ids.
    """
    own = (head, repeats, border, tail, equals)
    return stock.kept(("halves", *own), lambda: _halves(stock, *own))


def in_tail(stock: Stock, *own: Any) -> Flags:
    """(items,) whether the item is in the tail; see `halves`."""
    found: Flags = halves(stock, *own).number == TAIL
    return found


def rare(stock: Stock, lowest: float) -> Flags:
    """(items,) whether the item is among the least popular ones of train, a share of them and at
    least one; of equals the first ids."""
    known = np.flatnonzero(stock.rows > 0)
    order = known[np.argsort(stock.rows[known], kind="stable")]
    found = np.zeros(len(stock.ids), bool)
    found[order[: max(int(len(order) * lowest), 1)]] = True
    return found


def _halves(
    stock: Stock, head: float, repeats: float, border: str, tail: str, equals: str
) -> Groups:
    import polars as pl

    require_choice("border", border, BORDERS)
    require_choice("tail", tail, TAILS)
    popularity = stock.popularity(repeats)
    order = np.lexsort((_among_equals(stock, equals), -popularity))
    before, limit = np.cumsum(popularity[order]) - popularity[order], head * popularity.sum()
    known = popularity > 0
    if tail == "catalogue" and stock.catalogue is not None:
        known = known | stock.catalogue
    number = np.where(known, TAIL, -1)
    leading = order[before < limit if border == "reached" else before <= limit]
    number[leading[popularity[leading] > 0]] = HEAD
    return Groups(number, pl.Series(["head", "tail"]))


def _among_equals(stock: Stock, equals: str) -> Integers:
    """What decides between items that are equally popular."""
    if equals == "item":
        return np.arange(len(stock.ids))
    number = stock.groups(equals).number
    return np.where(number < 0, len(stock.ids), number)


def require_choice(what: str, given: str, known: Iterable[str]) -> None:
    """An error if a metric's own text is none of its choices."""
    if given not in known:
        raise unknown_name("choice", given, known, where=f"parameter {what!r}")
