"""RecPack: metric classes on sparse matrices, with a truth of ones, as its pipeline passes them.

A matrix has one place for a pair, so inputs with repeats are left out; an item without a score is
not recommended, so scores are made positive without changing their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version as installed
from typing import Any

import numpy as np
from recpack import metrics as recpack
from scipy.sparse import csr_matrix

from golden.fixtures import Case, Fixture

FRAMEWORK = "RecPack"
CUTOFFS = (1, 3, 5, 10)
AT_K = {
    "precision": recpack.PrecisionK,
    "recall": recpack.RecallK,
    "recall[calibrated]": recpack.CalibratedRecallK,
    "hit": recpack.HitK,
    "mrr": recpack.ReciprocalRankK,
    "dcg": recpack.DCGK,
    "ndcg": recpack.NDCGK,
    "discounted_gain": recpack.DiscountedGainK,
    "coverage": recpack.CoverageK,
}
WITHOUT = (
    "repeated-truth", "repeated-items", "repeats", "unseen-repeats", "gaps", "repeated-ranks",
    "reference",
)  # fmt: skip


def version() -> str:
    """The release that is installed."""
    return installed("recpack")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate lists, or whole rows of scores without the training data."""
    if (
        fixture.kind in WITHOUT
        or "ties" in fixture.kind
        or fixture.kind in ("candidates", "reseen")
    ):
        return
    kind = "lists" if fixture.family == "lists" else "scores"
    options = {} if kind == "lists" else {"mask": "train"}
    case = Case("recpack", fixture, kind, CUTOFFS, options=options)
    truth, predicted = _lists(fixture) if kind == "lists" else _scores(fixture)
    for name, metric in AT_K.items():
        for k in CUTOFFS:
            _add(case, f"{name}@{k}", metric(k), truth, predicted)
    _add(case, "percentile_ranking", recpack.PercentileRanking(), truth, predicted)
    yield case


def _add(case: Case, name: str, metric: Any, truth: Any, predicted: Any) -> None:
    def compute() -> tuple[Any, Mapping[Any, Any]]:
        metric.calculate(truth, predicted)
        return metric.value, {}

    case.add_all(name, metric.name, compute)


def _matrix(rows: list[tuple[int, int, float]], shape: tuple[int, int]) -> csr_matrix:
    users, items, values = zip(*rows, strict=True)
    return csr_matrix((np.array(values, dtype=float), (users, items)), shape=shape)


def _lists(fixture: Fixture) -> tuple[csr_matrix, csr_matrix]:
    shape = (len(fixture.tables["users"]["user"]), len(fixture.tables["items"]["item"]))
    lists = fixture.rows("recommendations", "user", "item", "position")
    truth = [(user, item, 1.0) for user, item in fixture.rows("truth", "user", "item")]
    best_first = [(user, item, 1000.0 - place) for user, item, place in lists]
    return _matrix(truth, shape), _matrix(best_first, shape)


def _scores(fixture: Fixture) -> tuple[csr_matrix, csr_matrix]:
    drawn = np.array(fixture.scores) + 100.0
    for user, item in fixture.rows("train", "user", "item"):
        drawn[user, item] = 0.0
    truth = [(user, item, 1.0) for user, item in fixture.rows("truth", "user", "item")]
    return _matrix(truth, drawn.shape), csr_matrix(drawn)
