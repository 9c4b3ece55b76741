"""Recommender and ranker evaluation where every number says what it counted."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rectitude._version import __version__

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.auditing import audit
    from rectitude.comparison.compare import compare
    from rectitude.convention import Convention
    from rectitude.data.table import Interactions
    from rectitude.evaluation.evaluate import evaluate
    from rectitude.evaluation.stream import Evaluator
    from rectitude.experiment.run import run
    from rectitude.explanation.explain import explain
    from rectitude.explanation.identify import identify
    from rectitude.metrics.registry import METRICS, metric
    from rectitude.predictions.lists import Lists
    from rectitude.predictions.logits import Logits
    from rectitude.predictions.scores import Embeddings, Scores
    from rectitude.profiles import PROFILES
    from rectitude.reports.history import History
    from rectitude.reports.page import report
    from rectitude.splits.run import split

__all__ = [
    "METRICS",
    "PROFILES",
    "Convention",
    "Embeddings",
    "Evaluation",
    "Evaluator",
    "History",
    "Interactions",
    "Lists",
    "Logits",
    "Scores",
    "__version__",
    "audit",
    "compare",
    "evaluate",
    "explain",
    "identify",
    "metric",
    "report",
    "run",
    "split",
]

_WHERE = {
    "METRICS": "rectitude.metrics",
    "PROFILES": "rectitude.profiles",
    "Convention": "rectitude.convention",
    "Embeddings": "rectitude.predictions.scores",
    "Evaluation": "rectitude.aggregate.evaluation",
    "Evaluator": "rectitude.evaluation.stream",
    "History": "rectitude.reports.history",
    "Interactions": "rectitude.data.table",
    "Lists": "rectitude.predictions.lists",
    "Logits": "rectitude.predictions.logits",
    "Scores": "rectitude.predictions.scores",
    "audit": "rectitude.auditing",
    "compare": "rectitude.comparison.compare",
    "evaluate": "rectitude.evaluation.evaluate",
    "explain": "rectitude.explanation.explain",
    "identify": "rectitude.explanation.identify",
    "metric": "rectitude.metrics",
    "report": "rectitude.reports.page",
    "run": "rectitude.experiment.run",
    "split": "rectitude.splits.run",
}


def __getattr__(name: str) -> Any:
    """Public names are imported when first used: `import rectitude` costs next to nothing."""
    if name not in _WHERE:
        raise AttributeError(f"module 'rectitude' has no attribute {name!r}")
    from rectitude.kernels import nothing_collected  # noqa: PLC0415  (only when first used)

    with nothing_collected():
        value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
