"""Metrics of predicted ratings and probabilities: how far scores are from what the truth says.

Ratings are pairs of a list and a judged item for which a score was predicted, whatever its rank.
Judged pairs without a score are left out, and counted in the ledger as `pairs_without_score`.
Probabilities are those of classes (logits), or of relevance (scores from 0 to 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np

from rectitude.arrays import Flags, Floats, totals
from rectitude.judge.judged import Judged
from rectitude.metrics.predicted import (
    binned,
    explained,
    finite,
    largest_gap,
    losses,
    mean_gap,
    moments,
    probabilities,
    require_chances,
)
from rectitude.metrics.registry import (
    IN_UNITS,
    NO_LAW,
    Counts,
    Ratio,
    count_metric,
    derived_metric,
    metric,
)
from rectitude.rowkernels.standings import Chances

ANY_PAIR: Mapping[str, Any] = {
    "truth_needed": "judged", "without_relevant": "computed", "undefined": "skip",
    "hit_scores": "any", "list_end": "none", "scale": "fraction",
}  # fmt: skip
"""What makes every judged pair with a score count, relevant or not."""
POOLED = {**ANY_PAIR, "average": "micro", "unit": "list"}
BY_LIST = {**ANY_PAIR, "average": "macro"}
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
    fixed=IN_UNITS,
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
    return finite(lists.score, lists.list) - lists.grade


def _mean(lists: Judged, values: Floats) -> Ratio:
    return Ratio(lists.total(values), totals(lists.list, lists.size))


def root(mean: Ratio) -> Ratio:
    """The square root of each list's value."""
    some = mean.below > 0
    return Ratio.of(np.sqrt(mean.above / np.where(some, mean.below, 1.0))).where(some)


_BINS = "bins = {bins} equal parts of 0 to 1, each without its lower end"


@metric(
    "Brier score",
    formula="sum over classes of (probability - 1 if it is the target, else 0)^2, probabilities = "
    "softmax of the logits; a target outside the classes has the probability 0",
    reading="0 if the target always has the probability 1, 2 if another class has. Guessing among "
    "C classes has 1 - 1/C. Some tools report half of it.",
    use="Use it beside cross_entropy: it is as honest a score, and a confident mistake costs no "
    "more than 2.",
    cite="brier1950verification",
    bounds=(0.0, 2.0),
    best="low",
    needs=("chances",),
    fixed=IN_UNITS,
    averages="closed form",
    cutoff="none",
)
def brier(lists: Judged, k: int | None) -> Ratio:
    """Squared distance of the probabilities from the truth."""
    told = lists.relevant > 0
    sure = _chances(lists, told)
    return Ratio.of(np.maximum(sure.squares - 2 * sure.target + 1, 0.0)).where(told)


def first_by_chance(lists: Judged, k: int | None, counts: Flags, *, bins: float = 15.0) -> Counts:
    """How often the first class is right, and how often it should be, by its probability."""
    told = counts & (lists.relevant > 0)
    return binned(_chances(lists, told).top[told], lists.hits(1)[told], bins)


@count_metric(
    "Expected calibration error",
    counts=first_by_chance,
    formula="sum over bins of |rows whose first class is right - sum of its probabilities| / rows, "
    f"by the probability of the first class; {_BINS}",
    reading="0.05 means that the first class is right 5 percentage points more or less often than "
    "its probability says. It does not say how good the classes are: always predicting the shares "
    "of the classes has 0.",
    use="Use it beside accuracy where probabilities are shown or thresholds are set on them. It "
    "depends on the number of bins, and is above 0 by chance in small samples.",
    cite="guo2017calibration",
    best="low",
    breaks=NO_LAW,
    needs=("chances",),
    cutoff="none",
)
def expected_calibration_error(counts: Counts, *, bins: float = 15.0) -> float:
    """How far probabilities of first classes are from how often these are right, on average."""
    return mean_gap(counts)


@count_metric(
    "Maximum calibration error",
    counts=first_by_chance,
    formula="largest over bins of |rows whose first class is right - sum of its probabilities| / "
    f"rows of the bin, by the probability of the first class; {_BINS}",
    reading="0.3 means that in one bin the first class is right 30 percentage points more or less "
    "often than its probability says.",
    use="Use it where no confidence may be far off. A bin with few rows can decide it.",
    cite="guo2017calibration",
    best="low",
    breaks=NO_LAW,
    needs=("chances",),
    cutoff="none",
)
def max_calibration_error(counts: Counts, *, bins: float = 15.0) -> float:
    """How far probabilities of first classes are from how often these are right, at worst."""
    return largest_gap(counts)


@metric(
    "Brier score of relevance",
    formula="sum over pairs of (score - 1 if the item is relevant, else 0)^2 / number of pairs, "
    "over the judged items of all lists that have a score",
    reading="0 at best; whoever always predicts the share s of relevant pairs has s * (1 - s).",
    use="Use it for scores that are probabilities, such as of a click. The truth must hold both "
    "kinds: a row with grade 0 for what was shown and not clicked.",
    cite="brier1950verification",
    best="low",
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def relevance_brier(lists: Judged, k: int | None) -> Ratio:
    """Squared distance between the probability of relevance and what the truth says."""
    return Ratio(lists.total((_probability(lists) - lists.hit) ** 2), _pairs(lists))


@metric(
    "Log loss of relevance",
    formula="sum over pairs of -ln(probability of what the truth says) / number of pairs, over the "
    "judged items of all lists that have a score; probabilities from {least} to 1 - {least}",
    reading="0 at best; ln 2 = 0.69 for whoever always predicts 0.5. One confident mistake can "
    "outweigh many good answers.",
    use="Use it for scores that are probabilities, such as of a click, with both kinds in the "
    "truth. Set least=1e-15 to bound the cost of a probability of 0.",
    cite="gneiting2007strictly",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def log_loss(lists: Judged, k: int | None, *, least: float = 0.0) -> Ratio:
    """Minus the logarithm of the probability of what the truth says."""
    probability = np.clip(_probability(lists), least, 1 - least)
    told = np.where(lists.hit, probability, 1 - probability)
    return Ratio(lists.total(losses(told, lists.list)), _pairs(lists))


def pairs_by_chance(lists: Judged, k: int | None, counts: Flags, *, bins: float = 15.0) -> Counts:
    """How many judged items are relevant, and how many should be, by the predicted probability."""
    mine = counts[lists.list]
    return binned(_probability(lists)[mine], lists.hit[mine].astype(float), bins)


@count_metric(
    "Expected calibration error of relevance",
    counts=pairs_by_chance,
    formula="sum over bins of |relevant pairs - sum of their scores| / pairs, over the judged "
    f"items of all lists that have a score; {_BINS}",
    reading="0.05 means that items are relevant 5 percentage points more or less often than their "
    "scores say.",
    use="Use it for scores that are probabilities, such as of a click, beside auc: a model can "
    "order well and be far off, and the other way round.",
    cite="naeini2015obtaining",
    best="low",
    breaks=NO_LAW,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def relevance_calibration_error(counts: Counts, *, bins: float = 15.0) -> float:
    """How far scores are from the share of relevant items, on average."""
    return mean_gap(counts)


def _chances(lists: Judged, told: Flags) -> Chances:
    sure = lists.chances
    require_chances(told & np.isnan(sure.top))
    return sure


def _probability(lists: Judged) -> Floats:
    return probabilities(lists.score, lists.list)


def _pairs(lists: Judged) -> Floats:
    return totals(lists.list, lists.size)
