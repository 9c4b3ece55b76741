"""Find the truth's items in the lists, and rank them by counting the items that come before them.

We rank the truth, not the catalogue: a list is never sorted. For each judged item in a list we
count the items with a higher score and those with an equal score. These counts and the tie rule
determine the rank (see `ranks`). The compiled code is at the end; `join` is its twin in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Grouped, Integers, Pieces, run_starts
from rectitude.data.ids import look_up
from rectitude.kernels import HASH, freeze, kernel, should_compile
from rectitude.parallel import Once, in_blocks, run_tasks

SORT_FROM_HITS = 64
_MANY_ROWS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The lists to match: their items by position, and the columns that order them.

    `key` sorts descending; without it, the positions are the order. `sequence` numbers the items by
    id, for tie rules that sort by id.
    """

    lists: Grouped
    items: Pieces
    key: Pieces | None
    sequence: Pieces | None = None
    kept: Once = field(default_factory=Once, repr=False, compare=False)

    @property
    def numbered(self) -> Numbered:
        """The number of the item at each position, and one position of each item."""
        return self.kept("numbered", lambda: number_codes(self.items.whole))

    def keep(self, lists: Integers, positions: Integers) -> Ranking:
        """Keep only these positions."""

        def keep_column(column: Pieces | None) -> Pieces | None:
            return None if column is None else Pieces(column.whole[positions])

        items = Pieces(self.items.whole[positions])
        return Ranking(
            self.lists.keep(lists, positions),
            items,
            keep_column(self.key),
            keep_column(self.sequence),
        )


class Stretch(NamedTuple):
    """Lists whose rows are in the same contiguous chunk of every column."""

    numbers: Integers
    start: Integers
    length: Integers
    columns: list[NDArray[Any]]


def stretches(lists: Grouped, columns: Sequence[Pieces]) -> list[Stretch]:
    """Group the lists by the chunk that contains them; lists that span chunks are copied."""
    if any(not np.array_equal(column.bounds, columns[0].bounds) for column in columns):
        columns = [Pieces(column.whole) for column in columns]
    bounds = columns[0].bounds
    first = np.searchsorted(bounds, lists.start, side="right") - 1
    last = np.searchsorted(bounds, lists.start + lists.length, side="left") - 1
    has_rows = lists.length > 0
    inside = np.flatnonzero(has_rows & (first == last))
    inside = inside[np.argsort(first[inside], kind="stable")]
    cuts = np.searchsorted(first[inside], np.arange(len(bounds)))
    result = []
    for chunk in range(len(bounds) - 1):
        members = inside[cuts[chunk] : cuts[chunk + 1]]
        if len(members):
            start = lists.start[members] - bounds[chunk]
            chunks = [column.parts[chunk] for column in columns]
            result.append(Stretch(members, start, lists.length[members], chunks))
    across = np.flatnonzero(has_rows & (first != last))
    if len(across):
        across = across[np.argsort(lists.start[across])]
        spans = Grouped(lists.start[across], lists.length[across])
        copied = [column.take(spans.expand()[1]) for column in columns]
        result.append(Stretch(across, np.cumsum(spans.length) - spans.length, spans.length, copied))
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """One row per judged item in a list, sorted by list, best score first."""

    list: Integers
    truth: Integers
    position: Integers
    above: Integers
    tied: Integers
    before: Integers


def match(ranking: Ranking, truth: Grouped, wanted: Integers) -> tuple[Matches, Integers]:
    """Return the matches, and the number of repeated items per list. `truth` must be packed."""
    if should_compile(len(ranking.items)):
        return _match_compiled(ranking, truth, wanted)
    return join(ranking, truth, wanted), repeats(ranking.lists, ranking.items)


