"""The items in the first places of each list, for metrics that look at the items themselves.

Judged items stand at the ranks that judging gave them, whatever the tie rule; the places between
are filled with the other items, best score first.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Integers
from rectitude.convention import Convention
from rectitude.data.dense import Cells, Dense
from rectitude.dense.rows import best
from rectitude.judge.match import Matches, Ranking
from rectitude.judge.scan import Reading, reading
from rectitude.judge.sides import Sides
from rectitude.predictions.top import by_row, wanted, with_padding


def shown_in_scores(
    sides: Sides, dense: Dense, matches: Matches, rank: Integers, convention: Convention, k: int
) -> Integers:
    """(lists, k) the column in each place of dense lists, -1 in empty ones."""
    found = reading(sides, dense, convention)
    seen = None if convention.seen == "kept" else sides.sources.seen
    judged = by_row(dense, *_cells(found))
    others = _best_others(dense, _union(dense, with_padding(dense, seen), judged), convention, k)
    if convention.seen == "last" and sides.sources.seen is not None:
        rest = _without(dense, sides.sources.seen, judged)
        others = _filled(others, rest, falling=convention.ties == "item_descending")
    row = np.maximum(found.row, 0)
    others = np.where((found.row >= 0)[:, None], others[row], -1)
    return _inserted(others, matches.list, rank, matches.position)


def _cells(found: Reading) -> tuple[Integers, Integers]:
    known = found.column >= 0
    return found.row[found.list[known]], found.column[known]


def _best_others(dense: Dense, masked: Cells, convention: Convention, k: int) -> Integers:
    """(rows, k) the best columns that are not masked, in the order that the tie rule gives."""
    falling = convention.ties == "item_descending"
    columns = np.full((dense.rows, k), -1)
    first = 0
    for block in dense.blocks():
        last = first + len(block)
        mine = wanted(masked, first, last)
        if falling and mine is not None:
            turned = Cells(mine.start, dense.columns - 1 - mine.column)
            flipped = _turned(turned, len(block))
            top = best(np.ascontiguousarray(block[:, ::-1]), wanted(flipped, 0, len(block)), k)
            columns[first:last] = np.where(top >= 0, dense.columns - 1 - top, -1)
        else:
            columns[first:last] = best(block, mine, k)
        first = last
    return columns


def _turned(cells: Cells, rows: int) -> Cells:
    """The cells with their columns ascending again."""
    owner = np.repeat(np.arange(rows), np.diff(cells.start))
    order = np.lexsort((cells.column, owner))
    return Cells(cells.start, cells.column[order])


def _union(dense: Dense, one: Cells | None, other: Cells) -> Cells:
    if one is None:
        return other
    both = [(np.repeat(np.arange(dense.rows), np.diff(c.start)), c.column) for c in (one, other)]
    rows, columns = (np.concatenate(parts) for parts in zip(*both, strict=True))
    return by_row(dense, rows, columns)


def _without(dense: Dense, cells: Cells, judged: Cells) -> Cells:
    """The cells that are neither judged nor padding."""
    owner = np.repeat(np.arange(dense.rows), np.diff(cells.start))
    keys = owner * dense.columns + cells.column
    theirs = np.repeat(np.arange(dense.rows), np.diff(judged.start)) * dense.columns + judged.column
    keep = ~np.isin(keys, theirs) & (
        cells.column != (-1 if dense.padding is None else dense.padding)
    )
    return by_row(dense, owner[keep], cells.column[keep].astype(np.int64))


def _filled(columns: Integers, cells: Cells, falling: bool) -> Integers:
    """Empty places at the end, filled with the cells of the row."""
    k = columns.shape[1]
    free = (columns >= 0).sum(axis=1)
    owner = np.repeat(np.arange(len(columns)), np.diff(cells.start))
    place = np.arange(len(owner)) - cells.start[owner]
    if falling:
        place = np.diff(cells.start)[owner] - 1 - place
    place += free[owner]
    inside = place < k
    filled = columns.copy()
    filled[owner[inside], place[inside]] = cells.column[inside]
    return filled


def shown_in_lists(ranking: Ranking, matches: Matches, rank: Integers, k: int) -> Integers:
    """(lists, k) the number of the item in each place of given lists, -1 in empty ones."""
    owner, where = ranking.lists.expand()
    matched = ranking.lists.start[matches.list] + matches.position
    _, number = np.unique(ranking.items.whole[where], return_inverse=True)
    unjudged = np.ones(len(ranking.items), bool)
    unjudged[matched] = False
    keep = np.flatnonzero(unjudged[where])
    key = np.zeros(len(where)) if ranking.key is None else -ranking.key.whole[where]
    after = np.arange(len(where)) if ranking.sequence is None else ranking.sequence.whole[where]
    order = keep[np.lexsort((after[keep], key[keep], owner[keep]))]
    place = np.arange(len(order)) - np.searchsorted(owner[order], owner[order])
    others = np.full((len(ranking.lists.start), k), -1)
    inside = place < k
    others[owner[order][inside], place[inside]] = number.reshape(-1)[order][inside]
    numbers = np.full(len(ranking.items), -1)
    numbers[where] = number.reshape(-1)
    return _inserted(others, matches.list, rank, numbers[matched])


def _inserted(others: Integers, lists: Integers, rank: Integers, items: Integers) -> Integers:
    """The other items in order, with the judged ones put where they are ranked."""
    size, k = others.shape
    inside = rank <= k
    where = (lists[inside], rank[inside] - 1)
    taken = np.zeros((size, k), bool)
    taken[where] = True
    at = np.maximum(np.cumsum(~taken, axis=1) - 1, 0)
    shown = np.where(taken, -1, np.take_along_axis(others, at, axis=1))
    shown[where] = items[inside]
    return shown
