"""The array operations that judging and metrics share: NumPy in, NumPy out.

A list of values per row is `Ragged`; rows of a table that belong to a list, which may lie
scattered, are `Grouped`, and are not moved when they stand together already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.kernels import HASH, frozen, kernel, repay
from rectitude.parallel import in_blocks, thread_count, together

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
_FEW = 32
_GLANCE = 1024
_CACHED = 1 << 14  # numbers that are looked at without leaving the cache
_FEW_ROWS = 1 << 18  # threads cost more than taking so many


class Pieces:
    """A long array that may come in several parts, as Polars holds it; made whole only when need
    be.

    Copying ten million rows costs more than judging them: fresh memory has to be mapped page by
    page.
    """

    def __init__(self, *parts: NDArray[Any]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return int(self.bounds[-1])

    @cached_property
    def bounds(self) -> Integers:
        """Where the parts begin and end."""
        return np.concatenate(([0], np.cumsum([len(part) for part in self.parts]))).astype(np.int64)

    @cached_property
    def whole(self) -> NDArray[Any]:
        """All parts as one array."""
        return self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts)

    def take(self, rows: Integers) -> NDArray[Any]:
        """The values in these rows, which must ascend."""
        cuts = np.searchsorted(rows, self.bounds)
        parts = zip(self.parts, self.bounds, cuts[:-1], cuts[1:], strict=False)
        return np.concatenate([part[rows[a:b] - low] for part, low, a, b in parts])

    def map(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> Pieces:
        """The function of every part."""
        return Pieces(*(function(part) for part in self.parts))


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths: row i is `values[offsets[i]:offsets[i + 1]]`."""

    offsets: Integers
    values: NDArray[Any]

    @property
    def lengths(self) -> Integers:
        """How long each row is."""
        return np.diff(self.offsets)

    def rows(self) -> Integers:
        """To which row each value belongs."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)

    def pairs(self) -> tuple[Integers, NDArray[Any]]:
        """The row of each value, and the value."""
        return self.rows(), self.values

    def block(self, first: int, last: int) -> Ragged:
        """The rows from one up to another, numbered from 0."""
        low, high = self.offsets[first], self.offsets[last]
        return Ragged(self.offsets[first : last + 1] - low, self.values[low:high])

    def of(self, rows: Integers) -> Ragged:
        """Some rows, in any order, numbered from 0."""
        lengths = self.lengths[rows]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        before = np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Ragged(offsets, self.values[np.arange(offsets[-1]) + before])


@dataclass(frozen=True, slots=True)
class Grouped:
    """Which rows a list owns: the places `start[i]` to `start[i] + length[i]`.

    A place is a row of the table, or, when rows had to be brought together, a number whose row is
    `order[place]`.
    """

    start: Integers
    length: Integers
    order: NDArray[np.signedinteger] | None = None

    def take(self, values: Pieces) -> Pieces:
        """A column of the table, by place."""
        if self.order is None:
            return values
        order, source = self.order, values.whole
        if len(order) < _FEW_ROWS:
            return Pieces(source[order])
        taken = np.empty(len(order), source.dtype)

        def work(first: int, last: int) -> None:
            source.take(order[first:last], out=taken[first:last], mode="clip")

        in_blocks(work, len(order))
        return Pieces(taken)

    def rows(self, where: Integers) -> Integers:
        """The rows of the table that stand at these places."""
        return where if self.order is None else self.order[where].astype(np.int64)

    def expand(self) -> tuple[Integers, Integers]:
        """Every list number and place, list by list."""
        lists = np.repeat(np.arange(len(self.start)), self.length)
        ends = np.cumsum(self.length)
        return lists, np.arange(len(lists)) + np.repeat(
            self.start - ends + self.length, self.length
        )

    def keep(self, lists: Integers, where: Integers) -> Grouped:
        """Only these places, which must stand in list order."""
        offsets = offsets_of(lists, len(self.start))
        return Grouped(offsets[:-1], np.diff(offsets), self.rows(where))

    def only(self, lists: Flags) -> Grouped:
        """The same lists, but those not flagged own nothing."""
        return Grouped(self.start, np.where(lists, self.length, 0), self.order)

    def packed(self) -> Grouped:
        """The same rows with the lists one after the other, from place 0 on."""
        ends = np.cumsum(self.length)
        if np.array_equal(self.start[self.length > 0], (ends - self.length)[self.length > 0]):
            return Grouped(ends - self.length, self.length, self.order)
        return self.keep(*self.expand())

    def repeated(self, lists: Integers) -> Grouped:
        """One list per entry of `lists` (-1: a list that owns nothing)."""
        there = lists >= 0
        chosen = np.where(there, lists, 0)
        return Grouped(self.start[chosen], np.where(there, self.length[chosen], 0), self.order)


def offsets_of(index: Integers, size: int) -> Integers:
    """Where each group begins and ends once rows stand in group order."""
    return np.concatenate(([0], np.cumsum(np.bincount(index, minlength=size)))).astype(np.int64)


def run_starts(codes: Integers) -> Integers:
    """Where runs of equal codes begin."""
    if not len(codes):
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1))


def places(known: Integers, codes: Integers) -> Integers:
    """The place of each code among sorted distinct codes; -1 where it is not there."""
    if not len(known) or not len(codes):
        return np.full(len(codes), -1, np.int64)
    span = int(known[-1]) - int(known[0]) + 1
    if span > 4 * (len(known) + len(codes)) + 1024:
        found = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        return np.where(known[found] == codes, found, -1)
    first, near = int(known[0]), codes
    every = int(codes.min()) >= first and int(codes.max()) <= int(known[-1])
    if first:
        near = codes - first
    if every and span == len(known):
        return near
    table = np.full(span + 1, -1, np.int64)  # the last is for codes outside
    table[known - first] = np.arange(len(known))
    return table[near if every else np.where((near >= 0) & (near < span), near, span)]


def distinct(*parts: Integers) -> Integers:
    """The different codes, ascending. Codes that ascend already, or lie close together, take one
    pass."""
    some = [codes for codes in parts if len(codes)]
    if not some:
        return np.zeros(0, np.int64)
    if len(some) == 1 and _ascends(some[0]):
        return some[0]
    low = min(int(codes.min()) for codes in some)
    span = max(int(codes.max()) for codes in some) - low + 1
    if span <= 4 * sum(map(len, some)) + 1024:
        there = np.zeros(span, bool)
        for codes in some:
            there[codes - low if low else codes] = True
        return np.flatnonzero(there) + low
    ordered = np.sort(some[0] if len(some) == 1 else np.concatenate(some), kind="stable")
    return ordered[run_starts(ordered)]


def _ascends(codes: Integers) -> bool:
    """Whether every code is above the one before; codes that do not mostly show it soon."""
    few = codes[:_FEW]
    return bool(np.all(few[1:] > few[:-1]) and np.all(codes[1:] > codes[:-1]))


def occurring(numbers: NDArray[Any], size: int) -> Integers:
    """The numbers below `size` that occur, ascending. Where all of them do, that soon shows."""
    step = max(_CACHED, size)
    there = np.zeros(size, bool)
    for first in range(0, len(numbers), step):
        there[numbers[first : first + step]] = True
        if there.all():
            break
    return np.flatnonzero(there)


def totals(group: Integers, size: int, values: Floats | None = None) -> Floats:
    """The sum of the values of each group, added in row order; without values, how many rows it
    has."""
    if values is None:
        return np.bincount(group, minlength=size).astype(np.float64)
    return np.bincount(group, weights=values, minlength=size).astype(np.float64, copy=False)


def added(
    left: Integers, right: Integers, where: tuple[Integers, Integers] | None = None
) -> Integers:
    """The sums of two columns of counts, where each count stands in its place; the shorter column
    is filled up with zeros where no places are told."""
    places = (np.arange(len(left)), np.arange(len(right))) if where is None else where
    sums = np.zeros(max(int(at.max(initial=-1)) + 1 for at in places), np.int64)
    for counts, at in zip((left, right), places, strict=True):
        sums[at[: len(counts)]] += counts
    return sums


def running(flags: Flags, group: Integers) -> Integers:
    """For each row, how many flagged rows of its group stand up to and including it (groups
    adjacent)."""
    counts: Integers = np.cumsum(flags)
    if not len(counts):
        return counts.astype(np.int64)
    starts = run_starts(group)
    before: Integers = counts[starts] - flags[starts]
    return counts - np.repeat(before, np.diff(np.append(starts, len(group))))


def accumulated(combine: np.ufunc, values: Floats, group: Integers) -> Floats:
    """For each row, the values of its group up to and including it, combined (groups adjacent).

    Every group goes by itself: what other groups hold does not show in its last bits.
    """
    result = values.copy()
    starts = run_starts(group)
    ends = np.append(starts[1:], len(group))
    for step in range(1, min(int((ends - starts).max(initial=0)), _FEW)):
        at = starts[ends - starts > step] + step
        result[at] = combine(result[at - 1], values[at])
    for start, end in zip(starts[ends - starts > _FEW], ends[ends - starts > _FEW], strict=True):
        result[start:end] = combine.accumulate(values[start:end])
    return result


def group(universe: Integers, runs: Integers | None, codes: Pieces, rows: int) -> Grouped:
    """Rows grouped by the place of their code in the universe.

    The rows come in runs of equal code: where each run begins and its code; runs are None when
    every row is its own. Rows whose code is not in the universe belong to no list.
    """
    if not len(universe):
        return Grouped(np.empty(0, np.int64), np.empty(0, np.int64))
    if runs is None:
        return _brought_together(_located(universe, codes), len(universe))
    lengths = np.diff(np.append(runs, rows))
    index = places(universe, codes.whole)
    there = index >= 0
    times = np.bincount(index[there], minlength=len(universe))
    if times.max(initial=0) > 1:
        return _brought_together(np.repeat(index, lengths), len(universe))
    start = np.zeros(len(universe), np.int64)
    length = np.zeros(len(universe), np.int64)
    start[index[there]] = runs[there]
    length[index[there]] = lengths[there]
    return Grouped(start, length)


def _brought_together(index: NDArray[np.signedinteger], size: int) -> Grouped:
    """Rows sorted by list number, stably; rows numbered -1 come first and belong to no list."""
    if _never_falls(index[:_GLANCE]) and _never_falls(index):  # they stand so already
        offsets = offsets_of(index, size)
        return Grouped(offsets[:-1], np.diff(offsets))
    if repay(len(index)):
        return _sorted_by_counting(index, size)
    offsets = offsets_of(index + 1, size + 1)
    return Grouped(offsets[1:-1], np.diff(offsets[1:]), np.argsort(index, kind="stable"))


def _never_falls(index: NDArray[np.signedinteger]) -> bool:
    """Whether all rows belong to a list, and stand in the order of the lists."""
    return bool(len(index) and index[0] >= 0 and np.all(index[1:] >= index[:-1]))


def _sorted_by_counting(index: NDArray[np.signedinteger], size: int) -> Grouped:
    """The same by counting: each thread counts and places its own stretch of the rows."""
    cuts = np.linspace(0, len(index), thread_count() + 1).astype(np.int64)
    stretches = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
    counts = np.zeros((len(stretches), size + 1), np.int64)
    count, scatter = kernel(_histogram), kernel(_scatter)
    rows = frozen(index)
    together([partial(count, a, b, rows, counts[n]) for n, (a, b) in enumerate(stretches)])
    total = counts.sum(axis=0)
    offsets = np.concatenate(([0], np.cumsum(total)))
    cursors = offsets[:-1] + np.cumsum(counts, axis=0) - counts
    narrow: type[np.signedinteger] = np.int32 if len(index) < 2**31 else np.int64
    order = np.empty(len(index), narrow)
    together(
        [partial(scatter, a, b, rows, cursors[n], order) for n, (a, b) in enumerate(stretches)]
    )
    return Grouped(offsets[1:-1], total[1:], order)


def _located(universe: Integers, codes: Pieces) -> NDArray[np.signedinteger]:
    """The place of every row's code in the universe, or -1."""
    if not repay(len(codes)):
        return places(universe, codes.whole)
    index = np.empty(len(codes), np.int32)
    span = int(universe[-1]) - int(universe[0]) + 1
    known = frozen(universe)
    if span <= 4 * len(codes) + 1024:
        table = np.full(span, -1, np.int32)
        table[universe - universe[0]] = np.arange(len(universe))
        look_up, base = kernel(_look_up), int(universe[0])
        _by_part(codes, lambda a, b, part, low: look_up(a, b, part, base, table, index[low:]))
        return index
    table = np.full(1 << (2 * len(universe)).bit_length(), -1, np.int32)
    kernel(_place)(known, table)
    locate = kernel(_locate)
    _by_part(codes, lambda a, b, part, low: locate(a, b, part, known, table, index[low:]))
    return index


