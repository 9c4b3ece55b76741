"""Evaluations in the output formats of the command line: one, or several side by side.

Several evaluations make one table, with runs as columns and metrics as rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from rectitude.aggregate.evaluation import Evaluation
from rectitude.aggregate.evaluations import (
    Evaluations,
    Runs,
    describe,
    grid_of,
    stack_rows,
    to_json,
    to_latex,
    to_markdown,
)
from rectitude.metrics import METRICS
from rectitude.render import Formulas
from rectitude.reports.smgcn import LINES, line, lines


def text(runs: Runs) -> str:
    """Return the table, followed by what the ledgers have in common, and the rest of each run."""
    profiles = dict.fromkeys(run.manifest.get("profile", "default") for run in runs.values())
    parts = [f"convention: {', '.join(profiles)}", grid_of(runs, _best).text()]
    if any("*" in line for line in parts[1].splitlines()):
        parts.append("* best of the row")
    return "\n".join([*parts, *describe(runs)]) + "\n"


def _best(name: str, runs: Iterable[Evaluation]) -> set[int]:
    """Return the positions of the runs with the best value; none if all are equal."""
    results = {
        position: run.results[name]
        for position, run in enumerate(runs)
        if name in run.results and not math.isnan(run.results[name].value)
    }
    if len({result.value for result in results.values()}) < 2:
        return set()
    metric = METRICS[next(iter(results.values())).metric]
    values = {position: result.value for position, result in results.items()}
    best = max(values.values()) if metric.best == "high" else min(values.values())
    return {position for position, value in values.items() if value == best}


_SINGLE: Mapping[str, Callable[[Evaluation], str]] = {
    "table": lambda evaluation: f"{evaluation}\n",
    "markdown": Evaluation.to_markdown,
    "latex": Evaluation.to_latex,
    "json": lambda evaluation: evaluation.to_json() + "\n",
    **dict.fromkeys(LINES, lambda evaluation: line(evaluation) + "\n"),
}
_SEVERAL: Mapping[str, Callable[[Runs], str]] = {
    "table": text,
    "markdown": partial(to_markdown, best_of=_best),
    "latex": to_latex,
    "json": to_json,
    **dict.fromkeys(LINES, lines),
}
_CONVENTIONS: Mapping[str, Callable[[Evaluations], str]] = {
    "table": lambda evaluations: f"{evaluations}\n",
    "markdown": Evaluations.to_markdown,
    "latex": Evaluations.to_latex,
    "json": Evaluations.to_json,
    **dict.fromkeys(LINES, lines),
}


def render_evaluations(evaluations: Runs, form: str, formulas: Formulas = "quoted") -> str:
    """Return one evaluation, or several by label, in an output format of the command line."""
    if len(evaluations) > 1 and form == "csv":
        return stack_rows({label: {"run": label} for label in evaluations}, evaluations, formulas)
    if len(evaluations) > 1:
        return _SEVERAL[form](evaluations)
    (evaluation,) = evaluations.values()
    if form == "csv":
        return (evaluation.slices or evaluation).to_csv(formulas)
    return _SINGLE[form](evaluation)


def render_conventions(
    runs: Mapping[str, Evaluations], form: str, formulas: Formulas = "quoted"
) -> str:
    """Return runs under several conventions in an output format of the command line."""
    if form != "csv":
        return _CONVENTIONS[form](flatten(runs))
    if len(runs) == 1:
        return flatten(runs).to_csv(formulas)
    keys = {
        label_of(run, convention): {"run": run, "convention": convention}
        for run, evaluations in runs.items()
        for convention in evaluations
    }
    return stack_rows(keys, flatten(runs), formulas)


def flatten(runs: Mapping[str, Evaluations]) -> Evaluations:
    """Return the evaluations of one run by convention, and those of several by run and
    convention."""
    if len(runs) == 1:
        return next(iter(runs.values()))
    return Evaluations(
        {
            label_of(run, convention): evaluation
            for run, evaluations in runs.items()
            for convention, evaluation in evaluations.items()
        }
    )


def label_of(run: str, convention: str) -> str:
    """Return the label of a run under a convention."""
    return f"{run} ({convention})"
