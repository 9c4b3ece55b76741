"""What changed from one evaluation to another: in percentage points or the metric's own unit, and
in percent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rectitude.aggregate.evaluation import Evaluation, Result
from rectitude.errors import BadName, NothingToEvaluate
from rectitude.metrics import METRICS
from rectitude.render import Grid, format_number, pad

Row = Mapping[str, Any]


def improvement(baseline: Evaluation, other: Evaluation) -> list[dict[str, Any]]:
    """One row per number that both evaluations have, with the change from the first to the second.

    `difference` is in percentage points (`unit` is "pp") for metrics between 0 and 1, whatever the
    scale of the values, and in the metric's own unit for the others. `relative` is in percent of
    the baseline, None where that is 0. `better` is None where nothing changed.
    """
    names = [name for name in baseline.results if name in other.results]
    if not names:
        raise NothingToEvaluate(
            f"the evaluations have no number in common ({', '.join(baseline.results) or 'none'}; "
            f"{', '.join(other.results) or 'none'}).",
            "the same metrics in both.",
        )
    _require_same(names, baseline, other)
    _require_same_truth(baseline, other)
    return [_row(name, baseline.results[name], other.results[name]) for name in names]


def _require_same(names: Sequence[str], baseline: Evaluation, other: Evaluation) -> None:
    """An error if numbers of the same name are defined in different ways."""
    pairs = {name: (baseline.results[name], other.results[name]) for name in names}
    apart = {n: differing(*pair) for n, pair in pairs.items() if differing(*pair)}
    if apart:
        told = [f"{name} ({', '.join(how)})" for name, how in apart.items()]
        raise BadName(
            f"{len(apart)} of {len(names)} numbers are defined in different ways: "
            f"{'; '.join(told[:5])}{'; ...' if len(told) > 5 else ''}.",
            "the same definition on both sides.",
            "evaluate both under one convention.",
        )


def _require_same_truth(baseline: Evaluation, other: Evaluation) -> None:
    """An error if the truths are known to differ."""
    if other_truth(baseline, other):
        raise BadName(
            "the two evaluations have different truths.",
            "the same truth on both sides.",
            "a difference between models shows only on the same users and items.",
        )


def other_truth(one: Evaluation, two: Evaluation) -> bool:
    """Whether the truths of two evaluations are known to differ."""
    prints = [side.manifest.get("inputs", {}).get("truth", {}) for side in (one, two)]
    mine, theirs = (facts.get("fingerprint", "").partition(":") for facts in prints)
    return bool(mine[0] == theirs[0] and mine[2] != theirs[2])


def differing(one: Result, two: Result) -> list[str]:
    """The switches and numbers in which two definitions differ; the metric if it is none of
    them."""
    if one.fingerprint == two.fingerprint:
        return []
    first, second = ({**side.convention, **side.numbers} for side in (one, two))
    keys = [key for key in first if first[key] != second.get(key)]
    return [f"{key}: {first[key]} and {second.get(key)}" for key in keys] or ["another metric"]


def _row(name: str, baseline: Result, other: Result) -> dict[str, Any]:
    metric = METRICS[baseline.metric]
    unit, scale = "pp" if metric.bounds == (0.0, 1.0) else "", baseline.convention["scale"]
    row = {"metric": name, "baseline": baseline.value, "other": other.value}
    row |= {"unit": unit, "scale": scale}
    before, after = _shown(row, "baseline"), _shown(row, "other")
    change = after - before
    known = math.isfinite(change)
    better = change > 0 if metric.best == "high" else change < 0
    return row | {
        "difference": change if known else None,
        "relative": 100 * change / abs(before) if known and before else None,
        "better": better if known and change else None,
    }


def _shown(row: Row, side: str) -> float:
    """A value as it is written: shares in percent, all others as they are."""
    share = row["unit"] == "pp" and row["scale"] != "percent"
    return float(row[side]) * (100 if share else 1)


def line(row: Row) -> str:
    """One row as people write it: `59.97% -> 67.67%  +7.70 pp (+12.8%)`."""
    _, before, after, change, _ = _cells(row)
    return f"{before} -> {after}  {change}"


def text(rows: Sequence[Row]) -> str:
    """All rows, one line each: metric, values, change, and whether it is better."""
    lines = []
    for metric, before, after, change, verdict in pad([_cells(row) for row in rows]):
        lines.append(f"{metric}  {before} -> {after}  {change}  {verdict}".rstrip() + "\n")
    return "".join(lines)


def compared(evaluations: Mapping[str, Evaluation]) -> str:
    """Every evaluation beside the first, by label."""
    if len(evaluations) < 2:
        raise BadName("there is one evaluation.", "at least two to compare.")
    first, *others = evaluations
    blocks = {label: improvement(evaluations[first], evaluations[label]) for label in others}
    return "\n".join(f"{first} -> {label}:\n{text(rows)}" for label, rows in blocks.items())


def markdown(rows: Sequence[Row], labels: tuple[str, str] = ("baseline", "other")) -> str:
    """The rows as a Markdown table."""
    return Grid(["metric", *labels, "change", ""], [*map(_cells, rows)]).markdown() + "\n"


def _cells(row: Row) -> list[str]:
    verdict = {True: "better", False: "worse", None: ""}[row["better"]]
    return [row["metric"], _value(row, "baseline"), _value(row, "other"), _change(row), verdict]


def _value(row: Row, side: str) -> str:
    return format_number(_shown(row, side), "{:.2f}%" if row["unit"] == "pp" else "{:.3f}")


def _change(row: Row) -> str:
    if row["difference"] is None:
        return "undefined"
    shown = format_number(row["difference"], "{:+.2f} pp" if row["unit"] == "pp" else "{:+.3f}")
    if row["relative"] is None:
        return shown
    return f"{shown} ({format_number(row['relative'], '{:+.1f}%')})"
