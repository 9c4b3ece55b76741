"""The compiled twins of `match.py`; see `rectitude.compiled`."""

from __future__ import annotations

import numpy as np

from rectitude.compiled import HASH

SORT_FROM_HITS = 64


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
