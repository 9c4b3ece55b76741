"""What is counted by group, and how groups compare.

Everything that is added up is a whole number, so that batches in any order give the same bits.
Counts are named after what is counted and the group, or the groups of a user and an item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from math import fsum, sqrt
from threading import Lock
from typing import NamedTuple

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.errors import BadTable, UndefinedValue, unknown_name
from rectitude.judge.attributes import Groups
from rectitude.judge.items import People, Stock
from rectitude.kernels import frozen, kernel, repay
from rectitude.metrics.history import WantedItems, times_wanted
from rectitude.metrics.registry import Counts, require_choice
from rectitude.parallel import in_blocks

Pair = tuple[str, str]
"""a group of users, and one of items"""
Pairs = tuple[Integers, Integers]
"""the numbers of users, and those of their items"""
ALL = "all"
"""in the place of a group's name"""
MOST_GROUPS = 500
"""how many groups can be told apart: each has counts of its own"""
_BETWEEN = "\t"
_BITS = 24
_BLOCK = 1 << 12


class GroupChances(NamedTuple):
    """How often each item could have been a hit, or shown, in some lists."""

    relevant: Integers
    """(items,) lists where it is relevant"""
    seen: Integers
    """(items,) those of them whose user had it in training"""
    had: Integers
    """(items,) lists whose user had it in training"""


def chances(stock: Stock, told: WantedItems) -> GroupChances:
    """How often items could have been hits or shown; `told` are the relevant items of lists."""
    (user, item), size = stock.pairs, len(stock.ids)
    times = np.bincount(told.owner, minlength=int(user.max(initial=-1)) + 1)
    relevant, again = times_wanted(stock, told)
    shared = stock.users
    if np.any(times != 1):  # not one list of each user
        shared = np.bincount(item, times[user], minlength=size).astype(np.int64)
    return GroupChances(relevant, again, shared)


