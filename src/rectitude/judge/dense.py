"""Dense scores judged: where the items of the truth stand in their rows, found by counting.

Counts do not depend on how ties are broken, so one reading of the scores serves all tie rules; they
are read again only for another mask or another precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers, Ragged
from rectitude.convention import Convention
from rectitude.data.dense import Block, Dense, Firsts, Holes, Known, ReadingKey
from rectitude.data.ids import located
from rectitude.data.ledger import Ledger
from rectitude.errors import BadIds, BadName
from rectitude.judge.align import Aligned
from rectitude.judge.judged import Single
from rectitude.judge.match import Matches, Ranking
from rectitude.judge.truth import Truth
from rectitude.predictions.masks import (
    keys_of,
    with_keys,
    with_padding,
    without_padding,
)
from rectitude.rowkernels.rows import chances, count, single
from rectitude.rowkernels.standings import MASKED, Chances

_CELLS = 1 << 22
_LARGEST = 1 << 62


class RankedLists(NamedTuple):
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
    sides: Aligned, dense: Dense, truth: Truth, convention: Convention, ledger: Ledger
) -> RankedLists:
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
    return RankedLists(matches, returned, rule, None, dense, found, score, taken)


def require_sortable(sides: Aligned, convention: Convention) -> None:
    """An error if ties go by item id and the ids have no order."""
    if convention.ties.startswith("item") and not sides.items.ordered:
        raise BadIds(
            f"ties={convention.ties!r} sorts by item, and these item ids cannot be sorted.",
            "item ids of one type.",
            "set ties='pessimistic' or 'given'.",
        )


def _chosen(sides: Aligned, found: Reading, truth: Truth) -> tuple[Integers, Integers, Integers]:
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


def _by_rank(lists: Integers, above: Integers, column: Integers, columns: int) -> Integers:
    """The order by list and rank, equals by column, so that the truth's own order plays no part."""
    if np.all(lists[1:] > lists[:-1]):  # one in each list
        return np.arange(len(lists))
    if int(lists.max(initial=0)) < _LARGEST // (columns + 1) ** 2:
        key = (lists * (columns + 1) + above) * (columns + 1) + column
        return np.argsort(key, kind="stable")  # which is fastest where lists are in order
    return np.lexsort((column, above, lists))


