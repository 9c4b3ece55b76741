"""The table at the top of a report, and a summary in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rectitude.comparison.table import best_marks
from rectitude.render import Highlight
from rectitude.reports.content import Content, Value

NAMED = 3
"""The most failures that the summary names; the run details list all."""
WIDE = 8
"""The most metrics that fit side by side on a printed page."""


@dataclass(frozen=True, slots=True)
class HeadlineCell:
    """A number in the table, and how it is marked."""

    value: float | None
    text: str
    interval: str = ""
    mark: Highlight = ""
    apart: bool = False
    """whether it differs significantly from the baseline"""
    counted: int | None = None


def digits(value: float) -> str:
    """Format a number: four decimals, or another precision for very small and large numbers."""
    if value == 0 or 1e-4 <= abs(value) < 1e4:
        return f"{value:.4f}"
    return f"{value:,.1f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def headline(content: Content) -> dict[str, Any]:
    """Return the table of models x metrics, with best, second best and significance marked."""
    metrics, models = list(content.values), content.models
    apart = _find_significant(content)
    marks = {metric: _mark_best(content, metric) for metric in metrics}
    rows = [
        {
            "model": model,
            "cells": [
                _cell(row.get(model), marks[metric].get(model, ""), (metric, model) in apart)
                for metric, row in content.values.items()
            ],
        }
        for model in models
    ]
    baseline = None if content.comparison is None else content.comparison["baseline"]
    starts = range(0, len(metrics), WIDE) if len(metrics) > WIDE else ()
    return {
        "metrics": metrics, "rows": rows, "baseline": baseline, "apart": bool(apart),
        "small": _explain_small_numbers(content),
        "sheets": [(start, start + WIDE) for start in starts],
    }  # fmt: skip


def _explain_small_numbers(content: Content) -> str:
    """Explain the small numbers under the values."""
    values = [value for row in content.values.values() for value in row.values()]
    if any(value.low is not None for value in values):
        return "Small numbers: confidence interval."
    several = any(value.deviation is not None for value in values)
    return "Means over runs or splits; ± is their standard deviation." if several else ""


def _find_significant(content: Content) -> set[tuple[str, str]]:
    """Return the metrics and models that differ significantly from the baseline."""
    comparison = content.comparison
    if comparison is None or comparison["baseline"] is None:
        return set()
    baseline = comparison["baseline"]
    return {
        (row["metric"], row["model"])
        for row in comparison["differences"]
        if row["baseline"] == baseline and row["significant"]
    }


def _mark_best(content: Content, metric: str) -> dict[str, Highlight]:
    """Return the marks of the best and second best models."""
    row = content.values[metric]
    values = {model: value.value for model, value in row.items() if value.value is not None}
    return best_marks(values, content.best[metric])


def _cell(value: Value | None, mark: Highlight, apart: bool) -> HeadlineCell:
    if value is None or value.value is None:
        return HeadlineCell(None, "–")
    text = digits(value.value)
    return HeadlineCell(value.value, text, _format_spread(value), mark, apart, value.counted)


def _format_spread(value: Value) -> str:
    if value.low is not None and value.high is not None:
        return f"{digits(value.low)} to {digits(value.high)}"
    deviation = value.deviation
    return "" if deviation is None or math.isnan(deviation) else f"± {digits(deviation)}"


def summary(content: Content) -> list[str]:
    """Summarise the results in sentences."""
    return [
        *_describe_winner(content),
        *_describe_order(content),
        *_describe_audit(content),
        *_describe_failures(content),
    ]


def _describe_winner(content: Content) -> list[str]:
    metric = content.main or next(iter(content.values), "")
    if metric not in content.values or len(content.models) < 2:
        return []
    values = {m: v.value for m, v in content.values[metric].items() if v.value is not None}
    if len(values) < 2:
        return []
    high = content.best[metric] == "high"
    first, second = sorted(values, key=lambda model: values[model], reverse=high)[:2]
    runner_up = f"{second} with {digits(values[second])}"
    sentence = f"{first} has the best {metric}: {digits(values[first])}, followed by {runner_up}."
    return [sentence, *_describe_significance(content, metric, first)]


def _describe_significance(content: Content, metric: str, model: str) -> list[str]:
    comparison = content.comparison
    if comparison is None:
        return []
    rows = [row for row in comparison["differences"] if row["metric"] == metric]
    rows = [row for row in rows if model in _compared_models(row)]
    if not rows:
        return []
    unsure, alpha = [row for row in rows if not row["significant"]], comparison["alpha"]
    other = next(name for name in _compared_models(rows[0]) if name != model)
    if len(rows) == 1:
        subject, verb = f"Its difference from {other}", "is"
    else:
        subject, verb = "All of its differences", "are"
    if not unsure:
        return [f"{subject} {verb} statistically significant (corrected p below {alpha:g})."]
    if len(rows) > 1:
        subject = f"{len(unsure)} of its {len(rows)} differences"
    return [f"{subject} {verb} not statistically significant (corrected p of {alpha:g} or more)."]


def _compared_models(row: dict[str, Any]) -> tuple[str, str]:
    return row["model"], row["baseline"]


def _describe_order(content: Content) -> list[str]:
    robustness = content.robustness
    if robustness is None:
        return []
    tried, metric = len(robustness["standings"]), robustness["metric"]
    changing = sum(bool(standing["changed"]) for standing in robustness["standings"])
    if not changing:
        return [f"The order of models by {metric} is the same under {tried} other conventions."]
    return [f"{changing} of {tried} other conventions change the order of models by {metric}."]


def _describe_audit(content: Content) -> list[str]:
    if content.audit is None:
        return []
    findings = content.audit["findings"]
    serious = [finding for finding in findings if finding["severity"] == "serious"]
    if not serious:
        return ["The audit found nothing serious."]
    noun, pronoun = ("finding", "it") if len(serious) == 1 else ("findings", "them")
    return [f"The audit has {len(serious)} serious {noun}: read {pronoun} before the numbers."]


def _describe_failures(content: Content) -> list[str]:
    names = list(content.failures)
    if not names:
        return []
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return [f"Failed: {', '.join(names[:NAMED])}{more}; see the run details."]
