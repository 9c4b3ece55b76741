"""Areas under the ROC curve, and what else compares relevant items with all other candidates.

All of it follows from the ranks of the relevant items. The j-th of them, at rank r, has r - j items
above it that are not relevant; what is left of those is below it. Partial areas do with the hits
and misses of given lists.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Flags, Floats
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import require_order
from rectitude.metrics.predicted import area, by_score, finite
from rectitude.metrics.ratings import POOLED
from rectitude.metrics.registry import IN_UNITS, NO_LAW, Counts, Ratio, count_metric, metric
from rectitude.metrics.targets import middle_rank


@metric(
    "Area under the ROC curve",
    formula="pairs of a relevant item and one that is not, with the relevant one above / all such "
    "pairs, among all candidates; at k, among the first k, and 0 where one kind is missing there. "
    "Relevant items that are not ranked, masked ones or without a score, are in no pair",
    reading="0.9 means that a relevant item stands above one that is not in 9 of 10 pairs; "
    "guessing gives 0.5. In large catalogues most pairs are easy: 0.95 can leave the top of every "
    "list without a hit.",
    use="Use it when the whole ranking counts, not its top. Equal scores count half with "
    "ties=average, else as the tie rule orders them.",
    cite="hanley1982meaning",
    needs=("scores",),
    averages="closed form",
)
def auc(lists: Judged, k: int | None) -> Ratio:
    """Share of the pairs in which the relevant item stands above the other."""
    places, hits = _places(lists, k), lists.hits(k)
    _require_whole_ties(lists, k)
    pairs = hits * (places - hits)
    one_kind = (pairs == 0) & (lists.relevant > 0) if k is not None else np.zeros(lists.size, bool)
    return Ratio(_wins(lists, k, hits, places), np.where(one_kind, 1.0, pairs))


@metric(
    "Group AUC",
    formula="auc of every list, weighted by its relevant items: sum of R * auc / sum of R "
    "(ranks up to {k})",
    reading="As auc, but users with more relevant items weigh more.",
    use="Use it to compare with reports that weigh users by their positives; auc weighs every "
    "list alike.",
    cite="zhu2017optimized",
    needs=("scores",),
    fixed={"average": "micro", "unit": "list"},
    averages="closed form",
)
def gauc(lists: Judged, k: int | None) -> Ratio:
    """AUC of each list, weighted by its relevant items."""
    area, weight = auc(lists, k), lists.hits(None)
    value = area.above / np.where(area.below > 0, area.below, 1.0)
    return Ratio(weight * value, weight).where(area.below > 0)


@metric(
    "Limited AUC",
    formula="(for each miss in the top {k}, the hits above it; (hits + R) / 2 for each other item "
    "that is not relevant) / (R * items that are not relevant), R = relevant candidates",
    reading="The area under the ROC curve if only the top of the list is known and the rest is in "
    "random order.",
    use="Use it where only the first k items are shown, yet the whole area is wanted; with every "
    "item in the list it equals auc.",
    cite="schroeder2011setting",
    needs=("scores",),
)
def limited_auc(lists: Judged, k: int | None) -> Ratio:
    """Area under the ROC curve where nothing is known of the order below the cutoff."""
    places, hits, relevant = _places(lists, k), lists.hits(k), lists.hits(None)
    others = lists.candidates - relevant
    unlisted = others - (places - hits)
    above = _wins(lists, k, hits, places) + (hits + relevant) / 2 * unlisted
    return Ratio(above, relevant * others)


@metric(
    "Label ranking average precision",
    formula="mean over the relevant items of (relevant items up to its rank / its rank), 0 if it "
    "is not ranked (ranks up to {k}); with ties=average, equals stand above each other",
    reading="1 when all relevant items stand above all others. With one relevant item it is the "
    "reciprocal rank, the worst one among equals with ties=average.",
    use="Use it to compare with scikit-learn's score of that name; on one order it is average "
    "precision.",
    cite="tsoumakas2010mining",
    needs=("scores",),
    averages="closed form",
)
def lrap(lists: Judged, k: int | None) -> Ratio:
    """Share of relevant items among those up to a relevant item, averaged over the relevant
    ones."""
    rank, upto = (lists.rank, lists.nth) if lists.last is None else (lists.last, _upto_ties(lists))
    reached = lists.hit if k is None else lists.hit & (rank <= k)
    return Ratio(lists.total(reached * upto / rank), lists.relevant)


@metric(
    "Fall-out",
    formula="items in the top {k} that are not relevant / all candidates that are not relevant",
    reading="0.02 at 10 means that 2% of all items that are not relevant are among the first 10. "
    "Lower is better, and it grows with the cutoff.",
    use="Use it beside recall, as the other axis of the ROC curve. In large catalogues it is near "
    "0 for every list.",
    cite="cleverdon1966factors",
    best="low",
    needs=("scores",),
    fixed={"without_relevant": "computed"},
    averages="closed form",
)
def fall_out(lists: Judged, k: int | None) -> Ratio:
    """Share of the items that are not relevant that were recommended."""
    others = lists.candidates - lists.hits(None)
    return Ratio(lists.returned_upto(k) - lists.hits(k), others)


@metric(
    "Label ranking loss",
    formula="pairs of a relevant item and one that is not, with the relevant one below / all such "
    "pairs, among all candidates: 1 - auc",
    reading="0.1 means that 1 of 10 pairs is in the wrong order; 0 is best, guessing gives 0.5.",
    use="Use it to compare with scikit-learn's loss of that name, in which equal scores are a "
    "wrong order (ties=pessimistic).",
    cite="tsoumakas2010mining",
    best="low",
    needs=("scores",),
    averages="closed form",
    cutoff="none",
)
def label_ranking_loss(lists: Judged, k: int | None) -> Ratio:
    """Share of the pairs in which the relevant item stands below the other."""
    right = auc(lists, None)
    return Ratio(right.below - right.above, right.below)


@metric(
    "Coverage error",
    formula="rank of the last relevant item; undefined where one of them is not ranked",
    reading="12 means that a user must look at 12 items, on average, to have met everything "
    "relevant. At best it is the number of relevant items.",
    use="Use it when nothing relevant may be missed, as in tagging. One item far down decides it; "
    "mean_rank looks at all of them. It is no coverage of the catalogue.",
    cite="tsoumakas2010mining",
    bounds=(1.0, np.inf),
    best="low",
    needs=("scores",),
    fixed=IN_UNITS,
    cutoff="none",
)
def coverage_error(lists: Judged, k: int | None) -> Ratio:
    """How far down all relevant items are found."""
    last = np.zeros(lists.size)
    np.maximum.at(last, lists.list[lists.hit], lists.rank[lists.hit].astype(float))
    ranked = (lists.relevant > 0) & (lists.hits(None) == lists.relevant)
    return Ratio.of(last).where(ranked)


def _places(lists: Judged, k: int | None) -> Floats:
    """(lists,) how many candidates stand up to the cutoff."""
    candidates = lists.candidates
    return (candidates if k is None else np.minimum(candidates, k)).astype(np.float64)


def _wins(lists: Judged, k: int | None, hits: Floats, places: Floats) -> Floats:
    """(lists,) pairs up to the cutoff with the relevant item above; those of equals count half."""
    ranks = lists.total(np.where(lists.hit, middle_rank(lists), 0.0), upto=k)
    return hits * (places - hits) - (ranks - hits * (hits + 1) / 2)


def _require_whole_ties(lists: Judged, k: int | None) -> None:
    """Refuse a cutoff between equals, where the value is no sum over ranks."""
    if k is None or lists.last is None:
        return
    if (lists.hit & (lists.rank <= k) & (lists.last > k)).any():
        require_order(lists, f"rank {k} lies between items with the score of a relevant one")


def _upto_ties(lists: Judged) -> Floats:
    """(found,) relevant items with at least this score. Rows of one tie share first and last."""
    starts = np.searchsorted(lists.list, lists.list)
    before = np.concatenate(([0.0], np.cumsum(lists.hit)))
    step = int(lists.rank.max(initial=0)) + 1
    place = lists.list * step + lists.rank
    return before[np.searchsorted(place, place, side="right")] - before[starts]


def pairs_by_score(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """How many judged items of each score are relevant, and how many are not."""
    mine, score = counts[lists.list], finite(lists.score, lists.list)
    return by_score(score[mine], lists.hit[mine])


@count_metric(
    "AUC of all judged pairs",
    counts=pairs_by_score,
    formula="pairs of a relevant and another judged item, of the same list or of two, in which the "
    "relevant one has the higher score, equals counting half / all such pairs",
    reading="0.8 means that a relevant judged item scores higher than one judged not relevant in 8 "
    "of 10 pairs, whoever they were predicted for. Knowing who clicks often is enough to be above "
    "0.5.",
    use="Use it for click models, where scores must compare between users and the truth holds what "
    "was shown and not clicked (grade 0); auc and gauc compare within users. It keeps a count for "
    "every different score.",
    cite="hanley1982meaning",
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def pairs_auc(counts: Counts) -> float:
    """Share of the pairs of judged items, of all lists, in which the relevant one scores higher."""
    return area(counts)


@metric(
    "Partial AUC",
    formula="for each relevant item, the first {k} misses of the list that stand below it / "
    "({k} * relevant items); without a cutoff, all misses of the list",
    reading="1 if all relevant items stand above the first miss; an item below k misses adds 0.",
    use="Use it as an AUC of the top. The cutoff counts misses, not places: hand over lists of "
    "k + R items, or what is not listed counts as standing below k misses.",
    cite="hiranandani2020optimization",
    reach="list",
)
def pauc(lists: Judged, k: int | None) -> Ratio:
    """Share of the pairs of a relevant item and one of the first k misses in the right order."""
    limit = _limit(lists, k)
    return Ratio(_won(lists, limit, np.full(lists.size, np.inf)), lists.relevant * limit)


@metric(
    "Partial AUC, undefined for short lists",
    formula="as pauc, but 0/0 for a list that ends before {k} misses and before the last relevant "
    "item",
    reading="As pauc.",
    use="Use it with undefined=skip to leave out the lists that are too short for pauc.",
    cite="hiranandani2020optimization",
    breaks=("perfect_is_best",),
    reach="list",
)
def pauc_strict(lists: Judged, k: int | None) -> Ratio:
    """As pauc, but undefined for lists that end too early to know it."""
    hits = lists.hits(None)
    known = (lists.returned - hits >= _limit(lists, k)) | (hits == lists.relevant)
    return pauc(lists, k).where(known)


@metric(
    "Partial AUC of the first positives",
    formula="as pauc, but only of the first {k} hits, over {k} * min({k}, relevant items)",
    reading="Like pauc for users with few relevant items, like precision for those with many.",
    use="Use it where users have very different numbers of relevant items, and lists end at some "
    "length; lists of 2k items are long enough.",
    cite="hiranandani2020optimization",
    reach="list",
)
def pap(lists: Judged, k: int | None) -> Ratio:
    """Share of the pairs of one of the first k hits and one of the first k misses in the right
    order."""
    limit = _limit(lists, k)
    return Ratio(_won(lists, limit, limit), np.minimum(lists.relevant, limit) * limit)


def misses_above(lists: Judged) -> Floats:
    """(found,) how many items that are no hits stand above each row."""
    return (lists.rank - lists.nth).astype(np.float64)


def _limit(lists: Judged, k: int | None) -> Floats:
    """(lists,) how many misses count: k, or all of the list, at least 1."""
    every = np.maximum(lists.returned - lists.hits(None), 1.0)
    return every if k is None else np.full(lists.size, float(k))


def _won(lists: Judged, limit: Floats, most: Floats) -> Floats:
    """(lists,) pairs of the first hits and misses, up to a limit of each, with the hit above."""
    counts = lists.hit & (lists.nth <= most[lists.list])
    below = np.maximum(limit[lists.list] - misses_above(lists), 0.0)
    return lists.total(np.where(counts, below, 0.0))
