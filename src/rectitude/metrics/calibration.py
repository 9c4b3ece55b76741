"""Metrics of how far the groups that a list shows are from those of its user's training.

Groups are counted in whole numbers first, so that no order of rows shows in the last bits, and for
some lists at a time: nothing as large as all lists and groups is ever there. Where no item has
several of few groups, what a group adds depends on four small numbers alone: it has so many of so
many rows of training, and so many of so many places. All that it can add is computed once then, and
looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import (
    Flags,
    Floats,
    Integers,
    Ragged,
    distinct,
    offsets_of,
    places,
    run_starts,
    totals,
)
from rectitude.errors import BadName
from rectitude.judge.attributes import Memberships
from rectitude.judge.items import Stock
from rectitude.judge.judged import Judged
from rectitude.judge.places import Ends
from rectitude.kernels import frozen, kernel, repay
from rectitude.metrics.history import expanded
from rectitude.metrics.registry import NO_LAW, Ratio, metric
from rectitude.parallel import in_blocks

_NEEDS = ("items", "train", "shown", "stock", "people")
_USE = (
    "Use it to see whether lists give every interest of a user its due. A model can be accurate "
    "and show the largest interest only; a list at random from train is calibrated and useless. "
)
_ALPHA = 0.01


@metric(
    "Calibration, Kullback-Leibler divergence",
    formula="sum over the values g of column {by} of items= of p(g) * ln(p(g) / q(g)), p = share "
    "of the user's rows of train, q = (1 - {alpha}) * share of the items in the top {k} + {alpha} "
    "* p; an item of several values counts for each in equal parts, one without is left out; 0/0 "
    "where nothing is left of the user's train or of the list",
    reading="0 if the list has every value as often as the user's training has; ln(1 / alpha), "
    "4.6 unless told, if they have no value in common.",
    use=f"{_USE}An interest that the list leaves out costs most here.",
    cite="steck2018calibrated",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=_NEEDS,
)
def calibration_kl(
    lists: Judged, k: int | None, *, by: str = "category", alpha: float = _ALPHA
) -> Ratio:
    """How far the values of an attribute in the list are from those in the user's training."""
    if not 0 < alpha <= 1:
        raise BadName(f"alpha cannot be {alpha:g}.", "a number above 0, at most 1.")
    (value, _, _), both = _summed(lists, by, alpha)
    return Ratio.of(np.maximum(value, 0.0)).where(both)


