"""The items in the first places of each list, for metrics that look at the items themselves.

Judged items stand at the ranks that judging gave them, whatever the tie rule; the places between
are filled with the other items, best score first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats, Grouped, Integers, Ragged
from rectitude.convention import Convention
from rectitude.data.dense import Dense
from rectitude.judge.align import Aligned
from rectitude.judge.dense import compared, reading
from rectitude.judge.match import Matches, Ranking
from rectitude.parallel import in_blocks
from rectitude.predictions.masks import keys_of, with_keys, with_padding, without_padding
from rectitude.rowkernels.rows import best

_BLOCK = 1 << 18


def shown_in_scores(
    sides: Aligned, dense: Dense, matches: Matches, rank: Integers, convention: Convention, k: int
) -> Integers:
    """(lists, k) the column in each place of dense lists, -1 in empty ones."""
    found = reading(sides, dense, convention)
    if sides.sources.recorded is not None:
        return _recorded(sides.sources.recorded[:, :k], found.row, k)
    seen = None if convention.seen == "kept" else sides.sources.seen
    judged = found.row[matches.list] * dense.columns + matches.position
    order = _order(sides, convention)
    masked = with_padding(dense, seen)
    keys = judged if masked is None else np.concatenate((keys_of(dense, masked), judged))
    others = _best_others(dense, with_keys(dense, keys), order, convention, k)
    if convention.seen == "last" and seen is not None:
        left = np.setdiff1d(without_padding(dense, keys_of(dense, seen)), judged)
        rest = _turned(with_keys(dense, left), np.argsort(order))
        others = _filled(others, Ragged(rest.offsets, order[rest.values]))
    row = np.maximum(found.row, 0)
    others = np.where((found.row >= 0)[:, None], others[row], -1)
    return _inserted(others, matches.list, rank, matches.position)


def _recorded(order: Integers, row: Integers, k: int) -> Integers:
    """(lists, k) the columns in the first places of a recorded order."""
    shown = np.full((len(row), k), -1)
    shown[:, : order.shape[1]] = np.where((row >= 0)[:, None], order[row], -1)
    return shown


def _order(sides: Aligned, convention: Convention) -> Integers:
    """(columns,) the columns in the order in which the tie rule puts equal scores."""
    codes = sides.items.codes["predictions"].whole
    if not convention.ties.startswith("item"):
        return np.arange(len(codes))
    order = np.argsort(codes)
    return order if convention.ties == "item_ascending" else order[::-1]


def _best_others(
    dense: Dense, masked: Ragged, order: Integers, convention: Convention, k: int
) -> Integers:
    """(rows, k) the best columns that are not masked, in the order that the tie rule gives."""
    as_they_are = bool(np.all(order[1:] > order[:-1]))
    turned = masked if as_they_are else _turned(masked, np.argsort(order))
    columns = np.full((dense.rows, k), -1)
    for first, last, given in dense.spans():
        block = compared(given, convention.score_precision)
        block = block if as_they_are else np.ascontiguousarray(block[:, order])
        top = best(block, turned.block(first, last), k)
        columns[first:last] = np.where(top >= 0, order[top], -1)
    return columns


def _turned(cells: Ragged, places: Integers) -> Ragged:
    """The cells with their columns renamed, ascending again in every row."""
    columns = places[cells.values]
    return Ragged(cells.offsets, columns[np.lexsort((columns, cells.rows()))])


def _filled(columns: Integers, cells: Ragged) -> Integers:
    """Empty places at the end, filled with the cells of the row."""
    k = columns.shape[1]
    free = (columns >= 0).sum(axis=1)
    owner = cells.rows()
    place = np.arange(len(owner)) - cells.offsets[owner] + free[owner]
    inside = place < k
    whole = columns.copy()
    whole[owner[inside], place[inside]] = cells.values[inside]
    return whole


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


def shown_in_lists(ranking: Ranking, matches: Matches, rank: Integers, k: int) -> Integers:
    """(lists, k) the number of the item in each place of given lists, -1 in empty ones."""
    number, key, after = ranking.numbered.number, ranking.key, ranking.sequence
    falling = _in_order(ranking.lists, None if key is None else key.whole, after is None)
    if falling and np.array_equal(rank, matches.position + 1):
        return _laid_out(ranking.lists, number, k)
    owner, where = ranking.lists.expand()
    matched = ranking.lists.start[matches.list] + matches.position
    unjudged = np.ones(len(ranking.items), bool)
    unjudged[matched] = False
    keep = np.flatnonzero(unjudged[where])
    order = np.arange(len(where)) if after is None else after.whole[where]
    first = np.zeros(len(where)) if key is None else -key.whole[where]
    order = keep[np.lexsort((order[keep], first[keep], owner[keep]))]
    lengths = np.bincount(owner[order], minlength=len(ranking.lists.start))
    others = Grouped(np.cumsum(lengths) - lengths, lengths)
    return _inserted(
        _laid_out(others, number[where[order]], k), matches.list, rank, number[matched]
    )


def _in_order(lists: Grouped, key: NDArray[Any] | None, equals: bool) -> bool:
    """Whether the places of every list stand in falling order of a key; equal ones next to each
    other are in order if `equals` says so."""
    if key is None:
        return equals
    begins = np.zeros(len(key), bool)
    begins[lists.start[lists.length > 0]] = True
    below = np.less_equal if equals else np.less
    wrong: list[bool] = []

    def work(first: int, last: int) -> None:
        falls = below(key[first + 1 : last + 1], key[first:last])
        wrong.append(not (falls | begins[first + 1 : last + 1]).all())

    in_blocks(work, max(len(key) - 1, 0), _BLOCK)
    return not any(wrong)


def _laid_out(lists: Grouped, number: Integers, k: int) -> Integers:
    """(lists, k) the numbers of the first places of each list, -1 where there are none."""
    longest = int(lists.length.max(initial=0))
    even = len(number) == longest * len(lists.start) and bool((lists.length == longest).all())
    if even and longest >= k and (lists.start == np.arange(len(lists.start)) * longest).all():
        return number.reshape(-1, longest)[:, :k] if longest else number.reshape(-1, k)
    table = np.full((len(lists.start), k), -1, number.dtype)

    def work(first: int, last: int) -> None:
        length = np.minimum(lists.length[first:last], k)
        owner = np.repeat(np.arange(last - first), length)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
        table[first + owner, place] = number[lists.start[first + owner] + place]

    in_blocks(work, len(lists.start))
    return table


def scored_in_scores(
    sides: Aligned, dense: Dense, shown: Integers, convention: Convention
) -> Floats:
    """(lists, k) the score in each place of dense lists, NaN in empty ones; that of an item which
    stands last because it is masked is minus infinity."""
    row = reading(sides, dense, convention).row[:, None]
    found = dense.at(row, shown)
    if convention.seen == "last" and sides.sources.seen is not None:
        masked = keys_of(dense, sides.sources.seen)
        found[np.isin(row * dense.columns + shown, masked) & ~np.isnan(found)] = -np.inf
    return found


def scored_in_lists(ranking: Ranking, shown: Integers, scores: Floats) -> Floats:
    """(lists, k) the score in each place of given lists, NaN in empty ones; `scores` are those of
    the predictions, by row."""
    lists, number = ranking.lists, ranking.numbered.number
    where = _laid_out(lists, np.arange(len(number)), shown.shape[1])
    if not np.array_equal(np.append(number, -1)[where], shown):
        where = _found(lists, number, shown)
    rows = lists.rows(np.maximum(where, 0))
    return np.where(shown < 0, np.nan, np.append(scores, np.nan)[rows])


def _found(lists: Grouped, number: Integers, shown: Integers) -> Integers:
    """(lists, k) the place in its list of each item that is shown, whatever the order."""
    owner, where = lists.expand()
    size = int(number.max(initial=0)) + 1
    key = owner * size + number[where]
    order = np.argsort(key, kind="stable")
    wanted = np.arange(len(shown))[:, None] * size + shown
    at = np.minimum(np.searchsorted(key[order], wanted), max(len(key) - 1, 0))
    return np.append(where[order], -1)[at]
