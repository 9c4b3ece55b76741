"""Dense scores as matches: the items of the truth that could be ranked, with what stands before
each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats, Integers
from rectitude.convention import Convention
from rectitude.data.dense import Dense
from rectitude.data.ledger import Ledger
from rectitude.errors import BadIds, BadName
from rectitude.judge.judged import Single
from rectitude.judge.match import Matches, Ranking
from rectitude.judge.scan import Reading, reading
from rectitude.judge.sides import Sides
from rectitude.judge.truth import Truth

_CELLS = 1 << 22
_LARGEST = 1 << 62


class Ranked(NamedTuple):
    """Lists as they are ranked: what was found in each, and how many items each holds."""

    matches: Matches
    returned: Integers
    rule: str
    """how ties are broken"""
    ranking: Ranking | None = None
    dense: Dense | None = None
    found: Reading | None = None
    score: Floats | None = None
    """the score of each match, where somebody looks at it"""
    taken: Integers | None = None
    """the rank of each match by plain scores, where others are compared"""


def rank_dense(
    sides: Sides, dense: Dense, truth: Truth, convention: Convention, ledger: Ledger
) -> Ranked:
    """The truth's items in rows of scores, or in the order recorded for them."""
    if convention.unjudged == "dropped":
        raise BadName(
            "unjudged='dropped' removes items from lists, and these are dense scores.",
            "lists, or candidates.",
            "hand over the judged items as candidates=.",
        )
    require_sortable(sides, convention)
    found = reading(sides, dense, convention)
    ledger.note("order", f"by {dense.source}, descending")
    rule = convention.ties
    if sides.sources.recorded is not None:
        found, rule = recorded(found, sides.sources.recorded), "given"
        ledger.note("order", "as recorded")
    index, where, lists = _chosen(sides, found, truth)
    _account_for_scores(sides, found, convention, ledger)
    there = np.flatnonzero(found.above[index] >= 0)
    rows = index[there]
    order = _by_rank(lists[there], found.above[rows], found.column[rows], dense.columns)
    rows, there = rows[order], there[order]
    tied, before = found.tied[rows], found.before[rows]
    if rule == "item_descending":
        before = tied - 1 - before
    above = found.above[rows]
    matches = Matches(lists[there], where[there], found.column[rows], above, tied, before)
    returned = np.where(found.row >= 0, found.ranked[np.maximum(found.row, 0)], 0)
    score = None if found.score is None else found.score[rows]
    taken = None
    if convention.score_precision == "logistic" and sides.sources.recorded is None:
        plain = reading(sides, dense, convention.replace(score_precision="float32"))
        taken = (plain.above + plain.before + 1)[rows]
    return Ranked(matches, returned, rule, None, dense, found, score, taken)


def _by_rank(lists: Integers, above: Integers, column: Integers, columns: int) -> Integers:
    """The order by list and rank, equals by column, so that the truth's own order plays no part."""
    if np.all(lists[1:] > lists[:-1]):  # one in each list
        return np.arange(len(lists))
    if int(lists.max(initial=0)) < _LARGEST // (columns + 1) ** 2:
        key = (lists * (columns + 1) + above) * (columns + 1) + column
        return np.argsort(key, kind="stable")  # which is fastest where lists are in order
    return np.lexsort((column, above, lists))


def _account_for_scores(
    sides: Sides, found: Reading, convention: Convention, ledger: Ledger
) -> None:
    """Say what was masked, and which truth can therefore not be found."""
    if sides.catalogue != "the scores":
        about = "truth rows name an item that has no score: misses"
        ledger.count("items_unscored", found.unscored, about, found.pairs, weight="notice")
    seen = sides.sources.seen
    if seen is None:
        return
    fate = {"last": "ranked last", "kept": "ranked like all others"}
    about = f"scores belong to items seen in training: {fate.get(convention.seen, 'not ranked')}"
    ledger.count("scores_seen", len(seen.column), about)
    about = "truth rows name an item that the user had in training: masked, so they are misses"
    ledger.count("truth_masked", found.hidden, about, found.pairs, weight="warning")


def require_sortable(sides: Sides, convention: Convention) -> None:
    """An error if ties go by item id and the ids have no order."""
    if convention.ties.startswith("item") and not sides.items.ordered:
        raise BadIds(
            f"ties={convention.ties!r} sorts by item, and these item ids cannot be sorted.",
            "item ids of one type.",
            "set ties='pessimistic' or 'given'.",
        )


def _chosen(sides: Sides, found: Reading, truth: Truth) -> tuple[Integers, Integers, Integers]:
    """The pairs of the reading that are truth under the convention, their places and lists."""
    rows, size = truth.rows, sides.sources.truth.frame.height
    if sides.listless is None:  # every truth row belongs to one list
        where = found.truth if rows.order is None else _inverse(rows.order, size)[found.truth]
        low = rows.start[found.list]
        inside = np.flatnonzero((where >= low) & (where < low + rows.length[found.list]))
        return inside, where[inside], found.list[inside]
    lists, where = rows.expand()
    wanted, keys = lists * size + rows.rows(where), found.list * size + found.truth
    order = np.argsort(wanted)
    place = np.minimum(np.searchsorted(wanted[order], keys), max(len(order) - 1, 0))
    inside = np.flatnonzero(wanted[order[place]] == keys) if len(order) else place[:0]
    at = order[place[inside]]
    return inside, where[at], lists[at]


def _inverse(order: NDArray[np.signedinteger], size: int) -> Integers:
    """The place of each row, -1 where it has none."""
    places = np.full(size, -1)
    places[order] = np.arange(len(order))
    return places


def recorded(found: Reading, order: Integers) -> Reading:
    """The reading with the ranks of a recorded order in place of the scores' own."""
    rows = found.row[found.list]
    above = np.full(len(rows), -1)
    step = max(1, _CELLS // order.shape[1])
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        column = found.column[part]
        same = (order[rows[part]] == column[:, None]) & (column >= 0)[:, None]
        above[part] = np.where(same.any(axis=1), same.argmax(axis=1), -1)
    best = order[:, 0]
    firsts = None
    if found.firsts is not None:
        firsts = found.firsts._replace(best=best, second=best, last_best=best)
    ones = np.where(above >= 0, 1, 0)
    return found._replace(
        above=above, tied=ones, before=np.zeros_like(above), firsts=firsts,
        ranked=(order >= 0).sum(axis=1),
    )  # fmt: skip


def single_targets(ranked: Ranked, rank: Integers, size: int) -> Single | None:
    """What class metrics need, where every list has one target among classes."""
    dense, found = ranked.dense, ranked.found
    if dense is None or found is None or found.firsts is None:
        return None
    target = np.full(size, dense.columns)
    known = found.column >= 0
    target[found.list[known]] = found.column[known]
    right = np.zeros(size, bool)
    right[ranked.matches.list[rank == 1]] = True
    row = np.maximum(found.row, 0)
    best = found.firsts.last_best if ranked.rule == "item_descending" else found.firsts.best
    top = best[row]
    wrong = np.flatnonzero((top == target) & ~right)  # tied with others, and not first
    top[wrong] = found.firsts.second[row[wrong]]
    top[top < 0] = dense.columns  # a recorded order may put nothing first
    np.copyto(top, target, where=right)
    loss = None if found.firsts.loss is None else found.firsts.loss[row]
    if loss is not None and not known.all():
        loss[target == dense.columns] = np.inf
    sure = None if found.firsts.chances is None else found.firsts.chances.of(row)
    return Single(target, top, dense.columns, loss, sure)
