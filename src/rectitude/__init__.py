"""Recommender and ranker evaluation where every number says what it counted."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rectitude._version import __version__

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.auditing import audit
    from rectitude.comparing import compare
    from rectitude.convention import Convention
    from rectitude.data.interactions import Interactions
    from rectitude.engines.local import evaluate
    from rectitude.engines.streaming import Evaluator
    from rectitude.experiment.run import run
    from rectitude.explanation.explain import explain
    from rectitude.explanation.identify import identify
    from rectitude.metrics.registry import METRICS, metric
    from rectitude.page import report
    from rectitude.predictions.dense import Embeddings, Scores
    from rectitude.predictions.lists import Lists
    from rectitude.predictions.logits import Logits
    from rectitude.profiles import PROFILES
    from rectitude.reports.history import History
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
    "Embeddings": "rectitude.predictions.dense",
    "Evaluation": "rectitude.aggregate.evaluation",
    "Evaluator": "rectitude.engines.streaming",
    "History": "rectitude.reports.history",
    "Interactions": "rectitude.data.interactions",
    "Lists": "rectitude.predictions.lists",
    "Logits": "rectitude.predictions.logits",
    "Scores": "rectitude.predictions.dense",
    "audit": "rectitude.auditing",
    "compare": "rectitude.comparing",
    "evaluate": "rectitude.engines.local",
    "explain": "rectitude.explanation.explain",
    "identify": "rectitude.explanation.identify",
    "metric": "rectitude.metrics",
    "report": "rectitude.page",
    "run": "rectitude.experiment.run",
    "split": "rectitude.splits.run",
}


def __getattr__(name: str) -> Any:
    """Public names are imported when first used: `import rectitude` costs next to nothing."""
    if name not in _WHERE:
        raise AttributeError(f"module 'rectitude' has no attribute {name!r}")
    from rectitude.compiled import nothing_collected

    with nothing_collected():
        value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
