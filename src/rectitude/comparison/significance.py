"""Is a difference significant? Tests, corrections for multiple tests, and confidence intervals.

Tests come from SciPy, extended to samples in which all values are equal; sign flips are our own. A
statistic compares the first sample with the second; every p-value is two-sided. Confidence
intervals of mean differences use Student's t or the bootstrap over users.

Random signs, and users drawn with replacement, act as weights of the users' values. They come from
numbered random streams of the seed, and sums of values are exact. So results depend only on the
seed, not on the number of threads or the block size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats
from rectitude.comparison.moments import EQUAL, Moments
from rectitude.errors import BadTable, NothingToEvaluate, UndefinedValue, unknown_name
from rectitude.parallel import run_tasks

Test = Literal["t", "wilcoxon", "mann_whitney", "kruskal", "sign_flip"]
Correction = Literal["none", "bonferroni", "holm", "benjamini_hochberg", "benjamini_yekutieli"]
ValueInterval = Literal["t", "percentile", "bca"]
"""How confidence intervals are computed from values alone."""
Interval = Literal[ValueInterval, "poisson"]
"""How confidence intervals are computed; "poisson" also takes ids, see `comparison.poisson`."""
TestAlias = Literal["student", "fisher"]
CorrectionAlias = Literal["fdr_bh", "fdr_by"]
ALIASES: Mapping[str, str] = {
    "student": "t",
    "fisher": "sign_flip",
    "fdr_bh": "benjamini_hochberg",
    "fdr_by": "benjamini_yekutieli",
}
"""What ranx and statsmodels call tests and corrections that are known here by another name."""
ABSENT: Mapping[str, str] = {
    "tukey": "Tukey's HSD assumes independent groups, but all models are evaluated on the same "
    "users. Compare every pair instead: test='t' with correct='holm'.",
}
"""Tests that are left out on purpose, and what to use instead."""
MEANT: Mapping[str, str] = {
    **dict.fromkeys(("ttest", "t-test", "t_test", "paired_t", "ttest_rel"), "t"),
    **dict.fromkeys(("permutation", "randomization", "randomisation"), "sign_flip"),
    **dict.fromkeys(("mwu", "mannwhitneyu"), "mann_whitney"),
    **dict.fromkeys(("bh", "fdr", "benjamini"), "benjamini_hochberg"),
    "by": "benjamini_yekutieli",
}
"""What other names of tests and corrections probably mean."""
BLOCK = 500_000
"""how many weights a thread keeps in memory at a time"""
_STREAM = 2**16
"""how many weights come from one random stream; at least one row"""
Drawn = NDArray[np.signedinteger] | NDArray[np.unsignedinteger]
Weights = Callable[[int, int, int], Drawn]
"""Returns the weights (rows, users), given the number of users, the first row and the number of
rows."""


class Outcome(NamedTuple):
    """The result of a test."""

    statistic: float
    p: float


def run_test(name: str, first: Floats, second: Floats) -> Outcome:
    """Run a test by name."""
    if name == "t":
        return run_t(Moments.of(differences(first, second)))
    return TESTS[name](first, second)


def run_t(moments: Moments) -> Outcome:
    """Run a paired t-test. If the difference is the same for all users, t is infinite and p would
    be 0, even for very few users; p then comes from sign flips: two are as extreme."""
    outcome = _student_test(moments)
    if outcome.p == 0 and moments.is_constant:
        return outcome._replace(p=0.5 ** (moments.users - 1))
    return outcome


def paired_t(first: Floats, second: Floats) -> Outcome:
    """Run a paired t-test; t is infinite, with p = 0, if all differences are the same but not 0."""
    return _student_test(Moments.of(differences(first, second)))


def _student_test(moments: Moments) -> Outcome:
    mean = moments.mean
    if moments.is_constant:
        return Outcome(math.copysign(math.inf, mean), 0.0) if mean else Outcome(0.0, 1.0)
    from scipy.special import stdtr

    statistic = mean / moments.error
    return Outcome(statistic, 2 * float(stdtr(moments.users - 1, -abs(statistic))))


def wilcoxon(first: Floats, second: Floats) -> Outcome:
    """Run Wilcoxon's signed-rank test without differences of 0."""
    difference = differences(first, second)
    if not difference.any():
        return Outcome(0.0, 1.0)
    from scipy.stats import wilcoxon as signed_ranks

    result = signed_ranks(difference)
    return Outcome(float(result.statistic), float(result.pvalue))


def mann_whitney(first: Floats, second: Floats) -> Outcome:
    """Run the Mann-Whitney U test, which treats the two samples as independent."""
    require_values(first, second)
    if constant(np.concatenate([first, second])):
        return Outcome(len(first) * len(second) / 2, 1.0)
    from scipy.stats import mannwhitneyu

    result = mannwhitneyu(first, second, alternative="two-sided")
    return Outcome(float(result.statistic), float(result.pvalue))


