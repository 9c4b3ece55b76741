"""The array operations that judging and metrics share: NumPy in, NumPy out.

`Ragged` holds a list of values per row. `Grouped` says which rows of a table belong to which list.
The rows of a list may be scattered over the table; they are not moved if they are adjacent already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.kernels import HASH, freeze, kernel, should_compile
from rectitude.parallel import in_blocks, run_tasks, thread_count

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
_FEW = 32
_GLANCE = 1024
_CACHED = 1 << 14  # numbers that fit into the processor's cache
_FEW_ROWS = 1 << 18  # below this many rows, threads cost more than they save


class Pieces:
    """A long array in one or more chunks, as Polars stores it; concatenated only if necessary.

    Copying ten million rows costs more than judging them, because fresh memory has to be mapped
    page by page.
    """

    def __init__(self, *parts: NDArray[Any]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return int(self.bounds[-1])

    @cached_property
    def bounds(self) -> Integers:
        """The offsets at which the chunks begin and end."""
        return np.concatenate(([0], np.cumsum([len(part) for part in self.parts]))).astype(np.int64)

    @cached_property
    def whole(self) -> NDArray[Any]:
        """All chunks as one array."""
        return self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts)

    def take(self, rows: Integers) -> NDArray[Any]:
        """Return the values in these rows, which must be in ascending order."""
        cuts = np.searchsorted(rows, self.bounds)
        parts = zip(self.parts, self.bounds, cuts[:-1], cuts[1:], strict=False)
        return np.concatenate([part[rows[a:b] - low] for part, low, a, b in parts])

    def map(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> Pieces:
        """Apply a function to every chunk."""
        return Pieces(*(function(part) for part in self.parts))


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Rows of different lengths: row i is `values[offsets[i]:offsets[i + 1]]`."""

    offsets: Integers
    values: NDArray[Any]

    @property
    def lengths(self) -> Integers:
        """The length of each row."""
        return np.diff(self.offsets)

    def rows(self) -> Integers:
        """Return the row that each value belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)

    def pairs(self) -> tuple[Integers, NDArray[Any]]:
        """Return the row of each value, and the values."""
        return self.rows(), self.values

    def block(self, first: int, last: int) -> Ragged:
        """Return the rows from `first` up to but not including `last`, numbered from 0."""
        low, high = self.offsets[first], self.offsets[last]
        return Ragged(self.offsets[first : last + 1] - low, self.values[low:high])

    def ascends(self) -> bool:
        """Whether the values of every row strictly ascend, so that no row repeats a value."""
        falls = self.values[1:] <= self.values[:-1]
        ends = self.offsets[1:-1]
        falls[ends[(ends > 0) & (ends < len(self.values))] - 1] = False
        return not falls.any()

    def of(self, rows: Integers) -> Ragged:
        """Return some rows, in the order given, numbered from 0."""
        lengths = self.lengths[rows]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        before = np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Ragged(offsets, self.values[np.arange(offsets[-1]) + before])


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Which rows belong to list i: the positions `start[i]` to `start[i] + length[i]`.

    A position is a row of the table. If the rows of a list were scattered and had to be sorted,
    position p is row `order[p]`.
    """

    start: Integers
    length: Integers
    order: NDArray[np.signedinteger] | None = None

    def take(self, values: Pieces) -> Pieces:
        """Return a column of the table, by position."""
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

    def are_adjacent(self) -> bool:
        """Return whether the lists follow each other in the table, from its first row on."""
        ends = np.cumsum(self.length)
        return self.order is None and np.array_equal(self.start, ends - self.length)

    def rows(self, where: Integers) -> Integers:
        """Return the rows of the table at these positions."""
        return where if self.order is None else self.order[where].astype(np.int64)

    def expand(self) -> tuple[Integers, Integers]:
        """Return the list number and position of every row, list by list."""
        lists = np.repeat(np.arange(len(self.start)), self.length)
        ends = np.cumsum(self.length)
        return lists, np.arange(len(lists)) + np.repeat(
            self.start - ends + self.length, self.length
        )

    def keep(self, lists: Integers, where: Integers) -> Grouped:
        """Keep only these positions, which must be in the order of the lists."""
        offsets = offsets_of(lists, len(self.start))
        return Grouped(offsets[:-1], np.diff(offsets), self.rows(where))

    def only(self, lists: Flags) -> Grouped:
        """Return the same lists, without rows for those that are not flagged."""
        return Grouped(self.start, np.where(lists, self.length, 0), self.order)

    def pack(self) -> Grouped:
        """Return the same rows with the lists one after the other, starting at position 0."""
        ends = np.cumsum(self.length)
        if np.array_equal(self.start[self.length > 0], (ends - self.length)[self.length > 0]):
            return Grouped(ends - self.length, self.length, self.order)
        return self.keep(*self.expand())

    def repeat_lists(self, lists: Integers) -> Grouped:
        """Return one list per entry of `lists` (-1: a list without rows)."""
        exists = lists >= 0
        chosen = np.where(exists, lists, 0)
        return Grouped(self.start[chosen], np.where(exists, self.length[chosen], 0), self.order)


