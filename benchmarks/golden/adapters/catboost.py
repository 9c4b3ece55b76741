"""CatBoost: `catboost.utils.eval_metric`, the function that evaluates given scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version as installed

from catboost.utils import eval_metric

from golden.fixtures import Case, Fixture
from golden.groups import Groups, groups_of

FRAMEWORK = "CatBoost"
CUTOFFS = (1, 3, 5, 10)
GAINS: Mapping[str, str] = {
    "": "type=Base",
    "[exp]": "type=Exp",
    "[position]": "type=Base;denominator=Position",
    "[exp,position]": "type=Exp;denominator=Position",
}
AT_K = {"map": "MAP", "mrr": "MRR", "precision": "PrecisionAt", "recall": "RecallAt"}
OF_SHARES = {"err": "ERR", "pfound": "PFound"}
"""metrics whose labels are probabilities"""


def version() -> str:
    """The release that is installed."""
    return installed("catboost")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate every ranking metric at each cutoff and without one."""
    groups = groups_of(fixture)
    options = {"weights": "weights.parquet"} if groups.weights else {}
    case = Case("catboost", fixture, "lists", CUTOFFS, options=options)
    for k in (None, *CUTOFFS):
        at, top = ("", "") if k is None else (f"@{k}", f"top={k}")
        for variant, parameters in GAINS.items():
            for name, metric in (("ndcg", "NDCG"), ("dcg", "DCG")):
                _add(case, f"{name}{variant}{at}", _text(metric, top, parameters), groups)
        for name, metric in (AT_K | (OF_SHARES if groups.is_binary else {})).items():
            _add(case, f"{name}{at}", _text(metric, top), groups)
        if groups.is_binary:
            _add(case, f"pfound[decay=0.5]{at}", _text("PFound", top, "decay=0.5"), groups)
        else:
            _add(case, f"map[rel=2]{at}", _text("MAP", top, "border=1.5"), groups)
            if top:  # refused without a cutoff
                _add(case, f"average_gain{at}", _text("AverageGain", top), groups)
    yield case
    options = {**options, "candidates": "candidates.parquet"}
    case = Case("catboost", fixture, "lists", (), "candidates", options)
    _add(case, "auc", "QueryAUC:type=Ranking", groups)
    yield case


def _text(metric: str, *parameters: str) -> str:
    given = ";".join(parameter for parameter in parameters if parameter)
    return f"{metric}:{given}" if given else metric


def _add(case: Case, name: str, metric: str, groups: Groups) -> None:
    def compute() -> tuple[float, dict[int, float]]:
        users = {
            query: _evaluate(groups.only(query), metric) for query in dict.fromkeys(groups.queries)
        }
        return _evaluate(groups, metric), users

    case.add_all(name, metric, compute)


def _evaluate(groups: Groups, metric: str) -> float:
    (value,) = eval_metric(
        groups.labels, groups.scores, metric, group_id=groups.queries,
        group_weight=groups.row_weights, thread_count=1,
    )  # fmt: skip
    return float(value)
