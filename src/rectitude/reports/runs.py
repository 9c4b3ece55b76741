"""Several evaluations side by side: runs as columns, metrics as rows."""

from __future__ import annotations

import json as json_module
import math
from collections.abc import Iterable, Mapping
from typing import Any

from rectitude import tables
from rectitude.aggregate.evaluation import Evaluation
from rectitude.metrics import METRICS

FORMAT = "rectitude.evaluations"
FORMAT_VERSION = 1
Runs = Mapping[str, Evaluation]


def text(runs: Runs) -> str:
    """The table, then what failed and what a reader should know about each run."""
    profiles = dict.fromkeys(run.manifest.get("profile", "default") for run in runs.values())
    parts = [f"convention: {', '.join(profiles)}", tables.aligned(_cells(runs, mark=True))]
    if len(runs) > 1:
        parts.append("* best of the row")
    for label, run in runs.items():
        told = [f"  ! {name} failed: {error}" for name, error in run.failures.items()]
        told += [f"  {'!' if e.weight == 'warning' else '*'} {e}" for e in run.ledger.warnings()]
        parts += ["", f"{label}:", *told] if told else []
    return "\n".join(parts) + "\n"


def markdown(runs: Runs) -> str:
    """The table as Markdown, the best of each row marked."""
    return tables.aligned(_cells(runs, mark=True)) + "\n"


def latex(runs: Runs) -> str:
    """The table as LaTeX, in the style of booktabs."""
    return tables.latex(_cells(runs, mark=False))


def csv(runs: Runs) -> str:
    """The table with full precision; empty where a metric failed or is undefined."""
    rows = []
    for name in _names(runs.values()):
        row: dict[str, Any] = {"metric": name}
        for label, run in runs.items():
            row |= _values(label, run, name)
        rows.append(row)
    return tables.csv(rows)


def _values(label: str, run: Evaluation, name: str) -> dict[str, float | None]:
    result = run.results.get(name)
    value = None if result is None or math.isnan(result.value) else result.value
    if not any(one.interval for one in run.results.values()):
        return {label: value}
    low, high = (result.interval if result else None) or (None, None)
    return {label: value, f"{label} low": low, f"{label} high": high}


def json(runs: Runs) -> str:
    """Every evaluation by label, as JSON text."""
    stored = {label: run.as_dict() for label, run in runs.items()}
    whole = {"format": FORMAT, "version": FORMAT_VERSION, "evaluations": stored}
    return json_module.dumps(whole, indent=1, allow_nan=False) + "\n"


def _names(runs: Iterable[Evaluation]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in [*run.results, *run.failures]))


def _cells(runs: Runs, mark: bool) -> list[list[str]]:
    """The table for people: heading first."""
    body = []
    for name in _names(runs.values()):
        best = _best(name, runs.values()) if mark else set()
        shown = [_cell(run, name) for run in runs.values()]
        marks = ["*" if label in best else " " if best else "" for label in range(len(shown))]
        body.append([name, *(cell + star for cell, star in zip(shown, marks, strict=True))])
    return [["metric", *runs], *body]


def _cell(run: Evaluation, name: str) -> str:
    if name not in run.results:
        return "failed"
    result = run.results[name]
    low_high = "" if result.interval is None else " [{:.4f}, {:.4f}]".format(*result.interval)
    return tables.number(result.value) + low_high


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
