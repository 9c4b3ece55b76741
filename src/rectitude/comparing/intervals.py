"""Confidence intervals of mean differences: Student's t, and the bootstrap over users."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from rectitude.arrays import Floats
from rectitude.comparing.drawing import BLOCK, random_users, summable, weighted
from rectitude.comparing.significance import constant, require_values

Interval = Literal["t", "percentile", "bca"]


def interval(
    difference: Floats,
    how: Interval = "t",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> Floats:
    """The ends (columns, 2) of the interval of each column's mean; differences are (users,
    columns)."""
    require_values(*difference.T)
    if how == "t":
        return _student(difference, alpha)
    means = bootstrap(difference, resamples, seed)
    found = np.empty((difference.shape[1], 2))
    for column, values in enumerate(difference.T):
        shares = np.array([alpha / 2, 1 - alpha / 2])
        if how == "bca":
            shares = _accelerated(summable(values[:, None])[:, 0], means[:, column], shares)
        found[column] = np.quantile(means[:, column], shares)
    return found


def bootstrap(difference: Floats, resamples: int, seed: int, block: int = BLOCK) -> Floats:
    """The means (resamples, columns) of users drawn with replacement.

    The draws come from the seed alone, and are the same for all columns.
    """
    sums = weighted(summable(difference), resamples, random_users(seed), block)
    return sums / len(difference)


def _student(difference: Floats, alpha: float) -> Floats:
    from scipy.special import stdtrit

    users, mean = len(difference), difference.mean(axis=0)
    error = difference.std(axis=0, ddof=1) / math.sqrt(users)
    reach = float(stdtrit(users - 1, 1 - alpha / 2)) * error
    return np.column_stack([mean - reach, mean + reach])


def _accelerated(values: Floats, means: Floats, shares: Floats) -> Floats:
    """The shares of the bootstrap distribution between which the BCa interval lies.

    Bias is how far the value found is from the median of the resamples; the acceleration of a mean
    is, by the jackknife, a sixth of its skewness over the root of the number of users.
    """
    from scipy.special import ndtr, ndtri

    if constant(values):
        return shares
    centred = values - values.mean()
    squares = float(centred @ centred)
    skew = float((centred**3).sum()) / (6 * squares**1.5)
    count, found = len(means), values.mean()
    below = ((means < found).sum() + (means <= found).sum()) / (2 * count)
    bias = ndtri(np.clip(below, 1 / (2 * count), 1 - 1 / (2 * count)))
    reach = bias + ndtri(shares)
    moved: Floats = ndtr(bias + reach / (1 - skew * reach))
    return moved
