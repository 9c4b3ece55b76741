"""Tests, intervals and effects: against SciPy, by hand, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rectitude.arrays import Floats
from rectitude.comparing import effects
from rectitude.comparing.correction import CORRECTIONS, corrected
from rectitude.comparing.intervals import bootstrap, interval
from rectitude.comparing.significance import TESTS, kruskal, sign_flips
from rectitude.errors import BadName, BadTable, NothingToEvaluate, UndefinedValue, UnknownName

REFERENCE = {
    "t": stats.ttest_rel,
    "wilcoxon": stats.wilcoxon,
    "mann_whitney": stats.mannwhitneyu,
    "kruskal": stats.kruskal,
}


def samples(users: int = 80, seed: int = 1) -> tuple[Floats, Floats]:
    """Values of two models as ranking metrics have them: many zeros, some equal."""
    chance = np.random.default_rng(seed)
    one, other = chance.integers(0, 6, (2, users)) / 5
    return one * chance.integers(0, 2, users), other


def flips(difference: Floats, **given: int) -> float:
    return float(sign_flips(difference[:, None], **given)[0])


@pytest.mark.parametrize("name", TESTS)
def test_tests_are_those_of_scipy(name: str) -> None:
    one, other = samples()
    found, expected = TESTS[name](one, other), REFERENCE[name](one, other)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-12)


def test_tests_agree_with_values_worked_out_by_hand() -> None:
    nothing, rising = np.zeros(5), np.arange(1.0, 6.0)
    assert TESTS["wilcoxon"](rising, nothing) == (0.0, 2 / 32)
    t = TESTS["t"](np.array([1.0, 2.0, 3.0]), np.zeros(3))
    assert t.statistic == pytest.approx(2 * 3**0.5)
    assert t.p == pytest.approx(0.0741799, abs=1e-7)
    assert flips(np.array([1.0, 2.0, 3.0])) == 2 / 8
    assert flips(np.array([1.0, 2.0, -3.0])) == 1.0


def test_three_samples_can_be_tested_at_once() -> None:
    one, other = samples()
    third = one[::-1]
    expected = stats.kruskal(one, other, third)
    assert kruskal(one, other, third) == pytest.approx((expected.statistic, expected.pvalue))


@pytest.mark.parametrize("name", TESTS)
def test_equal_values_have_a_p_of_1(name: str) -> None:
    values = np.full(6, 0.3)
    assert TESTS[name](values, values).p == 1.0
    assert np.isfinite(TESTS[name](values, values).statistic)


@pytest.mark.parametrize("users", [6, 600])
def test_flips_of_equal_values_have_a_p_of_1(users: int) -> None:
    assert flips(np.zeros(users), flips=1000) == 1.0


def test_differences_that_are_all_the_same_are_no_accident_but_have_no_spread() -> None:
    found = TESTS["t"](np.array([0.3, 0.4, 0.6]), np.array([0.2, 0.3, 0.5]))
    assert (found.statistic, found.p) == (np.inf, 0.0)
    assert flips(np.full(10, 0.1)) == 2 / 2**10
    for how in ("t", "percentile", "bca"):
        assert interval(np.full((10, 1), 0.1), how) == pytest.approx(np.full((1, 2), 0.1))


def test_all_flips_are_those_of_a_permutation_test() -> None:
    one, other = samples(10)
    expected = stats.permutation_test(
        (one, other), lambda a, b, axis: (a - b).mean(axis), permutation_type="samples",
        n_resamples=10_000, vectorized=True,
    )  # fmt: skip
    assert flips(one - other) == pytest.approx(expected.pvalue, rel=1e-12)


def test_drawn_flips_come_near_all_of_them() -> None:
    difference = np.random.default_rng(3).normal(0.3, 1, 14)
    every, drawn = flips(difference, flips=2**14), flips(difference, flips=10_000)
    assert every * 2**14 == round(every * 2**14)
    assert drawn != every
    assert abs(drawn - every) < 4 * (every * (1 - every) / 10_000) ** 0.5


def test_flips_depend_on_the_seed_and_not_on_blocks_or_neighbours() -> None:
    difference = np.random.default_rng(4).normal(0.1, 1, (130, 3))
    whole = sign_flips(difference, 999)
    assert (sign_flips(difference, 999, block=130 * 7) == whole).all()
    assert (sign_flips(difference, 999, block=1) == whole).all()
    assert flips(difference[:, 1], flips=999) == whole[1]
    assert (sign_flips(difference, 999, seed=1) != whole).any()


def test_resamples_depend_on_the_seed_and_not_on_blocks() -> None:
    difference = np.random.default_rng(4).normal(0.1, 1, (130, 3))
    whole = bootstrap(difference, 200, 0)
    np.testing.assert_allclose(bootstrap(difference, 200, 0, block=400), whole, rtol=1e-12)
    assert (bootstrap(difference, 200, 1) != whole).any()


def within_band(rejected: int, total: int, share: float) -> bool:
    """Whether a count lies where it would in 9,998 of 10,000 simulations."""
    low, high = stats.binom.ppf([0.0001, 0.9999], total, share)
    return bool(low <= rejected <= high)


@pytest.mark.parametrize("name", [*TESTS, "sign_flip"])
def test_models_that_do_not_differ_are_told_apart_as_rarely_as_alpha_says(name: str) -> None:
    chance = np.random.default_rng(5)
    one, other = chance.gamma(2.0, size=(2, 40, 600))
    if name == "sign_flip":
        p = sign_flips(one - other, 999)
    else:
        pairs = zip(one.T, other.T, strict=True)
        p = np.array([TESTS[name](a, b).p for a, b in pairs])
    assert within_band(int((p < 0.05).sum()), 600, 0.05)
    assert within_band(int((p < 0.5).sum()), 600, 0.5)


@pytest.mark.parametrize("how", ["t", "percentile", "bca"])
def test_intervals_cover_the_mean_as_often_as_they_say(how: str) -> None:
    difference = np.random.default_rng(6).normal(0.2, 1, (250, 1000))
    ends = interval(difference, how, 0.1, resamples=2000)  # type: ignore[arg-type]
    inside = (ends[:, 0] <= 0.2) & (ends[:, 1] >= 0.2)
    assert within_band(int(inside.sum()), 1000, 0.9)


@pytest.mark.parametrize(("how", "method"), [("percentile", "percentile"), ("bca", "BCa")])
def test_bootstrap_intervals_are_those_of_scipy_up_to_the_draws(how: str, method: str) -> None:
    values = np.random.default_rng(7).exponential(size=60) - 0.8
    given = {"n_resamples": 100_000, "method": method, "rng": np.random.default_rng(8)}
    expected = stats.bootstrap((values,), np.mean, **given).confidence_interval
    (found,) = interval(values[:, None], how, resamples=100_000)  # type: ignore[arg-type]
    width = expected.high - expected.low
    assert found == pytest.approx([expected.low, expected.high], abs=0.02 * width)


def test_bca_leans_towards_the_long_tail() -> None:
    values = np.random.default_rng(7).exponential(size=(60, 1))
    plain, leaning = (interval(values, how)[0] for how in ("percentile", "bca"))
    assert (leaning > plain).all()


def test_student_interval_is_that_of_scipy() -> None:
    one, other = samples()
    expected = stats.ttest_rel(one, other).confidence_interval(0.99)
    (found,) = interval((one - other)[:, None], "t", 0.01)
    assert found == pytest.approx([expected.low, expected.high], rel=1e-12)


def test_effects_agree_with_values_worked_out_by_hand() -> None:
    difference = np.array([0.0, 1.0, 2.0, -1.0, 3.0])
    assert effects.cohens_dz(difference) == pytest.approx(1 / 2.5**0.5)
    assert effects.rank_biserial(difference) == pytest.approx((1.5 + 3 + 4 - 1.5) / 10)
    assert effects.superiority(difference) == pytest.approx((3 + 0.5) / 5)
    nothing = np.zeros(3)
    assert effects.cohens_dz(nothing) == effects.rank_biserial(nothing) == 0.0
    assert effects.superiority(nothing) == 0.5


def test_power_is_the_one_in_tables() -> None:
    assert effects.power(0.5, 34) == pytest.approx(0.8078, abs=5e-5)
    assert effects.power(0.0, 34) == pytest.approx(0.05, abs=1e-9)
    assert effects.power(0.01, 100_000) == pytest.approx(0.8855, abs=5e-4)


@pytest.mark.parametrize("users", [2, 34, 100_000])
def test_detectable_difference_is_found_four_times_of_five(users: int) -> None:
    found = effects.detectable(0.2, users)
    assert effects.power(found / 0.2, users) == pytest.approx(0.8, abs=1e-6)


def test_power_is_how_often_a_test_finds_the_effect() -> None:
    drawn = np.random.default_rng(9).normal(0.5, 1, (34, 2000))
    p = stats.ttest_1samp(drawn, 0.0).pvalue
    assert within_band(int((p < 0.05).sum()), 2000, effects.power(0.5, 34))


def test_equivalence_is_the_larger_of_two_one_sided_tests() -> None:
    difference = np.random.default_rng(10).normal(0.02, 0.3, 200)
    sides = [
        stats.ttest_1samp(difference, bound, alternative=side).pvalue
        for bound, side in ((-0.05, "greater"), (0.05, "less"))
    ]
    assert effects.equivalence(difference, 0.05) == pytest.approx(max(sides), rel=1e-9)
    assert effects.equivalence(np.zeros(5), 0.05) == 0.0
    assert effects.equivalence(np.full(5, 0.1), 0.05) == 1.0


PUBLISHED = np.array(
    [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
        0.5719, 0.6528, 0.7590, 1.0,
    ]
)  # fmt: skip
"""the example of Benjamini and Hochberg (1995), who reject 3 by Bonferroni and 4 by theirs"""


@pytest.mark.parametrize(
    ("how", "rejected"),
    [("none", 9), ("bonferroni", 3), ("holm", 3), ("benjamini_hochberg", 4),
     ("benjamini_yekutieli", 3)],
)  # fmt: skip
def test_corrections_reject_what_a_published_example_rejects(how: str, rejected: int) -> None:
    mixed = np.random.default_rng(11).permutation(15)
    found = corrected(PUBLISHED[mixed], how)
    assert int((found < 0.05).sum()) == rejected
    assert (found[np.argsort(mixed)] == corrected(PUBLISHED, how)).all()


def test_corrections_step_as_the_real_procedures_do() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005])
    assert corrected(p, "holm") == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert corrected(p, "bonferroni") == pytest.approx([0.04, 0.16, 0.12, 0.02])
    assert corrected(p, "benjamini_hochberg") == pytest.approx([0.02, 0.04, 0.04, 0.02])
    harmonic = 1 + 1 / 2 + 1 / 3 + 1 / 4
    assert corrected(p, "benjamini_yekutieli") == pytest.approx(
        np.array([0.02, 0.04, 0.04, 0.02]) * harmonic
    )
    assert (corrected(np.array([0.02, 0.024, 0.03]), "holm") >= 0.05).all()
    assert (corrected(np.array([0.02, 0.03, 0.04, 0.041]), "benjamini_hochberg") < 0.05).all()


@pytest.mark.parametrize("how", CORRECTIONS)
def test_a_single_test_needs_no_correction(how: str) -> None:
    assert corrected(np.array([0.04]), how) == pytest.approx([0.04])


def test_bad_samples_are_refused_with_what_is_wrong() -> None:
    with pytest.raises(NothingToEvaluate, match="one value to test"):
        TESTS["t"](np.ones(1), np.ones(1))
    with pytest.raises(NothingToEvaluate, match="no value to test"):
        sign_flips(np.empty((0, 1)))
    with pytest.raises(UndefinedValue, match="1 of 3 values are no numbers, the first is nan"):
        TESTS["kruskal"](np.ones(3), np.array([1.0, np.nan, 2.0]))
    with pytest.raises(BadTable, match="3 values and the other 2"):
        TESTS["wilcoxon"](np.ones(3), np.ones(2))
    with pytest.raises(UnknownName, match="did you mean 'holm'"):
        corrected(PUBLISHED, "holmes")
    with pytest.raises(UndefinedValue, match="a p-value is undefined"):
        corrected(np.array([0.1, np.nan]), "holm")
    with pytest.raises(BadName, match="the margin is 0"):
        effects.equivalence(np.arange(3.0), 0)
    with pytest.raises(BadName, match="there are 1 users"):
        effects.power(0.5, 1)
    with pytest.raises(BadName, match="the power is 1"):
        effects.detectable(0.5, 10, wanted=1.0)
