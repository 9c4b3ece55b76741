"""Tests of whether two models differ: SciPy's, with an answer also where all values are equal, and
sign flips in blocks.

A statistic is of the first sample against the second; every p is two-sided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from rectitude.arrays import Floats
from rectitude.comparing.drawing import (
    BLOCK,
    every_sign,
    random_signs,
    slack,
    summable,
    weighted,
)
from rectitude.errors import BadTable, NothingToEvaluate, UndefinedValue

Test = Literal["t", "wilcoxon", "mann_whitney", "kruskal", "sign_flip"]
_EQUAL = 1e-12
"""sums this near, relative to the sum of what is added, differ by rounding only"""


class Outcome(NamedTuple):
    """What a test says."""

    statistic: float
    p: float


def paired_t(one: Floats, other: Floats) -> Outcome:
    """Student's t of the differences; infinite, with p = 0, where all are the same but not 0."""
    difference = differences(one, other)
    if constant(difference):
        mean = float(difference.mean())
        return Outcome(float(np.copysign(np.inf, mean)), 0.0) if mean else Outcome(0.0, 1.0)
    from scipy.stats import ttest_1samp

    found = ttest_1samp(difference, 0.0)
    return Outcome(float(found.statistic), float(found.pvalue))


def wilcoxon(one: Floats, other: Floats) -> Outcome:
    """Wilcoxon's signed ranks; differences of 0 are left out."""
    difference = differences(one, other)
    if not difference.any():
        return Outcome(0.0, 1.0)
    from scipy.stats import wilcoxon as signed_ranks

    found = signed_ranks(difference)
    return Outcome(float(found.statistic), float(found.pvalue))


def mann_whitney(one: Floats, other: Floats) -> Outcome:
    """Mann and Whitney's U of two samples, which it takes for independent."""
    require_values(one, other)
    if constant(np.concatenate([one, other])):
        return Outcome(len(one) * len(other) / 2, 1.0)
    from scipy.stats import mannwhitneyu

    found = mannwhitneyu(one, other, alternative="two-sided")
    return Outcome(float(found.statistic), float(found.pvalue))


def kruskal(*samples: Floats) -> Outcome:
    """Kruskal and Wallis' H of two or more samples, which it takes for independent."""
    require_values(*samples)
    if constant(np.concatenate(samples)):
        return Outcome(0.0, 1.0)
    from scipy.stats import kruskal as rank_sums

    found = rank_sums(*samples)
    return Outcome(float(found.statistic), float(found.pvalue))


TESTS: Mapping[str, Callable[[Floats, Floats], Outcome]] = {
    "t": paired_t,
    "wilcoxon": wilcoxon,
    "mann_whitney": mann_whitney,
    "kruskal": kruskal,
}


def tested(name: str, one: Floats, other: Floats) -> Outcome:
    """A test by name. Where all users differ by the same, t is infinite and SciPy's p is 0, however
    few they are: the p is then that of sign flips, of which two are as extreme."""
    found = TESTS[name](one, other)
    if name == "t" and found.p == 0 and constant(differences(one, other)):
        return found._replace(p=0.5 ** (len(one) - 1))
    return found


def sign_flips(
    difference: Floats, flips: int = 10_000, seed: int = 0, block: int = BLOCK
) -> Floats:
    """The p of each column of differences (users, columns), by random signs for the users.

    p is the share of assignments of signs whose sum is as far from 0 as the one found, which counts
    as one of them. All assignments are taken where there are at most `flips`. The signs come from
    the seed alone, and are the same for all columns.
    """
    require_values(*difference.T)
    users, values = len(difference), summable(difference)
    every = all_flips(users, flips)
    total = 2**users if every else flips
    sums = 2 * weighted(values, total, every_sign if every else random_signs(seed), block)
    whole = values.sum(axis=0)
    limit = np.abs(whole) - _EQUAL * np.abs(values).sum(axis=0) - slack(difference)
    extreme = (np.abs(sums - whole) >= limit).sum(axis=0)
    found: Floats = extreme / total if every else (extreme + 1) / (total + 1)
    return found


def all_flips(users: int, flips: int) -> bool:
    """Whether so many flips are enough for every assignment of signs."""
    return users < 63 and 2**users <= flips


def differences(one: Floats, other: Floats) -> Floats:
    """The differences of the same users' values."""
    if len(one) != len(other):
        raise BadTable(
            f"one sample has {len(one):,} values and the other {len(other):,}.",
            "the values of the same users, in the same order.",
        )
    require_values(one, other)
    return np.asarray(one - other, dtype=np.float64)


def constant(values: Floats) -> bool:
    """Whether values differ by rounding only."""
    return bool(np.ptp(values) <= _EQUAL * np.abs(values).max())


def require_values(*samples: Floats) -> None:
    """An error unless each sample has two values, all of them finite."""
    for sample in samples:
        if len(sample) < 2:
            raise NothingToEvaluate(
                f"there is {'one value' if len(sample) else 'no value'} to test.",
                "the values of at least two users.",
            )
        finite = np.isfinite(sample)
        if not finite.all():
            where = int(np.argmin(finite))
            raise UndefinedValue(
                f"{int((~finite).sum()):,} of {len(sample):,} values are no numbers, the first "
                f"is {float(sample[where])} at place {where:,}.",
                "finite values.",
                "leave these users out on both sides.",
            )
