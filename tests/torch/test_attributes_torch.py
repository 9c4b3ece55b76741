"""Metrics of attributes over tensors give exactly the values of arrays."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

import rectitude as rt
from rectitude.torch import Evaluator, Ranked

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "laws"))

from test_attribute_laws import CONVENTION, NAMES, SIZE, WIDTH, part, world


def test_scores_in_tensors_give_exactly_the_values_of_arrays() -> None:
    data = world(3)
    predictions, truth, more = part(data, np.arange(SIZE), "scores")
    whole = rt.evaluate(predictions, truth, NAMES, CONVENTION, **more)
    evaluator = Evaluator(NAMES, CONVENTION, repeats="counted")
    for rows in np.array_split(np.random.default_rng(0).permutation(SIZE), 4):
        _, truth, more = part(data, np.sort(rows), "scores")
        items = [f"i{i}" for i in range(WIDTH)]
        scores = torch.from_numpy(data["scores"][np.sort(rows)])
        batch = rt.Scores(scores, users=[f"u{row}" for row in np.sort(rows)], items=items)
        evaluator.update(batch, truth, **more)
    assert evaluator.compute().values() == whole.values()
    assert len(whole.values()) == len(NAMES)


def test_repeated_lists_in_tensors_count_once() -> None:
    scores = torch.rand((6, 9), generator=torch.Generator().manual_seed(1))
    top = scores.topk(5).indices
    truth = {"user": list(range(6)), "item": top[:, 1].tolist()}
    items = {
        "item": list(range(9)),
        "category": list("aabbbccdd"),
        "price": [float(i) for i in range(9)],
    }
    users = {"user": list(range(6)), "town": list("xxyyzz")}
    more = {
        "items": items,
        "users": users,
        "train": {"user": [0, 1, 2, 3, 4, 5], "item": [0, 3, 5, 7, 1, 2]},
    }
    names = [
        "calibration_kl@5",
        "hit_value@5",
        "mean_attribute@3",
        "group_gap[by=town,of=hit_value]@5",
    ]
    lists = {row: top[row].tolist() for row in range(6)}
    whole = rt.evaluate(lists, truth, names, **more)
    evaluator = Evaluator(names, repeats="once")
    for rows in ([0, 1, 2], [2, 3, 4, 5, 0]):
        batch_truth = {"user": rows, "item": [truth["item"][row] for row in rows]}
        batch_users = {"user": rows, "town": [users["town"][row] for row in rows]}
        evaluator.update(
            Ranked(top[rows], users=torch.tensor(rows)),
            batch_truth,
            **{**more, "users": batch_users},
        )
    assert evaluator.compute().values() == whole.values()