def repeats(lists: Grouped, items: Pieces) -> Integers:
    """Count the repeated items of each list."""
    zeros = np.zeros(len(lists.start), np.int64)
    if len(items) < _MANY_ROWS and _all_ascend(lists, items.whole):
        return zeros
    if should_compile(len(items)):
        no_truth = Grouped(np.zeros_like(lists.start), np.zeros_like(lists.length))
        return _match_compiled(Ranking(lists, items, None), no_truth, np.empty(0, np.int64))[1]
    numbers, positions = lists.expand()
    codes, span = _shrink_codes(items.whole[positions])
    pairs = np.sort(numbers * span + codes)
    repeated = pairs[1:][pairs[1:] == pairs[:-1]] // span
    return np.bincount(repeated, minlength=len(zeros))


def _all_ascend(lists: Grouped, items: Integers) -> bool:
    """Whether the items of every list ascend, so that no item is repeated."""
    if not len(items):
        return True
    rises = np.append(items[1:] > items[:-1], True)
    rises[(lists.start + lists.length - 1)[lists.length > 0]] = True
    return bool(rises.all())


def _match_compiled(ranking: Ranking, truth: Grouped, wanted: Integers) -> tuple[Matches, Integers]:
    find = kernel(match_kernel)
    size = len(wanted)
    truth_rows, position, above, tied, before = np.zeros(
        (5, size), np.int32 if size < 2**31 else np.int64
    )
    match_counts, repeated = np.zeros((2, len(ranking.lists.start)), np.int64)
    has_ties = np.zeros(len(match_counts), np.uint8)
    columns = {"items": ranking.items, "key": ranking.key, "sequence": ranking.sequence}
    present = {name: column for name, column in columns.items() if column is not None}
    truth_arrays = (freeze(np.append(truth.start, size)), freeze(wanted))

    def work(stretch: Stretch, first: int, last: int) -> None:
        chunk = dict(zip(present, stretch.columns, strict=True))
        key, sequence = chunk.get("key", _NO_KEY), chunk.get("sequence", _NO_SEQUENCE)
        longest = int(stretch.length[first:last].max(initial=1))
        # While the table fits into the fastest cache, make it large to avoid collisions.
        slots_per_item = 8 if longest <= 512 else 2
        table = np.zeros(1 << (slots_per_item * longest - 1).bit_length(), np.uint64)
        find(
            first, last, *map(freeze, stretch[:3]), freeze(chunk["items"]),
            freeze(key), "key" in chunk, freeze(sequence), "sequence" in chunk,
            *truth_arrays, table, truth_rows, position, above, tied, before,
            match_counts, has_ties, repeated,
        )  # fmt: skip

    share(stretches(ranking.lists, list(present.values())), work)
    return _compact(
        truth, match_counts, bool(has_ties.any()), truth_rows, position, above, tied, before
    ), repeated


