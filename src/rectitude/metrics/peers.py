"""Metrics that reproduce peculiar numbers of other tools.

Each says in `use` which metric to prefer when there is nothing to reproduce.
"""

from __future__ import annotations

from collections.abc import Callable
from math import fsum, sqrt

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, distinct, run_starts, sum_by_group, sum_rows
from rectitude.errors import BadArgument, MissingNeed, NothingToEvaluate, UndefinedValue
from rectitude.judge.judged import Judged
from rectitude.metrics.auc import misses_above
from rectitude.metrics.choices import (
    Count,
    Discount,
    Gain,
    GainFrom,
    Weights,
    above_zero,
    discount_function,
    exp2_above,
    gain_function,
    ideal_reachable,
    sum_best_first,
    whole_k,
)
from rectitude.metrics.exposure import (
    OF_CATALOGUE,
    OF_TRAIN,
    compute_inequality,
    compute_shares,
    items_shown,
    require_items,
)
from rectitude.metrics.fairness import HALVES, TWO_WAYS, count_by_half
from rectitude.metrics.groupwise import compute_rates, count_relevant, relative_spread
from rectitude.metrics.predicted import require_finite
from rectitude.metrics.ranking import bpref, rprec, wrong_above
from rectitude.metrics.ratings import ANY_PAIR, BY_LIST, POOLED, concordant_pairs, errors, root
from rectitude.metrics.registry import (
    IN_UNITS,
    RELEVANCE_LAWS,
    Counts,
    Facts,
    Ratio,
    count_metric,
    derived_metric,
    metric,
    require_choice,
)
from rectitude.metrics.serendipity import NEEDS_USER_HISTORY


@metric(
    "Precision at another depth",
    formula="hits in the top {depth} / {precision_over}",
    reading="Equals precision if the depth is the cutoff. Otherwise it is not a share of anything, "
    "and exceeds 1 if there are more hits than positions.",
    use="Use it to reproduce tools that count hits up to one depth and divide by another; "
    "otherwise use precision.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    averages="closed form",
    reach="list",
)
def deep_precision(
    lists: Judged, k: int | None, *, precision_over: Count, depth: float = 10.0
) -> Ratio:
    """Hits up to one depth, divided by the positions up to another."""
    if depth < 1 or depth != int(depth):
        raise BadArgument(f"depth is {depth:g}.", "a whole number of at least 1.")
    return Ratio(lists.hits(int(depth)), precision_over(lists, k))


@metric(
    "F measure with a plain weight",
    formula="(1 + b) * hits in the top {k} / ({precision_over} + b * {recall_over}), which is "
    "(1 + b) PR / (b P + R); b = {beta}",
    reading="Equals f1[beta=x] with x = sqrt(b): here, beta is not squared.",
    use="Use it to reproduce set_F of trec_eval and SetF of ir_measures; otherwise use f1, whose "
    "beta is that of the literature.",
    cite="vanrijsbergen1979information",
    breaks=("perfect_is_best",),
    averages="closed form",
)
def f_unsquared(
    lists: Judged, k: int | None, *, precision_over: Count, recall_over: Count, beta: float = 1.0
) -> Ratio:
    """Harmonic mean of precision and recall of the same list, in which recall has the weight beta
    and precision the weight 1."""
    if not 0 <= beta < np.inf:
        raise BadArgument(f"beta is {beta:g}.", "a finite number of at least 0.")
    return Ratio(
        (1 + beta) * lists.hits(k), precision_over(lists, k) + beta * recall_over(lists, k)
    )


@metric(
    "Precision with capped importance weights",
    formula="sum of the weights of the hits in the top {k} / sum of the weights of its items; "
    "weight = score / score of the previous policy (column {previous} of items=), between 1 / "
    "{cap} and {cap}, and {cap} if the latter is 0 or missing; both scores after the activation "
    "{activation}: none, sigmoid, or softmax over the top {k}",
    reading="Like precision, but items that the model prefers more than the previous policy did "
    "weigh more.",
    use="Use it to estimate what a new model would achieve from data that a previous one has "
    "collected, if the scores of both have the same scale; otherwise use precision.",
    cite="gilotte2018offline",
    breaks=RELEVANCE_LAWS,
    needs=("items", "shown", "stock", "scored"),
)
def ncis_precision(
    lists: Judged,
    k: int | None,
    *,
    previous: str = "previous",
    cap: float = 10.0,
    activation: str = "none",
) -> Ratio:
    """Share of the weight of a list that is on relevant items."""
    weights = _weigh_by_policy(lists, previous, cap, activation)
    rows, list_of_row = lists.within(k)
    of_hits = np.where(lists.hit[rows], weights[list_of_row, lists.rank[rows] - 1], 0.0)
    return Ratio(sum_by_group(list_of_row, lists.size, of_hits), sum_rows(weights))


