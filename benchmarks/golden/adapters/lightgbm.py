"""LightGBM: `Booster.eval_train` of a booster without trees, whose initial scores are the drawn
ones: the metrics that `train` prints, without training."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as installed

import lightgbm
import numpy as np

from golden.fixtures import Case, Fixture
from golden.groups import Groups, groups_of

FRAMEWORK = "LightGBM"
CUTOFFS = (1, 3, 5, 10)
GAINS = [0, 1, 2, 5, 20]
"""a table of gains other than 2^label - 1"""


def version() -> str:
    """The release that is installed."""
    return installed("lightgbm")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate `ndcg` and `map`, with the default gains and with others."""
    groups = groups_of(fixture)
    options = {"weights": "weights.parquet"} if groups.weights else {}
    case = Case("lightgbm", fixture, "lists", CUTOFFS, options=options)
    whole = _evaluate(groups, {})
    single = {query: _evaluate(groups.only(query), {}) for query in dict.fromkeys(groups.queries)}
    for name, value in whole.items():
        users = {query: values[name] for query, values in single.items()}
        case.put(name, name, value, users)
    if not groups.is_binary:
        table = "{" + ", ".join(f"{label}: {gain}" for label, gain in enumerate(GAINS)) + "}"
        for name, value in _evaluate(groups, {"label_gain": GAINS}).items():
            if name.startswith("ndcg"):
                full = name.replace("ndcg", f"ndcg[gains={table}]")
                case.put(full, f"{name}, label_gain={GAINS}", value)
    yield case


def _evaluate(groups: Groups, options: dict[str, object]) -> dict[str, float]:
    parameters = {
        "objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": list(CUTOFFS),
        "verbosity": -1, "min_data_in_leaf": 1, "feature_pre_filter": False, "num_threads": 1,
        **options,
    }  # fmt: skip
    data = lightgbm.Dataset(
        np.arange(len(groups.scores), dtype=float).reshape(-1, 1),
        label=groups.labels,
        group=groups.sizes,
        weight=groups.row_weights,
        init_score=groups.scores,
        params=parameters,
    )
    booster = lightgbm.Booster(parameters, data)
    return {name: value for _, name, value, _ in booster.eval_train()}
