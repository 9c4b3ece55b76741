"""Every metric of the registry over batches of tensors has the bits of one pass over arrays."""

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
    given, names = world(1), every_metric("scores")
    predictions, truth, tables = batch(given, np.arange(SIZE), "scores")
    whole = rt.evaluate(predictions, truth, names, CONVENTIONS[0], **tables)
    found = way(names, CONVENTIONS[0])
    for rows in shards(SIZE, 5):
        part, truth, tables = batch(given, rows, "scores")
        scores = torch.from_numpy(given["scores"][rows])
        found.update(rt.Scores(scores, users=part.users, items=part.items), truth, **tables)
    assert bits(found.compute()) == bits(whole)
