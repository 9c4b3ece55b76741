"""Steps that go by how many rows users and items have: once, or until nothing more goes.

Bounds are numbers, or intervals as they are written in mathematics: [5,inf), (3,8], or several as
in [1,3];[5,inf).
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Integers
from rectitude.data.ids import codes, counts, looked_up
from rectitude.data.log import Log, chosen
from rectitude.errors import BadName
from rectitude.kernels import frozen, kernel, repay
from rectitude.parallel import together

Order = Literal["together", "users_first", "items_first"]
Rounds = int | Literal["until_stable"]
Repeats = Literal["counted", "once"]
_NUMBER = r"\s*([+-]?(?:inf|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))\s*"
_INTERVAL = re.compile(rf"\s*([\[(]){_NUMBER},{_NUMBER}([\])])\s*")


def n_filter(log: Log, *, users: int = 0, items: int = 0, repeats: Repeats = "counted") -> Log:
    """Users and items with so many rows, both counted in the table as it is: one pass."""
    _require_some(users=users, items=items)
    return _kept(log, Bounds(users), Bounds(items), repeats, 1, "together")


def k_core(
    log: Log,
    *,
    users: int = 0,
    items: int = 0,
    rounds: Rounds = "until_stable",
    order: Order = "users_first",
    repeats: Repeats = "counted",
) -> Log:
    """Users and items with so many rows among those that are left, until nothing more goes."""
    _require_some(users=users, items=items)
    if rounds != "until_stable" and rounds < 1:
        raise BadName(f"rounds is {rounds}.", "1 or more, or until_stable.")
    return _kept(log, Bounds(users), Bounds(items), repeats, rounds, order)


def between(
    log: Log,
    *,
    users_at_least: int = 0,
    users_at_most: int | None = None,
    items_at_least: int = 0,
    items_at_most: int | None = None,
    users_among: str | None = None,
    items_among: str | None = None,
    order: Order = "together",
    repeats: Repeats = "counted",
) -> Log:
    """Users and items whose rows lie between bounds, until all do.

    `users_among` and `items_among` are intervals such as [1,3];[5,inf), one of which must hold the
    number. Both sides are counted together, or one in what the other left: with an upper bound that
    is not the same.
    """
    users = _bounds(users_at_least, users_at_most, "users", users_among)
    items = _bounds(items_at_least, items_at_most, "items", items_among)
    return _kept(log, users, items, repeats, "until_stable", order)


def items_per_user(
    log: Log, *, at_least: int = 0, at_most: int | None = None, repeats: Repeats = "once"
) -> Log:
    """Users with so many items, or so many rows where repeats are counted; one pass."""
    return _kept(log, _bounds(at_least, at_most, "items"), Bounds(), repeats, 1, "together")


def users_per_item(
    log: Log, *, at_least: int = 0, at_most: int | None = None, repeats: Repeats = "once"
) -> Log:
    """Items with so many users, or so many rows where repeats are counted; one pass."""
    return _kept(log, Bounds(), _bounds(at_least, at_most, "users"), repeats, 1, "together")


def cold_users(log: Log, *, at_most: int, repeats: Repeats = "counted") -> Log:
    """Only the users with few rows."""
    return items_per_user(log, at_most=at_most, repeats=repeats)


def _require_some(users: int, items: int) -> None:
    if min(users, items) < 0 or max(users, items) < 1:
        raise BadName(
            f"users is {users} and items is {items}.",
            "how many rows each user, each item or both must have: 0 or more, and not both 0.",
        )


def _bounds(at_least: int, at_most: int | None, what: str, among: str | None = None) -> Bounds:
    if at_least < 0 or (at_most is not None and at_most < at_least):
        raise BadName(
            f"the bounds of {what} are {at_least} and {at_most}.",
            "a lower bound of 0 or more, and an upper one that is not below it.",
        )
    return Bounds(at_least, at_most, () if among is None else read_intervals(among))


def _kept(
    log: Log, users: Bounds, items: Bounds, repeats: Repeats, rounds: Rounds, order: Order
) -> Log:
    """The rows of users and items that stay; a row goes only with its user or its item."""
    if not log.frame.height:
        return log
    (own, users_size), (other, items_size) = codes(log.frame["user"]), codes(log.frame["item"])
    rows, sizes = TwoSides(own, other), TwoSides(users_size, items_size)
    counted = rows if repeats == "counted" else distinct_pairs(rows, sizes)
    kept = surviving(counted, sizes, TwoSides(users, items), rounds, order)
    flags = looked_up(kept[0], rows.users)
    flags &= looked_up(kept[1], rows.items)
    return chosen(log, flags)


def distinct_pairs(rows: TwoSides, sizes: TwoSides) -> TwoSides:
    """Users and items of every pair once."""
    pair = rows.users.astype(np.int64)
    pair *= sizes.items
    pair += rows.items
    return TwoSides(*np.divmod(pl.Series(pair).unique().to_numpy(), sizes.items))


class Interval(NamedTuple):
    """Two ends and the brackets that say whether they belong to it."""

    opening: str
    low: float
    high: float
    closing: str

    def holds(self, numbers: Any) -> Any:
        """Which of some numbers lie inside."""
        above = numbers >= self.low if self.opening == "[" else numbers > self.low
        return above & (numbers <= self.high if self.closing == "]" else numbers < self.high)


def read_intervals(text: str) -> tuple[Interval, ...]:
    """The intervals of a text, one after the other with semicolons between them."""
    found = [_INTERVAL.fullmatch(one) for one in text.split(";")]
    if not all(found):
        raise BadName(f"an interval is {text!r}.", "intervals such as [5,inf) or [1,3];(5,8].")
    return tuple(
        Interval(one[1], float(one[2]), float(one[3]), one[4]) for one in found if one is not None
    )


def among(intervals: tuple[Interval, ...], numbers: Any) -> Any:
    """Which of some numbers lie in any of the intervals."""
    inside = intervals[0].holds(numbers)
    for one in intervals[1:]:
        inside = inside | one.holds(numbers)
    return inside


class Bounds(NamedTuple):
    """How many rows a user or an item must have to stay."""

    at_least: int = 0
    at_most: int | None = None
    intervals: tuple[Interval, ...] = ()
    """one of them must hold the number, if there are any"""

    def hold(self, counts: Integers) -> Flags:
        """Which counts lie within."""
        inside: Flags = counts >= self.at_least
        if self.intervals:
            inside = inside & among(self.intervals, counts)
        return inside if self.at_most is None else inside & (counts <= self.at_most)


class TwoSides(NamedTuple):
    """The same thing for users and for items."""

    users: Any
    items: Any


def surviving(
    codes: TwoSides, sizes: TwoSides, bounds: TwoSides, rounds: Rounds, order: Order
) -> tuple[Flags, Flags]:
    """Which users and which items stay; a row does if both of its do. `codes` number them from 0 in
    every row.

    With lower bounds alone, what is left in the end does not depend on the order in which things
    go, and one pass over what goes is enough.
    """
    both_least = all(bound.at_least > 1 and bound[1:] == (None, ()) for bound in bounds)
    if rounds == "until_stable" and both_least and repay(len(codes.users)):
        return _peeled(codes, sizes, bounds)
    if rounds == 1 and order == "together":
        users, items = _both(codes, sizes)
        return bounds.users.hold(users), bounds.items.hold(items)
    limit = len(codes.users) + 1 if rounds == "until_stable" else rounds
    for _ in range(limit):
        left = _after_a_round(codes, sizes, bounds, order)
        if len(left.users) == len(codes.users):
            break
        codes = left
    users, items = _both(codes, sizes)
    return users > 0, items > 0


def _both(codes: TwoSides, sizes: TwoSides) -> list[Integers]:
    """How many rows each user and each item has, counted side by side."""
    found = [np.zeros(size, np.int64) for size in sizes]

    def fill(side: int) -> None:
        found[side][:] = counts(codes[side], sizes[side])

    together([partial(fill, side) for side in (0, 1)], pays=repay(len(codes.users)))
    return found


def _after_a_round(codes: TwoSides, sizes: TwoSides, bounds: TwoSides, order: Order) -> TwoSides:
    """The rows that one round leaves: both sides on the same counts, or one after the other."""
    if order == "together":
        flags = [_within(codes, sizes, bounds, side) for side in (0, 1)]
        return _only(codes, flags[0][codes.users] & flags[1][codes.items])
    for side in (0, 1) if order == "users_first" else (1, 0):
        codes = _only(codes, _within(codes, sizes, bounds, side)[codes[side]])
    return codes


def _within(codes: TwoSides, sizes: TwoSides, bounds: TwoSides, side: int) -> Flags:
    held: Flags = bounds[side].hold(counts(codes[side], sizes[side]))
    return held


def _only(codes: TwoSides, rows: Flags) -> TwoSides:
    return TwoSides(codes.users[rows], codes.items[rows])


def _peeled(codes: TwoSides, sizes: TwoSides, bounds: TwoSides) -> tuple[Flags, Flags]:
    """The core in time that grows with the rows alone: what goes takes a row from each neighbour.

    Users and items are numbered together, items after users, and each knows its neighbours.
    """
    degrees = np.concatenate(_both(codes, sizes))
    ends = np.cumsum(degrees)
    near = np.empty(2 * len(codes.users), np.uint32)
    users, items = frozen(codes.users), frozen(codes.items)
    bring, cursor = kernel(_bring_together), ends - degrees
    together(
        [
            partial(bring, users, items, sizes.users, cursor[: sizes.users], near),
            partial(bring, items, users, 0, cursor[sizes.users :], near),
        ]
    )
    least = np.repeat([bound.at_least for bound in bounds], sizes)
    waiting = np.empty(len(degrees), np.int64)
    kernel(_peel)(degrees, ends, near, least, waiting, _push(waiting, degrees < least))
    left = degrees >= least
    return left[: sizes.users], left[sizes.users :]


def _push(waiting: Integers, going: Flags) -> int:
    """Put what goes at once on the pile; how high it is."""
    first = np.flatnonzero(going)
    waiting[: len(first)] = first
    return len(first)


def _bring_together(own, other, shift, cursor, near):  # type: ignore[no-untyped-def]
    """The neighbours of each user (or item), one after the other, ending where its rows end."""
    for row in range(own.shape[0]):
        place = own[row]
        near[cursor[place]] = other[row] + shift
        cursor[place] += 1


def _peel(degrees, ends, near, least, waiting, high):  # type: ignore[no-untyped-def]
    """Lower the counts of the neighbours of all that goes, and of those that then go too."""
    while high:
        high -= 1
        gone = waiting[high]
        first = ends[gone - 1] if gone else 0
        for place in range(first, ends[gone]):
            neighbour = near[place]
            degrees[neighbour] -= 1
            if degrees[neighbour] == least[neighbour] - 1:
                waiting[high] = neighbour
                high += 1
