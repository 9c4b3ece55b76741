"""XGBoost: `Booster.eval` of a booster without trees, with the drawn scores as base margin: the
metrics that `train` prints, without training."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as installed

import numpy as np
import xgboost

from golden.fixtures import Case, Fixture
from golden.groups import Groups, groups_of

FRAMEWORK = "XGBoost"
CUTOFFS = (1, 3, 5, 10)


def version() -> str:
    """The release that is installed."""
    return installed("xgboost-cpu")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate `ndcg` and `map` with and without `-`, and `pre`; `auc` needs all candidates."""
    groups = groups_of(fixture)
    options = {"weights": "weights.parquet"} if groups.weights else {}
    case = Case("xgboost", fixture, "lists", CUTOFFS, options=options, tolerance=2e-6)
    for name in ("ndcg", "map", "pre") if groups.is_binary else ("ndcg",):
        for at in ("", *(f"@{k}" for k in CUTOFFS)):
            _add(case, f"{name}{at}", name + at, groups)
            if name != "pre":
                _add(case, f"{name}[minus]{at}", f"{name}{at or '@32'}-", groups)
    if not groups.is_binary:
        for k in CUTOFFS:
            _add(case, f"ndcg[linear]@{k}", f"ndcg@{k}", groups, exp_gain=False)
    yield case
    options = {**options, "candidates": "candidates.parquet"}
    case = Case("xgboost", fixture, "lists", (), "candidates", options, tolerance=2e-6)
    _add(case, "auc", "auc", groups)
    yield case


def _add(case: Case, name: str, metric: str, groups: Groups, *, exp_gain: bool = True) -> None:
    def compute() -> tuple[float, dict[int, float]]:
        users = {
            query: _evaluate(groups.only(query), metric, exp_gain=exp_gain)
            for query in dict.fromkeys(groups.queries)
        }
        return _evaluate(groups, metric, exp_gain=exp_gain), users

    case.add_all(name, metric if exp_gain else f"{metric}, ndcg_exp_gain=false", compute)


def _evaluate(groups: Groups, metric: str, *, exp_gain: bool) -> float:
    data = xgboost.DMatrix(
        np.zeros((len(groups.scores), 1)), label=groups.labels, base_margin=groups.scores
    )
    data.set_group(groups.sizes)
    if groups.weights:
        data.set_weight([groups.weights[query] for query in dict.fromkeys(groups.queries)])
    parameters = {
        "objective": "rank:ndcg", "eval_metric": metric, "ndcg_exp_gain": exp_gain, "nthread": 1,
    }  # fmt: skip
    booster = xgboost.Booster(parameters, [data])
    return float(booster.eval(data).rpartition(":")[2])
