"""Corrected estimates are close to the metric of the full ranking; uncorrected values are not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rectitude.candidate_sets.estimators import (
    Method,
    Replacement,
    chances,
    correct_ranks,
    estimate,
    formula,
    sampled_ranks,
    warning,
)
from rectitude.candidate_sets.sampling import sample_negatives
from rectitude.data.log import open_log
from rectitude.errors import BadArgument, BadName, BadScores, NothingToEvaluate, UnknownName
from rectitude.splits.split import Split

ITEMS, NEGATIVES, POSITIVES = 800, 60, 8000
METRICS = ["recall@10", "precision@10", "ap@10", "ndcg@10", "ndcg", "mrr", "recall@100"]


def full_ranks(seed: int = 0) -> np.ndarray:
    """Ranks of positives as good models give them: many near the top, some anywhere."""
    random = np.random.default_rng(seed)
    return np.minimum(ITEMS, 1 + random.pareto(0.6, POSITIVES) * 10).astype(int)


def sample(ranks: np.ndarray, seed: int = 1) -> np.ndarray:
    random = np.random.default_rng(seed)
    return 1 + random.hypergeometric(ranks - 1, ITEMS - ranks, NEGATIVES)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("method", ["bias_variance", "least_squares"])
def test_a_corrected_metric_is_near_the_full_one_and_the_sampled_one_is_not(
    metric: str, method: Method
) -> None:
    ranks = full_ranks()
    truth = formula(metric)(ranks.astype(float)).mean()
    result = estimate(sample(ranks), metric, negatives=NEGATIVES, items=ITEMS, method=method)
    assert abs(result.value - truth) < 0.25 * abs(result.sampled - truth)
    assert result.value == pytest.approx(truth, rel=0.1)
    assert result.sampled > 1.2 * truth


def test_the_expected_rank_is_unbiased() -> None:
    """The function is linear in the rank, so the correction is exact in expectation."""
    ranks = np.arange(1, ITEMS + 1)
    above = np.arange(NEGATIVES + 1)
    guess = 1 + (ITEMS - 1) * above / NEGATIVES
    for replacement in ("with", "without"):
        expected = chances(ranks, NEGATIVES, ITEMS, replacement) @ guess
        np.testing.assert_allclose(expected, ranks, rtol=1e-9)


@pytest.mark.parametrize("replacement", ["with", "without"])
def test_chances_are_those_of_drawing(replacement: Replacement) -> None:
    from scipy.stats import binom, hypergeom

    ranks, above = np.array([1, 2, 30, 99, 100]), np.arange(21)
    probability = chances(ranks, 20, 100, replacement)
    before = (ranks - 1)[:, None]
    wanted = (
        binom.pmf(above, 20, before / 99)
        if replacement == "with"
        else hypergeom.pmf(above, 99, before, 20)
    )
    np.testing.assert_allclose(probability, wanted, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)


def test_a_sample_of_all_items_needs_no_correction() -> None:
    for method in ("bias_variance", "least_squares", "rank"):
        values = correct_ranks("ndcg@5", 30, 31, method, strength=0.0)
        np.testing.assert_allclose(values, correct_ranks("ndcg@5", 30, 31, "none"), atol=1e-6)


def test_bias_variance_minimises_its_cost() -> None:
    strength, ranks = 0.1, np.arange(1, 201)
    chance, value = chances(ranks, 20, 200, "without"), formula("ndcg@10")(ranks.astype(float))

    def cost(table: np.ndarray) -> float:
        mean = chance @ table
        variance = chance @ table**2 - mean**2
        return float(np.sum((mean - value) ** 2 + strength * variance))

    best = correct_ranks("ndcg@10", 20, 200, "bias_variance", strength)
    random = np.random.default_rng(0)
    least = cost(best)
    assert all(cost(best + 1e-3 * random.normal(size=21)) > least for _ in range(50))


def test_least_squares_decreases_with_the_rank_and_is_never_negative() -> None:
    values = correct_ranks("recall@10", NEGATIVES, ITEMS, "least_squares")
    assert (np.diff(values) <= 1e-9).all()
    assert (values >= 0).all()


def test_less_strength_means_less_bias_and_more_error() -> None:
    ranks = full_ranks()
    truth = formula("recall@10")(ranks.astype(float)).mean()
    estimates = [
        estimate(sample(ranks), "recall@10", negatives=NEGATIVES, items=ITEMS, strength=strength)
        for strength in (0.5, 0.01)
    ]
    assert abs(estimates[1].value - truth) < abs(estimates[0].value - truth)
    assert estimates[1].standard_error > estimates[0].standard_error


def test_the_standard_error_is_the_spread_of_estimates() -> None:
    options = {"negatives": NEGATIVES, "items": ITEMS, "metric": "ndcg@10"}
    table = correct_ranks("ndcg@10", NEGATIVES, ITEMS, "bias_variance")
    values = [table[sample(full_ranks(seed), seed + 99) - 1].mean() for seed in range(200)]
    result = estimate(sample(full_ranks()), **options)
    assert result.value == pytest.approx(np.mean(values), abs=5 * np.std(values))
    assert result.standard_error == pytest.approx(np.std(values, ddof=1), rel=0.2)


def test_positives_of_one_user_are_grouped() -> None:
    ranks = [1, 1, 1, 5]
    options = {"metric": "recall@1", "negatives": 9, "items": 10, "method": "none"}
    users = ["a", "a", "a", "b"]
    assert estimate(ranks, **options).value == 0.75
    assert estimate(ranks, **options, users=users).value == 0.75
    assert estimate(ranks, **options, users=users, over="users").value == 0.5
    doubled = estimate(ranks * 2, **options, users=[*"abcd", *"abcd"])
    assert doubled.standard_error == pytest.approx(estimate(ranks, **options).standard_error)
    assert np.isnan(estimate([1], **options).standard_error)


def test_an_estimate_describes_itself() -> None:
    result = estimate([1, 2, 3], "recall@10", negatives=100, items=1000)
    assert "recall@10 = " in str(result)
    assert "1.0000 without correction" in str(result)
    assert "the first 10 ranks correspond to about the first 100" in result.warning
    assert "Popular items" in warning(10, 100, weight="popularity")


@pytest.mark.parametrize(
    ("ranks", "metric", "options", "error", "text"),
    [
        ([], "mrr", {}, NothingToEvaluate, "shape"),
        ([0], "mrr", {}, BadArgument, "first: 0"),
        ([12], "mrr", {}, BadArgument, "from 1 to 11"),
        ([1.5], "mrr", {}, BadArgument, "1.5"),
        ([1], "recall", {}, BadName, "no cutoff"),
        ([1], "recall@x", {}, BadName, "cutoff 'x'"),
        ([1], "ncdg@10", {}, UnknownName, "did you mean 'ndcg'"),
        ([1], "mrr", {"negatives": 100}, BadArgument, "there are 100 negatives and 100 items"),
        ([1], "mrr", {"method": "magic"}, UnknownName, "magic"),
        ([1], "mrr", {"strength": 2.0}, BadArgument, "strength"),
        ([1], "mrr", {"users": [1, 2]}, BadArgument, "2 users were given for 1 ranks"),
        ([1], "mrr", {"over": "users"}, BadArgument, "without users="),
    ],
)
def test_what_cannot_be_estimated_is_refused(
    ranks: list[float], metric: str, options: dict[str, object], error: type, text: str
) -> None:
    with pytest.raises(error, match=text):
        estimate(ranks, metric, **{"negatives": 10, "items": 100, **options})


def shop_split() -> tuple[Split, pl.DataFrame]:
    """A table of scores for everything, and a split whose truth has 3 items per user."""
    random = np.random.default_rng(2)
    users, items = 400, 300
    scores = random.normal(size=(users, items))
    truth = np.argsort(-(scores + 1.5 * random.normal(size=scores.shape)), axis=1)[:, :3]
    seen = np.array([random.choice(items, 10, replace=False) for _ in range(users)])
    test = pl.DataFrame({"user": np.repeat(np.arange(users), 3), "item": truth.ravel()})
    train = pl.DataFrame({"user": np.repeat(np.arange(users), 10), "item": seen.ravel()})
    train = train.join(test, on=["user", "item"], how="anti")
    table = pl.DataFrame(
        {
            "user": np.repeat(np.arange(users), items),
            "item": np.tile(np.arange(items), users),
            "score": scores.ravel(),
        }
    )
    return Split(open_log(train), open_log(test)), table


@pytest.mark.parametrize("per", ["user", "positive"])
def test_from_candidates_to_an_estimate_of_the_full_ranking(per: str) -> None:
    split, table = shop_split()
    others = table.join(split.train.frame, on=["user", "item"], how="anti")
    others = others.join(split.truth.frame, on=["user", "item"], how="anti")
    scored = split.truth.frame.join(table, on=["user", "item"]).drop("row")
    exact = scored.join(others, on="user").group_by("user", "item").agg(
        rank=(pl.col("score_right") > pl.col("score")).sum() + 1
    )  # fmt: skip
    drawn = sample_negatives(split, 50, per=per, seed=8)
    ranks = sampled_ranks(table, drawn, split.truth.frame)
    assert set(ranks["negatives"]) == {50}
    assert ranks.height == split.truth.frame.height
    value = formula("ndcg@10")(exact["rank"].to_numpy().astype(float)).mean()
    guess = estimate(
        ranks["rank"], "ndcg@10", negatives=50, items=288, users=ranks["user"].to_numpy()
    )
    assert abs(guess.value - value) < 3 * guess.standard_error
    assert abs(guess.sampled - value) > 10 * guess.standard_error


def test_sampled_ranks_by_hand_with_ties() -> None:
    train = pl.DataFrame({"user": ["x"] * 4, "item": list("abcd")})
    split = Split(open_log(train), open_log(pl.DataFrame({"user": ["u", "u"], "item": ["e", "f"]})))
    drawn = sample_negatives(split, 4)
    scores = {"u": {"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.0, "e": 2.0, "f": 9.0}}
    worst = sampled_ranks(scores, drawn, split.truth.frame)
    best = sampled_ranks(scores, drawn, split.truth.frame, ties="best")
    assert worst["rank"].to_list() == [3, 1]
    assert best["rank"].to_list() == [2, 1]


def test_a_candidate_without_a_score_is_named() -> None:
    train = pl.DataFrame({"user": ["x"] * 2, "item": list("ab")})
    split = Split(open_log(train), open_log(pl.DataFrame({"user": ["u"], "item": ["e"]})))
    with pytest.raises(BadScores, match=r"1 of 3 candidates have no score .*item 'b'"):
        sampled_ranks({"u": {"a": 1.0, "e": 2.0}}, sample_negatives(split, 2), split.truth.frame)
