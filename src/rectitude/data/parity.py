"""What groups of items get, and what they could have got: hits, places, scores, topics.

Everything is counted for the lists that count; functions of these counts are metrics of fairness.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rectitude.arrays import Floats, Integers, totals
from rectitude.data.attributes import Groups
from rectitude.data.groupwise import (
    ALL,
    Counts,
    by_group,
    by_pair,
    leaning,
    members,
    of_group,
    pair_value,
    sums,
)
from rectitude.data.halves import require_choice
from rectitude.data.history import Wanted, times_wanted
from rectitude.data.people import People
from rectitude.data.shares import shares
from rectitude.data.stock import Stock
from rectitude.errors import BadScores, unknown_name

Pairs = tuple[Integers, Integers]
"""the numbers of users, and those of their items"""


class Chances(NamedTuple):
    """How often each item could have been a hit, or shown, in some lists."""

    relevant: Integers
    """(items,) lists where it is relevant"""
    seen: Integers
    """(items,) those of them whose user had it in training"""
    had: Integers
    """(items,) lists whose user had it in training"""


def chances(stock: Stock, told: Wanted) -> Chances:
    """How often items could have been hits or shown; `told` are the relevant items of lists."""
    (user, item), size = stock.pairs, len(stock.ids)
    times = np.bincount(told.owner, minlength=int(user.max(initial=-1)) + 1)
    relevant, again = times_wanted(stock, told)
    shared = stock.users
    if np.any(times != 1):  # not one list of each user
        shared = np.bincount(item, times[user], minlength=size).astype(np.int64)
    return Chances(relevant, again, shared)


def counts_of(
    stock: Stock, groups: Groups, hits: Integers, could: Chances, shown: Integers, many: int,
    lists: int,
) -> Counts:  # fmt: skip
    """What groups of items get in the lists that count, and what they could have got.

    `hits` are items, `shown` is how often each one is, `many` lists count, of so many `lists`.
    """
    every = np.arange(len(stock.ids))
    return {
        **by_group("hits", groups, hits),
        **by_group("relevant", groups, every, could.relevant),
        **by_group("relevant seen", groups, every, could.seen),
        **by_group("places", groups, every, shown),
        **by_group("items", groups, every, np.array(many)),
        **by_group("items seen", groups, every, could.had),
        **by_group("rows", groups, every, stock.rows * many),
        "lists": np.array([lists]),
    }


def relevant(counts: Counts, below: str) -> dict[str, float]:
    """How many relevant items each group has."""
    return _less(counts, "relevant", below, ("unseen", "all"))


def available(counts: Counts, below: str) -> dict[str, float]:
    """How many places the items of each group could have had."""
    return _less(counts, "items", below, ("unseen", "all", "estimated"))


def _less(counts: Counts, what: str, below: str, known: tuple[str, ...]) -> dict[str, float]:
    """How many there are of each group, less those of train: seen, none, or as many as a user has
    on average."""
    require_choice("below", below, known)
    lists, rows = int(counts["lists"].sum()), of_group(counts, "rows")
    less: dict[str, Mapping[str, float]] = {
        "unseen": of_group(counts, f"{what} seen"),
        "all": {},
        "estimated": {name: number / max(lists, 1) for name, number in rows.items()},
    }
    found = of_group(counts, what)
    return {name: number - less[below].get(name, 0.0) for name, number in found.items()}


def rates(counts: Counts, above: str, below: Mapping[str, float]) -> dict[str, float]:
    """A rate for every group that has something below the line."""
    over = of_group(counts, above)
    return {name: over[name] / under for name, under in below.items() if under > 0}


def chosen_pairs(
    people: People, stock: Stock, by: tuple[str, str], pairs: Pairs | None = None
) -> Counts:
    """What users chose, by the groups of both, and the items of each group; `by` are the columns of
    users and items. Unless pairs are given, it is what they had in training."""
    users, items = people.groups(by[0]), stock.groups(by[1])
    if pairs is not None:
        return {**by_pair("chosen", users, items, *pairs), **_every(stock, items)}
    chosen = stock.kept(("chosen", by), lambda: by_pair("chosen", users, items, *stock.pairs))
    return {**chosen, **_every(stock, items)}


def shown_pairs(
    people: People, stock: Stock, by: tuple[str, str], owner: Integers, shown: Integers
) -> Counts:
    """What users are shown, by the groups of both, and the items of each group; `shown` are places
    of lists, `owner` their users."""
    users, items = people.groups(by[0]), stock.groups(by[1])
    listed = Groups(np.append(items.number, -1)[stock.listed], items.names)
    return {**by_pair("shown", users, listed, owner[:, None], shown), **_every(stock, items)}


def _every(stock: Stock, items: Groups) -> Counts:
    return by_group("items", items, np.arange(len(stock.ids)))


def bias(counts: Counts, what: str, user_group: str, item_group: str) -> float:
    """How much more often than the catalogue offers them users of a group are with items of one."""
    known = {name for name, items in of_group(counts, "items").items() if items}
    if item_group not in (ALL, *known):
        raise unknown_name("group of items", item_group, known, where="the catalogue")
    return pair_value(leaning(counts, what), 1.0, user_group, item_group, "the bias")


def gains_of(stock: Stock, by: str, times: Integers, item: Integers, gains: Floats) -> Counts:
    """What items gain in all, how often something can be gained, and which are in a group."""
    summed = sums("gains", item, gains, len(stock.ids))
    return {"times": times, **summed, **members(stock.groups(by))}


def unmasked(scores: Floats) -> Floats:
    """Scores, if there is no mask among them; NaN stands for an empty place."""
    endless = int(np.isinf(scores).sum())
    if endless:
        raise BadScores(
            f"{endless} places hold items that are masked, and so have no score.",
            "lists that can be filled with other items.",
            "set seen='removed' or 'kept', or ask for fewer places.",
        )
    return scores


def topics_of(stock: Stock, by: str, item: Integers, owner: Integers, size: int) -> Floats:
    """(owners,) how many different topics the items of each owner have."""
    return totals(shares(owner, item, stock.memberships(by), size).owner, size)
