"""The ways a batch can be read: arrays, tensors on the CPU, and tensors counted in torch."""

from __future__ import annotations

from typing import Any

import torch

import rectitude as rt
from rectitude.errors import RectitudeError
from rectitude.torch import Evaluator

PLAIN = [name for name in rt.METRICS if not rt.METRICS[name].requires]


def at(cutoffs: tuple[int | None, ...], names: list[str] = PLAIN) -> list[str]:
    """Return metrics at cutoffs; metrics of recall levels at a level."""
    return [_name_at(name, k) for name in names for k in cutoffs]


def _name_at(metric: str, k: int | None) -> str:
    if k is None:
        return metric
    return f"{metric}@{1 / k:.4g}" if rt.METRICS[metric].cutoff == "level" else f"{metric}@{k}"


class OnDevice(Evaluator):
    """Counts in torch and processes batches later, as if all tensors were on a GPU."""

    def _stays(self, device: torch.device) -> bool:
        return False


def content(evaluation: rt.Evaluation) -> dict[str, Any]:
    """Return everything that an evaluation reports, to the last bit."""
    results = {
        name: (result.value.hex(), result.state, result.ties, result.interval, result.counted)
        for name, result in evaluation.results.items()
    }
    return {
        "results": results,
        "failures": {name: str(error) for name, error in evaluation.failures.items()},
        "ledger": evaluation.ledger.as_dict(),
        "manifest": dict(evaluation.manifest),
    }


def outcome(evaluator: Any, *batches: tuple[Any, Any, dict[str, Any]]) -> Any:
    """Return the content of an evaluation, or its error without the number of the batch."""
    try:
        for predictions, truth, more in batches:
            evaluator.update(predictions, truth, **more)
        return content(evaluator.compute())
    except RectitudeError as error:
        return type(error), error.found.removeprefix("batch 0: "), error.expected
