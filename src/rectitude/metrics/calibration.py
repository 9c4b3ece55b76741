"""Calibration metrics: how far the groups in a list are from those in its user's training data.

Groups are counted in whole numbers first: the order of rows then never changes the last bits. Lists
are processed in blocks, so no array ever has one entry for every list and group. If there are few
groups and no item is in several, what a group adds depends on four small numbers: its count and the
total in the user's training data, and its count and the total in the list. All possible values are
then computed once and looked up.
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
    positions_in,
    run_starts,
    sum_by_group,
)
from rectitude.errors import BadArgument
from rectitude.judge.attributes import Memberships
from rectitude.judge.items import Stock
from rectitude.judge.judged import Judged
from rectitude.judge.places import Ends
from rectitude.kernels import freeze, kernel, should_compile
from rectitude.metrics.history import expand_rows
from rectitude.metrics.registry import RELEVANCE_LAWS, Ratio, metric
from rectitude.parallel import in_blocks

_NEEDS = ("items", "train", "shown", "stock", "people")
_USE = (
    "Use it to see whether lists reflect all interests of a user in proportion. An accurate model "
    "may show only the largest interest; items drawn at random from the user's training data are "
    "calibrated but useless. "
)
_ALPHA = 0.01


@metric(
    "Calibration, Kullback-Leibler divergence",
    formula="sum over the values g of column {by} of items= of p(g) * ln(p(g) / q(g)), p = share "
    "of the user's training rows, q = (1 - {alpha}) * share of the items in the top {k} + {alpha} "
    "* p; an item with several values counts for each in equal parts, an item without a value is "
    "left out; 0/0 if nothing is left of the user's training data or of the list",
    reading="0 if every value has the same share in the list as in the user's training data; ln(1 "
    "/ alpha), by default 4.6, if they have no value in common.",
    use=f"{_USE}Of the calibration metrics, this one penalises a missing interest most.",
    cite="steck2018calibrated",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def calibration_kl(
    lists: Judged, k: int | None, *, by: str = "category", alpha: float = _ALPHA
) -> Ratio:
    """Divergence of an attribute's values in the list from those in the user's training data."""
    if not 0 < alpha <= 1:
        raise BadArgument(f"alpha is {alpha:g}.", "a number above 0 and at most 1.")
    (value, _, _), both = _sum_kinds(lists, by, alpha)
    return Ratio.of(np.maximum(value, 0.0)).where(both)


@metric(
    "Calibration, Jensen-Shannon divergence",
    formula="(sum over the values g of column {by} of items= of p(g) * log2(p(g) / m(g)) + q(g) * "
    "log2(q(g) / m(g))) / 2, m = (p + q) / 2, p = share of the user's training rows, q = share of "
    "the items in the top {k}; an item with several values counts for each in equal parts, an item "
    "without a value is left out; 0/0 if nothing is left of the user's training data or of the "
    "list",
    reading="0 if every value has the same share in the list as in the user's training data; 1 if "
    "they have no value in common.",
    use=f"{_USE}It is symmetric in list and training data and needs no smoothing.",
    cite="lin1991divergence",
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def calibration_js(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """Symmetric divergence between an attribute's values in the list and in the user's training
    data."""
    (_, value, _), both = _sum_kinds(lists, by)
    return Ratio.of(np.clip(value / (2 * np.log(2)), 0.0, 1.0)).where(both)


@metric(
    "Calibration, Hellinger distance",
    formula="sqrt(sum over the values g of column {by} of items= of (sqrt(p(g)) - sqrt(q(g)))^2 / "
    "2), p = share of the user's training rows, q = share of the items in the top {k}; an item "
    "with several values counts for each in equal parts, an item without a value is left out; 0/0 "
    "if nothing is left of the user's training data or of the list",
    reading="0 if every value has the same share in the list as in the user's training data; 1 if "
    "they have no value in common.",
    use=f"{_USE}Small shares weigh more than in calibration_js.",
    cite="steck2018calibrated",
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def calibration_hellinger(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """Distance between an attribute's values in the list and in the user's training data."""
    (_, _, squares), both = _sum_kinds(lists, by)
    return Ratio.of(np.sqrt(np.minimum(squares / 2, 1.0))).where(both)


def _sum_kinds(lists: Judged, by: str, alpha: float = _ALPHA) -> tuple[Floats, Flags]:
    """Return the sums over groups for all three divergences, and which lists have groups on both
    sides.

    The three share one pass, because counting the groups takes longer than adding up the terms.
    """
    find = partial(sum_groups, lists.stock, lists.owner, by, divergences(alpha))
    return lists.places.each(("mixtures", by, alpha), find)


Terms = Callable[[Floats, Floats], Floats]
"""what a group adds: (its shares in the training data, its shares in the list) -> terms"""


def divergences(alpha: float) -> tuple[Terms, Terms, Terms]:
    """Return the terms of the three divergences.

    Kullback-Leibler, with the list smoothed by `alpha` of the training data; Jensen-Shannon times
    2, in nats; the square of Hellinger times 2.
    """
    return partial(_leibler, alpha), _shannon, _hellinger


def _divergence(p: Floats, q: Floats) -> Floats:
    """Return p * ln(p / q), 0 if p is 0."""
    with np.errstate(invalid="ignore"):  # 0/0
        return p * np.log(np.where(p > 0, p / q, 1.0))


def _leibler(alpha: float, trained: Floats, listed: Floats) -> Floats:
    return _divergence(trained, (1 - alpha) * listed + alpha * trained)


def _shannon(trained: Floats, listed: Floats) -> Floats:
    middle = (trained + listed) / 2
    return _divergence(trained, middle) + _divergence(listed, middle)


def _hellinger(trained: Floats, listed: Floats) -> Floats:
    return (np.sqrt(trained) - np.sqrt(listed)) ** 2


Sums = list[tuple[Floats, Flags]]
"""for each cutoff: (terms, lists) the sums over groups, and (lists,) whether both the training data
and the list have any group"""
_LISTS = 1 << 11
_LISTS_OF_NUMPY = 1 << 14
_CELLS = 1 << 20
"""the most cells that a table, or the counts of a kernel, may have"""
FEW = 64


def sum_groups(
    stock: Stock, owner: Integers, by: str, terms: Sequence[Terms], shown: Integers, ends: Ends
) -> Sums:
    """Sum functions of each group's shares in the user's training data and in the list.

    `stock.user` and `owner` must use the same numbers for users.
    """
    return _sum_over_groups(stock, owner, _rows_by_user(stock), by, terms, shown, ends)


def groups_shown(stock: Stock, by: str, shown: Integers, ends: Ends) -> list[Floats]:
    """Count for each cutoff
    (lists,) how many different groups the items of each list have."""
    no_owner = np.zeros(len(shown), np.int64)
    no_rows = Ragged(np.zeros(2, np.int64), no_owner[:0])
    results = _sum_over_groups(
        stock, no_owner, no_rows, by, [lambda _, listed: np.sign(listed)], shown, ends
    )
    return [sums[0] for sums, _ in results]


def _rows_by_user(stock: Stock) -> Ragged:
    """Return the training rows by user; computed once for all metrics."""
    if stock.pairs[1] is stock.item:  # no row repeats another
        return Ragged(stock.offsets, stock.item)

    def group_rows() -> Ragged:
        ascending = bool(np.all(stock.user[1:] >= stock.user[:-1]))
        item = stock.item if ascending else stock.item[np.argsort(stock.user, kind="stable")]
        return Ragged(offsets_of(stock.user, stock.people), item)

    return stock.kept("by user", group_rows)


def _sum_over_groups(
    stock: Stock, owner: Integers, rows: Ragged, by: str, terms: Sequence[Terms],
    shown: Integers, ends: Ends,
) -> Sums:  # fmt: skip
    """Sum the terms of the groups of each list, and flag the lists that have groups on both
    sides."""
    members = stock.memberships(by)
    start = offsets_of(members.entry, len(stock.ids))
    most_groups = int(np.diff(start).max(initial=1))
    compiled = should_compile(shown.size) and len(members.names) * most_groups <= _CELLS
    few_of_one = compiled and most_groups == 1 and len(members.names) <= FEW
    groups = _encode_few_groups(stock, rows, by) if few_of_one else None
    entries = (rows.offsets, rows.values, start, members.number, stock.listed)
    arrays = groups or tuple(map(freeze, entries))
    lookup = table(groups, shown, terms) if groups else None
    sums = np.zeros((len(ends), len(terms), len(owner)))
    both = np.zeros((len(ends), len(owner)), bool)

    def add(block: slice | Integers, counts: Integers) -> None:
        for cutoff, end in enumerate(ends):
            batch = (owner[block], shown[block, :end])
            pair, both[cutoff, block] = (
                _share_compiled(arrays, counts, *batch)
                if compiled
                else _share_in_numpy(rows, members, stock.listed, *batch)
            )
            for nth, term in enumerate(terms):
                added = sum_by_group(pair.owner, len(batch[0]), term(pair.trained, pair.listed))
                sums[cutoff, nth, block] = added

    def add_blocks(first: int, last: int) -> None:
        step = _LISTS if compiled else _LISTS_OF_NUMPY
        counts = np.zeros((2, len(members.names), most_groups), np.int64)  # all 0 between lists
        for begin in range(first, last, step):
            block: slice | Integers = slice(begin, min(begin + step, last))
            if groups and lookup:
                batch = (freeze(owner[block]), shown[block], np.array(ends))
                outputs = (both[:, block], sums[:, :, block])
                block = begin + add_from(lookup, groups, len(members.names), batch, outputs)
            if isinstance(block, slice) or len(block):
                add(block, counts)

    in_blocks(add_blocks, len(owner))
    return list(zip(sums, both, strict=True))


class GroupPair(NamedTuple):
    """Two distributions over groups for each owner; a share is 0 if that side lacks the group."""

    owner: Integers
    trained: Floats
    listed: Floats


def _share_in_numpy(
    rows: Ragged, members: Memberships, listed: Integers, owner: Integers, shown: Integers
) -> tuple[GroupPair, Flags]:
    """Return the shares of groups in training data and list, and which owners have both.

    Computes the same as `pair_kernel`, in NumPy.
    """
    whose, positions = expand_rows(rows.offsets, owner)
    list_of_item = np.repeat(np.arange(len(shown)), shown.shape[1])
    trained = shares(whose, rows.values[positions], members, len(owner))
    in_list = shares(list_of_item, listed[shown].reshape(-1), members, len(owner))
    has = (np.bincount(side.owner, minlength=len(owner)) > 0 for side in (trained, in_list))
    return pair_groups(trained, in_list), np.logical_and(*has)


def _share_compiled(
    arrays: tuple[NDArray[Any], ...], counts: Integers, owner: Integers, shown: Integers
) -> tuple[GroupPair, Flags]:
    """Return the shares of groups in training data and list, and which owners have both.

    Runs a compiled kernel.
    """
    write_shares = kernel(few_kernel if isinstance(arrays, Few) else pair_kernel)
    offsets, (_, groups, most_groups) = arrays[0], counts.shape
    entries = int((offsets[owner + 1] - offsets[owner]).sum()) + shown.size
    cells = min(entries * most_groups, len(owner) * groups) + 1
    whose, trained, listed = np.empty(cells, np.int64), np.empty(cells), np.empty(cells)
    both = np.empty(len(owner), bool)
    end = write_shares(*arrays, freeze(owner), shown, both, counts, whose, trained, listed)
    return GroupPair(whose[:end], trained[:end], listed[:end]), both


def pair_kernel(
    offsets: Integers, item: Integers, start: Integers, number: Integers, listed: Integers,
    owner: Integers, shown: Integers, both: Flags, counts: Integers,
    whose: Integers, train_share: Floats, list_share: Floats,
) -> int:  # fmt: skip
    """Write the shares of groups in training data and list; compiled.

    For a fixed order of additions, items with the fewest groups are added first, and groups are
    visited in ascending order.
    """
    at, (_, groups, most) = 0, counts.shape
    seen, touched = np.zeros(groups, np.bool_), np.empty(groups, np.int64)
    for u in range(len(owner)):
        used, begin, trained = 0, at, offsets[owner[u] + 1] - offsets[owner[u]]
        for n in range(trained + shown.shape[1]):
            side = 0 if n < trained else 1
            entry = listed[shown[u, n - trained]] if side else item[offsets[owner[u]] + n]
            for m in range(start[entry], start[entry + 1] if entry >= 0 else 0):
                group = number[m]
                counts[side, group, start[entry + 1] - start[entry] - 1] += 1
                if not seen[group]:
                    seen[group] = True
                    touched[used] = group
                    used += 1
        train_total, list_total = 0.0, 0.0
        for group in np.sort(touched[:used]):
            in_train, in_list = 0.0, 0.0
            for part in range(most):
                in_train += counts[0, group, part] / (part + 1)
                in_list += counts[1, group, part] / (part + 1)
                counts[0, group, part] = counts[1, group, part] = 0
            whose[at], train_share[at], list_share[at] = u, in_train, in_list
            train_total, list_total = train_total + in_train, list_total + in_list
            at, seen[group] = at + 1, False
        both[u] = train_total > 0 and list_total > 0
        for cell in range(begin, at):
            train_share[cell] /= train_total if train_total > 0 else 1.0
            list_share[cell] /= list_total if list_total > 0 else 1.0
    return at


class GroupShares(NamedTuple):
    """The groups of each owner and their shares, which add up to 1 for every owner."""

    owner: Integers
    """(pairs,) ascending"""
    group: Integers
    """(pairs,) ascending within an owner"""
    share: Floats


def shares(owner: Integers, entry: Integers, members: Memberships, owners: int) -> GroupShares:
    """Return the share of each group in the entries of each owner.

    An entry with several groups counts for each of them in equal parts; an entry without a group is
    left out.
    """
    size, groups = int(members.entry.max(initial=-1)) + 1, len(members.names)
    offsets = offsets_of(members.entry, size)
    group_counts = np.append(np.diff(offsets), [0, 0])  # for entries past the last one, and for -1
    entry_groups = group_counts[np.minimum(entry, size)]
    if group_counts.max() > 1:
        keys, parts = _expand_groups(owner, entry, entry_groups, members, offsets)
        pairs, weight = _sum_parts(keys, parts, int(group_counts.max()))
    else:
        with_group = np.flatnonzero(entry_groups)
        pairs, times = _count_keys(
            owner[with_group] * groups + members.number[offsets[entry[with_group]]]
        )
        weight = times.astype(np.float64)
    whose = pairs // max(groups, 1)
    sums = sum_by_group(whose, owners, weight)
    return GroupShares(whose, pairs - whose * groups, weight / sums[whose])


def _expand_groups(
    owner: Integers, entry: Integers, counts: Integers, members: Memberships, offsets: Integers
) -> tuple[Integers, Integers]:
    """Return a key of owner and group for each group of each entry, and the entry's number of
    groups."""
    rows = np.repeat(np.arange(len(entry)), counts)
    starts = np.append(offsets, 0)[np.minimum(entry, len(offsets) - 1)]
    positions = np.arange(len(rows)) + np.repeat(starts - (np.cumsum(counts) - counts), counts)
    return owner[rows] * len(members.names) + members.number[positions], counts[rows]


def _sum_parts(keys: Integers, parts: Integers, most: int) -> tuple[Integers, Floats]:
    """Return the distinct keys, and for each the sum of 1 / parts, added from the fewest parts
    on."""
    part_keys, times = _count_keys(keys * (most + 1) + parts)
    pair, part = np.divmod(part_keys, most + 1)
    starts = run_starts(pair)
    key = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(pair))))
    return pair[starts], sum_by_group(key, len(starts), times / part)


def _count_keys(keys: Integers) -> tuple[Integers, Integers]:
    """Return the distinct keys, ascending, and how often each occurs."""
    if int(keys.max(initial=0)) <= 8 * len(keys) + 1024:
        times = np.bincount(keys)
        present = np.flatnonzero(times)
        return present, times[present]
    ordered = np.sort(keys)
    starts = run_starts(ordered)
    return ordered[starts], np.diff(np.append(starts, len(ordered)))


def pair_groups(first: GroupShares, second: GroupShares) -> GroupPair:
    """Align two distributions of each owner on the groups that either of them has."""
    groups = int(max(first.group.max(initial=0), second.group.max(initial=0))) + 1
    first_keys, second_keys = (side.owner * groups + side.group for side in (first, second))
    keys = distinct(first_keys, second_keys)
    aligned = []
    for side_keys, side in ((first_keys, first), (second_keys, second)):
        share = np.zeros(len(keys))
        share[positions_in(keys, side_keys)] = side.share
        aligned.append(share)
    return GroupPair(keys // groups, aligned[0], aligned[1])


class Few(NamedTuple):
    """The group of each training row and of each listed item; `len(names)` means no group."""

    offsets: Integers
    trained: NDArray[np.int8]
    listed: NDArray[np.int8]


def _encode_few_groups(stock: Stock, rows: Ragged, by: str) -> Few:
    """Return the group of each row and item, if none has several; computed once for all metrics."""

    def look_up() -> Few:
        members = stock.memberships(by)
        of_item = np.full(len(stock.ids) + 1, len(members.names), np.int8)
        of_item[members.entry] = members.number
        return Few(
            freeze(rows.offsets), freeze(of_item[rows.values]), freeze(of_item[stock.listed])
        )

    # the cache key does not include the rows: a call without rows is cheap and is not cached
    return stock.kept(("few", by), look_up) if len(rows.values) else look_up()


def few_kernel(
    offsets: Integers, trained: NDArray[np.int8], listed: NDArray[np.int8], owner: Integers,
    shown: Integers, both: Flags, counts: Integers, whose: Integers,
    train_share: Floats, list_share: Floats,
) -> int:  # fmt: skip
    """Write the shares of groups in training data and list; compiled. Visits all groups in turn."""
    at, in_train, in_list, size = 0, counts[0, :, 0], counts[1, :, 0], counts.shape[1]
    for u in range(len(owner)):
        rows, filled = 0, 0
        for row in range(offsets[owner[u]], offsets[owner[u] + 1]):
            if trained[row] < size:
                in_train[trained[row]] += 1
                rows += 1
        for p in range(shown.shape[1]):
            group = listed[shown[u, p]]
            if group < size:
                in_list[group] += 1
                filled += 1
        both[u] = rows > 0 and filled > 0
        for group in range(len(in_train)):
            whose[at] = u
            train_share[at] = in_train[group] / max(rows, 1)
            list_share[at] = in_list[group] / max(filled, 1)
            at += in_train[group] + in_list[group] > 0
            in_train[group] = in_list[group] = 0
    return at


class GroupTable(NamedTuple):
    """All values that a group can add."""

    adds: Floats
    """(terms, shares in the training data, shares in the list), see `_enumerate_shares`"""
    most: int
    """the largest number of training rows that the table covers"""


def table(groups: Few, shown: Integers, terms: Sequence[Terms]) -> GroupTable:
    """Tabulate what a group can add, at least for users with little training data.

    The table never has more cells than there are list positions to look up.
    """
    list_shares = _enumerate_shares(shown.shape[1])
    cells = min(_CELLS, shown.size)
    max_rows = int(np.sqrt(2 * cells / len(list_shares))) - 2
    most = min(max_rows, int(np.diff(groups.offsets).max(initial=0)))
    trained, listed = np.meshgrid(_enumerate_shares(most), list_shares, indexing="ij")
    adds = np.array([term(trained.reshape(-1), listed.reshape(-1)) for term in terms])
    adds[:, (trained == 0).reshape(-1) & (listed == 0).reshape(-1)] = 0.0
    return GroupTable(freeze(adds.reshape(len(terms), *trained.shape)), most)


def _enumerate_shares(most: int) -> Floats:
    """Return every share m / n for n up to `most`; it is entry n * (n + 1) / 2 + m."""
    whole = np.repeat(np.arange(most + 1), np.arange(most + 1) + 1)
    return (np.arange(len(whole)) - whole * (whole + 1) // 2) / np.maximum(whole, 1)


def add_from(
    table: GroupTable,
    groups: Few,
    size: int,
    lists: tuple[Integers, Integers, Integers],
    outputs: tuple[Flags, Floats],
) -> Integers:
    """Add up the groups of lists (users, items shown, cutoffs) from the table.

    Returns the numbers of the lists that the table does not cover.
    """
    kernel(table_kernel)(*groups, table.adds, table.most, size, *lists, *outputs)
    owner = lists[0]
    return np.flatnonzero(groups.offsets[owner + 1] - groups.offsets[owner] > table.most)


def table_kernel(
    offsets: Integers, trained: NDArray[np.int8], listed: NDArray[np.int8], adds: Floats, most: int,
    size: int, owner: Integers, shown: Integers, ends: Integers, both: Flags, sums: Floats,
) -> None:  # fmt: skip
    """Count groups and look up what they add; compiled.

    The cell of a group is its count in the training data times the width of the table, plus its
    count in the list.
    """
    cells, width, flat = np.zeros(size + 1, np.int64), adds.shape[2], adds.reshape(len(adds), -1)
    for u in range(len(owner)):
        begin, end = offsets[owner[u]], offsets[owner[u] + 1]
        if end - begin > most:
            continue
        for row in range(begin, end):
            cells[trained[row]] += width
        without, position = cells[size], 0
        rows = end - begin - without // width
        start = rows * (rows + 1) // 2 * width
        for cutoff in range(len(ends)):
            while position < ends[cutoff]:
                cells[listed[shown[u, position]]] += 1
                position += 1
            filled = position - (cells[size] - without)
            both[cutoff, u] = rows > 0 and filled > 0
            corner = start + filled * (filled + 1) // 2
            for term in range(len(flat)):
                total = 0.0
                for group in range(size):
                    total += flat[term, corner + cells[group]]
                sums[cutoff, term, u] = total
        cells[:] = 0
