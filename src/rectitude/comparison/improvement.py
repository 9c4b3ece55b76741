"""What changed from one evaluation to another, in percentage points or the metric's own unit, and
in percent."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rectitude.aggregate.evaluation import Evaluation, Result
from rectitude.errors import BadArgument, NotComparable, NothingToEvaluate
from rectitude.metrics import METRICS
from rectitude.render import (
    Cell,
    Formulas,
    Grid,
    comment_latex,
    csv,
    escape_markdown,
    format_number,
    pad,
)

Row = Mapping[str, Any]
Changes = Mapping[str, Sequence[Row]]
"""the rows of each model, by its label"""


def improvement(baseline: Evaluation, other: Evaluation) -> list[dict[str, Any]]:
    """Return one row per metric in both evaluations, with the change from the first to the second.

    `difference` is in percentage points (`unit` is "pp") for metrics between 0 and 1, even if
    values are on a percent scale, and in the metric's own unit for all others. `relative` is in
    percent of the baseline, None if that is 0. `better` is None if nothing changed.
    """
    names = [name for name in baseline.results if name in other.results]
    if not names:
        raise NothingToEvaluate(
            f"the evaluations have no metric in common ({', '.join(baseline.results) or 'none'}; "
            f"{', '.join(other.results) or 'none'}).",
            "at least one metric in both.",
        )
    _require_same(names, baseline, other)
    _require_same_truth(baseline, other)
    return [_row(name, baseline.results[name], other.results[name]) for name in names]


def _require_same(names: Sequence[str], baseline: Evaluation, other: Evaluation) -> None:
    """Raise an error if metrics of the same name have different definitions."""
    pairs = {name: (baseline.results[name], other.results[name]) for name in names}
    changes = {n: find_differences(*pair) for n, pair in pairs.items() if find_differences(*pair)}
    if changes:
        lines = [f"{name} ({', '.join(changed)})" for name, changed in changes.items()]
        raise NotComparable(
            f"{len(changes)} of {len(names)} metrics are defined differently: "
            f"{'; '.join(lines[:5])}{'; ...' if len(lines) > 5 else ''}.",
            "the same definition in both.",
            "evaluate both under one convention.",
        )


def _require_same_truth(baseline: Evaluation, other: Evaluation) -> None:
    """Raise an error if the truths are known to differ."""
    if has_other_truth(baseline, other):
        raise NotComparable(
            "the two evaluations have different truths.",
            "the same truth in both.",
            "evaluate both models against the same truth: otherwise they cannot be compared.",
        )


def has_other_truth(first: Evaluation, second: Evaluation) -> bool:
    """Return whether the truths of two evaluations are known to differ."""
    truths = [side.manifest.get("inputs", {}).get("truth", {}) for side in (first, second)]
    before, after = (facts.get("fingerprint", "").partition(":") for facts in truths)
    return bool(before[0] == after[0] and before[2] != after[2])


def find_differences(first: Result, second: Result) -> list[str]:
    """Return the switches and parameters in which two definitions differ; "another metric" if they
    agree in all of these."""
    if first.fingerprint == second.fingerprint:
        return []
    settings, other_settings = ({**side.convention, **side.numbers} for side in (first, second))
    keys = [key for key in settings if settings[key] != other_settings.get(key)]
    return [f"{key}: {settings[key]} and {other_settings.get(key)}" for key in keys] or [
        "another metric"
    ]


def _row(name: str, baseline: Result, other: Result) -> dict[str, Any]:
    metric = METRICS[baseline.metric]
    unit, scale = "pp" if metric.bounds == (0.0, 1.0) else "", baseline.convention["scale"]
    row = {"metric": name, "baseline": baseline.value, "other": other.value}
    row |= {"unit": unit, "scale": scale}
    before, after = _scale_value(row, "baseline"), _scale_value(row, "other")
    change = after - before
    defined = math.isfinite(change)
    better = change > 0 if metric.best == "high" else change < 0
    return row | {
        "difference": change if defined else None,
        "relative": 100 * change / abs(before) if defined and before else None,
        "better": better if defined and change else None,
    }


def _scale_value(row: Row, side: str) -> float:
    """Return a value as it is shown: shares in percent, all others unchanged."""
    share = row["unit"] == "pp" and row["scale"] != "percent"
    return float(row[side]) * (100 if share else 1)


def line(row: Row) -> str:
    """Return one row as text: `59.97% -> 67.67%  +7.70 pp (+12.8%)`."""
    _, before, after, change, _ = _cells(row)
    return f"{before} -> {after}  {change}"


def text(rows: Sequence[Row]) -> str:
    """Return all rows, one line each: metric, values, change, and whether it is better."""
    lines = []
    for metric, before, after, change, verdict in pad([_cells(row) for row in rows]):
        lines.append(f"{metric}  {before} -> {after}  {change}  {verdict}".rstrip() + "\n")
    return "".join(lines)


def improvements(evaluations: Mapping[str, Evaluation]) -> Changes:
    """Return the changes from the first evaluation to each other one, by label."""
    if len(evaluations) < 2:
        raise BadArgument(
            f"an improvement was asked for, but there is only {len(evaluations)} evaluation.",
            "at least two: the first is the baseline of the others.",
        )
    first, *others = evaluations
    return {label: improvement(evaluations[first], evaluations[label]) for label in others}


def add_improvements(
    rendered: str, evaluations: Mapping[str, Evaluation], form: str, formulas: Formulas = "quoted"
) -> str:
    """Return evaluations in an output format of the command line, with the improvements from the
    first one. In CSV the improvements replace the values, which they contain."""
    first, changes = next(iter(evaluations), ""), improvements(evaluations)
    if form == "csv":
        flat = [_flat(row, first, label) for label, rows in changes.items() for row in rows]
        return csv(flat, formulas)
    if form == "json":
        told = {"baseline": first, "changes": {k: [*map(_storable, v)] for k, v in changes.items()}}
        whole = {**json.loads(rendered), "improvements": told}
        return json.dumps(whole, indent=1, allow_nan=False) + "\n"
    return rendered + "".join(_SECTIONS[form](rows, (first, k)) for k, rows in changes.items())


def _flat(row: Row, first: str, label: str) -> dict[str, Any]:
    """Return a row for CSV: both models, both values, and the change."""
    keys = ("metric", "baseline", "other", "difference", "unit", "relative", "better")
    values = {key: row[key] for key in keys}
    undefined = [key for key, value in values.items() if value != value]  # noqa: PLR0124  (NaN)
    return {"from": first, "to": label, **values, **dict.fromkeys(undefined)}


def _storable(row: Row) -> dict[str, Any]:
    """Return a row for JSON, which has no infinite or undefined numbers."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }


