"""Areas under the ROC curve, and what else compares relevant items with all other candidates.

All of it follows from the ranks of the relevant items. The j-th of them, at rank r, has r - j items
above it that are not relevant; what is left of those is below it.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Flags, Floats
from rectitude.data.pairs import area, by_score, finite
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import require_order
from rectitude.metrics.needs import needed
from rectitude.metrics.ratings import NO_LAW, POOLED
from rectitude.metrics.registry import Counts, Ratio, count_metric, metric
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


def pairs_by_score(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """How many judged items of each score are relevant, and how many are not."""
    mine, score = counts[lists.list], finite(needed(lists.score, "predicted"), lists.list)
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
    others = needed(lists.candidates, "scores") - relevant
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


def _places(lists: Judged, k: int | None) -> Floats:
    """(lists,) how many candidates stand up to the cutoff."""
    candidates = needed(lists.candidates, "scores")
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