def _weigh_by_policy(lists: Judged, previous: str, cap: float, activation: str) -> Floats:
    """Return (lists, ranks) how much more the model prefers an item than the previous policy did,
    capped; 0 where there is no item."""
    if not 1 <= cap < np.inf:
        raise BadArgument(f"cap is {cap:g}.", "a finite number of at least 1.")
    require_choice("activation", activation, _ACTIVATIONS)
    filled, values = lists.shown >= 0, np.nan_to_num(lists.stock.values(previous))
    before = np.where(filled, np.append(values, 0.0)[lists.stock.listed[lists.shown]], -np.inf)
    now, before = (
        _ACTIVATIONS[activation](scores)
        for scores in (np.where(filled, lists.scored, -np.inf), before)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where(before == 0, cap, np.clip(now / before, 1 / cap, cap))
    return np.where(filled, weights, 0.0)


def _softmax(scores: Floats) -> Floats:
    """Return the softmax of each row; places without an item are minus infinity."""
    highest = scores.max(axis=1, keepdims=True, initial=-np.inf)
    powers = np.exp(scores - np.where(np.isfinite(highest), highest, 0.0))
    totals = np.maximum(sum_rows(powers), np.finfo(np.float64).tiny)
    shares: Floats = powers / totals[:, None]
    return shares


_ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "none": lambda scores: scores,
    "sigmoid": lambda scores: 1 / (1 + np.exp(-scores)),
    "softmax": _softmax,
}


@metric(
    "R-precision of lists with a hit",
    formula="as rprec, but 0/0 for a list without a hit among its first R",
    reading="With average=micro, the mean rprec of the lists in which it is not 0. It is never "
    "lower than rprec.",
    use="Use it to reproduce tools that leave such lists out; otherwise use rprec, which counts "
    "them as 0.",
    cite="buckley2000evaluating",
    breaks=("perfect_is_best",),
)
def rprec_found(lists: Judged, k: int | None) -> Ratio:
    """R-precision, undefined for lists in which it is 0."""
    rprec_ratio = rprec(lists, k)
    share = rprec_ratio.above / np.maximum(rprec_ratio.below, 1.0)
    return Ratio(share, (share > 0).astype(np.float64))


@metric(
    "Average precision, by rank",
    name="map_by_rank",
    formula="sum over the ranks in the top {k} with a hit of (hits up to the rank / rank) / "
    "{ap_over}",
    reading="Equals map if every rank has at most one hit.",
    use="Use it to reproduce tools that add the precision of a rank once, even if an item of that "
    "rank is in the truth twice, or if several items share the rank; otherwise use map.",
    cite="buckley2000evaluating",
)
def average_precision_by_rank(lists: Judged, k: int | None, *, ap_over: Count) -> Ratio:
    """Mean of the precision at the ranks that have a hit."""
    starts = run_starts(lists.list * (int(lists.rank.max(initial=0)) + 1) + lists.rank)
    last = np.append(starts[1:], len(lists.rank))[: len(starts)] - 1
    before = lists.nth[starts] - lists.hit[starts]
    terms = np.zeros(len(lists.rank))
    terms[last] = np.where(lists.nth[last] > before, lists.nth[last] / lists.rank[last], 0.0)
    return Ratio(lists.total(terms, upto=k), ap_over(lists, k))


@metric(
    "Normalised discounted cumulative gain of joined tables",
    name="ndcg_of_joins",
    formula="as ndcg, but a hit in the top {k} counts (rows of the pair in the truth) * (rows of "
    "the pair in the list) times, and a relevant item has as many places in the ideal list as its "
    "hits count, one if there is none; gain = {gain}, discount = {discount}",
    reading="Equals ndcg if no pair is repeated and no grade is negative. A pair that is in "
    "the truth n times counts n * n times.",
    use="Use it to reproduce tools that join the hits with predictions and truth again; otherwise "
    "use ndcg.",
    cite="jarvelin2002cumulated",
    bounds=(-np.inf, np.inf),
)
def ndcg_of_joins(
    lists: Judged,
    k: int | None,
    *,
    gain: Gain,
    gain_from: GainFrom,
    discount: Discount,
    log_base: float = 2.0,
) -> Ratio:
    """Discounted gain relative to the ideal, if every pair of repeated rows counts."""
    weights, times = discount_function(discount, log_base), _count_joins(lists, k)
    grades = lists.truth.values
    gains = gain(grades, gain_from(lists, grades), lists.threshold)
    above = lists.total(gains[lists.where] * weights(lists.rank) * times)
    return Ratio(above, _sum_best_joins(lists, k, gains, times, weights))


def _sum_best_joins(
    lists: Judged, k: int | None, gains: Floats, times: Floats, weights: Weights
) -> Floats:
    """Sum the discounted gains of the truth, best first, with as many copies as its hits count."""
    copies = np.maximum(np.bincount(lists.where, times, len(gains)), 1).astype(np.int64)
    ends = np.full(lists.size, np.inf if k is None else k)
    owners = np.repeat(lists.truth.rows(), copies)
    return sum_best_first(owners, np.repeat(gains, copies), ends, weights)


def _count_joins(lists: Judged, k: int | None) -> Floats:
    """Return (rows,) how often a match counts up to the cutoff: rows of its pair in the truth times
    rows in the list."""
    place = lists.list * (int(lists.rank.max(initial=0)) + 1) + lists.rank
    _, number = np.unique(place, return_inverse=True)
    in_truth = np.bincount(number.reshape(-1))[number.reshape(-1)]
    in_list = np.bincount(lists.where, minlength=len(lists.truth.values))[lists.where]
    inside = lists.rank <= (np.inf if k is None else k)
    return np.where(inside, in_truth * in_list, 0.0)