def _compact(truth: Grouped, match_counts: Integers, ties: bool, *written: NDArray[Any]) -> Matches:
    """Move the rows that the kernel wrote together, without the gaps between them."""
    move = kernel(compact_kernel)
    ends = np.cumsum(match_counts)
    rows = np.zeros((6, int(ends[-1]) if len(ends) else 0), np.int64)
    rows[4].fill(1)
    columns = 5 if ties else 3
    in_blocks(
        lambda a, b: move(
            a, b, truth.start, match_counts, ends - match_counts, rows, columns, *written
        ),
        len(match_counts),
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
    run_tasks([partial(work, *block) for block in blocks])


def join(ranking: Ranking, truth: Grouped, wanted: Integers) -> Matches:
    """Find the matches by sorting, one per occurrence of an item; the twin of the kernel."""
    lists, positions = ranking.lists.expand()
    numbers = np.repeat(np.arange(len(truth.length)), truth.length)
    codes, span = _shrink_codes(np.concatenate((ranking.items.whole[positions], wanted)))
    pairs, sought = lists * span + codes[: len(positions)], numbers * span + codes[len(positions) :]
    by_pair = np.argsort(sought, kind="stable")
    ordered = sought[by_pair]
    low = np.searchsorted(ordered, pairs, side="left")
    matched = (
        np.flatnonzero(ordered[np.minimum(low, len(ordered) - 1)] == pairs) if len(ordered) else low
    )
    times = np.searchsorted(ordered, pairs[matched], side="right") - low[matched]
    occurrence = np.repeat(matched, times)
    rows = by_pair[
        np.arange(len(occurrence)) + np.repeat(low[matched] - np.cumsum(times) + times, times)
    ]
    position = positions - ranking.lists.start[lists]
    above, tied, before = _count_standings(ranking, lists, positions, position)
    order = np.lexsort((rows, position[occurrence], above[occurrence], lists[occurrence]))
    chosen = occurrence[order]
    return Matches(
        lists[chosen], rows[order], position[chosen], above[chosen], tied[chosen], before[chosen]
    )


def _shrink_codes(codes: Integers) -> tuple[Integers, int]:
    """Renumber codes starting at 0; also return a number above all of them."""
    if not len(codes):
        return codes, 1
    low, high = int(codes.min()), int(codes.max())
    if high - low > 2**31:
        _, codes = np.unique(codes, return_inverse=True)
        return codes.reshape(-1), len(codes)
    return codes - low, high - low + 1


def _count_standings(
    ranking: Ranking, lists: Integers, rows: Integers, position_in_list: Integers
) -> tuple[Integers, Integers, Integers]:
    """Count, for each row, the items with a higher score, the items with the same score, and
    those of the latter that come before."""
    if ranking.key is None:
        return position_in_list, np.ones_like(position_in_list), np.zeros_like(position_in_list)
    key = ranking.key.whole[rows]
    same = lists[1:] == lists[:-1]
    if ranking.sequence is None and not np.any(same & (key[1:] > key[:-1])):
        order = np.arange(len(rows))
    else:
        sequence = position_in_list if ranking.sequence is None else ranking.sequence.whole[rows]
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


def repeat_flags(lists: Integers, items: Integers, priority: NDArray[Any]) -> Flags:
    """Flag rows that repeat an item of their list, except the row with the lowest `priority`: lower
    values come first."""
    order = np.lexsort((priority, items, lists))
    same = np.zeros(len(order), bool)
    same[1:] = (lists[order][1:] == lists[order][:-1]) & (items[order][1:] == items[order][:-1])
    flags = np.empty(len(order), bool)
    flags[order] = same
    return flags


def flag_repeated_hits(
    matches: Matches, rank: Integers, grades: Floats, of_truth: bool, of_lists: bool
) -> Flags:
    """Flag matches that would count one hit again: other truth rows of the same position, except
    the one with the highest grade, and other positions of the same truth row, except the first."""
    repeated = np.zeros(len(rank), bool)
    if of_truth and np.any((np.diff(matches.list) == 0) & (np.diff(matches.above) == 0)):
        repeated = repeat_flags(matches.list, matches.position, -grades)
    if of_lists:
        rows = np.flatnonzero(~repeated)
        repeated[rows] = repeat_flags(matches.list[rows], matches.truth[rows], rank[rows])
    return repeated


SortKeys = Callable[[Integers], Integers]
"""Returns numbers that sort like the item ids of some matches, given by their indexes."""


def ranks(matches: Matches, grades: Floats, rule: str, ids: SortKeys) -> Integers:
    """Return the rank of each match under a tie rule; `grades` are those of the matched truth rows.

    Under `pessimistic` and `optimistic`, tied items are sorted by grade, and by id if their grades
    are equal, too. Unjudged items have the lowest grade. Under `average`, every tied item gets the
    first rank of the tie. None of this depends on the order of rows or columns. For the other
    rules, the tied items that come before were counted during matching.
    """
    if rule in ("given", "item_ascending", "item_descending"):
        return matches.above + matches.before + 1
    rank = matches.above + 1
    tied = np.flatnonzero(matches.tied > 1)
    if len(tied) and rule != "average":
        rank[tied] = _rank_by_grade(matches, grades, tied, ids(tied), rule == "optimistic")
    return rank


def _rank_by_grade(
    matches: Matches, grades: Floats, rows: Integers, ids: Integers, best_first: bool
) -> Integers:
    """Rank tied items by grade, then id. Repeated truth rows of one position share its rank."""
    spot = np.stack((matches.list[rows], matches.above[rows], matches.position[rows]), axis=1)
    spots, inverse = np.unique(spot, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    best, item = np.full(len(spots), -np.inf), np.empty(len(spots), np.int64)
    np.maximum.at(best, inverse, grades[rows])
    item[inverse] = ids
    order = np.lexsort((item, -best if best_first else best, spots[:, 1], spots[:, 0]))
    ordered = spots[order]
    new = np.ones(len(order), bool)
    new[1:] = np.any(ordered[1:, :2] != ordered[:-1, :2], axis=1)
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, len(order)))
    index = np.arange(len(order)) - np.repeat(starts, sizes)
    tied = np.empty(len(spots), np.int64)
    tied[inverse] = matches.tied[rows]
    unjudged_ahead = 0 if best_first else tied[order] - np.repeat(sizes, sizes)
    rank = np.empty(len(spots), np.int64)
    rank[order] = ordered[:, 1] + unjudged_ahead + index + 1
    return rank[inverse]


