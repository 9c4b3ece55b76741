"""The functions behind the metric switches: one small pure function for each choice.

Every switch of `Convention` in the stage `metrics` has a table here. The registry passes the chosen
function to each metric that has the switch as a keyword-only parameter. A test checks that tables
and switches match.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, running_count, sum_by_group
from rectitude.convention import is_table, read_gains
from rectitude.errors import BadArgument, BadGrades
from rectitude.judge.judged import Judged

Count = Callable[[Judged, int | None], Floats]
"""A count, such as a denominator: (lists, cutoff) -> one number per list."""
Gain = Callable[[Floats, Flags, float], Floats]
"""The gain of items: (grades, which of them have a gain, threshold or 0) -> gains."""
GainFrom = Callable[[Judged, Floats], Flags]
"""Which grades have a gain: (lists, grades) -> flags."""
Discount = Callable[[Integers, float], Floats]
"""The weight of ranks: (ranks, log base) -> weights."""
GainOf = Callable[[Floats], Floats]
"""Gain and GainFrom combined: grades -> gains."""
Weights = Callable[[Integers], Floats]
"""A discount with its base: ranks -> weights."""
Ideal = Callable[[Judged, int | None, GainOf, Weights], Floats]
"""The value of the ideal list: (lists, cutoff, gain_of, weights) -> one number per list."""
DiscountBy = Callable[[Judged, int | None, Weights], Floats]
"""The weight of each judged item: (lists, cutoff, weights) -> one number per row."""
Denominator = Callable[[Floats, Floats], Floats]
"""The denominator of lists without hits: (hits, denominator) -> denominator."""
Classes = Callable[[Floats, Floats], Flags]
"""Which classes count: (targets of each class, predictions of each class) -> flags."""


def whole_k(lists: Judged, k: int | None) -> Floats:
    """Return the cutoff; without one, the length of the list, at least 1 (an empty list is a
    miss)."""
    return np.maximum(lists.returned_upto(k), 1.0) if k is None else np.full(lists.size, float(k))


def relevant(lists: Judged, k: int | None) -> Floats:
    """Return the number of relevant items in the truth."""
    return lists.relevant


def hits_found(lists: Judged, k: int | None) -> Floats:
    """Return the number of hits up to k, at least 1 (no hits are a miss)."""
    return np.maximum(lists.hits(k), 1.0)


def binary(grades: Floats, gaining: Flags, threshold: float) -> Floats:
    """Return 1 for every item with a gain."""
    return gaining.astype(np.float64)


def linear(grades: Floats, gaining: Flags, threshold: float) -> Floats:
    """Return the grade of the item."""
    return np.where(gaining, grades, 0.0)


def signed(grades: Floats, gaining: Flags, threshold: float) -> Floats:
    """Return the grade of the item, even below 0."""
    return linear(grades, gaining, threshold)


def exp2(grades: Floats, gaining: Flags, threshold: float) -> Floats:
    """Return 2^grade - 1."""
    return np.exp2(np.where(gaining, grades, 0.0)) - 1.0


def exp2_above(grades: Floats, gaining: Flags, threshold: float) -> Floats:
    """Return 2^(grade - threshold + 1) - 1."""
    return np.exp2(np.where(gaining, grades - threshold + 1.0, 0.0)) - 1.0


@cache
def gain_from_table(text: str) -> Gain:
    """Return the gains that a table names for its grades, and the grade itself for others.

    A grade in the table has its gain whether or not it is relevant.
    """
    table = read_gains(text)
    known, gains = np.array(sorted(table)), np.array([table[grade] for grade in sorted(table)])

    def by_table(grades: Floats, gaining: Flags, threshold: float) -> Floats:
        place = np.minimum(np.searchsorted(known, grades), len(known) - 1)
        return np.where(known[place] == grades, gains[place], linear(grades, gaining, threshold))

    return by_table


def only_relevant(lists: Judged, grades: Floats) -> Flags:
    """Relevant grades have a gain."""
    return lists.is_relevant(grades)


def above_zero(lists: Judged, grades: Floats) -> Flags:
    """Grades above 0 have a gain, independent of the threshold."""
    return grades > 0


def gain_function(
    lists: Judged,
    gain: Gain,
    gain_from: GainFrom,
    below_zero: Literal["refused", "signed"] = "refused",
) -> GainOf:
    """Return the function from grades to gains for these lists; raise an error if a gain is
    negative, unless the metric can subtract and gains are signed."""

    def gain_of(grades: Floats) -> Floats:
        return gain(grades, gain_from(lists, grades), lists.threshold)

    grades = lists.truth.values
    least = lists.once(("least", gain, gain_from), lambda: gain_of(grades).min(initial=0.0))
    if least < 0 and not (below_zero == "signed" and gain is signed):
        raise BadGrades(
            f"a relevant item has a gain of {least:g} (the lowest grade is {grades.min():g}).",
            "gains of at least 0.",
            "raise relevant_from, or set gain='binary'; dcg and ndcg also take gain='signed'.",
        )
    return gain_of


def log(ranks: Integers, base: float) -> Floats:
    """Return 1 / log(rank + 1)."""
    return _by_rank(ranks, lambda r: _log(r + 1, base))


def log_from_second(ranks: Integers, base: float) -> Floats:
    """Return 1 / log(rank) from the second rank on, and 1 before."""
    return _by_rank(ranks, lambda r: np.maximum(1.0, _log(r, base)))


def position(ranks: Integers, base: float) -> Floats:
    """Return 1 / rank."""
    return _by_rank(ranks, lambda r: r)


def _log(values: Floats, base: float) -> Floats:
    return np.log2(values) if base == 2 else np.log(values) / np.log(base)


def _by_rank(ranks: Integers, denominator: Callable[[Floats], Floats]) -> Floats:
    """Look weights up in a table, so that equal ranks get bit-identical weights."""
    deepest = int(ranks.max(initial=0))
    table = np.concatenate(([0.0], 1.0 / denominator(np.arange(1.0, deepest + 1))))
    return table[ranks]


def discount_function(discount: Discount, log_base: float) -> Weights:
    """Return a discount with its base as a function of ranks."""
    if not 1 < log_base < np.inf:
        raise BadArgument(f"log_base is {log_base:g}.", "a number above 1.")
    return lambda ranks: discount(ranks, log_base)


def by_rank(lists: Judged, k: int | None, weights: Weights) -> Floats:
    """Weight every row by its rank."""
    return weights(lists.rank) if lists.last is None else mean_weights(lists, k, weights)


def by_place(lists: Judged, k: int | None, weights: Weights) -> Floats:
    """Weight every row by its position in the truth's own order."""
    by_truth = weights(lists.place + 1)
    return by_truth if lists.last is None else by_truth * lists.chance(k)


