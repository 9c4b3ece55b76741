"""Compatibility: the rank-biased overlap of a list with the ideal list that is most like it."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats, Integers, running_count, sum_by_group
from rectitude.errors import BadArgument
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import require_order
from rectitude.metrics.registry import Ratio, metric, require_choice

_FORMULA = (
    "sum over d of p^(d - 1) * (items that the top d of list and ideal list share) / d, up to the "
    "longer of the two (ranks up to {k}), over the same sum of {over}; p = {persistence}; the "
    "ideal list has the relevant items by grade, and by "
)


@metric(
    "Compatibility",
    formula=f"{_FORMULA}rank if their grades are equal",
    reading="1 if the list begins with the relevant items, the highest grades first.",
    use="Use it with graded relevance and preferences: it measures how close the list is to an "
    "ideal one, and needs no gains.",
    cite="clarke2021assessing",
)
def compatibility(
    lists: Judged, k: int | None, *, persistence: float = 0.95, over: str = "ideal"
) -> Ratio:
    """Rank-biased overlap of the list and the ideal list most like it."""
    found = np.full(len(lists.truth.values), np.inf)
    found[lists.where] = lists.rank
    return _compare_with_ideal(lists, k, found, persistence, over)


@metric(
    "Compatibility by scores",
    formula=f"{_FORMULA}score if their grades are equal; an item that was not retrieved has the "
    "score 0",
    reading="As compatibility; with negative scores, an item that was missed can precede one that "
    "was found.",
    use="Use it to compare with ir_measures if scores can be negative, and compatibility "
    "otherwise.",
    cite="clarke2021assessing",
    needs=("predicted",),
    sees="items",
)
def compatibility_by_score(
    lists: Judged, k: int | None, *, persistence: float = 0.95, over: str = "ideal"
) -> Ratio:
    """Rank-biased overlap of the list and an ideal list by scores."""
    falling = np.zeros(len(lists.truth.values))
    falling[lists.where] = -lists.score
    return _compare_with_ideal(lists, k, falling, persistence, over)


def _compare_with_ideal(
    lists: Judged, k: int | None, falling: Floats, persistence: float, over: str
) -> Ratio:
    """Return the overlap with the ideal list, in which equal grades come in the falling order."""
    require_order(lists, "the ideal list depends on the list")
    require_choice("over", over, ("ideal", "ranks"))
    if not 0 < persistence < 1:
        raise BadArgument(f"persistence is {persistence:g}.", "a number above 0 and below 1.")
    place = _ideal_place(lists, falling)
    end = np.maximum(lists.returned, lists.relevant).astype(np.int64)
    end = end if k is None else np.minimum(end, k)
    depth = np.arange(1.0, int(end.max(initial=0)) + 1)
    weights = persistence ** (depth - 1)
    sums = np.concatenate(([0.0], np.cumsum(weights / depth)))
    both = np.maximum(lists.rank, place[lists.where])[lists.hit]
    above = _sum_from(both, lists.list[lists.hit], end, sums)
    if over == "ranks":
        return Ratio(above, np.concatenate(([0.0], np.cumsum(weights)))[end])
    relevant = np.flatnonzero(place)
    return Ratio(above, _sum_from(place[relevant], lists.truth.rows()[relevant], end, sums))


def _ideal_place(lists: Judged, falling: Floats) -> Integers:
    """Return (truth rows,) the rank in the ideal list, from 1; 0 if the item is not relevant."""
    owners, grades = lists.truth.rows(), lists.truth.values
    relevant = np.flatnonzero(lists.is_relevant(grades))
    order = relevant[np.lexsort((falling[relevant], -grades[relevant], owners[relevant]))]
    place = np.zeros(len(grades), np.int64)
    place[order] = running_count(np.ones(len(order), bool), owners[order])
    return place


def _sum_from(starts: Integers, owners: Integers, ends: Integers, sums: Floats) -> Floats:
    """Sum, for each list, the weights from the depth at which an item is shared to the end."""
    shared = starts <= ends[owners]
    owners, starts = owners[shared], starts[shared]
    return sum_by_group(owners, len(ends), sums[ends[owners]] - sums[starts - 1])