def offsets_of(index: Integers, size: int) -> Integers:
    """Return where each group begins and ends once the rows are sorted by group."""
    return np.concatenate(([0], np.cumsum(np.bincount(index, minlength=size)))).astype(np.int64)


def run_starts(codes: Integers) -> Integers:
    """Return where runs of equal codes begin."""
    if not len(codes):
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1))


def positions_in(universe: Integers, codes: Integers) -> Integers:
    """Return the index of each code among sorted distinct codes; -1 if it is not among them."""
    if not len(universe) or not len(codes):
        return np.full(len(codes), -1, np.int64)
    span = int(universe[-1]) - int(universe[0]) + 1
    if span > 4 * (len(universe) + len(codes)) + 1024:
        index = np.minimum(np.searchsorted(universe, codes), len(universe) - 1)
        return np.where(universe[index] == codes, index, -1)
    first, shifted = int(universe[0]), codes
    all_inside = int(codes.min()) >= first and int(codes.max()) <= int(universe[-1])
    if first:
        shifted = codes - first
    if all_inside and span == len(universe):
        return shifted
    table = np.full(span + 1, -1, np.int64)  # the last entry is for codes out of range
    table[universe - first] = np.arange(len(universe))
    return table[
        shifted if all_inside else np.where((shifted >= 0) & (shifted < span), shifted, span)
    ]


def distinct(*parts: Integers) -> Integers:
    """Return the distinct codes in ascending order.

    If the codes ascend already, or span a small range, this takes a single pass.
    """
    columns = [codes for codes in parts if len(codes)]
    if not columns:
        return np.zeros(0, np.int64)
    if len(columns) == 1 and _ascends(columns[0]):
        return columns[0]
    low = min(int(codes.min()) for codes in columns)
    span = max(int(codes.max()) for codes in columns) - low + 1
    if span <= 4 * sum(map(len, columns)) + 1024:
        occurs = np.zeros(span, bool)
        for codes in columns:
            occurs[codes - low if low else codes] = True
        return np.flatnonzero(occurs) + low
    ordered = np.sort(columns[0] if len(columns) == 1 else np.concatenate(columns), kind="stable")
    return ordered[run_starts(ordered)]


def _ascends(codes: Integers) -> bool:
    """Whether the codes strictly ascend. If they do not, the first few usually show it."""
    head = codes[:_FEW]
    return bool(np.all(head[1:] > head[:-1]) and np.all(codes[1:] > codes[:-1]))


def occurring(numbers: NDArray[Any], size: int) -> Integers:
    """Return the numbers below `size` that occur, ascending; stop reading once all have."""
    step = max(_CACHED, size)
    occurs = np.zeros(size, bool)
    for first in range(0, len(numbers), step):
        occurs[numbers[first : first + step]] = True
        if occurs.all():
            break
    return np.flatnonzero(occurs)


def sum_by_group(group: Integers, size: int, values: Floats | None = None) -> Floats:
    """Sum the values of each group in row order; without values, count its rows."""
    if values is None:
        return np.bincount(group, minlength=size).astype(np.float64)
    return np.bincount(group, weights=values, minlength=size).astype(np.float64, copy=False)


def sum_rows(matrix: Floats) -> Floats:
    """Sum each row from left to right, so that padding with zeros changes no bit of a sum."""
    rows, columns = matrix.shape
    return sum_by_group(np.repeat(np.arange(rows), columns), rows, matrix.ravel())


