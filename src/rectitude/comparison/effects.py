"""How large a difference is, how small a one would have been found, whether it matters, and which
part of its variance comes from users and which from runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rectitude.arrays import Floats
from rectitude.comparison.significance import constant, require_values
from rectitude.errors import BadName, BadTable


def cohens_dz(difference: Floats) -> float:
    """The mean difference in standard deviations of the differences; infinite if all are the same
    but not 0."""
    require_values(difference)
    mean = float(difference.mean())
    if constant(difference):
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / float(difference.std(ddof=1))


def rank_biserial(difference: Floats) -> float:
    """The share of signed ranks that are above 0 less the share below, without differences of 0."""
    require_values(difference)
    moved = difference[difference != 0]
    if not len(moved):
        return 0.0
    from scipy.stats import rankdata

    ranks = rankdata(np.abs(moved))
    return float(ranks @ np.sign(moved) / ranks.sum())


def superiority(difference: Floats) -> float:
    """The share of users with a difference above 0, those without any counting half."""
    require_values(difference)
    return float(((difference > 0) + 0.5 * (difference == 0)).mean())


def power(effect: float, users: int, alpha: float = 0.05) -> float:
    """How often a paired t-test of so many users finds an effect of this dz."""
    _require_users(users)
    from scipy.stats import nct, t

    bound, shift = float(t.ppf(1 - alpha / 2, users - 1)), abs(effect) * math.sqrt(users)
    far = float(nct.cdf(-bound, users - 1, shift))
    # where the far tail is below what float64 can add, SciPy sometimes has NaN for it
    return float(nct.sf(bound, users - 1, shift)) + (0.0 if math.isnan(far) else far)


def detectable(spread: float, users: int, alpha: float = 0.05, wanted: float = 0.8) -> float:
    """The smallest mean difference that a paired t-test finds with the wanted power, where
    differences have this standard deviation."""
    _require_users(users)
    _require_power(alpha, wanted)
    return spread * _smallest(users, alpha, wanted)


@lru_cache(maxsize=1024)
def _smallest(users: int, alpha: float, wanted: float) -> float:
    """The dz that is found with the wanted power: the same for all differences of as many users."""
    from scipy.optimize import brentq

    high = 1 / math.sqrt(users)
    while power(high, users, alpha) < wanted:
        high *= 2
    return float(brentq(lambda effect: power(effect, users, alpha) - wanted, 0.0, high))


def needed(effect: float, alpha: float = 0.05, wanted: float = 0.8) -> int:
    """How many users a paired t-test needs to find an effect of this dz with the wanted power."""
    if not (effect and math.isfinite(effect)):
        raise BadName(f"the effect is {effect}.", "a number other than 0.")
    _require_power(alpha, wanted)
    low, high = 1, 2
    while power(effect, high, alpha) < wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = power(effect, middle, alpha) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high


def _require_power(alpha: float, wanted: float) -> None:
    if not alpha < wanted < 1:
        raise BadName(f"the power is {wanted}.", f"more than alpha ({alpha}), and less than 1.")


def equivalence(difference: Floats, margin: float) -> float:
    """The p of two one-sided t-tests (TOST): small if the mean lies within plus or minus the
    margin. Where all differences are the same, t has nothing to divide by; the p is then that of
    one-sided sign flips."""
    require_values(difference)
    require_margin(margin)
    users, mean = len(difference), float(difference.mean())
    if constant(difference):
        return 0.5**users if abs(mean) < margin else 1.0
    from scipy.special import stdtr

    error = float(difference.std(ddof=1)) / math.sqrt(users)
    return float(stdtr(users - 1, (abs(mean) - margin) / error))


def require_margin(margin: float | None) -> None:
    """An error unless a margin, if there is one, is a number above 0."""
    if margin is not None and not (margin > 0 and math.isfinite(margin)):
        raise BadName(f"the margin is {margin}.", "a number above 0, in the metric's own unit.")


def _require_users(users: int) -> None:
    if users < 2:
        raise BadName(f"there are {users} users.", "at least two.")


@dataclass(frozen=True, slots=True)
class Components:
    """The variance of differences by its sources, and the error of their mean over both."""

    users: float
    runs: float
    rest: float
    """what is neither: how much runs differ from user to user"""
    error: float
    """the standard error of the mean difference, for other users and other runs"""


def components(by_run: Floats) -> Components | None:
    """The components of differences (users, runs), by the mean squares of two random factors.

    None if there are fewer than two users or runs. A component that comes out negative is 0.
    """
    users, runs = by_run.shape
    if min(users, runs) < 2:
        return None
    if np.isnan(by_run).any():
        raise BadTable("some users are not in every run.", "every user in every run.")
    mean = by_run.mean()
    of_users, of_runs = by_run.mean(axis=1), by_run.mean(axis=0)
    rest = by_run - of_users[:, None] - of_runs + mean
    square_users = runs * float(((of_users - mean) ** 2).sum()) / (users - 1)
    square_runs = users * float(((of_runs - mean) ** 2).sum()) / (runs - 1)
    square_rest = float((rest**2).sum()) / ((users - 1) * (runs - 1))
    by_user = max(0.0, (square_users - square_rest) / runs)
    by_seed = max(0.0, (square_runs - square_rest) / users)
    error = math.sqrt(by_user / users + by_seed / runs + square_rest / (users * runs))
    return Components(by_user, by_seed, square_rest, error)
