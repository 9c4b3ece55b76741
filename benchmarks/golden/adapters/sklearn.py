"""scikit-learn: ranking metrics of rows of scores; masked items are left out row by row, since a
matrix cannot have rows of different length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.metadata import version as installed
from typing import Any

import numpy as np
from sklearn import metrics as sklearn

from golden.fixtures import Case, Fixture

FRAMEWORK = "scikit-learn"
CUTOFFS = (1, 3, 5)
AVERAGES = {"macro": "items", "micro": "one"}
"""What a row is to an average: each item, or everything as one"""
GRADED: Mapping[str, Callable[..., Any]] = {
    "dcg": sklearn.dcg_score,
    "ndcg": sklearn.ndcg_score,
    "dcg[log_base=e]": partial(sklearn.dcg_score, log_base=np.e),
}
BINARY: Mapping[str, Callable[..., Any]] = {
    "lrap": sklearn.label_ranking_average_precision_score,
    "label_ranking_loss": sklearn.label_ranking_loss,
    "coverage_error": sklearn.coverage_error,
    "map": lambda truth, scores: sklearn.average_precision_score(truth[0], scores[0]),
    "auc": lambda truth, scores: sklearn.roc_auc_score(truth[0], scores[0]),
    "auc[max_fpr=0.3]": lambda truth, scores: sklearn.roc_auc_score(
        truth[0], scores[0], max_fpr=0.3
    ),
    "auc[max_fpr=0.75]": lambda truth, scores: sklearn.roc_auc_score(
        truth[0], scores[0], max_fpr=0.75
    ),
}


def version() -> str:
    """The release that is installed."""
    return installed("scikit-learn")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate each user with the training data masked, and the whole matrix unmasked."""
    if fixture.kind == "candidates":
        return
    truth, scores, seen = _matrices(fixture)
    masked = Case(
        "sklearn", fixture, "scores", CUTOFFS, options={"mask": "train", "relevant_from": 1}
    )
    for name, function in _functions().items():
        users = {}
        for user, row in enumerate(truth):
            kept = ~seen[user]
            users[user] = _call(name, function, row[kept][None], scores[user][kept][None])
        masked.put(name, name, None, users)
    if fixture.kind != "reseen":  # there is no way to hand over a relevant item that is masked
        yield masked
    options = {"mask": "none", "relevant_from": 1}
    whole = Case("sklearn", fixture, "scores", CUTOFFS, "nothing-masked", options)
    for name, function in _functions().items():
        base = name.partition("@")[0]
        if base.partition("[")[0] not in ("map", "auc"):
            labels = truth if base in GRADED else (truth >= 1).astype(int)
            whole.add(name, name, partial(function, labels, scores))
    labels = (truth >= 1).astype(int)
    _add_averages(whole, labels, scores, "samples")
    yield whole
    for average, rows in AVERAGES.items():
        case = Case("sklearn", fixture, "scores", (), average, {**options, "rows": rows})
        _add_averages(case, labels, scores, average)
        yield case


def _add_averages(case: Case, labels: Any, scores: Any, average: str) -> None:
    """Record the metrics that average over rows, over columns, or over all cells as one row."""
    for name, function in (
        ("average_precision", sklearn.average_precision_score),
        ("roc_auc", sklearn.roc_auc_score),
    ):
        compute = partial(function, labels, scores, average=average)
        case.add(f"{name}[samples]", f"{function.__name__}(average='{average}')", compute)


def _functions() -> dict[str, Callable[..., Any]]:
    cut = {f"{name}@{k}": partial(f, k=k) for name, f in GRADED.items() for k in CUTOFFS}
    return {**GRADED, **cut, **BINARY}


def _call(name: str, function: Callable[..., Any], truth: Any, scores: Any) -> float | None:
    labels = truth if name.partition("@")[0] in GRADED else (truth >= 1).astype(int)
    return float(function(labels, scores))


def _matrices(fixture: Fixture) -> tuple[Any, Any, Any]:
    scores = np.array(fixture.scores)
    truth, seen = np.zeros(scores.shape, dtype=int), np.zeros(scores.shape, dtype=bool)
    for user, item, grade in fixture.rows("truth", "user", "item", "grade"):
        truth[user, item] = max(0, grade)
    for user, item in fixture.rows("train", "user", "item"):
        seen[user, item] = True
    return truth, scores, seen
