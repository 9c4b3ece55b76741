"""Effect sizes, statistical power, equivalence tests, and how much of the variance of a difference
comes from users and how much from runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rectitude.arrays import Floats
from rectitude.comparison.moments import Moments
from rectitude.errors import BadArgument, BadTable


def cohens_dz(differences: Moments) -> float:
    """Return the mean difference in standard deviations of the differences; infinite if all
    differences are the same but not 0."""
    mean = differences.mean
    if differences.is_constant:
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / differences.deviation


def superiority(better: int, worse: int, users: int) -> float:
    """Return the share of users who are better; users without a difference count half."""
    return (better + 0.5 * (users - better - worse)) / users


def power(effect: float, users: int, alpha: float = 0.05) -> float:
    """Return the power of a paired t-test with this many users for an effect size dz."""
    _require_users(users)
    from scipy.stats import nct, t

    bound, shift = float(t.ppf(1 - alpha / 2, users - 1)), abs(effect) * math.sqrt(users)
    far = float(nct.cdf(-bound, users - 1, shift))
    # SciPy sometimes returns NaN for the far tail if it is too small for float64
    return float(nct.sf(bound, users - 1, shift)) + (0.0 if math.isnan(far) else far)


def detectable(spread: float, users: int, alpha: float = 0.05, target_power: float = 0.8) -> float:
    """Return the smallest mean difference that a paired t-test detects with the target power, if
    differences have this standard deviation."""
    _require_users(users)
    _require_power(alpha, target_power)
    return spread * _smallest_effect(users, alpha, target_power)


@lru_cache(maxsize=1024)
def _smallest_effect(users: int, alpha: float, target_power: float) -> float:
    """Return the smallest dz detected with the target power; it depends only on these arguments."""
    from scipy.optimize import brentq

    high = 1 / math.sqrt(users)
    while power(high, users, alpha) < target_power:
        high *= 2
    return float(brentq(lambda effect: power(effect, users, alpha) - target_power, 0.0, high))


def users_needed(effect: float, alpha: float = 0.05, target_power: float = 0.8) -> int:
    """Return how many users a paired t-test needs to detect an effect size dz with this power."""
    if not (effect and math.isfinite(effect)):
        raise BadArgument(f"the effect size is {effect}.", "a finite number other than 0.")
    _require_power(alpha, target_power)
    low, high = 1, 2
    while power(effect, high, alpha) < target_power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = power(effect, middle, alpha) >= target_power
        low, high = (low, middle) if enough else (middle, high)
    return high


def _require_power(alpha: float, target_power: float) -> None:
    if not alpha < target_power < 1:
        raise BadArgument(
            f"the power is {target_power}.", f"a number above alpha ({alpha}) and below 1."
        )


def equivalence(differences: Moments, margin: float) -> float:
    """Return the p-value of two one-sided t-tests (TOST): small if the mean lies within plus or
    minus the margin. If all differences are the same, t is undefined; the p-value then comes from
    one-sided sign flips."""
    require_margin(margin)
    users, mean = differences.users, differences.mean
    if differences.is_constant:
        return 0.5**users if abs(mean) < margin else 1.0
    from scipy.special import stdtr

    return float(stdtr(users - 1, (abs(mean) - margin) / differences.error))


def require_margin(margin: float | None) -> None:
    """Raise an error if a margin is given that is not a number above 0."""
    if margin is not None and not (margin > 0 and math.isfinite(margin)):
        raise BadArgument(f"the margin is {margin}.", "a number above 0, in the metric's own unit.")


def _require_users(users: int) -> None:
    if users < 2:
        raise BadArgument(f"the number of users is {users}.", "at least two.")


@dataclass(frozen=True, slots=True)
class Components:
    """The variance of differences by source, and the standard error of the mean difference."""

    users: float
    runs: float
    rest: float
    """the interaction of both, and noise: how much runs differ from user to user"""
    error: float
    """the standard error of the mean difference, generalising to new users and new runs"""


def components(by_run: Floats) -> Components | None:
    """Return the variance components of differences (users, runs), from a two-way random ANOVA.

    None if there are fewer than two users or runs. A negative estimate of a component becomes 0.
    """
    users, runs = by_run.shape
    if min(users, runs) < 2:
        return None
    if np.isnan(by_run).any():
        raise BadTable("some users are missing in some runs.", "every user in every run.")
    mean = by_run.mean()
    user_means, run_means = by_run.mean(axis=1), by_run.mean(axis=0)
    residuals = by_run - user_means[:, None] - run_means + mean
    square_users = runs * float(((user_means - mean) ** 2).sum()) / (users - 1)
    square_runs = users * float(((run_means - mean) ** 2).sum()) / (runs - 1)
    square_rest = float((residuals**2).sum()) / ((users - 1) * (runs - 1))
    user_variance = max(0.0, (square_users - square_rest) / runs)
    run_variance = max(0.0, (square_runs - square_rest) / users)
    error = math.sqrt(user_variance / users + run_variance / runs + square_rest / (users * runs))
    return Components(user_variance, run_variance, square_rest, error)
