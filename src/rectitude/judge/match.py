"""Find the truth's items in the lists, and count what stands before each of them.

"Rank the truth, not the catalogue": a list is never sorted. For each judged item that was found we count the
items with a higher score and with an equal one. Ranks follow from these integers and the tie rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Integers, in_blocks, run_starts
from rectitude.judge import kernels
from rectitude.judge.group import Grouped


@dataclass(frozen=True, slots=True)
class Ranking:
    """The lists as they will be matched: items by place, and what orders them.

    `key` sorts descending; without it the places are the order. `sequence` numbers the items by id, for
    tie rules that go by id.
    """

    lists: Grouped
    items: Integers
    key: NDArray[Any] | None
    sequence: Integers | None = None

    def keep(self, lists: Integers, where: Integers) -> Ranking:
        """Only these places."""
        return Ranking(
            self.lists.keep(lists, where),
            self.items[where],
            None if self.key is None else self.key[where],
            None if self.sequence is None else self.sequence[where],
        )


@dataclass(frozen=True, slots=True)
class Matches:
    """One row per judged item that was found, by list, best score first."""

    list: Integers
    truth: Integers
    position: Integers
    above: Integers
    tied: Integers
    before: Integers


def match(ranking: Ranking, truth: Grouped, wanted: Integers) -> tuple[Matches, Integers]:
    """The matches, and how many items of each list occur in it before. `truth` must be packed."""
    if kernels.repay(len(ranking.items)):
        return _match_compiled(ranking, truth, wanted)
    return join(ranking, truth, wanted), repeats(ranking.lists, ranking.items)


def repeats(lists: Grouped, items: Integers) -> Integers:
    """How many items of each list occur in it before."""
    if kernels.repay(len(items)):
        nothing = Grouped(np.zeros_like(lists.start), np.zeros_like(lists.length))
        return _match_compiled(Ranking(lists, items, None), nothing, np.empty(0, np.int64))[1]
    numbers, where = lists.expand()
    again = repeat_flags(numbers, items[where], np.arange(len(where)))
    return np.bincount(numbers[again], minlength=len(lists.start))


def _match_compiled(
    ranking: Ranking, truth: Grouped, wanted: Integers
) -> tuple[Matches, Integers]:
    kernel = kernels.compiled("match")
    lists = ranking.lists
    size = len(wanted)
    truth_start = np.append(truth.start, size)
    at, position, above, tied, before = (np.full(size, -1, np.int64) for _ in range(5))
    repeated = np.zeros(len(lists.start), np.int64)
    keyed = ranking.key is not None
    key = ranking.key if ranking.key is not None else np.zeros(0, np.float32)
    sequence = ranking.sequence if ranking.sequence is not None else np.zeros(0, np.int64)
    longest = int(lists.length.max(initial=1))
    slots = 1 << (2 * longest - 1).bit_length()
    fixed = [kernels.frozen(a) for a in (lists.start, lists.length, ranking.items)]

    def work(first: int, last: int) -> None:
        kernel(
            first, last, *fixed, kernels.frozen(key), keyed, kernels.frozen(sequence),
            ranking.sequence is not None, kernels.frozen(truth_start), kernels.frozen(wanted),
            np.zeros(slots, np.int64), at, position, above, tied, before, repeated,
        )  # fmt: skip

    in_blocks(work, len(lists.start))
    found = np.flatnonzero(at >= 0)
    numbers = np.repeat(np.arange(len(truth.length)), truth.length)
    return Matches(numbers[found], *(a[found] for a in (at, position, above, tied, before))), repeated


def join(ranking: Ranking, truth: Grouped, wanted: Integers) -> Matches:
    """The matches by sorting, one for every occurrence of an item: the kernel's twin."""
    lists, where = ranking.lists.expand()
    items = ranking.items[where]
    numbers = np.repeat(np.arange(len(truth.length)), truth.length)
    _, codes = np.unique(np.concatenate((items, wanted)), return_inverse=True)
    span = len(codes) + 1
    pairs, sought = lists * span + codes[: len(items)], numbers * span + codes[len(items) :]
    by_pair = np.argsort(sought, kind="stable")
    low = np.searchsorted(sought[by_pair], pairs, side="left")
    times = np.searchsorted(sought[by_pair], pairs, side="right") - low
    found = np.repeat(np.arange(len(pairs)), times)
    ends = np.cumsum(times)
    rows = by_pair[np.arange(len(found)) + np.repeat(low - ends + times, times)]
    position = where - ranking.lists.start[lists]
    above, tied, before = _standings(ranking, lists, where, position)
    order = np.lexsort((rows, position[found], above[found], lists[found]))
    f = found[order]
    return Matches(lists[f], rows[order], position[f], above[f], tied[f], before[f])


def _standings(
    ranking: Ranking, lists: Integers, where: Integers, position: Integers
) -> tuple[Integers, Integers, Integers]:
    """For each place: how many items score higher, how many equal, and how many of those come before."""
    if ranking.key is None:
        return position, np.ones_like(position), np.zeros_like(position)
    key = ranking.key[where]
    sequence = position if ranking.sequence is None else ranking.sequence[where]
    order = np.lexsort((sequence, -key, lists))
    ordered_lists, ordered_key = lists[order], key[order]
    new = np.ones(len(order), bool)
    new[1:] = (ordered_lists[1:] != ordered_lists[:-1]) | (ordered_key[1:] != ordered_key[:-1])
    starts = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    list_starts = run_starts(ordered_lists)
    base = np.repeat(list_starts, np.diff(np.append(list_starts, len(order))))
    above, tied, before = (np.empty(len(order), np.int64) for _ in range(3))
    above[order] = starts[group] - base
    tied[order] = np.diff(np.append(starts, len(order)))[group]
    before[order] = np.arange(len(order)) - starts[group]
    return above, tied, before


def repeat_flags(lists: Integers, items: Integers, preference: NDArray[Any]) -> Flags:
    """Which rows hold an item that their list holds already in a row of lower preference number."""
    order = np.lexsort((preference, items, lists))
    same = np.zeros(len(order), bool)
    same[1:] = (lists[order][1:] == lists[order][:-1]) & (items[order][1:] == items[order][:-1])
    flags = np.empty(len(order), bool)
    flags[order] = same
    return flags
