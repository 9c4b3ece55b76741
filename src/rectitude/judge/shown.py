"""The items at the top ranks of each list, for metrics that look at the items themselves.

Judged items keep the ranks that judging gave them under the tie rule. The ranks in between are
filled with the other items, best score first. Items of equal score and grade are shown in the order
of their ids, unless the tie rule names another order: neither rows nor columns decide. `Shown.tied`
says where scores were equal, so that a metric that may not depend on ties can be refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Grouped, Integers, Ragged
from rectitude.convention import Convention
from rectitude.data.dense import Block, Dense
from rectitude.judge.align import Aligned
from rectitude.judge.dense import RankedLists, reading, round_scores
from rectitude.judge.judged import TIED_BY_GRADE, TIED_BY_ID, Shown
from rectitude.judge.match import Matches, Ranking
from rectitude.parallel import in_blocks
from rectitude.predictions.masks import keys_of, with_keys, with_padding, without_padding
from rectitude.rowkernels.rows import best

_BLOCK = 1 << 18
_MANY = 16  # finding the best columns of a row takes less time than sorting this part of them
_IN_FULL = ("given", "item_ascending", "item_descending")
"""the tie rules that order all items, so that nothing is left to choose"""


class _Others(NamedTuple):
    """The items that are not judged, best first, and whether each ties with the next."""

    items: Integers
    """(lists, K + 1) one rank more than is shown, to see which items tie across the last rank"""
    equal: Flags
    """(lists, K)"""


class _Placed(NamedTuple):
    """The judged items, with their ranks and ties."""

    list: Integers
    rank: Integers
    item: Integers
    above: Integers
    tied: Integers
    grade: Floats

    @staticmethod
    def of(matches: Matches, rank: Integers, item: Integers, grade: Floats) -> _Placed:
        """Return matches as they are placed."""
        return _Placed(matches.list, rank, item, matches.above, matches.tied, grade)

    def only(self, chosen: Integers | Flags) -> _Placed:
        """Return some of the items."""
        return _Placed(
            self.list[chosen], self.rank[chosen], self.item[chosen],
            self.above[chosen], self.tied[chosen], self.grade[chosen],
        )  # fmt: skip


def show_scores(
    sides: Aligned,
    ranked: RankedLists,
    dense: Dense,
    rank: Integers,
    grade: Floats,
    convention: Convention,
    k: int,
) -> Shown:
    """Return the columns at the top k ranks of dense scores."""
    standings, matches = reading(sides, dense, convention), ranked.matches
    if sides.sources.recorded is not None:
        return Shown(_take_recorded(sides.sources.recorded[:, :k], standings.row, k))
    seen = None if convention.seen == "kept" else sides.sources.seen_cells
    judged = standings.row[matches.list] * dense.columns + matches.position
    order = _tie_order(sides, convention)
    masked = with_padding(dense, seen)
    keys = judged if masked is None else np.concatenate((keys_of(dense, masked), judged))
    others = _best_others(dense, with_keys(dense, keys), order, convention, k + 1)
    if convention.seen == "last" and seen is not None:
        unjudged = np.setdiff1d(without_padding(dense, keys_of(dense, seen)), judged)
        rest = _rename_columns(with_keys(dense, unjudged), np.argsort(order))
        others = _fill_empty(others, Ragged(rest.offsets, order[rest.values]))
    row, has_row = np.maximum(standings.row, 0), (standings.row >= 0)[:, None]
    others = _Others(np.where(has_row, others.items[row], -1), others.equal[row] & has_row)
    return _insert_judged(
        others, _Placed.of(matches, rank, matches.position, grade), convention.ties
    )


def _take_recorded(order: Integers, row: Integers, k: int) -> Integers:
    """Return the columns at the top ranks of a recorded order, shape (lists, k)."""
    shown = np.full((len(row), k), -1)
    shown[:, : order.shape[1]] = np.where((row >= 0)[:, None], order[row], -1)
    return shown


def _tie_order(sides: Aligned, convention: Convention) -> Integers:
    """Return the columns in the order in which the tie rule sorts equal scores."""
    codes = sides.items.codes["predictions"].whole
    if convention.ties == "given":
        return np.arange(len(codes))
    order = np.argsort(codes)
    return order[::-1] if convention.ties == "item_descending" else order


def _best_others(
    dense: Dense, masked: Ragged, order: Integers, convention: Convention, width: int
) -> _Others:
    """Return the best columns that are not masked, under the tie rule.

    The order of ties only matters in rows where scores are equal, so only these are read again.
    """
    in_order, place = bool(np.all(order[1:] > order[:-1])), np.argsort(order)
    columns = np.full((dense.rows, width), -1)
    equal = np.zeros((dense.rows, width - 1), bool)
    for first, last, scores in dense.spans():
        block = round_scores(scores, convention.score_precision)
        hidden = masked.block(first, last)
        top = best(block, hidden, width)
        equal[first:last] = _flag_equal(block, top)
        rows = np.flatnonzero(equal[first:last].any(axis=1))
        if len(rows) and not in_order:
            top[rows] = _order_ties(block[rows], hidden.of(rows), top[rows], order, place)
        columns[first:last] = top
    return _Others(columns, equal)


def _order_ties(
    block: Block, masked: Ragged, top: Integers, order: Integers, place: Integers
) -> Integers:
    """Return the best columns with equal scores in the order of their places.

    Only columns that share the lowest score of the best may have been left out. If they are very
    many, it is faster to find the best again among columns that are in order.
    """
    scores = np.take_along_axis(block, np.maximum(top, 0), axis=1)
    is_lowest = block == scores[:, -1:]
    is_lowest[masked.rows(), masked.values] = False
    if _MANY * np.count_nonzero(is_lowest) > is_lowest.size:
        turned = np.ascontiguousarray(block[:, order])
        found = best(turned, _rename_columns(masked, place), top.shape[1])
        return np.where(found >= 0, order[found], -1)
    is_above = (top >= 0) & (scores != scores[:, -1:])
    row, column = (
        np.concatenate(pair)
        for pair in zip(np.nonzero(is_lowest), _cells_of(top, is_above), strict=True)
    )
    by_score = np.lexsort((place[column], -block[row, column], row))
    row, column = row[by_score], column[by_score]
    lengths = np.bincount(row, minlength=len(top))
    return _lay_out(Grouped(np.cumsum(lengths) - lengths, lengths), column, top.shape[1])


def _cells_of(columns: Integers, chosen: Flags) -> tuple[Integers, Integers]:
    """Return the rows and the columns of the chosen cells."""
    return np.nonzero(chosen)[0], columns[chosen]


def _flag_equal(block: Block, columns: Integers) -> Flags:
    """Flag the columns whose score equals that of the next one."""
    scores = np.take_along_axis(block, np.maximum(columns, 0), axis=1)
    flags: Flags = (scores[:, :-1] == scores[:, 1:]) & (columns[:, 1:] >= 0)
    return flags


def _rename_columns(cells: Ragged, numbers: Integers) -> Ragged:
    """Renumber the columns of cells, and sort them again in every row."""
    columns = numbers[cells.values]
    return Ragged(cells.offsets, columns[np.lexsort((columns, cells.rows()))])


def _fill_empty(others: _Others, cells: Ragged) -> _Others:
    """Fill the empty ranks at the end with the cells of the row, which tie with each other."""
    columns = others.items.copy()
    first_free = (columns >= 0).sum(axis=1)
    owner = cells.rows()
    position = np.arange(len(owner)) - cells.offsets[owner] + first_free[owner]
    inside = position < columns.shape[1]
    columns[owner[inside], position[inside]] = cells.values[inside]
    filled = (columns >= 0) & (others.items < 0)
    return _Others(columns, others.equal | (filled[:, :-1] & filled[:, 1:]))


def _insert_judged(others: _Others, judged: _Placed, rule: str) -> Shown:
    """Insert the judged items at their ranks among the other items."""
    size, width = others.items.shape
    inside = judged.rank <= width
    where = (judged.list[inside], judged.rank[inside] - 1)
    taken = np.zeros((size, width), bool)
    taken[where] = True
    nth_other = np.maximum(np.cumsum(~taken, axis=1) - 1, 0)
    items = np.where(taken, -1, np.take_along_axis(others.items, nth_other, axis=1))
    items[where] = judged.item[inside]
    if rule in _IN_FULL or not (others.equal.any() or (judged.tied > 1).any()):
        return Shown(items[:, :-1])
    next_is_equal = np.take_along_axis(others.equal, np.minimum(nth_other[:, :-1], width - 2), 1)
    tied = np.where(~taken[:, :-1] & ~taken[:, 1:] & next_is_equal, TIED_BY_ID, 0).astype(np.int8)
    _mark_judged_ties(tied, taken, where, judged.only(inside))
    tied[items[:, :-1] == items[:, 1:]] = 0  # the same item again
    return Shown(items[:, :-1], tied=tied if tied.any() else None)


def _mark_judged_ties(
    tied: NDArray[np.int8], taken: Flags, where: tuple[Integers, Integers], judged: _Placed
) -> None:
    """Mark the ranks whose item ties with the next one, if one of both is judged."""
    first, last = np.zeros((2, *taken.shape), np.int64)
    grade = np.full(taken.shape, np.nan)
    first[where], last[where], grade[where] = judged.above, judged.above + judged.tied, judged.grade
    upper = np.arange(1, taken.shape[1])
    in_tie = (taken[:, :-1] & (last[:, :-1] > upper)) | (taken[:, 1:] & (first[:, 1:] < upper))
    tied[in_tie] = TIED_BY_GRADE
    tied[in_tie & (grade[:, :-1] == grade[:, 1:])] = TIED_BY_ID


def show_lists(
    sides: Aligned, ranked: RankedLists, ranking: Ranking, rank: Integers, grade: Floats, k: int
) -> Shown:
    """Return the item numbers at the top k ranks of lists.

    Most lists are usually sorted, without ties: only the others are sorted here.
    """
    number, matches, rule = ranking.numbered.number, ranked.matches, ranked.rule
    is_loose = _flag_unsorted(ranking, equals=rule == "given")
    is_loose[matches.list[rank != matches.position + 1]] = True
    chosen = np.flatnonzero(is_loose)
    if not len(chosen):
        return Shown(_lay_out(ranking.lists, number, k))
    unjudged = np.ones(len(ranking.items), bool)
    matched = ranking.lists.start[matches.list] + matches.position
    unjudged[matched] = False
    others = _sort_others(sides, ranking, rule, chosen, unjudged, k + 1)
    judged = _Placed.of(matches, rank, number[matched], grade)
    judged = judged.only(is_loose[matches.list])
    judged = judged._replace(list=np.cumsum(is_loose)[judged.list] - 1)
    sorted_lists = _insert_judged(others, judged, rule)
    if len(chosen) == len(is_loose):
        return sorted_lists
    items, tied = np.array(_lay_out(ranking.lists, number, k)), None
    items[chosen] = sorted_lists.items
    if sorted_lists.tied is not None:
        tied = np.zeros(items.shape, np.int8)
        tied[chosen] = sorted_lists.tied
    return Shown(items, tied=tied)


def _sort_others(
    sides: Aligned, ranking: Ranking, rule: str, chosen: Integers, unjudged: Flags, width: int
) -> _Others:
    """Sort the items of some lists that are not judged."""
    owner, positions = ranking.lists.repeat_lists(chosen).expand()
    keep = unjudged[positions]
    owner, positions = owner[keep], positions[keep]
    key = np.zeros(len(positions)) if ranking.key is None else ranking.key.whole[positions]
    follows = owner[1:] == owner[:-1]
    if np.any((key[1:] > key[:-1]) & follows):
        order = np.lexsort((-key, owner))
        positions, key = positions[order], key[order]
    same = np.zeros(len(key), bool)
    same[:-1] = (key[1:] == key[:-1]) & follows
    tied = np.flatnonzero(same | np.append(False, same[:-1]))
    if len(tied) and rule != "given":
        ids = _sort_keys(sides, ranking, rule, positions[tied])
        group = np.cumsum(np.append(True, ~same[:-1]))[tied]
        by_id = np.argsort(group * (int(ids.max()) + 1) + ids, kind="stable")
        positions[tied] = positions[tied][by_id]
    lengths = np.bincount(owner, minlength=len(chosen))
    others = Grouped(np.cumsum(lengths) - lengths, lengths)
    items = _lay_out(others, ranking.numbered.number[positions], width)
    return _Others(items, _lay_out(others, same.astype(np.int8), width - 1) > 0)


def _sort_keys(
    sides: Aligned, ranking: Ranking, rule: str, positions: Integers
) -> NDArray[np.int64]:
    """Return numbers from 0 on that sort items as the tie rule does if their scores are equal."""
    if sides.items.exact:
        ids = ranking.numbered.number[positions].astype(np.int64)
    else:
        ids = sides.items.sort_keys("predictions", ranking.lists.rows(positions))
    return ids.max() - ids if rule == "item_descending" else ids


def _flag_unsorted(ranking: Ranking, equals: bool) -> Flags:
    """Flag the lists that are not sorted by their key, descending; `equals` allows equal keys."""
    lists, flags = ranking.lists, np.zeros(len(ranking.lists.start), bool)
    if ranking.key is None:
        return flags
    key = ranking.key.whole
    is_start = np.zeros(len(key), bool)
    is_start[lists.start[lists.length > 0]] = True
    below = np.less_equal if equals else np.less
    unsorted: list[Integers] = []

    def work(first: int, last: int) -> None:
        in_order = below(key[first + 1 : last + 1], key[first:last])
        in_order |= is_start[first + 1 : last + 1]
        if not in_order.all():
            unsorted.append(first + 1 + np.flatnonzero(~in_order))

    in_blocks(work, max(len(key) - 1, 0), _BLOCK)
    if sum(map(len, unsorted)) >= len(flags):  # most lists: finding out which takes longer
        return np.ones_like(flags)
    if unsorted:
        owner, positions = lists.expand()
        list_of = np.full(len(key), -1)
        list_of[positions] = owner
        owners = list_of[np.concatenate(unsorted)]
        flags[owners[owners >= 0]] = True
    return flags


def _lay_out(lists: Grouped, number: Integers, k: int) -> Integers:
    """Return the numbers at the top ranks of each list, shape (lists, k); -1 at empty ranks."""
    longest = int(lists.length.max(initial=0))
    same_length = len(number) == longest * len(lists.start) and bool(
        (lists.length == longest).all()
    )
    if (
        same_length
        and longest >= k
        and (lists.start == np.arange(len(lists.start)) * longest).all()
    ):
        return number.reshape(-1, longest)[:, :k] if longest else number.reshape(-1, k)
    table = np.full((len(lists.start), k), -1, number.dtype)

    def work(first: int, last: int) -> None:
        length = np.minimum(lists.length[first:last], k)
        owner = np.repeat(np.arange(last - first), length)
        position = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
        table[first + owner, position] = number[lists.start[first + owner] + position]

    in_blocks(work, len(lists.start))
    return table


def score_scores(sides: Aligned, dense: Dense, shown: Integers, convention: Convention) -> Floats:
    """Return the score at each rank of dense scores, shape (lists, k); NaN at empty ranks.

    The score of a seen item that is ranked last is minus infinity.
    """
    row = reading(sides, dense, convention).row[:, None]
    scores = dense.at(row, shown)
    if convention.seen == "last" and sides.sources.seen_cells is not None:
        masked = keys_of(dense, sides.sources.seen_cells)
        scores[np.isin(row * dense.columns + shown, masked) & ~np.isnan(scores)] = -np.inf
    return scores


def score_lists(ranking: Ranking, shown: Integers, scores: Floats) -> Floats:
    """Return the score at each rank of lists, shape (lists, k); NaN at empty ranks.

    `scores` holds the score of every row of the predictions.
    """
    lists, number = ranking.lists, ranking.numbered.number
    positions = _lay_out(lists, np.arange(len(number)), shown.shape[1])
    if not np.array_equal(np.append(number, -1)[positions], shown):
        positions = _find_positions(lists, number, shown)
    rows = lists.rows(np.maximum(positions, 0))
    return np.where(shown < 0, np.nan, np.append(scores, np.nan)[rows])


def _find_positions(lists: Grouped, number: Integers, shown: Integers) -> Integers:
    """Return the position of each shown item in its list, shape (lists, k), in any order."""
    owner, positions = lists.expand()
    size = int(number.max(initial=0)) + 1
    key = owner * size + number[positions]
    order = np.argsort(key, kind="stable")
    wanted = np.arange(len(shown))[:, None] * size + shown
    index = np.minimum(np.searchsorted(key[order], wanted), max(len(key) - 1, 0))
    return np.append(positions[order], -1)[index]
