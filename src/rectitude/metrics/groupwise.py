"""Counts by group, and how groups compare.

All counts are whole numbers, so batches in any order give bit-identical results. A count is
named after what is counted and the group, or after the groups of a user and an item. `Stock`
describes the items and the training data, `People` the users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import fsum, sqrt
from threading import Lock
from typing import NamedTuple

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.errors import BadTable, UndefinedValue, unknown_name
from rectitude.judge.attributes import Groups
from rectitude.judge.items import People, Stock
from rectitude.kernels import freeze, kernel, should_compile
from rectitude.metrics.history import WantedItems, count_wanted
from rectitude.metrics.registry import Counts, require_choice
from rectitude.parallel import in_blocks

Pair = tuple[str, str]
"""a group of users and a group of items"""
Pairs = tuple[Integers, Integers]
"""the numbers of users, and those of their items"""
ALL = "all"
"""used instead of the name of a group: all groups"""

MISSING = ("left_out", "undefined")
"""What groups without a value do: they are left out, or the value of all groups is undefined."""
MOST_GROUPS = 500
"""the most groups that are supported: each group has its own counts"""
_BETWEEN = "\t"
_BITS = 24
_BLOCK = 1 << 12


class GroupChances(NamedTuple):
    """How often each item could have been a hit, or could have been shown, in some lists."""

    relevant: Integers
    """(items,) lists in which it is relevant"""
    seen: Integers
    """(items,) lists in which it is relevant and in the training data of the user"""
    had: Integers
    """(items,) lists whose user has it in the training data"""


def count_chances(stock: Stock, wanted: WantedItems) -> GroupChances:
    """Count how often items could have been hits or shown; `wanted` are the relevant items of
    lists."""
    (user, item), size = stock.pairs, len(stock.ids)
    times = np.bincount(wanted.owner, minlength=int(user.max(initial=-1)) + 1)
    relevant, seen = count_wanted(stock, wanted)
    had = stock.users
    if np.any(times != 1):  # some user does not have exactly one list
        had = np.bincount(item, times[user], minlength=size).astype(np.int64)
    return GroupChances(relevant, seen, had)


def count_groups(
    stock: Stock, groups: Groups, hits: Integers, possible: GroupChances, shown: Integers,
    counted: int, lists: int,
) -> Counts:  # fmt: skip
    """Count what groups of items get in the lists that count, and what they could have got.

    `hits` are the items of the hits, `shown` is how often each item is shown; `counted` of all
    `lists` lists count.
    """
    all_items = np.arange(len(stock.ids))
    return {
        **count_by_group("hits", groups, hits),
        **count_by_group("relevant", groups, all_items, possible.relevant),
        **count_by_group("relevant seen", groups, all_items, possible.seen),
        **count_by_group("places", groups, all_items, shown),
        **count_by_group("items", groups, all_items, np.array(counted)),
        **count_by_group("items seen", groups, all_items, possible.had),
        **count_by_group("rows", groups, all_items, stock.rows * counted),
        "lists": np.array([lists]),
    }


def count_relevant(counts: Counts, below: str) -> dict[str, float]:
    """Return how many relevant items each group has."""
    return _subtract_trained(counts, "relevant", below, ("unseen", "all"))


def count_available(counts: Counts, below: str) -> dict[str, float]:
    """Return how often the items of each group could have been shown."""
    return _subtract_trained(counts, "items", below, ("unseen", "all", "estimated"))


def _subtract_trained(
    counts: Counts, what: str, below: str, choices: tuple[str, ...]
) -> dict[str, float]:
    """Return a count for each group, less what its users have in the training data.

    Subtracts the seen items, nothing, or as many as a user has on average.
    """
    require_choice("below", below, choices)
    lists, rows = int(counts["lists"].sum()), get_by_group(counts, "rows")
    subtracted: dict[str, Mapping[str, float]] = {
        "unseen": get_by_group(counts, f"{what} seen"),
        "all": {},
        "estimated": {name: number / max(lists, 1) for name, number in rows.items()},
    }
    totals = get_by_group(counts, what)
    return {name: number - subtracted[below].get(name, 0.0) for name, number in totals.items()}


def compute_rates(
    counts: Counts, numerator: str, denominators: Mapping[str, float]
) -> dict[str, float | None]:
    """Return a rate for every group; None if its denominator is not above 0."""
    numerators = get_by_group(counts, numerator)
    return {
        name: numerators[name] / denominator if denominator > 0 else None
        for name, denominator in denominators.items()
    }


def _require_all(missing: str, without: Sequence[str], because: str) -> None:
    """Raise an error for groups without a value, if they make the whole undefined."""
    require_choice("missing", missing, MISSING)
    if missing == "undefined" and without:
        raise UndefinedValue(
            f"group {without[0]!r} {because}.",
            "a value of every group.",
            "missing=left_out leaves such groups out.",
        )


def relative_spread(
    rates_by_group: Mapping[str, float | None], group: str, what: str, missing: str = "left_out"
) -> float:
    """Return the standard deviation of all groups' rates divided by their mean, or the rate of one
    group. See `MISSING` for groups without a rate."""
    rates = {name: rate for name, rate in rates_by_group.items() if rate is not None}
    if group != ALL:
        if group not in rates:
            raise unknown_name("group", group, rates, where=what)
        return rates[group]
    without = [name for name in rates_by_group if name not in rates]
    _require_all(missing, without, "has nothing that could be found or shown")
    values = list(rates.values())
    mean = fsum(values) / max(len(values), 1)
    if len(values) < 2 or mean == 0:
        only_group = f", {next(iter(rates))!r}" if len(values) == 1 else ""
        few = f"{what} compares groups, but only {len(values)} can be compared{only_group}."
        raise UndefinedValue(
            few if len(values) < 2 else f"none of the {len(values)} groups has a rate above 0.",
            "at least two groups with items that could be found or shown, and one rate above 0.",
            "set undefined='zero', or pass a column with other groups.",
        )
    return sqrt(fsum((value - mean) ** 2 for value in values) / len(values)) / mean


def count_chosen_pairs(
    people: People, stock: Stock, by: tuple[str, str], pairs: Pairs | None = None
) -> Counts:
    """Count what users chose, by the groups of both, and the items of each group.

    `by` are the columns of users and items. Without `pairs`, the choices are the training data.
    """
    users, items = people.groups(by[0]), stock.groups(by[1])
    if pairs is not None:
        return {**count_by_pair("chosen", users, items, *pairs), **_count_items(stock, items)}
    chosen = stock.kept(("chosen", by), lambda: count_by_pair("chosen", users, items, *stock.pairs))
    return {**chosen, **_count_items(stock, items)}


def count_shown_pairs(
    people: People, stock: Stock, by: tuple[str, str], owner: Integers, shown: Integers
) -> Counts:
    """Count what users are shown, by the groups of both, and the items of each group.

    `shown` are the items at each position of each list, `owner` is the user of each list.
    """
    users, items = people.groups(by[0]), stock.groups(by[1])
    listed = Groups(np.append(items.number, -1)[stock.listed], items.names)
    return {
        **count_by_pair("shown", users, listed, owner[:, None], shown),
        **_count_items(stock, items),
    }


def _count_items(stock: Stock, items: Groups) -> Counts:
    return count_by_group("items", items, np.arange(len(stock.ids)))


def compute_bias(counts: Counts, what: str, user_group: str, item_group: str) -> float:
    """Return how over-represented an item group is among the items of a user group, compared with
    its share of the catalogue."""
    groups = {name for name, items in get_by_group(counts, "items").items() if items}
    if item_group not in (ALL, *groups):
        raise unknown_name("group of items", item_group, groups, where="the catalogue")
    return pair_value(compute_lifts(counts, what), 1.0, user_group, item_group, "the bias")


def compute_lifts(counts: Counts, what: str) -> dict[Pair, float | None]:
    """Return the lift of each pair of groups; None for user groups without any item.

    The lift is the item group's share among the user group's items, divided by its share of all
    items.
    """
    pair_counts, items = get_by_pair(counts, what), get_by_group(counts, "items")
    totals: dict[str, int] = {}
    for (user, _), number in pair_counts.items():
        totals[user] = totals.get(user, 0) + number
    everything = sum(items.values())
    return {
        (user, item): n * everything / (totals[user] * items[item]) if totals[user] else None
        for (user, item), n in pair_counts.items()
        if items.get(item)
    }


def pair_value(
    values_by_pair: Mapping[Pair, float | None], neutral: float, user: str, item: str, what: str
) -> float:
    """Return the value of a pair of groups.

    If one of the groups is all, return the mean absolute distance of the values from the neutral
    one.
    """
    user_groups = {user_group for user_group, _ in values_by_pair}
    if user not in (ALL, *user_groups):
        raise unknown_name("group of users", user, user_groups, where=what)
    if ALL not in (user, item):
        values = [values_by_pair.get((user, item))]
    else:
        selected = [
            v for (u, i), v in values_by_pair.items() if user in (ALL, u) and item in (ALL, i)
        ]
        values = [None if v is None else abs(v - neutral) for v in selected]
    defined = [value for value in values if value is not None]
    if not defined:
        raise UndefinedValue(
            f"{what} of user group {user!r} and item group {item!r} is 0/0.",
            "user groups with training interactions and recommendations.",
            "pass train= if it is missing, set undefined='zero', or choose other groups.",
        )
    return fsum(defined) / len(defined) if len(defined) > 1 else defined[0]


def sum_gains(stock: Stock, by: str, times: Integers, item: Integers, gains: Floats) -> Counts:
    """Sum the gains of each item; also return how often it could gain, and which items are in a
    group."""
    summed = sum_digits("gains", item, gains, len(stock.ids))
    return {"times": times, **summed, **flag_members(stock.groups(by))}


def sum_digits(what: str, entry: Integers, values: Floats, size: int) -> dict[str, Integers]:
    """Return the sum of the values of each entry, as digits in base 2**24.

    The digits are whole numbers that add up like all counts.
    """
    digits, rest = {}, np.asarray(values, np.float64)
    while rest.any():
        exponent = int(np.frexp(np.abs(rest).max())[1] - 1) // _BITS
        digit = np.trunc(np.ldexp(rest, -_BITS * exponent))
        rest = rest - np.ldexp(digit, _BITS * exponent)
        added = np.bincount(entry, weights=digit, minlength=size)
        digits[_column_name(what, exponent)] = added.astype(np.int64)
    return digits


def divide_sums(counts: Counts, what: str, times: Integers) -> Floats:
    """Return the sum of each entry divided by the number of values added to it.

    The quotient is rounded once; it is NaN for entries without values.
    """
    start = what + _BETWEEN
    digits = {int(n.removeprefix(start)): c for n, c in counts.items() if n.startswith(start)}
    lowest = min(digits, default=0)
    denominator, whole = 1 << max(-_BITS * lowest, 0), [0] * len(times)
    for exponent, column in digits.items():
        shift = _BITS * (exponent - min(lowest, 0))
        for entry in np.flatnonzero(column).tolist():
            whole[entry] += int(column[entry]) << shift
    ratios = zip(whole, times.tolist(), strict=True)
    return np.array([numerator / (denominator * n) if n else np.nan for numerator, n in ratios])


def flag_members(groups: Groups) -> dict[str, Integers]:
    """Return a flag per entry for every group: above 0 for its members, even after batches are
    added."""
    _require_few(groups)
    return {
        _column_name("in", name): (groups.number == n).astype(np.int64)
        for n, name in enumerate(groups.names)
    }


def average_groups(counts: Counts, values: Floats, missing: str = "left_out") -> list[float]:
    """Return the mean of the values in each group that has any; the counts named `in` hold the
    members. See `MISSING` for the other groups."""
    start = "in" + _BETWEEN
    averages, without = [], []
    for name, flags in counts.items():
        if name.startswith(start):
            inside = values[np.flatnonzero(flags)]
            inside = inside[~np.isnan(inside)]
            averages += [fsum(inside.tolist()) / len(inside)] if len(inside) else []
            without += [] if len(inside) else [name.removeprefix(start)]
    _require_all(missing, without, "has no item with a value")
    return averages


def mean_difference(means: Iterable[float], what: str) -> float:
    """Return the mean absolute difference between pairs of groups."""
    pairs = [abs(first - second) for first, second in combinations(means, 2)]
    if not pairs:
        raise UndefinedValue(
            f"{what} has fewer than two groups to compare.",
            "at least two groups with a value.",
            "set undefined='zero', or pass a column with more groups.",
        )
    return fsum(pairs) / len(pairs)


def count_by_group(
    what: str, groups: Groups, entries: Integers, times: Integers | None = None
) -> dict[str, Integers]:
    """Count entries by group, each `times` times; entries below 0 are in no group."""
    _require_few(groups)
    number = np.append(groups.number, -1)[entries]
    in_group = number >= 0
    weights = None if times is None else np.broadcast_to(times, number.shape)[in_group]
    totals = np.bincount(number[in_group], weights=weights, minlength=len(groups.names))
    counts = totals.astype(np.int64)
    return {_column_name(what, name): counts[[n]] for n, name in enumerate(groups.names)}


def count_by_pair(
    what: str, users: Groups, items: Groups, user: Integers, item: Integers
) -> Counts:
    """Count pairs of a user and an item by their groups.

    There is one item, or a row of items, for each user. Numbers below 0 and entries without a group
    are not counted.
    """
    _require_few(users)
    _require_few(items)
    user_group, item_group = (np.append(side.number, -1) for side in (users, items))
    sizes, lock = (len(users.names), len(items.names)), Lock()
    row = sizes[1] + 1  # the last column and the last row are for items and users without a group
    user_group = np.where(user_group < 0, sizes[0], user_group) * row
    item_group = np.where(item_group < 0, sizes[1], item_group)
    group_tables = (freeze(user_group.astype(np.int32)), freeze(item_group.astype(np.int32)))
    user, item = (side if side.ndim == 2 else side[:, None] for side in (user, item))
    count = kernel(pair_kernel) if should_compile(item.size) else _count_pairs
    all_counts = np.zeros(row * (sizes[0] + 1), np.int64)

    def count_block(first: int, last: int) -> None:
        counts = np.zeros_like(all_counts)
        for begin in range(first, last, _BLOCK):
            block = slice(begin, min(begin + _BLOCK, last))
            count(*group_tables, user[block], item[block], counts)
        with lock:
            np.add(all_counts, counts, out=all_counts)

    in_blocks(count_block, len(item))
    counts = all_counts.reshape(-1, row)
    return {
        _column_name(what, user_name, name): counts[n, [m]]
        for n, user_name in enumerate(users.names)
        for m, name in enumerate(items.names)
    }


def _count_pairs(
    user_group: Integers, item_group: Integers, user: Integers, item: Integers, counts: Integers
) -> None:
    counts += np.bincount((user_group[user] + item_group[item]).reshape(-1), minlength=len(counts))


def pair_kernel(
    user_group: Integers, item_group: Integers, user: Integers, item: Integers, counts: Integers
) -> None:
    """Count pairs of groups; compiled.

    There are two copies of each count, used in turn: incrementing the same cell twice in a row
    would stall the processor.
    """
    twice = np.zeros((2, len(counts)), np.int64)
    for u in range(item.shape[0]):
        row = user_group[user[u, 0]]
        for position in range(item.shape[1]):
            twice[(u + position) & 1, row + item_group[item[u, position]]] += 1
    for pair in range(len(counts)):
        counts[pair] += twice[0, pair] + twice[1, pair]


def _require_few(groups: Groups) -> None:
    if len(groups.names) > MOST_GROUPS:
        raise BadTable(
            f"a column of groups has {len(groups.names):,} different values (first: "
            f"{groups.names[0]!r}).",
            f"at most {MOST_GROUPS} groups.",
            "merge values into fewer groups.",
        )


def _column_name(what: str, *groups: object) -> str:
    return _BETWEEN.join([what, *(str(group).replace(_BETWEEN, " ") for group in groups)])


def get_by_group(counts: Counts, what: str) -> dict[str, int]:
    """Return a count by group."""
    start = what + _BETWEEN
    return {n.removeprefix(start): int(c.sum()) for n, c in counts.items() if n.startswith(start)}


def get_by_pair(counts: Counts, what: str) -> dict[Pair, int]:
    """Return a count by the groups of user and item."""
    split = ((name.split(_BETWEEN), number) for name, number in get_by_group(counts, what).items())
    return {(user, item): number for (user, item), number in split}
