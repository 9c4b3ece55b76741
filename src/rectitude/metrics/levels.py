"""Accuracy along the list: at levels of recall, over all prefixes, and against the ideal list.

Also geometric means, which a single bad list pulls down.
"""

from __future__ import annotations

import math

import numpy as np

from rectitude.arrays import Floats, Integers, accumulate_groups, sum_by_group
from rectitude.errors import BadArgument
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import (
    Count,
    Discount,
    Gain,
    GainFrom,
    Ideal,
    binary,
    by_rank,
    discount_function,
    every_hit,
    gain_function,
    only_relevant,
    whole_k,
)
from rectitude.metrics.ranking import average_precision, bpref, precisions_at_hits
from rectitude.metrics.registry import Ratio, metric

_NEARLY_WHOLE = 1e-9
_LEVELS = [tenth / 10 for tenth in range(11)]
_TINY = np.finfo(float).tiny
"""Replaces a denominator of 0 when the numerator is 0 as well."""


@metric(
    "Interpolated precision at a level of recall",
    formula="highest precision at any rank with at least {level} * R relevant items up to it, R = "
    "relevant items; 0 if the list never has that many (a fraction of an item from {round_up_from} "
    "on is rounded up)",
    reading="iprec@0.5 is the best precision at any rank that reaches a recall of at least 0.5.",
    use="Use it to draw precision-recall curves: the number after the @ is a recall, not a cutoff.",
    cite="manning2008introduction",
    cutoff="level",
)
def iprec(
    lists: Judged, k: int | None, *, level: float = 0.0, round_up_from: float = _NEARLY_WHOLE
) -> Ratio:
    """Highest precision at or beyond a level of recall."""
    if not 0 <= level <= 1:
        raise BadArgument(f"level is {level:g}.", "a recall from 0 to 1.")
    return Ratio.of(_interpolate(lists, level, round_up_from))


@metric(
    "Eleven-point average precision",
    formula="mean of the interpolated precision at the recalls 0, 0.1, ..., 1; a fraction of an "
    "item from {round_up_from} on is rounded up (ranks up to {k})",
    reading="The area under the interpolated precision-recall curve, approximated at eleven "
    "points.",
    use="Use it to compare with results from before average precision became common; map needs no "
    "levels.",
    cite="manning2008introduction",
)
def iprec_mean(lists: Judged, k: int | None, *, round_up_from: float = _NEARLY_WHOLE) -> Ratio:
    """Mean of the interpolated precision over eleven levels of recall."""
    top = lists if k is None else lists.end_at(k)
    total = np.zeros(lists.size)
    for level in _LEVELS:  # one by one: the order of additions affects the last bits
        total += _interpolate(top, level, round_up_from)
    return Ratio.of(total / len(_LEVELS))


def _interpolate(lists: Judged, level: float, round_up_from: float) -> Floats:
    """Return (lists,) the highest precision at any hit with enough hits up to it."""
    needed = np.floor(level * lists.relevant + (1 - round_up_from))
    enough = np.flatnonzero(lists.hit & (lists.nth >= needed[lists.list]))
    best = np.zeros(lists.size)
    np.maximum.at(best, lists.list[enough], precisions_at_hits(lists)[enough])
    return best


@metric(
    "Geometric mean average precision",
    formula="exp of the mean over lists of ln(map), with map at least {floor} and divided by "
    "{ap_over} (ranks up to {k})",
    reading="Halving the average precision of any list has the same effect, whether the list is "
    "good or bad.",
    use="Use it when the worst lists matter most; map hardly reacts to them. The value of a single "
    "list is the logarithm.",
    cite="robertson2006gmap",
    bounds=(math.log(1e-5), 1.0),
    overall="exp of the mean",
)
def gm_map(lists: Judged, k: int | None, *, ap_over: Count, floor: float = 1e-5) -> Ratio:
    """Geometric mean of the average precision of all lists."""
    return _take_logarithm(average_precision(lists, k, ap_over=ap_over), floor)


@metric(
    "Geometric mean binary preference",
    formula="exp of the mean over lists of ln(bpref), with bpref at least {floor} (ranks up to "
    "{k})",
    reading="Read it like gm_map, for bpref.",
    use="Use it with incomplete judgements when the worst lists matter most. The value of a single "
    "list is the logarithm.",
    cite="robertson2006gmap",
    bounds=(math.log(1e-5), 1.0),
    breaks=("perfect_is_best",),
    overall="exp of the mean",
)
def gm_bpref(lists: Judged, k: int | None, *, floor: float = 1e-5) -> Ratio:
    """Geometric mean of the binary preference of all lists."""
    return _take_logarithm(bpref(lists, k), floor)


