"""torchmetrics: the retrieval metrics, on queries with different numbers of candidates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version as installed
from typing import Any

import torch
from torchmetrics import retrieval

from golden.fixtures import Case, Fixture

FRAMEWORK = "torchmetrics"
CUTOFFS = (1, 3, 5, 10)
METRICS: Mapping[str, Any] = {
    "map": retrieval.RetrievalMAP,
    "mrr": retrieval.RetrievalMRR,
    "precision": retrieval.RetrievalPrecision,
    "recall": retrieval.RetrievalRecall,
    "hit": retrieval.RetrievalHitRate,
    "fall_out": retrieval.RetrievalFallOut,
    "ndcg": retrieval.RetrievalNormalizedDCG,
    "auc": retrieval.RetrievalAUROC,
}
OF_ALL = ("auc", "fall_out")
"""metrics that look at all candidates of a query, which has to be said of lists"""
ACTIONS = {"zero": "neg", "one": "pos", "skip": "skip"}


def version() -> str:
    """The releases that are installed."""
    return f"{installed('torchmetrics')} (torch {installed('torch')})"


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate with each action for queries without relevant rows; only they have such queries."""
    if fixture.kind == "weights" or (fixture.family == "scores" and "mask" not in fixture.kind):
        return
    for name in ACTIONS if fixture.kind == "empty" else ("zero",):
        options: dict[str, Any] = {"relevant_from": 1}
        if name != "zero":
            options["empty_target"] = name
        if fixture.family == "scores":
            options["mask"] = "train"
        else:
            options["order"] = "score"  # rows are handed over in any order
        kind = "lists" if fixture.family == "groups" else "scores"
        variant = "" if name == "zero" else f"empty-{name}"
        case = Case("torchmetrics", fixture, kind, CUTOFFS, variant, options, tolerance=2e-6)
        if kind == "scores":
            _fill(case, fixture, ACTIONS[name], METRICS)
            yield case
            continue
        _fill(case, fixture, ACTIONS[name], [name for name in METRICS if name not in OF_ALL])
        yield case
        options = {**options, "candidates": "candidates.parquet"}
        variant = f"candidates-{variant}".removesuffix("-")
        case = Case("torchmetrics", fixture, kind, CUTOFFS, variant, options, tolerance=2e-6)
        _fill(case, fixture, ACTIONS[name], OF_ALL)
        yield case


def _fill(case: Case, fixture: Fixture, action: str, names: Iterable[str]) -> None:
    inputs = _grouped(fixture) if fixture.family == "groups" else _masked(fixture)
    # topk and argsort document no order of ties; only NDCG has a rule for them
    has_ties = "ties" in fixture.kind or fixture.kind == "zero-scores"
    for name in names:
        if has_ties and name not in ("ndcg", "auc"):
            continue
        for k in (None,) if has_ties and name == "auc" else (None, *CUTOFFS):
            full = name if k is None else f"{name}@{k}"
            _add(case, full, name, {"top_k": k}, action, inputs)
            if name == "auc":
                options = {"top_k": k, "max_fpr": 0.3}
                _add(case, full.replace("auc", "auc[max_fpr=0.3]"), name, options, action, inputs)
    if "precision" in names and not has_ties:
        _add(case, "rprec", "rprec", {}, action, inputs)
        for k in CUTOFFS:
            adaptive = {"top_k": k, "adaptive_k": True}
            _add(case, f"precision[adaptive_k]@{k}", "precision", adaptive, action, inputs)


def _add(
    case: Case, full: str, name: str, options: Mapping[str, Any], action: str, inputs: Any
) -> None:
    kind = METRICS.get(name, retrieval.RetrievalRPrecision)
    scores, targets, queries = inputs
    if name != "ndcg":
        targets = (targets >= 1).long()
    if name == "fall_out" and action == "neg":
        action = "pos"  # its default

    def compute() -> tuple[Any, Mapping[Any, Any]]:
        metric = kind(empty_target_action=action, **options)
        mean = metric(scores, targets, indexes=queries)
        users = {}
        for query in queries.unique().tolist():
            rows = queries == query
            one = kind(empty_target_action=action, **options)
            if action != "skip":
                users[query] = one(scores[rows], targets[rows], indexes=queries[rows])
        return mean, users

    name_there = kind.__name__ + ("[adaptive_k]" if "adaptive_k" in options else "")
    cutoff = f"@{options['top_k']}" if options.get("top_k") else ""
    case.add_all(full, name_there + cutoff, compute)


def _grouped(fixture: Fixture) -> tuple[Any, Any, Any]:
    lists = fixture.tables["recommendations"]
    grades = {
        (user, item): grade for user, item, grade in fixture.rows("truth", "user", "item", "grade")
    }
    targets = [grades[row] for row in fixture.rows("recommendations", "user", "item")]
    return torch.tensor(lists["score"]), torch.tensor(targets), torch.tensor(lists["user"])


def _masked(fixture: Fixture) -> tuple[Any, Any, Any]:
    """Hand over the items that are not in the user's training data, as a user would."""
    seen = set(fixture.rows("train", "user", "item"))
    grades = {
        (user, item): grade for user, item, grade in fixture.rows("truth", "user", "item", "grade")
    }
    rows = [
        (score, max(0, grades.get((user, item), 0)), user)
        for user, scores in enumerate(fixture.scores or ())
        for item, score in enumerate(scores)
        if (user, item) not in seen
    ]
    scores, targets, users = zip(*rows, strict=True)
    return torch.tensor(scores), torch.tensor(targets), torch.tensor(users)
