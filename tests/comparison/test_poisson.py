"""The bootstrap with Poisson weights: it fits the theory, and parts add up to the same bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.arrays import Floats
from rectitude.comparison.moments import Moments
from rectitude.comparison.poisson import Resamples, draw_weights, find_steps, hash_ids, resample
from rectitude.comparison.significance import student_interval

USERS = 3000


@pytest.fixture(scope="module")
def columns() -> Floats:
    """Values like those of metrics: many zeros; some users have no value of the second column."""
    rng = np.random.default_rng(4)
    drawn = rng.choice([0.0, 0.0, 0.3869, 0.6309, 1.0], (2, USERS)) - 0.1 * rng.random((2, USERS))
    drawn[1, ::7] = np.nan
    return drawn


def moments_of(columns: Floats) -> list[Moments]:
    return [Moments.of(column[~np.isnan(column)]) for column in columns]


def test_weights_have_the_mean_the_variance_and_the_shares_of_a_poisson_distribution() -> None:
    drawn = draw_weights(hash_ids(pl.Series(range(4000)), 1), 0, 1000)
    size = drawn.size
    assert abs(drawn.mean() - 1) < 4 / size**0.5
    assert abs(drawn.var() - 1) < 4 * (3 / size) ** 0.5  # the fourth moment is 4
    for times in range(6):
        share = math.exp(-1) / math.factorial(times)
        assert abs((drawn == times).mean() - share) < 4 * (share / size) ** 0.5


def test_weights_of_resamples_and_of_lists_are_unrelated() -> None:
    drawn = draw_weights(hash_ids(pl.Series(range(4000)), 2), 0, 200).astype(float)
    by_resample, by_list = np.corrcoef(drawn), np.corrcoef(drawn[:, :200].T)
    for table, samples in ((by_resample, 4000), (by_list, 200)):
        others = table[~np.eye(len(table), dtype=bool)]
        assert abs(others).max() < 5.5 / samples**0.5
        assert abs(others.mean()) < 0.01


def test_weights_depend_on_seed_resample_and_id_alone() -> None:
    ids = pl.Series(range(50))
    drawn = draw_weights(hash_ids(ids, 3), 0, 40)
    assert (draw_weights(hash_ids(ids, 3), 17, 6) == drawn[17:23]).all()
    assert (draw_weights(hash_ids(ids.reverse(), 3), 0, 40) == drawn[:, ::-1]).all()
    assert (draw_weights(hash_ids(ids.cast(pl.String), 3), 0, 40) == drawn).all()
    assert (draw_weights(hash_ids(ids, 4), 0, 40) != drawn).any()


def test_the_drawn_bits_stay_the_same() -> None:
    """A change of the hash would move every interval that anybody has published."""
    drawn = draw_weights(hash_ids(pl.Series(["ann", "bob", "7"]), 0), 0, 8)
    assert drawn.tolist() == [
        [2, 1, 1],
        [0, 3, 2],
        [0, 0, 1],
        [0, 1, 0],
        [1, 1, 1],
        [0, 1, 0],
        [3, 1, 0],
        [2, 2, 1],
    ]  # fmt: skip


def test_parts_add_up_to_the_same_bits_in_any_order(columns: Floats, kernels: str) -> None:
    keys, steps = hash_ids(pl.Series(range(USERS)), 5), find_steps(moments_of(columns))
    whole = resample(keys, columns, steps, 301)
    order = np.random.default_rng(0).permutation(USERS)
    for count in (1, 7, 64):
        pieces = np.array_split(order, count)
        parts = [resample(keys[p], columns[:, p], steps, 301) for p in pieces]
        added = sum(parts[1:], parts[0])
        assert (added.sums == whole.sums).all()
        assert (added.weights == whole.weights).all()


def test_compiled_and_plain_code_add_the_same(
    columns: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, steps = hash_ids(pl.Series(range(USERS)), 6), find_steps(moments_of(columns))
    found: list[Resamples] = []
    for kind in ("numpy", "numba"):
        monkeypatch.setenv("RECTITUDE_KERNELS", kind)
        found.append(resample(keys, columns, steps, 130))
    assert (found[0].sums == found[1].sums).all()
    assert (found[0].weights == found[1].weights).all()


def test_intervals_of_many_lists_are_about_those_of_student(columns: Floats) -> None:
    moments = moments_of(columns)
    steps = find_steps(moments)
    drawn = resample(hash_ids(pl.Series(range(USERS)), 7), columns, steps, 4000)
    for one, ends in zip(moments, drawn.intervals(steps, 0.05), strict=True):
        low, high = student_interval(one, 0.05)
        width = high - low
        assert ends[1] - ends[0] == pytest.approx(width, rel=0.05)
        assert abs(ends - (low, high)).max() < 0.05 * width


def test_steps_are_fine_and_sums_fit_into_64_bits() -> None:
    for users in (2, 1000, 10**9):
        one = Moments(users, 0, 0, -0.75, 1.0)
        (step,) = find_steps([one])
        assert step * 2**20 <= 1.0
        assert 14 * users * (1.0 / step) < 2**63
    assert find_steps([Moments.of(np.zeros(3))])[0] > 0


def test_users_with_equal_values_have_an_interval_of_no_width() -> None:
    columns = np.full((1, 40), 0.25)
    steps = find_steps(moments_of(columns))
    (ends,) = resample(hash_ids(pl.Series(range(40)), 0), columns, steps, 200).intervals(steps, 0.1)
    assert ends.tolist() == [0.25, 0.25]


def test_a_comparison_has_the_same_poisson_interval_whatever_the_order_of_users() -> None:
    rng = np.random.default_rng(1)
    truth = {f"u{n}": ["a"] for n in range(120)}
    lists = {
        name: {user: [*"xyza"][: 3 + (rng.random() < share)] for user in truth}
        for name, share in (("poor", 0.3), ("good", 0.6))
    }
    turned: dict[str, Any] = {m: dict(reversed(one.items())) for m, one in lists.items()}
    options: dict[str, Any] = {"interval": "poisson", "resamples": 2000, "seed": 3}
    found = rt.compare(lists, truth, ["mrr", "hit@10"], **options)
    assert rt.compare(turned, truth, ["mrr", "hit@10"], **options).as_dict() == found.as_dict()
    student = rt.compare(lists, truth, ["mrr", "hit@10"]).of("mrr", "good")
    one = found.of("mrr", "good")
    assert (one.difference, one.p) == (student.difference, student.p)
    assert one.high - one.low == pytest.approx(student.high - student.low, rel=0.1)
    assert (
        found.intervals["mrr"]["good"][0] < found["mrr"]["good"] < found.intervals["mrr"]["good"][1]
    )
    assert "Poisson bootstrap" in str(found)