@metric(
    "Calibration, Jensen-Shannon divergence",
    formula="(sum over the values g of column {by} of items= of p(g) * log2(p(g) / m(g)) + q(g) * "
    "log2(q(g) / m(g))) / 2, m = (p + q) / 2, p = share of the user's rows of train, q = share of "
    "the items in the top {k}; an item of several values counts for each in equal parts, one "
    "without is left out; 0/0 where nothing is left of the user's train or of the list",
    reading="0 if the list has every value as often as the user's training has, 1 if they have no "
    "value in common.",
    use=f"{_USE}It treats list and training alike and needs no smoothing.",
    cite="lin1991divergence",
    best="low",
    breaks=NO_LAW,
    needs=_NEEDS,
)
def calibration_js(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """How far the values of an attribute in the list and in the user's training are apart."""
    (_, value, _), both = _summed(lists, by)
    return Ratio.of(np.clip(value / (2 * np.log(2)), 0.0, 1.0)).where(both)


@metric(
    "Calibration, Hellinger distance",
    formula="sqrt(sum over the values g of column {by} of items= of (sqrt(p(g)) - sqrt(q(g)))^2 / "
    "2), p = share of the user's rows of train, q = share of the items in the top {k}; an item of "
    "several values counts for each in equal parts, one without is left out; 0/0 where nothing is "
    "left of the user's train or of the list",
    reading="0 if the list has every value as often as the user's training has, 1 if they have no "
    "value in common.",
    use=f"{_USE}Small shares weigh more than in calibration_js.",
    cite="steck2018calibrated",
    best="low",
    breaks=NO_LAW,
    needs=_NEEDS,
)
def calibration_hellinger(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """Distance of the values of an attribute in the list from those in the user's training."""
    (_, _, squares), both = _summed(lists, by)
    return Ratio.of(np.sqrt(np.minimum(squares / 2, 1.0))).where(both)


def _summed(lists: Judged, by: str, alpha: float = _ALPHA) -> tuple[Floats, Flags]:
    """What the groups of each user's training and of his list add, of all three kinds, and which
    lists have both: counting groups takes longer than adding."""
    find = partial(summed, lists.stock, lists.owner, by, divergences(alpha))
    return lists.places.each(("mixtures", by, alpha), find)


Terms = Callable[[Floats, Floats], Floats]
"""what a group adds, by its shares of training and of the list"""


def divergences(alpha: float) -> tuple[Terms, Terms, Terms]:
    """The terms of Kullback-Leibler, where the list is mixed with `alpha` of the training, of
    Jensen-Shannon times two, in nats, and of the square of Hellinger times two."""
    return partial(_leibler, alpha), _shannon, _hellinger


def _divergence(one: Floats, other: Floats) -> Floats:
    """one * ln(one / other), 0 where there is nothing of the one."""
    with np.errstate(invalid="ignore"):  # 0/0
        return one * np.log(np.where(one > 0, one / other, 1.0))


def _leibler(alpha: float, trained: Floats, listed: Floats) -> Floats:
    return _divergence(trained, (1 - alpha) * listed + alpha * trained)


def _shannon(trained: Floats, listed: Floats) -> Floats:
    middle = (trained + listed) / 2
    return _divergence(trained, middle) + _divergence(listed, middle)


def _hellinger(trained: Floats, listed: Floats) -> Floats:
    return (np.sqrt(trained) - np.sqrt(listed)) ** 2


Sums = list[tuple[Floats, Flags]]
"""for each cutoff, (terms, lists) what groups add up to, and (lists,) whether training and list
have any"""
_LISTS = 1 << 11
_LISTS_OF_NUMPY = 1 << 14
_CELLS = 1 << 20
"""numbers that a table, or the counts of a kernel, may have"""
FEW = 64


def summed(
    stock: Stock, owner: Integers, by: str, terms: Sequence[Terms], shown: Integers, ends: Ends
) -> Sums:
    """The sums over groups of functions of their shares in the training of the list's user and in
    the list. `stock.user` and `owner` must number users alike."""
    return _over(stock, owner, _trained(stock), by, terms, shown, ends)


def groups_shown(stock: Stock, by: str, shown: Integers, ends: Ends) -> list[Floats]:
    """For each cutoff, (lists,) how many different groups the items of each list have."""
    nobody = np.zeros(len(shown), np.int64)
    nothing = Ragged(np.zeros(2, np.int64), nobody[:0])
    found = _over(stock, nobody, nothing, by, [lambda _, listed: np.sign(listed)], shown, ends)
    return [sums[0] for sums, _ in found]


def _trained(stock: Stock) -> Ragged:
    """The rows of train by user, found once for all metrics."""
    if stock.pairs[1] is stock.item:  # no row repeats another
        return Ragged(stock.offsets, stock.item)

    def found() -> Ragged:
        ascending = bool(np.all(stock.user[1:] >= stock.user[:-1]))
        item = stock.item if ascending else stock.item[np.argsort(stock.user, kind="stable")]
        return Ragged(offsets_of(stock.user, stock.people), item)

    return stock.kept("by user", found)


def _over(
    stock: Stock, owner: Integers, rows: Ragged, by: str, terms: Sequence[Terms],
    shown: Integers, ends: Ends,
) -> Sums:  # fmt: skip
    """What groups add up to in each list, and whether rows and list have anything."""
    members = stock.memberships(by)
    start = offsets_of(members.entry, len(stock.ids))
    most = int(np.diff(start).max(initial=1))
    compiled = repay(shown.size) and len(members.names) * most <= _CELLS
    few_of_one = compiled and most == 1 and len(members.names) <= FEW
    groups = _few(stock, rows, by) if few_of_one else None
    entries = (rows.offsets, rows.values, start, members.number, stock.listed)
    known = groups or tuple(map(frozen, entries))
    can = table(groups, shown, terms) if groups else None
    sums = np.zeros((len(ends), len(terms), len(owner)))
    both = np.zeros((len(ends), len(owner)), bool)

    def add(here: slice | Integers, room: Integers) -> None:
        for cutoff, end in enumerate(ends):
            lists = (owner[here], shown[here, :end])
            pair, both[cutoff, here] = (
                _compiled(known, room, *lists)
                if compiled
                else _pair(rows, members, stock.listed, *lists)
            )
            for nth, term in enumerate(terms):
                added = totals(pair.owner, len(lists[0]), term(pair.one, pair.other))
                sums[cutoff, nth, here] = added

    def work(first: int, last: int) -> None:
        step = _LISTS if compiled else _LISTS_OF_NUMPY
        room = np.zeros((2, len(members.names), most), np.int64)  # counts: 0 between lists
        for begin in range(first, last, step):
            here: slice | Integers = slice(begin, min(begin + step, last))
            if groups and can:
                lists = (frozen(owner[here]), shown[here], np.array(ends))
                into = (both[:, here], sums[:, :, here])
                here = begin + add_from(can, groups, len(members.names), lists, into)
            if isinstance(here, slice) or len(here):
                add(here, room)

    in_blocks(work, len(owner))
    return list(zip(sums, both, strict=True))


class GroupPair(NamedTuple):
    """Two distributions of each owner, side by side; 0 where one of them has nothing of a group."""

    owner: Integers
    one: Floats
    other: Floats


def _pair(
    rows: Ragged, members: Memberships, listed: Integers, owner: Integers, shown: Integers
) -> tuple[GroupPair, Flags]:
    """The shares of groups in training and list, and who has both; the twin of `pair_kernel`."""
    whose, where = expanded(rows.offsets, owner)
    place = np.repeat(np.arange(len(shown)), shown.shape[1])
    trained = shares(whose, rows.values[where], members, len(owner))
    in_list = shares(place, listed[shown].reshape(-1), members, len(owner))
    has = (np.bincount(side.owner, minlength=len(owner)) > 0 for side in (trained, in_list))
    return paired(trained, in_list), np.logical_and(*has)


def _compiled(
    known: tuple[NDArray[Any], ...], room: Integers, owner: Integers, shown: Integers
) -> tuple[GroupPair, Flags]:
    """The shares of groups in training and list, and who has both, by a kernel."""
    pair = kernel(few_kernel if isinstance(known, Few) else pair_kernel)
    offsets, (_, groups, most) = known[0], room.shape
    entries = int((offsets[owner + 1] - offsets[owner]).sum()) + shown.size
    cells = min(entries * most, len(owner) * groups) + 1
    whose, one, other = np.empty(cells, np.int64), np.empty(cells), np.empty(cells)
    both = np.empty(len(owner), bool)
    end = pair(*known, frozen(owner), shown, both, room, whose, one, other)
    return GroupPair(whose[:end], one[:end], other[:end]), both


def pair_kernel(
    offsets: Integers, item: Integers, start: Integers, number: Integers, listed: Integers,
    owner: Integers, shown: Integers, both: Flags, counts: Integers,
    whose: Integers, one: Floats, other: Floats,
) -> int:  # fmt: skip
    """The shares of groups in training and list, compiled. Parts of items that have several groups
    are added from the fewest parts on, and groups in ascending order."""
    at, (_, groups, most) = 0, counts.shape
    there, touched = np.zeros(groups, np.bool_), np.empty(groups, np.int64)
    for u in range(len(owner)):
        many, begin, trained = 0, at, offsets[owner[u] + 1] - offsets[owner[u]]
        for n in range(trained + shown.shape[1]):
            side = 0 if n < trained else 1
            entry = listed[shown[u, n - trained]] if side else item[offsets[owner[u]] + n]
            for m in range(start[entry], start[entry + 1] if entry >= 0 else 0):
                group = number[m]
                counts[side, group, start[entry + 1] - start[entry] - 1] += 1
                if not there[group]:
                    there[group] = True
                    touched[many] = group
                    many += 1
        total, whole = 0.0, 0.0
        for group in np.sort(touched[:many]):
            mine, its = 0.0, 0.0
            for part in range(most):
                mine += counts[0, group, part] / (part + 1)
                its += counts[1, group, part] / (part + 1)
                counts[0, group, part] = counts[1, group, part] = 0
            whose[at], one[at], other[at] = u, mine, its
            total, whole, at, there[group] = total + mine, whole + its, at + 1, False
        both[u] = total > 0 and whole > 0
        for cell in range(begin, at):
            one[cell] /= total if total > 0 else 1.0
            other[cell] /= whole if whole > 0 else 1.0
    return at


class GroupShares(NamedTuple):
    """The groups that each owner has anything of; the shares of an owner add up to 1."""

    owner: Integers
    """(pairs,) ascending"""
    group: Integers
    """(pairs,) ascending within an owner"""
    share: Floats


def shares(owner: Integers, entry: Integers, members: Memberships, owners: int) -> GroupShares:
    """What share each group has of the entries that an owner has.

    An entry of several groups counts for each of them in equal parts; one without is left out.
    """
    size, groups = int(members.entry.max(initial=-1)) + 1, len(members.names)
    offsets = offsets_of(members.entry, size)
    many = np.append(np.diff(offsets), [0, 0])  # for an entry past the last one, and for none
    has = many[np.minimum(entry, size)]
    if many.max() > 1:
        keys, parts = _spread(owner, entry, has, members, offsets)
        pairs, weight = _weights(keys, parts, int(many.max()))
    else:
        known = np.flatnonzero(has)
        pairs, times = _counted(owner[known] * groups + members.number[offsets[entry[known]]])
        weight = times.astype(np.float64)
    whose = pairs // max(groups, 1)
    whole = totals(whose, owners, weight)
    return GroupShares(whose, pairs - whose * groups, weight / whole[whose])


def _spread(
    owner: Integers, entry: Integers, has: Integers, members: Memberships, offsets: Integers
) -> tuple[Integers, Integers]:
    """A pair of owner and group for each group of each entry, and how many groups share that."""
    rows = np.repeat(np.arange(len(entry)), has)
    begins = np.append(offsets, 0)[np.minimum(entry, len(offsets) - 1)]
    where = np.arange(len(rows)) + np.repeat(begins - (np.cumsum(has) - has), has)
    return owner[rows] * len(members.names) + members.number[where], has[rows]


def _weights(keys: Integers, parts: Integers, most: int) -> tuple[Integers, Floats]:
    """The different pairs, and the sum of 1 / parts of each, added from the fewest parts on."""
    kinds, times = _counted(keys * (most + 1) + parts)
    pair, part = np.divmod(kinds, most + 1)
    starts = run_starts(pair)
    place = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(pair))))
    return pair[starts], totals(place, len(starts), times / part)


