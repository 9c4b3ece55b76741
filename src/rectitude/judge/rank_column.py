"""The rank column of lists: whether it has gaps or repeats, and the ranks as they are given.

Usually the column only orders a list. If its ranks are kept, a gap is an empty rank, and items that
share a rank are ordered by id.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, Ragged, run_starts
from rectitude.convention import Convention
from rectitude.data.ledger import Ledger
from rectitude.errors import BadTable
from rectitude.judge.align import Aligned
from rectitude.judge.match import Matches, Ranking


class KeptRanks(NamedTuple):
    """The ranks of the column, of matches and of whole lists."""

    rank: Integers
    """(matches,) the rank in the column"""
    slot: Integers
    """(matches,) the position of the item from 1, with every empty rank as a position"""
    listed: Ragged
    """(lists,) the ranks of all items, ascending"""
    slots: Integers
    """(lists,) the number of items and of empty ranks above the last item"""


def account_for_ranks(
    sides: Aligned, ranking: Ranking, convention: Convention, ledger: Ledger
) -> None:
    """Count the lists whose ranks do not follow each other."""
    uneven = np.flatnonzero(_flag_uneven(ranking))
    first = sides.first_label(uneven)
    fate = {
        "renumbered": "only the order counts; ranks='kept' keeps the ranks",
        "kept": "kept as they are",
    }[convention.ranks]
    about = f"lists have a rank column with gaps or repeats: {fate}"
    handed = int(sides.handed.sum())
    ledger.count("ranks_uneven", len(uneven), about, handed, first, "notice")


def _flag_uneven(ranking: Ranking) -> Flags:
    """Flag the lists in which a rank is not 1 above the one before."""
    lists, rank = ranking.lists, _ranks_of(ranking)
    flags = np.zeros(len(lists.start), bool)
    owner, positions = lists.expand()
    flags[_find_jumps(owner, rank[positions])] = True
    if flags.any():  # perhaps they are only in another order
        inside = flags[owner]
        owner, ranks = owner[inside], rank[positions[inside]]
        flags[:] = False
        flags[_find_jumps(owner, ranks[np.lexsort((ranks, owner))])] = True
    return flags


def _find_jumps(owner: Integers, ranks: Floats) -> Integers:
    """Return the lists of ranks that are not 1 above the rank before."""
    lists: Integers = owner[1:][(np.diff(ranks) != 1) & (owner[1:] == owner[:-1])]
    return lists


def _ranks_of(ranking: Ranking) -> Floats:
    """Return the rank at each position; the key of a ranking by rank is its negative."""
    if ranking.key is None:
        raise ValueError("lists without a key have no rank column")
    return -ranking.key.whole


def keep_ranks(sides: Aligned, ranking: Ranking, matches: Matches) -> KeptRanks:
    """Return the ranks of the column; raise an error if they are not whole numbers from 1."""
    rank = _ranks_of(ranking)
    owner, positions = ranking.lists.expand()
    _require_whole(sides, ranking, rank, positions)
    in_order = rank[positions].astype(np.int64)
    in_order = in_order[np.lexsort((in_order, owner))]
    offsets = np.append(0, np.cumsum(ranking.lists.length))
    slot = _number_slots(owner, in_order, offsets)
    sizes = np.zeros(len(ranking.lists.start), np.int64)
    has_items = ranking.lists.length > 0
    sizes[has_items] = slot[offsets[1:][has_items] - 1]
    matched = ranking.lists.start[matches.list] + matches.position
    place = offsets[matches.list] + matches.above + matches.before
    return KeptRanks(rank[matched].astype(np.int64), slot[place], Ragged(offsets, in_order), sizes)


def _number_slots(owner: Integers, ranks: Integers, offsets: Integers) -> Integers:
    """Return the number of each item in its list, with empty ranks counted; `ranks` ascend."""
    new = np.zeros(len(ranks), bool)
    new[run_starts(owner)] = True
    new[1:] |= ranks[1:] != ranks[:-1]
    different = np.cumsum(new)
    before = np.append(0, different)[offsets[:-1]][owner]
    slot: Integers = np.arange(len(ranks)) - offsets[owner] + 1 + ranks - (different - before)
    return slot


def _require_whole(sides: Aligned, ranking: Ranking, rank: Floats, positions: Integers) -> None:
    wrong = np.flatnonzero((rank[positions] < 1) | (rank[positions] != np.floor(rank[positions])))
    if len(wrong):
        row = int(ranking.lists.rows(positions[wrong[:1]])[0])
        raise BadTable(
            f"{len(wrong)} of {len(positions)} rows of {sides.sources.predictions.source} have a "
            f"rank that is not a whole number from 1 on (first: row {row + 1}, rank "
            f"{rank[positions[wrong[0]]]:g}).",
            "ranks 1, 2, 3, ..., because ranks='kept'.",
            "add 1 if the ranks count from 0; set ranks='renumbered' if only their order matters.",
        )


def count_shown(listed: Ragged, k: int) -> int:
    """Return the number of items that must be shown so that none up to rank k is missing."""
    inside = np.bincount(listed.rows()[listed.values <= k], minlength=1)
    return max(int(inside.max()), k)


def lay_out_ranks(listed: Ragged, width: int) -> Integers:
    """Return the ranks of the first items of each list, shape (lists, width); 0 at the end."""
    table = np.zeros((len(listed.lengths), width), np.int64)
    rows = listed.rows()
    place = np.arange(len(rows)) - listed.offsets[rows]
    inside = place < width
    table[rows[inside], place[inside]] = listed.values[inside]
    return table