@metric(
    "Average recall",
    name="mar",
    formula="sum over hits in the top {k} of (hits so far / R) / {ap_over}, R = relevant items",
    reading="With h hits it is (h + 1) h / 2, divided by R and by the chosen denominator: a "
    "perfect list of R items has (R + 1) / 2R, about a half. Only the number of hits counts, not "
    "their ranks.",
    use="Use it to reproduce tools that report it next to average precision; recall is easier to "
    "read and says the same.",
)
def average_recall(lists: Judged, k: int | None, *, ap_over: Count) -> Ratio:
    """Sum of the recall at the ranks of the relevant items."""
    terms = np.where(lists.hit, lists.nth / np.maximum(lists.relevant, 1.0)[lists.list], 0.0)
    return Ratio(lists.total(terms, upto=k), ap_over(lists, k))


@metric(
    "Reciprocal rank of the best item",
    formula="1 / rank of the first item with the highest grade in the truth, up to rank {k}; 0/0 "
    "for a list without relevant items",
    reading="Like mrr, but only an item with the highest grade counts. With one grade, it is mrr.",
    use="Use it to reproduce tools that look for the largest label; otherwise use mrr, with "
    "relevant_from to set which grades count.",
    cite="voorhees1999trec8",
)
def best_rr(lists: Judged, k: int | None) -> Ratio:
    """1 / rank of the first item with the highest grade."""
    highest = np.full(lists.size, -np.inf)
    np.maximum.at(highest, lists.truth.rows(), lists.truth.values)
    best = lists.hit & (lists.grade == highest[lists.list])
    first = np.full(lists.size, np.inf)
    np.minimum.at(first, lists.list[best], lists.rank[best].astype(np.float64))
    found = np.where(first <= (np.inf if k is None else k), 1.0 / first, 0.0)
    return Ratio.of(found).where(lists.relevant > 0)


@metric(
    "Binary preference, undefined without negatives",
    formula="as bpref, but 0/0 for a list with hits in which no item is judged not relevant, and 0 "
    "for a list without relevant items",
    reading="Read it like bpref.",
    use="Use it to reproduce tools that divide by zero in this case; otherwise use bpref.",
    cite="buckley2004retrieval",
    breaks=("perfect_is_best",),
    reach="list",
)
def bpref_strict(lists: Judged, k: int | None) -> Ratio:
    """Like bpref, but undefined for lists with hits and no item judged not relevant."""
    ratio = bpref(lists, k)
    _, denominator = wrong_above(lists)
    undefined = (
        sum_by_group(lists.list, lists.size, (lists.hit & (denominator == 0)).astype(float)) > 0
    )
    below = np.where(lists.relevant == 0, 1.0, ratio.below)
    return Ratio(ratio.above, below).where(~undefined)


@metric(
    "Rank-matched reciprocal rank",
    formula="sum over hits in the top {k} of 1 / (|position in the list - position in the truth| + "
    "1) / relevant items",
    reading="1 only if every relevant item has the same position in the list as in the truth.",
    use="Use it to reproduce SMGCN's RMRR, if the order of the truth is meaningful. Despite its "
    "name it is not a mean reciprocal rank: it changes with the order of the truth.",
    cite="jin2020syndrome",
    breaks=("perfect_is_best", "moving_up_helps"),
    sees="items",
)
def rmrr(lists: Judged, k: int | None) -> Ratio:
    """How close each relevant item is to its position in the truth's own order."""
    distance = np.abs(lists.rank - 1 - lists.place)
    return Ratio(lists.total(lists.hit / (distance + 1.0), upto=k), lists.relevant)


@metric(
    "Accuracy over the catalogue",
    formula="(hits in the top {k} + items that are neither there nor relevant) / items of the "
    "catalogue",
    reading="0.99 is common, because nearly all items are correctly left out of every list.",
    use="Use it to reproduce tools that report it. If less than half of the positions are hits, "
    "recommending nothing scores best; precision and recall say more.",
    bounds=(-np.inf, 1.0),
    breaks=("perfect_is_best",),
    needs=("size",),
)
def catalogue_accuracy(lists: Judged, k: int | None, *, facts: Facts) -> Ratio:
    """Share of the catalogue that is correctly recommended or correctly left out."""
    size = facts.catalogue
    wrong = whole_k(lists, k) + lists.relevant - 2 * lists.hits(k)  # listed or relevant, not both
    return Ratio(size - wrong, np.full(lists.size, float(size)))


@metric(
    "Hits per item",
    formula="hits in the top {k} / items of the catalogue",
    reading="0.0005 at 10 is one hit among the first 10, in a catalogue of 2,000 items. It is "
    "always small.",
    use="Use it to reproduce tools that divide hits by the size of the catalogue; otherwise use "
    "hit.",
    needs=("size",),
    averages="closed form",
)
def hits_per_item(lists: Judged, k: int | None, *, facts: Facts) -> Ratio:
    """Hits divided by the size of the catalogue."""
    return Ratio(lists.hits(k), np.full(lists.size, float(facts.catalogue)))