def _take_logarithm(ratio: Ratio, floor: float) -> Ratio:
    """Return the logarithm of fractions, at least that of the floor; 0/0 counts as 0."""
    if not 0 < floor <= 1:
        raise BadArgument(f"floor is {floor:g}.", "a number above 0 and at most 1.")
    value = ratio.above / np.where(ratio.below == 0, 1.0, ratio.below)
    return Ratio.of(np.log(np.maximum(value, floor)))


@metric(
    "Binary G",
    formula="sum over hits of 1 / log2(2 + non-relevant items above it) / R, R = relevant items "
    "(ranks up to {k})",
    reading="1 if no non-relevant item is ranked above a relevant one; relevant items that are "
    "missing add 0.",
    use="Use it like map, when relevant items should not push each other down.",
)
def bing(lists: Judged, k: int | None) -> Ratio:
    """Mean over the relevant items of a discount by the non-relevant items above each."""
    terms = lists.hit / np.log2(2.0 + lists.rank - lists.nth)
    return Ratio(lists.total(terms, upto=k), lists.relevant)


@metric(
    "G",
    formula="sum of gain / log2(2 + cost - gain so far) / sum of the ideal list's gains; cost = "
    "gains of the ideal list so far, at least 1 for each rank; gain = {gain} (ranks up to {k})",
    reading="1 if no item is ranked above one with a higher grade; it falls with the gain that the "
    "ranks above could have had.",
    use="Use it with graded relevance instead of NDCG, when the discount should depend on the lost "
    "gain and not on the rank.",
)
def g(lists: Judged, k: int | None, *, gain: Gain, gain_from: GainFrom) -> Ratio:
    """Gain of the list, each item discounted by the gain lost so far."""
    gain_of = gain_function(lists, gain, gain_from)
    gains, best = gain_of(lists.grade), gain_of(lists.best.values)
    cost = lists.rank + _accumulate_ideal(lists, np.maximum(best, 1.0) - 1)
    terms = gains / np.log2(2 + cost - accumulate_groups(np.add, gains, lists.list))
    return Ratio(lists.total(terms, upto=k), sum_by_group(lists.best.rows(), lists.size, best))


@metric(
    "NDCG at the ranks of the relevant items",
    formula="mean of ndcg at the rank of every item with a gain; for such an item that is not in "
    "the list, dcg of the list / ideal dcg; gain = {gain}, discount = {discount} (ranks up to {k})",
    reading="1 if the most relevant items come first, in order, as with NDCG.",
    use="Use it when no single cutoff fits all lists, and NDCG of the whole list hides how they "
    "start.",
    breaks=("moving_up_helps",),
)
def ndcg_at_hits(
    lists: Judged, k: int | None, *, gain: Gain, gain_from: GainFrom, discount: Discount
) -> Ratio:
    """Mean of NDCG at the rank of every item with a gain."""
    lists = lists if k is None else lists.end_at(k)
    gains, discounted, _, best = _discount_gains(lists, gain, gain_from, discount)
    so_far = np.where(gains > 0, accumulate_groups(np.add, discounted, lists.list), 0.0)
    wanted = sum_by_group(lists.best.rows()[best > 0], lists.size)
    missed = wanted - sum_by_group(lists.list[gains > 0], lists.size)
    at_hits = lists.total(so_far / np.maximum(_accumulate_ideal(lists, best), _TINY))
    return Ratio(at_hits + missed * _ndcg_of_list(lists, discounted, best), wanted)


@metric(
    "NDCG at the ranks where the ideal gain drops",
    formula="mean of ndcg at the ranks after which the gain of the ideal list drops, and at the "
    "end of the list if that is at least two ranks further; gain = {gain}, discount = {discount} "
    "(ranks up to {k})",
    reading="With grades 0 and 1, it is the mean of NDCG at R and NDCG of the whole list.",
    use="Use it with graded relevance when users have very different numbers of relevant items.",
)
def rndcg(
    lists: Judged, k: int | None, *, gain: Gain, gain_from: GainFrom, discount: Discount
) -> Ratio:
    """Mean of NDCG at the ranks where the ideal list moves to a lower grade."""
    lists = lists if k is None else lists.end_at(k)
    _, discounted, levels, best = _discount_gains(lists, gain, gain_from, discount)
    owner = lists.best.rows()
    drops = np.append((owner[1:] != owner[:-1]) | (levels[1:] < levels[:-1]), True)[: len(owner)]
    drop_rows = np.flatnonzero((levels > 0) & drops)
    sums = _accumulate_up_to(lists, discounted, owner[drop_rows], _ideal_ranks(lists)[drop_rows])
    ndcgs = sums / accumulate_groups(np.add, best, owner)[drop_rows]
    end = lists.returned > sum_by_group(owner[levels > 0], lists.size) + 1
    above = sum_by_group(owner[drop_rows], lists.size, ndcgs) + end * _ndcg_of_list(
        lists, discounted, best
    )
    return Ratio(above, sum_by_group(owner[drop_rows], lists.size) + end).where(lists.relevant > 0)


