"""Metrics that measure how complete the judgements are, and how well two lists agree.

If judgements are incomplete, they show how much of a list is judged, and what follows from that. To
compare two models, or a list before and after re-ranking, pass the other list, in its order, as the
truth: `evaluate(lists, other, ...)`.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Flags, Floats, running_count
from rectitude.errors import NothingToEvaluate
from rectitude.judge.judged import Judged
from rectitude.metrics.browsing import reach_weights
from rectitude.metrics.choices import whole_k
from rectitude.metrics.exposure import count_times_shown
from rectitude.metrics.registry import RELEVANCE_LAWS, Counts, Ratio, count_metric, metric

_EPSILON = 1e-5


@metric(
    "Inferred average precision",
    formula="sum over hits of (1 + drawn * (r + e) / (r + n + 2e)) / rank / R; among the items "
    "above the hit: drawn = items in the truth, r = judged relevant, n = judged not relevant; e = "
    "0.00001 (ranks up to {k})",
    reading="The average precision that is estimated from a judged sample.",
    use="Use it if only a random sample of a pool was judged, and the truth lists the other items "
    "of the pool with a grade below 0. With complete judgements it is nearly equal to map.",
    cite="yilmaz2006estimating",
    fixed={"negative_grades": "sampled"},
)
def infap(lists: Judged, k: int | None) -> Ratio:
    """Average precision inferred from a sample of judgements."""
    drawn = running_count(np.ones(len(lists.list), bool), lists.list) - 1
    judged_above = running_count(lists.grade >= 0, lists.list) - 1
    chance = (lists.nth - 1 + _EPSILON) / (np.maximum(judged_above, 0) + 2 * _EPSILON)
    terms = np.where(lists.hit, (1 + drawn * chance) / lists.rank, 0.0)
    return Ratio(lists.total(terms, upto=k), lists.relevant)


@metric(
    "Judged",
    formula="judged items in the top {k} / items in the top {k}",
    reading="0.9 at 10 means that one of the first 10 items was never judged.",
    use="Use it next to other metrics if the truth was collected for other lists: if it is low, "
    "the other values mean little.",
    averages="closed form",
)
def judged(lists: Judged, k: int | None) -> Ratio:
    """Share of the recommended items that are judged, relevant or not."""
    return Ratio(lists.total(lists.chance(k), upto=k), lists.returned_upto(k))


@metric(
    "Unjudged",
    formula="items in the top {k} without a judgement / the cutoff; without a cutoff, / items in "
    "the list",
    reading="0.1 at 10 means that one of the first 10 items was never judged.",
    use="Use it next to other metrics if the truth was collected for other lists.",
    best="low",
    breaks=("moving_up_helps",),
    averages="closed form",
)
def unjudged(lists: Judged, k: int | None) -> Ratio:
    """Share of the positions with an item that was not judged."""
    judged_items = lists.total(lists.chance(k), upto=k)
    return Ratio(lists.returned_upto(k) - judged_items, whole_k(lists, k))


def items_never_judged(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """Count how often each item is shown and judged, and the positions of lists with truth.

    The number of positions is not a count per item: only its sum is meaningful.
    """
    stock, with_truth = lists.stock, counts & lists.in_truth
    return {
        "shown": count_times_shown(lists, counts),
        "judged": np.bincount(lists.wanted, minlength=len(stock.ids)),
        "positions": np.array([int(whole_k(lists, k)[with_truth].sum())]),
    }


@count_metric(
    "Hole",
    counts=items_never_judged,
    formula="items in the top {k} that are in the truth of no list at all / (cutoff * lists with "
    "truth), over all lists; without a cutoff, / items in the lists with truth",
    reading="0.3 at 10 means that 3 of the first 10 items were never judged for anybody.",
    use="Use it next to other metrics if the truth was collected for other lists. unjudged counts "
    "the items that were not judged for this very list.",
    cite="thakur2021beir",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("shown", "stock", "wanted"),
)
def hole(counts: Counts) -> float:
    """Share of the positions with an item that was never judged, for any list."""
    positions = int(counts["positions"].sum())
    if not positions:
        raise NothingToEvaluate(
            "there is no list with truth.",
            "at least one list with truth.",
            "check that the truth and the predictions have the same users.",
        )
    judged = np.flatnonzero(counts["judged"])
    return (int(counts["shown"].sum()) - int(counts["shown"][judged].sum())) / positions


@metric(
    "Residual of rank-biased precision",
    formula="1 - (1 - p) * sum over judged items in the top {k} of p^(rank - 1); 0 if all items in "
    "the list are judged; p = {persistence}",
    reading="How much rbp would rise if every unjudged item, in the list and below it, were "
    "relevant.",
    use="Use it together with rbp, whose true value is between rbp and rbp + rbp_residual.",
    cite="moffat2008rank",
    best="low",
    breaks=("moving_up_helps",),
)
def rbp_residual(lists: Judged, k: int | None, *, persistence: float = 0.8) -> Ratio:
    """How much unjudged items could add to rank-biased precision."""
    judged_weight = lists.total(reach_weights(persistence)(lists.rank), upto=k)
    has_unjudged = lists.returned_upto(k) > lists.total(np.ones(len(lists.rank)), upto=k)
    return Ratio.of(np.where(has_unjudged, 1 - (1 - persistence) * judged_weight, 0.0))


def _count_common(lists: Judged, k: int | None) -> Floats:
    """Return (lists,) how many items the first k of both lists have in common."""
    if k is None:
        return lists.total(np.ones(len(lists.rank)))
    return lists.total((lists.place < k).astype(np.float64), upto=k)


@metric(
    "Dissimilarity to a reference",
    formula="1 - items in the top {k} that are among the first {k} of the truth / {k}; 0/0 if "
    "there is no list or no truth; without a cutoff, 1 - items in the list that are in the truth / "
    "items in the list",
    reading="1 if the other model would show none of the items, 0 if it would show all of them.",
    use="Pass the lists of a simple model, in their order, as the truth, to see what your model "
    "adds. unexpectedness does the same with the most popular items.",
    cite="ge2010beyond",
    best="high",
    breaks=RELEVANCE_LAWS,
    sees="items",
)
def unlike_reference(lists: Judged, k: int | None) -> Ratio:
    """Share of the positions whose items are not in the other list."""
    positions = np.maximum(whole_k(lists, k), 1.0)
    both_exist = (lists.returned > 0) & (lists.judged > 0)
    return Ratio(positions - _count_common(lists, k), positions).where(both_exist)


@metric(
    "Overlap with a reference",
    formula="items in the top {k} that are among the first {k} of the truth / items in the top "
    "{k}; without a cutoff, all of the truth",
    reading="0.7 means that 7 of 10 items are also in the other list, at any rank.",
    use="Pass another model's lists, in their order, as the truth.",
    cite="webber2010similarity",
    breaks=RELEVANCE_LAWS,
    sees="items",
)
def reference_overlap(lists: Judged, k: int | None) -> Ratio:
    """Share of a list that is also in the other list."""
    return Ratio(_count_common(lists, k), lists.returned_upto(k))


@metric(
    "Rank-biased overlap",
    formula="sum over depths d up to {k} of {patience} ^ (d - 1) * items in the top d of both / d, "
    "divided by the sum of {patience} ^ (d - 1); the truth is the other list, in its order; "
    "without a cutoff, up to the end of the longer list",
    reading="1 if both lists have the same items in the same order, 0 if they share no item.",
    use="Pass another model's lists, in their order, as the truth. The first ranks have the most "
    "weight.",
    cite="webber2010similarity",
    breaks=RELEVANCE_LAWS,
    sees="items",
)
def rank_biased_overlap(lists: Judged, k: int | None, *, patience: float = 0.85) -> Ratio:
    """Agreement of two lists, with more weight at the top."""
    longer = np.maximum(lists.returned, lists.truth.lengths)
    end = longer if k is None else np.full(lists.size, k)
    depths = np.arange(1, int(end.max(initial=0)) + 1)
    weights = patience ** (depths - 1)
    partial, total = (np.append(0.0, np.cumsum(terms)) for terms in (weights / depths, weights))
    # an item that both lists have up to some depth adds the weights of all depths from there on
    before, last = np.maximum(lists.rank - 1, lists.place), end[lists.list]
    agreed = lists.total(partial[last] - partial[np.minimum(before, last)])
    return Ratio(np.minimum(agreed, total[end]), total[end])


@metric(
    "Deepest item promoted",
    formula="largest position, from 0, that an item in the top {k} has in the truth, minus {k}; 0 "
    "if that is negative; 0/0 if there is no truth; without a cutoff, minus the length of the list",
    reading="25 at cutoff 10 means that some item in the top 10 came from position 35 of the other "
    "list.",
    use="Pass the lists before re-ranking as the truth, to see how deep the re-ranking reaches.",
    bounds=(0.0, np.inf),
    breaks=RELEVANCE_LAWS,
    sees="items",
)
def least_item_promoted(lists: Judged, k: int | None) -> Ratio:
    """How far down the other list the items of the top come from."""
    rows, list_of_row = lists.within(k)
    end = whole_k(lists, k)
    deepest = end.copy()
    np.maximum.at(deepest, list_of_row, lists.place[rows].astype(np.float64))
    return Ratio.of(deepest - end).where(lists.judged > 0)
