"""The functions behind the metric switches: one small pure function for each choice.

A switch of `Convention` in the stage `metrics` has a table here; the registry passes the chosen
function to metrics that name the switch as a keyword-only parameter. A test holds tables and
switches together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, running, totals
from rectitude.errors import BadGrades, BadName
from rectitude.judge.judged import Judged

Count = Callable[[Judged, int | None], Floats]
"""Something to divide by: (lists, cutoff) -> one number per list."""
Gain = Callable[[Floats, Flags, float], Floats]
"""What items are worth: (grades, which of them gain, threshold or 0) -> gains."""
GainFrom = Callable[[Judged, Floats], Flags]
"""Which grades gain."""
Discount = Callable[[Integers, float], Floats]
"""The weight of ranks: (ranks, log base) -> weights."""
Worth = Callable[[Floats], Floats]
"""Gain and GainFrom put together: grades -> gains."""
Weights = Callable[[Integers], Floats]
"""A discount with its base: ranks -> weights."""
Ideal = Callable[[Judged, int | None, Worth, Weights], Floats]
"""The best a list could get: (lists, cutoff, worth, weights) -> one number per list."""
DiscountBy = Callable[[Judged, int | None, Weights], Floats]
"""The weight of each judged item: (lists, cutoff, weights) -> one number per row."""
Denominator = Callable[[Floats, Floats], Floats]
"""What to divide by where nothing was hit: (hits, denominator) -> denominator."""
Classes = Callable[[Floats, Floats], Flags]
"""Which classes count: (targets of each class, predictions of each class) -> flags."""


def whole_k(lists: Judged, k: int | None) -> Floats:
    """The cutoff; without one, the length of the list, at least 1: an empty list is a miss."""
    return np.maximum(lists.returned_upto(k), 1.0) if k is None else np.full(lists.size, float(k))


def relevant(lists: Judged, k: int | None) -> Floats:
    """Relevant items in the truth."""
    return lists.relevant


def found(lists: Judged, k: int | None) -> Floats:
    """The hits up to k, at least 1: no hits are a miss."""
    return np.maximum(lists.hits(k), 1.0)


def binary(grades: Floats, gaining: Flags, threshold: float) -> Floats:
    """1 for an item that gains."""
    return gaining.astype(np.float64)


def linear(grades: Floats, gaining: Flags, threshold: float) -> Floats:
    """The grade of the item."""
    return np.where(gaining, grades, 0.0)


def exp2(grades: Floats, gaining: Flags, threshold: float) -> Floats:
    """2 to the grade, less 1."""
    return np.exp2(np.where(gaining, grades, 0.0)) - 1.0


def exp2_above(grades: Floats, gaining: Flags, threshold: float) -> Floats:
    """2 to the grade's distance from the threshold plus 1, less 1."""
    return np.exp2(np.where(gaining, grades - threshold + 1.0, 0.0)) - 1.0


def only_relevant(lists: Judged, grades: Floats) -> Flags:
    """Relevant grades gain."""
    return lists.is_relevant(grades)


def above_zero(lists: Judged, grades: Floats) -> Flags:
    """Grades above 0 gain, whatever the threshold."""
    return grades > 0


def worth_of(lists: Judged, gain: Gain, gain_from: GainFrom) -> Worth:
    """What grades are worth in these lists, once it is known that no gain is negative."""

    def worth(grades: Floats) -> Floats:
        return gain(grades, gain_from(lists, grades), lists.relevant_from or 0.0)

    grades = lists.truth.values
    least = lists.once(("least", gain, gain_from), lambda: worth(grades).min(initial=0.0))
    if least < 0:
        raise BadGrades(
            f"a relevant grade has a gain of {least:g} (the lowest grade is {grades.min():g}).",
            "gains of at least 0.",
            "raise relevant_from, or set gain='binary'.",
        )
    return worth


def log(ranks: Integers, base: float) -> Floats:
    """One over the logarithm of the rank plus 1."""
    return _by_rank(ranks, lambda r: _log(r + 1, base))


def log_from_second(ranks: Integers, base: float) -> Floats:
    """One over the logarithm of the rank, from the second rank on."""
    return _by_rank(ranks, lambda r: np.maximum(1.0, _log(r, base)))


