"""What users had in training, beside their lists: which items were theirs, which go together.

All of it is done for blocks of lists, in little memory; a list's result does not depend on the
block that it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats, Integers, distinct, offsets_of, places
from rectitude.judge.items import Stock
from rectitude.judge.places import Ends
from rectitude.kernels import frozen, kernel, repay
from rectitude.parallel import in_blocks

CELLS = 1 << 24
"""cells of a table of items, or rows of pairs, that are held at a time"""
_LISTS = 1 << 14
"""lists that are looked at together"""


def met_and_expected(
    stock: Stock, owner: Integers, shown: Integers, ends: Ends
) -> list[tuple[Floats, Floats]]:
    """For each cutoff, (lists,) how many items of each list its user had in training, and how many
    of the others are expected: among the most popular items that the user had not, as many as there
    are places.

    `owner` is the number of each list's user, as in `Stock.user`. Of equally popular items the
    first ids are expected; an item that train does not hold never is.
    """
    offsets, item = stock.offsets, stock.pairs[1]
    known = (frozen(offsets), frozen(item), *stock.kept("by popularity", lambda: _ranked(stock)))
    met, expected = np.zeros((2, len(ends), len(owner)))
    look: Callable[..., None] = kernel(met_kernel) if repay(shown.size) else _look

    def work(first: int, last: int) -> None:
        for start in range(first, last, _LISTS):
            here = slice(start, min(start + _LISTS, last))
            lists = (owner[here], shown[here], np.array(ends))
            look(*known, *lists, met[:, here], expected[:, here])

    in_blocks(work, len(owner))
    return list(zip(met, expected, strict=True))


def _ranked(stock: Stock) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(items,) the place of each item by popularity, -1 for one that train does not hold, and for
    none; and the number of each listed item. Small tables stay in the processor."""
    order = np.argsort(-stock.rows, kind="stable")
    place = np.full(len(order) + 1, -1, np.int32)
    place[order] = np.where(stock.rows[order] > 0, np.arange(len(order)), -1)
    return frozen(place), frozen(stock.listed.astype(np.int32))


def _look(
    offsets: Integers, item: Integers, place: Integers, listed: Integers, owner: Integers,
    shown: Integers, ends: Integers, met: Floats, expected: Floats,
) -> None:  # fmt: skip
    """Count items that users had, and expected ones; the twin of `met_kernel`."""
    items, size = listed[shown], len(place)
    row, where = expanded(offsets, owner)
    mine = np.sort(row * size + item[where])
    keys = np.arange(len(owner))[:, None] * size + items
    at = np.minimum(np.searchsorted(mine, keys), max(len(mine) - 1, 0))
    had = (mine[at] == keys) & (items >= 0) if len(mine) else np.zeros(items.shape, bool)
    ahead = np.where(had, -1, place[items])
    many = np.diff(offsets)[owner]
    near, column = np.nonzero((ahead >= 0) & (ahead < (many + shown.shape[1])[:, None]))
    pair, theirs = expanded(offsets, owner[near])
    before = place[item[theirs]] < ahead[near, column][pair]
    left = ahead[near, column] - np.bincount(pair[before], minlength=len(near))
    for cutoff, end in enumerate(ends):
        met[cutoff] = had[:, :end].sum(axis=1)
        among = near[(left < end) & (column < end)]
        expected[cutoff] = np.bincount(among, minlength=len(owner))


def met_kernel(
    offsets: Integers, item: Integers, place: Integers, listed: Integers, owner: Integers,
    shown: Integers, ends: Integers, met: Floats, expected: Floats,
) -> None:  # fmt: skip
    """Count items that users had, and expected ones, compiled. An item is marked with the last
    list whose user had it."""
    k, mark = shown.shape[1], np.full(len(place), -1, np.int32)
    for u in range(len(owner)):
        begin, end = offsets[owner[u]], offsets[owner[u] + 1]
        for row in range(begin, end):
            mark[item[row]] = u
        for p in range(k):
            one = listed[shown[u, p]]
            had, ahead = mark[one] == u, place[one]
            near = not had and 0 <= ahead < end - begin + k
            if near:
                for other in item[begin:end]:
                    ahead -= place[other] < place[one]
            if had or near:
                for cutoff in range(len(ends)):
                    inside = p < ends[cutoff]
                    met[cutoff, u] += inside and had
                    expected[cutoff, u] += inside and near and ahead < ends[cutoff]


class WantedItems(NamedTuple):
    """Items of some lists."""

    owner: Integers
    """(lists,) the number of the user"""
    offsets: Integers
    """where the items of each list begin and end"""
    item: Integers

    def pairs(self) -> tuple[Integers, Integers]:
        """The user of each item, and the item."""
        return np.repeat(self.owner, np.diff(self.offsets)), self.item


