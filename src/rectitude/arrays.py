"""The array operations that judging and metrics share. NumPy in, NumPy out, nothing of ours
below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
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
