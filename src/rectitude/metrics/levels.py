"""Accuracy along the list: at levels of recall, at every prefix, and against the ideal list.

Also geometric means, which a single bad list pulls down.
"""

from __future__ import annotations

import math

import numpy as np

from rectitude.arrays import Floats, Integers, accumulated, totals
from rectitude.errors import BadName
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import (
    Count,
    Discount,
    Gain,
    GainFrom,
    Ideal,
    binary,
    by_rank,
    every_hit,
    only_relevant,
    weights_of,
    whole_k,
    worth_of,
)
from rectitude.metrics.ranking import average_precision, bpref, precisions_at_hits
from rectitude.metrics.registry import Ratio, metric

_NEARLY_WHOLE = 1e-9
_LEVELS = [tenth / 10 for tenth in range(11)]
_TINY = np.finfo(float).tiny
"""Instead of 0 below the line, where 0 stands above it."""


@metric(
    "Interpolated precision at a level of recall",
    formula="highest precision at any rank with at least {level} * R relevant items, R = relevant "
    "items; 0 if the list has not so many (a share of an item from {round_up_from} on counts as a "
    "whole one)",
    reading="iprec@0.5 is the precision one can have on the way to half of the relevant items or "
    "more.",
    use="Use it for curves of precision against recall: what stands after the @ is a recall, not a "
    "cutoff.",
    cite="manning2008introduction",
    cutoff="level",
)
def iprec(
    lists: Judged, k: int | None, *, level: float = 0.0, round_up_from: float = _NEARLY_WHOLE
) -> Ratio:
    """Highest precision at or beyond a level of recall."""
    if not 0 <= level <= 1:
        raise BadName(f"level cannot be {level:g}.", "a share of the relevant items, 0 to 1.")
    return Ratio.of(_interpolated(lists, level, round_up_from))


@metric(
    "Eleven-point average precision",
    formula="mean of the interpolated precision at the recalls 0, 0.1, ..., 1, where a share of an "
    "item from {round_up_from} on counts as a whole one (ranks up to {k})",
    reading="The area under the curve of iprec, read at eleven points.",
    use="Use it to compare with results from before average precision; map needs no levels.",
    cite="manning2008introduction",
)
def iprec_mean(lists: Judged, k: int | None, *, round_up_from: float = _NEARLY_WHOLE) -> Ratio:
    """Mean of the interpolated precision over eleven levels of recall."""
    seen = lists if k is None else lists.ended(k)
    total = np.zeros(lists.size)
    for level in _LEVELS:  # one by one: the order of the sum shows in the last bits
        total += _interpolated(seen, level, round_up_from)
    return Ratio.of(total / len(_LEVELS))


def _interpolated(lists: Judged, level: float, round_up_from: float) -> Floats:
    """(lists,) the highest precision at a hit that has enough hits up to it."""
    needed = np.floor(level * lists.relevant + (1 - round_up_from))
    enough = np.flatnonzero(lists.hit & (lists.nth >= needed[lists.list]))
    best = np.zeros(lists.size)
    np.maximum.at(best, lists.list[enough], precisions_at_hits(lists)[enough])
    return best


@metric(
    "Geometric mean average precision",
    formula="exp of the mean over lists of ln(map), map at least {floor}, over {ap_over} (ranks up "
    "to {k})",
    reading="Halving the average precision of one list costs as much as halving that of any other.",
    use="Use it when the worst lists matter most; map hardly notices them. The value of a single "
    "list is the logarithm.",
    cite="robertson2006gmap",
    bounds=(math.log(1e-5), 1.0),
    overall="exp of the mean",
)
def gm_map(lists: Judged, k: int | None, *, ap_over: Count, floor: float = 1e-5) -> Ratio:
    """Geometric mean of the average precision of all lists."""
    return _logarithm(average_precision(lists, k, ap_over=ap_over), floor)