def find_undecided(matches: Matches, grades: Floats, relevant: Flags, ids: SortKeys) -> Integers:
    """Return the lists in which the order of tied items changes the rank of a relevant or graded
    item."""
    if not np.any(matches.tied > 1):
        return np.empty(0, np.int64)
    worst = ranks(matches, grades, "pessimistic", ids)
    best = ranks(matches, grades, "optimistic", ids)
    moved: Integers = matches.list[(worst != best) & (relevant | (grades > 0))]
    return moved[run_starts(moved)]


_BLOCK = 1 << 18
_EXTRA_ENTRIES = 1024
"""A lookup table of all codes may always have this many entries, however few rows there are."""


class Numbered(NamedTuple):
    """Codes renumbered starting at 0, in the order of the codes."""

    number: Integers
    """(rows,) the number of the code"""
    row: Integers
    """(distinct codes,) a row with the code"""


def number_codes(codes: NDArray[Any]) -> Numbered:
    """Number the codes; this needs no sorting if they span a small range."""
    if not len(codes):
        return Numbered(np.zeros(0, np.int64), np.zeros(0, np.int64))
    low, high = int(codes.min()), int(codes.max())
    if high - low > 4 * len(codes) + _EXTRA_ENTRIES:
        _, row, number = np.unique(codes, return_index=True, return_inverse=True)
        return Numbered(number.reshape(-1), row)
    shifted = codes if low == 0 else codes - codes.dtype.type(low)
    row = np.full(high - low + 1, -1)
    for first in range(0, len(codes), _BLOCK):
        block = shifted[first : first + _BLOCK]
        row[block] = np.arange(first, first + len(block))
        if row.min() >= 0:  # every code has a row
            break
    occurs = row >= 0
    # large arrays are read repeatedly, and half the size makes that faster
    dtype = np.int32 if should_compile(len(codes)) else np.int64
    return Numbered(look_up((np.cumsum(occurs) - 1).astype(dtype), shifted), row[occurs])


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
    truth_rows,
    position,
    above,
    tied,
    before,
    match_counts,
    has_ties,
    repeated,
):
    """Find the truth's items in some lists, and count the items before each of them.

    A small hash table contains the items of one list. An entry is made of the number of the list
    and a position in it. Entries of earlier lists are smaller and count as empty, so the table is
    never cleared. The matches of a list are written in the order of their ranks, from `truth_start`
    on; `match_counts` is their number. `has_ties` marks lists with ties; `tied` and `before` are
    written for these lists only. `repeated` counts repeated items.
    """
    mask = np.uint64(table.shape[0] - 1)
    low_half = np.uint64(0xFFFFFFFF)
    for n in range(first, last):
        i = numbers[n]
        low = start[n]
        size = length[n]
        list_items = items[low : low + size]
        stamp = np.uint64(n - first + 1) << np.uint64(32)
        repeat_count = 0
        for j in range(size):
            slot = ((np.uint64(list_items[j]) * HASH) >> np.uint64(32)) & mask
            entry = table[slot]
            while entry >= stamp:
                if list_items[np.int64(entry & low_half)] == list_items[j]:
                    repeat_count += 1
                    break
                slot = (slot + np.uint64(1)) & mask
                entry = table[slot]
            else:
                table[slot] = stamp | np.uint64(j)
        repeated[i] = repeat_count
        begin = truth_start[i]
        end = begin
        for t in range(begin, truth_start[i + 1]):
            wanted = truth_items[t]
            slot = ((np.uint64(wanted) * HASH) >> np.uint64(32)) & mask
            entry = table[slot]
            while entry >= stamp:
                offset = np.int64(entry & low_half)
                if list_items[offset] == wanted:
                    truth_rows[end] = t
                    position[end] = offset
                    end += 1
                    break
                slot = (slot + np.uint64(1)) & mask
                entry = table[slot]
        match_counts[i] = end - begin
        if end == begin:
            continue
        if not keyed:
            for m in range(begin, end):
                above[m] = position[m]
        else:
            scores = key[low : low + size]
            sort_scores = end - begin > SORT_FROM_HITS
            sorted_scores = np.sort(scores) if sort_scores else scores
            for m in range(begin, end):
                score = scores[position[m]]
                if sort_scores:
                    more = size - np.searchsorted(sorted_scores, score, side="right")
                    equal = size - more - np.searchsorted(sorted_scores, score, side="left")
                else:
                    more = 0
                    equal = 0
                    for j in range(size):
                        more += scores[j] > score
                        equal += scores[j] == score
                above[m] = more
                if equal > 1:
                    tied[m] = equal
                    has_ties[i] = 1
                    ties_before = 0
                    if by_sequence:
                        ids = sequence[low : low + size]
                        for j in range(size):
                            ties_before += scores[j] == score and ids[j] < ids[position[m]]
                    else:
                        for j in range(position[m]):
                            ties_before += scores[j] == score
                    before[m] = ties_before
        if end - begin > SORT_FROM_HITS:
            order = begin + np.argsort(above[begin:end] * (size + 1) + position[begin:end])
            truth_rows[begin:end] = truth_rows[order]
            position[begin:end] = position[order]
            above[begin:end] = above[order]
            if has_ties[i]:
                tied[begin:end] = tied[order]
                before[begin:end] = before[order]
            continue
        for m in range(begin + 1, end):
            p = m
            while p > begin and (
                above[p - 1] > above[p]
                or (above[p - 1] == above[p] and position[p - 1] > position[p])
            ):
                truth_rows[p - 1], truth_rows[p] = truth_rows[p], truth_rows[p - 1]
                position[p - 1], position[p] = position[p], position[p - 1]
                above[p - 1], above[p] = above[p], above[p - 1]
                if has_ties[i]:
                    tied[p - 1], tied[p] = tied[p], tied[p - 1]
                    before[p - 1], before[p] = before[p], before[p - 1]
                p -= 1


def compact_kernel(  # type: ignore[no-untyped-def]
    first, last, start, match_counts, into, rows, kept, truth_rows, position, above, tied, before
):
    """Move the rows that `match_kernel` wrote together, and add the number of their list."""
    for i in range(first, last):
        for n in range(match_counts[i]):
            source = start[i] + n
            target = into[i] + n
            rows[0, target] = i
            rows[1, target] = truth_rows[source]
            rows[2, target] = position[source]
            rows[3, target] = above[source]
            if kept == 5:
                rows[4, target] = max(tied[source], 1)
                rows[5, target] = before[source]
