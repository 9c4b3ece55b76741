"""Evaluate recommenders and rankers; every number says how it was computed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rectitude import forks  # noqa: F401  (watches for forks)
from rectitude._version import __version__

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.aggregate.evaluations import Evaluations
    from rectitude.aggregate.slices import Slices
    from rectitude.auditing import audit
    from rectitude.auditing.result import Audit
    from rectitude.candidate_sets.protocols import candidates
    from rectitude.candidate_sets.value import Candidates
    from rectitude.comparison.compare import compare
    from rectitude.comparison.result import Comparison
    from rectitude.convention import Convention
    from rectitude.data.ledger import Ledger
    from rectitude.data.log import Log
    from rectitude.data.sample import sample
    from rectitude.data.table import Interactions
    from rectitude.errors import RectitudeError
    from rectitude.evaluation.evaluate import evaluate
    from rectitude.evaluation.stream import Evaluator
    from rectitude.experiment.results import Run
    from rectitude.experiment.run import run
    from rectitude.experiment.verification import Verification, verify
    from rectitude.explanation.diagnose import diagnose
    from rectitude.explanation.diagnose.result import Diagnosis
    from rectitude.explanation.explain import explain
    from rectitude.explanation.explain.result import Explanation
    from rectitude.explanation.identify import identify
    from rectitude.explanation.identify.result import Identification
    from rectitude.explanation.robustness import Robustness, robustness
    from rectitude.explanation.trace import trace
    from rectitude.explanation.trace.result import Trace
    from rectitude.loading import load
    from rectitude.metrics.registry import METRICS, metric
    from rectitude.predictions.lists import Lists
    from rectitude.predictions.logits import Logits
    from rectitude.predictions.scores import Embeddings, Scores
    from rectitude.preparing import prepare
    from rectitude.profiles import PROFILES
    from rectitude.reports.board import board
    from rectitude.reports.history import History
    from rectitude.reports.page import report
    from rectitude.splits.run import split
    from rectitude.splits.split import Split

__all__ = [
    "METRICS",
    "PROFILES",
    "Audit",
    "Candidates",
    "Comparison",
    "Convention",
    "Diagnosis",
    "Embeddings",
    "Evaluation",
    "Evaluations",
    "Evaluator",
    "Explanation",
    "History",
    "Identification",
    "Interactions",
    "Ledger",
    "Lists",
    "Log",
    "Logits",
    "RectitudeError",
    "Robustness",
    "Run",
    "Scores",
    "Slices",
    "Split",
    "Trace",
    "Verification",
    "__version__",
    "audit",
    "board",
    "candidates",
    "compare",
    "diagnose",
    "evaluate",
    "explain",
    "identify",
    "load",
    "metric",
    "prepare",
    "report",
    "robustness",
    "run",
    "sample",
    "split",
    "trace",
    "verify",
]

_MODULES = {
    "METRICS": "rectitude.metrics",
    "PROFILES": "rectitude.profiles",
    "Audit": "rectitude.auditing.result",
    "Candidates": "rectitude.candidate_sets.value",
    "Comparison": "rectitude.comparison.result",
    "Convention": "rectitude.convention",
    "Diagnosis": "rectitude.explanation.diagnose.result",
    "Embeddings": "rectitude.predictions.scores",
    "Evaluation": "rectitude.aggregate.evaluation",
    "Evaluations": "rectitude.aggregate.evaluations",
    "Evaluator": "rectitude.evaluation.stream",
    "Explanation": "rectitude.explanation.explain.result",
    "History": "rectitude.reports.history",
    "Identification": "rectitude.explanation.identify.result",
    "Interactions": "rectitude.data.table",
    "Ledger": "rectitude.data.ledger",
    "Lists": "rectitude.predictions.lists",
    "Log": "rectitude.data.log",
    "Logits": "rectitude.predictions.logits",
    "RectitudeError": "rectitude.errors",
    "Robustness": "rectitude.explanation.robustness",
    "Run": "rectitude.experiment.results",
    "Scores": "rectitude.predictions.scores",
    "Slices": "rectitude.aggregate.slices",
    "Split": "rectitude.splits.split",
    "Trace": "rectitude.explanation.trace.result",
    "Verification": "rectitude.experiment.verification",
    "audit": "rectitude.auditing",
    "board": "rectitude.reports.board",
    "candidates": "rectitude.candidate_sets.protocols",
    "compare": "rectitude.comparison.compare",
    "diagnose": "rectitude.explanation.diagnose",
    "evaluate": "rectitude.evaluation.evaluate",
    "explain": "rectitude.explanation.explain",
    "identify": "rectitude.explanation.identify",
    "load": "rectitude.loading",
    "metric": "rectitude.metrics",
    "prepare": "rectitude.preparing",
    "report": "rectitude.reports.page",
    "robustness": "rectitude.explanation.robustness",
    "run": "rectitude.experiment.run",
    "sample": "rectitude.data.sample",
    "split": "rectitude.splits.run",
    "trace": "rectitude.explanation.trace",
    "verify": "rectitude.experiment.verification",
}

if not TYPE_CHECKING:  # hidden from type checkers, which would accept any name

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used, so that `import rectitude` is fast."""
        if name not in _MODULES:
            raise AttributeError(f"module 'rectitude' has no attribute {name!r}")
        from rectitude.kernels import without_gc  # noqa: PLC0415  (only when first used)

        with without_gc():
            value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
