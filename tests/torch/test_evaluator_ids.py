"""Which lists are the same: decided by ids of any size, and never by the row in a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch_ways import OnDevice

import rectitude as rt
from rectitude.errors import BadScores
from rectitude.torch import Evaluator, Ranked

WAYS = [Evaluator, OnDevice]
LARGE = np.array([2**63 + n for n in range(4)], dtype=np.uint64)
LOGITS, TARGETS = torch.eye(4), torch.tensor([0, 0, 1, 1])


@pytest.mark.parametrize("way", WAYS)
def test_ids_above_63_bits_stay_different(way: Any) -> None:
    evaluator = way("accuracy@1", repeats="once")
    evaluator.update(LOGITS[:2], TARGETS[:2], ids=LARGE[:2])
    evaluator.update(LOGITS, TARGETS, ids=LARGE)
    evaluation = evaluator.compute()
    assert (evaluation.manifest["lists"], evaluation.ledger["lists_repeated"]) == (4, 2)


@pytest.mark.parametrize("way", WAYS)
def test_lists_without_users_are_not_identified_by_their_rows(way: Any) -> None:
    evaluator = way("mrr", repeats="once")
    for truth in (TARGETS, TARGETS.flip(0), TARGETS):
        evaluator.update(Ranked(torch.arange(8).reshape(4, 2) % 3), truth)
    assert evaluator.compute().manifest["lists"] == 12


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("truth", [TARGETS[:0], torch.zeros(0, 2, dtype=torch.long)])
def test_an_empty_batch_is_refused_and_adds_nothing(way: Any, truth: torch.Tensor) -> None:
    evaluator = way("mrr")
    evaluator.update(LOGITS, TARGETS)
    before = evaluator.compute().values()
    with pytest.raises(BadScores, match=r"is empty: its shape is \(0, 4\)"):
        evaluator.update(LOGITS[:0], truth)
    assert evaluator.compute().values() == before


def test_lists_that_come_again_and_again_are_not_kept() -> None:
    """The records hold every list once, and how often it came, however many batches repeat it."""
    torch.manual_seed(0)
    scores, targets = torch.rand(6, 9), torch.eye(6, 9)
    evaluator = Evaluator(["ndcg@3", "mrr"], repeats="once")
    for first in (0, 2, 4, 1, 3) * 40:
        rows = slice(first, first + 2)
        evaluator.update(scores[rows], targets[rows], ids=torch.arange(6)[rows])
    assert len(evaluator.records) == 3 + 1
    again = Evaluator(["ndcg@3", "mrr"], repeats="once")
    again.from_bytes(evaluator.as_bytes())
    again.update(scores[:2], targets[:2], ids=torch.arange(2))
    once = rt.evaluate(scores.numpy(), targets.numpy(), ["ndcg@3", "mrr"])
    for evaluation, repeated in ((evaluator.compute(), 394), (again.compute(), 396)):
        assert evaluation.values() == once.values()
        assert (evaluation.manifest["lists"], evaluation.ledger["lists_repeated"]) == (6, repeated)
    assert evaluator.compute().ledger["lists_repeated"] == 394  # the same when asked twice