def _account_for_scores(
    sides: Aligned, found: Reading, convention: Convention, ledger: Ledger
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
    ledger.count("scores_seen", len(seen.values), about)
    about = "truth rows name an item that the user had in training: masked, so they are misses"
    ledger.count("truth_masked", found.hidden, about, found.pairs, weight="warning")


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


def single_targets(ranked: RankedLists, rank: Integers) -> Single | None:
    """What class metrics need, where every list has one target among classes."""
    dense, found = ranked.dense, ranked.found
    if dense is None or found is None or found.firsts is None:
        return None
    size = len(ranked.returned)
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


class Reading(NamedTuple):
    """What one reading found for pairs of a row of scores and a truth row of its list: those that
    are ranked as deep as anybody asks, and for logits all of them."""

    list: Integers
    truth: Integers
    column: Integers
    above: Integers
    tied: Integers
    before: Integers
    ranked: Integers
    """(rows,) how many columns could be ranked"""
    row: Integers
    """(lists,) the row of scores of each list, -1 if it has none"""
    score: Floats | None = None
    """the pair's own score, if it was asked for"""
    firsts: Firsts | None = None
    pairs: int = 0
    """how many there are in all, ranked or not"""
    unscored: int = 0
    """pairs whose item has no column"""
    hidden: int = 0
    """pairs whose item is masked"""


def keeping_scores(convention: Convention, needs: tuple[str, ...]) -> Convention:
    """The convention for a reading that keeps the score of every pair where a metric needs it."""
    return convention.replace(hit_scores="positive") if "predicted" in needs else convention


def reading(sides: Aligned, dense: Dense, convention: Convention) -> Reading:
    """The reading that a convention needs, made once."""
    codes = sides.items.codes["predictions"].whole
    key = ReadingKey.of(convention, bool(np.all(codes[1:] > codes[:-1])))
    if key not in sides.readings:
        known = None if dense.known is None else dense.known[key]
        sides.readings[key] = _read(sides, dense, key, known)
    made: Reading = sides.readings[key]
    return made


def _read(sides: Aligned, dense: Dense, key: ReadingKey, known: Known | None) -> Reading:
    row, owner, at, asked = _pairs(sides, dense)
    seen = None if key.seen == "kept" else sides.sources.seen
    masked = with_padding(dense, seen)
    scan = _Scan(dense, asked, masked, key.precision)
    if key.by_item:
        scan.sequence = sides.items.codes["predictions"].whole
    if key.hit_scores == "positive":
        scan.score = np.full(len(asked.values), np.nan)
    firsts = None
    if known is not None:
        firsts = scan.recalled(known)
    elif dense.kind == "logits":
        firsts = scan.logits()
    else:
        scan.scores()
    scan.broken.require_none()
    ranked = np.full(dense.rows, dense.columns)
    if masked is not None:
        ranked -= masked.lengths
    if key.seen == "last" and seen is not None:
        ranked = _masked_last(scan, ranked, seen)
    size, unscored = len(asked.values), int((asked.values < 0).sum())
    hidden = int((scan.found[0] == MASKED).sum())
    kept = slice(None) if firsts is not None else np.flatnonzero(scan.found[0] >= 0)
    column, above, tied, before = (
        values[kept].astype(np.int64) for values in (asked.values, *scan.found)
    )
    places = np.arange(len(asked.values))[kept]
    rows = np.repeat(np.arange(dense.rows, dtype=np.int32), asked.lengths)[kept]
    score = None if scan.score is None else scan.score[kept]
    truth = places if at is None else at[kept]
    return Reading(
        owner[rows], truth, column, above, tied, before, ranked, row, score, firsts,
        size, unscored, hidden,
    )  # fmt: skip


def _pairs(sides: Aligned, dense: Dense) -> tuple[Integers, Integers, Integers | None, Ragged]:
    """Rows by list, and lists by row; truth rows and columns of the pairs, by row.

    Truth rows are None where pair number n has truth row n, as in a truth that stands in the order
    of the scores: there may be many millions.
    """
    there = sides.lists.length > 0
    row = np.full(len(there), -1)
    row[there] = sides.lists.rows(sides.lists.start[there])
    owner = np.full(dense.rows, -1)
    owner[row[there]] = np.flatnonzero(there)
    mine = sides.judgements.repeated(owner)
    start = np.concatenate(([0], np.cumsum(mine.length)))
    codes = sides.items.codes
    column = located(codes["predictions"].whole, codes["truth"].whole).astype(np.int32)
    in_place = np.array_equal(mine.start[mine.length > 0], start[:-1][mine.length > 0])
    if in_place and mine.order is None and start[-1] == len(column):
        return row, owner, None, Ragged(start, column)
    at = mine.rows(mine.expand()[1])
    return row, owner, at, Ragged(start, column[at])


@dataclass
class _Scan:
    """One pass over the blocks, which fills `found`: above, tied and before of every pair."""

    dense: Dense
    asked: Ragged
    masked: Ragged | None
    precision: str
    sequence: Integers | None = None
    score: Floats | None = None
    found: NDArray[np.int32] = field(init=False)
    broken: Holes = field(init=False)

    def __post_init__(self) -> None:
        self.found = np.zeros((3, len(self.asked.values)), np.int32)
        self.broken = Holes(self.dense)

    def blocks(self) -> Iterator[tuple[int, int, Block, slice, Ragged]]:
        """Each block with its first and last row, and its pairs."""
        ends = self.asked.offsets
        for first, last, given in self.dense.spans():
            here = slice(int(ends[first]), int(ends[last]))
            mine = self.asked.block(first, last)
            yield first, last, compared(given, self.precision), here, mine
            if self.dense.progress is not None:
                self.dense.progress(last, self.dense.rows)

    def recalled(self, known: Known) -> Firsts | None:
        """Take over what was counted ahead."""
        rows = self.asked.rows()
        cells = np.where(self.asked.values < 0, -1, rows * self.dense.columns + self.asked.values)
        hidden = None if self.masked is None else keys_of(self.dense, self.masked)
        depth = None if self.dense.kind == "logits" else self.dense.depth
        self.found[:], own = known.at(cells, hidden, depth)
        if self.score is not None and own is not None:
            self.score[:] = np.where(self.asked.values < 0, np.nan, own)
        return known.firsts

    def scores(self) -> None:
        """Count in every row."""
        for first, last, block, here, mine in self.blocks():
            masked = None if self.masked is None else self.masked.block(first, last)
            standings, broken = count(block, mine, masked, self.dense.depth)
            self.found[:, here] = standings
            self.broken.note(first, block, broken)
            self._own_scores(block, here, mine)
            if self.sequence is not None:
                _by_id(self.found[:, here], block, mine, masked, self.sequence)

    def logits(self) -> Firsts:
        """Count in every row, and see what stands first."""
        size, asked = self.dense.rows, self.dense.want_loss
        firsts = np.empty((3, size), np.int64)
        loss = np.empty(size) if asked == "loss" else None
        sure = np.empty((3, size if self.dense.want_chances == "chances" else 0))
        for first, last, block, here, mine in self.blocks():
            has: Flags | slice = mine.lengths > 0
            target = np.asarray(mine.values, np.int64)
            if len(target) < last - first:  # some rows have no target
                target = np.full(last - first, -1)
                target[has] = mine.values[mine.offsets[:-1][has]]
            else:
                has = slice(None)
            singles, broken = single(block, target, asked)
            self.broken.note(first, block, broken)
            for own, values in zip(self.found, singles[:3], strict=True):
                own[here] = values[has]
            highest = _last_best(block, singles.best, singles.best_tied)
            firsts[:, first:last] = singles.best, singles.second, highest
            if loss is not None and singles.loss is not None:
                loss[first:last] = singles.loss
            if self.dense.want_chances == "chances":
                sure[:, first:last] = chances(block, target)
            self._own_scores(block, here, mine)
        best, second, last_best = firsts
        known = Chances(*sure) if self.dense.want_chances == "chances" else None
        return Firsts(best, second, last_best, loss, known)

    def _own_scores(self, block: Block, here: slice, mine: Ragged) -> None:
        if self.score is not None:
            own = block[mine.rows(), np.maximum(mine.values, 0)]
            self.score[here] = np.where(mine.values >= 0, own, np.nan)


def compared(block: Block, precision: str) -> Block:
    """The scores in the precision in which they are compared."""
    if precision == "float64":
        return block
    with np.errstate(over="ignore"):  # beyond float32 a score is infinite there, too
        narrow = block.astype(np.float32, copy=False)
    if precision == "float32":
        return narrow
    outside = ((narrow < 0) | (narrow > 1)).any(axis=-1)
    squashed, one = narrow.copy(), np.float32(1)
    with np.errstate(over="ignore"):  # beyond float32 the power is infinite, its inverse 0
        powers = np.exp(-narrow[outside].astype(np.float64)).astype(np.float32)
    squashed[outside] = one / (one + powers)
    return squashed


def _last_best(block: Block, best: Integers, tied: Integers) -> Integers:
    """(rows,) the highest column that holds the highest score."""
    last = best.copy()
    for row in np.flatnonzero(tied > 1):
        last[row] = np.flatnonzero(block[row] == block[row, best[row]])[-1]
    return last


def _by_id(
    found: NDArray[np.int32],
    block: Block,
    mine: Ragged,
    masked: Ragged | None,
    sequence: Integers,
) -> None:
    """Count again which equals come before, where columns do not stand in the order of ids."""
    rows = mine.rows()
    for pair in np.flatnonzero(found[1] > 1):
        row, column = rows[pair], mine.values[pair]
        equal = block[row] == block[row, column]
        if masked is not None:
            equal[masked.values[masked.offsets[row] : masked.offsets[row + 1]]] = False
        found[2, pair] = (sequence[equal] < sequence[column]).sum()


def _masked_last(scan: _Scan, ranked: Integers, seen: Ragged) -> Integers:
    """Put seen items after all others, equal among themselves; how many are ranked then.

    The padding stays out.
    """
    dense, sequence = scan.dense, scan.sequence
    seen = with_keys(dense, without_padding(dense, keys_of(dense, seen)))
    nth = np.arange(dense.columns) if sequence is None else np.argsort(np.argsort(sequence))
    keys, start = np.sort(seen.rows() * dense.columns + nth[seen.values]), seen.offsets
    rows = scan.asked.rows()
    mine = rows * dense.columns + nth[scan.asked.values]
    there = (scan.asked.values >= 0) & np.isin(mine, keys)
    if dense.depth is not None:
        there &= ranked[rows] < dense.depth
    rows, mine = rows[there], mine[there]
    scan.found[0, there] = ranked[rows]
    scan.found[1, there] = seen.lengths[rows]
    scan.found[2, there] = np.searchsorted(keys, mine) - start[rows]
    return ranked + seen.lengths