def mean_weights(lists: Judged, k: int | None, weights: Weights) -> Floats:
    """Return the mean weight of the ranks that a tied item may take, one value per row.

    Ranks beyond the cutoff have weight 0. The rounding errors of the running sums are tracked and
    compensated, because the result is a difference of two sums.
    """
    first, last = lists.rank, lists.rank if lists.last is None else lists.last
    end = last if k is None else np.minimum(last, k)
    start = np.minimum(first - 1, end)
    rank_weights = weights(np.arange(1, int(end.max(initial=0)) + 1))
    sums = np.concatenate(([0.0], np.cumsum(rank_weights)))
    added = np.diff(sums)
    lost = np.concatenate(
        ([0.0], np.cumsum(sums[:-1] - (sums[1:] - added) + (rank_weights - added)))
    )
    mean: Floats = (sums[end] - sums[start] + (lost[end] - lost[start])) / (last - first + 1)
    return mean


def first_hit(lists: Judged, k: int | None) -> Floats:
    """Return 1 / rank of the first hit."""
    return np.where(lists.first <= (np.inf if k is None else k), 1.0 / lists.first, 0.0)


def every_hit(lists: Judged, k: int | None) -> Floats:
    """Return the sum of 1 / rank over all hits."""
    return lists.total(lists.hit / lists.rank, upto=k)


def any_hit(lists: Judged, k: int | None) -> Floats:
    """Return 1 if there is a hit."""
    return (lists.hits(k) > 0).astype(np.float64)


def ideal_reachable(lists: Judged, k: int | None, gain_of: GainOf, weights: Weights) -> Floats:
    """Sum the discounted gains of the truth, best first, cut at k."""
    best = lists.best
    if not len(best.values) or best.values.min() == best.values.max():
        count = (lists.judged if k is None else np.minimum(lists.judged, k)).astype(np.int64)
        return _running_sum(int(count.max(initial=0)), gain_of(best.values[:1]), weights)[count]
    ends = np.full(lists.size, np.inf if k is None else k)
    return sum_best_first(best.rows(), gain_of(best.values), ends, weights)


