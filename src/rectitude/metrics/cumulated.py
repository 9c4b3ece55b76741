"""Gain compared with the ideal list on the way, not only at its end."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats, Integers, accumulated, totals
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Discount, Gain, GainFrom, weights_of, worth_of
from rectitude.metrics.registry import Ratio, metric


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


_TINY = np.finfo(float).tiny
"""Instead of 0 below the line, where 0 stands above it."""


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
