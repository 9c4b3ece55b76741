"""BEIR: `EvaluateRetrieval.evaluate` and `evaluate_custom`; everything is rounded to 5 decimals.

The custom functions divide by the number of judged queries and fail for a query that is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version as installed
from typing import Any

from beir.retrieval.evaluation import EvaluateRetrieval

from golden.fixtures import Case, Fixture

FRAMEWORK = "BEIR"
CUTOFFS = (1, 3, 5, 10)
STANDARD = {"ndcg": "NDCG", "map": "MAP", "recall": "Recall", "precision": "P"}
CUSTOM = {
    "mrr_cut": "MRR", "recall_cap": "R_cap", "hole": "Hole", "top_k_accuracy": "Accuracy",
}  # fmt: skip


def version() -> str:
    """The releases that are installed."""
    return f"{installed('beir')} (pytrec_eval-terrier {installed('pytrec_eval-terrier')})"


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate with all eight measures."""
    qrels: dict[str, dict[str, int]] = {}
    for query, document, grade in fixture.rows("truth", "user", "item", "grade"):
        qrels.setdefault(query, {})[document] = grade
    run = {
        query: dict(rows)
        for query, rows in fixture.grouped("recommendations", "item", "score").items()
    }
    case = Case("beir", fixture, "lists", CUTOFFS, tolerance=1e-9, notes="Rounded to 5 decimals.")
    for bracket, ignore in (("[identical]", False), ("", True)):  # True removes them for good
        standard = EvaluateRetrieval.evaluate(
            qrels, run, list(CUTOFFS), ignore_identical_ids=ignore
        )
        for (name, label), values in zip(STANDARD.items(), standard, strict=True):
            for k in CUTOFFS:
                reported = f"{label}@{k}" if ignore else f"{label}@{k}|ignore_identical_ids=False"
                case.put(f"{name}{bracket}@{k}", reported, values[f"{label}@{k}"])
    for name, label in CUSTOM.items():
        for k in CUTOFFS:
            compute = partial(_evaluate_custom, qrels, run, name, f"{label}@{k}")
            case.add(f"{name}@{k}", f"{label}@{k}", compute)
    yield case


def _evaluate_custom(qrels: Any, run: Any, name: str, reported: str) -> Any:
    k = int(reported.rpartition("@")[2])
    return EvaluateRetrieval.evaluate_custom(qrels, run, [k], metric=name)[reported]
