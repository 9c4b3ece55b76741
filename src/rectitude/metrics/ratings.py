"""Metrics of predicted ratings: how far the scores are from the grades of the truth.

They look at pairs of a list and a judged item for which a score was predicted, whatever its rank.
Judged pairs without a score are left out, and counted in the ledger as `pairs_without_score`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np

from rectitude.arrays import Flags, Floats, totals
from rectitude.data.pairs import explained, finite, moments
from rectitude.judge.judged import Judged
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Counts, Law, Ratio, count_metric, derived_metric, metric

ANY_PAIR: Mapping[str, Any] = {
    "truth_needed": "judged", "without_relevant": "computed", "undefined": "skip",
    "hit_scores": "any", "list_end": "none", "scale": "fraction",
}  # fmt: skip
"""What makes every judged pair with a score count, relevant or not."""
POOLED = {**ANY_PAIR, "average": "micro", "unit": "list"}
BY_LIST = {**ANY_PAIR, "average": "macro"}
NO_LAW: tuple[Law, ...] = ("perfect_is_best", "moving_up_helps")
_LEFT_OUT = "pairs without a predicted score are left out"


@metric(
    "Mean absolute error",
    formula=f"sum over pairs of |score - grade| / number of pairs, over all lists; {_LEFT_OUT}",
    reading="0.8 means that a predicted rating is wrong by 0.8 on average.",
    use="Use it for predicted ratings on the scale of the grades. Users with many ratings weigh "
    "more; user_mae weighs every user alike.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def mae(lists: Judged, k: int | None) -> Ratio:
    """Mean distance between predicted and given ratings, over all pairs."""
    return _mean(lists, np.abs(errors(lists)))


@metric(
    "Mean squared error",
    formula=f"sum over pairs of (score - grade)^2 / number of pairs, over all lists; {_LEFT_OUT}",
    reading="Its root, rmse, is on the scale of the grades.",
    use="Use it when large errors are worse than many small ones; user_mse weighs users alike.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def mse(lists: Judged, k: int | None) -> Ratio:
    """Mean squared distance between predicted and given ratings, over all pairs."""
    return _mean(lists, errors(lists) ** 2)


@derived_metric(
    "Root mean squared error",
    of=("mse",),
    formula="square root of mse, over the pairs of all lists",
    reading="0.9 on ratings from 1 to 5 was state of the art for years. Never below mae, and equal "
    "to it only if all errors are equally large.",
    use="Use it to compare with published ratings experiments; user_rmse is the mean over users of "
    "the root of each user's own mean, and smaller or larger.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    fixed={"scale": "fraction"},
    cutoff="none",
)
def rmse(mse: float) -> float:
    """Square root of the mean squared error."""
    return sqrt(mse)


def sums_over_pairs(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """How many pairs there are, and exact sums over them of grades, errors and their squares."""
    mine = counts[lists.list]
    return moments(lists.grade[mine], errors(lists)[mine])


@count_metric(
    "R squared",
    counts=sums_over_pairs,
    formula="1 - sum over pairs of (score - grade)^2 / sum over pairs of (grade - mean grade)^2, "
    f"over all lists; {_LEFT_OUT}",
    reading="1 if every rating is predicted exactly, 0 for whoever always predicts the mean grade, "
    "below 0 for worse.",
    use="Use it to compare errors on different scales of ratings. There is none where all grades "
    "are equal.",
    cite="draper1998applied",
    bounds=(-np.inf, 1.0),
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def r2(counts: Counts) -> float:
    """Share of the spread of the grades that the predictions explain, with their bias."""
    return explained(counts, bias="counted")


@count_metric(
    "Explained variance",
    counts=sums_over_pairs,
    formula="1 - variance of (score - grade) / variance of grade, over the pairs of all lists; "
    f"{_LEFT_OUT}",
    reading="As r2, but an error that is the same for all pairs costs nothing: it is never below "
    "r2, and equal to it where the mean error is 0.",
    use="Use it beside r2, to see whether a constant shift is what is wrong.",
    cite="draper1998applied",
    bounds=(-np.inf, 1.0),
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def explained_variance(counts: Counts) -> float:
    """Share of the variance of the grades that the predictions explain, whatever their bias."""
    return explained(counts, bias="left out")


@metric(
    "Mean absolute error, by user",
    formula=f"mean over lists of the mean of |score - grade| over its pairs, whatever the cutoff; "
    f"{_LEFT_OUT}, and lists without any",
    reading="As mae, each user (list) counting alike.",
    use="Use it when every user matters as much as any other.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def user_mae(lists: Judged, k: int | None) -> Ratio:
    """Mean distance between predicted and given ratings of each list."""
    return _mean(lists, np.abs(errors(lists)))


@metric(
    "Mean squared error, by user",
    formula=f"mean over lists of the mean of (score - grade)^2 over its pairs, whatever the "
    f"cutoff; {_LEFT_OUT}, and lists without any",
    reading="As mse, each user (list) counting alike.",
    use="Use it when every user matters as much as any other.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def user_mse(lists: Judged, k: int | None) -> Ratio:
    """Mean squared distance between predicted and given ratings of each list."""
    return _mean(lists, errors(lists) ** 2)


@metric(
    "Root mean squared error, by user",
    formula=f"mean over lists of the square root of its mean of (score - grade)^2, whatever the "
    f"cutoff; {_LEFT_OUT}, and lists without any",
    reading="As rmse, but the root is taken for each user (list) before the mean.",
    use="Use it when every user matters as much as any other.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def user_rmse(lists: Judged, k: int | None) -> Ratio:
    """Root of the mean squared distance between predicted and given ratings of each list."""
    return root(user_mse(lists, k))


def errors(lists: Judged) -> Floats:
    """(found,) how far the predicted score is above the grade."""
    return finite(needed(lists.score, "predicted"), lists.list) - lists.grade


def _mean(lists: Judged, values: Floats) -> Ratio:
    return Ratio(lists.total(values), totals(lists.list, lists.size))


def root(mean: Ratio) -> Ratio:
    """The square root of each list's value."""
    some = mean.below > 0
    return Ratio.of(np.sqrt(mean.above / np.where(some, mean.below, 1.0))).where(some)
