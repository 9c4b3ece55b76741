"""Which users and items are left when those with too few or too many rows go, again and again."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from rectitude.arrays import Flags, Integers
from rectitude.compiled import frozen, kernel, repay
from rectitude.data.codes import counts
from rectitude.prepare.intervals import Interval, among
from rectitude.threads import together

Order = Literal["together", "users_first", "items_first"]
Rounds = int | Literal["until_stable"]


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


class Sides(NamedTuple):
    """The same thing for users and for items."""

    users: Any
    items: Any


def surviving(
    codes: Sides, sizes: Sides, bounds: Sides, rounds: Rounds, order: Order
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


def _both(codes: Sides, sizes: Sides) -> list[Integers]:
    """How many rows each user and each item has, counted side by side."""
    found = [np.zeros(size, np.int64) for size in sizes]

    def fill(side: int) -> None:
        found[side][:] = counts(codes[side], sizes[side])

    together([partial(fill, side) for side in (0, 1)], pays=repay(len(codes.users)))
    return found


def _after_a_round(codes: Sides, sizes: Sides, bounds: Sides, order: Order) -> Sides:
    """The rows that one round leaves: both sides on the same counts, or one after the other."""
    if order == "together":
        flags = [_within(codes, sizes, bounds, side) for side in (0, 1)]
        return _only(codes, flags[0][codes.users] & flags[1][codes.items])
    for side in (0, 1) if order == "users_first" else (1, 0):
        codes = _only(codes, _within(codes, sizes, bounds, side)[codes[side]])
    return codes


def _within(codes: Sides, sizes: Sides, bounds: Sides, side: int) -> Flags:
    held: Flags = bounds[side].hold(counts(codes[side], sizes[side]))
    return held


def _only(codes: Sides, rows: Flags) -> Sides:
    return Sides(codes.users[rows], codes.items[rows])


def _peeled(codes: Sides, sizes: Sides, bounds: Sides) -> tuple[Flags, Flags]:
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
