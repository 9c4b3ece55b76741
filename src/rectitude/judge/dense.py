"""Judge dense scores: find the ranks of the truth's items in their rows by counting.

Counts do not depend on how ties are broken, so a single reading of the scores serves all tie rules.
The scores are read again only for another mask or another precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers, Ragged, positions_in
from rectitude.convention import Convention
from rectitude.data.dense import Block, CountedCells, Counts, Dense, NanRows, ReadingKey, TopClasses
from rectitude.data.ids import locate
from rectitude.data.ledger import Ledger
from rectitude.errors import BadArgument, BadIds
from rectitude.judge.align import Aligned
from rectitude.judge.judged import Single
from rectitude.judge.match import Matches, Ranking
from rectitude.judge.rank_column import KeptRanks
from rectitude.judge.seen import describe_overlap, describe_seen
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
    """Ranked lists: the matches with the truth, and the number of items in each list."""

    matches: Matches
    returned: Integers
    rule: str
    """the tie rule"""
    ranking: Ranking | None = None
    dense: Dense | None = None
    reading: Reading | None = None
    score: Floats | None = None
    """the score of each match, if a metric or the convention needs it"""
    taken: Integers | None = None
    """the rank of each match by plain scores, if transformed scores are compared"""
    kept: KeptRanks | None = None
    """the ranks of the rank column, if they are kept"""


def _refuse_removal(convention: Convention) -> None:
    """Raise an error if a switch would remove items from lists."""
    if convention.unjudged == "dropped":
        raise BadArgument(
            "unjudged='dropped' removes items from lists, but the predictions are dense scores.",
            "lists, or candidates.",
            "pass the judged items as candidates=.",
        )
    if convention.own_item == "removed":
        raise BadArgument(
            "own_item='removed' removes items from lists, but the predictions are dense scores.",
            "lists.",
            "mask these cells with -inf, or pass them as seen=.",
        )
    if convention.scores_from is not None:
        raise BadArgument(
            f"scores_from={convention.scores_from:g} removes items from lists, but the predictions "
            "are dense scores.",
            "lists with a score column.",
            "pass the items with higher scores as lists, or set scores_from=None.",
        )


def rank_dense(
    sides: Aligned, dense: Dense, truth: Truth, convention: Convention, ledger: Ledger
) -> RankedLists:
    """Find the truth's items in rows of scores, or in the order recorded for them."""
    _refuse_removal(convention)
    require_sortable(sides, convention)
    standings = reading(sides, dense, convention)
    ledger.note("order", f"by {dense.source}, descending")
    rule = convention.ties
    if sides.sources.recorded is not None:
        standings, rule = apply_recorded_order(standings, sides.sources.recorded), "given"
        ledger.note("order", "as recorded in ranking=")
    index, positions, lists = _choose_pairs(sides, standings, truth)
    _account_for_scores(sides, standings, convention, ledger)
    ranked = np.flatnonzero(standings.above[index] >= 0)
    rows = index[ranked]
    order = _order_by_rank(
        lists[ranked], standings.above[rows], standings.column[rows], dense.columns
    )
    rows, ranked = rows[order], ranked[order]
    tied, before = standings.tied[rows], standings.before[rows]
    if rule == "item_descending":
        before = tied - 1 - before
    above = standings.above[rows]
    matches = Matches(lists[ranked], positions[ranked], standings.column[rows], above, tied, before)
    returned = np.where(standings.row >= 0, standings.ranked[np.maximum(standings.row, 0)], 0)
    score = None if standings.score is None else standings.score[rows]
    taken = None
    if convention.score_precision == "logistic" and sides.sources.recorded is None:
        plain = reading(sides, dense, convention.replace(score_precision="float32"))
        taken = (plain.above + plain.before + 1)[rows]
    return RankedLists(matches, returned, rule, None, dense, standings, score, taken)


def require_sortable(sides: Aligned, convention: Convention) -> None:
    """Raise an error if ties are broken by item id and the ids cannot be sorted."""
    if convention.ties.startswith("item") and not sides.items.ordered:
        raise BadIds(
            f"ties={convention.ties!r} sorts ties by item id, but these ids cannot be sorted.",
            "item ids of a single type.",
            "set ties='pessimistic' or 'given'.",
        )


