"""Steps that go by how many rows users and items have."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rectitude.data.codes import codes, looked_up
from rectitude.data.log import Log, chosen
from rectitude.errors import BadName
from rectitude.prepare.intervals import read_intervals
from rectitude.prepare.peeling import Bounds, Order, Rounds, Sides, surviving

Repeats = Literal["counted", "once"]


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


def _kept(
    log: Log, users: Bounds, items: Bounds, repeats: Repeats, rounds: Rounds, order: Order
) -> Log:
    """The rows of users and items that stay; a row goes only with its user or its item."""

    if not log.frame.height:
        return log
    (own, users_size), (other, items_size) = codes(log.frame["user"]), codes(log.frame["item"])
    rows, sizes = Sides(own, other), Sides(users_size, items_size)
    counted = rows if repeats == "counted" else distinct_pairs(rows, sizes)
    kept = surviving(counted, sizes, Sides(users, items), rounds, order)
    flags = looked_up(kept[0], rows.users)
    flags &= looked_up(kept[1], rows.items)
    return chosen(log, flags)


def distinct_pairs(rows: Sides, sizes: Sides) -> Sides:
    """Users and items of every pair once."""
    import polars as pl

    pair = rows.users.astype(np.int64)
    pair *= sizes.items
    pair += rows.items
    return Sides(*np.divmod(pl.Series(pair).unique().to_numpy(), sizes.items))


def _bounds(at_least: int, at_most: int | None, what: str, among: str | None = None) -> Bounds:
    if at_least < 0 or (at_most is not None and at_most < at_least):
        raise BadName(
            f"the bounds of {what} are {at_least} and {at_most}.",
            "a lower bound of 0 or more, and an upper one that is not below it.",
        )
    return Bounds(at_least, at_most, () if among is None else read_intervals(among))


def _require_some(users: int, items: int) -> None:
    if min(users, items) < 0 or max(users, items) < 1:
        raise BadName(
            f"users is {users} and items is {items}.",
            "how many rows each user, each item or both must have: 0 or more, and not both 0.",
        )