@metric(
    "Geometric mean binary preference",
    formula="exp of the mean over lists of ln(bpref), bpref at least {floor} (ranks up to {k})",
    reading="As gm_map, for bpref.",
    use="Use it with incomplete judgements when the worst lists matter most. The value of a single "
    "list is the logarithm.",
    cite="robertson2006gmap",
    bounds=(math.log(1e-5), 1.0),
    breaks=("perfect_is_best",),
    overall="exp of the mean",
)
def gm_bpref(lists: Judged, k: int | None, *, floor: float = 1e-5) -> Ratio:
    """Geometric mean of the binary preference of all lists."""
    return _logarithm(bpref(lists, k), floor)


def _logarithm(ratio: Ratio, floor: float) -> Ratio:
    """The logarithm of fractions; those of nothing count as 0, and 0 as the floor."""
    if not 0 < floor <= 1:
        raise BadName(f"floor cannot be {floor:g}.", "a number above 0, at most 1.")
    value = ratio.above / np.where(ratio.below == 0, 1.0, ratio.below)
    return Ratio.of(np.log(np.maximum(value, floor)))


@metric(
    "Binary G",
    formula="sum over hits of 1 / log2(2 + items above it that are not relevant) / R, R = relevant "
    "items (ranks up to {k})",
    reading="1 when nothing stands above the relevant items; what is missed adds nothing.",
    use="Use it like map when relevant items should not push each other down.",
)
def bing(lists: Judged, k: int | None) -> Ratio:
    """Mean over relevant items of a discount by the wrong items above each."""
    terms = lists.hit / np.log2(2.0 + lists.rank - lists.nth)
    return Ratio(lists.total(terms, upto=k), lists.relevant)


@metric(
    "G",
    formula="sum of gain / log2(2 + cost - gain so far) / sum of the ideal list's gains; cost = "
    "gains of the ideal list so far, at least 1 for each rank; gain = {gain} (ranks up to {k})",
    reading="1 when no item stands above one with a higher grade; falls with the gain that the "
    "ranks above could have held.",
    use="Use it with graded relevance instead of NDCG, when the discount should depend on what was "
    "lost and not on the rank.",
)
def g(lists: Judged, k: int | None, *, gain: Gain, gain_from: GainFrom) -> Ratio:
    """Gain of the list, each item discounted by what the ranks so far have lost."""
    worth = worth_of(lists, gain, gain_from)
    gains, best = worth(lists.grade), worth(lists.best.values)
    cost = lists.rank + _of_ideal(lists, np.maximum(best, 1.0) - 1)
    terms = gains / np.log2(2 + cost - accumulated(np.add, gains, lists.list))
    return Ratio(lists.total(terms, upto=k), totals(lists.best.rows(), lists.size, best))


@metric(
    "NDCG at the ranks of the relevant items",
    formula="mean over the items that gain of ndcg at their ranks; one that is not in the list "
    "takes dcg of the list / ideal dcg; gain = {gain}, discount = {discount} (ranks up to {k})",
    reading="1 when the most relevant items come first, in order, as with NDCG.",
    use="Use it when no cutoff fits all lists and NDCG of the whole list hides their beginning.",
    breaks=("moving_up_helps",),
)
def ndcg_at_hits(
    lists: Judged, k: int | None, *, gain: Gain, gain_from: GainFrom, discount: Discount
) -> Ratio:
    """Mean of NDCG at the rank of every item that gains."""
    lists = lists if k is None else lists.ended(k)
    gains, found, _, best = _discounted(lists, gain, gain_from, discount)
    so_far = np.where(gains > 0, accumulated(np.add, found, lists.list), 0.0)
    wanted = totals(lists.best.rows()[best > 0], lists.size)
    missed = wanted - totals(lists.list[gains > 0], lists.size)
    at_hits = lists.total(so_far / np.maximum(_of_ideal(lists, best), _TINY))
    return Ratio(at_hits + missed * _whole(lists, found, best), wanted)