def distinct_codes(codes: Pieces) -> Integers:
    """The different codes of a column."""
    span = _span(codes)
    if not repay(len(codes)):
        return distinct(codes.whole)
    if span is None:
        found: Integers = pl.concat([pl.Series(part) for part in codes.parts]).unique().to_numpy()
        return found
    low, size = span
    seen = np.zeros(size, bool)
    mark = kernel(_mark)
    _by_part(codes, lambda a, b, part, _: mark(a, b, part, low, seen))
    return np.flatnonzero(seen) + low


def _span(codes: Pieces) -> tuple[int, int] | None:
    """The lowest code and how many there are up to the highest, if a table of them is
    affordable."""
    if not len(codes):
        return None
    low = min(int(part.min()) for part in codes.parts if len(part))
    size = max(int(part.max()) for part in codes.parts if len(part)) - low + 1
    return (low, size) if size <= 4 * len(codes) + 1024 else None


def _by_part(codes: Pieces, work: Callable[[int, int, Integers, int], None]) -> None:
    """Call `work(first, last, part, low)` on blocks of every part, on several threads."""
    for part, low in zip(codes.parts, codes.bounds.tolist(), strict=False):
        mine = frozen(part)
        in_blocks(partial(_block, work, mine, low), len(part), 1 << 16)


def _block(work: Callable[..., None], part: Integers, low: int, first: int, last: int) -> None:
    work(first, last, part, low)


def _mark(first, last, codes, low, seen):  # type: ignore[no-untyped-def]
    """Note which codes occur."""
    for row in range(first, last):
        seen[codes[row] - low] = True


def _look_up(first, last, codes, low, table, index):  # type: ignore[no-untyped-def]
    """The place of each code, read from a table of all codes from `low` on; -1 where it has
    none."""
    for row in range(first, last):
        place = codes[row] - low
        index[row] = table[place] if 0 <= place < table.shape[0] else -1


def _locate(first, last, codes, known, table, index):  # type: ignore[no-untyped-def]
    """The place of each code among the known ones, by a hash table of places; -1 where it is not
    there."""
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
