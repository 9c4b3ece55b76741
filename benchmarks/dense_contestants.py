"""One function per contestant: from a score matrix in memory to the values, or to top-100 lists.

Each maker below imports its library and returns `prepare`, which takes the inputs in the form the
library wants them (neither is timed) and returns the function that is timed. That in turn returns
a function that gives the values, so that checking costs no time either. The caller's scores must
be intact afterwards: whoever writes the mask into them works on a copy of each batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arrays import Dense
from contestants import CUTOFFS, METRICS, Values

DEEPEST = CUTOFFS[-1]
BATCH = 1_024

Array = NDArray[Any]
Run = Callable[[], Callable[[], Values]]
Prepare = Callable[[Dense], Run]


def rectitude() -> Prepare:
    """This library: 28 values."""
    import rectitude as rt

    def prepare(inputs: Dense) -> Run:
        shape = inputs.array.shape
        truth, train = inputs.truth.matrix(shape), inputs.train.matrix(shape)

        def run() -> Callable[[], Values]:
            found = rt.evaluate(rt.Scores(inputs.array), truth, train=train, metrics=list(METRICS))
            values = {name: float(found[name]) for name in METRICS}
            return lambda: values

        return run

    return prepare


def rectitude_lists() -> Prepare:
    """This library: top-100 lists without the training items."""
    import rectitude as rt

    def prepare(inputs: Dense) -> Run:
        train = inputs.train.matrix(inputs.array.shape)

        def run() -> Callable[[], Values]:
            top = rt.Scores(inputs.array).top(DEEPEST, train=train)
            return lambda: list_values(inputs, np.asarray(top))

        return run

    return prepare


def torch_metrics() -> Prepare:
    """`torch.topk` of masked batches, and the metrics with NumPy: 28 values."""
    import torch

    def prepare(inputs: Dense) -> Run:
        def run() -> Callable[[], Values]:
            tops = [
                torch.topk(torch.from_numpy(masked(inputs, *rows)), DEEPEST).indices.numpy()
                for rows in batches(inputs)
            ]
            top = np.concatenate(tops)
            values = metrics_of_lists(inputs, top)
            return lambda: values | list_values(inputs, top)

        return run

    return prepare


def torch_lists() -> Prepare:
    """`torch.topk` alone: no copy, no mask, no metrics."""
    import torch

    def prepare(inputs: Dense) -> Run:
        scores = torch.from_numpy(inputs.array)

        def run() -> Callable[[], Values]:
            for start, stop in batches(inputs):
                torch.topk(scores[start:stop], DEEPEST)
            return dict

        return run

    return prepare


def recbole() -> Prepare:
    """RecBole's collector on masked batches, then its evaluator: 24 values, no F1."""
    np.float = float  # type: ignore[attr-defined]  # an alias RecBole uses and NumPy 1.24 removed
    import torch
    from recbole.evaluator.collector import Collector
    from recbole.evaluator.evaluator import Evaluator

    settings = {
        "metrics": ["Precision", "Recall", "Hit", "MRR", "MAP", "NDCG"],
        "topk": list(CUTOFFS),
        "metric_decimal_place": 10,
        "device": "cpu",
        "eval_args": {"mode": "full"},
    }

    def prepare(inputs: Dense) -> Run:
        def run() -> Callable[[], Values]:
            collector = Collector(settings)
            for start, stop in batches(inputs):
                scores = torch.from_numpy(masked(inputs, start, stop))
                users, items = (torch.from_numpy(index) for index in relevant(inputs, start, stop))
                collector.eval_batch_collect(scores, None, users, items)
            values = dict(Evaluator(settings).evaluate(collector.data_struct))
            return lambda: {name: float(value) for name, value in values.items()}

        return run

    return prepare


