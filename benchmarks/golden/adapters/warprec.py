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
    "epc": "EPC", "mae": "MAE", "mse": "MSE", "rmse": "RMSE", "srecall[by=topics]": "SRecall",
    "item_mad_ranking": "ItemMADRanking", "item_mad_rating": "ItemMADRating",
    "user_mad_ranking": "UserMADRanking", "user_mad_rating": "UserMADRating", "reo": "REO",
    "rsp": "RSP",
}  # fmt: skip
ITEM_CLUSTERS, USER_CLUSTERS = (1, 2, 3), (1, 2)
OF_CLUSTERS = {
    **{f"{ours}[item_cluster={item}]": f"{theirs}_IC{item}"
       for ours, theirs in (("reo", "REO"), ("rsp", "RSP")) for item in ITEM_CLUSTERS},
    **{f"bias_disparity_{kind.lower()}[user_cluster={user},item_cluster={item}]":
       f"BiasDisparity{kind}_UC{user}_IC{item}"
       for kind in ("BS", "BR", "BD") for user in USER_CLUSTERS for item in ITEM_CLUSTERS},
}  # fmt: skip
"""Values of single clusters, which their metrics return beside the others"""
DISPARITIES = ("BiasDisparityBS", "BiasDisparityBR", "BiasDisparityBD")
COMPLEX = {
    "efd[discounted]": ("EFD", {"relevance": "discounted"}),
    "epc[discounted]": ("EPC", {"relevance": "discounted"}),
    "aplt[pop_ratio=0.5]": ("APLT", {"pop_ratio": 0.5}),
    "pop_rsp[pop_ratio=0.5]": ("PopRSP", {"pop_ratio": 0.5}),
    "hypervolume[precision,recall]": ("Hypervolume", {
        "metric_names": ["Precision", "Recall"], "nadir_points": [0.0, 0.0],
        "higher_is_better": [True, True],
    }),
    "euc_distance[precision,recall]": ("EucDistance", {
        "metric_names": ["Precision", "Recall"], "utopia_points": [1.0, 1.0],
    }),
}  # fmt: skip
"""Metrics with parameters"""


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
    complex_metrics = [SimpleNamespace(name=name, params=words) for name, words in COMPLEX.values()]
    evaluator = Evaluator(
        [*METRICS.values(), *DISPARITIES], [*CUTOFFS], train, complex_metrics,
        feature_lookup=_topics(fixture), user_cluster=_clusters(fixture, "users"),
        item_cluster=_clusters(fixture, "items"),
    )  # fmt: skip
    evaluator.evaluate(
        _Model(scores.clone()), DataLoader(truth, batch_size=len(scores)), "full",
        SimpleNamespace(train_set=SimpleNamespace(get_sparse=lambda: train)),
    )  # fmt: skip
    results = evaluator.compute_results()
    rankings = {f"@{k}": "ranking-warprec.parquet" for k in CUTOFFS}
    rankings |= dict.fromkeys(("auc", "gauc", "lauc"), "sorted-warprec.parquet")
    options = {
        "order": "given", "ranking": rankings, "grades": grades,
        "popularity_order": "popularity-warprec.parquet",
    }  # fmt: skip
    case = Case(
        "warprec", fixture, "scores", CUTOFFS, variant=grades, options=options, tolerance=2e-6
    )
    _record_orders(case, scores, train)
    # A difference of float32 means of scores: its error grows with the scores, not with the value.
    largest = float(scores.abs().max())
    for k in CUTOFFS:
        case.tolerances[f"user_mad_rating@{k}"] = 2e-6 * max(1.0, largest)
        made = evaluator.metrics[k][-len(COMPLEX) :]
        names = {**METRICS, **OF_CLUSTERS}
        names |= {name: metric.name for name, metric in zip(COMPLEX, made, strict=True)}
        for name, theirs in names.items():
            case.put(f"{name}@{k}", f"{theirs}@{k}", *_read(results[k][theirs]))
    return case


def _clusters(fixture: Fixture, table: str) -> torch.Tensor:
    """Return the cluster of each user or item."""
    return torch.tensor(fixture.tables[table]["cluster"])


def _topics(fixture: Fixture) -> torch.Tensor:
    """Return (items, topics) 1 where an item has a topic."""
    topics = fixture.tables["items"]["topics"]
    features = torch.zeros(len(topics), 5)
    for item, several in enumerate(topics):
        features[item, several] = 1.0
    return features


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
    """Record the top items of each user, all items as AUC sorts them (which leaves the order of
    equal scores open), and the items from most to least popular."""
    masked = scores.clone()
    masked[train.nonzero()] = -torch.inf
    top = torch.topk(masked, max(CUTOFFS), dim=1).indices.tolist()
    case.record_order("ranking-warprec", dict(enumerate(top)))
    every = torch.sort(masked, dim=1, descending=True).indices.tolist()
    case.record_order("sorted-warprec", dict(enumerate(every)))
    popularity = torch.tensor(train.getnnz(axis=0)).float()
    order = torch.sort(popularity, descending=True).indices.tolist()
    case.tables["popularity-warprec"] = {"item": order, "position": [*range(len(order))]}
