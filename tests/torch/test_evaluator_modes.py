"""Evaluation in the middle of torch code: gradients, inference mode, autocast, compiled models."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_ways import OnDevice, content

import rectitude as rt
from rectitude.torch import Evaluator
from rectitude.torch import tensors as pending

METRICS = ["accuracy@{1,3}", "mrr", "weighted_f1", "cross_entropy"]
BOTH = pytest.mark.parametrize("evaluator", [Evaluator, OnDevice])


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(4, 9)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


X = torch.from_numpy(np.random.default_rng(1).normal(size=(12, 4)).astype(np.float32))
TARGETS = torch.from_numpy(np.random.default_rng(2).integers(0, 9, 12))


def expected(logits: torch.Tensor) -> rt.Evaluation:
    return rt.evaluate(rt.Logits(logits.detach().float().numpy()), TARGETS.numpy(), METRICS)


@BOTH
def test_outputs_with_gradients_keep_them(evaluator: Any) -> None:
    model, one = Model(), evaluator(METRICS)
    logits = model(X)
    one.update(logits, TARGETS)
    torch.nn.functional.cross_entropy(logits, TARGETS).backward()
    assert model.layer.weight.grad is not None
    assert one.compute().values() == pytest.approx(expected(logits).values(), abs=1e-6)


@BOTH
def test_inference_mode(evaluator: Any) -> None:
    model, one = Model(), evaluator(METRICS, repeats="once")
    with torch.inference_mode():
        logits = model(X)
        one.update(logits, TARGETS, ids=torch.arange(12))
        inside = one.compute().values()
    assert one.compute().values() == inside == pytest.approx(expected(logits).values(), abs=1e-6)


@BOTH
def test_autocast_changes_no_score_that_was_handed_over(evaluator: Any) -> None:
    model, one = Model(), evaluator(METRICS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(X)
        assert logits.dtype == torch.bfloat16
        one.update(logits, TARGETS)
    assert one.compute().values() == pytest.approx(expected(logits).values(), abs=1e-6)


def test_autocast_changes_no_product() -> None:
    users = torch.tensor([[1.0, 2**-12], [1.0, -(2**-12)]])  # which bfloat16 cannot hold
    items = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, -1.0]])
    truth = torch.tensor([[1], [2]])
    for evaluator in (Evaluator("mrr"), OnDevice("mrr")):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            evaluator.update(rt.Embeddings(users, items), truth)
        assert evaluator.compute()["mrr"] == 1.0


@BOTH
def test_compiled_models(evaluator: Any) -> None:
    model, one = Model(), evaluator(METRICS)
    compiled = torch.compile(model, backend="eager")
    with torch.no_grad():
        one.update(compiled(X), TARGETS)
        assert one.compute().values() == pytest.approx(expected(model(X)).values(), abs=1e-6)


@BOTH
def test_updates_inside_compiled_code(evaluator: Any) -> None:
    model, one = Model(), evaluator(METRICS)

    @torch.compile(backend="eager")
    def step(x: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        logits = model(x)
        one.update(logits, targets)
        return logits.sum() * 2

    with torch.no_grad():
        assert step(X, TARGETS) == step(X, TARGETS) == model(X).sum() * 2
    assert one.compute().manifest["batches"] == 2
    assert one.compute().values() == pytest.approx(expected(model(X)).values(), abs=1e-6)


def test_scores_may_be_overwritten_after_the_update() -> None:
    """As compiled models do that keep their outputs in one place."""
    logits, one = Model()(X).detach(), OnDevice(METRICS)
    before = expected(logits).values()
    targets = TARGETS.clone()
    one.update(logits, targets)
    logits.fill_(float("nan"))
    targets.fill_(-1)
    assert one.compute().values() == pytest.approx(before, abs=1e-6)


def test_tensors_in_main_memory_are_read_where_they_lie() -> None:
    from rectitude.torch.held import in_memory

    logits = Model()(X)
    held = in_memory(rt.Logits(logits))
    assert isinstance(held, rt.Logits)
    assert np.shares_memory(held.source, logits.detach().numpy())


def test_no_scores_are_kept() -> None:
    import gc
    import weakref

    for evaluator in (OnDevice("mrr"), Evaluator("mrr", repeats="once")):
        scores = torch.randn(5, 9)
        alive = weakref.ref(scores)
        evaluator.update(scores, torch.eye(5, 9), ids=list(range(5)))
        del scores
        gc.collect()
        assert alive() is None
        assert evaluator.compute().manifest["lists"] == 5


def test_few_batches_are_on_their_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "MOST", 3)
    one = OnDevice(METRICS)
    for _ in range(10):
        one.update(Model()(X), TARGETS)
        assert len(one._queue.waiting) <= 4
    assert one.batches == 10
    assert one.compute().manifest["batches"] == 10


@BOTH
@pytest.mark.parametrize("repeats", ["once", "counted"])
def test_evaluators_are_added_copied_pickled_and_saved(
    evaluator: Any, repeats: Any, tmp_path: Path
) -> None:
    logits = Model()(X)
    whole = evaluator(METRICS, repeats=repeats)
    parts = [evaluator(METRICS, repeats=repeats) for _ in range(2)]
    for part, rows in zip(parts, (slice(0, 5), slice(5, 12)), strict=True):
        for one in (part, whole):
            one.update(logits[rows], TARGETS[rows], ids=torch.arange(12)[rows])
    parts[0] = pickle.loads(pickle.dumps(parts[0]))  # noqa: S301
    parts[1] = copy.deepcopy(parts[1])
    both = sum(parts)
    assert content(both.compute()) == content(whole.compute())
    both.save(tmp_path / "saved.json")
    assert content(Evaluator.load(tmp_path / "saved.json").compute()) == content(whole.compute())
    assert content(rt.Evaluator.load(tmp_path / "saved.json").compute()) == content(whole.compute())
    both.reset()
    both.update(logits, TARGETS, ids=torch.arange(12))
    assert both.compute().values() == whole.compute().values()
