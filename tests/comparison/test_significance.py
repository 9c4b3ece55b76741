"""Tests, intervals and effects: against SciPy, by hand, and by simulation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import rectitude as rt
from rectitude.arrays import Floats
from rectitude.comparison import effects
from rectitude.comparison.moments import Magnitudes, Moments
from rectitude.comparison.significance import (
    CORRECTIONS,
    TESTS,
    bootstrap,
    correct_p,
    interval,
    kruskal,
    random_signs,
    random_users,
    sign_flips,
    summable,
)
from rectitude.errors import BadArgument, BadTable, NothingToEvaluate, UndefinedValue, UnknownName

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


SLEEP = np.array(
    [
        [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
        [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    ]
)
"""hours of sleep gained with two drugs, by patient: Student (1908)"""
MAIZE = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48], dtype=float)
"""crossed less self-fertilised plants of Darwin's, in eighths of an inch: Fisher (1935)"""


def test_students_own_example_comes_to_the_published_values() -> None:
    found = TESTS["t"](*SLEEP)
    assert found == pytest.approx((4.0621, 0.002833), rel=1e-4)
    (ends,) = interval((SLEEP[0] - SLEEP[1])[:, None])
    assert ends == pytest.approx([0.7001142, 2.4598858], abs=1e-7)


def test_fishers_own_example_comes_to_the_published_count() -> None:
    assert flips(MAIZE, flips=2**15) == 2 * 863 / 2**15
    assert flips(MAIZE, flips=10_000) == pytest.approx(0.0527, abs=0.01)


def test_examples_of_hollander_and_wolfe_come_to_the_published_values() -> None:
    before = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
    after = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
    assert TESTS["wilcoxon"](before, after) == pytest.approx((45 - 40, 2 * 0.01953), rel=1e-3)
    one = np.array([0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46])
    other = np.array([1.15, 0.88, 0.90, 0.74, 1.21])
    assert TESTS["mann_whitney"](one, other) == pytest.approx((35, 2 * 0.1272), rel=1e-3)
    three = [2.9, 3.0, 2.5, 2.6, 3.2], [3.8, 2.7, 4.0, 2.4], [2.8, 3.4, 3.7, 2.2, 2.0]
    assert kruskal(*map(np.array, three)) == pytest.approx((0.77143, 0.68), rel=1e-3)


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


def test_constant_differences_are_significant_but_have_no_spread() -> None:
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
    assert (bootstrap(difference, 200, 0, block=400) == whole).all()
    assert (bootstrap(difference, 200, 1) != whole).any()


def within_band(rejected: int, total: int, share: float) -> bool:
    """Return whether a count is in the range expected in 9,998 of 10,000 simulations."""
    low, high = stats.binom.ppf([0.0001, 0.9999], total, share)
    return bool(low <= rejected <= high)


@pytest.mark.parametrize("name", [*TESTS, "sign_flip"])
def test_false_positives_are_as_rare_as_alpha_says(name: str) -> None:
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
def test_bootstrap_intervals_are_those_of_scipy_for_the_same_draws(how: Any, method: str) -> None:
    values = np.random.default_rng(7).exponential(size=60) - 0.8
    means = bootstrap(values[:, None], 5000, 0)[:, 0]
    drawn = SimpleNamespace(bootstrap_distribution=means)
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=0, bootstrap_result=drawn, method=method, axis=0,
        confidence_level=0.9,
    ).confidence_interval  # fmt: skip
    (found,) = interval(values[:, None], how, 0.1, resamples=5000)
    assert found == pytest.approx([expected.low, expected.high], rel=1e-9)


def test_resamples_are_spread_as_those_of_scipy() -> None:
    values = np.random.default_rng(7).exponential(size=60)
    given = {"n_resamples": 20_000, "rng": np.random.default_rng(8)}
    theirs = stats.bootstrap((values,), np.mean, **given).bootstrap_distribution
    mine = bootstrap(values[:, None], 20_000, 0)[:, 0]
    assert stats.ks_2samp(mine, theirs).pvalue > 0.001
    assert mine.std() == pytest.approx(values.std() / 60**0.5, rel=0.03)


