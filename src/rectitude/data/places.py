"""Lists laid out by place: which item each place holds, as a table with a row for each list."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats, Integers
from rectitude.compiled import repay
from rectitude.data.codes import looked_up
from rectitude.data.dense import Cells
from rectitude.grouping import Grouped
from rectitude.threads import in_blocks

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


def filled(columns: Integers, cells: Cells) -> Integers:
    """Empty places at the end, filled with the cells of the row."""
    k = columns.shape[1]
    free = (columns >= 0).sum(axis=1)
    owner = cells.rows()
    place = np.arange(len(owner)) - cells.start[owner] + free[owner]
    inside = place < k
    filled = columns.copy()
    filled[owner[inside], place[inside]] = cells.column[inside]
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
