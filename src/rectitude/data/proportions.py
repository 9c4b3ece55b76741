"""Sums over few groups, of which an item has one at most.

What a group adds depends on four small numbers alone: it has so many of so many rows of training,
and so many of so many places of the list. Where these are small, all that it can add is computed
once, and looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers
from rectitude.compiled import frozen, kernel
from rectitude.data.attributes import Memberships

Terms = Callable[[Floats, Floats], Floats]
"""what a group adds, by its shares of training and of the list"""
FEW = 64
_CELLS = 1 << 20


class Rows(NamedTuple):
    """The rows of train, by user."""

    offsets: Integers
    item: Integers


class Few(NamedTuple):
    """The group of each row of train and of each listed item; their number stands for none."""

    offsets: Integers
    trained: NDArray[np.int8]
    listed: NDArray[np.int8]


class Table(NamedTuple):
    """What a group can add."""

    adds: Floats
    """(terms, shares of training, shares of the list) in the order of `_shares`"""
    most: int
    """how many rows of train a user may have"""


def few(rows: Rows, members: Memberships, listed: Integers, items: int) -> Few:
    """The groups of rows and items, of which none has several."""
    of_item = np.full(items + 1, len(members.names), np.int8)
    of_item[members.entry] = members.number
    return Few(frozen(rows.offsets), frozen(of_item[rows.item]), frozen(of_item[listed]))


def table(groups: Few, shown: Integers, terms: Sequence[Terms]) -> Table:
    """All that a group can add, for users with little training at least; not more of it than there
    are places to look it up for."""
    of_list = _shares(shown.shape[1])
    cells = min(_CELLS, shown.size)
    fits = int(np.sqrt(2 * cells / len(of_list))) - 2
    most = min(fits, int(np.diff(groups.offsets).max(initial=0)))
    one, other = np.meshgrid(_shares(most), of_list, indexing="ij")
    adds = np.array([term(one.reshape(-1), other.reshape(-1)) for term in terms])
    adds[:, (one == 0).reshape(-1) & (other == 0).reshape(-1)] = 0.0
    return Table(frozen(adds.reshape(len(terms), *one.shape)), most)


def _shares(most: int) -> Floats:
    """Every share of many in whole: that of `many` is number whole * (whole + 1) / 2 + many."""
    whole = np.repeat(np.arange(most + 1), np.arange(most + 1) + 1)
    return (np.arange(len(whole)) - whole * (whole + 1) // 2) / np.maximum(whole, 1)


def add_from(
    table: Table,
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
