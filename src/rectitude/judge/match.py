"""Find the truth's items in the lists, count what stands before each of them, and rank them.

"Rank the truth, not the catalogue": a list is never sorted. For each judged item that was found we
count the items with a higher score and with an equal one. Ranks follow from these integers and the
tie rule (`ranks`). The compiled passes stand at the end; `join` is their twin in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Grouped, Integers, Pieces, run_starts
from rectitude.data.ids import looked_up
from rectitude.kernels import HASH, frozen, kernel, repay
from rectitude.parallel import Once, in_blocks, together

SORT_FROM_HITS = 64
_MANY_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Ranking:
    """The lists as they will be matched: items by place, and what orders them.

    `key` sorts descending; without it the places are the order. `sequence` numbers the items by id,
    for tie rules that go by id.
    """

    lists: Grouped
    items: Pieces
    key: Pieces | None
    sequence: Pieces | None = None
    kept: Once = field(default_factory=Once, repr=False, compare=False)

    @property
    def numbered(self) -> Numbered:
        """The number of the item in each place, and a place of each item."""
        return self.kept("numbered", lambda: numbered(self.items.whole))

    def keep(self, lists: Integers, where: Integers) -> Ranking:
        """Only these places."""

        def kept(column: Pieces | None) -> Pieces | None:
            return None if column is None else Pieces(column.whole[where])

        items = Pieces(self.items.whole[where])
        return Ranking(self.lists.keep(lists, where), items, kept(self.key), kept(self.sequence))


class Stretch(NamedTuple):
    """Lists whose rows stand in one contiguous part of every column."""

    numbers: Integers
    start: Integers
    length: Integers
    columns: list[NDArray[Any]]


def stretches(lists: Grouped, columns: Sequence[Pieces]) -> list[Stretch]:
    """The lists by the part of the columns that holds them; lists that span parts are copied
    together."""
    if any(not np.array_equal(column.bounds, columns[0].bounds) for column in columns):
        columns = [Pieces(column.whole) for column in columns]
    bounds = columns[0].bounds
    first = np.searchsorted(bounds, lists.start, side="right") - 1
    last = np.searchsorted(bounds, lists.start + lists.length, side="left") - 1
    some = lists.length > 0
    inside = np.flatnonzero(some & (first == last))
    inside = inside[np.argsort(first[inside], kind="stable")]
    cuts = np.searchsorted(first[inside], np.arange(len(bounds)))
    found = []
    for part in range(len(bounds) - 1):
        mine = inside[cuts[part] : cuts[part + 1]]
        if len(mine):
            start = lists.start[mine] - bounds[part]
            found.append(Stretch(mine, start, lists.length[mine], [c.parts[part] for c in columns]))
    across = np.flatnonzero(some & (first != last))
    if len(across):
        across = across[np.argsort(lists.start[across])]
        spans = Grouped(lists.start[across], lists.length[across])
        copied = [column.take(spans.expand()[1]) for column in columns]
        found.append(Stretch(across, np.cumsum(spans.length) - spans.length, spans.length, copied))
    return found


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
    if repay(len(ranking.items)):
        return _match_compiled(ranking, truth, wanted)
    return join(ranking, truth, wanted), repeats(ranking.lists, ranking.items)


def repeats(lists: Grouped, items: Pieces) -> Integers:
    """How many items of each list occur in it before."""
    none = np.zeros(len(lists.start), np.int64)
    if len(items) < _MANY_ROWS and _ascend(lists, items.whole):
        return none
    if repay(len(items)):
        nothing = Grouped(np.zeros_like(lists.start), np.zeros_like(lists.length))
        return _match_compiled(Ranking(lists, items, None), nothing, np.empty(0, np.int64))[1]
    numbers, where = lists.expand()
    codes, span = _small_codes(items.whole[where])
    pairs = np.sort(numbers * span + codes)
    again = pairs[1:][pairs[1:] == pairs[:-1]] // span
    return np.bincount(again, minlength=len(none))


def _ascend(lists: Grouped, items: Integers) -> bool:
    """Whether the items of every list ascend, so that none occurs twice."""
    if not len(items):
        return True
    rises = np.append(items[1:] > items[:-1], True)
    rises[(lists.start + lists.length - 1)[lists.length > 0]] = True
    return bool(rises.all())


def _match_compiled(ranking: Ranking, truth: Grouped, wanted: Integers) -> tuple[Matches, Integers]:
    find = kernel(match_kernel)
    size = len(wanted)
    at, position, above, tied, before = np.zeros((5, size), np.int32 if size < 2**31 else np.int64)
    found, repeated = np.zeros((2, len(ranking.lists.start)), np.int64)
    equals = np.zeros(len(found), np.uint8)
    columns = {"items": ranking.items, "key": ranking.key, "sequence": ranking.sequence}
    given = {name: column for name, column in columns.items() if column is not None}
    fixed = (frozen(np.append(truth.start, size)), frozen(wanted))

    def work(stretch: Stretch, first: int, last: int) -> None:
        own = dict(zip(given, stretch.columns, strict=True))
        key, sequence = own.get("key", _NO_KEY), own.get("sequence", _NO_SEQUENCE)
        longest = int(stretch.length[first:last].max(initial=1))
        # Few collisions while the table fits the fastest cache; no more than needed beyond.
        room = 8 if longest <= 512 else 2
        table = np.zeros(1 << (room * longest - 1).bit_length(), np.uint64)
        find(
            first, last, *map(frozen, stretch[:3]), frozen(own["items"]),
            frozen(key), "key" in own, frozen(sequence), "sequence" in own,
            *fixed, table, at, position, above, tied, before, found, equals, repeated,
        )  # fmt: skip

    share(stretches(ranking.lists, list(given.values())), work)
    return _compact(truth, found, bool(equals.any()), at, position, above, tied, before), repeated


def _compact(truth: Grouped, found: Integers, ties: bool, *written: NDArray[Any]) -> Matches:
    """The rows that the kernel wrote, without the room it left."""
    move = kernel(compact_kernel)
    ends = np.cumsum(found)
    rows = np.zeros((6, int(ends[-1]) if len(ends) else 0), np.int64)
    rows[4].fill(1)
    kept = 5 if ties else 3
    in_blocks(
        lambda a, b: move(a, b, truth.start, found, ends - found, rows, kept, *written),
        len(found),
    )
    return Matches(*rows)


_NO_KEY, _NO_SEQUENCE = np.zeros(0, np.float32), np.zeros(0, np.int64)


def share(
    stretches: Sequence[Stretch], work: Callable[[Stretch, int, int], None], step: int = 4096
) -> None:
    """Call `work(stretch, first, last)` on blocks of lists of all stretches, on several threads."""
    blocks = [
        (s, a, min(a + step, len(s.numbers)))
        for s in stretches
        for a in range(0, len(s.numbers), step)
    ]
    together([partial(work, *block) for block in blocks])


def join(ranking: Ranking, truth: Grouped, wanted: Integers) -> Matches:
    """The matches by sorting, one for every occurrence of an item: the kernel's twin."""
    lists, where = ranking.lists.expand()
    numbers = np.repeat(np.arange(len(truth.length)), truth.length)
    codes, span = _small_codes(np.concatenate((ranking.items.whole[where], wanted)))
    pairs, sought = lists * span + codes[: len(where)], numbers * span + codes[len(where) :]
    by_pair = np.argsort(sought, kind="stable")
    ordered = sought[by_pair]
    low = np.searchsorted(ordered, pairs, side="left")
    hit = (
        np.flatnonzero(ordered[np.minimum(low, len(ordered) - 1)] == pairs) if len(ordered) else low
    )
    times = np.searchsorted(ordered, pairs[hit], side="right") - low[hit]
    found = np.repeat(hit, times)
    rows = by_pair[np.arange(len(found)) + np.repeat(low[hit] - np.cumsum(times) + times, times)]
    position = where - ranking.lists.start[lists]
    above, tied, before = _standings(ranking, lists, where, position)
    order = np.lexsort((rows, position[found], above[found], lists[found]))
    f = found[order]
    return Matches(lists[f], rows[order], position[f], above[f], tied[f], before[f])


