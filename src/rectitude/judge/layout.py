"""Lists laid out by place: which item each place holds, as a table with a row for each list.

The first places of lists, up to several cutoffs: what one pass finds for all of them.

Sums over the places of lists: what their items are worth, and how often each item stands there.

Worths are added place by place, the first place first, compiled or not: the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Grouped, Integers, Ragged, distinct, run_starts
from rectitude.data.ids import looked_up
from rectitude.kernels import frozen, kernel, repay
from rectitude.parallel import Once, in_blocks

_BLOCK = 1 << 18
_SPARE = 1024
"""A table of all codes up to the highest may have so many entries more than there are rows."""


class Numbered(NamedTuple):
    """Codes as numbers from 0 on, in the order of the codes."""

    number: Integers
    """(rows,)"""
    row: Integers
    """(different codes,) a row that holds the code"""


def numbered(codes: NDArray[Any]) -> Numbered:
    """The number of each code. Codes that lie close together take no sorting."""
    if not len(codes):
        return Numbered(np.zeros(0, np.int64), np.zeros(0, np.int64))
    low, high = int(codes.min()), int(codes.max())
    if high - low > 4 * len(codes) + _SPARE:
        _, row, number = np.unique(codes, return_index=True, return_inverse=True)
        return Numbered(number.reshape(-1), row)
    near = codes if low == 0 else codes - codes.dtype.type(low)
    row = np.full(high - low + 1, -1)
    for first in range(0, len(codes), _BLOCK):
        some = near[first : first + _BLOCK]
        row[some] = np.arange(first, first + len(some))
        if row.min() >= 0:  # all are found
            break
    met = row >= 0
    # many numbers are read again and again: half the bytes, where they pay
    kind = np.int32 if repay(len(codes)) else np.int64
    return Numbered(looked_up((np.cumsum(met) - 1).astype(kind), near), row[met])


def in_order(lists: Grouped, key: NDArray[Any] | None, equals: bool) -> bool:
    """Whether the places of every list stand in falling order of a key; equal ones next to each
    other are in order if `equals` says so."""
    if key is None:
        return equals
    begins = np.zeros(len(key), bool)
    begins[lists.start[lists.length > 0]] = True
    below = np.less_equal if equals else np.less
    wrong: list[bool] = []

    def work(first: int, last: int) -> None:
        falls = below(key[first + 1 : last + 1], key[first:last])
        wrong.append(not (falls | begins[first + 1 : last + 1]).all())

    in_blocks(work, max(len(key) - 1, 0), _BLOCK)
    return not any(wrong)


def laid_out(lists: Grouped, number: Integers, k: int) -> Integers:
    """(lists, k) the numbers of the first places of each list, -1 where there are none."""
    longest = int(lists.length.max(initial=0))
    even = len(number) == longest * len(lists.start) and bool((lists.length == longest).all())
    if even and longest >= k and (lists.start == np.arange(len(lists.start)) * longest).all():
        return number.reshape(-1, longest)[:, :k] if longest else number.reshape(-1, k)
    table = np.full((len(lists.start), k), -1, number.dtype)

    def work(first: int, last: int) -> None:
        length = np.minimum(lists.length[first:last], k)
        owner = np.repeat(np.arange(last - first), length)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
        table[first + owner, place] = number[lists.start[first + owner] + place]

    in_blocks(work, len(lists.start))
    return table


def scored(lists: Grouped, number: Integers, shown: Integers, scores: Floats) -> Floats:
    """(lists, k) the scores of the items that places show, by row of the table; NaN where they show
    none."""
    where = laid_out(lists, np.arange(len(number)), shown.shape[1])
    if not np.array_equal(np.append(number, -1)[where], shown):
        where = _found(lists, number, shown)
    rows = lists.rows(np.maximum(where, 0))
    return np.where(shown < 0, np.nan, np.append(scores, np.nan)[rows])


def _found(lists: Grouped, number: Integers, shown: Integers) -> Integers:
    """(lists, k) the place in its list of each item that is shown, whatever the order."""
    owner, where = lists.expand()
    size = int(number.max(initial=0)) + 1
    key = owner * size + number[where]
    order = np.argsort(key, kind="stable")
    wanted = np.arange(len(shown))[:, None] * size + shown
    at = np.minimum(np.searchsorted(key[order], wanted), max(len(key) - 1, 0))
    return np.append(where[order], -1)[at]


def filled(columns: Integers, cells: Ragged) -> Integers:
    """Empty places at the end, filled with the cells of the row."""
    k = columns.shape[1]
    free = (columns >= 0).sum(axis=1)
    owner = cells.rows()
    place = np.arange(len(owner)) - cells.offsets[owner] + free[owner]
    inside = place < k
    filled = columns.copy()
    filled[owner[inside], place[inside]] = cells.values[inside]
    return filled


def inserted(others: Integers, lists: Integers, rank: Integers, items: Integers) -> Integers:
    """The other items in order, with the judged ones put where they are ranked."""
    size, k = others.shape
    inside = rank <= k
    where = (lists[inside], rank[inside] - 1)
    taken = np.zeros((size, k), bool)
    taken[where] = True
    at = np.maximum(np.cumsum(~taken, axis=1) - 1, 0)
    shown = np.where(taken, -1, np.take_along_axis(others, at, axis=1))
    shown[where] = items[inside]
    return shown


Made = TypeVar("Made")
Ends = tuple[int, ...]
"""how many places cutoffs leave, ascending"""


class Places(NamedTuple):
    """The places up to one cutoff, and those up to others that are looked at, too."""

    shown: Integers
    """(lists, K) the number of the item in each place, up to the last cutoff"""
    ends: Ends
    own: int
    """how many places are looked at here"""
    kept: Once

    def each(self, key: Hashable, compute: Callable[[Integers, Ends], Sequence[Made]]) -> Made:
        """What is found of the places up to this cutoff; `compute(shown, ends)` finds it for every
        cutoff, in their order, and is called once for all of them."""
        found = self.kept((key, self.ends), lambda: compute(self.shown, self.ends))
        return found[self.ends.index(self.own)]


def up_to(shown: Integers, own: int, others: Sequence[int], kept: Once) -> Places:
    """The places up to a cutoff, and up to others; lists may be shorter than that."""
    most = shown.shape[1]
    ends = sorted({min(end, most) for end in (own, *others)})
    return Places(shown[:, : ends[-1]], tuple(ends), min(own, most), kept)


_PAIRS = 1 << 13
"""pairs that are sorted at a time: the processor holds them"""


def worth_of_lists(table: Floats, shown: Integers, ends: Ends) -> list[Floats]:
    """For each cutoff, (lists,) the sum of what the items in the places of each list are worth: a
    table by the numbers that lists give them, with 0 at its end, for an empty place."""
    total = np.zeros((len(ends), len(shown)))
    add = kernel(worth_kernel) if repay(shown.size) else _add

    def work(first: int, last: int) -> None:
        add(table, shown[first:last], np.array(ends), total[:, first:last])

    in_blocks(work, len(shown))
    return list(total)


def lengths(shown: Integers, ends: Ends) -> list[Floats]:
    """For each cutoff, (lists,) places that show an item."""
    found = np.zeros((len(ends), len(shown)))
    count = kernel(length_kernel) if repay(shown.size) else _count

    def work(first: int, last: int) -> None:
        count(shown[first:last], np.array(ends), found[:, first:last])

    in_blocks(work, len(shown))
    return list(found)


def times_listed(listed: Integers, shown: Integers, size: int) -> Integers:
    """(items,) how often each item stands in places of lists."""
    found = np.zeros(len(listed), np.int64)
    if shown.ndim == 2 and repay(shown.size):
        kernel(times_kernel)(shown, found)
    else:
        found = np.bincount(shown.reshape(-1) + 1, minlength=len(listed))
        found = np.append(found[1:], found[0])
    return np.bincount(listed[:-1], found[:-1], minlength=size).astype(np.int64)


def _add(table: Floats, shown: Integers, ends: Integers, total: Floats) -> None:
    for place, items in enumerate(shown.T):
        total[ends > place] += table[items]


def worth_kernel(table: Floats, shown: Integers, ends: Integers, total: Floats) -> None:
    """Add up what the items of each list are worth, compiled."""
    for u in range(shown.shape[0]):
        worth, place = 0.0, 0
        for cutoff in range(len(ends)):
            while place < ends[cutoff]:
                worth += table[shown[u, place]]
                place += 1
            total[cutoff, u] = worth


def _count(shown: Integers, ends: Integers, found: Floats) -> None:
    for place, items in enumerate(shown.T):
        found[ends > place] += items >= 0


def length_kernel(shown: Integers, ends: Integers, found: Floats) -> None:
    """Count places that show an item, compiled."""
    for u in range(shown.shape[0]):
        for cutoff in range(len(ends)):
            many = 0
            for place in range(ends[cutoff]):
                many += shown[u, place] >= 0
            found[cutoff, u] = many


def times_kernel(shown: Integers, found: Integers) -> None:
    """Count the items in all places, compiled; empty ones at the end."""
    for u in range(shown.shape[0]):
        for place in range(shown.shape[1]):
            found[shown[u, place]] += 1


def equal_pairs(
    group: Integers, listed: Integers, shown: Integers, ends: Ends
) -> list[tuple[Floats, Floats]]:
    """For each cutoff, (lists,) how many pairs of places hold items of the same group, and how many
    hold items of any; a group below 0 is none."""
    table = frozen(np.append(group, -1)[listed].astype(np.int32))
    equal, known = np.zeros((2, len(ends), len(shown)))
    count = kernel(equal_kernel) if repay(shown.size) else _count_equal

    def work(first: int, last: int) -> None:
        here = slice(first, last)
        count(table, shown[here], np.array(ends), equal[:, here], known[:, here])

    in_blocks(work, len(shown))
    return list(zip(equal, known * (known - 1) / 2, strict=True))


def _count_equal(
    table: Integers, shown: Integers, ends: Integers, equal: Floats, known: Floats
) -> None:
    groups = table[shown]
    for cutoff, end in enumerate(ends):
        ordered = np.sort(groups[:, :end], axis=1)
        known[cutoff] = (ordered >= 0).sum(axis=1)
        # in sorted rows, an item makes one equal pair with each item of its run before it
        place = np.arange(end)
        starts = np.ones(ordered.shape, bool)
        starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        before = place - np.maximum.accumulate(np.where(starts, place, 0), axis=1)
        equal[cutoff] = np.where(ordered >= 0, before, 0).sum(axis=1)


def equal_kernel(
    table: Integers, shown: Integers, ends: Integers, equal: Floats, known: Floats
) -> None:
    """Count pairs of items of the same group, and items of any, compiled: an item makes a pair with
    each one of its group before it."""
    times = np.zeros(table.max() + 1, np.int64)  # of groups: 0 between lists
    for u in range(shown.shape[0]):
        many, pairs, place = 0, 0, 0
        for cutoff in range(len(ends)):
            while place < ends[cutoff]:
                group = table[shown[u, place]]
                if group >= 0:
                    pairs += times[group]
                    times[group] += 1
                    many += 1
                place += 1
            equal[cutoff, u], known[cutoff, u] = pairs, many
        for place in range(shown.shape[1]):
            if table[shown[u, place]] >= 0:
                times[table[shown[u, place]]] = 0


def without_repeats(owner: Integers, item: Integers, items: int) -> tuple[Integers, Integers]:
    """The different pairs, by owner. Where that is less work, the items of an owner stand as they
    do in the rows: for those who count pairs."""
    if not (repay(len(item)) and np.all(owner[1:] >= owner[:-1])):
        return different_pairs(owner, item, items)
    new, pairs = np.ones(len(item), bool), (frozen(owner), frozen(item))

    def work(first: int, last: int) -> None:
        kernel(repeat_kernel)(*pairs, first, last, new, np.full(items, -1))

    in_blocks(work, len(item))
    return (owner, item) if new.all() else (owner[new], item[new])


def repeat_kernel(
    owner: Integers, item: Integers, first: int, last: int, new: Flags, mark: Integers
) -> None:
    """Find pairs that were there before, compiled: an item is marked with its last owner. An owner
    whose rows are in several blocks belongs to the first of them."""
    while 0 < first < len(owner) and owner[first] == owner[first - 1]:
        first += 1
    while last < len(owner) and owner[last] == owner[last - 1]:
        last += 1
    for row in range(first, last):
        new[row] = mark[item[row]] != owner[row]
        mark[item[row]] = owner[row]


def different_pairs(owner: Integers, item: Integers, items: int) -> tuple[Integers, Integers]:
    """The different pairs, by owner and item. Owners that ascend already are sorted some at a
    time."""
    bits = items.bit_length()
    if not np.all(owner[1:] >= owner[:-1]):
        keys = distinct((owner << bits) | item)
        return keys >> bits, keys & ((1 << bits) - 1)
    starts = np.append(run_starts(owner), len(owner))
    cuts = starts[
        np.searchsorted(starts, np.arange(0, len(owner) + _PAIRS, _PAIRS)).clip(max=len(starts) - 1)
    ]
    ordered, new = np.empty(len(item), np.int64), np.ones(len(item), bool)

    def work(first: int, last: int) -> None:
        for begin, end in pairwise(cuts[first : last + 1].tolist()):
            keys = (owner[begin:end] << bits) | item[begin:end]
            keys.sort(kind="stable")  # quick where owners ascend already
            ordered[begin:end] = keys & ((1 << bits) - 1)
            new[begin + 1 : end] = keys[1:] != keys[:-1]

    in_blocks(work, len(cuts) - 1, 16)
    return (owner, ordered) if new.all() else (owner[new], ordered[new])
