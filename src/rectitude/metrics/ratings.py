"""Metrics of predicted ratings and probabilities: how far scores are from the truth.

A rating is a pair of a list and a judged item with a predicted score, at any rank. Judged pairs
without a score are left out; the ledger counts them as `pairs_without_score`. Probabilities are
those of classes (logits), or of relevance (scores from 0 to 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np

from rectitude.arrays import Flags, Floats, sum_by_group
from rectitude.judge.judged import Judged
from rectitude.metrics.predicted import (
    bin_probabilities,
    compute_losses,
    count_comparable,
    count_concordant,
    largest_gap,
    list_bins,
    mean_gap,
    require_chances,
    require_finite,
    require_probabilities,
    share_explained,
    sum_moments,
)
from rectitude.metrics.registry import (
    IN_UNITS,
    RELEVANCE_LAWS,
    Counts,
    Ratio,
    count_metric,
    derived_metric,
    metric,
)
from rectitude.rowkernels.standings import Chances

ANY_PAIR: Mapping[str, Any] = {
    "truth_needed": "judged", "without_relevant": "computed", "undefined": "skip",
    "hit_scores": "any", "scores_from": None, "own_item": "kept", "list_end": "none",
    "scale": "fraction",
}  # fmt: skip
"""The switches under which every judged pair with a score counts, relevant or not."""
POOLED = {**ANY_PAIR, "average": "micro", "unit": "list"}
BY_LIST = {**ANY_PAIR, "average": "macro"}
_LEFT_OUT = "pairs without a predicted score are left out"


@metric(
    "Mean absolute error",
    formula=f"sum over pairs of |score - grade| / number of pairs, over all lists; {_LEFT_OUT}",
    reading="0.8 means that a predicted rating is off by 0.8 on average.",
    use="Use it for predicted ratings on the scale of the grades. Users with many ratings weigh "
    "more; in user_mae all users have the same weight.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def mae(lists: Judged, k: int | None) -> Ratio:
    """Mean absolute difference between predicted and true ratings, over all pairs."""
    return _mean(lists, np.abs(errors(lists)))


@metric(
    "Mean squared error",
    formula=f"sum over pairs of (score - grade)^2 / number of pairs, over all lists; {_LEFT_OUT}",
    reading="Its root, rmse, is on the scale of the grades.",
    use="Use it when large errors are worse than many small ones; in user_mse all users have the "
    "same weight.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def mse(lists: Judged, k: int | None) -> Ratio:
    """Mean squared difference between predicted and true ratings, over all pairs."""
    return _mean(lists, errors(lists) ** 2)


@derived_metric(
    "Root mean squared error",
    of=("mse",),
    formula="square root of mse, over the pairs of all lists",
    reading="On ratings from 1 to 5, 0.9 was state of the art for years. It is never below mae, "
    "and equal to it only if all errors have the same size.",
    use="Use it to compare with published rating prediction results. user_rmse takes the root for "
    "each user before averaging, and can be smaller or larger.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    fixed=IN_UNITS,
    cutoff="none",
)
def rmse(mse: float) -> float:
    """Square root of the mean squared error."""
    return sqrt(mse)


def sums_over_pairs(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """Count the pairs, and sum grades, errors and their squares exactly."""
    selected = counts[lists.list]
    return sum_moments(lists.grade[selected], errors(lists)[selected])


@count_metric(
    "R squared",
    counts=sums_over_pairs,
    formula="1 - sum over pairs of (score - grade)^2 / sum over pairs of (grade - mean grade)^2, "
    f"over all lists; {_LEFT_OUT}",
    reading="1 if every rating is predicted exactly, 0 if the mean grade is predicted for all "
    "pairs, below 0 for worse predictions.",
    use="Use it to compare errors on different rating scales. It is undefined if all grades are "
    "equal.",
    cite="draper1998applied",
    bounds=(-np.inf, 1.0),
    breaks=RELEVANCE_LAWS,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def r2(counts: Counts) -> float:
    """Share of the variance of the grades that the predictions explain, including their bias."""
    return share_explained(counts, bias="counted")


@count_metric(
    "Explained variance",
    counts=sums_over_pairs,
    formula="1 - variance of (score - grade) / variance of grade, over the pairs of all lists; "
    f"{_LEFT_OUT}",
    reading="Like r2, but a constant error on all pairs costs nothing: it is never below r2, and "
    "equal to it if the mean error is 0.",
    use="Use it together with r2, to see whether the predictions are only shifted by a constant.",
    cite="draper1998applied",
    bounds=(-np.inf, 1.0),
    breaks=RELEVANCE_LAWS,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def explained_variance(counts: Counts) -> float:
    """Share of the variance of the grades that the predictions explain, ignoring their bias."""
    return share_explained(counts, bias="left out")


@metric(
    "Mean absolute error, by user",
    formula=f"mean over lists of the mean of |score - grade| over its pairs, at any cutoff; "
    f"{_LEFT_OUT}, and lists without any pair",
    reading="Like mae, with the same weight for every user (list).",
    use="Use it when all users matter equally.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("predicted",),
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def user_mae(lists: Judged, k: int | None) -> Ratio:
    """Mean absolute difference between predicted and true ratings of each list."""
    return _mean(lists, np.abs(errors(lists)))


@metric(
    "Mean squared error, by user",
    formula=f"mean over lists of the mean of (score - grade)^2 over its pairs, at any cutoff; "
    f"{_LEFT_OUT}, and lists without any pair",
    reading="Like mse, with the same weight for every user (list).",
    use="Use it when all users matter equally.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("predicted",),
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def user_mse(lists: Judged, k: int | None) -> Ratio:
    """Mean squared difference between predicted and true ratings of each list."""
    return _mean(lists, errors(lists) ** 2)


@metric(
    "Root mean squared error, by user",
    formula=f"mean over lists of the square root of its mean of (score - grade)^2, at any cutoff; "
    f"{_LEFT_OUT}, and lists without any pair",
    reading="Like rmse, but the root is taken for each user (list) before averaging.",
    use="Use it when all users matter equally.",
    cite="willmott2005advantages",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("predicted",),
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def user_rmse(lists: Judged, k: int | None) -> Ratio:
    """Root mean squared difference between predicted and true ratings of each list."""
    return root(user_mse(lists, k))


@metric(
    "Fraction of concordant pairs",
    formula="pairs of a user's items in which the higher grade has the higher score / pairs of a "
    f"user's items with different grades, over all lists; {_LEFT_OUT}",
    reading="0.7 means that of two items that a user rated differently, the better one has the "
    "higher predicted rating in 70% of the cases; 0.5 is random, and equal scores count as wrong.",
    use="Use it for predicted ratings if only their order matters. Users with many ratings have "
    "very many pairs, and weigh accordingly.",
    cite="koren2013collaborative",
    breaks=RELEVANCE_LAWS,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def fcp(lists: Judged, k: int | None) -> Ratio:
    """Share of the pairs of differently rated items that the predictions put in the right order."""
    return Ratio(*concordant_pairs(lists))


def concordant_pairs(lists: Judged) -> tuple[Floats, Floats]:
    """Return (lists,) the concordant pairs, and all pairs with different grades."""
    score = require_finite(lists.score, lists.list)
    return (
        count_concordant(lists.list, lists.size, lists.grade, score),
        count_comparable(lists.list, lists.size, lists.grade),
    )


def errors(lists: Judged) -> Floats:
    """Return (rows,) the predicted score minus the grade."""
    return require_finite(lists.score, lists.list) - lists.grade


def _mean(lists: Judged, values: Floats) -> Ratio:
    return Ratio(lists.total(values), sum_by_group(lists.list, lists.size))


def root(mean: Ratio) -> Ratio:
    """Return the square root of each list's value."""
    defined = mean.below > 0
    return Ratio.of(np.sqrt(mean.above / np.where(defined, mean.below, 1.0))).where(defined)


