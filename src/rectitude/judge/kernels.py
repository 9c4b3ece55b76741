"""Compiled kernels for large inputs; `group.py` and `match.py` hold their NumPy twins.

Numba is imported and compiles when a kernel is first used, and keeps the machine code on disk. The
kernels release the GIL and work on a block of lists each, so plain threads share the work. They return the
same integers as the twins, bit for bit; nothing here computes a metric.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

REPAYS_FROM_ROWS = 2_000_000
REPAYS_ONCE_LOADED = 50_000
SORT_FROM_HITS = 64
HASH = np.uint64(0x9E3779B97F4A7C15)


def repay(rows: int) -> bool:
    """Whether kernels should do this work: it is large, or they are loaded and it is not small.

    `RECTITUDE_KERNELS=numpy` or `=numba` decides instead.
    """
    wanted = os.environ.get("RECTITUDE_KERNELS", "")
    if wanted in ("numpy", "numba"):
        return wanted == "numba"
    loaded = "numba" in sys.modules and compiled.cache_info().currsize > 0
    if rows < (REPAYS_ONCE_LOADED if loaded else REPAYS_FROM_ROWS):
        return False
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def prepare(rows: int) -> None:
    """Load the kernels if an evaluation of this size repays them, so that its smaller parts use them too."""
    if repay(rows):
        compiled("match")


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """A read-only, contiguous view: numba compiles anew for each mixture of these properties."""
    view = np.ascontiguousarray(values).view()
    view.setflags(write=False)
    return view


@cache
def compiled(name: str) -> Callable[..., Any]:
    """The kernel of that name, ready to be compiled for the types it meets."""
    import numba

    function: Callable[..., Any] = numba.njit(
        nogil=True, cache=True, boundscheck=False, error_model="numpy"
    )(_KERNELS[name])
    return function


def _mark(first, last, codes, low, seen):  # type: ignore[no-untyped-def]
    """Note which codes occur."""
    for row in range(first, last):
        seen[codes[row] - low] = True


def _look_up(first, last, codes, low, table, index):  # type: ignore[no-untyped-def]
    """The place of each code, read from a table of all codes from `low` on; -1 where it has none."""
    for row in range(first, last):
        place = codes[row] - low
        index[row] = table[place] if 0 <= place < table.shape[0] else -1


def _locate(first, last, codes, known, table, index):  # type: ignore[no-untyped-def]
    """The place of each code among the known ones, by a hash table of places; -1 where it is not there."""
    mask = np.int64(table.shape[0] - 1)
    for row in range(first, last):
        code = codes[row]
        slot = np.int64((np.uint64(code) * HASH) >> np.uint64(32)) & mask
        index[row] = -1
        while table[slot] >= 0:
            if known[table[slot]] == code:
                index[row] = table[slot]
                break
            slot = (slot + 1) & mask


def _place(known, table):  # type: ignore[no-untyped-def]
    """Fill the hash table that `_locate` reads."""
    mask = np.int64(table.shape[0] - 1)
    for place in range(known.shape[0]):
        slot = np.int64((np.uint64(known[place]) * HASH) >> np.uint64(32)) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = place


def _histogram(first, last, index, counts):  # type: ignore[no-untyped-def]
    """How often each group occurs; group -1 is counted first."""
    for row in range(first, last):
        counts[index[row] + 1] += 1


def _scatter(first, last, index, cursor, order):  # type: ignore[no-untyped-def]
    """Stable counting sort: row numbers in the order of their group."""
    for row in range(first, last):
        group = index[row] + 1
        order[cursor[group]] = row
        cursor[group] += 1


def _match(  # type: ignore[no-untyped-def]
    first, last, numbers, start, length, items, key, keyed, sequence, by_sequence,
    truth_start, truth_items, table, at, position, above, tied, before, found, equals, repeated,
):
    """Find the truth's items in some lists, and count what stands before each.

    A small hash table holds the list's items: an entry is the list's number and the place in it, so that
    entries of earlier lists, being smaller, read as empty and the table is never cleared. The rows found in a list, as
    many as `found` says, are written in the order in which they are ranked, from `truth_start` on.
    `equals` marks lists with ties, the only ones whose `tied` and `before` are written; `repeated` counts
    items that occur twice.
    """
    mask = np.uint64(table.shape[0] - 1)
    low_half = np.uint64(0xFFFFFFFF)
    for n in range(first, last):
        i = numbers[n]
        low = start[n]
        size = length[n]
        mine = items[low : low + size]
        stamp = np.uint64(n - first + 1) << np.uint64(32)
        twice = 0
        for j in range(size):
            slot = ((np.uint64(mine[j]) * HASH) >> np.uint64(32)) & mask
            entry = table[slot]
            while entry >= stamp:
                if mine[np.int64(entry & low_half)] == mine[j]:
                    twice += 1
                    break
                slot = (slot + np.uint64(1)) & mask
                entry = table[slot]
            else:
                table[slot] = stamp | np.uint64(j)
        repeated[i] = twice
        begin = truth_start[i]
        end = begin
        for t in range(begin, truth_start[i + 1]):
            wanted = truth_items[t]
            slot = ((np.uint64(wanted) * HASH) >> np.uint64(32)) & mask
            entry = table[slot]
            while entry >= stamp:
                place = np.int64(entry & low_half)
                if mine[place] == wanted:
                    at[end] = t
                    position[end] = place
                    end += 1
                    break
                slot = (slot + np.uint64(1)) & mask
                entry = table[slot]
        found[i] = end - begin
        if end == begin:
            continue
        if not keyed:
            for o in range(begin, end):
                above[o] = position[o]
        else:
            scores = key[low : low + size]
            many = end - begin > SORT_FROM_HITS
            rising = np.sort(scores) if many else scores
            for o in range(begin, end):
                score = scores[position[o]]
                if many:
                    more = size - np.searchsorted(rising, score, side="right")
                    equal = size - more - np.searchsorted(rising, score, side="left")
                else:
                    more = 0
                    equal = 0
                    for j in range(size):
                        more += scores[j] > score
                        equal += scores[j] == score
                above[o] = more
                if equal > 1:
                    tied[o] = equal
                    equals[i] = 1
                    earlier = 0
                    if by_sequence:
                        names = sequence[low : low + size]
                        for j in range(size):
                            earlier += scores[j] == score and names[j] < names[position[o]]
                    else:
                        for j in range(position[o]):
                            earlier += scores[j] == score
                    before[o] = earlier
        for o in range(begin + 1, end):
            p = o
            while p > begin and (
                above[p - 1] > above[p]
                or (above[p - 1] == above[p] and position[p - 1] > position[p])
            ):
                at[p - 1], at[p] = at[p], at[p - 1]
                position[p - 1], position[p] = position[p], position[p - 1]
                above[p - 1], above[p] = above[p], above[p - 1]
                if equals[i]:
                    tied[p - 1], tied[p] = tied[p], tied[p - 1]
                    before[p - 1], before[p] = before[p], before[p - 1]
                p -= 1


def _compact(  # type: ignore[no-untyped-def]
    first, last, start, found, into, rows, kept, at, position, above, tied, before
):
    """Move the rows that `_match` wrote next to each other, with the number of their list."""
    for i in range(first, last):
        for n in range(found[i]):
            source = start[i] + n
            target = into[i] + n
            rows[0, target] = i
            rows[1, target] = at[source]
            rows[2, target] = position[source]
            rows[3, target] = above[source]
            if kept == 5:
                rows[4, target] = max(tied[source], 1)
                rows[5, target] = before[source]


def _fold(first, last, numbers, start, length, items, key, keyed, sums):  # type: ignore[no-untyped-def]
    """Mix the rows of each list into 64 bits, whatever their order: see `fingerprint.py`."""
    for n in range(first, last):
        mine = items[start[n] : start[n] + length[n]]
        total = np.uint64(0)
        if keyed:
            bits = key[start[n] : start[n] + length[n]].astype(np.float64).view(np.uint64)
            for j in range(mine.shape[0]):
                x = mine[j] * HASH + bits[j]
                x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
                total += x ^ (x >> np.uint64(32))
        else:
            for j in range(mine.shape[0]):
                x = mine[j] * HASH + np.uint64(j)
                x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
                total += x ^ (x >> np.uint64(32))
        sums[numbers[n]] = total


_KERNELS: dict[str, Callable[..., Any]] = {
    "mark": _mark,
    "look_up": _look_up,
    "locate": _locate,
    "place": _place,
    "histogram": _histogram,
    "scatter": _scatter,
    "match": _match,
    "compact": _compact,
    "fold": _fold,
}