def _choose_pairs(
    sides: Aligned, standings: Reading, truth: Truth
) -> tuple[Integers, Integers, Integers]:
    """Return the pairs that count as truth under the convention, with their positions and lists."""
    rows, size = truth.rows, sides.sources.truth.frame.height
    if sides.listless is None:  # every truth row belongs to exactly one list
        positions = (
            standings.truth if rows.order is None else _invert(rows.order, size)[standings.truth]
        )
        low = rows.start[standings.list]
        inside = np.flatnonzero(
            (positions >= low) & (positions < low + rows.length[standings.list])
        )
        return inside, positions[inside], standings.list[inside]
    lists, positions = rows.expand()
    truth_keys, keys = lists * size + rows.rows(positions), standings.list * size + standings.truth
    order = np.argsort(truth_keys)
    index = np.minimum(np.searchsorted(truth_keys[order], keys), max(len(order) - 1, 0))
    inside = np.flatnonzero(truth_keys[order[index]] == keys) if len(order) else index[:0]
    truth_index = order[index[inside]]
    return inside, positions[truth_index], lists[truth_index]


def _invert(order: NDArray[np.signedinteger], size: int) -> Integers:
    """Return the position of each row, or -1."""
    positions = np.full(size, -1)
    positions[order] = np.arange(len(order))
    return positions


def _order_by_rank(lists: Integers, above: Integers, column: Integers, columns: int) -> Integers:
    """Return the order by list, rank and column; the order of the truth does not matter."""
    if np.all(lists[1:] > lists[:-1]):  # one match per list
        return np.arange(len(lists))
    if int(lists.max(initial=0)) < _LARGEST // (columns + 1) ** 2:
        key = (lists * (columns + 1) + above) * (columns + 1) + column
        return np.argsort(key, kind="stable")  # fastest if the lists are in order
    return np.lexsort((column, above, lists))


def _account_for_scores(
    sides: Aligned, standings: Reading, convention: Convention, ledger: Ledger
) -> None:
    """Count masked scores, and the truth rows that are masked or have no score."""
    if sides.catalogue != "the scores":
        about = "truth rows have an item without a score: they are misses"
        ledger.count("items_unscored", standings.unscored, about, standings.pairs, weight="notice")
    if standings.seen is None:
        return
    fate = {"last": "ranked last", "kept": "ranked like all other items"}
    seen = fate.get(convention.seen, "not ranked")
    where = describe_seen(sides.sources)
    about = f"scores belong to items in {where}: {seen}"
    ledger.count("scores_seen", standings.seen, about)
    about = f"truth rows have an item from {where}: masked, so they are misses"
    ledger.count("truth_masked", standings.hidden, about, standings.pairs, weight="warning")
    if convention.seen != "removed":
        about = describe_overlap(sides.sources)
        ledger.count("truth_in_train", standings.trained, about, standings.pairs, weight="warning")