def _log(values: Floats, base: float) -> Floats:
    return np.log2(values) if base == 2 else np.log(values) / np.log(base)


def _by_rank(ranks: Integers, below: Callable[[Floats], Floats]) -> Floats:
    """Weights looked up in a table, so that a rank has the same bits wherever it occurs."""
    deepest = int(ranks.max(initial=0))
    table = np.concatenate(([0.0], 1.0 / below(np.arange(1.0, deepest + 1))))
    return table[ranks]


def weights_of(discount: Discount, log_base: float) -> Weights:
    """A discount with its base."""
    if not 1 < log_base < np.inf:
        raise BadName(f"log_base cannot be {log_base:g}.", "a number above 1.")
    return lambda ranks: discount(ranks, log_base)


def by_rank(lists: Judged, k: int | None, weights: Weights) -> Floats:
    """The weight of the rank."""
    return weights(lists.rank) if lists.last is None else mean_weights(lists, k, weights)


def by_place(lists: Judged, k: int | None, weights: Weights) -> Floats:
    """The weight of the place in the truth's own order."""
    by_truth = weights(lists.place + 1)
    return by_truth if lists.last is None else by_truth * lists.chance(k)


def mean_weights(lists: Judged, k: int | None, weights: Weights) -> Floats:
    """(found,) the mean weight of the ranks that a tied item may take, 0 beyond the cutoff.

    The sums up to every rank are kept with their rounding errors, as their difference is wanted.
    """
    first, last = lists.rank, lists.rank if lists.last is None else lists.last
    end = last if k is None else np.minimum(last, k)
    start = np.minimum(first - 1, end)
    each = weights(np.arange(1, int(end.max(initial=0)) + 1))
    sums = np.concatenate(([0.0], np.cumsum(each)))
    taken = np.diff(sums)
    lost = np.concatenate(([0.0], np.cumsum(sums[:-1] - (sums[1:] - taken) + (each - taken))))
    mean: Floats = (sums[end] - sums[start] + (lost[end] - lost[start])) / (last - first + 1)
    return mean


def first_hit(lists: Judged, k: int | None) -> Floats:
    """One over the rank of the first hit."""
    return np.where(lists.first <= (np.inf if k is None else k), 1.0 / lists.first, 0.0)


def every_hit(lists: Judged, k: int | None) -> Floats:
    """One over the rank, added up over all hits."""
    return lists.total(lists.hit / lists.rank, upto=k)


def any_hit(lists: Judged, k: int | None) -> Floats:
    """1 if there is a hit."""
    return (lists.hits(k) > 0).astype(np.float64)


def ideal_reachable(lists: Judged, k: int | None, worth: Worth, weights: Weights) -> Floats:
    """The discounted gains of the truth, best first, cut at k."""
    best = lists.best
    if not len(best.values) or best.values.min() == best.values.max():
        count = (lists.judged if k is None else np.minimum(lists.judged, k)).astype(np.int64)
        return _running_sum(int(count.max(initial=0)), worth(best.values[:1]), weights)[count]
    ends = np.full(lists.size, np.inf if k is None else k)
    return _best_first(best.rows(), worth(best.values), ends, weights)


def ideal_reachable_returned(
    lists: Judged, k: int | None, worth: Worth, weights: Weights
) -> Floats:
    """The discounted gains of the truth, best first, cut at k and at the length of the list."""
    best = lists.best
    return _best_first(best.rows(), worth(best.values), lists.returned_upto(k), weights)


def ideal_found(lists: Judged, k: int | None, worth: Worth, weights: Weights) -> Floats:
    """The gains up to k, best first."""
    require_order(lists, "the ideal list depends on the hits")
    rows, owners = lists.within(k)
    ends = np.full(lists.size, np.inf)
    return _best_first(owners, worth(lists.grade[rows]), ends, weights)


def ideal_listed(lists: Judged, k: int | None, worth: Worth, weights: Weights) -> Floats:
    """The gains of the whole list, best first, cut at k."""
    require_order(lists, "the ideal list depends on the hits")
    ends = np.full(lists.size, np.inf if k is None else k)
    return _best_first(lists.list, worth(lists.grade), ends, weights)