def _small_codes(codes: Integers) -> tuple[Integers, int]:
    """Codes from 0 on that are equal where these are, and a number above them all."""
    if not len(codes):
        return codes, 1
    low, high = int(codes.min()), int(codes.max())
    if high - low > 2**31:
        _, codes = np.unique(codes, return_inverse=True)
        return codes.reshape(-1), len(codes)
    return codes - low, high - low + 1


def _standings(
    ranking: Ranking, lists: Integers, where: Integers, position: Integers
) -> tuple[Integers, Integers, Integers]:
    """For each place: how many items score higher, how many equal, and how many of those come
    before."""
    if ranking.key is None:
        return position, np.ones_like(position), np.zeros_like(position)
    key = ranking.key.whole[where]
    same = lists[1:] == lists[:-1]
    if ranking.sequence is None and not np.any(same & (key[1:] > key[:-1])):
        order = np.arange(len(where))
    else:
        sequence = position if ranking.sequence is None else ranking.sequence.whole[where]
        order = np.lexsort((sequence, -key, lists))
    ordered_key = key[order]
    new = np.ones(len(order), bool)
    new[1:] = ~same | (ordered_key[1:] != ordered_key[:-1])
    starts = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    list_starts = run_starts(lists)
    base = np.repeat(list_starts, np.diff(np.append(list_starts, len(order))))
    above, tied, before = np.empty((3, len(order)), np.int64)
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


