"""Streamsight: metric classes on sparse matrices, with a truth of ones and nothing masked, as its
evaluator passes them.

An item without a score is not recommended, so scores are made positive without changing their
order. Where scores tie, the order is NumPy's and is recorded for each cutoff.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from streamsight import metrics as streamsight
from streamsight.algorithms.utils import get_top_K_ranks

from golden.fixtures import Case, Fixture

FRAMEWORK = "Streamsight"
CUTOFFS = (1, 3, 5, 10)
AT_K = {
    "precision": streamsight.PrecisionK,
    "recall": streamsight.RecallK,
    "dcg": streamsight.DCGK,
    "ndcg": streamsight.NDCGK,
    "hit": streamsight.HitK,
}


def version() -> str:
    """The checkout (golden.environments)."""
    return "244e26b"


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate whole rows of scores, and rows without the items of the training data."""
    if fixture.kind == "candidates":
        return
    scores = np.array(fixture.scores) + 100.0
    yield _evaluate(fixture, csr_matrix(scores), "", {"mask": "none"})
    users, items = zip(*fixture.rows("train", "user", "item"), strict=True)
    scores[users, items] = 0.0  # what is not stored is not recommended
    yield _evaluate(fixture, csr_matrix(scores), "masked", {"mask": "train_removed"})


def _evaluate(
    fixture: Fixture, predicted: csr_matrix, variant: str, options: dict[str, Any]
) -> Case:
    users, items = zip(*fixture.rows("truth", "user", "item"), strict=True)
    truth = csr_matrix((np.ones(len(users)), (users, items)), shape=predicted.shape)
    if "ties" in fixture.kind:
        options |= {"order": "given", "ranking": {}}
    case = Case("streamsight", fixture, "scores", CUTOFFS, variant, options=options)
    for k in CUTOFFS:
        if "ties" in fixture.kind:
            file = "-".join(filter(None, ("ranking-streamsight", variant, str(k))))
            options["ranking"][f"@{k}"] = f"{file}.parquet"
            case.record_order(file, _order(predicted, k))
        for name, metric in AT_K.items():
            _add(case, f"{name}@{k}", metric(K=k), truth, predicted)
    return case


def _order(predicted: csr_matrix, k: int) -> dict[int, list[int]]:
    """Return the items of each row that the framework ranks, best first."""
    ranks = get_top_K_ranks(predicted, k)
    return {
        row: [int(item) for item in ranks[row].indices[np.argsort(ranks[row].data)]]
        for row in range(ranks.shape[0])
    }


def _add(case: Case, name: str, metric: Any, truth: Any, predicted: Any) -> None:
    def compute() -> tuple[Any, Mapping[Any, Any]]:
        metric.calculate(truth, predicted)
        users = {}
        if not name.startswith("hit"):
            found = metric.micro_result
            users = dict(zip(found["user_id"].tolist(), found["score"].tolist(), strict=True))
        return metric.macro_result, users

    case.add_all(name, name, compute)
