"""What groups of items get, and what they could have got: hits, places, scores, topics.

Everything is counted for the lists that count; functions of these counts are metrics of fairness.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rectitude.arrays import Floats, Integers, distinct, offsets_of, places, totals
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
from rectitude.data.people import People
from rectitude.data.stock import Stock
from rectitude.errors import BadScores, unknown_name

Pairs = tuple[Integers, Integers]
"""the numbers of users, and those of their items"""


def counts_of(
    stock: Stock, groups: Groups, hits: Integers, told: Pairs, shown: Pairs, owner: Integers,
    lists: int,
) -> Counts:  # fmt: skip
    """What groups of items get in the lists that count, and what they could have got.

    `hits` are items, `told` the relevant pairs, `shown` those in places, `owner` the users of the
    lists that count, and `lists` the number of all.
    """
    size, many = len(stock.ids), np.array(len(owner))
    user, item = stock.profiles
    times = np.bincount(owner, minlength=int(user.max(initial=-1)) + 1)
    again = places(user * size + item, told[0] * size + told[1]) >= 0
    return {
        **by_group("hits", groups, hits),
        **by_group("relevant", groups, told[1]),
        **by_group("relevant seen", groups, told[1][again]),
        **by_group("places", groups, shown[1]),
        **by_group("items", groups, np.arange(size), many),
        **by_group("items seen", groups, item, times[user]),
        **by_group("rows", groups, stock.item, many),
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


def pairs_of(what: str, people: People, stock: Stock, by: tuple[str, str], pairs: Pairs) -> Counts:
    """Pairs of a user and an item, by the groups of both, and the items of each group; `by` are the
    columns of users and items."""
    users, items = people.groups(by[0]), stock.groups(by[1])
    every = by_group("items", items, np.arange(len(stock.ids)))
    return {**by_pair(what, users, items, *pairs), **every}


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


def finite(scores: Floats) -> Floats:
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
    entry, number, names = stock.memberships(by)
    start = offsets_of(entry, len(stock.ids))
    many = np.diff(start)[item]
    where = np.arange(int(many.sum())) + np.repeat(start[item] - np.cumsum(many) + many, many)
    found = distinct(np.repeat(owner, many) * len(names) + number[where])
    return totals(found // len(names), size)
