"""Slices of logits: each row has one target, and its class decides the slice."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadArgument, MissingNeed

LOGITS = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [1.0, 1.5, 3.0], [0.0, 1.0, 2.0]])
TARGETS = [1, 1, 0, 2]  # ranks 1, 2, 3, 1


@pytest.mark.parametrize(
    "train",
    [
        [2, 2, 1],
        np.array([2, 2, 1]),
        pl.Series([2, 2, 1]),
        pl.DataFrame({"user": ["ann", "ann", "bob"], "item": [2, 2, 1]}),
    ],
)
def test_the_popularity_of_a_target_is_counted_in_the_training_targets(train: Any) -> None:
    asked: Any = {"slices": ["popularity:2", "known"], "train": train}
    evaluation = rt.evaluate(rt.Logits(LOGITS), TARGETS, ["accuracy@1", "mrr"], **asked)
    assert evaluation["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1) / 4)  # nothing is masked
    assert "nothing is masked" in evaluation.ledger.notes["train"]
    assert evaluation.slices is not None
    assert evaluation.slices.values("popularity:2", "mrr") == {
        "< 2": (1 + 1 / 2) / 2, ">= 2": 1.0, "not in train": 1 / 3,
    }  # fmt: skip
    assert evaluation.slices.values("known", "accuracy@1") == {
        "warm": 2 / 3, "unknown user": None, "unknown item": 0.0, "both": None,
    }  # fmt: skip


def test_slices_of_logits_are_the_same_in_batches_and_with_tables_of_users() -> None:
    names, slices, train = ["mrr", "weighted_f1"], ["popularity:2,", "popularity:2"], [2, 2, 1]
    users = {"user": [0, 1, 2, 3], "often": ["yes", "no", "no", "yes"]}
    whole = rt.evaluate(rt.Logits(LOGITS), TARGETS, names, slices=slices, train=train)
    crossed = ["popularity:2+often", *slices]
    asked: Any = {"slices": crossed, "train": train, "users": users}
    both = rt.evaluate(rt.Logits(LOGITS), TARGETS, names, **asked)
    evaluator = rt.Evaluator(names, slices=slices)
    for rows in ([0, 1], [2], [3]):
        targets = [TARGETS[row] for row in rows]
        evaluator.update(rt.Logits(LOGITS[rows]), targets, train=train)
    batches = evaluator.compute()
    assert whole.slices is not None and batches.slices is not None and both.slices is not None
    for by in slices:
        for name in names:
            found = whole.slices.values(by, name)
            assert batches.slices.values(by, name) == found == both.slices.values(by, name)
    assert both.slices.values("popularity:2+often", "mrr")["< 2, no"] == 1 / 2


def test_logits_are_sliced_by_the_attributes_of_their_targets() -> None:
    items = {"item": [0, 1, 2], "kind": ["home", "work", "home"]}
    evaluation = rt.evaluate(rt.Logits(LOGITS), TARGETS, "mrr", slices="kind", items=items)
    assert evaluation.slices is not None
    assert evaluation.slices.values("kind", "mrr") == {"home": (1 / 3 + 1) / 2, "work": 3 / 4}


def test_rows_of_logits_have_no_activity() -> None:
    with pytest.raises(MissingNeed, match="rows of logits have no users"):
        rt.evaluate(rt.Logits(LOGITS), TARGETS, "mrr", slices="activity", train=[1, 2])
    with pytest.raises(MissingNeed, match="it is unknown how popular each target is"):
        rt.evaluate(rt.Logits(LOGITS), TARGETS, "mrr", slices="popularity")
    with pytest.raises(BadArgument, match="train= is given, but the predictions are logits"):
        rt.evaluate(rt.Logits(LOGITS), TARGETS, "mrr", train=[1, 2])
    asked: Any = {"slices": "popularity:2", "train": [1, 2, 2]}
    evaluation = rt.evaluate(rt.Logits(LOGITS), TARGETS, "average_popularity@2", **asked)
    assert "rows of logits have no users" in str(evaluation.failures["average_popularity@2"])
