"""Metrics of predicted scores and probabilities on tensors: the bits of arrays."""

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
    """Scores and the truth with grades, both in three parts of ten rows."""
    random = np.random.default_rng(11)
    scores = random.normal(2, 1, (30, 20)).astype(np.float32)
    grade = np.where(random.random((30, 20)) < 0.3, random.integers(1, 6, (30, 20)), 0)
    row, column = np.nonzero(grade)
    table = pl.DataFrame({"user": row, "item": column, "grade": grade[row, column].astype(float)})
    parts = [slice(low, low + 10) for low in (0, 10, 20)]
    return [
        (
            rt.Scores(scores[part], users=np.arange(part.start, part.stop)),
            table.filter(pl.col("user").is_between(part.start, part.stop - 1)),
        )
        for part in parts
    ]


def on(way: type[Evaluator], **more: Any) -> rt.Evaluation:
    found = way(RATINGS, more.pop("convention", None), repeats=more.pop("repeats", "counted"))
    for predictions, truth in batches():
        tensors = rt.Scores(torch.from_numpy(predictions.source), users=predictions.users)
        found.update(tensors, truth, **more)
    return found.compute()


def expected(**more: Any) -> rt.Evaluation:
    found = rt.Evaluator(RATINGS, more.pop("convention", None))
    for predictions, truth in batches():
        found.update(predictions, truth, **more)
    return found.compute()


@pytest.mark.parametrize("repeats", ["counted", "once"])
@pytest.mark.parametrize("way", WAYS)
def test_tensors_have_the_errors_of_arrays(way: type[Evaluator], repeats: str) -> None:
    assert content(on(way, repeats=repeats))["results"] == content(expected())["results"]


@pytest.mark.parametrize("seen", ["removed", "last", "kept"])
@pytest.mark.parametrize("way", WAYS)
def test_masked_items_keep_their_scores_where_they_are_ranked(
    way: type[Evaluator], seen: str
) -> None:
    train = pl.DataFrame({"user": np.arange(30), "item": np.arange(30) % 20})
    more = {"convention": {"seen": seen}, "train": train}
    mine, theirs = content(on(way, **more)), content(expected(**more))
    assert mine["results"] == theirs["results"]
    assert mine["ledger"] == theirs["ledger"]


@pytest.mark.parametrize("repeats", ["counted", "once"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [torch.float64, torch.float32])
def test_logits_have_the_probabilities_of_arrays(
    way: type[Evaluator], repeats: Any, kind: torch.dtype
) -> None:
    random = np.random.default_rng(5)
    logits = torch.from_numpy(random.normal(0, 2, (60, 9))).to(kind)
    target = torch.from_numpy(random.integers(0, 9, 60))
    found = way(CLASSES[:3], repeats=repeats)
    for low in range(0, 60, 20):
        here = slice(low, low + 20)
        found.update(rt.Logits(logits[here]), target[here], ids=np.arange(low, low + 20))
    whole = rt.evaluate(rt.Logits(logits.numpy()), target.numpy(), CLASSES[:3])
    assert content(found.compute())["results"] == content(whole)["results"]


def test_a_list_that_comes_again_counts_once() -> None:
    logits, target = np.random.default_rng(2).normal(size=(8, 4)), np.arange(8) % 4
    found = Evaluator(CLASSES, repeats="once")
    for rows in (range(6), range(4, 8)):
        part = torch.from_numpy(logits[list(rows)])
        found.update(rt.Logits(part), torch.from_numpy(target[list(rows)]), ids=list(rows))
    whole = rt.evaluate(rt.Logits(logits), target, CLASSES)
    assert found.compute().values() == whole.values()