def warprec() -> Prepare:
    """WarpRec's step for one batch of predictions, with the dense truth its loader yields."""
    import torch
    from warprec.evaluation import Evaluator

    ours = {"Precision": "precision", "Recall": "recall", "F1": "f1", "HitRate": "hit",
            "MRR": "mrr", "MAP": "map", "nDCG": "ndcg"}  # fmt: skip

    def prepare(inputs: Dense) -> Run:
        train = inputs.train.matrix(inputs.array.shape)

        def run() -> Callable[[], Values]:
            evaluator = Evaluator(list(ours), list(CUTOFFS), train)
            evaluator.reset_metrics()
            for start, stop in batches(inputs):
                scores = torch.from_numpy(masked(inputs, start, stop))
                truth = torch.zeros(scores.shape)
                users, items = (torch.from_numpy(index) for index in relevant(inputs, start, stop))
                truth[users, items] = 1
                with torch.inference_mode():
                    evaluator._compute_metrics_step(scores, truth, torch.arange(start, stop), None)
            found = evaluator.compute_results()
            values = {
                f"{ours[name]}@{k}": float(torch.nanmean(value.float()))
                for k, named in found.items()
                for name, value in named.items()
            }
            return lambda: values

        return run

    return prepare


CONTESTANTS: dict[str, Callable[[], Prepare]] = {
    "rectitude": rectitude,
    "rectitude_lists": rectitude_lists,
    "torch_metrics": torch_metrics,
    "torch_lists": torch_lists,
    "recbole": recbole,
    "warprec": warprec,
}
ENVIRONMENTS = {
    "torch_metrics": "torch",
    "torch_lists": "torch",
    "recbole": "recbole",
    "warprec": "warprec",
}


def batches(inputs: Dense) -> list[tuple[int, int]]:
    """Ranges of users, as a framework goes through them."""
    users = len(inputs.array)
    return [(start, min(users, start + BATCH)) for start in range(0, users, BATCH)]


def masked(inputs: Dense, start: int, stop: int) -> Array:
    """A copy of some users' scores in which the training items cannot be recommended."""
    scores = inputs.array[start:stop].copy()
    starts = inputs.train.starts[start : stop + 1]
    rows = np.repeat(np.arange(stop - start), np.diff(starts))
    scores[rows, inputs.train.items[starts[0] : starts[-1]]] = -np.inf
    return scores


def relevant(inputs: Dense, start: int, stop: int) -> tuple[Array, Array]:
    """Row within the batch and item of every relevant pair."""
    starts = inputs.truth.starts[start : stop + 1]
    rows = np.repeat(np.arange(stop - start), np.diff(starts))
    return rows, inputs.truth.items[starts[0] : starts[-1]].astype(np.int64)


def metrics_of_lists(inputs: Dense, top: Array) -> Values:
    """The 28 values from top-100 lists, the plain way."""
    users, items = inputs.array.shape
    count = np.diff(inputs.truth.starts)
    pairs = np.repeat(np.arange(users), count) * items + inputs.truth.items
    hit = np.isin(np.arange(users)[:, None] * items + top, pairs)
    position = np.arange(1, DEEPEST + 1)
    discount = 1 / np.log2(position + 1)
    ideal = np.cumsum(discount)
    hits = np.cumsum(hit, axis=1)
    precisions = np.cumsum(hit * hits / position, axis=1)
    gains = np.cumsum(hit * discount, axis=1)
    first = np.where(hit.any(axis=1), hit.argmax(axis=1) + 1.0, np.inf)
    values: Values = {}
    for k in CUTOFFS:
        found, most = hits[:, k - 1], np.minimum(count, k)
        of_user = {
            "precision": found / k,
            "recall": found / count,
            "f1": 2 * found / (k + count),
            "hit": found > 0,
            "mrr": np.where(first <= k, 1 / first, 0),
            "map": precisions[:, k - 1] / most,
            "ndcg": gains[:, k - 1] / ideal[most - 1],
        }
        values |= {f"{name}@{k}": float(value.mean()) for name, value in of_user.items()}
    return values


def list_values(inputs: Dense, top: Array) -> Values:
    """What identifies top-100 lists whatever the order of ties: the listed scores' means."""
    scores = np.take_along_axis(inputs.array, top.astype(np.int64), axis=1).astype(np.float64)
    return {f"score@{k}": float(scores[:, :k].mean()) for k in CUTOFFS}
