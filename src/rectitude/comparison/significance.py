"""Could a difference be chance? Tests, corrections for many tests at once, and intervals.

Tests are SciPy's, with an answer also where all values are equal, and sign flips. A statistic is of
the first sample against the second; every p is two-sided. Intervals of mean differences are
Student's t or the bootstrap over users.

Random signs, and users drawn with replacement, are weights of the users' values. They come from
numbered streams of the seed, and sums of values are exact: results depend on the seed alone, not on
threads or on how much is held at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats
from rectitude.errors import BadTable, NothingToEvaluate, UndefinedValue, unknown_name
from rectitude.parallel import together

Test = Literal["t", "wilcoxon", "mann_whitney", "kruskal", "sign_flip"]
Correction = Literal["none", "bonferroni", "holm", "benjamini_hochberg", "benjamini_yekutieli"]
Interval = Literal["t", "percentile", "bca"]
BLOCK = 500_000
"""how many weights a thread holds at a time"""
_STREAM = 2**16
"""how many weights come from one stream, or as many as one row needs"""
_EQUAL = 1e-12
"""sums this near, relative to the sum of what is added, differ by rounding only"""
Drawn = NDArray[np.signedinteger] | NDArray[np.unsignedinteger]
Weights = Callable[[int, int, int], Drawn]
"""The weights (rows, users), given how many users, the first row, and how many rows."""


class Outcome(NamedTuple):
    """What a test says."""

    statistic: float
    p: float


def tested(name: str, one: Floats, other: Floats) -> Outcome:
    """A test by name. Where all users differ by the same, t is infinite and SciPy's p is 0, however
    few they are: the p is then that of sign flips, of which two are as extreme."""
    found = TESTS[name](one, other)
    if name == "t" and found.p == 0 and constant(differences(one, other)):
        return found._replace(p=0.5 ** (len(one) - 1))
    return found


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


def corrected(p: Floats, how: str) -> Floats:
    """The p-values of one family of tests, corrected."""
    if how not in CORRECTIONS:
        raise unknown_name("correction", how, CORRECTIONS)
    if not ((p >= 0) & (p <= 1)).all():
        raise UndefinedValue("a p-value is undefined or not between 0 and 1.", "p-values.")
    return CORRECTIONS[how](p) if len(p) else p


def _bonferroni(p: Floats) -> Floats:
    return np.minimum(p * len(p), 1.0)


def _holm(p: Floats) -> Floats:
    """Step down: the smallest p times all tests, the next times one less; never less than the one
    before."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty_like(p)
    found[order] = np.minimum(stepped, 1.0)
    return found


def _false_discoveries(p: Floats, method: str) -> Floats:
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, method=method), dtype=np.float64)


CORRECTIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "none": lambda p: p,
    "bonferroni": _bonferroni,
    "holm": _holm,
    "benjamini_hochberg": lambda p: _false_discoveries(p, "bh"),
    "benjamini_yekutieli": lambda p: _false_discoveries(p, "by"),
}


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


def summable(values: Floats) -> Floats:
    """The values (users, columns), rounded so that all their weighted sums are exact.

    A sum of whole numbers below 2**53 is the same in any order. So each column is rounded to a
    multiple of a power of two, about 2**-52 of its largest value times the number of users.
    """
    step = _steps(values)
    return np.asarray(np.rint(values / step) * step, dtype=np.float64)


def _steps(values: Floats) -> Floats:
    """What each column is rounded to multiples of: a power of two."""
    _, exponent = np.frexp(np.abs(values).max(axis=0))
    lowest = np.maximum(exponent + (len(values) - 1).bit_length() - 52, -1022)
    found: Floats = np.ldexp(np.ones(values.shape[1]), lowest)
    return found


def slack(values: Floats) -> Floats:
    """How far sums of rounded values can be from those of the values themselves."""
    found: Floats = len(values) * _steps(values)
    return found


def weighted(values: Floats, rows: int, weights: Weights, block: int = BLOCK) -> Floats:
    """The sums (rows, columns) of summable values, once for each row of weights."""
    users = len(values)
    each = rows_a_stream(users)
    height = each * max(1, block // (each * users))
    found = np.empty((rows, values.shape[1]))
    columns = np.ascontiguousarray(values.T)

    def fill(start: int) -> None:
        stop = min(start + height, rows)
        drawn = np.empty((stop - start, users))
        for first in range(start, stop, each):
            drawn[first - start : first - start + each] = weights(
                users, first, min(each, stop - first)
            )
        # not a product of matrices: its own threads would wait for ours
        found[start:stop] = np.einsum("ru,cu->rc", drawn, columns)

    together([partial(fill, start) for start in range(0, rows, height)], rows * users > _STREAM)
    return found


def rows_a_stream(users: int) -> int:
    """How many rows of weights come from one stream."""
    return max(1, _STREAM // users)


def random_signs(seed: int) -> Weights:
    """Each user 0 or 1 times, by chance."""

    def drawn(users: int, first: int, rows: int) -> Drawn:
        words = -(-users // 64)
        bits = _stream(seed, users, first).integers(0, 2**64, (rows, words), dtype=np.uint64)
        return np.unpackbits(bits.view(np.uint8), axis=1, count=users)

    return drawn


def every_sign(users: int, first: int, rows: int) -> Drawn:
    """Each user 0 or 1 times: row by row, every way there is."""
    numbers = np.arange(first, first + rows)
    return numbers[:, None] >> np.arange(users) & 1


def random_users(seed: int) -> Weights:
    """How often each user was drawn, as many being drawn as there are."""

    def drawn(users: int, first: int, rows: int) -> Drawn:
        chosen = _stream(seed, users, first).integers(0, users, (rows, users))
        chosen += users * np.arange(rows)[:, None]
        return np.bincount(chosen.ravel(), minlength=rows * users).reshape(rows, users)

    return drawn


def _stream(seed: int, users: int, first: int) -> np.random.Generator:
    return np.random.default_rng((seed, first // rows_a_stream(users)))
