"""Metrics of incomplete judgements: what is known of the items in a list, and what follows."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import running
from rectitude.judge.judged import Judged
from rectitude.metrics.browsing import staying
from rectitude.metrics.choices import whole_k
from rectitude.metrics.registry import Ratio, metric

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
