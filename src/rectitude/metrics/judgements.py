"""Metrics of what the truth says of a list at all, and of how a list agrees with another one.

Where judgements are incomplete, they tell what is known, and what follows. To compare two models,
or a list before and after it was ranked anew, the truth holds the other list, in its order:
`evaluate(lists, other, ...)`.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats, running
from rectitude.judge.judged import Judged
from rectitude.metrics.browsing import staying
from rectitude.metrics.choices import whole_k
from rectitude.metrics.registry import NO_LAW, Ratio, metric

_EPSILON = 1e-5


@metric(
    "Inferred average precision",
    formula="sum over hits of (1 + drawn * (r + e) / (r + n + 2e)) / rank / R; above the hit: "
    "drawn = items in the truth, r of them relevant, n judged not relevant; e = 0.00001 (ranks up "
    "to {k})",
    reading="The average precision that a judged sample lets one expect for the whole.",
    use="Use it when only a random sample of a pool was judged, and the truth names the others "
    "with a grade below 0. With complete judgements it is nearly map.",
    cite="yilmaz2006estimating",
    fixed={"negative_grades": "sampled"},
)
def infap(lists: Judged, k: int | None) -> Ratio:
    """Average precision inferred from a sample of judgements."""
    drawn = running(np.ones(len(lists.list), bool), lists.list) - 1
    told = running(lists.grade >= 0, lists.list) - 1
    chance = (lists.nth - 1 + _EPSILON) / (np.maximum(told, 0) + 2 * _EPSILON)
    terms = np.where(lists.hit, (1 + drawn * chance) / lists.rank, 0.0)
    return Ratio(lists.total(terms, upto=k), lists.relevant)


@metric(
    "Judged",
    formula="items in the top {k} that the truth judges / items in the top {k}",
    reading="0.9 at 10 means that one item in ten among the first 10 was never judged.",
    use="Use it beside other metrics when the truth was collected for other lists: where it is "
    "low, they say little.",
    averages="closed form",
)
def judged(lists: Judged, k: int | None) -> Ratio:
    """Share of the recommended items that are judged, relevant or not."""
    return Ratio(lists.total(lists.chance(k), upto=k), lists.returned_upto(k))


@metric(
    "Unjudged",
    formula="items in the top {k} that the truth does not judge / the cutoff; without a cutoff, "
    "/ items in the list",
    reading="0.1 at 10 means that one item in ten among the first 10 was never judged.",
    use="Use it beside other metrics when the truth was collected for other lists.",
    best="low",
    breaks=("moving_up_helps",),
    averages="closed form",
)
def unjudged(lists: Judged, k: int | None) -> Ratio:
    """Share of the places that hold an item without a judgement."""
    known = lists.total(lists.chance(k), upto=k)
    return Ratio(lists.returned_upto(k) - known, whole_k(lists, k))


@metric(
    "Residual of rank-biased precision",
    formula="1 - (1 - p) * sum over judged items in the top {k} of p^(rank - 1); 0 where all items "
    "in the list are judged; p = {persistence}",
    reading="How much rbp would rise if every item without a judgement, in the list and below it, "
    "were relevant.",
    use="Use it beside rbp, whose true value lies between rbp and rbp + rbp_residual.",
    cite="moffat2008rank",
    best="low",
    breaks=("moving_up_helps",),
)
def rbp_residual(lists: Judged, k: int | None, *, persistence: float = 0.8) -> Ratio:
    """What the items without a judgement could add to rank-biased precision."""
    known = lists.total(staying(persistence)(lists.rank), upto=k)
    gaps = lists.returned_upto(k) > lists.total(np.ones(len(lists.rank)), upto=k)
    return Ratio.of(np.where(gaps, 1 - (1 - persistence) * known, 0.0))


def _common(lists: Judged, k: int | None) -> Floats:
    """(lists,) items in the first places of both."""
    if k is None:
        return lists.total(np.ones(len(lists.rank)))
    return lists.total((lists.place < k).astype(np.float64), upto=k)


@metric(
    "Unlikeness to a reference",
    formula="1 - items in the top {k} that are among the first {k} of the truth / {k}; 0/0 where "
    "there is no list or no truth; without a cutoff, of all of the truth / items in the list",
    reading="1 if none of the items would have been shown by the other model, 0 if all would.",
    use="Pass the lists of a simple model, in their order, in the place of the truth, to see what "
    "a model adds to it. unexpectedness does so with the most popular items.",
    cite="ge2010beyond",
    best="high",
    breaks=NO_LAW,
)
def unlike_reference(lists: Judged, k: int | None) -> Ratio:
    """Share of the places that the other list has not."""
    places = np.maximum(whole_k(lists, k), 1.0)
    there = (lists.returned > 0) & (lists.judged > 0)
    return Ratio(places - _common(lists, k), places).where(there)


@metric(
    "Overlap with a reference",
    formula="items in the top {k} that are among the first {k} of the truth / items in the top "
    "{k}; without a cutoff, all of the truth",
    reading="0.7 means that the other list shows 7 items of 10, too, wherever they stand.",
    use="Pass another model's lists, in their order, in the place of the truth.",
    cite="webber2010similarity",
    breaks=NO_LAW,
)
def reference_overlap(lists: Judged, k: int | None) -> Ratio:
    """Share of a list that the other one has, too."""
    return Ratio(_common(lists, k), lists.returned_upto(k))


@metric(
    "Rank-biased overlap",
    formula="sum over depths d up to {k} of {patience} ^ (d - 1) * items in the top d of both / d, "
    "divided by the sum of {patience} ^ (d - 1); the truth holds the other list, in its order; "
    "without a cutoff, up to the end of the longer of the two",
    reading="1 if both lists are the same in the same order, 0 if they share nothing.",
    use="Pass another model's lists in the place of the truth. The first places weigh most.",
    cite="webber2010similarity",
    breaks=NO_LAW,
)
def rank_biased_overlap(lists: Judged, k: int | None, *, patience: float = 0.85) -> Ratio:
    """How far two lists agree, from the top down."""
    longer = np.maximum(lists.returned, lists.truth.lengths)
    end = longer if k is None else np.full(lists.size, k)
    depths = np.arange(1, int(end.max(initial=0)) + 1)
    weights = patience ** (depths - 1)
    upto, whole = (np.append(0.0, np.cumsum(one)) for one in (weights / depths, weights))
    # an item that both have from some depth on adds the weights of all depths from there
    before, last = np.maximum(lists.rank - 1, lists.place), end[lists.list]
    agreed = lists.total(upto[last] - upto[np.minimum(before, last)])
    return Ratio(np.minimum(agreed, whole[end]), whole[end])


@metric(
    "Least item promoted",
    formula="largest place, from 0, that an item in the top {k} has in the truth, less {k}; 0 "
    "where that is negative; 0/0 where there is no truth; without a cutoff, less the length of the "
    "list",
    reading="25 at the cutoff 10 means that some item came up from place 35 of the other list.",
    use="Pass the lists before they were ranked anew in the place of the truth, to see how deep "
    "the new order reaches.",
    bounds=(0.0, np.inf),
    breaks=NO_LAW,
)
def least_item_promoted(lists: Judged, k: int | None) -> Ratio:
    """How far down the other list the items of the top come from."""
    rows, whose = lists.within(k)
    end = whole_k(lists, k)
    deepest = end.copy()
    np.maximum.at(deepest, whose, lists.place[rows].astype(np.float64))
    return Ratio.of(deepest - end).where(lists.judged > 0)
