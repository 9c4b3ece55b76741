"""Evaluations in the formats of the command line: one, or several side by side.

Several are one table, with runs as columns and metrics as rows.
"""

from __future__ import annotations

import json as json_module
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rectitude.aggregate import evaluation
from rectitude.aggregate.evaluation import FORMAT_OF_SEVERAL, Evaluation
from rectitude.metrics import METRICS
from rectitude.render import Grid, interval, number
from rectitude.render import csv as write_csv
from rectitude.reports.smgcn import line, lines

FORMAT_VERSION = 1
Runs = Mapping[str, Evaluation]


def text(runs: Runs) -> str:
    """The table, then what failed and what a reader should know about each run."""
    profiles = dict.fromkeys(run.manifest.get("profile", "default") for run in runs.values())
    parts = [f"convention: {', '.join(profiles)}", _table(runs, mark=True).text()]
    if any("*" in line for line in parts[1].splitlines()):
        parts.append("* best of the row")
    for label, run in runs.items():
        told = [f"! {name} failed: {error}" for name, error in run.failures.items()]
        told += [_tied(name, *r.ties) for name, r in run.results.items() if r.ties]
        parts += ["", f"{label}:", *told, str(run.ledger)]
        parts += [] if run.slices is None else ["", str(run.slices)]
    return "\n".join(parts) + "\n"


def _tied(name: str, worst: float, best: float) -> str:
    return f"- {name} lies between {number(worst)} and {number(best)}, as ties fall"


def markdown(runs: Runs) -> str:
    """The table as Markdown, the best of each row marked, and the slices of every run."""
    parted = {label: run.slices.to_markdown() for label, run in runs.items() if run.slices}
    more = "".join(f"\n{label}:\n\n{table}" for label, table in parted.items())
    return _table(runs, mark=True).markdown() + "\n" + more


def latex(runs: Runs) -> str:
    """The table as LaTeX, in the style of booktabs, and the slices of every run."""
    parted = {label: run.slices.to_latex() for label, run in runs.items() if run.slices}
    more = "".join(f"\n% {label}\n{table}" for label, table in parted.items())
    return _table(runs, mark=False).latex() + more


def csv(runs: Runs) -> str:
    """One row per run and number, with full precision; empty where a value is undefined."""
    rows = {
        label: evaluation.rows(run.results) if run.slices is None else run.slices.rows()
        for label, run in runs.items()
    }
    found = [{"run": label, **row} for label, mine in rows.items() for row in mine]
    columns = dict.fromkeys(key for row in found for key in row)
    return write_csv([{key: _defined(row.get(key)) for key in columns} for row in found])


def _defined(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def json(runs: Runs) -> str:
    """Every evaluation by label, as JSON text."""
    stored = {label: run.as_dict() for label, run in runs.items()}
    whole = {"format": FORMAT_OF_SEVERAL, "version": FORMAT_VERSION, "evaluations": stored}
    return json_module.dumps(whole, indent=1, allow_nan=False) + "\n"


def _names(runs: Iterable[Evaluation]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in [*run.results, *run.failures]))


def _table(runs: Runs, mark: bool) -> Grid:
    """The table for people."""
    body = []
    for name in _names(runs.values()):
        best = _best(name, runs.values()) if mark else set()
        shown = [_cell(run, name) for run in runs.values()]
        marks = ["*" if label in best else " " if best else "" for label in range(len(shown))]
        body.append([name, *(cell + star for cell, star in zip(shown, marks, strict=True))])
    return Grid(["metric", *runs], body)


def _cell(run: Evaluation, name: str) -> str:
    if name not in run.results:
        return "failed"
    result = run.results[name]
    ends = [] if result.interval is None else [interval(*result.interval)]
    return " ".join([number(result.value), *ends])


def _best(name: str, runs: Iterable[Evaluation]) -> set[int]:
    """Which runs have the best value; none if all are equally good."""
    found = {
        place: run.results[name]
        for place, run in enumerate(runs)
        if name in run.results and not math.isnan(run.results[name].value)
    }
    if len({result.value for result in found.values()}) < 2:
        return set()
    metric = METRICS[next(iter(found.values())).metric]
    values = {place: result.value for place, result in found.items()}
    best = max(values.values()) if metric.best == "high" else min(values.values())
    return {place for place, value in values.items() if value == best}


_ONE: Mapping[str, Callable[[Evaluation], str]] = {
    "table": lambda evaluation: f"{evaluation}\n",
    "markdown": Evaluation.to_markdown,
    "csv": lambda evaluation: (evaluation.slices or evaluation).to_csv(),
    "latex": Evaluation.to_latex,
    "json": lambda evaluation: evaluation.to_json() + "\n",
    "smgcn": lambda evaluation: line(evaluation) + "\n",
}
_SEVERAL: Mapping[str, Callable[[Mapping[str, Evaluation]], str]] = {
    "table": text,
    "markdown": markdown,
    "csv": csv,
    "latex": latex,
    "json": json,
    "smgcn": lines,
}


def rendered(evaluations: Mapping[str, Evaluation], form: str) -> str:
    """One evaluation, or several by label, in one of the formats of the command line."""
    if len(evaluations) > 1:
        return _SEVERAL[form](evaluations)
    return _ONE[form](next(iter(evaluations.values())))
