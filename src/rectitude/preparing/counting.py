"""Steps that filter by the number of rows of users and items: once, or until nothing changes.

Bounds are numbers or intervals in mathematical notation: [5,inf), (3,8], or several as in
[1,3];[5,inf).
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Integers
from rectitude.data.ids import codes, counts, look_up
from rectitude.data.log import Log, choose_rows
from rectitude.errors import BadArgument
from rectitude.kernels import freeze, kernel, should_compile
from rectitude.parallel import run_tasks

Order = Literal["together", "users_first", "items_first"]
Rounds = int | Literal["until_stable"]
Repeats = Literal["counted", "once"]
_NUMBER = r"\s*([+-]?(?:inf|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))\s*"
_INTERVAL = re.compile(rf"\s*([\[(]){_NUMBER},{_NUMBER}([\])])\s*")


def n_filter(log: Log, *, users: int = 0, items: int = 0, repeats: Repeats = "counted") -> Log:
    """Keep users and items with at least this many rows, counted once in the original table."""
    _require_some(users=users, items=items)
    return _keep_core(log, Bounds(users), Bounds(items), repeats, 1, "together")


def k_core(
    log: Log,
    *,
    users: int = 0,
    items: int = 0,
    rounds: Rounds = "until_stable",
    order: Order = "users_first",
    repeats: Repeats = "counted",
) -> Log:
    """Keep users and items with at least this many rows, again and again until nothing changes."""
    _require_some(users=users, items=items)
    if rounds != "until_stable" and rounds < 1:
        raise BadArgument(
            f"rounds is {rounds}.", "a whole number of at least 1, or 'until_stable'."
        )
    return _keep_core(log, Bounds(users), Bounds(items), repeats, rounds, order)


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
    """Keep users and items whose number of rows is within bounds, until all are.

    `users_among` and `items_among` are intervals such as [1,3];[5,inf); the number must be in one
    of them. `order` counts both sides together, or one after filtering the other; with an upper
    bound, the results differ.
    """
    users = _bounds(users_at_least, users_at_most, "users", users_among)
    items = _bounds(items_at_least, items_at_most, "items", items_among)
    return _keep_core(log, users, items, repeats, "until_stable", order)


def items_per_user(
    log: Log, *, at_least: int = 0, at_most: int | None = None, repeats: Repeats = "once"
) -> Log:
    """Keep users with this many items, or rows if repeats are counted; one pass."""
    return _keep_core(log, _bounds(at_least, at_most, "items"), Bounds(), repeats, 1, "together")


def users_per_item(
    log: Log, *, at_least: int = 0, at_most: int | None = None, repeats: Repeats = "once"
) -> Log:
    """Keep items with this many users, or rows if repeats are counted; one pass."""
    return _keep_core(log, Bounds(), _bounds(at_least, at_most, "users"), repeats, 1, "together")


def popularity_range(
    log: Log, *, at_least: float = 0.0, at_most: float = 1.0, repeats: Repeats = "counted"
) -> Log:
    """Keep items whose number of rows (or users) is between two quantiles over all items.

    at_most=0.99 removes the items with more rows than 99% of the items have.
    """
    if not 0 <= at_least <= at_most <= 1:
        raise BadArgument(
            f"the quantiles are {at_least} and {at_most}.", "two shares from 0 to 1, in this order."
        )
    items, size = codes(log.frame["item"])
    counted = items
    if repeats == "once":
        users, most = codes(log.frame["user"])
        counted = distinct_pairs(TwoSides(users, items), TwoSides(most, size)).items
    rows = counts(counted, size)
    low, high = np.quantile(rows[rows > 0], [at_least, at_most])
    return choose_rows(log, look_up((rows >= low) & (rows <= high), items))


def cold_users(log: Log, *, at_most: int, repeats: Repeats = "counted") -> Log:
    """Keep only users with few rows."""
    return items_per_user(log, at_most=at_most, repeats=repeats)


def _require_some(users: int, items: int) -> None:
    if min(users, items) < 0 or max(users, items) < 1:
        raise BadArgument(
            f"users is {users} and items is {items}.",
            "the minimum number of rows per user and per item: none negative, not both 0.",
        )


def _bounds(at_least: int, at_most: int | None, what: str, among: str | None = None) -> Bounds:
    if at_least < 0 or (at_most is not None and at_most < at_least):
        raise BadArgument(
            f"the bounds for {what} are {at_least} and {at_most}.",
            "a lower bound of at least 0, and an upper bound that is not lower.",
        )
    return Bounds(at_least, at_most, () if among is None else read_intervals(among))


def _keep_core(
    log: Log, users: Bounds, items: Bounds, repeats: Repeats, rounds: Rounds, order: Order
) -> Log:
    """Keep the rows whose user and item both stay."""
    if not log.frame.height:
        return log
    (users_of_rows, user_count) = codes(log.frame["user"])
    (items_of_rows, item_count) = codes(log.frame["item"])
    rows, sizes = TwoSides(users_of_rows, items_of_rows), TwoSides(user_count, item_count)
    counted = rows if repeats == "counted" else distinct_pairs(rows, sizes)
    kept = surviving(counted, sizes, TwoSides(users, items), rounds, order)
    flags = look_up(kept[0], rows.users)
    flags &= look_up(kept[1], rows.items)
    return choose_rows(log, flags)


def distinct_pairs(rows: TwoSides, sizes: TwoSides) -> TwoSides:
    """Return the user and item of every distinct pair."""
    pair = rows.users.astype(np.int64)
    pair *= sizes.items
    pair += rows.items
    return TwoSides(*np.divmod(pl.Series(pair).unique().to_numpy(), sizes.items))


class Interval(NamedTuple):
    """Two ends, and brackets that say whether each end is included."""

    opening: str
    low: float
    high: float
    closing: str

    def holds(self, numbers: Any) -> Any:
        """Flag the numbers inside the interval."""
        above = numbers >= self.low if self.opening == "[" else numbers > self.low
        return above & (numbers <= self.high if self.closing == "]" else numbers < self.high)


def read_intervals(text: str) -> tuple[Interval, ...]:
    """Parse intervals that are separated by semicolons."""
    parsed = [_INTERVAL.fullmatch(part) for part in text.split(";")]
    if not all(parsed):
        raise BadArgument(
            f"{text!r} is not a list of intervals.", "intervals such as [5,inf) or [1,3];(5,8]."
        )
    return tuple(
        Interval(match[1], float(match[2]), float(match[3]), match[4]) for match in parsed if match
    )


def among(intervals: tuple[Interval, ...], numbers: Any) -> Any:
    """Flag the numbers in any of the intervals."""
    inside = intervals[0].holds(numbers)
    for interval in intervals[1:]:
        inside = inside | interval.holds(numbers)
    return inside


class Bounds(NamedTuple):
    """How many rows a user or an item must have to stay."""

    at_least: int = 0
    at_most: int | None = None
    intervals: tuple[Interval, ...] = ()
    """the number must be in one of them, if there are any"""

    def hold(self, counts: Integers) -> Flags:
        """Flag the counts within the bounds."""
        inside: Flags = counts >= self.at_least
        if self.intervals:
            inside = inside & among(self.intervals, counts)
        return inside if self.at_most is None else inside & (counts <= self.at_most)


class TwoSides(NamedTuple):
    """A pair of values: one for users and one for items."""

    users: Any
    items: Any


def surviving(
    codes: TwoSides, sizes: TwoSides, bounds: TwoSides, rounds: Rounds, order: Order
) -> tuple[Flags, Flags]:
    """Flag the users and items that stay. `codes` numbers the user and the item of each row.

    With lower bounds only, the result does not depend on the order of removal, so that one pass
    over the removed users and items is enough.
    """
    both_least = all(bound.at_least > 1 and bound[1:] == (None, ()) for bound in bounds)
    if rounds == "until_stable" and both_least and should_compile(len(codes.users)):
        return _peel_core(codes, sizes, bounds)
    if rounds == 1 and order == "together":
        users, items = _count_both(codes, sizes)
        return bounds.users.hold(users), bounds.items.hold(items)
    limit = len(codes.users) + 1 if rounds == "until_stable" else rounds
    for _ in range(limit):
        remaining = _filter_once(codes, sizes, bounds, order)
        if len(remaining.users) == len(codes.users):
            break
        codes = remaining
    users, items = _count_both(codes, sizes)
    return users > 0, items > 0


def _count_both(codes: TwoSides, sizes: TwoSides) -> list[Integers]:
    """Count the rows of each user and of each item, in parallel."""
    both = [np.zeros(size, np.int64) for size in sizes]

    def fill(side: int) -> None:
        both[side][:] = counts(codes[side], sizes[side])

    run_tasks([partial(fill, side) for side in (0, 1)], pays=should_compile(len(codes.users)))
    return both


def _filter_once(codes: TwoSides, sizes: TwoSides, bounds: TwoSides, order: Order) -> TwoSides:
    """Return the rows left after one round: both sides on the same counts, or one by one."""
    if order == "together":
        flags = [_within(codes, sizes, bounds, side) for side in (0, 1)]
        return _only(codes, flags[0][codes.users] & flags[1][codes.items])
    for side in (0, 1) if order == "users_first" else (1, 0):
        codes = _only(codes, _within(codes, sizes, bounds, side)[codes[side]])
    return codes


def _within(codes: TwoSides, sizes: TwoSides, bounds: TwoSides, side: int) -> Flags:
    flags: Flags = bounds[side].hold(counts(codes[side], sizes[side]))
    return flags


def _only(codes: TwoSides, rows: Flags) -> TwoSides:
    return TwoSides(codes.users[rows], codes.items[rows])


def _peel_core(codes: TwoSides, sizes: TwoSides, bounds: TwoSides) -> tuple[Flags, Flags]:
    """Find the k-core in linear time: removing a user or item lowers the counts of its neighbours.

    Users and items are numbered together, users first; each has a list of its neighbours.
    """
    degrees = np.concatenate(_count_both(codes, sizes))
    ends = np.cumsum(degrees)
    near = np.empty(2 * len(codes.users), np.uint32)
    users, items = freeze(codes.users), freeze(codes.items)
    list_near, cursor = kernel(_list_neighbours), ends - degrees
    run_tasks(
        [
            partial(list_near, users, items, sizes.users, cursor[: sizes.users], near),
            partial(list_near, items, users, 0, cursor[sizes.users :], near),
        ]
    )
    least = np.repeat([bound.at_least for bound in bounds], sizes)
    waiting = np.empty(len(degrees), np.int64)
    kernel(_peel)(degrees, ends, near, least, waiting, _push(waiting, degrees < least))
    left = degrees >= least
    return left[: sizes.users], left[sizes.users :]


def _push(waiting: Integers, going: Flags) -> int:
    """Put the users and items to remove on the stack; return its height."""
    nodes = np.flatnonzero(going)
    waiting[: len(nodes)] = nodes
    return len(nodes)


def _list_neighbours(own, other, shift, cursor, near):  # type: ignore[no-untyped-def]
    """Write the neighbours of each user (or item) into its section of `near`."""
    for row in range(own.shape[0]):
        node = own[row]
        near[cursor[node]] = other[row] + shift
        cursor[node] += 1


def _peel(degrees, ends, near, least, waiting, high):  # type: ignore[no-untyped-def]
    """Remove everything on the stack, and push the neighbours that fall below the minimum."""
    while high:
        high -= 1
        gone = waiting[high]
        first = ends[gone - 1] if gone else 0
        for edge in range(first, ends[gone]):
            neighbour = near[edge]
            degrees[neighbour] -= 1
            if degrees[neighbour] == least[neighbour] - 1:
                waiting[high] = neighbour
                high += 1