def counts_of(
    stock: Stock, groups: Groups, hits: Integers, could: GroupChances, shown: Integers, many: int,
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


def unequal(rates: Mapping[str, float], group: str, what: str) -> float:
    """The standard deviation of the rates of all groups over their mean, or the rate of one."""
    if group != ALL:
        if group not in rates:
            raise unknown_name("group", group, rates, where=what)
        return rates[group]
    values = list(rates.values())
    mean = fsum(values) / max(len(values), 1)
    if len(values) < 2 or mean == 0:
        alone = f", {next(iter(rates))!r}" if len(values) == 1 else ""
        few = f"{what} compares groups, and {len(values)} of them could get anything{alone}."
        raise UndefinedValue(
            few if len(values) < 2 else f"no group got anything that {what} counts.",
            "at least two groups that could get something, and one that did.",
            "set undefined='zero', or pass a column with other groups.",
        )
    return sqrt(fsum((value - mean) ** 2 for value in values) / len(values)) / mean


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


def leaning(counts: Counts, what: str) -> dict[Pair, float | None]:
    """How much more often users of a group are with items of a group than these groups' share of
    the items says, by both groups; None for users who are with no item at all."""
    found, items = of_pair(counts, what), of_group(counts, "items")
    whose: dict[str, int] = {}
    for (user, _), number in found.items():
        whose[user] = whose.get(user, 0) + number
    everything = sum(items.values())
    return {
        (user, item): n * everything / (whose[user] * items[item]) if whose[user] else None
        for (user, item), n in found.items()
        if items.get(item)
    }


def pair_value(
    found: Mapping[Pair, float | None], neutral: float, user: str, item: str, what: str
) -> float:
    """The value of a pair of groups; where one of them is all, the mean absolute distance of the
    values from the neutral one."""
    known = {whose for whose, _ in found}
    if user not in (ALL, *known):
        raise unknown_name("group of users", user, known, where=what)
    if ALL not in (user, item):
        values = [found.get((user, item))]
    else:
        wanted = [v for (u, i), v in found.items() if user in (ALL, u) and item in (ALL, i)]
        values = [None if v is None else abs(v - neutral) for v in wanted]
    there = [value for value in values if value is not None]
    if not there:
        raise UndefinedValue(
            f"{what} of users {user!r} and items {item!r} is 0/0.",
            "groups that have chosen something and are shown something.",
            "pass train= if it is missing, set undefined='zero', or look at other groups.",
        )
    return fsum(there) / len(there) if len(there) > 1 else there[0]


def gains_of(stock: Stock, by: str, times: Integers, item: Integers, gains: Floats) -> Counts:
    """What items gain in all, how often something can be gained, and which are in a group."""
    summed = sums("gains", item, gains, len(stock.ids))
    return {"times": times, **summed, **members(stock.groups(by))}


def sums(what: str, entry: Integers, values: Floats, size: int) -> dict[str, Integers]:
    """The sum of the values of each entry, as digits to the base 2**24: whole numbers that add up
    like all counts."""
    found, left = {}, np.asarray(values, np.float64)
    while left.any():
        place = int(np.frexp(np.abs(left).max())[1] - 1) // _BITS
        digit = np.trunc(np.ldexp(left, -_BITS * place))
        left = left - np.ldexp(digit, _BITS * place)
        added = np.bincount(entry, weights=digit, minlength=size)
        found[_named(what, place)] = added.astype(np.int64)
    return found


def means(counts: Counts, what: str, times: Integers) -> Floats:
    """(entries,) the sums of entries over how often they were added to, rounded once; NaN where
    that is never."""
    start = what + _BETWEEN
    digits = {int(n.removeprefix(start)): c for n, c in counts.items() if n.startswith(start)}
    lowest = min(digits, default=0)
    below, whole = 1 << max(-_BITS * lowest, 0), [0] * len(times)
    for place, column in digits.items():
        shift = _BITS * (place - min(lowest, 0))
        for entry in np.flatnonzero(column).tolist():
            whole[entry] += int(column[entry]) << shift
    ratios = zip(whole, times.tolist(), strict=True)
    return np.array([above / (below * n) if n else np.nan for above, n in ratios])


def members(groups: Groups) -> dict[str, Integers]:
    """(entries,) 1 for those in a group, for every group: above 0 also where batches are added."""
    _require_few(groups)
    return {
        _named("in", name): (groups.number == n).astype(np.int64)
        for n, name in enumerate(groups.names)
    }


def group_means(counts: Counts, values: Floats) -> list[float]:
    """The mean of the values of the entries in each group that has some; `in` tells which are."""
    start = "in" + _BETWEEN
    found = []
    for name, flags in counts.items():
        if name.startswith(start):
            inside = values[np.flatnonzero(flags)]
            inside = inside[~np.isnan(inside)]
            found += [fsum(inside.tolist()) / len(inside)] if len(inside) else []
    return found


def difference(means: Iterable[float], what: str) -> float:
    """The mean absolute difference between two groups."""
    pairs = [abs(one - other) for one, other in combinations(means, 2)]
    if not pairs:
        raise UndefinedValue(
            f"{what} has fewer than two groups to compare.",
            "two groups with a value.",
            "set undefined='zero', or pass a column with more groups.",
        )
    return fsum(pairs) / len(pairs)


def by_group(
    what: str, groups: Groups, entries: Integers, times: Integers | None = None
) -> dict[str, Integers]:
    """How many of some entries, each so many times, are in each group; entries below 0 are in
    none."""
    _require_few(groups)
    number = np.append(groups.number, -1)[entries]
    there = number >= 0
    weights = None if times is None else np.broadcast_to(times, number.shape)[there]
    found = np.bincount(number[there], weights=weights, minlength=len(groups.names))
    counts = found.astype(np.int64)
    return {_named(what, name): counts[[n]] for n, name in enumerate(groups.names)}


def by_pair(what: str, users: Groups, items: Groups, who: Integers, item: Integers) -> Counts:
    """How many pairs of a user and an item are in each pair of groups; an item for each user, or
    a row of items. Those below 0, and those in no group, are in none."""
    _require_few(users)
    _require_few(items)
    theirs, its = (np.append(side.number, -1) for side in (users, items))
    sizes, lock = (len(users.names), len(items.names)), Lock()
    row = sizes[1] + 1  # the last column is for items in no group, the last row for users in none
    theirs, its = np.where(theirs < 0, sizes[0], theirs) * row, np.where(its < 0, sizes[1], its)
    known = (frozen(theirs.astype(np.int32)), frozen(its.astype(np.int32)))
    who, item = (side if side.ndim == 2 else side[:, None] for side in (who, item))
    count = kernel(pair_kernel) if repay(item.size) else _count_pairs
    every = np.zeros(row * (sizes[0] + 1), np.int64)

    def work(first: int, last: int) -> None:
        counts = np.zeros_like(every)
        for begin in range(first, last, _BLOCK):
            here = slice(begin, min(begin + _BLOCK, last))
            count(*known, who[here], item[here], counts)
        with lock:
            np.add(every, counts, out=every)

    in_blocks(work, len(item))
    counts = every.reshape(-1, row)
    return {
        _named(what, user, name): counts[n, [m]]
        for n, user in enumerate(users.names)
        for m, name in enumerate(items.names)
    }


def _count_pairs(
    theirs: Integers, its: Integers, who: Integers, item: Integers, counts: Integers
) -> None:
    counts += np.bincount((theirs[who] + its[item]).reshape(-1), minlength=len(counts))


def pair_kernel(
    theirs: Integers, its: Integers, who: Integers, item: Integers, counts: Integers
) -> None:
    """Count pairs of groups, compiled. The same count twice in a row has to wait for itself: there
    are two of each."""
    twice = np.zeros((2, len(counts)), np.int64)
    for u in range(item.shape[0]):
        row = theirs[who[u, 0]]
        for place in range(item.shape[1]):
            twice[(u + place) & 1, row + its[item[u, place]]] += 1
    for pair in range(len(counts)):
        counts[pair] += twice[0, pair] + twice[1, pair]


def _require_few(groups: Groups) -> None:
    if len(groups.names) > MOST_GROUPS:
        raise BadTable(
            f"a column of groups has {len(groups.names):,} different values (first: "
            f"{groups.names[0]!r}).",
            f"at most {MOST_GROUPS} groups.",
            "put values together into fewer groups.",
        )


def _named(what: str, *groups: object) -> str:
    return _BETWEEN.join([what, *(str(group).replace(_BETWEEN, " ") for group in groups)])


def of_group(counts: Counts, what: str) -> dict[str, int]:
    """What was counted, by group."""
    start = what + _BETWEEN
    return {n.removeprefix(start): int(c.sum()) for n, c in counts.items() if n.startswith(start)}


def of_pair(counts: Counts, what: str) -> dict[Pair, int]:
    """What was counted, by the groups of user and item."""
    found = ((name.split(_BETWEEN), number) for name, number in of_group(counts, what).items())
    return {(user, item): number for (user, item), number in found}