_BINS = "bins = {bins} intervals of equal width from 0 to 1, each without its lower end"


@metric(
    "Brier score",
    formula="sum over classes of (probability - (1 if it is the target, else 0))^2, probabilities "
    "= softmax of the logits; a target outside the classes has probability 0",
    reading="0 if the target always has probability 1, 2 if another class has. Guessing uniformly "
    "among C classes gives 1 - 1/C. Some tools report half of it.",
    use="Use it together with cross_entropy: both are proper scoring rules, but here a confident "
    "mistake costs at most 2.",
    cite="brier1950verification",
    bounds=(0.0, 2.0),
    best="low",
    needs=("chances",),
    fixed=IN_UNITS,
    averages="closed form",
    cutoff="none",
)
def brier(lists: Judged, k: int | None) -> Ratio:
    """Squared distance between the probabilities and the truth."""
    has_target = lists.relevant > 0
    chances = _require_chances(lists, has_target)
    return Ratio.of(np.maximum(chances.squares - 2 * chances.target + 1, 0.0)).where(has_target)


def first_by_chance(lists: Judged, k: int | None, counts: Flags, *, bins: float = 15.0) -> Counts:
    """Count how often the predicted class is correct, and how often it should be, by its
    probability."""
    has_target = counts & (lists.relevant > 0)
    return bin_probabilities(
        _require_chances(lists, has_target).top[has_target], lists.hits(1)[has_target], bins
    )