def add_counts(
    left: Integers, right: Integers, where: tuple[Integers, Integers] | None = None
) -> Integers:
    """Add two columns of counts. `where` holds the index of every count in the result; without it,
    the shorter column is padded with zeros."""
    indexes = (np.arange(len(left)), np.arange(len(right))) if where is None else where
    sums = np.zeros(max(int(index.max(initial=-1)) + 1 for index in indexes), np.int64)
    for counts, index in zip((left, right), indexes, strict=True):
        sums[index[: len(counts)]] += counts
    return sums


def running_count(flags: Flags, group: Integers) -> Integers:
    """Count, for each row, the flagged rows of its group up to and including that row.

    The rows of a group must be adjacent.
    """
    counts: Integers = np.cumsum(flags)
    if not len(counts):
        return counts.astype(np.int64)
    starts = run_starts(group)
    before: Integers = counts[starts] - flags[starts]
    return counts - np.repeat(before, np.diff(np.append(starts, len(group))))


def accumulate_groups(combine: np.ufunc, values: Floats, group: Integers) -> Floats:
    """Combine, for each row, the values of its group up to and including that row.

    The rows of a group must be adjacent. Every group is computed separately: its last bits do not
    depend on the other groups.
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
    """Group rows by the index of their code in the universe.

    The rows come in runs of equal codes: `runs` says where each run begins, and `codes` holds the
    code of each run. If `runs` is None, every row is its own run. Rows whose code is not in the
    universe belong to no list.
    """
    if not len(universe):
        return Grouped(np.empty(0, np.int64), np.empty(0, np.int64))
    if runs is None:
        return _group_by_sorting(_locate_rows(universe, codes), len(universe))
    lengths = np.diff(np.append(runs, rows))
    index = positions_in(universe, codes.whole)
    is_listed = index >= 0
    times = np.bincount(index[is_listed], minlength=len(universe))
    if times.max(initial=0) > 1:
        return _group_by_sorting(np.repeat(index, lengths), len(universe))
    start = np.zeros(len(universe), np.int64)
    length = np.zeros(len(universe), np.int64)
    start[index[is_listed]] = runs[is_listed]
    length[index[is_listed]] = lengths[is_listed]
    return Grouped(start, length)


def _group_by_sorting(index: NDArray[np.signedinteger], size: int) -> Grouped:
    """Sort rows by list number, stably; rows with number -1 come first and belong to no list."""
    if _never_falls(index[:_GLANCE]) and _never_falls(index):  # already sorted
        offsets = offsets_of(index, size)
        return Grouped(offsets[:-1], np.diff(offsets))
    if should_compile(len(index)):
        return _group_by_counting(index, size)
    offsets = offsets_of(index + 1, size + 1)
    return Grouped(offsets[1:-1], np.diff(offsets[1:]), np.argsort(index, kind="stable"))


def _never_falls(index: NDArray[np.signedinteger]) -> bool:
    """Whether every row belongs to a list, and the rows are in the order of the lists."""
    return bool(len(index) and index[0] >= 0 and np.all(index[1:] >= index[:-1]))


def _group_by_counting(index: NDArray[np.signedinteger], size: int) -> Grouped:
    """Do the same with a counting sort: each thread counts and sorts a range of the rows."""
    cuts = np.linspace(0, len(index), thread_count() + 1).astype(np.int64)
    stretches = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
    counts = np.zeros((len(stretches), size + 1), np.int64)
    count, scatter = kernel(_histogram), kernel(_scatter)
    rows = freeze(index)
    run_tasks([partial(count, a, b, rows, counts[n]) for n, (a, b) in enumerate(stretches)])
    total = counts.sum(axis=0)
    offsets = np.concatenate(([0], np.cumsum(total)))
    cursors = offsets[:-1] + np.cumsum(counts, axis=0) - counts
    row_type: type[np.signedinteger] = np.int32 if len(index) < 2**31 else np.int64
    order = np.empty(len(index), row_type)
    run_tasks(
        [partial(scatter, a, b, rows, cursors[n], order) for n, (a, b) in enumerate(stretches)]
    )
    return Grouped(offsets[1:-1], total[1:], order)


def _locate_rows(universe: Integers, codes: Pieces) -> NDArray[np.signedinteger]:
    """Return the index of every row's code in the universe, or -1."""
    if not should_compile(len(codes)):
        return positions_in(universe, codes.whole)
    index = np.empty(len(codes), np.int32)
    span = int(universe[-1]) - int(universe[0]) + 1
    frozen = freeze(universe)
    if span <= 4 * len(codes) + 1024:
        table = np.full(span, -1, np.int32)
        table[universe - universe[0]] = np.arange(len(universe))
        look_up, base = kernel(_look_up), int(universe[0])
        _for_each_chunk(
            codes, lambda a, b, part, low: look_up(a, b, part, base, table, index[low:])
        )
        return index
    table = np.full(1 << (2 * len(universe)).bit_length(), -1, np.int32)
    kernel(_fill_table)(frozen, table)
    locate = kernel(_locate)
    _for_each_chunk(codes, lambda a, b, part, low: locate(a, b, part, frozen, table, index[low:]))
    return index


