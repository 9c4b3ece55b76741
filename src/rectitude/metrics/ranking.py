"""Accuracy metrics of ranked lists: a few lines each on `Judged`, with every choice a switch."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from rectitude.arrays import Floats
from rectitude.errors import BadArgument
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import (
    Count,
    Denominator,
    Discount,
    DiscountBy,
    Gain,
    GainFrom,
    GainOf,
    Ideal,
    Weights,
    discount_function,
    gain_function,
    no_hits_undefined,
    require_order,
)
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Precision",
    formula="hits in the top {k} / {precision_over}",
    reading="0.2 at 10 means that 2 of the first 10 items are relevant, on average.",
    use="Use it when every position of a fixed screen counts. It stays below 1 if there are fewer "
    "relevant items than positions; compare it only at the same cutoff.",
    cite="cleverdon1966factors",
    breaks=("perfect_is_best",),
    averages="closed form",
)
def precision(lists: Judged, k: int | None, *, precision_over: Count) -> Ratio:
    """Share of the positions that hold a relevant item."""
    return Ratio(lists.hits(k), precision_over(lists, k))


@metric(
    "Recall",
    formula="hits in the top {k} / {recall_over}",
    reading="0.6 at 20 means that 60% of a user's relevant items are among the first 20.",
    use="Use it for candidate generation, where later stages cannot recover a missed item. It "
    "grows with the cutoff.",
    cite="cleverdon1966factors",
    averages="closed form",
)
def recall(lists: Judged, k: int | None, *, recall_over: Count) -> Ratio:
    """Share of the relevant items that were recommended."""
    return Ratio(lists.hits(k), recall_over(lists, k))


@metric(
    "F1",
    formula="(1 + b^2) * hits in the top {k} / ({precision_over} + b^2 * {recall_over}), which is "
    "(1 + b^2) PR / (b^2 P + R); b = {beta}",
    reading="High only if both precision and recall are high; 0 without hits.",
    use="Use it to balance precision and recall in one number per list; with beta=2, recall counts "
    "more. It is the mean of the F1 of each list. f1_of_means, the F1 of the mean precision and "
    "recall, is a different number.",
    cite="vanrijsbergen1979information",
    breaks=("perfect_is_best",),
    averages="closed form",
)
def f1(
    lists: Judged,
    k: int | None,
    *,
    precision_over: Count,
    recall_over: Count,
    f1_without_hits: Denominator,
    beta: float = 1.0,
) -> Ratio:
    """Harmonic mean of precision and recall of the same list, with recall weighted by beta."""
    if not 0 <= beta < np.inf:
        raise BadArgument(f"beta is {beta:g}.", "a finite number of at least 0.")
    if f1_without_hits is no_hits_undefined:
        require_order(lists, "F1 is undefined for orders without hits")
    hits, below = lists.hits(k), precision_over(lists, k) + beta**2 * recall_over(lists, k)
    return Ratio((1 + beta**2) * hits, f1_without_hits(hits, below))


@metric(
    "Hit rate",
    formula="{hit_as}, in the top {k}",
    reading="0.4 at 10 means that 40% of the users find something relevant among the first 10.",
    use="Use it when one good item is enough. With one relevant item per user it equals recall.",
)
def hit(lists: Judged, k: int | None, *, hit_as: Count) -> Ratio:
    """Whether anything relevant was recommended."""
    return Ratio.of(hit_as(lists, k))


@metric(
    "Reciprocal rank",
    formula="1 / rank of the hit, up to rank {k}: {reciprocal_rank}",
    reading="0.5 means that the harmonic mean of the first hits' ranks is 2; the arithmetic mean "
    "of the ranks is larger, unless all are equal.",
    use="Use it when users look for one item and stop there, as in search and next-item "
    "prediction.",
    cite="voorhees1999trec8",
)
def mrr(lists: Judged, k: int | None, *, reciprocal_rank: Count) -> Ratio:
    """1 / rank of the first relevant item."""
    return Ratio.of(reciprocal_rank(lists, k))


@metric(
    "Average precision",
    name="map",
    formula="sum over hits in the top {k} of (hits so far / rank) / {ap_over}",
    reading="1 if all relevant items are ranked above all others; it falls with every non-relevant "
    "item above them.",
    use="Use it to reward complete lists in good order when relevance is binary.",
    cite="buckley2000evaluating",
)
def average_precision(lists: Judged, k: int | None, *, ap_over: Count) -> Ratio:
    """Mean of the precision at the ranks of the relevant items."""
    return Ratio(lists.total(precisions_at_hits(lists), upto=k), ap_over(lists, k))


def precisions_at_hits(lists: Judged) -> Floats:
    """Return (rows,) the precision at the rank of a hit; 0 for other rows."""
    return lists.once("precision at hits", lambda: lists.hit * lists.nth / lists.rank)


@metric(
    "Discounted cumulative gain",
    formula="sum over the top {k} of gain * discount; gain = {gain}, discount = {discount}, "
    "by {discount_by}",
    reading="It has no upper limit: it grows with the number and the grades of the relevant items "
    "found.",
    use="Use it when the absolute gain of a list matters; averaged over users, NDCG is easier to "
    "read.",
    bounds=(0.0, np.inf),
    cite="jarvelin2002cumulated",
    averages="closed form",
)
def dcg(
    lists: Judged,
    k: int | None,
    *,
    gain: Gain,
    gain_from: GainFrom,
    discount: Discount,
    discount_by: DiscountBy,
    log_base: float = 2.0,
) -> Ratio:
    """Gain of the recommended items, each discounted by its rank."""
    gain_of, weights = _sum_of(lists, gain, gain_from, discount, log_base)
    name = (gain, gain_from, discount, log_base)
    return Ratio.of(_discount_gains(lists, k, gain_of, weights, discount_by, name))


@metric(
    "Normalised discounted cumulative gain",
    formula="sum over the top {k} of gain * discount / the same sum for the ideal list; "
    "gain = {gain}, discount = {discount}, by {discount_by}, ideal list = {ideal}",
    reading="1 if the most relevant items come first, in order. With one relevant item it is 1 / "
    "log2(rank + 1): 1 at rank 1, 0.63 at rank 2, 0.29 at rank 10.",
    use="Use it as the general measure of ranking quality, above all with graded relevance. Values "
    "under different gains, discounts or ideal lists are not comparable.",
    cite="jarvelin2002cumulated",
    averages="closed form",
)
def ndcg(
    lists: Judged,
    k: int | None,
    *,
    gain: Gain,
    gain_from: GainFrom,
    discount: Discount,
    discount_by: DiscountBy,
    ideal: Ideal,
    log_base: float = 2.0,
) -> Ratio:
    """Discounted gain of the list, relative to that of the ideal list."""
    gain_of, weights = _sum_of(lists, gain, gain_from, discount, log_base)
    name = (gain, gain_from, discount, log_base)
    above = _discount_gains(lists, k, gain_of, weights, discount_by, name)
    below = ideal(lists, k, gain_of, weights)
    return Ratio(above, below).where(below != 0)  # signed gains can add up to 0


def _sum_of(
    lists: Judged, gain: Gain, gain_from: GainFrom, discount: Discount, log_base: float
) -> tuple[GainOf, Weights]:
    """Return what a discounted sum is made of: gains, which may be below 0, and weights."""
    gain_of = gain_function(lists, gain, gain_from, below_zero="signed")
    return gain_of, discount_function(discount, log_base)


def _discount_gains(
    lists: Judged,
    k: int | None,
    gain_of: GainOf,
    weights: Weights,
    discount_by: DiscountBy,
    name: Hashable,
) -> Floats:
    """Sum gains times weights; products are cached under the name.

    With averaged ties the weights depend on the cutoff, so each cutoff has its own cache entry.
    """
    key = (name, discount_by, None if lists.last is None else k)
    gains = lists.once(key, lambda: gain_of(lists.grade) * discount_by(lists, k, weights))
    return lists.total(gains, upto=k)


@metric(
    "Average gain",
    formula="sum over the top {k} of gain / {precision_over}; gain = {gain}",
    reading="The mean gain of a position; with gain=binary, it is precision.",
    use="Use it as precision for graded relevance. The order within the top does not matter.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    averages="closed form",
)
def average_gain(
    lists: Judged, k: int | None, *, precision_over: Count, gain: Gain, gain_from: GainFrom
) -> Ratio:
    """Mean gain of the recommended items."""
    gains = gain_function(lists, gain, gain_from)(lists.grade)
    found = gains if lists.last is None else gains * lists.chance(k)
    return Ratio(lists.total(found, upto=k), precision_over(lists, k))


@metric(
    "R-precision",
    formula="hits in the top R / R, R = {multiple} * relevant items of the list (a fraction of 0.1 "
    "or more is rounded up; ranks up to {k})",
    reading="The precision at the rank where a perfect list would have found everything.",
    use="Use it when users have very different numbers of relevant items and no cutoff fits all of "
    "them. Set another multiple to look less deep or deeper.",
    cite="buckley2000evaluating",
)
def rprec(lists: Judged, k: int | None, *, multiple: float = 1.0) -> Ratio:
    """Precision at the number of relevant items."""
    if not 0 < multiple < np.inf:
        raise BadArgument(f"multiple is {multiple:g}.", "a finite number above 0.")
    end = np.floor(multiple * lists.relevant + 0.9)
    inside = lists.hit & (lists.rank <= end[lists.list])
    return Ratio(lists.total(inside.astype(np.float64), upto=k), end)


@metric(
    "Binary preference",
    formula="mean over the R relevant items of 1 - min(judged not relevant above it, R) / "
    "min(N, R), N = items judged not relevant; unranked relevant items add 0 (ranks up to {k})",
    reading="1 if no item judged not relevant is ranked above a relevant one; unjudged items do "
    "not count.",
    use="Use it when the truth is incomplete but has explicit negatives.",
    cite="buckley2004retrieval",
    breaks=("perfect_is_best",),
)
def bpref(lists: Judged, k: int | None) -> Ratio:
    """How rarely items judged not relevant are ranked above relevant ones."""
    negatives, denominator = wrong_above(lists)
    with np.errstate(invalid="ignore"):
        share = np.where(negatives > 0, negatives / denominator, 0.0)
    return Ratio(lists.total(np.where(lists.hit, 1 - share, 0.0), upto=k), lists.relevant)


def wrong_above(lists: Judged) -> tuple[Floats, Floats]:
    """Return (rows,) negatives above each row, at most R, and their denominator, min(N, R)."""
    negative = lists.judged - lists.relevant
    above = np.arange(1, len(lists.list) + 1) - np.searchsorted(lists.list, lists.list) - lists.nth
    relevant = lists.relevant[lists.list]
    return np.minimum(above, relevant).astype(np.float64), np.minimum(
        negative[lists.list], relevant
    )
