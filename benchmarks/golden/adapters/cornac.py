"""Cornac: ranking and rating metrics as an Experiment computes them, of a model that returns the
drawn scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version as installed
from typing import Any

import numpy as np
from cornac import metrics as cornac
from cornac.eval_methods import BaseMethod
from cornac.eval_methods.base_method import ranking_eval, rating_eval
from cornac.models import Recommender

from golden.fixtures import Case, Fixture

FRAMEWORK = "Cornac"
CUTOFFS = (1, 3, 5)
AT_K = {
    "ndcg": cornac.NDCG,
    "ncrr": cornac.NCRR,
    "hit": cornac.HitRatio,
    "precision": cornac.Precision,
    "recall": cornac.Recall,
    "f1": cornac.FMeasure,
}
WHOLE = {"auc": cornac.AUC, "map": cornac.MAP, "mrr": cornac.MRR}
RATINGS = {"rmse": cornac.RMSE, "mae": cornac.MAE, "mse": cornac.MSE}


class Drawn(Recommender):  # type: ignore[misc]  # Cornac has no types
    """A model that returns the drawn scores."""

    def __init__(self, scores: Mapping[tuple[int, int], float]) -> None:
        super().__init__(name="drawn", trainable=False)
        self.drawn = scores

    def score(self, user_idx: int, item_idx: int | None = None) -> Any:
        """Return the scores of all items for a user, or of one item."""
        users, items = list(self.train_set.uid_map), list(self.train_set.iid_map)
        if item_idx is not None:
            return np.array(self.drawn[users[user_idx], items[item_idx]])
        return np.array([self.drawn[users[user_idx], item] for item in items])


def version() -> str:
    """The release that is installed."""
    return installed("cornac")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate a ranking at two thresholds, or predicted ratings."""
    if fixture.family == "ratings":
        yield _rating_case(fixture)
    elif fixture.kind != "candidates":
        yield _ranking_case(fixture, "", 1.0)
        yield _ranking_case(fixture, "threshold-4", 4.0)


def _ranking_case(fixture: Fixture, variant: str, threshold: float) -> Case:
    scores = {
        (user, item): score
        for user, row in enumerate(fixture.scores or ())
        for item, score in enumerate(row)
    }
    method, model = _prepare(fixture, scores)
    options = {"exclude_unknowns": True, "relevant_from": threshold, "mask": "train_relevant"}
    case = Case("cornac", fixture, "scores", CUTOFFS, variant, options)
    for name in ("auc", "map"):
        _add(case, name, WHOLE[name](), method, model, threshold)
    if "ties" in fixture.kind:  # elsewhere, NumPy's order of ties is not portable
        return case
    _add(case, "mrr", WHOLE["mrr"](), method, model, threshold)
    for k in CUTOFFS:
        for name, metric in AT_K.items():
            _add(case, f"{name}@{k}", metric(k=k), method, model, threshold)
    return case


def _add(
    case: Case, name: str, metric: Any, method: BaseMethod, model: Drawn, threshold: float
) -> None:
    def compute() -> tuple[Any, Mapping[Any, Any]]:
        means, users = ranking_eval(
            model, [metric], method.train_set, method.test_set, rating_threshold=threshold
        )
        raw = list(method.train_set.uid_map)
        return means[0], {raw[user]: value for user, value in users[0].items()}

    case.add_all(name, metric.name, compute)


def _rating_case(fixture: Fixture) -> Case:
    rows = fixture.rows("recommendations", "user", "item", "score")
    method, model = _prepare(fixture, {(user, item): score for user, item, score in rows})
    case = Case("cornac", fixture, "lists", notes="Scores are clipped to the ratings of train.")
    for name, metric in RATINGS.items():
        for full, user_based in ((name, True), (f"{name}[pooled]", False)):
            means, _ = rating_eval(model, [metric()], method.test_set, user_based=user_based)
            setting = "" if user_based else "|user_based=False"
            case.put(full, metric().name + setting, means[0])
    return case


def _prepare(fixture: Fixture, scores: Mapping[tuple[int, int], float]) -> tuple[BaseMethod, Drawn]:
    method = BaseMethod.from_splits(
        train_data=[*fixture.rows("train", "user", "item", "grade")],
        test_data=[*fixture.rows("truth", "user", "item", "grade")],
        exclude_unknowns=True,
    )
    return method, Drawn(scores).fit(method.train_set)
