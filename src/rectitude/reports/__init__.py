"""Evaluations as people and programs read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rectitude.aggregate.evaluation import Evaluation
from rectitude.reports import runs, smgcn

_ONE: Mapping[str, Callable[[Evaluation], str]] = {
    "table": lambda evaluation: f"{evaluation}\n",
    "markdown": Evaluation.to_markdown,
    "csv": lambda evaluation: (evaluation.slices or evaluation).to_csv(),
    "latex": Evaluation.to_latex,
    "json": lambda evaluation: evaluation.to_json() + "\n",
    "smgcn": lambda evaluation: smgcn.line(evaluation) + "\n",
}
_SEVERAL: Mapping[str, Callable[[Mapping[str, Evaluation]], str]] = {
    "table": runs.text,
    "markdown": runs.markdown,
    "csv": runs.csv,
    "latex": runs.latex,
    "json": runs.json,
    "smgcn": smgcn.lines,
}


def rendered(evaluations: Mapping[str, Evaluation], form: str) -> str:
    """One evaluation, or several by label, in one of the formats of the command line."""
    if len(evaluations) > 1:
        return _SEVERAL[form](evaluations)
    return _ONE[form](next(iter(evaluations.values())))