def _best_first(owners: Integers, gains: Floats, ends: Floats, weights: Weights) -> Floats:
    """The discounted gains of each list, highest first, up to the rank where it ends."""
    if np.any((gains[1:] > gains[:-1]) & (owners[1:] == owners[:-1])):
        order = np.lexsort((-gains, owners))
        owners, gains = owners[order], gains[order]
    rank = running(np.ones(len(owners), bool), owners)
    kept = np.flatnonzero(rank <= ends[owners])
    return totals(owners[kept], len(ends), (gains * weights(rank))[kept])


def require_order(lists: Judged, cause: str) -> None:
    """Refuse lists with averaged ties where the mean over all orders has no closed form."""
    if lists.last is not None:
        raise BadName(
            f"ties='average' has no closed form here: {cause}.",
            "a value that is a sum over the ranks.",
            "set another rule, such as ties='pessimistic', or other switches.",
        )


def ideal_returned(lists: Judged, k: int | None, worth: Worth, weights: Weights) -> Floats:
    """A barely relevant item at every rank up to k that holds an item."""
    count = lists.returned_upto(k).astype(np.int64)
    return _running_sum(int(count.max(initial=0)), _one(lists, worth), weights)[count]


def ideal_k(lists: Judged, k: int | None, worth: Worth, weights: Weights) -> Floats:
    """A barely relevant item at every rank up to k; without a cutoff, at every rank of the list."""
    if k is None:
        return ideal_returned(lists, k, worth, weights)
    return np.full(lists.size, _running_sum(k, _one(lists, worth), weights)[-1])


def _one(lists: Judged, worth: Worth) -> Floats:
    """What a barely relevant item is worth."""
    return worth(np.array([max(1.0, lists.relevant_from or 1.0)]))


def _running_sum(depth: int, gain: Floats, weights: Weights) -> Floats:
    """What the first 0, 1, 2, ... ranks are worth if each holds an item of this gain."""
    each = weights(np.arange(1, depth + 1)) * (gain[0] if len(gain) else 0.0)
    return np.concatenate(([0.0], np.cumsum(each)))


def no_hits_zero(hits: Floats, below: Floats) -> Floats:
    """No hits are worth 0, also where there is nothing to divide by."""
    return np.where(below == 0, 1.0, below)


def no_hits_undefined(hits: Floats, below: Floats) -> Floats:
    """The denominator is 0 where nothing was hit, so that the value is 0/0."""
    return np.where(hits > 0, below, 0.0)


def present(support: Floats, predicted: Floats) -> Flags:
    """Classes that are the target or the prediction of some list."""
    return (support > 0) | (predicted > 0)


def every_class(support: Floats, predicted: Floats) -> Flags:
    """All classes."""
    return np.ones(len(support), bool)


CHOICES: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "precision_over": {
        "k": whole_k,
        "returned": Judged.returned_upto,
        "reachable": Judged.reachable,
        "reachable_returned": Judged.reachable_returned,
    },
    "recall_over": {"relevant": relevant, "reachable": Judged.reachable},
    "ap_over": {
        "relevant": relevant,
        "reachable": Judged.reachable,
        "reachable_returned": Judged.reachable_returned,
        "k": whole_k,
        "found": found,
    },
    "gain": {"binary": binary, "linear": linear, "exp2": exp2, "exp2_above": exp2_above},
    "gain_from": {"relevant": only_relevant, "positive": above_zero},
    "discount": {"log": log, "log_from_second": log_from_second},
    "discount_by": {"rank": by_rank, "place": by_place},
    "ideal": {
        "reachable": ideal_reachable,
        "reachable_returned": ideal_reachable_returned,
        "k": ideal_k,
        "returned": ideal_returned,
        "found": ideal_found,
        "listed": ideal_listed,
    },
    "reciprocal_rank": {"first": first_hit, "sum": every_hit},
    "hit_as": {"any": any_hit, "count": Judged.hits},
    "f1_without_hits": {"zero": no_hits_zero, "undefined": no_hits_undefined},
    "class_average": {"present": present, "all": every_class},
}
