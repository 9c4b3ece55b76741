"""Metrics of how a list agrees with another one: the truth holds that other list, in its order.

`evaluate(lists, other, ...)` compares two models, or a list before and after it was ranked anew.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import whole_k
from rectitude.metrics.registry import Law, Ratio, metric

_LAWS: tuple[Law, ...] = ("perfect_is_best", "moving_up_helps")


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
    breaks=_LAWS,
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
    breaks=_LAWS,
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
    breaks=_LAWS,
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
    breaks=_LAWS,
)
def least_item_promoted(lists: Judged, k: int | None) -> Ratio:
    """How far down the other list the items of the top come from."""
    rows, whose = lists.within(k)
    end = whole_k(lists, k)
    deepest = end.copy()
    np.maximum.at(deepest, whose, lists.place[rows].astype(np.float64))
    return Ratio.of(deepest - end).where(lists.judged > 0)
