"""The first places of lists, up to several cutoffs: what one pass finds for all of them.

Sums over places, such as what their items are worth, are added place by place, the first place
first, compiled or not: the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.kernels import kernel, repay
from rectitude.parallel import Once, in_blocks

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


def lengths(shown: Integers, ends: Ends) -> list[Floats]:
    """For each cutoff, (lists,) places that show an item."""
    found = np.zeros((len(ends), len(shown)))
    count = kernel(length_kernel) if repay(shown.size) else _count

    def work(first: int, last: int) -> None:
        count(shown[first:last], np.array(ends), found[:, first:last])

    in_blocks(work, len(shown))
    return list(found)


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


def worth_of_lists(table: Floats, shown: Integers, ends: Ends) -> list[Floats]:
    """For each cutoff, (lists,) the sum of what the items in the places of each list are worth: a
    table by the numbers that lists give them, with 0 at its end, for an empty place."""
    total = np.zeros((len(ends), len(shown)))
    add = kernel(worth_kernel) if repay(shown.size) else _add

    def work(first: int, last: int) -> None:
        add(table, shown[first:last], np.array(ends), total[:, first:last])

    in_blocks(work, len(shown))
    return list(total)


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


def times_listed(listed: Integers, shown: Integers, size: int) -> Integers:
    """(items,) how often each item stands in places of lists."""
    found = np.zeros(len(listed), np.int64)
    if shown.ndim == 2 and repay(shown.size):
        kernel(times_kernel)(shown, found)
    else:
        found = np.bincount(shown.reshape(-1) + 1, minlength=len(listed))
        found = np.append(found[1:], found[0])
    return np.bincount(listed[:-1], found[:-1], minlength=size).astype(np.int64)


def times_kernel(shown: Integers, found: Integers) -> None:
    """Count the items in all places, compiled; empty ones at the end."""
    for u in range(shown.shape[0]):
        for place in range(shown.shape[1]):
            found[shown[u, place]] += 1