@metric(
    "NDCG where the ideal gain falls",
    formula="mean of ndcg at the ranks after which the ideal list's gain falls, and at the end of "
    "the list if that is two ranks further; gain = {gain}, discount = {discount} (ranks up to {k})",
    reading="With grades 0 and 1 it is the mean of NDCG at R and of NDCG of the whole list.",
    use="Use it with graded relevance when users have very different numbers of relevant items.",
)
def rndcg(
    lists: Judged, k: int | None, *, gain: Gain, gain_from: GainFrom, discount: Discount
) -> Ratio:
    """Mean of NDCG over the ranks at which the ideal list comes to a lower grade."""
    lists = lists if k is None else lists.ended(k)
    _, found, levels, best = _discounted(lists, gain, gain_from, discount)
    owner = lists.best.rows()
    lower = np.append((owner[1:] != owner[:-1]) | (levels[1:] < levels[:-1]), True)[: len(owner)]
    falls = np.flatnonzero((levels > 0) & lower)
    here = _upto(lists, found, owner[falls], _places(lists)[falls])
    each = here / accumulated(np.add, best, owner)[falls]
    end = lists.returned > totals(owner[levels > 0], lists.size) + 1
    above = totals(owner[falls], lists.size, each) + end * _whole(lists, found, best)
    return Ratio(above, totals(owner[falls], lists.size) + end).where(lists.relevant > 0)


def _discounted(
    lists: Judged, gain: Gain, gain_from: GainFrom, discount: Discount
) -> tuple[Floats, Floats, Floats, Floats]:
    """Gains of the rows and of the ideal lists, each as they are and discounted."""
    worth, weights = worth_of(lists, gain, gain_from), weights_of(discount, 2.0)
    gains, best = worth(lists.grade), worth(lists.best.values)
    return gains, gains * weights(lists.rank), best, best * weights(_places(lists))


def _whole(lists: Judged, found: Floats, best: Floats) -> Floats:
    """(lists,) NDCG of the whole list."""
    ideal = totals(lists.best.rows(), lists.size, best)
    return lists.total(found) / np.maximum(ideal, _TINY)


def _places(lists: Judged) -> Integers:
    """Ranks of the ideal lists, one for each row of the truth."""
    best = lists.best
    places: Integers = np.arange(1, len(best.values) + 1) - best.offsets[best.rows()]
    return places


def _of_ideal(lists: Judged, values: Floats) -> Floats:
    """(found,) what the ideal list has added up at the rank of each row."""
    best = lists.best
    ends = np.minimum(best.offsets[lists.list] + lists.rank, best.offsets[lists.list + 1])
    so_far: Floats = accumulated(np.add, values, best.rows())[ends - 1]
    return so_far


def _upto(lists: Judged, values: Floats, which: Integers, ranks: Integers) -> Floats:
    """What some lists have added up at some ranks."""
    step = int(max(lists.rank.max(initial=0), ranks.max(initial=0))) + 1
    row = np.searchsorted(lists.list * step + lists.rank, which * step + ranks, side="right") - 1
    there = (row >= 0) & (np.append(lists.list, -1)[row] == which)
    return np.where(there, np.append(accumulated(np.add, values, lists.list), 0.0)[row], 0.0)


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


@metric(
    "Normalised cumulative reciprocal rank",
    formula="sum over hits in the top {k} of 1 / rank / the same sum for the ideal list; "
    "ideal list = {ideal}",
    reading="1 when the relevant items come first. With one relevant item it is the reciprocal "
    "rank.",
    use="Use it as ndcg with a discount that falls faster: rank 2 counts half, rank 10 a tenth.",
)
def ncrr(lists: Judged, k: int | None, *, ideal: Ideal) -> Ratio:
    """One over the rank, added up over all hits, over the most that the truth allows."""
    worth = worth_of(lists, binary, only_relevant)
    return Ratio(every_hit(lists, k), ideal(lists, k, worth, reciprocal))


def reciprocal(ranks: Integers) -> Floats:
    """One over the rank."""
    weights: Floats = 1.0 / np.asarray(ranks, np.float64)
    return weights
