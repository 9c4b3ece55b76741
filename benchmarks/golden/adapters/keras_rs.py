"""Keras recommenders: the ranking metrics of `keras_rs.metrics` on padded lists, with torch below.

Ties are shuffled at random by default, so inputs with ties are left out. Padding gets the lowest
score of its list less 1e-7, which in float32 can be that score again, a tie. The lists handed over
are filled up with a score below all others, so that no row ties with padding.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.metadata import version as installed
from typing import Any

os.environ["KERAS_BACKEND"] = "torch"

import keras_rs
import numpy as np

from golden.fixtures import Case, Fixture
from golden.groups import Groups, groups_of

FRAMEWORK = "Keras recommenders"
CUTOFFS = (1, 3, 5, 10)
METRICS: Mapping[str, Any] = {
    "ndcg": keras_rs.metrics.NDCG,
    "dcg": keras_rs.metrics.DCG,
    "map": keras_rs.metrics.MeanAveragePrecision,
    "mrr": keras_rs.metrics.MeanReciprocalRank,
    "precision": keras_rs.metrics.PrecisionAtK,
    "recall": keras_rs.metrics.RecallAtK,
}


def version() -> str:
    """The releases that are installed."""
    return f"{installed('keras-rs')} (keras {installed('keras')}, torch {installed('torch')})"


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate every metric; the weight of a list is the weight of its rows."""
    if fixture.kind in ("ties", "zero-scores"):
        return
    groups = groups_of(fixture)
    options = {"weights": "weights.parquet"} if groups.weights else {}
    case = Case("keras-rs", fixture, "lists", CUTOFFS, options=options, tolerance=2e-6)
    for name, metric in METRICS.items():
        if not groups.is_binary and name not in ("ndcg", "dcg"):
            continue
        for k in (None, *CUTOFFS):
            full = name if k is None else f"{name}@{k}"
            _add(case, full, metric, k, groups)
    yield case


def _add(case: Case, name: str, metric: Any, k: int | None, groups: Groups) -> None:
    case.add(name, f"{metric.__name__}(k={k})", lambda: _evaluate(metric, k, groups))


def _evaluate(metric: Any, k: int | None, groups: Groups) -> float:
    scores, labels = groups.slates(max(groups.sizes), -1.0, lowest=min(groups.scores) - 1)
    measured = metric(k=k)
    weights = None
    if groups.weights:
        weights = np.array([groups.weights[query] for query in dict.fromkeys(groups.queries)])
    measured.update_state(np.array(labels), np.array(scores), weights)
    return float(measured.result())