def markdown(rows: Sequence[Row], labels: tuple[str, str] = ("baseline", "other")) -> str:
    """Return the rows as a Markdown table."""
    return _grid(rows, labels).markdown() + "\n"


def latex(rows: Sequence[Row], labels: tuple[str, str] = ("baseline", "other")) -> str:
    """Return the rows as a LaTeX table, in the style of booktabs."""
    return _grid(rows, labels).latex()


_SECTIONS: Mapping[str, Callable[[Sequence[Row], tuple[str, str]], str]] = {
    "table": lambda rows, labels: f"\n{labels[0]} -> {labels[1]}:\n{text(rows)}",
    "markdown": lambda rows, labels: (
        f"\n{escape_markdown(' -> '.join(labels))}:\n\n{markdown(rows, labels)}"
    ),
    "latex": lambda rows, labels: f"\n{comment_latex(' to '.join(labels))}\n{latex(rows, labels)}",
}
"""the improvements of one model, by output format"""


def _grid(rows: Sequence[Row], labels: tuple[str, str]) -> Grid:
    body: list[list[str | Cell]] = [
        [metric, *map(Cell, numbers), end] for metric, *numbers, end in map(_cells, rows)
    ]
    return Grid(["metric", *labels, "change", ""], body)


def _cells(row: Row) -> list[str]:
    verdict = {True: "better", False: "worse", None: ""}[row["better"]]
    return [
        row["metric"],
        _show_value(row, "baseline"),
        _show_value(row, "other"),
        _show_change(row),
        verdict,
    ]


def _show_value(row: Row, side: str) -> str:
    return format_number(_scale_value(row, side), "{:.2f}%" if row["unit"] == "pp" else "{:.3f}")


def _show_change(row: Row) -> str:
    if row["difference"] is None:
        return "undefined"
    shown = format_number(row["difference"], "{:+.2f} pp" if row["unit"] == "pp" else "{:+.3f}")
    if row["relative"] is None:
        return shown
    return f"{shown} ({format_number(row['relative'], '{:+.1f}%')})"
