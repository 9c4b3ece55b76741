"""WarpRec: its `Evaluator` with a model that returns the drawn scores.

Topk and sort of torch decide the order of masked and of equal items; it is recorded. Metrics are
computed in float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import warprec.evaluation.metrics  # noqa: F401  (registers the metrics)
from scipy.sparse import csr_matrix
from torch.utils.data import DataLoader
from warprec.data.eval_loaders import EvaluationDataset
from warprec.evaluation.evaluator import Evaluator

from golden.fixtures import Case, Fixture

FRAMEWORK = "WarpRec"
CUTOFFS = (1, 3, 5, 10)
METRICS = {
    "auc": "AUC", "f1": "F1", "gauc": "GAUC", "hit": "HitRate", "lauc": "LAUC", "map": "MAP",
    "mar": "MAR", "mrr": "MRR", "ndcg": "nDCG", "ndcg[binary]": "nDCGRendle2020",
    "precision": "Precision", "recall": "Recall", "aclt": "ACLT", "aplt": "APLT", "arp": "ARP",
    "pop_reo": "PopREO", "pop_rsp": "PopRSP", "coverage": "ItemCoverage",
    "num_retrieved": "NumRetrieved", "user_coverage[at_n]": "UserCoverageAtN",
    "user_coverage": "UserCoverage", "gini": "Gini", "entropy": "ShannonEntropy", "efd": "EFD",
    "epc": "EPC", "mae": "MAE", "mse": "MSE", "rmse": "RMSE",
}  # fmt: skip


def version() -> str:
    """The checkout (golden.environments)."""
    return f"1.4.6 (e00f8cc7), torch {torch.__version__.partition('+')[0]}"


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate all scores, with a truth of ones and with one of grades."""
    if fixture.kind == "candidates":
        return
    for grades in ("binary", "graded"):
        yield _evaluate(fixture, grades)


def _evaluate(fixture: Fixture, grades: str) -> Case:
    scores = torch.tensor(fixture.scores, dtype=torch.float32)
    train = _matrix(fixture, "train", tuple(scores.shape), "binary")
    truth = EvaluationDataset(_matrix(fixture, "truth", tuple(scores.shape), grades))
    evaluator = Evaluator([*METRICS.values()], [*CUTOFFS], train)
    evaluator.evaluate(
        _Model(scores.clone()), DataLoader(truth, batch_size=len(scores)), "full",
        SimpleNamespace(train_set=SimpleNamespace(get_sparse=lambda: train)),
    )  # fmt: skip
    results = evaluator.compute_results()
    options = {
        "order": "given", "ranking": "ranking-warprec.parquet", "grades": grades,
        "popularity_order": "popularity-warprec.parquet",
    }  # fmt: skip
    case = Case(
        "warprec", fixture, "scores", CUTOFFS, variant=grades, options=options, tolerance=2e-6
    )
    _record_orders(case, scores, train)
    tied = fixture.kind in ("mask-ties", "reseen")  # relevant items may be masked and thus tie
    by_sort = ("AUC", "GAUC", "LAUC") if tied else ()
    for k in CUTOFFS:
        for name, theirs in METRICS.items():
            if theirs in by_sort:  # torch.sort leaves the order of equal scores open
                continue
            case.put(f"{name}@{k}", f"{theirs}@{k}", *_read(results[k][theirs]))
    return case


class _Model:
    """What the evaluator asks of a model."""

    name = "drawn"

    def __init__(self, scores: torch.Tensor) -> None:
        self.scores = scores

    def eval(self) -> None:
        """Models are told when they are evaluated."""

    def predict(self, user_indices: torch.Tensor) -> torch.Tensor:
        """Return the scores of users."""
        return self.scores[user_indices]


def _read(value: Any) -> tuple[Any, dict[int, Any]]:
    """Return the mean over users as WarpRec logs it, and the values of users that are numbers."""
    if not isinstance(value, torch.Tensor) or value.dim() == 0:
        return value, {}
    users = {user: one for user, one in enumerate(value.tolist()) if not math.isnan(one)}
    return torch.nanmean(value), users


def _matrix(fixture: Fixture, table: str, shape: tuple[int, ...], grades: str) -> csr_matrix:
    users, items, values = zip(*fixture.rows(table, "user", "item", "grade"), strict=True)
    ones = np.ones(len(values)) if grades == "binary" else np.array(values)
    return csr_matrix((ones.astype("float32"), (users, items)), shape=shape)


def _record_orders(case: Case, scores: torch.Tensor, train: csr_matrix) -> None:
    """Record the top items of each user, and the items from most to least popular."""
    masked = scores.clone()
    masked[train.nonzero()] = -torch.inf
    top = torch.topk(masked, max(CUTOFFS), dim=1).indices.tolist()
    case.record_order("ranking-warprec", dict(enumerate(top)))
    popularity = torch.tensor(train.getnnz(axis=0)).float()
    order = torch.sort(popularity, descending=True).indices.tolist()
    case.tables["popularity-warprec"] = {"item": order, "position": [*range(len(order))]}
