"""Precision at levels of recall, and means that a single bad list pulls down."""

from __future__ import annotations

import math

import numpy as np

from rectitude.arrays import Floats
from rectitude.errors import BadName
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Count
from rectitude.metrics.ranking import average_precision, bpref, precisions_at_hits
from rectitude.metrics.registry import Ratio, metric

_NEARLY_WHOLE = 1e-9
_LEVELS = [tenth / 10 for tenth in range(11)]


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