def kruskal(*samples: Floats) -> Outcome:
    """Run the Kruskal-Wallis H test, which treats the two or more samples as independent."""
    require_values(*samples)
    if constant(np.concatenate(samples)):
        return Outcome(0.0, 1.0)
    from scipy.stats import kruskal as rank_sums

    result = rank_sums(*samples)
    return Outcome(float(result.statistic), float(result.pvalue))


TESTS: Mapping[str, Callable[[Floats, Floats], Outcome]] = {
    "t": paired_t,
    "wilcoxon": wilcoxon,
    "mann_whitney": mann_whitney,
    "kruskal": kruskal,
}


def sign_flips(
    difference: Floats, flips: int = 10_000, seed: int = 0, block: int = BLOCK
) -> Floats:
    """Return the p-value of each column of differences (users, columns) by a sign-flip test.

    p is the share of sign assignments whose sum is at least as far from 0 as the observed sum; the
    observed signs count as one assignment. If there are at most `flips` assignments, all of them
    are used. The signs depend only on the seed, and are the same for all columns.
    """
    require_values(*difference.T)
    users, values = len(difference), summable(difference)
    exhaustive = all_flips(users, flips)
    total = 2**users if exhaustive else flips
    sums = 2 * sum_weighted(values, total, every_sign if exhaustive else random_signs(seed), block)
    observed = values.sum(axis=0)
    limit = np.abs(observed) - EQUAL * np.abs(values).sum(axis=0) - slack(difference)
    extreme = (np.abs(sums - observed) >= limit).sum(axis=0)
    p: Floats = extreme / total if exhaustive else (extreme + 1) / (total + 1)
    return p


def all_flips(users: int, flips: int) -> bool:
    """Return whether this many flips cover every assignment of signs."""
    return users < 63 and 2**users <= flips


def differences(first: Floats, second: Floats) -> Floats:
    """Return the differences between two samples of the same users."""
    if len(first) != len(second):
        raise BadTable(
            f"one sample has {len(first):,} values and the other {len(second):,}.",
            "the values of the same users, in the same order.",
        )
    require_values(first, second)
    return np.asarray(first - second, dtype=np.float64)


def constant(values: Floats) -> bool:
    """Return whether all values are equal up to rounding errors."""
    return bool(np.ptp(values) <= EQUAL * np.abs(values).max())


def require_values(*samples: Floats) -> None:
    """Raise an error unless each sample has at least two values, all of them finite."""
    for sample in samples:
        if len(sample) < 2:
            raise NothingToEvaluate(
                f"there is {'only one value' if len(sample) else 'no value'} to test.",
                "the values of at least two users.",
            )
        finite = np.isfinite(sample)
        if not finite.all():
            first = int(np.argmin(finite))
            raise UndefinedValue(
                f"{int((~finite).sum()):,} of {len(sample):,} values are not finite; the first "
                f"is {float(sample[first])} at index {first:,}.",
                "finite values.",
                "remove these users from both samples.",
            )


def correct_p(p: Floats, how: str) -> Floats:
    """Correct the p-values of one family of tests."""
    if how not in CORRECTIONS:
        raise unknown_name("correction", how, CORRECTIONS)
    if not ((p >= 0) & (p <= 1)).all():
        raise UndefinedValue("a p-value is undefined or out of range.", "numbers between 0 and 1.")
    return CORRECTIONS[how](p) if len(p) else p


def _bonferroni(p: Floats) -> Floats:
    return np.minimum(p * len(p), 1.0)


def _holm(p: Floats) -> Floats:
    """Multiply the smallest of n p-values by n, the next by n - 1, and so on; never decrease."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def _control_false_discoveries(p: Floats, method: str) -> Floats:
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, method=method), dtype=np.float64)


CORRECTIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "none": lambda p: p,
    "bonferroni": _bonferroni,
    "holm": _holm,
    "benjamini_hochberg": lambda p: _control_false_discoveries(p, "bh"),
    "benjamini_yekutieli": lambda p: _control_false_discoveries(p, "by"),
}


def interval(
    difference: Floats,
    how: ValueInterval = "t",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> Floats:
    """Return the ends (columns, 2) of the confidence interval of each column's mean, given
    differences (users, columns)."""
    require_values(*difference.T)
    if how == "t":
        return np.array([student_interval(Moments.of(values), alpha) for values in difference.T])
    means = bootstrap(difference, resamples, seed)
    ends = np.empty((difference.shape[1], 2))
    for column, values in enumerate(difference.T):
        shares = np.array([alpha / 2, 1 - alpha / 2])
        if how == "bca":
            shares = _adjust_shares(summable(values[:, None])[:, 0], means[:, column], shares)
        ends[column] = np.quantile(means[:, column], shares)
    return ends


def bootstrap(difference: Floats, resamples: int, seed: int, block: int = BLOCK) -> Floats:
    """Return the means (resamples, columns) of users drawn with replacement.

    The draws depend only on the seed, and are the same for all columns.
    """
    sums = sum_weighted(summable(difference), resamples, random_users(seed), block)
    return sums / len(difference)


def student_interval(moments: Moments, alpha: float) -> tuple[float, float]:
    """Return the ends of the confidence interval of a mean by Student's t."""
    from scipy.special import stdtrit

    margin = float(stdtrit(moments.users - 1, 1 - alpha / 2)) * moments.error
    return moments.mean - margin, moments.mean + margin


