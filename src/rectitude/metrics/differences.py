"""Mean absolute differences between groups, of items or of users, of what they gain or score.

Sums of items are kept as whole numbers, so that batches in any order give the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rectitude.arrays import Flags, Integers
from rectitude.data.groupwise import difference, group_means, means
from rectitude.data.halves import require_choice
from rectitude.data.parity import gains_of, unmasked
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Gain, GainFrom, worth_of
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Counts, Law, Ratio, count_metric, derived_metric, metric

_LAWS: tuple[Law, ...] = ("perfect_is_best", "moving_up_helps")
_SCORED = ("shown", "stock", "scored")
_IN_UNITS = {"scale": "fraction"}  # of the scores, no share of anything


def item_gains(
    lists: Judged, k: int | None, counts: Flags, *, gain: Gain, gain_from: GainFrom,
    by: str = "group",
) -> Counts:  # fmt: skip
    """How often each item is shown, what it gains in all, and which items are in a group."""
    stock, shown = needed(lists.stock, "shown"), needed(lists.shown, "shown")
    place, rows = _in_places(lists, k, counts)
    gains = worth_of(lists, gain, gain_from)(lists.grade[rows])
    return gains_of(stock, by, stock.times(shown[counts]), stock.listed[shown[place]], gains)


def item_scores(
    lists: Judged, k: int | None, counts: Flags, *, by: str = "group", over: str = "hits"
) -> Counts:
    """How often each item is a hit, or shown, and how it scores as a hit in all."""
    require_choice("over", over, ("hits", "places"))
    stock, shown = needed(lists.stock, "shown"), needed(lists.shown, "shown")
    place, _ = _in_places(lists, k, counts, lists.hit)
    scores, looked_at = unmasked(needed(lists.scored, "scored")[place]), shown[place]
    times = stock.times(looked_at if over == "hits" else shown[counts])
    return gains_of(stock, by, times, stock.listed[looked_at], scores)


def _in_places(
    lists: Judged, k: int | None, counts: Flags, which: Flags | None = None
) -> tuple[tuple[Integers, Integers], Integers]:
    """Where judged items stand in the lists that count: list and place, and their rows."""
    rows = np.arange(len(lists.list))[lists.within(k)[0]]
    rows = rows[counts[lists.list[rows]] & (True if which is None else which[rows])]
    return (lists.list[rows], lists.rank[rows] - 1), rows


@count_metric(
    "Difference of gain between groups of items",
    counts=item_gains,
    formula="mean over pairs of groups of the absolute difference of their means, over the items "
    "in the top {k} of some list, of what the item gains on average where it is shown; gain = "
    "{gain}; group = column {by} of items=, and items without one are left out",
    reading="0 if items of all groups are equally often right where they are shown.",
    use="Use it to see whether items of some group are shown to the wrong users. It does not see "
    "items that are never shown; rsp does.",
    cite="zhu2018fairness",
    bounds=(0.0, np.inf),
    best="low",
    needs=("items", "shown", "stock"),
)
def item_mad_ranking(counts: Counts) -> float:
    """How far the groups of items are apart in what their items gain."""
    each = means(counts, "gains", counts["times"])
    return difference(group_means(counts, each), "item_mad_ranking")


@count_metric(
    "Difference of score between groups of items",
    counts=item_scores,
    formula="mean over pairs of groups of the absolute difference of their means, over items, of "
    "the scores that the item has as a hit in the top {k} / its {over}; group = column {by} of "
    "items=, and items without one are left out",
    reading="0 if relevant items score alike whatever their group; in units of the scores.",
    use="Use it where scores mean something, such as predicted ratings; over=places counts wrong "
    "places as 0.",
    cite="zhu2018fairness",
    bounds=(0.0, np.inf),
    best="low",
    needs=("items", *_SCORED),
    fixed=_IN_UNITS,
)
def item_mad_rating(counts: Counts) -> float:
    """How far the groups of items are apart in the scores of relevant items."""
    each = means(counts, "gains", counts["times"])
    return difference(group_means(counts, each), "item_mad_rating")


@metric(
    "Mean score of the list",
    formula="mean of the scores of the items in the top {k}; 0/0 for an empty list",
    reading="3.9 means that the items of a list score 3.9 on average, whatever that is worth.",
    use="Use it to compare groups of users where scores mean something, such as predicted ratings.",
    bounds=(-np.inf, np.inf),
    breaks=_LAWS,
    needs=("shown", "scored"),
    fixed=_IN_UNITS,
)
def mean_score(lists: Judged, k: int | None) -> Ratio:
    """How high the items of a list score on average."""
    scored = unmasked(needed(lists.scored, "scored"))
    places = (~np.isnan(scored)).sum(axis=1)
    return Ratio(np.nansum(scored, axis=1), places.astype(np.float64))


@derived_metric(
    "Difference of ranking between groups of users",
    of=(),
    formula="mean over pairs of groups of the absolute difference of their means of {of}; group = "
    "column {by} of users=; users without one are left out, and a group without a list that counts",
    reading="0 if all groups are served equally well; 0.05 means that two groups are 0.05 apart in "
    "their mean NDCG, on average.",
    use="Use it like group_gap, where the best and the worst served group alone would say too "
    "little.",
    cite="deldjoo2021flexible",
    bounds=(0.0, np.inf),
    best="low",
    needs=("users", "people"),
)
def user_mad_ranking(means: Mapping[str, float], *, of: str = "ndcg", by: str = "group") -> float:
    """How far the groups of users are apart in how well they are served."""
    return difference(means.values(), "user_mad_ranking")


@derived_metric(
    "Difference of score between groups of users",
    of=(),
    formula="mean over pairs of groups of the absolute difference of their means of {of}; group = "
    "column {by} of users=; users without one are left out, and a group without a list that counts",
    reading="0 if what is shown to users of all groups scores alike; in units of the scores.",
    use="Use it where scores mean something, such as predicted ratings; otherwise look at "
    "user_mad_ranking.",
    cite="deldjoo2021flexible",
    bounds=(0.0, np.inf),
    best="low",
    needs=("users", "people"),
    fixed=_IN_UNITS,
)
def user_mad_rating(
    means: Mapping[str, float], *, of: str = "mean_score", by: str = "group"
) -> float:
    """How far the groups of users are apart in the scores of what they are shown."""
    return difference(means.values(), "user_mad_rating")