def _discount_gains(
    lists: Judged, gain: Gain, gain_from: GainFrom, discount: Discount
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the gains of the rows, plain and discounted, and those of the ideal lists, plain and
    discounted."""
    gain_of, weights = gain_function(lists, gain, gain_from), discount_function(discount, 2.0)
    gains, best = gain_of(lists.grade), gain_of(lists.best.values)
    return gains, gains * weights(lists.rank), best, best * weights(_ideal_ranks(lists))


def _ndcg_of_list(lists: Judged, discounted: Floats, best: Floats) -> Floats:
    """Return (lists,) NDCG of the whole list."""
    ideal = sum_by_group(lists.best.rows(), lists.size, best)
    return lists.total(discounted) / np.maximum(ideal, _TINY)


def _ideal_ranks(lists: Judged) -> Integers:
    """Return the rank in the ideal list of each row of the truth."""
    best = lists.best
    ranks: Integers = np.arange(1, len(best.values) + 1) - best.offsets[best.rows()]
    return ranks


def _accumulate_ideal(lists: Judged, values: Floats) -> Floats:
    """Return (rows,) the running sum of the ideal list at the rank of each row."""
    best = lists.best
    ends = np.minimum(best.offsets[lists.list] + lists.rank, best.offsets[lists.list + 1])
    so_far: Floats = accumulate_groups(np.add, values, best.rows())[ends - 1]
    return so_far


def _accumulate_up_to(
    lists: Judged, values: Floats, list_number: Integers, ranks: Integers
) -> Floats:
    """Return the running sums of some lists at some ranks."""
    step = int(max(lists.rank.max(initial=0), ranks.max(initial=0))) + 1
    row = (
        np.searchsorted(lists.list * step + lists.rank, list_number * step + ranks, side="right")
        - 1
    )
    has_row = (row >= 0) & (np.append(lists.list, -1)[row] == list_number)
    return np.where(
        has_row, np.append(accumulate_groups(np.add, values, lists.list), 0.0)[row], 0.0
    )


@metric(
    "Mean precision over all prefixes",
    formula="mean over n = 1 to {k} of (hits in the first n / n)",
    reading="A hit at rank 1 counts in every prefix, a hit at the last rank in only one. This is "
    "not average precision: it is below 1 if there are fewer relevant items than positions.",
    use="Use it to reward early hits in proportion to how much of the screen is below them, and to "
    "compare with tools that call it MAP.",
    averages="closed form",
)
def mean_prefix_precision(lists: Judged, k: int | None) -> Ratio:
    """Precision averaged over every cutoff up to k; positions after the end of a list are
    misses."""
    ends = whole_k(lists, k)
    deepest = int(max(ends.max(initial=0), lists.rank.max(initial=0)))
    harmonic = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, deepest + 1))))
    missed = by_rank(lists, k, lambda ranks: harmonic[ranks - 1])
    terms = lists.chance(k) * harmonic[ends.astype(np.int64)][lists.list] - missed
    return Ratio(lists.total(lists.hit * terms, upto=k), ends)


@metric(
    "Mean recall over all prefixes",
    formula="mean over n = 1 to {k} of (hits in the first n / R), R = relevant items",
    reading="1 only with a single relevant item at rank 1. A list that starts with its R relevant "
    "items has 1 - (R - 1) / 2k.",
    use="Use it when relevant items should be found early, and to compare with tools that call it "
    "MAR.",
    averages="closed form",
)
def mean_prefix_recall(lists: Judged, k: int | None) -> Ratio:
    """Recall averaged over every cutoff up to k; positions after the end of a list are misses."""
    ends = whole_k(lists, k)
    missed = by_rank(lists, k, lambda ranks: ranks.astype(np.float64))
    terms = lists.chance(k) * (ends + 1)[lists.list] - missed
    return Ratio(lists.total(lists.hit * terms, upto=k), ends * lists.relevant)


@metric(
    "Normalised cumulative reciprocal rank",
    formula="sum over hits in the top {k} of 1 / rank / the same sum for the ideal list; "
    "ideal list = {ideal}",
    reading="1 if the relevant items come first. With one relevant item it is the reciprocal rank.",
    use="Use it like ndcg, with a discount that falls faster: rank 2 counts half, rank 10 a tenth.",
)
def ncrr(lists: Judged, k: int | None, *, ideal: Ideal) -> Ratio:
    """Sum of 1 / rank over all hits, relative to the ideal list."""
    gain_of = gain_function(lists, binary, only_relevant)
    return Ratio(every_hit(lists, k), ideal(lists, k, gain_of, reciprocal))


def reciprocal(ranks: Integers) -> Floats:
    """Return 1 / rank."""
    weights: Floats = 1.0 / np.asarray(ranks, np.float64)
    return weights
