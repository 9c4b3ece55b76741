"""Users whom a model never saw may have no row of scores at all, as in Cornac's models."""

import numpy as np
import polars as pl
import pytest

import rectitude as rt

TRAIN = pl.DataFrame({"user": ["a", "a", "b"], "item": [0, 1, 2]})
TRUTH = pl.DataFrame({"user": ["a", "c", "c", "d"], "item": [2, 1, 3, 0]})
KEEP_UNKNOWNS = {"profile": "cornac", "unknown_users": "tied", "unknown_items": "lowest"}
METRICS = ["ndcg@2", "hit@2", "precision@3", "auc", "map", "mrr"]


@pytest.mark.parametrize("users", [["a", "b"], ["b", "a"], ["a"]])
def test_an_unknown_user_without_a_row_counts_like_one_whose_scores_are_all_equal(
    users: list[str],
) -> None:
    rows = {"a": [0.3, 0.9, 0.5], "b": [0.1, 0.2, 0.8], "c": [0.0] * 3, "d": [7.0] * 3}
    both = [
        rt.evaluate(
            rt.Scores(np.array([rows[user] for user in names]), users=names, items=[0, 1, 2]),
            TRUTH,
            METRICS,
            KEEP_UNKNOWNS,
            train=TRAIN,
        )
        for names in (users, [*users, "d", "c"])
    ]
    assert both[0].values() == both[1].values()
    assert both[0]["auc"] == 1 / 3


def test_an_unknown_user_without_a_row_is_dropped_unless_they_are_kept() -> None:
    scores = rt.Scores(np.array([[0.3, 0.9, 0.5]]), users=["a"], items=[0, 1, 2])
    assert rt.evaluate(scores, TRUTH, ["hit@1"], "cornac", train=TRAIN)["hit@1"] == 1.0
