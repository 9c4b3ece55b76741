"""AUC, and other metrics that compare relevant items with all other candidates.

All of them follow from the ranks of the relevant items. The j-th relevant item, at rank r, has r -
j non-relevant items above it; the other non-relevant items are below it. Partial AUCs need only the
hits and misses of the given lists.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Flags, Floats
from rectitude.errors import BadArgument
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import require_order
from rectitude.metrics.predicted import compute_area, count_by_score, require_finite
from rectitude.metrics.ratings import POOLED
from rectitude.metrics.registry import (
    IN_UNITS,
    RELEVANCE_LAWS,
    Counts,
    Ratio,
    count_metric,
    metric,
    require_choice,
)
from rectitude.metrics.targets import middle_rank


@metric(
    "Area under the ROC curve",
    formula="pairs of a relevant and a non-relevant item in which the relevant one is ranked "
    "higher / all such pairs, among all candidates; with a cutoff, among the first k, and 0 if "
    "these are all relevant or all non-relevant. A list of relevant candidates only is {one_kind}. "
    "Relevant items without a rank (masked, or without a score) are in no pair. Below max_fpr = 1, "
    "the area up to that share of the non-relevant items, scaled so that random guessing gives 0.5",
    reading="0.9 means that in 9 of 10 pairs the relevant item is ranked above the non-relevant "
    "one; random guessing gives 0.5. In large catalogues most pairs are easy: with an AUC of 0.95, "
    "every top-10 list can still be without a hit.",
    use="Use it when the whole ranking matters, not only its top. Equal scores count half with "
    "ties=average; otherwise the tie rule orders them.",
    cite="hanley1982meaning",
    needs=("scores",),
    averages="closed form",
)
def auc(
    lists: Judged, k: int | None, *, max_fpr: float = 1.0, one_kind: str = "undefined"
) -> Ratio:
    """Share of the pairs in which the relevant item is ranked above the other item."""
    require_choice("one_kind", one_kind, ("undefined", "zero"))
    if not 0 < max_fpr <= 1:
        raise BadArgument(f"max_fpr is {max_fpr:g}.", "a number above 0, and at most 1.")
    ranked, hits = _count_ranked(lists, k), lists.hits(k)
    _require_whole_ties(lists, k)
    pairs = hits * (ranked - hits)
    counts_as_0 = k is not None or one_kind == "zero"
    without_pairs = (pairs == 0) & (lists.relevant > 0) & counts_as_0
    area = Ratio(_count_wins(lists, k, hits, ranked), pairs)
    if max_fpr < 1:
        area = _scale_area(lists, k, pairs, ranked - hits, max_fpr)
    return Ratio(area.above, np.where(without_pairs, 1.0, area.below))


@metric(
    "Group AUC",
    formula="AUC of every list, weighted by its number of relevant items R: sum of R * auc / sum "
    "of R (ranks up to {k})",
    reading="Like auc, but users with more relevant items weigh more.",
    use="Use it to compare with reports that weight users by their number of positives; in auc, "
    "every list has the same weight.",
    cite="zhu2017optimized",
    needs=("scores",),
    fixed={"average": "micro", "unit": "list"},
    averages="closed form",
)
def gauc(lists: Judged, k: int | None) -> Ratio:
    """AUC of each list, weighted by its number of relevant items."""
    list_auc, weight = auc(lists, k), lists.hits(None)
    value = list_auc.above / np.where(list_auc.below > 0, list_auc.below, 1.0)
    return Ratio(weight * value, weight).where(list_auc.below > 0)


@metric(
    "Limited AUC",
    formula="(for each miss in the top {k}, the hits above it; for each other non-relevant item, "
    "(hits + R) / 2) / (R * non-relevant items), R = relevant candidates; without candidates, all "
    "items of the catalogue count as candidates",
    reading="The area under the ROC curve if only the top of the list is known and all items below "
    "it are in random order.",
    use="Use it when only the first k items are shown, but you want the AUC of the whole list. If "
    "the list holds every item, it equals auc.",
    cite="schroeder2011setting",
    needs=("choices",),
    reach="list",
)
def limited_auc(lists: Judged, k: int | None) -> Ratio:
    """Area under the ROC curve if the order below the cutoff is unknown."""
    ranked, hits = lists.returned_upto(k), lists.hits(k)
    relevant = lists.relevant if lists.extras.candidates is None else lists.hits(None)
    others = lists.choices - relevant
    unlisted = others - (ranked - hits)
    above = _count_wins(lists, k, hits, ranked) + (hits + relevant) / 2 * unlisted
    return Ratio(above, relevant * others)


@metric(
    "Label ranking average precision",
    formula="mean over the relevant items of (relevant items up to its rank / its rank), 0 for an "
    "item that is not ranked (ranks up to {k}); with ties=average, a tied item is counted at the "
    "last rank of its tie",
    reading="1 if all relevant items are ranked above all others. With one relevant item it is the "
    "reciprocal rank (with ties=average, that of the last rank of the tie).",
    use="Use it to compare with scikit-learn's label_ranking_average_precision_score. Without ties "
    "it equals average precision.",
    cite="tsoumakas2010mining",
    needs=("scores",),
    averages="closed form",
)
def lrap(lists: Judged, k: int | None) -> Ratio:
    """Share of relevant items among those ranked at or above each relevant item, averaged over the
    relevant items."""
    rank, relevant_up_to = (
        (lists.rank, lists.nth) if lists.last is None else (lists.last, _count_up_to_tie(lists))
    )
    reached = lists.hit if k is None else lists.hit & (rank <= k)
    return Ratio(lists.total(reached * relevant_up_to / rank), lists.relevant)


@metric(
    "Fall-out",
    formula="non-relevant items in the top {k} / all non-relevant candidates",
    reading="0.02 at 10 means that 2% of all non-relevant items are among the first 10. Lower is "
    "better, and it grows with the cutoff.",
    use="Use it together with recall: it is the other axis of the ROC curve. In large catalogues "
    "it is close to 0 for every list.",
    cite="cleverdon1966factors",
    best="low",
    needs=("scores",),
    fixed={"without_relevant": "computed"},
    averages="closed form",
)
def fall_out(lists: Judged, k: int | None) -> Ratio:
    """Share of the non-relevant items that were recommended."""
    others = lists.candidates - lists.hits(None)
    return Ratio(lists.returned_upto(k) - lists.hits(k), others)


@metric(
    "Label ranking loss",
    formula="pairs of a relevant and a non-relevant item in which the relevant one is ranked lower "
    "/ all such pairs, among all candidates: 1 - auc",
    reading="0.1 means that 1 of 10 pairs is in the wrong order; 0 is best, random guessing gives "
    "0.5.",
    use="Use it to compare with scikit-learn's label_ranking_loss, which counts equal scores as a "
    "wrong order (ties=pessimistic).",
    cite="tsoumakas2010mining",
    best="low",
    needs=("scores",),
    averages="closed form",
    cutoff="none",
)
def label_ranking_loss(lists: Judged, k: int | None) -> Ratio:
    """Share of the pairs in which the relevant item is ranked below the other item."""
    correct = auc(lists, None)
    return Ratio(correct.below - correct.above, correct.below)


@metric(
    "Coverage error",
    formula="rank of the last relevant item; undefined if any relevant item is not ranked",
    reading="12 means that users must look at 12 items, on average, to see everything relevant. "
    "The best value is the number of relevant items.",
    use="Use it when nothing relevant may be missed, as in tagging. A single item far down "
    "determines it; mean_rank looks at all relevant items. It does not measure coverage of the "
    "catalogue.",
    cite="tsoumakas2010mining",
    bounds=(1.0, np.inf),
    best="low",
    needs=("scores",),
    fixed=IN_UNITS,
    cutoff="none",
)
def coverage_error(lists: Judged, k: int | None) -> Ratio:
    """Rank by which all relevant items have appeared."""
    last = np.zeros(lists.size)
    np.maximum.at(last, lists.list[lists.hit], lists.rank[lists.hit].astype(float))
    ranked = (lists.relevant > 0) & (lists.hits(None) == lists.relevant)
    return Ratio.of(last).where(ranked)


def _count_ranked(lists: Judged, k: int | None) -> Floats:
    """Return (lists,) how many candidates are ranked up to the cutoff."""
    candidates = lists.candidates
    return (candidates if k is None else np.minimum(candidates, k)).astype(np.float64)


def _count_wins(lists: Judged, k: int | None, hits: Floats, ranked: Floats) -> Floats:
    """Return (lists,) the pairs up to the cutoff with the relevant item above; ties count half."""
    ranks = lists.total(np.where(lists.hit, middle_rank(lists), 0.0), upto=k)
    return hits * (ranked - hits) - (ranks - hits * (hits + 1) / 2)


def _scale_area(
    lists: Judged, k: int | None, pairs: Floats, others: Floats, max_fpr: float
) -> Ratio:
    """Return the area up to a false positive rate, scaled as by McClish: 0.5 for random guessing,
    1 for a perfect list."""
    area = _area_upto(lists, k, max_fpr * others) / np.maximum(pairs, 1.0)
    least, most = max_fpr**2 / 2, max_fpr
    scaled = 0.5 * (1 + (area - least) / (most - least))
    defined = (pairs > 0).astype(np.float64)
    return Ratio(scaled * defined, defined)


def _area_upto(lists: Judged, k: int | None, end: Floats) -> Floats:
    """Return (lists,) the area under the curve of hits over misses, up to this number of misses.

    The curve of a relevant item rises from 0 to 1 between the misses above it and those that it
    ties with.
    """
    first, last = lists.rank, lists.rank if lists.last is None else lists.last
    upto = lists.nth if lists.last is None else _count_up_to_tie(lists)
    tied = _count_in_tie(lists)
    above, through = first - 1 - (upto - tied), last - upto
    limit = end[lists.list]
    rise = np.clip(limit, above, through) - above
    width = np.maximum(through - above, 1.0)
    area = rise * rise / (2 * width) + np.maximum(limit - through, 0.0)
    return lists.total(np.where(lists.hit, area, 0.0), upto=k)


def _count_in_tie(lists: Judged) -> Floats:
    """Return (rows,) the relevant items that have the same score, with the item itself."""
    if lists.last is None:
        return np.ones(len(lists.rank))
    step = int(lists.rank.max(initial=0)) + 1
    key = lists.list * step + lists.rank
    before = np.concatenate(([0.0], np.cumsum(lists.hit)))
    return before[np.searchsorted(key, key, side="right")] - before[np.searchsorted(key, key)]


def _require_whole_ties(lists: Judged, k: int | None) -> None:
    """Raise an error if the cutoff splits a tie: the value is then not a sum over ranks."""
    if k is None or lists.last is None:
        return
    if (lists.hit & (lists.rank <= k) & (lists.last > k)).any():
        require_order(lists, f"the cutoff {k} splits a tie that includes a relevant item")


def _count_up_to_tie(lists: Judged) -> Floats:
    """Return (rows,) how many relevant items of the list have at least this score.

    Rows of the same tie have the same first and last rank.
    """
    starts = np.searchsorted(lists.list, lists.list)
    before = np.concatenate(([0.0], np.cumsum(lists.hit)))
    step = int(lists.rank.max(initial=0)) + 1
    key = lists.list * step + lists.rank
    return before[np.searchsorted(key, key, side="right")] - before[starts]


def pairs_by_score(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """Count the relevant and the non-relevant judged items of each score."""
    selected, score = counts[lists.list], require_finite(lists.score, lists.list)
    return count_by_score(score[selected], lists.hit[selected])


@count_metric(
    "AUC of all judged pairs",
    counts=pairs_by_score,
    formula="pairs of a relevant and a non-relevant judged item, from the same list or from two "
    "lists, in which the relevant one has the higher score (ties count half) / all such pairs",
    reading="0.8 means that in 8 of 10 pairs the relevant item has a higher score than the item "
    "judged not relevant, no matter which users the two belong to. Knowing which users click often "
    "is enough to get above 0.5.",
    use="Use it for click models, when scores must be comparable between users and the truth "
    "includes what was shown but not clicked (grade 0); auc and gauc compare within each user. Its "
    "memory grows with the number of distinct scores.",
    cite="hanley1982meaning",
    breaks=RELEVANCE_LAWS,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def pairs_auc(counts: Counts) -> float:
    """Share of the pairs of judged items, over all lists, in which the relevant one scores
    higher."""
    return compute_area(counts)


@metric(
    "AUC of grades",
    formula="pairs of judged items with different grades in which the higher grade is ranked "
    "higher / all such pairs. Items without a rank are in no pair (ranks up to {k})",
    reading="0.9 means that 9 of 10 pairs of different grades are in the right order; random "
    "guessing gives 0.5. With two grades, it is the AUC of the judged items.",
    use="Use it when relevance is graded and all candidates are judged, as in learning to rank. "
    "Equal scores count half with ties=average; otherwise the tie rule orders them.",
    cite="hanley1982meaning",
    averages="closed form",
    breaks=("perfect_is_best", "moving_up_helps"),
)
def graded_auc(lists: Judged, k: int | None) -> Ratio:
    """Share of the pairs of different grades that are in the right order."""
    return _compare_pairs(lists, k, lists.grade)


@metric(
    "AUC of all pairs",
    formula="pairs of judged items in which the first is ranked higher / all pairs; the first is "
    "the one with the higher grade, or with equal grades the earlier one in the truth. 0/0 for a "
    "list with fewer than 3 judged items (ranks up to {k})",
    reading="Pairs of equal grades add noise: even the best ranking is about halfway between 0.5 "
    "and 1 if most grades are equal.",
    use="Use it to reproduce tools that compare all pairs; otherwise use graded_auc, which "
    "compares pairs of different grades.",
    averages="closed form",
    breaks=("perfect_is_best", "moving_up_helps"),
    sees="items",
)
def all_pairs_auc(lists: Judged, k: int | None) -> Ratio:
    """Share of all pairs that are in the order of their grades and positions in the truth."""
    order = np.lexsort((lists.place, -lists.grade))
    worth = np.empty(len(order))
    worth[order] = np.arange(len(order), 0, -1)  # no two are equal
    return _compare_pairs(lists, k, worth).where(lists.judged >= 3)


def _compare_pairs(lists: Judged, k: int | None, worth: Floats) -> Ratio:
    """Return the pairs of different worth with the more valuable item ranked higher, over all such
    pairs. The lists of each length are compared at once."""
    if k is not None and lists.last is not None and ((lists.rank <= k) & (lists.last > k)).any():
        require_order(lists, f"the cutoff {k} splits a tie")
    found, owners = lists.within(k)
    worth, ranks = worth[found], lists.rank[found]
    above, below = np.zeros(lists.size), np.zeros(lists.size)
    lengths = np.bincount(owners, minlength=lists.size)
    starts = np.cumsum(lengths) - lengths
    for length in np.unique(lengths[lengths > 1]).tolist():
        same = np.flatnonzero(lengths == length)
        for some in np.array_split(same, -(-len(same) * length**2 // _PAIRS_AT_ONCE)):
            rows = starts[some, None] + np.arange(length)
            value, rank = worth[rows], ranks[rows]
            better = value[:, :, None] > value[:, None, :]
            ahead = np.sign(rank[:, None, :] - rank[:, :, None])
            above[some] = np.where(better, (ahead + 1) / 2, 0.0).sum(axis=(1, 2))
            below[some] = better.sum(axis=(1, 2))
    return Ratio(above, below)


_PAIRS_AT_ONCE = 4_000_000


@metric(
    "Partial AUC",
    formula="for each relevant item, how many of the first {k} misses of the list are below it / "
    "({k} * relevant items); without a cutoff, all misses of the list",
    reading="1 if all relevant items are ranked above the first miss. A relevant item with k or "
    "more misses above it adds 0.",
    use="Use it as an AUC of the top of the list. The cutoff counts misses, not ranks: provide "
    "lists of k + R items. A relevant item that is not in the list counts as if it had k misses "
    "above it.",
    cite="hiranandani2020optimization",
    reach="list",
)
def pauc(lists: Judged, k: int | None) -> Ratio:
    """Share of correctly ordered pairs of a relevant item and one of the first k misses."""
    limit = _limit_misses(lists, k)
    return Ratio(_count_won(lists, limit, np.full(lists.size, np.inf)), lists.relevant * limit)


@metric(
    "Partial AUC, undefined for short lists",
    formula="as pauc, but 0/0 for a list that ends before {k} misses and before its last relevant "
    "item",
    reading="Read it like pauc.",
    use="Use it with undefined=skip to leave out lists that are too short for pauc.",
    cite="hiranandani2020optimization",
    breaks=("perfect_is_best",),
    reach="list",
)
def pauc_strict(lists: Judged, k: int | None) -> Ratio:
    """Like pauc, but undefined for lists that are too short to determine it."""
    return pauc(lists, k).where(_are_long_enough(lists, k))


@metric(
    "Partial AUC of the first positives",
    formula="as pauc, but only for the first {k} hits, divided by {k} * min({k}, relevant items)",
    reading="Similar to pauc for users with few relevant items, and to precision for users with "
    "many.",
    use="Use it when the number of relevant items differs a lot between users and lists have a "
    "fixed length; lists of 2k items are long enough.",
    cite="hiranandani2020optimization",
    reach="list",
)
def pap(lists: Judged, k: int | None) -> Ratio:
    """Share of correctly ordered pairs of one of the first k hits and one of the first k misses."""
    limit = _limit_misses(lists, k)
    return Ratio(_count_won(lists, limit, limit), np.minimum(lists.relevant, limit) * limit)


@metric(
    "Partial AUC of the first positives, undefined for short lists",
    formula="as pap, but 0/0 for a list that ends before {k} misses and before its last relevant "
    "item",
    reading="Read it like pap.",
    use="Use it with undefined=skip to leave out lists that are too short for pap.",
    cite="hiranandani2020optimization",
    breaks=("perfect_is_best",),
    reach="list",
)
def pap_strict(lists: Judged, k: int | None) -> Ratio:
    """Like pap, but undefined for lists that are too short to determine it."""
    return pap(lists, k).where(_are_long_enough(lists, k))


def _are_long_enough(lists: Judged, k: int | None) -> Flags:
    """Return (lists,) whether a list has all misses that count, or all relevant items."""
    hits = lists.hits(None)
    filled = lists.returned if lists.slots is None else lists.slots
    return np.asarray(
        (filled - hits >= _limit_misses(lists, k)) | (hits == lists.relevant), np.bool_
    )


def misses_above(lists: Judged) -> Floats:
    """Return (rows,) how many misses are ranked above each row."""
    rank = lists.rank if lists.slot is None else lists.slot
    return (rank - lists.nth).astype(np.float64)


def _limit_misses(lists: Judged, k: int | None) -> Floats:
    """Return (lists,) how many misses count: k, or all misses of the list, at least 1."""
    all_misses = np.maximum(lists.returned - lists.hits(None), 1.0)
    return all_misses if k is None else np.full(lists.size, float(k))


def _count_won(lists: Judged, limit: Floats, max_hits: Floats) -> Floats:
    """Return (lists,) the pairs of the first hits and misses, limited in both, with the hit
    above."""
    considered = lists.hit & (lists.nth <= max_hits[lists.list])
    below = np.maximum(limit[lists.list] - misses_above(lists), 0.0)
    return lists.total(np.where(considered, below, 0.0))