def apply_recorded_order(standings: Reading, order: Integers) -> Reading:
    """Replace the ranks of a reading with those of a recorded order."""
    rows = standings.row[standings.list]
    above = np.full(len(rows), -1)
    step = max(1, _CELLS // order.shape[1])
    for first in range(0, len(rows), step):
        rows_here = slice(first, first + step)
        column = standings.column[rows_here]
        matches = (order[rows[rows_here]] == column[:, None]) & (column >= 0)[:, None]
        above[rows_here] = np.where(matches.any(axis=1), matches.argmax(axis=1), -1)
    best = order[:, 0]
    top_classes = None
    if standings.top_classes is not None:
        top_classes = standings.top_classes._replace(best=best, second=best, last_best=best)
    ones = np.where(above >= 0, 1, 0)
    return standings._replace(
        above=above, tied=ones, before=np.zeros_like(above), top_classes=top_classes,
        ranked=(order >= 0).sum(axis=1),
    )  # fmt: skip


def single_targets(ranked: RankedLists, rank: Integers) -> Single | None:
    """Return what class metrics need, if every list has one target among classes."""
    dense, standings = ranked.dense, ranked.reading
    if dense is None or standings is None or standings.top_classes is None:
        return None
    size = len(ranked.returned)
    target = np.full(size, dense.columns)
    has_column = standings.column >= 0
    target[standings.list[has_column]] = standings.column[has_column]
    is_hit = np.zeros(size, bool)
    is_hit[ranked.matches.list[rank == 1]] = True
    row = np.maximum(standings.row, 0)
    best = (
        standings.top_classes.last_best
        if ranked.rule == "item_descending"
        else standings.top_classes.best
    )
    top = best[row]
    wrong = np.flatnonzero((top == target) & ~is_hit)  # tied with other classes, and not first
    top[wrong] = standings.top_classes.second[row[wrong]]
    top[top < 0] = dense.columns  # a recorded order may be empty
    np.copyto(top, target, where=is_hit)
    loss = None if standings.top_classes.loss is None else standings.top_classes.loss[row]
    if loss is not None and not has_column.all():
        loss[target == dense.columns] = np.inf
    row_chances = (
        None if standings.top_classes.chances is None else standings.top_classes.chances.of(row)
    )
    return Single(target, top, dense.columns, loss, row_chances)


class Reading(NamedTuple):
    """The result of reading the scores: one entry per pair of a row and a truth row of its list.

    Pairs ranked below the largest cutoff are left out, except for logits.
    """

    list: Integers
    truth: Integers
    column: Integers
    above: Integers
    tied: Integers
    before: Integers
    ranked: Integers
    """(rows,) the number of columns that are ranked"""
    row: Integers
    """(lists,) the row of scores of each list, or -1"""
    score: Floats | None = None
    """the score of the pair, if it is needed"""
    top_classes: TopClasses | None = None
    pairs: int = 0
    """the number of all pairs, including those left out"""
    unscored: int = 0
    """the number of pairs whose item has no column"""
    hidden: int = 0
    """the number of pairs whose item is masked"""
    seen: int | None = None
    """the number of cells of seen items; None without training data"""
    trained: int = 0
    """the number of pairs whose item is seen and not masked"""


def keep_scores(convention: Convention, needs: tuple[str, ...]) -> Convention:
    """Return a convention whose reading keeps the score of every pair, if a metric needs it."""
    return convention.replace(hit_scores="positive") if "predicted" in needs else convention


def reading(sides: Aligned, dense: Dense, convention: Convention) -> Reading:
    """Return the reading that a convention needs; read the scores only if it is not cached."""
    codes = sides.items.codes["predictions"].whole
    key = ReadingKey.of(convention, bool(np.all(codes[1:] > codes[:-1])))
    if key not in sides.readings:
        known_counts = None if dense.known is None else dense.known[key]
        sides.readings[key] = _read_scores(sides, dense, key, known_counts)
    result: Reading = sides.readings[key]
    return result


def _read_scores(
    sides: Aligned, dense: Dense, key: ReadingKey, known_counts: CountedCells | None
) -> Reading:
    row, owner, truth_rows, wanted = _find_pairs(sides, dense)
    seen = None if key.seen == "kept" else sides.sources.seen_cells
    masked = with_padding(dense, seen)
    scan = _Scan(dense, wanted, masked, key.precision)
    if key.by_item:
        scan.sequence = sides.items.codes["predictions"].whole
    if key.hit_scores == "positive":
        scan.score = np.full(len(wanted.values), np.nan)
    top_classes = None
    if known_counts is not None:
        top_classes = scan.recall(known_counts)
    elif dense.kind == "logits":
        top_classes = scan.count_logits()
    else:
        scan.count_scores()
    scan.broken.require_none()
    ranked = np.full(dense.rows, dense.columns)
    if masked is not None:
        ranked -= masked.lengths
    if key.seen == "last" and seen is not None:
        ranked = _rank_seen_last(scan, ranked, seen)
    kept = slice(None) if top_classes is not None else np.flatnonzero(scan.standings[0] >= 0)
    result = _make_reading(wanted, scan.standings, kept)
    truth = result.truth if truth_rows is None else truth_rows[kept]
    score = None if scan.score is None else scan.score[kept]
    seen, seen_cells, trained = sides.sources.seen_cells, None, 0
    if seen is not None:
        seen_cells = len(seen.values)
        trained = 0 if key.seen == "removed" else count_seen(wanted, seen, dense.columns)
    return result._replace(
        list=owner[result.list], truth=truth, ranked=ranked, row=row, score=score,
        top_classes=top_classes, seen=seen_cells, trained=trained,
    )  # fmt: skip


def count_seen(wanted: Ragged, seen: Ragged, columns: int) -> int:
    """Count the wanted cells that are among the seen ones; both are columns, row by row."""
    cells, seen_cells = (side.rows() * columns + side.values for side in (wanted, seen))
    found = positions_in(seen_cells, cells[wanted.values >= 0]) >= 0
    return int(found.sum())


def reading_from_counts(
    asked: Ragged,
    standings: Counts,
    ranked: Integers,
    seen: int | None,
    trained: int,
    top_classes: TopClasses | None,
) -> Reading:
    """Make a reading from standings that were counted ahead of time; row n must be list n."""
    kept = slice(None) if top_classes is not None else np.flatnonzero(standings[0] >= 0)
    return _make_reading(asked, standings, kept)._replace(
        ranked=ranked, row=np.arange(len(ranked)), seen=seen, trained=trained,
        top_classes=top_classes,
    )  # fmt: skip


def _make_reading(wanted: Ragged, standings: Counts, kept: Integers | slice) -> Reading:
    """Make a reading of some pairs from their standings; its lists are still row numbers."""
    column, above, tied, before = (
        values[kept].astype(np.int64) for values in (wanted.values, *standings)
    )
    rows = wanted.rows()[kept]
    positions, empty = np.arange(len(wanted.values))[kept], np.empty(0, np.int64)
    return Reading(
        rows, positions, column, above, tied, before, empty, empty,
        pairs=len(wanted.values),
        unscored=int((wanted.values < 0).sum()),
        hidden=int((standings[0] == MASKED).sum()),
    )  # fmt: skip


def _find_pairs(sides: Aligned, dense: Dense) -> tuple[Integers, Integers, Integers | None, Ragged]:
    """Return the row of each list, the list of each row, and truth rows and columns of all pairs.

    The truth rows are None if pair n is truth row n, as in a truth in the order of the scores.
    There may be many millions of them.
    """
    has_row = sides.lists.length > 0
    row = np.full(len(has_row), -1)
    row[has_row] = sides.lists.rows(sides.lists.start[has_row])
    owner = np.full(dense.rows, -1)
    owner[row[has_row]] = np.flatnonzero(has_row)
    judgements = sides.judgements.repeat_lists(owner)
    start = np.concatenate(([0], np.cumsum(judgements.length)))
    codes = sides.items.codes
    column = locate(codes["predictions"].whole, codes["truth"].whole).astype(np.int32)
    adjacent = np.array_equal(
        judgements.start[judgements.length > 0], start[:-1][judgements.length > 0]
    )
    if adjacent and judgements.order is None and start[-1] == len(column):
        return row, owner, None, Ragged(start, column)
    truth_rows = judgements.rows(judgements.expand()[1])
    return row, owner, truth_rows, Ragged(start, column[truth_rows])


@dataclass(eq=False)
class _Scan:
    """One pass over the blocks; it fills `standings`: above, tied and before for every pair."""

    dense: Dense
    wanted: Ragged
    masked: Ragged | None
    precision: str
    sequence: Integers | None = None
    score: Floats | None = None
    standings: NDArray[np.int32] = field(init=False)
    broken: NanRows = field(init=False)

    def __post_init__(self) -> None:
        self.standings = np.zeros((3, len(self.wanted.values)), np.int32)
        self.broken = NanRows(self.dense)

    def blocks(self) -> Iterator[tuple[int, int, Block, slice, Ragged]]:
        """Yield each block with its first and last row, and its pairs."""
        ends = self.wanted.offsets
        for first, last, scores in self.dense.spans():
            pairs = slice(int(ends[first]), int(ends[last]))
            columns = self.wanted.block(first, last)
            yield first, last, round_scores(scores, self.precision), pairs, columns
            if self.dense.progress is not None:
                self.dense.progress(last, self.dense.rows)

    def recall(self, counts: CountedCells) -> TopClasses | None:
        """Use the standings that were counted ahead of time."""
        rows = self.wanted.rows()
        cells = np.where(self.wanted.values < 0, -1, rows * self.dense.columns + self.wanted.values)
        hidden = None if self.masked is None else keys_of(self.dense, self.masked)
        depth = None if self.dense.kind == "logits" else self.dense.depth
        self.standings[:], scores = counts.at(cells, hidden, depth)
        if self.score is not None and scores is not None:
            self.score[:] = np.where(self.wanted.values < 0, np.nan, scores)
        return counts.top_classes

    def count_scores(self) -> None:
        """Count the standings in every row."""
        for first, last, block, pairs, columns in self.blocks():
            masked = None if self.masked is None else self.masked.block(first, last)
            counts, broken = count(block, columns, masked, self.dense.depth)
            self.standings[:, pairs] = counts
            self.broken.note(first, block, broken)
            self._keep_scores(block, pairs, columns)
            if self.sequence is not None:
                _recount_by_id(self.standings[:, pairs], block, columns, masked, self.sequence)

    def count_logits(self) -> TopClasses:
        """Count the standings in every row, and find the best classes."""
        size, need_loss = self.dense.rows, self.dense.need_loss
        top_classes = np.empty((3, size), np.int64)
        loss = np.empty(size) if need_loss else None
        probabilities = np.empty((3, size if self.dense.need_probabilities else 0))
        for first, last, block, pairs, columns in self.blocks():
            has_target: Flags | slice = columns.lengths > 0
            target = np.asarray(columns.values, np.int64)
            if len(target) < last - first:  # some rows have no target
                target = np.full(last - first, -1)
                target[has_target] = columns.values[columns.offsets[:-1][has_target]]
            else:
                has_target = slice(None)
            singles, broken = single(block, target, "loss" if need_loss else "ranks")
            self.broken.note(first, block, broken)
            for column_counts, values in zip(self.standings, singles[:3], strict=True):
                column_counts[pairs] = values[has_target]
            highest = _find_last_best(block, singles.best, singles.best_tied)
            top_classes[:, first:last] = singles.best, singles.second, highest
            if loss is not None and singles.loss is not None:
                loss[first:last] = singles.loss
            if self.dense.need_probabilities:
                probabilities[:, first:last] = chances(block, target)
            self._keep_scores(block, pairs, columns)
        best, second, last_best = top_classes
        row_chances = Chances(*probabilities) if self.dense.need_probabilities else None
        return TopClasses(best, second, last_best, loss, row_chances)

    def _keep_scores(self, block: Block, pairs: slice, columns: Ragged) -> None:
        if self.score is not None:
            scores = block[columns.rows(), np.maximum(columns.values, 0)]
            self.score[pairs] = np.where(columns.values >= 0, scores, np.nan)


def round_scores(block: Block, precision: str) -> Block:
    """Return the scores at the precision at which they are compared."""
    if precision == "float64":
        return block
    with np.errstate(over="ignore"):  # a score out of range becomes infinite
        narrow = block.astype(np.float32, copy=False)
    if precision == "float32":
        return narrow
    outside = ((narrow < 0) | (narrow > 1)).any(axis=-1)
    rounded = narrow.copy()
    rounded[outside] = squash(narrow[outside])
    return rounded


def squash(narrow: NDArray[Any]) -> NDArray[Any]:
    """Return the logistic function of float32 numbers, as float32."""
    one = np.float32(1)
    with np.errstate(over="ignore"):  # a power out of range becomes infinite, and its inverse 0
        powers = np.exp(-narrow.astype(np.float64)).astype(np.float32)
    return one / (one + powers)


def _find_last_best(block: Block, best: Integers, tied: Integers) -> Integers:
    """Return the last column with the highest score, for each row."""
    last = best.copy()
    for row in np.flatnonzero(tied > 1):
        last[row] = np.flatnonzero(block[row] == block[row, best[row]])[-1]
    return last


def _recount_by_id(
    standings: NDArray[np.int32],
    block: Block,
    columns: Ragged,
    masked: Ragged | None,
    sequence: Integers,
) -> None:
    """Recount the tied items that come before, if the columns are not in the order of ids."""
    rows = columns.rows()
    for pair in np.flatnonzero(standings[1] > 1):
        row, column = rows[pair], columns.values[pair]
        equal = block[row] == block[row, column]
        if masked is not None:
            equal[masked.values[masked.offsets[row] : masked.offsets[row + 1]]] = False
        standings[2, pair] = (sequence[equal] < sequence[column]).sum()


def _rank_seen_last(scan: _Scan, ranked: Integers, seen: Ragged) -> Integers:
    """Rank seen items last, tied with each other; return how many columns are ranked then.

    The padding column is not ranked.
    """
    dense, sequence = scan.dense, scan.sequence
    seen = with_keys(dense, without_padding(dense, keys_of(dense, seen)))
    order = np.arange(dense.columns) if sequence is None else np.argsort(np.argsort(sequence))
    keys, start = np.sort(seen.rows() * dense.columns + order[seen.values]), seen.offsets
    rows = scan.wanted.rows()
    wanted_keys = rows * dense.columns + order[scan.wanted.values]
    is_seen = (scan.wanted.values >= 0) & np.isin(wanted_keys, keys)
    if dense.depth is not None:
        is_seen &= ranked[rows] < dense.depth
    rows, wanted_keys = rows[is_seen], wanted_keys[is_seen]
    scan.standings[0, is_seen] = ranked[rows]
    scan.standings[1, is_seen] = seen.lengths[rows]
    scan.standings[2, is_seen] = np.searchsorted(keys, wanted_keys) - start[rows]
    return ranked + seen.lengths