def ranks(matches: Matches, grades: Floats, rule: str) -> Integers:
    """The rank of each match under a tie rule; `grades` are those of the matched truth rows.

    Under `pessimistic` and `optimistic` the items of a tie stand in the order of their grades,
    items that the truth does not judge lowest of all, and equal grades in the order of the truth;
    neither depends on ids or on the order of the predictions. Under `average` every item of a tie
    has the first of its ranks. Under the other rules the items that come before were counted when
    matching.
    """
    if rule in ("given", "item_ascending", "item_descending"):
        return matches.above + matches.before + 1
    rank = matches.above + 1
    tied = np.flatnonzero(matches.tied > 1)
    if len(tied) and rule != "average":
        rank[tied] = _by_grade(matches, grades, tied, best_first=rule == "optimistic")
    return rank


def _by_grade(matches: Matches, grades: Floats, rows: Integers, best_first: bool) -> Integers:
    """Ranks inside ties. A truth row repeated for one position shares its rank."""
    spot = np.stack((matches.list[rows], matches.above[rows], matches.position[rows]), axis=1)
    spots, inverse = np.unique(spot, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    best, place = np.full(len(spots), -np.inf), np.full(len(spots), np.iinfo(np.int64).max)
    np.maximum.at(best, inverse, grades[rows])
    np.minimum.at(place, inverse, matches.truth[rows])
    order = np.lexsort((place, -best if best_first else best, spots[:, 1], spots[:, 0]))
    ordered = spots[order]
    new = np.ones(len(order), bool)
    new[1:] = np.any(ordered[1:, :2] != ordered[:-1, :2], axis=1)
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, len(order)))
    nth = np.arange(len(order)) - np.repeat(starts, sizes)
    tied = np.empty(len(spots), np.int64)
    tied[inverse] = matches.tied[rows]
    ahead = 0 if best_first else tied[order] - np.repeat(sizes, sizes)
    rank = np.empty(len(spots), np.int64)
    rank[order] = ordered[:, 1] + ahead + nth + 1
    return rank[inverse]


def undecided(matches: Matches, grades: Floats, relevant: Flags) -> Integers:
    """The lists in which the order among equals changes the rank of a relevant or graded item."""
    if not np.any(matches.tied > 1):
        return np.empty(0, np.int64)
    worst = ranks(matches, grades, "pessimistic")
    best = ranks(matches, grades, "optimistic")
    moved: Integers = matches.list[(worst != best) & (relevant | (grades > 0))]
    return moved[run_starts(moved)]


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


def match_kernel(  # type: ignore[no-untyped-def]
    first,
    last,
    numbers,
    start,
    length,
    items,
    key,
    keyed,
    sequence,
    by_sequence,
    truth_start,
    truth_items,
    table,
    at,
    position,
    above,
    tied,
    before,
    found,
    equals,
    repeated,
):
    """Find the truth's items in some lists, and count what stands before each.

    A small hash table holds the list's items: an entry is the list's number and the place in it, so
    that entries of earlier lists, being smaller, read as empty and the table is never cleared. The
    rows found in a list, as many as `found` says, are written in the order in which they are
    ranked, from `truth_start` on. `equals` marks lists with ties, the only ones whose `tied` and
    `before` are written; `repeated` counts items that occur twice.
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
        if end - begin > SORT_FROM_HITS:
            order = begin + np.argsort(above[begin:end] * (size + 1) + position[begin:end])
            at[begin:end] = at[order]
            position[begin:end] = position[order]
            above[begin:end] = above[order]
            if equals[i]:
                tied[begin:end] = tied[order]
                before[begin:end] = before[order]
            continue
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


def compact_kernel(  # type: ignore[no-untyped-def]
    first, last, start, found, into, rows, kept, at, position, above, tied, before
):
    """Move the rows that `match_kernel` wrote next to each other, with the number of their list."""
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