def test_users_are_drawn_as_often_as_each_other() -> None:
    times = np.concatenate([random_users(0)(50, first, 1310) for first in (0, 1310)])
    assert (times.sum(axis=1) == 50).all()
    assert stats.chisquare(times.sum(axis=0)).pvalue > 0.001
    signs = random_signs(0)(50, 0, 1310)
    assert abs(signs.mean() - 0.5) < 4 * 0.5 / signs.size**0.5
    assert stats.chisquare(signs.sum(axis=0)).pvalue > 0.001


def test_sums_of_rounded_values_are_exact_and_near() -> None:
    values = np.random.default_rng(9).normal(0, [1e-9, 1.0, 1e9], (5000, 3))
    rounded = summable(values)
    whole = rounded.sum(axis=0)
    assert (rounded[::-1].cumsum(axis=0)[-1] == whole).all()
    assert (rounded[np.random.default_rng(0).permutation(5000)].sum(axis=0) == whole).all()
    assert (np.abs(rounded - values) <= 1e-11 * np.abs(values).max(axis=0)).all()
    assert (summable(np.zeros((3, 1))) == 0).all()


def test_draws_do_not_depend_on_threads_blocks_or_other_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    difference = np.random.default_rng(10).normal(0.01, 1, (70_000, 2))
    monkeypatch.setenv("RECTITUDE_THREADS", "1")
    expected, signs = bootstrap(difference, 30, 3, block=70_000), sign_flips(difference, 100, 3)
    monkeypatch.setenv("RECTITUDE_THREADS", "2")
    assert (bootstrap(difference, 30, 3) == expected).all()
    assert (bootstrap(difference[:, 1:], 30, 3) == expected[:, 1:]).all()
    assert (bootstrap(difference, 20, 3) == expected[:20]).all()
    assert (sign_flips(difference, 100, 3, block=1) == signs).all()


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
    sizes = Magnitudes.of(difference)
    assert effects.cohens_dz(Moments.of(difference)) == pytest.approx(1 / 2.5**0.5)
    assert sizes.rank_biserial == pytest.approx((1.5 + 3 + 4 - 1.5) / 10)
    assert effects.superiority(sizes.gains, sizes.losses, 5) == pytest.approx((3 + 0.5) / 5)
    nothing = np.zeros(3)
    assert effects.cohens_dz(Moments.of(nothing)) == Magnitudes.of(nothing).rank_biserial == 0.0
    assert effects.superiority(0, 0, 3) == 0.5


def test_power_is_the_one_in_tables() -> None:
    assert effects.power(0.5, 34) == pytest.approx(0.8078, abs=5e-5)
    assert effects.power(0.0, 34) == pytest.approx(0.05, abs=1e-9)
    assert effects.power(0.01, 100_000) == pytest.approx(0.8855, abs=5e-4)


@pytest.mark.parametrize(("effect", "users"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_sample_sizes_for_a_power_of_80_percent_are_the_published_ones(
    effect: float, users: int
) -> None:
    assert effects.power(effect, users) >= 0.8 > effects.power(effect, users - 1)
    assert effects.users_needed(effect) == effects.users_needed(-effect) == users


@pytest.mark.parametrize("users", [2, 34, 100_000])
def test_detectable_difference_is_found_with_a_power_of_80_percent(users: int) -> None:
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
    assert effects.equivalence(Moments.of(difference), 0.05) == pytest.approx(max(sides), rel=1e-9)
    assert effects.equivalence(Moments.of(np.zeros(5)), 0.05) == 1 / 32
    assert effects.equivalence(Moments.of(np.full(5, 0.1)), 0.05) == 1.0


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
    found = correct_p(PUBLISHED[mixed], how)
    assert int((found < 0.05).sum()) == rejected
    assert (found[np.argsort(mixed)] == correct_p(PUBLISHED, how)).all()


def test_corrected_values_of_a_published_example_are_those_worked_out_by_hand() -> None:
    hochberg = [
        0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.0638571, 0.0638571, 0.0645, 0.0765, 0.486,
        0.5811818, 0.714875, 0.7532308, 0.8132143, 1.0,
    ]  # fmt: skip
    holm = [0.0015, 0.0056, 0.0247, 0.114, 0.2211, 0.278, 0.278, 0.278, 0.3213, *[1.0] * 6]
    assert correct_p(PUBLISHED, "benjamini_hochberg") == pytest.approx(hochberg, abs=1e-7)
    assert correct_p(PUBLISHED, "holm") == pytest.approx(holm, abs=1e-12)
    harmonic = sum(1 / number for number in range(1, 16))
    yekutieli = np.minimum(np.array(hochberg) * harmonic, 1)
    assert correct_p(PUBLISHED, "benjamini_yekutieli") == pytest.approx(yekutieli, abs=1e-6)
    bonferroni = np.minimum(PUBLISHED * 15, 1)
    assert correct_p(PUBLISHED, "bonferroni") == pytest.approx(bonferroni, abs=1e-12)


def test_corrections_step_as_the_real_procedures_do() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005])
    assert correct_p(p, "holm") == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert correct_p(p, "bonferroni") == pytest.approx([0.04, 0.16, 0.12, 0.02])
    assert correct_p(p, "benjamini_hochberg") == pytest.approx([0.02, 0.04, 0.04, 0.02])
    harmonic = 1 + 1 / 2 + 1 / 3 + 1 / 4
    assert correct_p(p, "benjamini_yekutieli") == pytest.approx(
        np.array([0.02, 0.04, 0.04, 0.02]) * harmonic
    )
    assert (correct_p(np.array([0.02, 0.024, 0.03]), "holm") >= 0.05).all()
    assert (correct_p(np.array([0.02, 0.03, 0.04, 0.041]), "benjamini_hochberg") < 0.05).all()


