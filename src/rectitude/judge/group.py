"""Bring the rows of each list together, without moving them when they already are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Integers, offsets_of, places
from rectitude.judge import kernels

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Grouped:
    """Which rows a list owns: the places `start[i]` to `start[i] + length[i]`.

    A place is a row of the table, or, when rows had to be brought together, a number whose row is
    `order[place]`.
    """

    start: Integers
    length: Integers
    order: Integers | None = None

    def take(self, values: NDArray[Scalar]) -> NDArray[Scalar]:
        """A column of the table, by place."""
        return values if self.order is None else values[self.order]

    def rows(self, where: Integers) -> Integers:
        """The rows of the table that stand at these places."""
        return where if self.order is None else self.order[where]

    def expand(self) -> tuple[Integers, Integers]:
        """Every list number and place, list by list."""
        lists = np.repeat(np.arange(len(self.start)), self.length)
        ends = np.cumsum(self.length)
        return lists, np.arange(len(lists)) + np.repeat(self.start - ends + self.length, self.length)

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


def group(universe: Integers, runs: Integers, codes: Integers, rows: int) -> Grouped:
    """Rows grouped by the place of their code in the universe.

    The rows come in runs of equal code: where each run begins, its code, and how many rows there are in
    all. Rows whose code is not in the universe belong to no list.
    """
    lengths = np.diff(np.append(runs, rows))
    index = places(universe, codes)
    there = index >= 0
    times = np.bincount(index[there], minlength=len(universe))
    if times.max(initial=0) <= 1:
        start = np.zeros(len(universe), np.int64)
        length = np.zeros(len(universe), np.int64)
        start[index[there]] = runs[there]
        length[index[there]] = lengths[there]
        return Grouped(start, length)
    return _brought_together(np.repeat(index, lengths), len(universe))


def _brought_together(index: Integers, size: int) -> Grouped:
    """Rows sorted by list number, stably; rows numbered -1 are left out."""
    offsets = offsets_of(index + 1, size + 1)
    if kernels.repay(len(index)):
        order = np.empty(len(index), np.int64)
        kernels.compiled("scatter")(index + 1, offsets[:-1].copy(), order)
    else:
        order = np.argsort(index, kind="stable")
    return Grouped(offsets[1:-1], np.diff(offsets[1:]), order)
