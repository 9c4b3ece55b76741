"""Every metric over batches of tensors gives exactly the value of one pass over arrays."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_ways import OnDevice

import rectitude as rt
from rectitude.torch import Evaluator

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "laws"))

from strategies import bits
from test_every_metric_in_batches import CONVENTIONS, SIZE, batch, every_metric, shards, world


@pytest.mark.parametrize("way", [Evaluator, OnDevice])
def test_batches_of_tensors(way: Any) -> None:
    data, names = world(1), every_metric("scores")
    predictions, truth, tables = batch(data, np.arange(SIZE), "scores")
    whole = rt.evaluate(predictions, truth, names, CONVENTIONS[0], **tables)
    evaluator = way(names, CONVENTIONS[0])
    for rows in shards(SIZE, 5):
        predictions, truth, tables = batch(data, rows, "scores")
        scores = torch.from_numpy(data["scores"][rows])
        evaluator.update(
            rt.Scores(scores, users=predictions.users, items=predictions.items), truth, **tables
        )
    assert bits(evaluator.compute()) == bits(whole)