@metric(
    "AUC within the list",
    formula="pairs of a hit and a miss in the top {k} with the hit above / all such pairs; 1 if "
    "all are hits, 0 if none is",
    reading="How well the hits are ranked above the misses of the same list. It does not depend on "
    "how many hits there are.",
    use="Use it to reproduce tools that compute AUC from lists. One hit at rank 1 gives 1, even if "
    "all other relevant items are missing; otherwise use auc with scores of all items.",
    cite="hanley1982meaning",
    breaks=("moving_up_helps",),
)
def list_auc(lists: Judged, k: int | None) -> Ratio:
    """Share of the pairs within the list in which the hit is ranked above the miss."""
    hits = lists.hits(k)
    pairs = hits * (lists.returned_upto(k) - hits)
    misordered = lists.total(lists.hit * misses_above(lists), upto=k)
    without_pairs = (hits > 0).astype(np.float64)
    return Ratio(
        np.where(pairs > 0, pairs - misordered, without_pairs), np.where(pairs > 0, pairs, 1.0)
    )


@metric(
    "AUC within the list, undefined without hits or misses",
    formula="as list_auc, but 0/0 if all or none of the first {k} are hits",
    reading="Read it like list_auc. With undefined=nan, a single list without a hit makes the mean "
    "undefined.",
    use="Use it to reproduce tools that divide by zero in this case; otherwise use auc with scores "
    "of all items.",
    cite="hanley1982meaning",
    breaks=("perfect_is_best", "moving_up_helps"),
)
def list_auc_strict(lists: Judged, k: int | None) -> Ratio:
    """Like list_auc, but undefined for lists without a pair."""
    hits = lists.hits(k)
    return list_auc(lists, k).where((hits > 0) & (hits < lists.returned_upto(k)))


@metric(
    "AUC of the hits",
    formula="sum over hits of (N - misses above it) / N / R, at any cutoff; R = relevant items, N "
    "= items of the catalogue that the user does not have in the training data - R + 1",
    reading="0.9 means that relevant items are ranked above 90% of the other items on average; a "
    "relevant item that is not in the list adds 0.",
    use="Use it to compare with tools that sum the area over hits; auc counts pairs. Lists must be "
    "complete: with short lists it is close to recall.",
    bounds=(-np.inf, np.inf),
    needs=("unseen",),
    reach="list",
)
def hit_auc(lists: Judged, k: int | None) -> Ratio:
    """Share of the other items that are ranked below a relevant item, averaged over the relevant
    items."""
    return _sum_areas(lists, None, lists.relevant)


@metric(
    "AUC of the hits, within the cutoff",
    formula="sum over hits in the top {k} of (N - misses above it) / N / min(cutoff, R); R = "
    "relevant items, N = items of the catalogue that the user does not have in the training data - "
    "R + 1",
    reading="Like hit_auc, but only for the top of the list. In a large catalogue the few misses "
    "above a hit hardly matter, and it is close to hits / min(cutoff, R).",
    use="Use it to reproduce tools that call it limited AUC; limited_auc is the area as Schröder "
    "defines it.",
    bounds=(-np.inf, np.inf),
    needs=("unseen",),
)
def hit_auc_within(lists: Judged, k: int | None) -> Ratio:
    """Share of the other items that are ranked below each hit up to the cutoff."""
    return _sum_areas(lists, k, lists.reachable(k))


@metric(
    "AUC of the hits, pooled",
    formula="as hit_auc, but the terms of all lists are summed and divided by the total number of "
    "hits: relevant items that are not in a list are left out",
    reading="Like hit_auc, but users with more hits weigh more, and a list without hits has no "
    "weight.",
    use="Use it to reproduce tools that report it as AUC. With short lists, a model improves by "
    "missing the items that it ranks low.",
    bounds=(-np.inf, np.inf),
    needs=("unseen",),
    fixed={"average": "micro", "unit": "list"},
    reach="list",
)
def pooled_hit_auc(lists: Judged, k: int | None) -> Ratio:
    """Share of the other items that are ranked below a hit, averaged over the hits of all lists."""
    return _sum_areas(lists, None, lists.hits(None))


def _sum_areas(lists: Judged, k: int | None, below: Floats) -> Ratio:
    """Return the sum of the terms of each list over a denominator; 0/0 if a hit has no item to
    compare with."""
    others = lists.unseen - lists.relevant + 1
    undefined = (others == 0) & (lists.hits(k) > 0)
    size = np.where(others == 0, 1.0, others)[lists.list]
    terms = lists.hit * (size - misses_above(lists)) / size
    return Ratio(lists.total(terms, upto=k), below).where(~undefined)


@metric(
    "NDCG with penalties",
    formula="sum over the top {k} of gain * discount / the same sum for the ideal list; gain = "
    "2^(grade + 1) - 1 for a grade above 0, else the grade; discount = "
    "{discount}; the ideal list has the highest gains of the catalogue, up to the cutoff",
    reading="1 if the most relevant items come first, in order. Items with a grade below 0 lower "
    "it, and it can be below 0.",
    use="Use it to reproduce tools that take a grade below 0 as a loss; otherwise use ndcg.",
    bounds=(-np.inf, 1.0),
    needs=("size",),
)
def penalised_ndcg(lists: Judged, k: int | None, *, discount: Discount, facts: Facts) -> Ratio:
    """Discounted gain of the list, less its penalties, relative to that of the ideal list."""
    gain_of = gain_function(lists, exp2_above, above_zero)
    weights = discount_function(discount, 2.0)
    gains = gain_of(lists.grade) + np.minimum(lists.grade, 0.0)
    below = ideal_reachable(lists, k, gain_of, weights)
    below += _sum_ideal_penalties(lists, k, weights, facts.catalogue)
    return Ratio(lists.total(gains * weights(lists.rank), upto=k), below).where(below != 0)


