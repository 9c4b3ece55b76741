"""The items at the top ranks of lists, computed in one pass for several cutoffs.

Sums over ranks are added rank by rank, starting at the first. Compiled code and NumPy therefore
return the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.kernels import kernel, should_compile
from rectitude.parallel import Once, in_blocks

Result = TypeVar("Result")
Ends = tuple[int, ...]
"""the number of ranks within each cutoff, ascending"""


class Places(NamedTuple):
    """The items up to one cutoff, along with the other cutoffs that metrics use."""

    shown: Integers
    """(lists, K) the number of the item at each rank, up to the largest cutoff"""
    ends: Ends
    own: int
    """the number of ranks within this cutoff"""
    kept: Once

    def each(self, key: Hashable, compute: Callable[[Integers, Ends], Sequence[Result]]) -> Result:
        """Return the result for this cutoff.

        `compute(shown, ends)` returns the results for all cutoffs in order; it is called only once.
        """
        results = self.kept((key, self.ends), lambda: compute(self.shown, self.ends))
        return results[self.ends.index(self.own)]

    @property
    def firsts(self) -> Places:
        """The same places, where an item that stands in a list again leaves its rank empty."""
        return self._replace(shown=self.kept(("firsts", self.ends), lambda: _firsts(self.shown)))


def _firsts(shown: Integers) -> Integers:
    order = np.argsort(shown, axis=1, kind="stable")
    ordered, again = np.take_along_axis(shown, order, axis=1), np.zeros(shown.shape, np.bool_)
    np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return np.where(again, -1, shown)


def up_to(shown: Integers, own: int, others: Sequence[int], kept: Once) -> Places:
    """Return the items up to a cutoff, with other cutoffs; lists may be shorter."""
    most = shown.shape[1]
    ends = sorted({min(end, most) for end in (own, *others)})
    return Places(shown[:, : ends[-1]], tuple(ends), min(own, most), kept)


def lengths(shown: Integers, ends: Ends) -> list[Floats]:
    """Return, for each cutoff, the number of ranks with an item in each list."""
    counts = np.zeros((len(ends), len(shown)))
    count = kernel(length_kernel) if should_compile(shown.size) else _count_items

    def work(first: int, last: int) -> None:
        count(shown[first:last], np.array(ends), counts[:, first:last])

    in_blocks(work, len(shown))
    return list(counts)


def _count_items(shown: Integers, ends: Integers, counts: Floats) -> None:
    for position, items in enumerate(shown.T):
        counts[ends > position] += items >= 0


def length_kernel(shown: Integers, ends: Integers, counts: Floats) -> None:
    """Count the ranks that have an item; to be compiled."""
    for u in range(shown.shape[0]):
        for cutoff in range(len(ends)):
            items = 0
            for position in range(ends[cutoff]):
                items += shown[u, position] >= 0
            counts[cutoff, u] = items


def sum_over_lists(table: Floats, shown: Integers, ends: Ends) -> list[Floats]:
    """Return, for each cutoff, the sum of a value over the items of each list.

    `table` holds the value of each item, by its number in the lists, and a 0 at the end for an
    empty rank.
    """
    total = np.zeros((len(ends), len(shown)))
    add = kernel(sum_kernel) if should_compile(shown.size) else _add_values

    def work(first: int, last: int) -> None:
        add(table, shown[first:last], np.array(ends), total[:, first:last])

    in_blocks(work, len(shown))
    return list(total)


def _add_values(table: Floats, shown: Integers, ends: Integers, total: Floats) -> None:
    for position, items in enumerate(shown.T):
        total[ends > position] += table[items]


def sum_kernel(table: Floats, shown: Integers, ends: Integers, total: Floats) -> None:
    """Sum a value over the items of each list; to be compiled."""
    for u in range(shown.shape[0]):
        value, position = 0.0, 0
        for cutoff in range(len(ends)):
            while position < ends[cutoff]:
                value += table[shown[u, position]]
                position += 1
            total[cutoff, u] = value


def times_listed(listed: Integers, shown: Integers, size: int) -> Integers:
    """Count how often each item appears in the lists."""
    counts = np.zeros(len(listed), np.int64)
    if shown.ndim == 2 and should_compile(shown.size):
        kernel(times_kernel)(shown, counts)
    else:
        counts = np.bincount(shown.reshape(-1) + 1, minlength=len(listed))
        counts = np.append(counts[1:], counts[0])
    return np.bincount(listed[:-1], counts[:-1], minlength=size).astype(np.int64)


def times_kernel(shown: Integers, counts: Integers) -> None:
    """Count the items at all ranks; to be compiled. The last count is that of empty ranks."""
    for u in range(shown.shape[0]):
        for position in range(shown.shape[1]):
            counts[shown[u, position]] += 1
