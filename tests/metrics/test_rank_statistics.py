"""Mean, median and harmonic mean rank: the same for lists, scores and batches."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import MissingNeed

NAMES = ["mean_rank", "median_rank", "harmonic_mean_rank"]
SCORES = np.random.default_rng(4).random((20, 9))
TRUTH = {user: [user % 9, (user * 5 + 3) % 9] for user in range(20) if (user * 4 + 3) % 9}
LISTS = pl.DataFrame(
    {
        "user": np.repeat(np.arange(20), 9),
        "item": np.tile(np.arange(9), 20),
        "score": SCORES.ravel(),
    }
)


def ranks() -> list[list[int]]:
    """Return the ranks of the relevant items of each user, by sorting."""
    order = {user: np.argsort(-SCORES[user]).tolist() for user in TRUTH}
    return [sorted(order[user].index(item) + 1 for item in TRUTH[user]) for user in TRUTH]


def test_scores_have_the_statistics_of_their_ranks() -> None:
    found = rt.evaluate(rt.Scores(SCORES), TRUTH, NAMES)
    every = ranks()
    assert found["mean_rank"] == pytest.approx(np.mean([np.mean(own) for own in every]))
    assert found["median_rank"] == np.median(np.concatenate(every))
    assert found["harmonic_mean_rank"] == pytest.approx(1 / np.mean([1 / own[0] for own in every]))


def test_lists_of_all_candidates_have_the_values_of_scores() -> None:
    whole = rt.evaluate(rt.Scores(SCORES), TRUTH, NAMES).values()
    told = LISTS.select("user", "item")
    assert rt.evaluate(LISTS, TRUTH, NAMES, candidates=told).values() == whole


def test_batches_have_the_values_of_one_pass() -> None:
    parts = rt.Evaluator(NAMES)
    for low in (14, 0, 7):
        users = np.arange(low, min(low + 7, 20))
        mine = {user: TRUTH[user] for user in users.tolist() if user in TRUTH}
        parts.update(rt.Scores(SCORES[users], users=users), mine)
    assert parts.compute().values() == rt.evaluate(rt.Scores(SCORES), TRUTH, NAMES).values()


def test_short_lists_have_no_mean_rank() -> None:
    for name in NAMES[:2]:
        with pytest.raises(MissingNeed, match="candidates="):
            rt.evaluate(LISTS, TRUTH, name)[name]
    assert rt.evaluate(LISTS, TRUTH, "harmonic_mean_rank")["harmonic_mean_rank"] > 1
