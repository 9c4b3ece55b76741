"""The array operations that judging and metrics share. NumPy in, NumPy out, nothing of ours below."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


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
    """The sum of the values of each group, added in row order; without values, how many rows it has."""
    if values is None:
        return np.bincount(group, minlength=size).astype(np.float64)
    return np.bincount(group, weights=values, minlength=size).astype(np.float64, copy=False)


def running(flags: Flags, group: Integers) -> Integers:
    """For each row, how many flagged rows of its group stand up to and including it (groups adjacent)."""
    counts = np.cumsum(flags)
    if not len(counts):
        return counts.astype(np.int64)
    starts = run_starts(group)
    before = counts[starts] - flags[starts]
    return counts - np.repeat(before, np.diff(np.append(starts, len(group))))


def run_starts(codes: Integers) -> Integers:
    """Where runs of equal codes begin."""
    if not len(codes):
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1))


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
    inside = (codes >= known[0]) & (codes <= known[-1])
    if span == len(known):
        return np.where(inside, codes - known[0], -1)
    table = np.full(span, -1, np.int64)
    table[known - known[0]] = np.arange(len(known))
    return np.where(inside, table[np.where(inside, codes - known[0], 0)], -1)


def thread_count() -> int:
    """How many threads to use: `RECTITUDE_THREADS`, or the processors this process may use."""
    wanted = os.environ.get("RECTITUDE_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_blocks(work: Callable[[int, int], None], size: int, least: int = 4096) -> None:
    """Call `work(first, last)` on blocks that cover `range(size)`, on several threads if it pays."""
    threads = thread_count()
    step = max(least, -(-size // (8 * threads)))
    bounds = [(first, min(first + step, size)) for first in range(0, size, step)]
    if threads == 1 or len(bounds) == 1:
        for first, last in bounds:
            work(first, last)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, first, last) for first, last in bounds]:
            done.result()
