"""One function per contestant: from logits and targets in memory to seven values.

Made like those of `dense_contestants.py`: importing and preparing are not timed, nor is what the
timed function returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrays import Classes
from contestants import Values

METRICS = (
    *(f"accuracy@{k}" for k in (1, 5, 10)),
    *("mrr", "ndcg@10", "weighted_f1", "cross_entropy"),
)
TORCH_BATCH = 256
NUMPY_BATCH = 64

Array = NDArray[Any]
Run = Callable[[], Callable[[], Values]]
Prepare = Callable[[Classes], Run]


def rectitude() -> Prepare:
    """This library."""
    import rectitude as rt

    def prepare(inputs: Classes) -> Run:
        def run() -> Callable[[], Values]:
            found = rt.evaluate(rt.Logits(inputs.array), inputs.targets, metrics=list(METRICS))
            values = {name: float(found[name]) for name in METRICS}
            return lambda: values

        return run

    return prepare


def torch_count() -> Prepare:
    """Torch at its best: ranks by counting, one arg-max, one cross-entropy, in batches."""
    import sklearn.metrics  # noqa: F401
    import torch

    def prepare(inputs: Classes) -> Run:
        logits, targets = torch.from_numpy(inputs.array), torch.from_numpy(inputs.targets)

        def run() -> Callable[[], Values]:
            ranks, predicted, loss = [], [], 0.0
            for start in range(0, len(targets), TORCH_BATCH):
                rows, wanted = logits[start : start + TORCH_BATCH], targets[start:][:TORCH_BATCH]
                ranks.append((rows > rows.gather(1, wanted[:, None])).sum(1) + 1)
                predicted.append(rows.argmax(1))
                entropy = torch.nn.functional.cross_entropy(rows, wanted, reduction="sum")
                loss += entropy.item()
            values = from_ranks(torch.cat(ranks).numpy(), loss / len(targets))
            values |= weighted_f1(inputs.targets, torch.cat(predicted).numpy())
            return lambda: values

        return run

    return prepare


def document() -> Prepare:
    """The guide's own functions, as printed."""
    import torch

    import document as printed

    def prepare(inputs: Classes) -> Run:
        logits, targets = torch.from_numpy(inputs.array), torch.from_numpy(inputs.targets)

        def run() -> Callable[[], Values]:
            percent = {
                f"accuracy@{k}": printed.accuracy_at_k(logits, targets, k) for k in (1, 5, 10)
            }
            percent["mrr"] = printed.mean_reciprocal_rank(logits, targets)
            percent["ndcg@10"] = printed.ndcg_at_k(logits, targets)
            percent["weighted_f1"] = printed.weighted_f1(logits, targets)
            loss = printed.cross_entropy_loss(logits, targets)
            values = {name: float(value) / 100 for name, value in percent.items()}
            return lambda: values | {"cross_entropy": loss}

        return run

    return prepare


def numpy_count() -> Prepare:
    """The same counting with NumPy, in batches that stay in the cache."""
    import sklearn.metrics  # noqa: F401

    def prepare(inputs: Classes) -> Run:
        logits, targets = inputs.array, inputs.targets

        def run() -> Callable[[], Values]:
            ranks, predicted, loss = np.empty_like(targets), np.empty_like(targets), 0.0
            for start in range(0, len(targets), NUMPY_BATCH):
                batch = slice(start, start + NUMPY_BATCH)
                rows = logits[batch]
                score = rows[np.arange(len(rows)), targets[batch]]
                ranks[batch] = (rows > score[:, None]).sum(axis=1) + 1
                predicted[batch] = rows.argmax(axis=1)
                largest = rows.max(axis=1)
                total = np.exp(rows - largest[:, None]).sum(axis=1, dtype=np.float64)
                loss += float((np.log(total) + largest - score).sum())
            values = from_ranks(ranks, loss / len(targets)) | weighted_f1(targets, predicted)
            return lambda: values

        return run

    return prepare


CONTESTANTS: dict[str, Callable[[], Prepare]] = {
    "rectitude": rectitude,
    "torch_count": torch_count,
    "document": document,
    "numpy_count": numpy_count,
}
ENVIRONMENTS = {"torch_count": "torch", "document": "torch", "numpy_count": "torch"}


def from_ranks(ranks: Array, loss: float) -> Values:
    """The values that follow from the targets' ranks."""
    gains = np.where(ranks <= 10, 1 / np.log2(ranks + 1.0), 0)
    return {
        **{f"accuracy@{k}": float((ranks <= k).mean()) for k in (1, 5, 10)},
        "mrr": float((1 / ranks).mean()),
        "ndcg@10": float(gains.mean()),
        "cross_entropy": loss,
    }


def weighted_f1(targets: Array, predicted: Array) -> Values:
    """Weighted F1, by scikit-learn."""
    from sklearn.metrics import f1_score

    f1 = f1_score(targets, predicted, average="weighted", zero_division=0)
    return {"weighted_f1": float(f1)}