def times_wanted(stock: Stock, wanted: WantedItems) -> tuple[Integers, Integers]:
    """(items,) how often each item is wanted, and how often by a user who had it in training."""
    size = len(stock.ids)
    if not repay(len(wanted.item)):
        (whose, theirs), (user, item) = stock.profiles, wanted.pairs()
        seen = item[places(whose * size + theirs, user * size + item) >= 0]
        return np.bincount(item, minlength=size), np.bincount(seen, minlength=size)
    known = tuple(map(frozen, (stock.offsets, stock.pairs[1], wanted.item)))
    every, lock = np.zeros((2, size), np.int64), Lock()

    def work(first: int, last: int) -> None:
        lists = (frozen(wanted.owner[first:last]), frozen(wanted.offsets[first : last + 1]))
        times = np.zeros((2, size), np.int64)
        kernel(wanted_kernel)(*known, *lists, times, np.full(size, -1, np.int32))
        with lock:
            np.add(every, times, out=every)

    in_blocks(work, len(wanted.owner))
    return every[0], every[1]


def wanted_kernel(
    offsets: Integers, theirs: Integers, item: Integers, owner: Integers, begins: Integers,
    times: Integers, mark: NDArray[np.int32],
) -> None:  # fmt: skip
    """Count the items of lists, and those among what users had, compiled. An item is marked with
    the last list whose user had it; `mark` holds none before."""
    for u in range(len(owner)):
        for row in range(offsets[owner[u]], offsets[owner[u] + 1]):
            mark[theirs[row]] = u
        for row in range(begins[u], begins[u + 1]):
            times[0, item[row]] += 1
            times[1, item[row]] += mark[item[row]] == u


def alike(stock: Stock, one: Integers, other: Integers) -> Floats:
    """(pairs,) users who had both items / square root of (users of the one * users of the other);
    0 where nobody had one of them."""
    size = max(len(stock.ids), 1)
    keys, place = np.unique(
        np.minimum(one, other) * size + np.maximum(one, other), return_inverse=True
    )
    low, high = keys // size, keys % size
    both = _having_both(stock, low, high)
    root = np.sqrt(stock.users[low]) * np.sqrt(stock.users[high])
    similar: Floats = (both / np.where(root > 0, root, 1.0))[place.reshape(-1)]
    return similar


def profile_alike(stock: Stock, user: Integers, item: Integers) -> tuple[Floats, Integers]:
    """(pairs,) the sum of how `alike` an item is to each item that a user had, and how many these
    are."""
    offsets, theirs = stock.offsets, stock.profiles[1]  # also of owners who had none
    many = np.diff(offsets)[user]
    total = np.empty(len(user))
    for first, last in _spans(many):
        row, where = expanded(offsets, user[first:last])
        similar = alike(stock, item[first:last][row], theirs[where])
        total[first:last] = np.bincount(row, weights=similar, minlength=last - first)
    return total, many


def expanded(offsets: Integers, owner: Integers) -> tuple[Integers, Integers]:
    """The rows of some owners, who may come again: whose each is, from 0, and where it stands."""
    many = np.diff(offsets)[owner]
    row = np.repeat(np.arange(len(owner)), many)
    begin = np.cumsum(many) - many
    return row, np.arange(len(row)) + np.repeat(offsets[owner] - begin, many)


def _spans(many: Integers) -> Iterator[tuple[int, int]]:
    """Stretches of rows that are `many` times as much work, together not much more than CELLS."""
    stretch = np.cumsum(many) // CELLS
    cuts = [0, *(np.flatnonzero(np.diff(stretch)) + 1).tolist(), len(many)]
    return pairwise(cuts)


def _having_both(stock: Stock, one: Integers, other: Integers) -> Integers:
    """(pairs,) how many users had both items; the pairs stand in order of the first one."""
    if not len(one):
        return np.zeros(0, np.int64)
    user, item = stock.profiles
    rows, asked = distinct(one), distinct(np.sort(other))
    number = np.full(len(stock.ids), -1)
    number[asked] = np.arange(len(asked))
    keep = number[item] >= 0
    by_user = offsets_of(user[keep], int(user.max(initial=-1)) + 1)
    partner = number[item[keep]]
    order = np.argsort(item, kind="stable")
    by_item = offsets_of(item, len(stock.ids))
    buyers = user[order]
    work = np.maximum(np.bincount(item, np.diff(by_user)[user], len(stock.ids))[rows], len(asked))
    both = np.empty(len(one), np.int64)
    for first, last in _spans(work.astype(np.int64)):
        here = rows[first:last]
        row, where = expanded(by_item, here)
        pair, at = expanded(by_user, buyers[where])
        cells = row[pair] * len(asked) + partner[at]
        table = np.bincount(cells, minlength=len(here) * len(asked))
        mine = slice(*np.searchsorted(one, (here[0], here[-1] + 1)))
        both[mine] = table[np.searchsorted(here, one[mine]) * len(asked) + number[other[mine]]]
    return both