def _adjust_shares(values: Floats, means: Floats, shares: Floats) -> Floats:
    """Return the quantiles of the bootstrap distribution that bound the BCa interval.

    The bias is how far the observed mean is from the median of the resampled means. The
    acceleration of a mean, by the jackknife, is a sixth of the skewness divided by the square root
    of the number of users.
    """
    from scipy.special import ndtr, ndtri

    if constant(values):
        return shares
    centred = values - values.mean()
    squares = float(centred @ centred)
    acceleration = float((centred**3).sum()) / (6 * squares**1.5)
    count, observed = len(means), values.mean()
    below = ((means < observed).sum() + (means <= observed).sum()) / (2 * count)
    bias = ndtri(np.clip(below, 1 / (2 * count), 1 - 1 / (2 * count)))
    z = bias + ndtri(shares)
    adjusted: Floats = ndtr(bias + z / (1 - acceleration * z))
    return adjusted


def summable(values: Floats) -> Floats:
    """Round the values (users, columns) slightly to make all their weighted sums exact.

    A sum of whole numbers below 2**53 is the same in any order. So each column is rounded to a
    multiple of a power of two, about 2**-52 of its largest value times the number of users.
    """
    step = _rounding_steps(values)
    return np.asarray(np.rint(values / step) * step, dtype=np.float64)


def _rounding_steps(values: Floats) -> Floats:
    """Return the power of two whose multiples each column is rounded to."""
    _, exponent = np.frexp(np.abs(values).max(axis=0))
    lowest = np.maximum(exponent + (len(values) - 1).bit_length() - 52, -1022)
    steps: Floats = np.ldexp(np.ones(values.shape[1]), lowest)
    return steps


def slack(values: Floats) -> Floats:
    """Return the largest error that rounding the values can cause in their sums."""
    bounds: Floats = len(values) * _rounding_steps(values)
    return bounds


def sum_weighted(values: Floats, rows: int, weights: Weights, block: int = BLOCK) -> Floats:
    """Return the weighted sums (rows, columns) of summable values for each row of weights."""
    users = len(values)
    rows_per_stream = rows_a_stream(users)
    height = rows_per_stream * max(1, block // (rows_per_stream * users))
    sums = np.empty((rows, values.shape[1]))
    columns = np.ascontiguousarray(values.T)

    def fill(start: int) -> None:
        stop = min(start + height, rows)
        block_weights = np.empty((stop - start, users))
        for first in range(start, stop, rows_per_stream):
            block_weights[first - start : first - start + rows_per_stream] = weights(
                users, first, min(rows_per_stream, stop - first)
            )
        # not a matrix product: its internal threads would compete with ours
        sums[start:stop] = np.einsum("ru,cu->rc", block_weights, columns)

    run_tasks([partial(fill, start) for start in range(0, rows, height)], rows * users > _STREAM)
    return sums


def rows_a_stream(users: int) -> int:
    """Return how many rows of weights come from one random stream."""
    return max(1, _STREAM // users)


def random_signs(seed: int) -> Weights:
    """Return random weights of 0 or 1 for each user."""

    def draw(users: int, first: int, rows: int) -> Drawn:
        words = -(-users // 64)
        bits = _open_stream(seed, users, first).integers(0, 2**64, (rows, words), dtype=np.uint64)
        return np.unpackbits(bits.view(np.uint8), axis=1, count=users)

    return draw


def every_sign(users: int, first: int, rows: int) -> Drawn:
    """Return all combinations of weights 0 and 1, one per row."""
    numbers = np.arange(first, first + rows)
    return numbers[:, None] >> np.arange(users) & 1


def random_users(seed: int) -> Weights:
    """Return how often each user is drawn in a bootstrap resample."""

    def draw(users: int, first: int, rows: int) -> Drawn:
        chosen = _open_stream(seed, users, first).integers(0, users, (rows, users))
        chosen += users * np.arange(rows)[:, None]
        return np.bincount(chosen.ravel(), minlength=rows * users).reshape(rows, users)

    return draw


def _open_stream(seed: int, users: int, first: int) -> np.random.Generator:
    return np.random.default_rng((seed, first // rows_a_stream(users)))
