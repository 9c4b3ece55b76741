"""The manifest names what counted on a device, and says nothing where all was on the processor."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_ways import OnDevice

import rectitude as rt
from rectitude.torch import Evaluator, device

KERNELS = "triton 3.6.0 on cuda"
SCORES, TRUTH = torch.eye(3), torch.tensor([[0], [2], [1]])


@pytest.fixture
def on_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the kernels as if the tensors were on a GPU."""
    monkeypatch.setattr(device, "_name_kernels", lambda _: KERNELS)


def batch_of(kind: str) -> tuple[Any, Any, dict[str, Any]]:
    return {
        "plain": (rt.Scores(SCORES), TRUTH, {}),
        "named": (SCORES, TRUTH, {"ids": ["ann", "ben", "cat"]}),
        "logits": (SCORES, TRUTH[:, 0], {}),
    }[kind]


@pytest.mark.usefixtures("on_cuda")
@pytest.mark.parametrize("kind", ["plain", "named", "logits"])
def test_kernels_of_a_device_are_named(kind: str) -> None:
    evaluator = OnDevice("mrr")
    predictions, truth, more = batch_of(kind)
    evaluator.update(predictions, truth, **more)
    assert evaluator.compute().manifest["kernels"] == KERNELS


@pytest.mark.usefixtures("on_cuda")
def test_batches_of_the_processor_and_of_a_device_are_added() -> None:
    predictions, truth, _ = batch_of("plain")
    both = []
    for make in (Evaluator, OnDevice, Evaluator):
        evaluator = make("mrr")
        evaluator.update(predictions, truth)
        both.append(evaluator)
    evaluation = sum(both).compute()  # type: ignore[attr-defined]
    assert evaluation.manifest["kernels"] == KERNELS
    assert evaluation.manifest["lists"] == 9


@pytest.mark.parametrize("make", [Evaluator, OnDevice])
def test_tensors_on_the_processor_have_the_manifest_of_arrays(make: Any) -> None:
    evaluator = make("mrr")
    evaluator.update(rt.Scores(SCORES), TRUTH)
    assert "kernels" not in evaluator.compute().manifest
