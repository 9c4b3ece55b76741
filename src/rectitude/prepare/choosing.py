"""Steps that choose rows by their values, items, some interactions of each user, or users."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Integers
from rectitude.data.codes import codes, counts, looked_up
from rectitude.data.log import Log, chosen
from rectitude.errors import BadName
from rectitude.prepare.counting import Repeats, distinct_pairs
from rectitude.prepare.draws import places
from rectitude.prepare.intervals import among, read_intervals
from rectitude.prepare.introsort import introsort, whole
from rectitude.prepare.order import Ties, by_time
from rectitude.prepare.peeling import Sides

Equals = Literal["id", "introsort"]


def in_intervals(log: Log, *, grade: str | None = None, timestamp: str | None = None) -> Log:
    """Rows whose grade and timestamp lie in one of the intervals given for them, such as
    [1,2];[4,inf)."""
    asked = {"grade": grade, "timestamp": timestamp}
    given = {column: text for column, text in asked.items() if text is not None}
    if not given:
        raise BadName("in_intervals has no intervals.", "some for grade, timestamp or both.")
    kept = np.ones(log.frame.height, bool)
    for column, text in given.items():
        log.require(column, "in_intervals")
        kept &= among(read_intervals(text), log.frame[column].to_physical().to_numpy())
    return chosen(log, kept)


def popular_items(log: Log, *, n: int, repeats: Repeats = "counted", ties: Equals = "id") -> Log:
    """The n items with the most rows (or users); of equally popular ones, those of lower id.

    `ties` "introsort" takes those that NumPy's introsort leaves first when it sorts items that come
    in the order of their first rows, as pandas counts them.
    """
    items, size = codes(log.frame["item"])
    counted = items
    if repeats == "once":
        users, most = codes(log.frame["user"])
        counted = distinct_pairs(Sides(users, items), Sides(most, size)).items
    rows = counts(counted, size)
    if ties == "id":
        return _items(log, n, items, _by_weight(rows, rows > 0))
    met = _met(items, size)[::-1]
    return _items(log, n, items, met[introsort(rows[met].astype(np.int64))[::-1]])


def recent_items(log: Log, *, n: int, ties: Equals = "id") -> Log:
    """The n items whose last interaction is the most recent; of equals, those of lower id.

    `ties` "introsort" takes those that come first when NumPy's introsort puts the latest rows
    first, as pandas does.
    """
    log.require("timestamp", "recent_items")
    items, size = codes(log.frame["item"])
    if ties == "introsort":
        backwards = introsort(whole(log.frame["timestamp"])[::-1])[::-1]
        return _items(log, n, items, _met(items[::-1][backwards], size))
    times = log.frame["timestamp"].to_physical().to_numpy()
    last = np.full(size, times.min(initial=0))
    np.maximum.at(last, items, times)
    return _items(log, n, items, _by_weight(last, counts(items, size) > 0))


def _by_weight(weight: NDArray[Any], there: Flags) -> Integers:
    """The numbers of items by weight from the highest on, equals from the lowest on: they go by
    their ids. Not every number is `there`."""
    known = np.flatnonzero(there)[::-1]
    return known[np.argsort(weight[known], kind="stable")[::-1]]


def _met(items: NDArray[np.uint32], size: int) -> Integers:
    """Every item once, in the order in which they are met."""
    first = np.full(size, len(items))
    first[items[::-1]] = np.arange(len(items))[::-1]
    known = np.flatnonzero(first < len(items))
    return known[np.argsort(first[known])]


def _items(log: Log, n: int, items: NDArray[np.uint32], best: NDArray[Any]) -> Log:
    """The rows of the n items that come first among the best."""

    _require(n, "n")
    kept = np.zeros(int(best.max(initial=0)) + 1, bool)
    kept[best[:n]] = True
    return chosen(log, looked_up(kept, items))


def latest(log: Log, *, n: int, ties: Ties = "content") -> Log:
    """The n most recent interactions of each user."""

    _require(n, "n")
    log.require("timestamp", "latest")
    return chosen(log, by_time(log, "user", ties).after < n)


def earliest(log: Log, *, n: int, ties: Ties = "content") -> Log:
    """The n first interactions of each user."""

    _require(n, "n")
    log.require("timestamp", "earliest")
    return chosen(log, by_time(log, "user", ties).before < n)


def sample_users(
    log: Log, *, n: int | None = None, share: float | None = None, seed: int = 0
) -> Log:
    """All rows of n users, or of a share of the users, drawn by the seed."""

    place, size = places(log.frame["user"], seed)
    return chosen(log, place < _wanted(n, share, size))


def _wanted(n: int | None, share: float | None, size: int) -> int:
    if (n is None) == (share is None):
        raise BadName(f"n is {n} and share is {share}.", "one of them.")
    if share is not None:
        if not 0 < share <= 1:
            raise BadName(f"share is {share}.", "more than 0, and at most 1.")
        return max(round(share * size), 1)
    count = int(n or 0)
    _require(count, "n")
    if count > size:
        raise BadName(f"n is {count:,}, and there are {size:,} users.", "at most as many.")
    return count


def _require(n: int, name: str) -> None:
    if n < 1:
        raise BadName(f"{name} is {n}.", "1 or more.")
