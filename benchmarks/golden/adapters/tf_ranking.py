"""TF-Ranking: the metrics of `tfr.keras.metrics` on padded lists, all lists in one batch.

Ties are shuffled at random, so inputs with ties are left out. Rows with labels below 0 are padding.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.metadata import version as installed
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow_ranking as tfr

from golden.fixtures import Case, Fixture
from golden.groups import Groups, groups_of

FRAMEWORK = "TF-Ranking"
CUTOFFS = (1, 3, 5, 10)
METRICS: Mapping[str, Any] = {
    "ndcg": tfr.keras.metrics.NDCGMetric,
    "dcg": tfr.keras.metrics.DCGMetric,
    "map": tfr.keras.metrics.MeanAveragePrecisionMetric,
    "mrr": tfr.keras.metrics.MRRMetric,
    "precision": tfr.keras.metrics.PrecisionMetric,
    "recall": tfr.keras.metrics.RecallMetric,
    "hit": tfr.keras.metrics.HitsMetric,
}


def version() -> str:
    """The releases that are installed."""
    return f"{installed('tensorflow-ranking')} (TensorFlow {installed('tensorflow-cpu')})"


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate every metric; the weight of a list is the weight of its rows."""
    if fixture.kind in ("ties", "zero-scores"):
        return
    groups = groups_of(fixture)
    options = {"weights": "weights.parquet"} if groups.weights else {}
    case = Case("tf-ranking", fixture, "lists", CUTOFFS, options=options, tolerance=2e-6)
    for name, metric in METRICS.items():
        for k in (None, *CUTOFFS):
            full = name if k is None else f"{name}@{k}"
            _add(case, full, metric, k, groups)
    yield case


def _add(case: Case, name: str, metric: Any, k: int | None, groups: Groups) -> None:
    case.add(name, f"{metric.__name__}(topn={k})", lambda: _evaluate(metric, k, groups))


def _evaluate(metric: Any, k: int | None, groups: Groups) -> float:
    scores, labels = groups.slates(max(groups.sizes), -1.0)
    measured = metric(topn=k)
    weights = None
    if groups.weights:
        each = [groups.weights[query] for query in dict.fromkeys(groups.queries)]
        weights = np.array(each, dtype=np.float32)[:, None]
    measured.update_state(np.array(labels), np.array(scores), weights)
    return float(measured.result())
