"""Areas under the ROC curve of given lists: pairs of hits and misses, without the items that no
list holds."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats
from rectitude.judge.judged import Judged
from rectitude.metrics.registry import Ratio, metric


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