def distinct_codes(codes: Pieces) -> Integers:
    """Return the distinct codes of a column."""
    span = _find_span(codes)
    if not should_compile(len(codes)):
        return distinct(codes.whole)
    if span is None:
        codes_once: Integers = (
            pl.concat([pl.Series(part) for part in codes.parts]).unique().to_numpy()
        )
        return codes_once
    low, size = span
    seen = np.zeros(size, bool)
    mark = kernel(_mark_codes)
    _for_each_chunk(codes, lambda a, b, part, _: mark(a, b, part, low, seen))
    return np.flatnonzero(seen) + low


def _find_span(codes: Pieces) -> tuple[int, int] | None:
    """Return the lowest code and the size of the range of codes, or None if that range is too
    large for a lookup table."""
    if not len(codes):
        return None
    low = min(int(part.min()) for part in codes.parts if len(part))
    size = max(int(part.max()) for part in codes.parts if len(part)) - low + 1
    return (low, size) if size <= 4 * len(codes) + 1024 else None


def _for_each_chunk(codes: Pieces, work: Callable[[int, int, Integers, int], None]) -> None:
    """Call `work(first, last, chunk, low)` on blocks of every chunk, on several threads."""
    for part, low in zip(codes.parts, codes.bounds.tolist(), strict=False):
        chunk = freeze(part)
        in_blocks(partial(_work_on_block, work, chunk, low), len(part), 1 << 16)


def _work_on_block(
    work: Callable[..., None], part: Integers, low: int, first: int, last: int
) -> None:
    work(first, last, part, low)


def _mark_codes(first, last, codes, low, seen):  # type: ignore[no-untyped-def]
    """Mark which codes occur."""
    for row in range(first, last):
        seen[codes[row] - low] = True


def _look_up(first, last, codes, low, table, index):  # type: ignore[no-untyped-def]
    """Look up the index of each code in a table of all codes from `low` on; -1 if it has none."""
    for row in range(first, last):
        offset = codes[row] - low
        index[row] = table[offset] if 0 <= offset < table.shape[0] else -1


def _locate(first, last, codes, universe, table, index):  # type: ignore[no-untyped-def]
    """Look up the index of each code in the universe through a hash table; -1 if it has none."""
    mask = np.int64(table.shape[0] - 1)
    for row in range(first, last):
        code = codes[row]
        slot = np.int64((np.uint64(code) * HASH) >> np.uint64(32)) & mask
        index[row] = -1
        while table[slot] >= 0:
            if universe[table[slot]] == code:
                index[row] = table[slot]
                break
            slot = (slot + 1) & mask


def _fill_table(universe, table):  # type: ignore[no-untyped-def]
    """Fill the hash table that `_locate` reads."""
    mask = np.int64(table.shape[0] - 1)
    for number in range(universe.shape[0]):
        slot = np.int64((np.uint64(universe[number]) * HASH) >> np.uint64(32)) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = number


def _histogram(first, last, index, counts):  # type: ignore[no-untyped-def]
    """Count how often each group occurs; the first count is that of group -1."""
    for row in range(first, last):
        counts[index[row] + 1] += 1


def _scatter(first, last, index, cursor, order):  # type: ignore[no-untyped-def]
    """Stable counting sort: row numbers in the order of their group."""
    for row in range(first, last):
        group = index[row] + 1
        order[cursor[group]] = row
        cursor[group] += 1
