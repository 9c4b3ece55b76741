"""Which lists are the same: by ids of any size, and never by their row in a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch_ways import OnDevice

from rectitude.errors import BadScores
from rectitude.torch import Evaluator, Ranked

WAYS = [Evaluator, OnDevice]
LARGE = np.array([2**63 + n for n in range(4)], dtype=np.uint64)
LOGITS, TARGETS = torch.eye(4), torch.tensor([0, 0, 1, 1])


@pytest.mark.parametrize("way", WAYS)
def test_ids_above_63_bits_stay_apart(way: Any) -> None:
    evaluator = way("accuracy@1", repeats="once")
    evaluator.update(LOGITS[:2], TARGETS[:2], ids=LARGE[:2])
    evaluator.update(LOGITS, TARGETS, ids=LARGE)
    found = evaluator.compute()
    assert (found.manifest["lists"], found.ledger["lists_repeated"]) == (4, 2)


@pytest.mark.parametrize("way", WAYS)
def test_lists_without_users_are_not_known_by_their_rows(way: Any) -> None:
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
