"""What users have in the training data: which items they already know, and which items co-occur.

Lists are processed in blocks to save memory. The result of a list does not depend on its block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats, Integers, distinct, offsets_of, positions_in
from rectitude.judge.items import Stock
from rectitude.judge.places import Ends
from rectitude.kernels import freeze, kernel, should_compile
from rectitude.parallel import in_blocks

CELLS = 1 << 24
"""cells of a table of items, or rows of pairs, held in memory at a time"""
_LISTS = 1 << 14
"""lists processed at a time"""


def count_seen_and_expected(
    stock: Stock, owner: Integers, shown: Integers, ends: Ends
) -> list[tuple[Floats, Floats]]:
    """Count for each cutoff (lists,) the items its user has in the training data, and the expected
    items.

    An item is expected if it is among the k most popular items that the user does not have in the
    training data, k being the number of positions. `owner` is the number of each list's user, as in
    `Stock.user`. Ties in popularity are broken by id; an item that is not in the training data is
    never expected.
    """
    offsets, item = stock.offsets, stock.pairs[1]
    tables = (
        freeze(offsets),
        freeze(item),
        *stock.kept("by popularity", lambda: _rank_by_popularity(stock)),
    )
    met, expected = np.zeros((2, len(ends), len(owner)))
    count: Callable[..., None] = kernel(met_kernel) if should_compile(shown.size) else _count_met

    def count_block(first: int, last: int) -> None:
        for start in range(first, last, _LISTS):
            block = slice(start, min(start + _LISTS, last))
            lists = (owner[block], shown[block], np.array(ends))
            count(*tables, *lists, met[:, block], expected[:, block])

    in_blocks(count_block, len(owner))
    return list(zip(met, expected, strict=True))


def _rank_by_popularity(stock: Stock) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return (items,) each item's position by popularity, and the number of each listed item.

    The position is -1 for items that are not in the training data. Small integer types keep the
    tables in the processor's cache.
    """
    order = np.argsort(-stock.rows, kind="stable")
    position = np.full(len(order) + 1, -1, np.int32)
    position[order] = np.where(stock.rows[order] > 0, np.arange(len(order)), -1)
    return freeze(position), freeze(stock.listed.astype(np.int32))


def _count_met(
    offsets: Integers, item: Integers, position: Integers, listed: Integers, owner: Integers,
    shown: Integers, ends: Integers, met: Floats, expected: Floats,
) -> None:  # fmt: skip
    """Count seen and expected items; the same as `met_kernel`, in NumPy."""
    items, size = listed[shown], len(position)
    row, positions = expand_rows(offsets, owner)
    trained_keys = np.sort(row * size + item[positions])
    keys = np.arange(len(owner))[:, None] * size + items
    index = np.minimum(np.searchsorted(trained_keys, keys), max(len(trained_keys) - 1, 0))
    seen = (
        (trained_keys[index] == keys) & (items >= 0)
        if len(trained_keys)
        else np.zeros(items.shape, bool)
    )
    unseen_ahead = np.where(seen, -1, position[items])
    trained_counts = np.diff(offsets)[owner]
    candidate, column = np.nonzero(
        (unseen_ahead >= 0) & (unseen_ahead < (trained_counts + shown.shape[1])[:, None])
    )
    pair_of, trained = expand_rows(offsets, owner[candidate])
    more_popular = position[item[trained]] < unseen_ahead[candidate, column][pair_of]
    unseen_before = unseen_ahead[candidate, column] - np.bincount(
        pair_of[more_popular], minlength=len(candidate)
    )
    for cutoff, end in enumerate(ends):
        met[cutoff] = seen[:, :end].sum(axis=1)
        expected_rows = candidate[(unseen_before < end) & (column < end)]
        expected[cutoff] = np.bincount(expected_rows, minlength=len(owner))


def met_kernel(
    offsets: Integers, item: Integers, position: Integers, listed: Integers, owner: Integers,
    shown: Integers, ends: Integers, met: Floats, expected: Floats,
) -> None:  # fmt: skip
    """Count seen and expected items; compiled.

    `mark` holds, for each item, the last list whose user has it in the training data.
    """
    k, mark = shown.shape[1], np.full(len(position), -1, np.int32)
    for u in range(len(owner)):
        begin, end = offsets[owner[u]], offsets[owner[u] + 1]
        for row in range(begin, end):
            mark[item[row]] = u
        for p in range(k):
            shown_item = listed[shown[u, p]]
            seen, unseen_ahead = mark[shown_item] == u, position[shown_item]
            candidate = not seen and 0 <= unseen_ahead < end - begin + k
            if candidate:
                for trained in item[begin:end]:
                    unseen_ahead -= position[trained] < position[shown_item]
            if seen or candidate:
                for cutoff in range(len(ends)):
                    in_cutoff = p < ends[cutoff]
                    met[cutoff, u] += in_cutoff and seen
                    expected[cutoff, u] += in_cutoff and candidate and unseen_ahead < ends[cutoff]


class WantedItems(NamedTuple):
    """The relevant items of some lists."""

    owner: Integers
    """(lists,) the number of the user"""
    offsets: Integers
    """where the items of each list begin and end"""
    item: Integers

    def pairs(self) -> tuple[Integers, Integers]:
        """Return the user of each item, and the item."""
        return np.repeat(self.owner, np.diff(self.offsets)), self.item