@count_metric(
    "Expected calibration error",
    counts=first_by_chance,
    breakdown=list_bins,
    formula="sum over bins of |rows whose predicted class is correct - sum of its probabilities| / "
    f"all rows, by the probability of the predicted class; {_BINS}",
    reading="0.05 means that, on average, the predicted class is correct 5 percentage points more "
    "or less often than its probability says. It does not measure accuracy: always predicting the "
    "class frequencies has an error of 0.",
    use="Use it together with accuracy when probabilities are shown or thresholds are set on them. "
    "It depends on the number of bins, and is above 0 by chance in small samples.",
    cite="guo2017calibration",
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("chances",),
    cutoff="none",
)
def expected_calibration_error(counts: Counts, *, bins: float = 15.0) -> float:
    """Mean gap between the predicted class's probability and how often it is correct."""
    return mean_gap(counts)


@count_metric(
    "Maximum calibration error",
    counts=first_by_chance,
    breakdown=list_bins,
    formula="maximum over bins of |rows whose predicted class is correct - sum of its "
    f"probabilities| / rows of the bin, by the probability of the predicted class; {_BINS}",
    reading="0.3 means that in one bin the predicted class is correct 30 percentage points more or "
    "less often than its probability says.",
    use="Use it when the probabilities must be reliable at every level of confidence. A bin "
    "with few rows can determine it.",
    cite="guo2017calibration",
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("chances",),
    cutoff="none",
)
def max_calibration_error(counts: Counts, *, bins: float = 15.0) -> float:
    """Largest gap between the predicted class's probability and how often it is correct."""
    return largest_gap(counts)


@metric(
    "Brier score of relevance",
    formula="sum over pairs of (score - (1 if the item is relevant, else 0))^2 / number of pairs, "
    "over the judged items of all lists that have a score",
    reading="0 is best; always predicting the share s of relevant pairs gives s * (1 - s).",
    use="Use it for scores that are probabilities, such as of a click. The truth must have both "
    "kinds: items that were shown and not clicked need a row with grade 0.",
    cite="brier1950verification",
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def relevance_brier(lists: Judged, k: int | None) -> Ratio:
    """Squared difference between the predicted probability of relevance and the truth."""
    return Ratio(lists.total((_get_probabilities(lists) - lists.hit) ** 2), _count_pairs(lists))


@metric(
    "Log loss of relevance",
    formula="sum over pairs of -ln(probability of the true outcome) / number of pairs, over the "
    "judged items of all lists that have a score; probabilities are clipped to {least} and 1 - "
    "{least}",
    reading="0 is best; always predicting 0.5 gives ln 2 = 0.69. One confident mistake can "
    "outweigh many good predictions.",
    use="Use it for scores that are probabilities, such as of a click, with relevant and "
    "non-relevant items in the truth. Set least=1e-15 to limit the cost of a probability of 0.",
    cite="gneiting2007strictly",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def log_loss(lists: Judged, k: int | None, *, least: float = 0.0) -> Ratio:
    """Negative logarithm of the predicted probability of the true outcome."""
    probability = np.clip(_get_probabilities(lists), least, 1 - least)
    of_outcome = np.where(lists.hit, probability, 1 - probability)
    return Ratio(lists.total(compute_losses(of_outcome, lists.list)), _count_pairs(lists))


def pairs_by_chance(lists: Judged, k: int | None, counts: Flags, *, bins: float = 15.0) -> Counts:
    """Count how many judged items are relevant, and how many should be, by the predicted
    probability."""
    selected = counts[lists.list]
    return bin_probabilities(
        _get_probabilities(lists)[selected], lists.hit[selected].astype(float), bins
    )


@count_metric(
    "Expected calibration error of relevance",
    counts=pairs_by_chance,
    breakdown=list_bins,
    formula="sum over bins of |relevant pairs - sum of their scores| / pairs, over the judged "
    f"items of all lists that have a score; {_BINS}",
    reading="0.05 means that items are relevant 5 percentage points more or less often than their "
    "scores say.",
    use="Use it for scores that are probabilities, such as of a click, together with auc: a model "
    "can rank well and have probabilities that are far off, and vice versa.",
    cite="naeini2015obtaining",
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("predicted",),
    fixed=POOLED,
    averages="closed form",
    cutoff="none",
)
def relevance_calibration_error(counts: Counts, *, bins: float = 15.0) -> float:
    """Mean gap between scores and the share of relevant items."""
    return mean_gap(counts)


def _require_chances(lists: Judged, has_target: Flags) -> Chances:
    chances = lists.chances
    require_chances(has_target & np.isnan(chances.top))
    return chances


def _get_probabilities(lists: Judged) -> Floats:
    return require_probabilities(lists.score, lists.list)


def _count_pairs(lists: Judged) -> Floats:
    return sum_by_group(lists.list, lists.size)
