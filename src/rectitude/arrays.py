"""The array operations that judging and metrics share. NumPy in, NumPy out, nothing of ours
below."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


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
    values: Floats

    @property
    def lengths(self) -> Integers:
        """How long each row is."""
        return np.diff(self.offsets)

    def rows(self) -> Integers:
        """To which row each value belongs."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)


def totals(group: Integers, size: int, values: Floats | None = None) -> Floats:
    """The sum of the values of each group, added in row order; without values, how many rows it
    has."""
    if values is None:
        return np.bincount(group, minlength=size).astype(np.float64)
    return np.bincount(group, weights=values, minlength=size).astype(np.float64, copy=False)


def running(flags: Flags, group: Integers) -> Integers:
    """For each row, how many flagged rows of its group stand up to and including it (groups
    adjacent)."""
    counts: Integers = np.cumsum(flags)
    if not len(counts):
        return counts.astype(np.int64)
    starts = run_starts(group)
    before: Integers = counts[starts] - flags[starts]
    return counts - np.repeat(before, np.diff(np.append(starts, len(group))))


_FEW = 32


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


def run_starts(codes: Integers) -> Integers:
    """Where runs of equal codes begin."""
    if not len(codes):
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1))


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


def offsets_of(index: Integers, size: int) -> Integers:
    """Where each group begins and ends once rows stand in group order."""
    return np.concatenate(([0], np.cumsum(np.bincount(index, minlength=size)))).astype(np.int64)


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


def thread_count() -> int:
    """How many threads to use: `RECTITUDE_THREADS`, or the processors this process may use."""
    wanted = os.environ.get("RECTITUDE_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_blocks(work: Callable[[int, int], None], size: int, least: int = 4096) -> None:
    """Call `work(first, last)` on blocks that cover `range(size)`, on several threads if it
    pays."""
    step = max(least, -(-size // (8 * thread_count())))
    together([partial(work, first, min(first + step, size)) for first in range(0, size, step)])


def together(tasks: Sequence[Callable[[], object]], pays: bool = True) -> None:
    """Run tasks, on several threads if it pays. Of several that fail, the first one is raised.

    The calling thread takes its share, and waits for no thread that has not begun: tasks may
    themselves call this.
    """
    threads = thread_count() if pays else 1
    if threads == 1 or len(tasks) < 2:
        for task in tasks:
            task()
        return
    waiting = deque(enumerate(tasks))
    failed: dict[int, Exception] = {}
    helpers = [_pool(threads - 1).submit(_work, waiting, failed) for _ in tasks[1:threads]]
    try:
        _work(waiting, failed)
    finally:
        waiting.clear()  # where the calling thread was interrupted
        wait([helper for helper in helpers if not helper.cancel()])
    if failed:
        raise failed[min(failed)]


def _work(waiting: deque[tuple[int, Callable[[], object]]], failed: dict[int, Exception]) -> None:
    """Run waiting tasks until none is left; keep what they raise."""
    while waiting:
        try:
            place, task = waiting.popleft()
        except IndexError:  # another thread took the last one
            return
        try:
            task()
        except Exception as error:
            failed[place] = error


_KEPT = 31 << 20  # bytes; of arrays from 32 MB on the allocator learns nothing


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that stay: starting them anew takes longer than many a task.

    Where there is work for threads there are many arrays of some 100 KB for a moment. The GNU
    allocator hands such memory back to the system each time, and gets it again page by page, until
    a program has freed one larger array; this is that array, whose pages are never touched.
    """
    np.empty(_KEPT, np.uint8)
    return ThreadPoolExecutor(threads, thread_name_prefix="rectitude")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not live on in a fork
