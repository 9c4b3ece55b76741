"""Logits that were added up on their device give exactly the evaluation of all lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch_ways import OnDevice, content

from rectitude.errors import BadScores, BadTruth
from rectitude.exact import total
from rectitude.torch import Evaluator
from rectitude.torch import evaluator as module
from rectitude.torch.adding import sum_exactly

METRICS = ["accuracy@{1,3}", "mrr", "ndcg@10", "weighted_f1", "macro_f1@2", "mcc", "hit@3"]
CLASSES = 40


def draw_batch(rows: int, seed: int, classes: int = CLASSES) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, classes, generator=generator).round(decimals=1)
    return logits, torch.randint(0, classes, (rows,), generator=generator)


def feed(evaluator: Any, batches: list[Any]) -> Any:
    for logits, target in batches:
        evaluator.update(logits, target)
    return evaluator


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lists were added up on their device."""
    lists: list[int] = []
    inner = module.add_up

    def add(*arguments: Any) -> Any:
        sound, targets = inner(*arguments)
        lists.append(targets.lists)
        return sound, targets

    monkeypatch.setattr(module, "add_up", add)
    return lists


@pytest.mark.parametrize("sizes", [(30, 30, 30), (40, 7), (1,)])
@pytest.mark.parametrize(
    "convention",
    [
        {},
        {"ties": "item_descending"},
        {"ties": "item_ascending", "score_precision": "float32"},
        {"ties": "optimistic", "undefined": "zero", "truth_needed": "judged"},
        {"ties": "given", "list_needed": "items"},
    ],
    ids=str,
)
def test_sums_give_the_evaluation_of_all(
    convention: Any, sizes: tuple[int, ...], added: list[int]
) -> None:
    batches = [draw_batch(rows, seed) for seed, rows in enumerate(sizes)]
    expected = feed(Evaluator(METRICS, convention), batches).compute()
    found = feed(OnDevice(METRICS, convention), batches).compute()
    assert content(found) == content(expected)
    assert sum(added) == sum(sizes)


@pytest.mark.parametrize("classes", [1, 2, 5])
def test_few_classes_give_the_evaluation_of_all(classes: int, added: list[int]) -> None:
    batches = [draw_batch(12, seed, classes) for seed in range(2)]
    metrics = ["accuracy", "mrr@10", "weighted_f1", "macro_f1@2"]
    expected = feed(Evaluator(metrics), batches).compute()
    assert content(feed(OnDevice(metrics), batches).compute()) == content(expected)
    assert added == [24]


@pytest.mark.parametrize("metrics", ["weighted_f1", ["mcc", "macro_f1@2"], "mrr"])
def test_each_kind_of_metric_stands_alone(metrics: Any, added: list[int]) -> None:
    batches = [draw_batch(30, seed) for seed in range(2)]
    expected = feed(Evaluator(metrics), batches).compute()
    assert content(feed(OnDevice(metrics), batches).compute()) == content(expected)
    assert added == [60]


def test_losses_are_added_up_exactly(added: list[int]) -> None:
    batches = [draw_batch(50, seed) for seed in range(3)]
    metrics = ["cross_entropy", "mrr"]
    together = feed(OnDevice(metrics), batches).compute()
    kept = feed(OnDevice(metrics, per_list="kept"), batches).compute()
    assert together.results["cross_entropy"].state == kept.results["cross_entropy"].state
    assert together["cross_entropy"] == kept["cross_entropy"]
    assert added == [150]


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
@pytest.mark.parametrize("spread", [0, 12, 200])
def test_sums_on_a_device_are_exact(scale: float, spread: int) -> None:
    generator = np.random.default_rng(spread)
    values = generator.random(1001) * scale * 10.0 ** -generator.integers(0, spread + 1, 1001)
    assert sum_exactly(torch.from_numpy(values)) == total(values)
    assert sum_exactly(torch.zeros(3, dtype=torch.float64)) == 0


def spoil_score(logits: torch.Tensor, target: torch.Tensor) -> None:
    logits[3, 5] = float("nan")


def spoil_target(logits: torch.Tensor, target: torch.Tensor) -> None:
    target[3] = CLASSES


@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (spoil_score, BadScores, r"batch 1: 1 of 30 rows .* \(first: row 3, list 3, item 5\)"),
        (spoil_target, BadTruth, r"batch 1: 1 of 30 numbers in targets .* \(first: row 3, 40\)"),
    ],
)
def test_a_bad_batch_is_named_and_left_out(spoil: Any, error: Any, words: str) -> None:
    batches = [draw_batch(30, seed) for seed in range(3)]
    spoil(*batches[1])
    evaluator = feed(OnDevice(METRICS), batches)
    with pytest.raises(error, match=words):
        evaluator.compute()
    expected = feed(Evaluator(METRICS), batches[::2]).compute()
    assert content(evaluator.compute()) == content(expected)


def test_other_metrics_are_judged_list_by_list(added: list[int]) -> None:
    batches = [draw_batch(30, 0)]
    for metrics, convention in (
        (["mean_rank", "median_rank"], {}),
        (["mrr"], {"list_needed": "hit", "undefined": "skip"}),
    ):
        expected = feed(Evaluator(metrics, convention), batches).compute()
        assert content(feed(OnDevice(metrics, convention), batches).compute()) == content(expected)
