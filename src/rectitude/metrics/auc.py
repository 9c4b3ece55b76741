"""Areas under the ROC curve, and what else compares relevant items with all other candidates.

All of it follows from the ranks of the relevant items. The j-th of them, at rank r, has r - j items
above it that are not relevant; what is left of those is below it.

Areas under the ROC curve of given lists: pairs of hits and misses, without the items that no
list holds.

Hits against the items that could be recommended: areas added up hit by hit, and a share.

Errors of a ranking of all labels: how deep one must look, and which pairs are out of order.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Flags, Floats
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import require_order
from rectitude.metrics.predicted import area, by_score, finite
from rectitude.metrics.ratings import NO_LAW, POOLED
from rectitude.metrics.registry import Counts, Facts, Ratio, count_metric, metric
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


@metric(
    "AUC within the list",
    formula="pairs of a hit and a miss in the top {k} with the hit above / all such pairs; 1 where "
    "all are hits, 0 where none is",
    reading="How well the hits are ordered before the misses of the same list; 1 says nothing of "
    "how many there are.",
    use="For numbers of tools that compute AUC from lists. One hit at rank 1 gives 1, whatever "
    "else is missing; use auc with scores of all items.",
    cite="hanley1982meaning",
    breaks=("moving_up_helps",),
)
def list_auc(lists: Judged, k: int | None) -> Ratio:
    """Share of the pairs within the list in which the hit stands above the miss."""
    hits = lists.hits(k)
    pairs = hits * (lists.returned_upto(k) - hits)
    wrong = lists.total(lists.hit * _misses_above(lists), upto=k)
    settled = (hits > 0).astype(np.float64)
    return Ratio(np.where(pairs > 0, pairs - wrong, settled), np.where(pairs > 0, pairs, 1.0))


@metric(
    "AUC within the list, undefined without hits or misses",
    formula="as list_auc, but 0/0 where the first {k} are all hits, or none is",
    reading="As list_auc; with undefined=nan, one list without a hit leaves no mean.",
    use="For numbers of tools that divide by zero there; otherwise use auc with scores of all "
    "items.",
    cite="hanley1982meaning",
    breaks=("perfect_is_best", "moving_up_helps"),
)
def list_auc_strict(lists: Judged, k: int | None) -> Ratio:
    """As list_auc, but undefined for lists without a pair."""
    hits = lists.hits(k)
    return list_auc(lists, k).where((hits > 0) & (hits < lists.returned_upto(k)))


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


def _misses_above(lists: Judged) -> Floats:
    """(found,) how many items that are no hits stand above each row."""
    return (lists.rank - lists.nth).astype(np.float64)


def _limit(lists: Judged, k: int | None) -> Floats:
    """(lists,) how many misses count: k, or all of the list, at least 1."""
    every = np.maximum(lists.returned - lists.hits(None), 1.0)
    return every if k is None else np.full(lists.size, float(k))


def _won(lists: Judged, limit: Floats, most: Floats) -> Floats:
    """(lists,) pairs of the first hits and misses, up to a limit of each, with the hit above."""
    counts = lists.hit & (lists.nth <= most[lists.list])
    below = np.maximum(limit[lists.list] - _misses_above(lists), 0.0)
    return lists.total(np.where(counts, below, 0.0))


@metric(
    "AUC of the hits",
    formula="sum over hits of (N - misses above it) / N / R, whatever the cutoff; R = relevant "
    "items, N = items of the catalogue that the user had not in training - R + 1",
    reading="0.9 means that relevant items stand above 90% of the others on average; a relevant "
    "item that is not in the list adds 0.",
    use="Use it to compare with tools that add up the area hit by hit; auc counts pairs. Lists "
    "must be complete, or it is near recall.",
    bounds=(-np.inf, np.inf),
    needs=("unseen",),
    reach="list",
)
def hit_auc(lists: Judged, k: int | None) -> Ratio:
    """Share of the other items that stand below each relevant one, averaged over those."""
    return _areas(lists, None, lists.relevant)


@metric(
    "AUC of the hits, within the cutoff",
    formula="sum over hits in the top {k} of (N - misses above it) / N / the smaller of the cutoff "
    "and R; R = relevant items, N = items of the catalogue that the user had not in training - R "
    "+ 1",
    reading="As hit_auc, of the first places alone. In a large catalogue few misses stand above a "
    "hit, so that it is recall with the smaller of cutoff and R below.",
    use="For numbers of tools that call it limited AUC; limited_auc is the area that Schröder "
    "defines.",
    bounds=(-np.inf, np.inf),
    needs=("unseen",),
)
def hit_auc_within(lists: Judged, k: int | None) -> Ratio:
    """Share of the other items that stand below each hit up to the cutoff."""
    return _areas(lists, k, lists.reachable(k))


@metric(
    "AUC of the hits, pooled",
    formula="as hit_auc, but the terms of all lists are added up and divided by all hits: relevant "
    "items that are not in a list are left out",
    reading="As hit_auc; users with more hits weigh more, and a list without hits weighs nothing.",
    use="For numbers of tools that report it as AUC. On lists that are cut, a model gains by "
    "missing what it ranks low.",
    bounds=(-np.inf, np.inf),
    needs=("unseen",),
    fixed={"average": "micro", "unit": "list"},
    reach="list",
)
def pooled_hit_auc(lists: Judged, k: int | None) -> Ratio:
    """Share of the other items that stand below a hit, averaged over the hits of all lists."""
    return _areas(lists, None, lists.hits(None))


@metric(
    "Hits per item",
    formula="hits in the top {k} / items of the catalogue",
    reading="0.0005 at 10 is one hit among the first 10 of 2,000 items. It cannot be large.",
    use="For numbers of tools that divide hits by the size of the catalogue; otherwise use hit.",
    needs=("items",),
    averages="closed form",
)
def hits_per_item(lists: Judged, k: int | None, *, facts: Facts) -> Ratio:
    """Hits over the size of the catalogue."""
    return Ratio(lists.hits(k), np.full(lists.size, float(facts.catalogue)))


def _areas(lists: Judged, k: int | None, below: Floats) -> Ratio:
    """The terms of each list over something; 0/0 where a hit has nothing to be compared with."""
    others = lists.unseen - lists.relevant + 1
    void = (others == 0) & (lists.hits(k) > 0)
    size = np.where(others == 0, 1.0, others)[lists.list]
    terms = lists.hit * (size - (lists.rank - lists.nth)) / size
    return Ratio(lists.total(terms, upto=k), below).where(~void)


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
    fixed={"scale": "fraction"},
    cutoff="none",
)
def coverage_error(lists: Judged, k: int | None) -> Ratio:
    """How far down all relevant items are found."""
    last = np.zeros(lists.size)
    np.maximum.at(last, lists.list[lists.hit], lists.rank[lists.hit].astype(float))
    ranked = (lists.relevant > 0) & (lists.hits(None) == lists.relevant)
    return Ratio.of(last).where(ranked)


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
