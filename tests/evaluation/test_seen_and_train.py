"""`seen=`: what users have seen is masked; `train=` says only what the model has learnt from."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

import rectitude as rt
from rectitude.torch import Evaluator as TorchEvaluator

# Both users rank their items from 0 to 4, and from 4 to 0.
SCORES = np.array([[5.0, 4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
TRAIN, SEEN, TRUTH = {0: [0], 1: [4, 2]}, {0: [0, 1], 1: [4, 2, 3]}, {0: [2], 1: [1]}
METRICS = ["mrr", "arp@1"]
# After SEEN, item 2 is first for user 0, and item 1 for user 1. In TRAIN they occur 1 and 0 times.
EXPECTED = {"mrr": 1.0, "average_popularity@1": 0.5}


def matrix(lists: dict[int, list[int]]) -> csr_matrix:
    rows = [row for row, items in lists.items() for _ in items]
    columns = [item for items in lists.values() for item in items]
    return csr_matrix((np.ones(len(rows)), (rows, columns)), shape=SCORES.shape)


@pytest.mark.parametrize("seen", [SEEN, matrix(SEEN)])
@pytest.mark.parametrize("train", [TRAIN, matrix(TRAIN)])
def test_seen_items_are_masked_and_popularity_is_that_of_train(train: object, seen: object) -> None:
    evaluation = rt.evaluate(rt.Scores(SCORES), TRUTH, METRICS, train=train, seen=seen)
    assert evaluation.values() == EXPECTED
    # User 0 skips item 0 only; user 1 skips 4 and 2 but not 3: ranks 2 and 2.
    alone = rt.evaluate(rt.Scores(SCORES), TRUTH, METRICS, train=train)
    assert alone["mrr"] == (1 / 2 + 1 / 2) / 2


def test_seen_without_train_leaves_open_who_is_known() -> None:
    evaluation = rt.evaluate(rt.Scores(SCORES), TRUTH, "mrr", seen={0: [0, 1]})
    assert evaluation["mrr"] == (1 + 1 / 4) / 2
    assert "2 scores belong to items in the user's rows of seen=: not ranked" in str(
        evaluation.ledger
    )
    assert "training data" not in str(evaluation.ledger)


def test_users_of_seen_are_not_known_to_the_model() -> None:
    dropped = rt.evaluate(
        rt.Scores(SCORES), TRUTH, "mrr", {"unknown_users": "drop"}, train={0: [0]}, seen=SEEN
    )
    assert dropped.ledger["users_in_truth"] == 1


def test_lists_are_compared_with_seen() -> None:
    lists = {0: [0, 2], 1: [1]}
    ledger = rt.evaluate(lists, {0: [2], 1: [3]}, "mrr", train={0: [2]}, seen=SEEN).ledger
    assert ledger["lists_with_seen"] == 1
    assert ledger["truth_in_train"] == 1
    assert "(first: list 1, item 3)" in str(ledger)


def test_evaluators_take_seen_with_each_batch() -> None:
    evaluator = rt.Evaluator(METRICS)
    evaluator.update(rt.Scores(SCORES), TRUTH, train=TRAIN, seen=SEEN)
    assert evaluator.compute().values() == EXPECTED
    batches = TorchEvaluator(["mrr"])
    padded = torch.tensor([[0, 1, -1], [4, 2, 3]])
    truth, train = torch.tensor([[2], [1]]), torch.tensor([[0], [4]])
    batches.update(torch.from_numpy(SCORES), truth, train=train, seen=padded)
    assert batches.compute()["mrr"] == 1.0


def test_logits_have_nothing_to_mask() -> None:
    with pytest.raises(rt.errors.BadArgument, match="seen= is given, but the predictions are logi"):
        rt.evaluate(rt.Logits(SCORES), np.array([2, 1]), "accuracy", seen=SEEN)


def test_the_manifest_lists_both_tables() -> None:
    evaluation = rt.evaluate(rt.Scores(SCORES), TRUTH, METRICS, train=TRAIN, seen=SEEN)
    rows = {side: facts["rows"] for side, facts in evaluation.manifest["inputs"].items()}
    assert (rows["train"], rows["seen"]) == (3, 5)
