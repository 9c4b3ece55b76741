"""Tests and intervals by simulation: on typical metric values, they err as often as they claim.

Values are those of a hit at a random rank: most are 0, users differ, and two models' hits depend on
each other. Everything is seeded, so that a failure can be looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from rectitude.arrays import Floats
from rectitude.comparison import effects
from rectitude.comparison.effects import components
from rectitude.comparison.moments import Moments
from rectitude.comparison.significance import TESTS, correct_p, interval, sign_flips

DISCOUNT = 1 / np.log2(np.arange(2, 12))
"""the gain of a hit at ranks 1 to 10"""


def within_band(found: int, total: int, share: float) -> bool:
    """Return whether a count is in the range expected in 9,998 of 10,000 simulations."""
    low, high = stats.binom.ppf([0.0001, 0.9999], total, share)
    return bool(low <= found <= high)


def models(
    users: int, repeats: int, seed: int, better: float = 0.0
) -> tuple[Floats, Floats, float]:
    """Return values (users, repeats) of two correlated models, and the true difference of their
    means."""
    chance = np.random.default_rng(seed)
    shape = users, repeats
    easy, luck = chance.uniform(0.1, 0.5, shape), chance.random(shape)
    other_luck = np.where(chance.random(shape) < 0.5, luck, chance.random(shape))
    worth = chance.choice(DISCOUNT, (2, *shape))
    one, other = (luck < easy + better) * worth[0], (other_luck < easy) * worth[1]
    return one, other, better * float(DISCOUNT.mean())


def p_values(name: str, one: Floats, other: Floats) -> Floats:
    """The p of each repeat."""
    if name == "sign_flip":
        return sign_flips(one - other, 999)
    return np.array([TESTS[name](a, b).p for a, b in zip(one.T, other.T, strict=True)])


def test_values_are_like_those_of_metrics() -> None:
    one, other, _ = models(400, 50, 0)
    assert 0.6 < (one == 0).mean() < 0.8
    assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.15
    assert stats.skew(one.ravel()) > 0.8


@pytest.mark.parametrize("name", ["t", "wilcoxon", "sign_flip"])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_paired_tests_of_equal_models_find_a_difference_as_often_as_alpha_says(
    name: str, alpha: float
) -> None:
    one, other, _ = models(80, 500, 1)
    p = p_values(name, one, other)
    assert within_band(int((p < alpha).sum()), 500, alpha)


@pytest.mark.parametrize("name", ["mann_whitney", "kruskal"])
def test_unpaired_tests_find_too_little_in_paired_data(name: str) -> None:
    one, other, _ = models(80, 500, 2)
    p = p_values(name, one, other)
    found = int((p < 0.2).sum())
    assert found < 500 * 0.2
    shuffled = np.random.default_rng(3).permuted(other, axis=1)
    assert within_band(int((p_values(name, one, shuffled) < 0.2).sum()), 500, 0.2)


def test_false_positives_of_kruskal_with_three_models_are_as_rare_as_alpha_says() -> None:
    chance = np.random.default_rng(4)
    three = chance.choice([0.0, 0.0, *DISCOUNT], (3, 60, 400))
    p = [TESTS["kruskal"](*three[:, :, n]).p for n in range(400)]
    assert within_band(int((np.array(p) < 0.1).sum()), 400, 0.1)


@pytest.mark.parametrize("name", [*TESTS, "sign_flip"])
def test_p_is_close_to_uniform_if_models_are_equal(name: str) -> None:
    one, other = np.random.default_rng(5).gamma(2.0, size=(2, 40, 400))
    assert stats.kstest(p_values(name, one, other), "uniform").pvalue > 0.001


@pytest.mark.parametrize("how", ["t", "percentile", "bca"])
@pytest.mark.parametrize("better", [0.0, 0.15])
def test_intervals_of_differences_cover_the_truth_as_often_as_they_say(
    how: Any, better: float
) -> None:
    one, other, apart = models(250, 800, 6, better)
    ends = interval(one - other, how, 0.1, resamples=1000)
    inside = (ends[:, 0] <= apart) & (ends[:, 1] >= apart)
    assert within_band(int(inside.sum()), 800, 0.9)


@pytest.mark.parametrize("how", ["t", "percentile", "bca"])
def test_intervals_of_a_model_cover_its_mean_as_often_as_they_say(how: Any) -> None:
    one, _, _ = models(250, 800, 7)
    ends = interval(one, how, 0.1, resamples=1000)
    mean = 0.3 * float(DISCOUNT.mean())
    assert within_band(int(((ends[:, 0] <= mean) & (ends[:, 1] >= mean)).sum()), 800, 0.9)


def test_bca_misses_a_skewed_mean_on_both_sides_more_evenly_than_percentiles() -> None:
    drawn = np.random.default_rng(8).exponential(size=(40, 3000))
    missed = {}
    for how in ("percentile", "bca"):
        ends = interval(drawn, how, 0.1, resamples=1000)  # type: ignore[arg-type]
        missed[how] = (ends[:, 1] < 1).mean() - (ends[:, 0] > 1).mean()
    assert abs(missed["bca"]) < abs(missed["percentile"])


def test_models_that_differ_by_the_margin_are_called_equivalent_as_rarely_as_alpha_says() -> None:
    one, other, apart = models(300, 800, 9, 0.1)
    p = [effects.equivalence(Moments.of(difference), apart) for difference in (one - other).T]
    assert within_band(int((np.array(p) < 0.05).sum()), 800, 0.05)
    same, again, _ = models(2000, 50, 10)
    assert (
        max(effects.equivalence(Moments.of(difference), 0.1) for difference in (same - again).T)
        < 0.05
    )


def test_a_detectable_difference_is_found_with_a_power_of_80_percent() -> None:
    one, other, _ = models(300, 800, 11)
    apart = effects.detectable(float((one - other).std(ddof=1)), 300)
    p = p_values("t", one + apart, other)
    assert within_band(int((p < 0.05).sum()), 800, 0.8)


def families(dependent: bool) -> Floats:
    """Two-sided p-values (families, 20): the last 5 of each are of real differences."""
    chance = np.random.default_rng(12)
    shared = chance.normal(size=(4000, 1)) if dependent else 0.0
    noise = chance.normal(size=(4000, 20))
    z = (shared + noise) / (2**0.5 if dependent else 1)
    z[:, 15:] += 3.0
    found: Floats = 2 * stats.norm.sf(np.abs(z))
    return found


@pytest.mark.parametrize("how", ["bonferroni", "holm"])
@pytest.mark.parametrize("dependent", [False, True])
def test_any_false_finding_is_as_rare_as_alpha_says(how: str, dependent: bool) -> None:
    p = np.array([correct_p(row, how) for row in families(dependent)])
    wrong = int((p[:, :15] < 0.05).any(axis=1).sum())
    assert wrong <= stats.binom.ppf(0.9999, 4000, 0.05)
    if not dependent:
        assert wrong > 4000 * 0.03


@pytest.mark.parametrize(
    ("how", "dependent"), [("benjamini_hochberg", False), ("benjamini_yekutieli", True)]
)
def test_the_share_of_false_findings_is_as_small_as_alpha_says(how: str, dependent: bool) -> None:
    found = np.array([correct_p(row, how) for row in families(dependent)]) < 0.05
    shares = found[:, :15].sum(axis=1) / np.maximum(found.sum(axis=1), 1)
    band = 4 * shares.std() / len(shares) ** 0.5
    assert shares.mean() <= 0.05 + band
    if how == "benjamini_hochberg":  # exactly alpha times the share of true nulls
        assert abs(shares.mean() - 0.05 * 15 / 20) <= band
    assert found[:, 15:].any(axis=1).mean() > 0.5, "finding nothing at all must not pass"


def test_corrections_that_step_find_more_than_bonferroni() -> None:
    rows = families(False)
    power = {
        how: np.mean([(correct_p(row, how)[15:] < 0.05).mean() for row in rows[:500]])
        for how in ("bonferroni", "holm", "benjamini_hochberg", "benjamini_yekutieli")
    }
    assert power["bonferroni"] <= power["holm"] < power["benjamini_hochberg"]
    assert power["benjamini_yekutieli"] < power["benjamini_hochberg"]


def test_the_error_over_users_and_runs_is_that_of_repeated_experiments() -> None:
    chance = np.random.default_rng(13)
    means, errors, parts = [], [], []
    for _ in range(1500):
        users, runs = chance.normal(0, 0.3, (40, 1)), chance.normal(0, 0.1, (1, 6))
        drawn = users + runs + chance.normal(0, 0.4, (40, 6))
        found = components(drawn)
        assert found is not None
        means.append(drawn.mean())
        errors.append(found.error**2)
        parts.append((found.users, found.runs, found.rest))
    assert np.mean(errors) == pytest.approx(np.var(means), rel=0.12)
    assert np.mean(parts, axis=0) == pytest.approx([0.09, 0.01, 0.16], rel=0.05)
