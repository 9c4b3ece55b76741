"""The items in the first places of each list, for metrics that look at the items themselves.

Judged items stand at the ranks that judging gave them, whatever the tie rule; the places between
are filled with the other items, best score first.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats, Grouped, Integers, Ragged
from rectitude.convention import Convention
from rectitude.data.dense import Dense
from rectitude.judge.align import Aligned
from rectitude.judge.dense import compared, reading
from rectitude.judge.layout import filled, in_order, inserted, laid_out, scored
from rectitude.judge.match import Matches, Ranking
from rectitude.predictions.masks import keys_of, with_keys, with_padding, without_padding
from rectitude.rowkernels.rows import best


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
        others = filled(others, Ragged(rest.offsets, order[rest.values]))
    row = np.maximum(found.row, 0)
    others = np.where((found.row >= 0)[:, None], others[row], -1)
    return inserted(others, matches.list, rank, matches.position)


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


def shown_in_lists(ranking: Ranking, matches: Matches, rank: Integers, k: int) -> Integers:
    """(lists, k) the number of the item in each place of given lists, -1 in empty ones."""
    number, key, after = ranking.numbered.number, ranking.key, ranking.sequence
    falling = in_order(ranking.lists, None if key is None else key.whole, after is None)
    if falling and np.array_equal(rank, matches.position + 1):
        return laid_out(ranking.lists, number, k)
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
    return inserted(laid_out(others, number[where[order]], k), matches.list, rank, number[matched])


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
    return scored(ranking.lists, ranking.numbered.number, shown, scores)
