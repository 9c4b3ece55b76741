"""Evaluation in the middle of torch code: gradients, inference mode, autocast, compiled models."""

from __future__ import annotations

import copy
import pickle
import weakref
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
BOTH = pytest.mark.parametrize("make", [Evaluator, OnDevice])


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
def test_outputs_with_gradients_keep_them(make: Any) -> None:
    model, evaluator = Model(), make(METRICS)
    logits = model(X)
    evaluator.update(logits, TARGETS)
    torch.nn.functional.cross_entropy(logits, TARGETS).backward()
    assert model.layer.weight.grad is not None
    assert evaluator.compute().values() == pytest.approx(expected(logits).values(), abs=1e-6)


@BOTH
def test_inference_mode(make: Any) -> None:
    model, evaluator = Model(), make(METRICS, repeats="once")
    with torch.inference_mode():
        logits = model(X)
        evaluator.update(logits, TARGETS, ids=torch.arange(12))
        inside = evaluator.compute().values()
    assert (
        evaluator.compute().values() == inside == pytest.approx(expected(logits).values(), abs=1e-6)
    )


@BOTH
def test_autocast_does_not_change_given_scores(make: Any) -> None:
    model, evaluator = Model(), make(METRICS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(X)
        assert logits.dtype == torch.bfloat16
        evaluator.update(logits, TARGETS)
    assert evaluator.compute().values() == pytest.approx(expected(logits).values(), abs=1e-6)


def test_autocast_does_not_change_products() -> None:
    users = torch.tensor([[1.0, 2**-12], [1.0, -(2**-12)]])  # bfloat16 cannot represent these
    items = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, -1.0]])
    truth = torch.tensor([[1], [2]])
    for evaluator in (Evaluator("mrr"), OnDevice("mrr")):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            evaluator.update(rt.Embeddings(users, items), truth)
        assert evaluator.compute()["mrr"] == 1.0


def test_cosine_similarity_on_a_device_is_that_of_arrays() -> None:
    users, items = torch.tensor([[3.0, 0.0]]), torch.tensor([[5.0, 5.0], [1.0, 0.0], [0.0, 0.0]])
    for evaluator in (Evaluator("mrr"), OnDevice("mrr")):
        evaluator.update(rt.Embeddings(users, items, similarity="cosine"), torch.tensor([[1]]))
        assert evaluator.compute()["mrr"] == 1.0


@BOTH
def test_compiled_models(make: Any) -> None:
    model, evaluator = Model(), make(METRICS)
    compiled = torch.compile(model, backend="eager")
    with torch.no_grad():
        evaluator.update(compiled(X), TARGETS)
        assert evaluator.compute().values() == pytest.approx(expected(model(X)).values(), abs=1e-6)


@BOTH
def test_updates_inside_compiled_code(make: Any) -> None:
    model, evaluator = Model(), make(METRICS)

    @torch.compile(backend="eager")
    def step(x: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        logits = model(x)
        evaluator.update(logits, targets)
        return logits.sum() * 2

    with torch.no_grad():
        assert step(X, TARGETS) == step(X, TARGETS) == model(X).sum() * 2
    assert evaluator.compute().manifest["batches"] == 2
    assert evaluator.compute().values() == pytest.approx(expected(model(X)).values(), abs=1e-6)


def test_scores_may_be_overwritten_after_the_update() -> None:
    """Compiled models do that: they reuse the memory of their outputs."""
    logits, evaluator = Model()(X).detach(), OnDevice(METRICS)
    before = expected(logits).values()
    targets = TARGETS.clone()
    evaluator.update(logits, targets)
    logits.fill_(float("nan"))
    targets.fill_(-1)
    assert evaluator.compute().values() == pytest.approx(before, abs=1e-6)


def test_tensors_on_the_cpu_are_read_without_a_copy() -> None:
    from rectitude.torch.held import in_memory

    logits = Model()(X)
    opened = in_memory(rt.Logits(logits))
    assert isinstance(opened, rt.Logits)
    assert np.shares_memory(opened.source, logits.detach().numpy())


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


def test_few_batches_are_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "MOST", 3)
    evaluator = OnDevice(METRICS)
    for _ in range(10):
        evaluator.update(Model()(X), TARGETS)
        assert len(evaluator._queue.waiting) <= 4
    assert evaluator.batches == 10
    assert evaluator.compute().manifest["batches"] == 10


@BOTH
@pytest.mark.parametrize("repeats", ["once", "counted"])
def test_evaluators_are_added_copied_pickled_and_saved(
    make: Any, repeats: Any, tmp_path: Path
) -> None:
    logits = Model()(X)
    whole = make(METRICS, repeats=repeats)
    parts = [make(METRICS, repeats=repeats) for _ in range(2)]
    for part, rows in zip(parts, (slice(0, 5), slice(5, 12)), strict=True):
        for evaluator in (part, whole):
            evaluator.update(logits[rows], TARGETS[rows], ids=torch.arange(12)[rows])
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


@pytest.mark.parametrize("ids", [None, range(12)])
def test_scores_are_freed_before_their_counts_are_read(ids: Any) -> None:
    evaluator = OnDevice("mrr")
    memory = X.numpy().copy()  # freed with the last tensor in it
    held = weakref.ref(memory)
    evaluator.update(torch.from_numpy(memory), TARGETS[:, None] % 4, ids=ids)
    del memory
    assert held() is None
    assert evaluator.compute().manifest["lists"] == 12