def count_wanted(stock: Stock, wanted: WantedItems) -> tuple[Integers, Integers]:
    """Count (items,) how often each item is relevant, and how often for a user with it in the
    training data."""
    size = len(stock.ids)
    if not should_compile(len(wanted.item)):
        (trained_user, trained_item), (user, item) = stock.profiles, wanted.pairs()
        seen = item[positions_in(trained_user * size + trained_item, user * size + item) >= 0]
        return np.bincount(item, minlength=size), np.bincount(seen, minlength=size)
    arrays = tuple(map(freeze, (stock.offsets, stock.pairs[1], wanted.item)))
    totals, lock = np.zeros((2, size), np.int64), Lock()

    def count_block(first: int, last: int) -> None:
        lists = (freeze(wanted.owner[first:last]), freeze(wanted.offsets[first : last + 1]))
        times = np.zeros((2, size), np.int64)
        kernel(wanted_kernel)(*arrays, *lists, times, np.full(size, -1, np.int32))
        with lock:
            np.add(totals, times, out=totals)

    in_blocks(count_block, len(wanted.owner))
    return totals[0], totals[1]


def wanted_kernel(
    offsets: Integers, trained_item: Integers, item: Integers, owner: Integers, begins: Integers,
    times: Integers, mark: NDArray[np.int32],
) -> None:  # fmt: skip
    """Count the items of lists, and those that their users have in the training data; compiled.

    `mark` holds, for each item, the last list whose user has it; it starts with -1 everywhere.
    """
    for u in range(len(owner)):
        for row in range(offsets[owner[u]], offsets[owner[u] + 1]):
            mark[trained_item[row]] = u
        for row in range(begins[u], begins[u + 1]):
            times[0, item[row]] += 1
            times[1, item[row]] += mark[item[row]] == u


def item_similarity(stock: Stock, first: Integers, second: Integers) -> Floats:
    """Return (pairs,) users with both items / sqrt(users with the first * users with the second).

    0 if one of the items has no user.
    """
    size = max(len(stock.ids), 1)
    keys, inverse = np.unique(
        np.minimum(first, second) * size + np.maximum(first, second), return_inverse=True
    )
    low, high = keys // size, keys % size
    both = _count_with_both(stock, low, high)
    root = np.sqrt(stock.users[low]) * np.sqrt(stock.users[high])
    similar: Floats = (both / np.where(root > 0, root, 1.0))[inverse.reshape(-1)]
    return similar


Similarity = Callable[[Integers, Integers], Floats]
"""(items, other items) -> the similarity of each pair"""


def sum_profile_similarity(
    stock: Stock, user: Integers, item: Integers, similarity: Similarity | None = None
) -> tuple[Floats, Integers]:
    """Sum (pairs,) the similarity of an item to each item in a user's training data; also count
    these. Unless another one is given, it is the similarity by co-occurrence."""
    compare = similarity or partial(item_similarity, stock)
    offsets, trained_item = stock.offsets, stock.profiles[1]  # also for owners without any item
    counts = np.diff(offsets)[user]
    total = np.empty(len(user))
    for first, last in _split_by_cost(counts):
        row, positions = expand_rows(offsets, user[first:last])
        similar = compare(item[first:last][row], trained_item[positions])
        total[first:last] = np.bincount(row, weights=similar, minlength=last - first)
    return total, counts


def expand_rows(offsets: Integers, owner: Integers) -> tuple[Integers, Integers]:
    """Return the rows of some owners, who may repeat: the index of each row's owner, and its
    position."""
    counts = np.diff(offsets)[owner]
    row = np.repeat(np.arange(len(owner)), counts)
    begin = np.cumsum(counts) - counts
    return row, np.arange(len(row)) + np.repeat(offsets[owner] - begin, counts)


def _split_by_cost(costs: Integers) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with `costs` that add up to little more than CELLS per range."""
    span = np.cumsum(costs) // CELLS
    cuts = [0, *(np.flatnonzero(np.diff(span)) + 1).tolist(), len(costs)]
    return pairwise(cuts)


def _count_with_both(stock: Stock, first: Integers, second: Integers) -> Integers:
    """Return (pairs,) how many users have both items; pairs must be sorted by their first item."""
    if not len(first):
        return np.zeros(0, np.int64)
    user, item = stock.profiles
    rows, partners = distinct(first), distinct(np.sort(second))
    number = np.full(len(stock.ids), -1)
    number[partners] = np.arange(len(partners))
    keep = number[item] >= 0
    by_user = offsets_of(user[keep], int(user.max(initial=-1)) + 1)
    partner = number[item[keep]]
    order = np.argsort(item, kind="stable")
    by_item = offsets_of(item, len(stock.ids))
    buyers = user[order]
    costs = np.maximum(
        np.bincount(item, np.diff(by_user)[user], len(stock.ids))[rows], len(partners)
    )
    both = np.empty(len(first), np.int64)
    for begin, end in _split_by_cost(costs.astype(np.int64)):
        items = rows[begin:end]
        row, positions = expand_rows(by_item, items)
        pair, member = expand_rows(by_user, buyers[positions])
        cells = row[pair] * len(partners) + partner[member]
        table = np.bincount(cells, minlength=len(items) * len(partners))
        selected = slice(*np.searchsorted(first, (items[0], items[-1] + 1)))
        both[selected] = table[
            np.searchsorted(items, first[selected]) * len(partners) + number[second[selected]]
        ]
    return both
