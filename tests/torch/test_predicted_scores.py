"""Metrics of predicted scores and probabilities give the same values for tensors and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from torch_ways import OnDevice, content

import rectitude as rt
from rectitude.torch import Evaluator

RATINGS = ["mae", "mse", "rmse", "r2", "explained_variance", "user_mae", "user_rmse", "ndcg@5",
           "hypervolume[precision,recall]@5"]  # fmt: skip
CLASSES = ["brier", "expected_calibration_error", "max_calibration_error", "cross_entropy"]
WAYS = [Evaluator, OnDevice]


def batches() -> list[tuple[Any, Any]]:
    """Return scores and graded truth, both in three batches of ten rows."""
    random = np.random.default_rng(11)
    scores = random.normal(2, 1, (30, 20)).astype(np.float32)
    grade = np.where(random.random((30, 20)) < 0.3, random.integers(1, 6, (30, 20)), 0)
    row, column = np.nonzero(grade)
    table = pl.DataFrame({"user": row, "item": column, "grade": grade[row, column].astype(float)})
    blocks = [slice(low, low + 10) for low in (0, 10, 20)]
    return [
        (
            rt.Scores(scores[rows], users=np.arange(rows.start, rows.stop)),
            table.filter(pl.col("user").is_between(rows.start, rows.stop - 1)),
        )
        for rows in blocks
    ]


def on(way: type[Evaluator], **more: Any) -> rt.Evaluation:
    evaluator = way(RATINGS, more.pop("convention", None), repeats=more.pop("repeats", "counted"))
    for predictions, truth in batches():
        tensors = rt.Scores(torch.from_numpy(predictions.source), users=predictions.users)
        evaluator.update(tensors, truth, **more)
    return evaluator.compute()


def expected(**more: Any) -> rt.Evaluation:
    evaluator = rt.Evaluator(RATINGS, more.pop("convention", None))
    for predictions, truth in batches():
        evaluator.update(predictions, truth, **more)
    return evaluator.compute()


@pytest.mark.parametrize("repeats", ["counted", "once"])
@pytest.mark.parametrize("way", WAYS)
def test_tensors_have_the_errors_of_arrays(way: type[Evaluator], repeats: str) -> None:
    assert content(on(way, repeats=repeats))["results"] == content(expected())["results"]


@pytest.mark.parametrize("seen", ["removed", "last", "kept"])
@pytest.mark.parametrize("way", WAYS)
def test_masked_items_keep_their_scores_if_they_are_ranked(way: type[Evaluator], seen: str) -> None:
    train = pl.DataFrame({"user": np.arange(30), "item": np.arange(30) % 20})
    more = {"convention": {"seen": seen}, "train": train}
    tensors, arrays = content(on(way, **more)), content(expected(**more))
    assert tensors["results"] == arrays["results"]
    assert tensors["ledger"] == arrays["ledger"]


@pytest.mark.parametrize("repeats", ["counted", "once"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [torch.float64, torch.float32])
def test_logits_have_the_probabilities_of_arrays(
    way: type[Evaluator], repeats: Any, kind: torch.dtype
) -> None:
    random = np.random.default_rng(5)
    logits = torch.from_numpy(random.normal(0, 2, (60, 9))).to(kind)
    target = torch.from_numpy(random.integers(0, 9, 60))
    evaluator = way(CLASSES[:3], repeats=repeats)
    for low in range(0, 60, 20):
        here = slice(low, low + 20)
        evaluator.update(rt.Logits(logits[here]), target[here], ids=np.arange(low, low + 20))
    whole = rt.evaluate(rt.Logits(logits.numpy()), target.numpy(), CLASSES[:3])
    assert content(evaluator.compute())["results"] == content(whole)["results"]


def test_a_repeated_list_counts_once() -> None:
    logits, target = np.random.default_rng(2).normal(size=(8, 4)), np.arange(8) % 4
    evaluator = Evaluator(CLASSES, repeats="once")
    for rows in (range(6), range(4, 8)):
        part = torch.from_numpy(logits[list(rows)])
        evaluator.update(rt.Logits(part), torch.from_numpy(target[list(rows)]), ids=list(rows))
    whole = rt.evaluate(rt.Logits(logits), target, CLASSES)
    assert evaluator.compute().values() == whole.values()