def _counted(keys: Integers) -> tuple[Integers, Integers]:
    """The different keys, ascending, and how often each is there."""
    if int(keys.max(initial=0)) <= 8 * len(keys) + 1024:
        times = np.bincount(keys)
        known = np.flatnonzero(times)
        return known, times[known]
    ordered = np.sort(keys)
    starts = run_starts(ordered)
    return ordered[starts], np.diff(np.append(starts, len(ordered)))


def paired(one: GroupShares, other: GroupShares) -> GroupPair:
    """Two distributions of each owner over all groups of either."""
    groups = int(max(one.group.max(initial=0), other.group.max(initial=0))) + 1
    mine, theirs = (side.owner * groups + side.group for side in (one, other))
    keys = distinct(mine, theirs)
    both = []
    for own, side in ((mine, one), (theirs, other)):
        share = np.zeros(len(keys))
        share[places(keys, own)] = side.share
        both.append(share)
    return GroupPair(keys // groups, both[0], both[1])


class Few(NamedTuple):
    """The group of each row of train and of each listed item; their number stands for none."""

    offsets: Integers
    trained: NDArray[np.int8]
    listed: NDArray[np.int8]


def _few(stock: Stock, rows: Ragged, by: str) -> Few:
    """The group of each row and item, of which none has several; found once for all metrics."""

    def found() -> Few:
        members = stock.memberships(by)
        of_item = np.full(len(stock.ids) + 1, len(members.names), np.int8)
        of_item[members.entry] = members.number
        return Few(
            frozen(rows.offsets), frozen(of_item[rows.values]), frozen(of_item[stock.listed])
        )

    # without rows there is no telling whose they would be, and little to be found
    return stock.kept(("few", by), found) if len(rows.values) else found()


def few_kernel(
    offsets: Integers, trained: NDArray[np.int8], listed: NDArray[np.int8], owner: Integers,
    shown: Integers, both: Flags, counts: Integers, whose: Integers, one: Floats, other: Floats,
) -> int:  # fmt: skip
    """The shares of groups in training and list, compiled: all groups are looked at in turn."""
    at, mine, its, many = 0, counts[0, :, 0], counts[1, :, 0], counts.shape[1]
    for u in range(len(owner)):
        rows, places = 0, 0
        for row in range(offsets[owner[u]], offsets[owner[u] + 1]):
            if trained[row] < many:
                mine[trained[row]] += 1
                rows += 1
        for p in range(shown.shape[1]):
            group = listed[shown[u, p]]
            if group < many:
                its[group] += 1
                places += 1
        both[u] = rows > 0 and places > 0
        for group in range(len(mine)):
            whose[at] = u
            one[at] = mine[group] / max(rows, 1)
            other[at] = its[group] / max(places, 1)
            at += mine[group] + its[group] > 0
            mine[group] = its[group] = 0
    return at


class GroupTable(NamedTuple):
    """What a group can add."""

    adds: Floats
    """(terms, shares of training, shares of the list) in the order of `_shares`"""
    most: int
    """how many rows of train a user may have"""


def table(groups: Few, shown: Integers, terms: Sequence[Terms]) -> GroupTable:
    """All that a group can add, for users with little training at least; not more of it than there
    are places to look it up for."""
    of_list = _shares(shown.shape[1])
    cells = min(_CELLS, shown.size)
    fits = int(np.sqrt(2 * cells / len(of_list))) - 2
    most = min(fits, int(np.diff(groups.offsets).max(initial=0)))
    one, other = np.meshgrid(_shares(most), of_list, indexing="ij")
    adds = np.array([term(one.reshape(-1), other.reshape(-1)) for term in terms])
    adds[:, (one == 0).reshape(-1) & (other == 0).reshape(-1)] = 0.0
    return GroupTable(frozen(adds.reshape(len(terms), *one.shape)), most)


def _shares(most: int) -> Floats:
    """Every share of many in whole: that of `many` is number whole * (whole + 1) / 2 + many."""
    whole = np.repeat(np.arange(most + 1), np.arange(most + 1) + 1)
    return (np.arange(len(whole)) - whole * (whole + 1) // 2) / np.maximum(whole, 1)


def add_from(
    table: GroupTable,
    groups: Few,
    many: int,
    lists: tuple[Integers, Integers, Integers],
    into: tuple[Flags, Floats],
) -> Integers:
    """Add up what groups add in lists (users, places, ends of cutoffs), and tell the numbers of
    those that are left, as the table does not hold what is added there; `many` is how many groups
    there are."""
    kernel(table_kernel)(*groups, table.adds, table.most, many, *lists, *into)
    owner = lists[0]
    return np.flatnonzero(groups.offsets[owner + 1] - groups.offsets[owner] > table.most)


def table_kernel(
    offsets: Integers, trained: NDArray[np.int8], listed: NDArray[np.int8], adds: Floats, most: int,
    many: int, owner: Integers, shown: Integers, ends: Integers, both: Flags, sums: Floats,
) -> None:  # fmt: skip
    """Count and look up, compiled. The cell of a group is its count in train times the width of the
    table, and its count in the list."""
    cells, width, flat = np.zeros(many + 1, np.int64), adds.shape[2], adds.reshape(len(adds), -1)
    for u in range(len(owner)):
        begin, end = offsets[owner[u]], offsets[owner[u] + 1]
        if end - begin > most:
            continue
        for row in range(begin, end):
            cells[trained[row]] += width
        without, place = cells[many], 0
        rows = end - begin - without // width
        start = rows * (rows + 1) // 2 * width
        for cutoff in range(len(ends)):
            while place < ends[cutoff]:
                cells[listed[shown[u, place]]] += 1
                place += 1
            places = place - (cells[many] - without)
            both[cutoff, u] = rows > 0 and places > 0
            corner = start + places * (places + 1) // 2
            for term in range(len(flat)):
                total = 0.0
                for group in range(many):
                    total += flat[term, corner + cells[group]]
                sums[cutoff, term, u] = total
        cells[:] = 0