@pytest.mark.parametrize("how", CORRECTIONS)
def test_a_single_test_needs_no_correction(how: str) -> None:
    assert correct_p(np.array([0.04]), how) == pytest.approx([0.04])


def test_bad_samples_raise_errors_that_say_what_is_wrong() -> None:
    with pytest.raises(NothingToEvaluate, match="one value to test"):
        TESTS["t"](np.ones(1), np.ones(1))
    with pytest.raises(NothingToEvaluate, match="no value to test"):
        sign_flips(np.empty((0, 1)))
    with pytest.raises(UndefinedValue, match="1 of 3 values are not finite; the first is nan"):
        TESTS["kruskal"](np.ones(3), np.array([1.0, np.nan, 2.0]))
    with pytest.raises(BadTable, match="3 values and the other 2"):
        TESTS["wilcoxon"](np.ones(3), np.ones(2))
    with pytest.raises(UnknownName, match="did you mean 'holm'"):
        correct_p(PUBLISHED, "holmes")
    with pytest.raises(UndefinedValue, match="a p-value is undefined"):
        correct_p(np.array([0.1, np.nan]), "holm")
    with pytest.raises(BadArgument, match="the margin is 0"):
        effects.equivalence(Moments.of(np.arange(3.0)), 0)
    with pytest.raises(BadArgument, match="the number of users is 1"):
        effects.power(0.5, 1)
    with pytest.raises(BadArgument, match="the power is 1"):
        effects.detectable(0.5, 10, target_power=1.0)
    with pytest.raises(BadArgument, match="the effect size is 0"):
        effects.users_needed(0.0)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [({"test": "student"}, {"test": "t"}), ({"test": "fisher"}, {"test": "sign_flip"}),
     ({"correct": "fdr_bh"}, {"correct": "benjamini_hochberg"}),
     ({"correct": "fdr_by"}, {"correct": "benjamini_yekutieli"})],
)  # fmt: skip
def test_names_of_ranx_and_statsmodels_mean_the_same_test(theirs: Any, ours: Any) -> None:
    truth = {user: ["a"] for user in range(30)}
    good = {user: ["a"] if user % 3 else ["x", "a"] for user in range(30)}
    poor = {user: ["x", "a"] if user % 2 else ["a"] for user in range(30)}
    models = {"good": good, "poor": poor}
    assert rt.compare(models, truth, "mrr", **theirs) == rt.compare(models, truth, "mrr", **ours)


def test_tukeys_test_is_refused_with_the_reason() -> None:
    lists = {1: ["a"]}
    with pytest.raises(UnknownName, match=r"independent groups[\s\S]*correct='holm'"):
        rt.compare({"a": lists, "b": lists}, lists, "mrr", test="Tukey")  # type: ignore[arg-type]