def _sum_ideal_penalties(lists: Judged, k: int | None, weights: Weights, items: int) -> Floats:
    """Return what grades below 0 add to the ideal list of all items, at whose end they are."""
    best = lists.best
    owners = best.rows()
    rank = items - (best.offsets[owners + 1] - 1 - np.arange(len(owners)))
    inside = (best.values < 0) & (rank <= (items if k is None else k))
    terms = best.values[inside] * weights(np.maximum(rank[inside], 1))
    return sum_by_group(owners[inside], lists.size, terms)


_UNMASKED_NEEDS = ("predicted", "scores", "unseen")
_PAIRS = (
    "pairs with a grade above 0, at any cutoff; 0/0 for a list with an item from the training data"
)
_READING = "Undefined for users with training data: only evaluations without train= have a value."


@metric(
    "Mean absolute error of lists without training data",
    formula=f"mean over lists of the mean of |score - grade| over {_PAIRS}",
    reading=_READING,
    use="Use it to reproduce tools that lose rows with a masked item; otherwise use user_mae, "
    "which skips masked items.",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=_UNMASKED_NEEDS,
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def unmasked_mae(lists: Judged, k: int | None) -> Ratio:
    """Mean absolute error of each list, undefined if one of its items is in the training data."""
    return _only_unmasked(lists, np.abs(errors(lists)))


@metric(
    "Mean squared error of lists without training data",
    formula=f"mean over lists of the mean of (score - grade)^2 over {_PAIRS}",
    reading=_READING,
    use="Use it to reproduce tools that lose rows with a masked item; otherwise use user_mse, "
    "which skips masked items.",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=_UNMASKED_NEEDS,
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def unmasked_mse(lists: Judged, k: int | None) -> Ratio:
    """Mean squared error of each list, undefined if one of its items is in the training data."""
    return _only_unmasked(lists, errors(lists) ** 2)


_CLIPPED = "score clipped to the lowest and highest grade of the training data"


@metric(
    "Mean absolute error of clipped scores",
    formula=f"mean over the pairs of a list of |score - grade|, {_CLIPPED}",
    reading="Read it like user_mae; a score beyond the scale of the ratings counts as its end.",
    use="Use it to reproduce tools that clip predicted ratings; otherwise use user_mae, or mae for "
    "average=micro.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("predicted", "train"),
    fixed=ANY_PAIR,
    averages="closed form",
    reach="list",
)
def clipped_mae(lists: Judged, k: int | None, *, facts: Facts) -> Ratio:
    """Mean absolute error if scores are clipped to the scale of the ratings."""
    return _mean_of_pairs(lists, np.abs(_clipped_errors(lists, facts)))


@metric(
    "Mean squared error of clipped scores",
    formula=f"mean over the pairs of a list of (score - grade)^2, {_CLIPPED}",
    reading="Read it like user_mse; a score beyond the scale of the ratings counts as its end.",
    use="Use it to reproduce tools that clip predicted ratings; otherwise use user_mse, or mse for "
    "average=micro.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("predicted", "train"),
    fixed=ANY_PAIR,
    averages="closed form",
    reach="list",
)
def clipped_mse(lists: Judged, k: int | None, *, facts: Facts) -> Ratio:
    """Mean squared error if scores are clipped to the scale of the ratings."""
    return _mean_of_pairs(lists, _clipped_errors(lists, facts) ** 2)


@metric(
    "Root mean squared error of clipped scores",
    formula=f"mean over lists of the square root of the mean of (score - grade)^2, {_CLIPPED}",
    reading="Read it like user_rmse; a score beyond the scale of the ratings counts as its end.",
    use="Use it to reproduce tools that clip predicted ratings; otherwise use user_rmse.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("predicted", "train"),
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def clipped_rmse(lists: Judged, k: int | None, *, facts: Facts) -> Ratio:
    """Root mean squared error of each list if scores are clipped to the scale of the ratings."""
    return root(clipped_mse(lists, k, facts=facts))


@derived_metric(
    "Root of the mean squared error of clipped scores",
    of=("clipped_mse",),
    formula="square root of clipped_mse; with average=micro, over the pairs of all lists",
    reading="Read it like rmse; a score beyond the scale of the ratings counts as its end.",
    use="Use it with average=micro to reproduce tools that clip predicted ratings; otherwise use "
    "rmse.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    fixed=IN_UNITS,
    cutoff="none",
)
def root_clipped_mse(clipped_mse: float) -> float:
    """Square root of the mean squared error of clipped scores."""
    return sqrt(clipped_mse)


def _mean_of_pairs(lists: Judged, values: Floats) -> Ratio:
    return Ratio(lists.total(values), sum_by_group(lists.list, lists.size))


def _clipped_errors(lists: Judged, facts: Facts) -> Floats:
    """Return (rows,) the predicted score minus the grade, clipped to the training grades first."""
    if facts.train is None or "grade" not in facts.train.columns:
        raise MissingNeed(
            "this metric needs the grades of the training data, to which scores are clipped.",
            advice="pass train= with a grade column.",
        )
    grades = facts.train["grade"].cast(float).to_numpy()
    scores = require_finite(lists.score, lists.list)
    return np.clip(scores, grades.min(), grades.max()) - lists.grade


@metric(
    "Root mean squared error of lists without training data",
    formula=f"mean over lists of the square root of its mean of (score - grade)^2 over {_PAIRS}",
    reading=_READING,
    use="Use it to reproduce tools that lose rows with a masked item; otherwise use user_rmse, "
    "which skips masked items.",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=_UNMASKED_NEEDS,
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def unmasked_rmse(lists: Judged, k: int | None) -> Ratio:
    """Root mean squared error of each list, undefined if one of its items is in the training
    data."""
    return root(unmasked_mse(lists, k))


def _only_unmasked(lists: Judged, values: Floats) -> Ratio:
    rated = lists.grade > 0
    mean = Ratio(lists.total(np.where(rated, values, 0.0)), lists.total(rated.astype(float)))
    return mean.where(lists.unseen >= lists.candidates)


@count_metric(
    "Gini index, corrected",
    counts=items_shown,
    formula="sum over items of (2 * j - n - 1) * count / ((n - 1) * total count), count = how "
    "often the item is shown, j = its position from least to most shown, n = items of the "
    "catalogue (top {k})",
    reading="0 if every item is shown equally often, exactly 1 if a single item fills all lists.",
    use="Use it to reproduce tools that divide by n - 1; it is gini * n / (n - 1).",
    cite="fleder2009blockbuster",
    bounds=(-np.inf, 1.0),
    best="low",
    needs=OF_CATALOGUE,
)
def gini_corrected(counts: Counts) -> float:
    """Inequality of how often the items of the catalogue are shown, scaled to reach exactly 1."""
    size = require_items(counts, "catalogue")
    return compute_inequality(counts["shown"], size) / max(size - 1, 1)


@count_metric(
    "Gini diversity over the training items",
    counts=items_shown,
    formula="1 - sum over items of (2 * j - n - 1) * count / ((n - 1) * total count), count = how "
    "often the item is shown, j = its position from least to most shown, n = training items (top "
    "{k})",
    reading="1 if every item is shown equally often, 0 if a single item fills all lists: the "
    "opposite direction of gini.",
    use="Use it to reproduce tools that report 1 - Gini; always state which direction a Gini index "
    "has.",
    cite="fleder2009blockbuster",
    bounds=(0.0, np.inf),
    needs=OF_TRAIN,
)
def gini_diversity(counts: Counts) -> float:
    """Equality of how often the training items are shown."""
    size = require_items(counts, "train")
    return 1 - compute_inequality(counts["shown"], size) / max(size - 1, 1)


@count_metric(
    "Entropy per item shown",
    counts=items_shown,
    formula="- sum over items of p * ln(p) / number of different items, p = the item's share of "
    "all positions in the top {k} of all lists",
    reading="It falls when more items are shown, however evenly: it does not measure diversity.",
    use="Use it to reproduce tools that report it as entropy; otherwise use entropy.",
    cite="shannon1948mathematical",
    needs=("shown", "stock"),
)
def entropy_per_item(counts: Counts) -> float:
    """Entropy of the items shown, divided by their number."""
    shares = compute_shares(counts["shown"])
    return max(-fsum((shares * np.log(shares)).tolist()), 0.0) / len(shares)


def pairs_in_order(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """Count the concordant and the discordant pairs, and the lists with at least one of them."""
    concordant, comparable = (pairs[counts] for pairs in concordant_pairs(lists))
    return {
        what: np.array([int(pairs.sum()), int(np.count_nonzero(pairs))])
        for what, pairs in (("concordant", concordant), ("discordant", comparable - concordant))
    }


@count_metric(
    "Fraction of concordant pairs, from means",
    counts=pairs_in_order,
    formula="c / (c + d), c = mean number of concordant pairs of the lists that have any, d = mean "
    "number of discordant pairs of the lists that have any; a pair is two items of a user with "
    "different grades, concordant if the higher grade has the higher score",
    reading="Near fcp, but users without concordant pairs, or without discordant ones, do not pull "
    "the respective mean down.",
    use="Use it to reproduce tools that divide two means; otherwise use fcp.",
    cite="koren2013collaborative",
    breaks=RELEVANCE_LAWS,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def fcp_of_means(counts: Counts) -> float:
    """Mean number of concordant pairs, relative to the mean number of concordant and discordant
    pairs."""
    concordant, discordant = (
        int(counts[what][0]) / max(int(counts[what][1]), 1) for what in ("concordant", "discordant")
    )
    if not concordant + discordant:
        raise UndefinedValue(
            "no user has two predicted ratings of items with different grades.",
            "at least one pair of items that a user rated differently.",
            "check that the predictions have scores for the items of the truth.",
        )
    return concordant / (concordant + discordant)


def items_by_length(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """Count how often each item is shown in lists of each length, and the lists.

    The number of lists is not a count per item: only its sum is meaningful.
    """
    stock, shown = lists.stock, lists.shown[counts]
    length = (shown >= 0).sum(axis=1)
    lengths = np.unique(length[length > 0]).tolist()
    by_length = {f"of {n}": stock.times(shown[length == n]) for n in lengths}
    return {**by_length, "lists": np.array([len(shown)])}


@count_metric(
    "Entropy of the items shown, by list",
    counts=items_by_length,
    formula="mean over lists of the mean of - log2(p) over the items in the top {k}, p = the "
    "item's share of all positions of all lists; 0 for an empty list",
    reading="The entropy of the items shown in bits, if all lists have the same length; otherwise "
    "positions in short lists count more.",
    use="Use it to reproduce tools that report it as entropy; entropy is in nats and gives every "
    "position the same weight.",
    cite="shannon1948mathematical",
    bounds=(0.0, np.inf),
    needs=("shown", "stock"),
)
def entropy_by_list(counts: Counts) -> float:
    """Entropy of the items shown, in bits, with the same weight for every list."""
    lengths = sorted(int(name.removeprefix("of ")) for name in counts if name != "lists")
    shown = np.atleast_1d(np.sum([counts[f"of {n}"] for n in lengths], axis=0))
    weight = np.atleast_1d(np.sum([counts[f"of {n}"] / n for n in lengths], axis=0))
    items = np.flatnonzero(shown)
    bits = np.log2(shown.sum() / shown[items])
    return fsum((weight[items] * bits).tolist()) / int(counts["lists"].sum())


def items_of_users(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """Count how often each item is shown, and how often it is in these users' training data."""
    stock, shown = lists.stock, lists.shown[counts]
    own_rows = np.isin(stock.user, lists.owner[counts])
    trained = np.bincount(stock.item[own_rows], minlength=len(stock.ids))
    return {"shown": stock.times(shown), "train": trained}


@count_metric(
    "Coverage of the users' own training items",
    counts=items_of_users,
    formula="items from these users' training data in the top {k} of at least one of their lists / "
    "items in these users' training data",
    reading="0.3 means that 30% of the items in these users' training data are shown to at least "
    "one of them.",
    use="Use it to reproduce tools that see only the training data of the evaluated users; "
    "train_coverage uses all training data.",
    cite="ge2010beyond",
    needs=NEEDS_USER_HISTORY,
)
def own_train_coverage(counts: Counts) -> float:
    """Share of the items in these users' training data that are shown to at least one of them."""
    both = (counts["shown"] > 0) & (counts["train"] > 0)
    return int(both.sum()) / require_items(counts, "train")


def known_items_by_length(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """Count the different items that lists of each length have from their users' training data, and
    the users in the training data.

    The numbers of batches and users are not counts per item: only their sums are meaningful.
    """
    stock, shown = lists.stock, lists.stock.listed[lists.shown[counts]]
    size, (row, _) = len(stock.ids), np.nonzero(shown >= 0)
    item, user = shown[shown >= 0], lists.owner[counts][row]
    is_known = np.isin(user * size + item, stock.user * size + stock.item)
    known = np.bincount(
        distinct(row[is_known] * size + item[is_known]) // size, minlength=len(shown)
    )
    length = (shown >= 0).sum(axis=1)
    by_length = {
        f"of {n}": known[length == n].sum() for n in np.unique(length[length > 0]).tolist()
    }
    totals = {**by_length, "batches": 1, "users": len(distinct(stock.user))}
    return {name: np.array([int(count)]) for name, count in totals.items()}


@count_metric(
    "Share of new items, over the users in the training data",
    counts=known_items_by_length,
    formula="1 - sum over lists of (different items in the top {k} that are in the user's training "
    "data / items in the top {k}) / users in the training data",
    reading="Users in the training data without a list count as 1. With lists for a tenth of the "
    "users, it is at least 0.9.",
    use="Use it to reproduce tools that average over all users in the training data; otherwise use "
    "unseen_share, the mean over lists.",
    cite="castells2022novelty",
    needs=NEEDS_USER_HISTORY,
)
def train_user_novelty(counts: Counts) -> float:
    """Share of items that are new to their users, averaged over all users in the training data."""
    batches = max(int(counts["batches"].sum()), 1)
    users = max(int(counts["users"].sum()) // batches, 1)
    known = {int(n[3:]): int(c.sum()) for n, c in counts.items() if n.startswith("of ")}
    return 1 - fsum(count / length for length, count in sorted(known.items())) / users


def hits_by_relevant(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """Count how often each item is a hit, by the list's number of relevant items, and its rows in
    train and truth.

    The numbers of lists, batches and users are not counts per item: only their sums are meaningful.
    """
    stock, (rows, list_of_row) = lists.stock, lists.within(k)
    selected = lists.hit[rows] & counts[list_of_row]
    items, relevant = (
        lists.item[rows][selected],
        lists.relevant[list_of_row][selected].astype(np.int64),
    )
    known_users = distinct(np.concatenate((stock.user, lists.people.attributes.row)))
    is_new = ~np.isin(lists.owner, known_users)
    hits = {f"of {n}": np.bincount(items[relevant == n], minlength=len(stock.ids))
             for n in np.unique(relevant).tolist()}  # fmt: skip
    totals = {"lists": counts.sum(), "batches": 1, "known": len(known_users), "new": is_new.sum()}
    truth = np.bincount(lists.wanted, minlength=len(stock.ids))
    return {**hits, **{n: np.array([int(c)]) for n, c in totals.items()},
            "train": stock.rows, "truth": truth}  # fmt: skip


@count_metric(
    "Popularity of the hits",
    counts=hits_by_relevant,
    formula="mean over lists of (sum over hits in the top {k} of p / relevant items), p = rows "
    "with the item in training data and truth / (users in the training data and users= + lists of "
    "other users)",
    reading="It grows with recall and with the popularity of the hits; 0 without a hit.",
    use="Use it to reproduce tools that report it as popularity; average_popularity looks at all "
    "items shown, and only at the training data.",
    cite="abdollahpouri2019managing",
    bounds=(0.0, np.inf),
    needs=("wanted", "stock", "train", "people"),
)
def hit_popularity(counts: Counts) -> float:
    """Popularity of the hits, divided by the number of relevant items."""
    batches = max(int(counts["batches"].sum()), 1)
    users = int(counts["known"].sum()) // batches + int(counts["new"].sum())
    size = max(len(counts["train"]), len(counts["truth"]))
    popular = _pad(counts["train"], size) // batches + _pad(counts["truth"], size)
    lists = int(counts["lists"].sum())
    if not lists:
        advice = "check that the truth and the predictions have the same users."
        raise NothingToEvaluate("there is no list that counts.", "at least one list.", advice)
    hits_of = {int(n[3:]): _pad(c, size) for n, c in counts.items() if n.startswith("of ")}
    total = fsum(int((popular * hits).sum()) / relevant for relevant, hits in hits_of.items())

    return total / max(users, 1) / lists


def _pad(counts: Integers, size: int) -> Integers:
    return np.pad(counts, (0, size - len(counts)))


@count_metric(
    "Exposure of head and tail per relevant item",
    counts=count_by_half,
    formula="standard deviation / mean over head and tail of (times that items of the half are in "
    f"the top {{k}} / its relevant items), both counted over all lists; {HALVES}; relevant items, "
    f"{TWO_WAYS}",
    reading="0 if both halves are shown in proportion to their numbers of relevant items.",
    use="Use it to reproduce tools that report it as PopREO although it counts misses as well; "
    "pop_reo counts hits only.",
    cite="zhu2020measuring",
    bounds=(0.0, 1.0),
    best="low",
    needs=("train", "shown", "wanted", "people"),
)
def pop_reo_places(
    counts: Counts, *, below: str = "unseen", item_group: str = "all", missing: str = "left_out"
) -> float:
    """Inequality between head and tail in how often they are shown per relevant item."""
    rates = compute_rates(counts, "places", count_relevant(counts, below))
    return relative_spread(rates, item_group, "pop_reo_places", missing)


@metric(
    "NDCG against the truth in its own order",
    formula="sum over the top {k} of (2^grade - 1) / log2(rank + 1) / the same sum for the items "
    "of the truth in the order of its rows, up to rank {k}; of rows of one item the last grade "
    "counts, and there are as many rows as different items",
    reading="1 if the list has the items of the truth in the order of its rows. If these are not "
    "sorted by grade, a list can be better than that, and above 1.",
    use="Use it to reproduce tools that take the truth as the ideal list without sorting it; "
    "otherwise use ndcg.",
    cite="jarvelin2002cumulated",
    bounds=(-np.inf, np.inf),
    breaks=("perfect_is_best",),
    needs=("wanted",),
    sees="items",
)
def ndcg_of_rows(lists: Judged, k: int | None) -> Ratio:
    """Discounted gain of the list, relative to that of the truth as it is ordered."""
    worth, owner = _last_worth(lists), lists.truth.rows()
    place = np.arange(len(owner)) - lists.truth.offsets[owner]
    different = _count_different(lists)
    length = different if k is None else np.minimum(different, k)
    ideal = np.where(place < length[owner], worth / np.log2(place + 2), 0.0)
    below = sum_by_group(owner, lists.size, ideal)
    above = lists.total(worth[lists.where] / np.log2(lists.rank + 1), upto=k)
    return Ratio(above, below).where(below != 0)


def _last_worth(lists: Judged) -> Floats:
    """Return 2^grade - 1 for each row of the truth, with the grade of the item's last row."""
    owner, wanted = lists.truth.rows(), lists.wanted
    order = np.lexsort((wanted, owner))  # stable: equal items stay in the order of their rows
    ends = np.append(_run_ends(owner[order], wanted[order]), len(order))
    last = np.searchsorted(ends, np.arange(len(order)), "right")
    worth = np.empty(len(order))
    worth[order] = np.exp2(lists.truth.values[order[ends[last] - 1]]) - 1
    return worth


def _count_different(lists: Judged) -> Integers:
    """Return (lists,) how many different items the truth has."""
    pairs = np.unique(np.stack([lists.truth.rows(), lists.wanted]), axis=1)
    return np.bincount(pairs[0], minlength=lists.size)


def _run_ends(first: Integers, second: Integers) -> Integers:
    """Return where pairs change, in sorted pairs."""
    changes = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return np.flatnonzero(changes) + 1
