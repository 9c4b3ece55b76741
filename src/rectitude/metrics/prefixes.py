"""Precision and recall averaged along the list: at the hits, or over all of its beginnings."""

from __future__ import annotations

import numpy as np

from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Count, by_rank, whole_k
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Average recall",
    name="mar",
    formula="sum over hits in the top {k} of (hits so far / R) / {ap_over}, R = relevant items",
    reading="(h + 1) h / 2 for h hits, over R times what is divided by: a perfect list of R items "
    "has (R + 1) / 2R, near a half. Only the number of hits counts, not their ranks.",
    use="For numbers of tools that report it beside average precision; recall says the same in "
    "plainer words.",
)
def average_recall(lists: Judged, k: int | None, *, ap_over: Count) -> Ratio:
    """Sum of the recall at the ranks of the relevant items."""
    terms = np.where(lists.hit, lists.nth / np.maximum(lists.relevant, 1.0)[lists.list], 0.0)
    return Ratio(lists.total(terms, upto=k), ap_over(lists, k))


@metric(
    "Mean precision over all prefixes",
    formula="mean over n = 1 to {k} of (hits in the first n / n)",
    reading="A hit at rank 1 counts in every prefix, one at the last rank in a single one. No "
    "average precision: it cannot reach 1 when fewer items are relevant than places.",
    use="Use it to reward early hits by how much of the screen lies below them, and to compare "
    "with tools that call it MAP.",
    averages="closed form",
)
def mean_prefix_precision(lists: Judged, k: int | None) -> Ratio:
    """Precision at every cutoff up to k, averaged; a list that ends early gains nothing more."""
    ends = whole_k(lists, k)
    deepest = int(max(ends.max(initial=0), lists.rank.max(initial=0)))
    upto = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, deepest + 1))))
    missed = by_rank(lists, k, lambda ranks: upto[ranks - 1])
    terms = lists.chance(k) * upto[ends.astype(np.int64)][lists.list] - missed
    return Ratio(lists.total(lists.hit * terms, upto=k), ends)


@metric(
    "Mean recall over all prefixes",
    formula="mean over n = 1 to {k} of (hits in the first n / R), R = relevant items",
    reading="1 only if all relevant items stood at rank 1; a list with its R hits in front has "
    "1 - (R - 1) / 2k.",
    use="Use it where relevant items should be found early, and to compare with tools that call "
    "it MAR.",
    averages="closed form",
)
def mean_prefix_recall(lists: Judged, k: int | None) -> Ratio:
    """Recall at every cutoff up to k, averaged; a list that ends early finds nothing more."""
    ends = whole_k(lists, k)
    missed = by_rank(lists, k, lambda ranks: ranks.astype(np.float64))
    terms = lists.chance(k) * (ends + 1)[lists.list] - missed
    return Ratio(lists.total(lists.hit * terms, upto=k), ends * lists.relevant)
