"""Metrics of how far the groups that a list shows are from those of its user's training."""

from __future__ import annotations

from functools import partial

import numpy as np

from rectitude.arrays import Flags, Floats
from rectitude.data.divergences import divergences
from rectitude.data.mixtures import summed
from rectitude.errors import BadName
from rectitude.judge.judged import Judged
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Law, Ratio, metric

_NEEDS = ("items", "train", "shown", "stock", "people")
_LAWS: tuple[Law, ...] = ("perfect_is_best", "moving_up_helps")
_USE = (
    "Use it to see whether lists give every interest of a user its due. A model can be accurate "
    "and show the largest interest only; a list at random from train is calibrated and useless. "
)


_ALPHA = 0.01


def _summed(lists: Judged, by: str, alpha: float = _ALPHA) -> tuple[Floats, Flags]:
    """What the groups of each user's training and of his list add, of all three kinds, and which
    lists have both: counting groups takes longer than adding."""
    stock, owner = needed(lists.stock, "shown"), needed(lists.owner, "people")
    find = partial(summed, stock, owner, by, divergences(alpha))
    return lists.places.each(("mixtures", by, alpha), find)


@metric(
    "Calibration, Kullback-Leibler divergence",
    formula="sum over the values g of column {by} of items= of p(g) * ln(p(g) / q(g)), p = share "
    "of the user's rows of train, q = (1 - {alpha}) * share of the items in the top {k} + {alpha} "
    "* p; an item of several values counts for each in equal parts, one without is left out; 0/0 "
    "where nothing is left of the user's train or of the list",
    reading="0 if the list has every value as often as the user's training has; ln(1 / alpha), "
    "4.6 unless told, if they have no value in common.",
    use=f"{_USE}An interest that the list leaves out costs most here.",
    cite="steck2018calibrated",
    bounds=(0.0, np.inf),
    best="low",
    breaks=_LAWS,
    needs=_NEEDS,
)
def calibration_kl(
    lists: Judged, k: int | None, *, by: str = "category", alpha: float = _ALPHA
) -> Ratio:
    """How far the values of an attribute in the list are from those in the user's training."""
    if not 0 < alpha <= 1:
        raise BadName(f"alpha cannot be {alpha:g}.", "a number above 0, at most 1.")
    (value, _, _), both = _summed(lists, by, alpha)
    return Ratio.of(np.maximum(value, 0.0)).where(both)


@metric(
    "Calibration, Jensen-Shannon divergence",
    formula="(sum over the values g of column {by} of items= of p(g) * log2(p(g) / m(g)) + q(g) * "
    "log2(q(g) / m(g))) / 2, m = (p + q) / 2, p = share of the user's rows of train, q = share of "
    "the items in the top {k}; an item of several values counts for each in equal parts, one "
    "without is left out; 0/0 where nothing is left of the user's train or of the list",
    reading="0 if the list has every value as often as the user's training has, 1 if they have no "
    "value in common.",
    use=f"{_USE}It treats list and training alike and needs no smoothing.",
    cite="lin1991divergence",
    best="low",
    breaks=_LAWS,
    needs=_NEEDS,
)
def calibration_js(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """How far the values of an attribute in the list and in the user's training are apart."""
    (_, value, _), both = _summed(lists, by)
    return Ratio.of(np.clip(value / (2 * np.log(2)), 0.0, 1.0)).where(both)


@metric(
    "Calibration, Hellinger distance",
    formula="sqrt(sum over the values g of column {by} of items= of (sqrt(p(g)) - sqrt(q(g)))^2 / "
    "2), p = share of the user's rows of train, q = share of the items in the top {k}; an item of "
    "several values counts for each in equal parts, one without is left out; 0/0 where nothing is "
    "left of the user's train or of the list",
    reading="0 if the list has every value as often as the user's training has, 1 if they have no "
    "value in common.",
    use=f"{_USE}Small shares weigh more than in calibration_js.",
    cite="steck2018calibrated",
    best="low",
    breaks=_LAWS,
    needs=_NEEDS,
)
def calibration_hellinger(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """Distance of the values of an attribute in the list from those in the user's training."""
    (_, _, squares), both = _summed(lists, by)
    return Ratio.of(np.sqrt(np.minimum(squares / 2, 1.0))).where(both)