def ideal_reachable_returned(
    lists: Judged, k: int | None, gain_of: GainOf, weights: Weights
) -> Floats:
    """Sum the discounted gains of the truth, best first, cut at k and at the length of the list."""
    best = lists.best
    return sum_best_first(best.rows(), gain_of(best.values), lists.returned_upto(k), weights)


def ideal_found(lists: Judged, k: int | None, gain_of: GainOf, weights: Weights) -> Floats:
    """Sum the discounted gains of the items found up to k, best first."""
    require_order(lists, "the ideal list depends on the hits")
    rows, owners = lists.within(k)
    ends = np.full(lists.size, np.inf)
    return sum_best_first(owners, gain_of(lists.grade[rows]), ends, weights)


def ideal_listed(lists: Judged, k: int | None, gain_of: GainOf, weights: Weights) -> Floats:
    """Sum the discounted gains of the whole list, best first, cut at k."""
    require_order(lists, "the ideal list depends on the hits")
    ends = np.full(lists.size, np.inf if k is None else k)
    return sum_best_first(lists.list, gain_of(lists.grade), ends, weights)


def sum_best_first(owners: Integers, gains: Floats, ends: Floats, weights: Weights) -> Floats:
    """Sum the discounted gains of each list, highest first, up to the rank where it ends."""
    if np.any((gains[1:] > gains[:-1]) & (owners[1:] == owners[:-1])):
        order = np.lexsort((-gains, owners))
        owners, gains = owners[order], gains[order]
    rank = running_count(np.ones(len(owners), bool), owners)
    kept = np.flatnonzero(rank <= ends[owners])
    return sum_by_group(owners[kept], len(ends), (gains * weights(rank))[kept])


def require_order(lists: Judged, cause: str) -> None:
    """Raise an error for averaged ties if the mean over all orders has no closed form."""
    if lists.last is not None:
        raise BadArgument(
            f"ties='average' has no closed form here: {cause}.",
            "a metric that is a sum over the ranks.",
            "set another tie rule, such as ties='pessimistic', or change the other switches.",
        )


def ideal_returned(lists: Judged, k: int | None, gain_of: GainOf, weights: Weights) -> Floats:
    """Sum the discounted gains of a barely relevant item at every filled rank up to k."""
    count = lists.returned_upto(k).astype(np.int64)
    return _running_sum(int(count.max(initial=0)), _smallest_gain(lists, gain_of), weights)[count]


def ideal_k(lists: Judged, k: int | None, gain_of: GainOf, weights: Weights) -> Floats:
    """Sum the discounted gains of a barely relevant item at every rank up to k.

    Without a cutoff, at every rank of the list.
    """
    if k is None:
        return ideal_returned(lists, k, gain_of, weights)
    return np.full(lists.size, _running_sum(k, _smallest_gain(lists, gain_of), weights)[-1])


def _smallest_gain(lists: Judged, gain_of: GainOf) -> Floats:
    """Return the gain of a barely relevant item."""
    return gain_of(np.array([max(1.0, lists.threshold)]))


def _running_sum(depth: int, gain: Floats, weights: Weights) -> Floats:
    """Return the discounted gain of the first 0, 1, 2, ... ranks if each holds an item of this
    gain."""
    terms = weights(np.arange(1, depth + 1)) * (gain[0] if len(gain) else 0.0)
    return np.concatenate(([0.0], np.cumsum(terms)))


def no_hits_zero(hits: Floats, below: Floats) -> Floats:
    """Make lists without hits 0, even if the denominator is 0."""
    return np.where(below == 0, 1.0, below)


def no_hits_undefined(hits: Floats, below: Floats) -> Floats:
    """Make lists without hits 0/0."""
    return np.where(hits > 0, below, 0.0)


def present(support: Floats, predicted: Floats) -> Flags:
    """Select the classes that are the target or the prediction of some list."""
    return (support > 0) | (predicted > 0)


def every_class(support: Floats, predicted: Floats) -> Flags:
    """Select all classes."""
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
        "found": hits_found,
    },
    "gain": {
        "binary": binary,
        "linear": linear,
        "signed": signed,
        "exp2": exp2,
        "exp2_above": exp2_above,
    },
    "gain_from": {"relevant": only_relevant, "positive": above_zero},
    "discount": {"log": log, "log_from_second": log_from_second, "position": position},
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


def find_choice(switch: str, choice: str) -> Callable[..., Any]:
    """Return the function behind the choice of a switch; for a table of gains, its own."""
    return gain_from_table(choice) if is_table(choice) else CHOICES[switch][choice]
