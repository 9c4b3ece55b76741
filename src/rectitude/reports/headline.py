"""The table that a report begins with, and what it says in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rectitude.comparison.table import best_marks
from rectitude.render import Place
from rectitude.reports.content import Content, Value

NAMED = 3
"""Failures that the summary names; all are in the run details."""
WIDE = 8
"""Metrics that fit side by side on a sheet of paper."""


@dataclass(frozen=True, slots=True)
class HeadlineCell:
    """A number of the table, and how it is marked."""

    value: float | None
    text: str
    interval: str = ""
    mark: Place = ""
    apart: bool = False
    """whether it is significantly different from the baseline's"""
    counted: int | None = None


def digits(value: float) -> str:
    """A number in a table: four decimals, and more or fewer where these would say nothing."""
    if value == 0 or 1e-4 <= abs(value) < 1e4:
        return f"{value:.4f}"
    return f"{value:,.1f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def headline(content: Content) -> dict[str, Any]:
    """Models x metrics, with best, second best and significance marked."""
    metrics, models = list(content.values), content.models
    apart = _apart(content)
    marks = {metric: _marks(content, metric) for metric in metrics}
    rows = [
        {
            "model": model,
            "cells": [
                _cell(of.get(model), marks[metric].get(model, ""), (metric, model) in apart)
                for metric, of in content.values.items()
            ],
        }
        for model in models
    ]
    baseline = None if content.comparison is None else content.comparison["baseline"]
    starts = range(0, len(metrics), WIDE) if len(metrics) > WIDE else ()
    return {
        "metrics": metrics, "rows": rows, "baseline": baseline, "apart": bool(apart),
        "small": _small(content), "sheets": [(start, start + WIDE) for start in starts],
    }  # fmt: skip


def _small(content: Content) -> str:
    """What the small print under the numbers is."""
    every = [value for of in content.values.values() for value in of.values()]
    if any(value.low is not None for value in every):
        return "Small print: confidence interval."
    several = any(value.deviation is not None for value in every)
    return "Means over runs or splits; ± is their standard deviation." if several else ""


def _apart(content: Content) -> set[tuple[str, str]]:
    """Metrics and models that are significantly apart from the baseline."""
    found = content.comparison
    if found is None or found["baseline"] is None:
        return set()
    base = found["baseline"]
    return {
        (one["metric"], one["model"])
        for one in found["differences"]
        if one["baseline"] == base and one["significant"]
    }


def _marks(content: Content, metric: str) -> dict[str, Place]:
    """Which models are best and second best."""
    values = {m: one.value for m, one in content.values[metric].items() if one.value is not None}
    return best_marks(values, content.best[metric])


def _cell(value: Value | None, mark: Place, apart: bool) -> HeadlineCell:
    if value is None or value.value is None:
        return HeadlineCell(None, "–")
    text = digits(value.value)
    return HeadlineCell(value.value, text, _spread(value), mark, apart, value.counted)


def _spread(value: Value) -> str:
    if value.low is not None and value.high is not None:
        return f"{digits(value.low)} to {digits(value.high)}"
    deviation = value.deviation
    return "" if deviation is None or math.isnan(deviation) else f"± {digits(deviation)}"


def summary(content: Content) -> list[str]:
    """What the numbers say, in sentences."""
    return [*_winner(content), *_order(content), *_soundness(content), *_failed(content)]


def _winner(content: Content) -> list[str]:
    metric = content.main or next(iter(content.values), "")
    if metric not in content.values or len(content.models) < 2:
        return []
    having = {m: v.value for m, v in content.values[metric].items() if v.value is not None}
    if len(having) < 2:
        return []
    high = content.best[metric] == "high"
    first, second = sorted(having, key=lambda m: having[m], reverse=high)[:2]
    one, other = digits(having[first]), digits(having[second])
    words = f"{first} is best by {metric}: {one}, then {second}: {other}."
    return [words, *_against(content, metric, first)]


def _against(content: Content, metric: str, model: str) -> list[str]:
    found = content.comparison
    if found is None:
        return []
    own = [o for o in found["differences"] if o["metric"] == metric and model in _both(o)]
    if not own:
        return []
    sure, alpha = [o for o in own if o["significant"]], found["alpha"]
    if len(sure) < len(own):
        some = f"{len(own) - len(sure)} of its {len(own)} differences may be chance"
        return [f"{some} (corrected p of {alpha:g} or more)."]
    other = next(name for name in _both(own[0]) if name != model)
    whose = "all of its differences" if len(own) > 1 else f"its difference from {other}"
    return [f"For {whose} chance is an unlikely reason (corrected p below {alpha:g})."]


def _both(one: dict[str, Any]) -> tuple[str, str]:
    return one["model"], one["baseline"]


def _order(content: Content) -> list[str]:
    found = content.robustness
    if found is None:
        return []
    tried = len(found["standings"])
    changing = sum(bool(one["changed"]) for one in found["standings"])
    if not changing:
        return [f"The order by {found['metric']} is the same under {tried} other conventions."]
    return [f"{changing} of {tried} other conventions change the order by {found['metric']}."]


def _soundness(content: Content) -> list[str]:
    if content.audit is None:
        return []
    serious = [one for one in content.audit["findings"] if one["severity"] == "serious"]
    if not serious:
        return ["The audit found nothing serious."]
    noun = "finding" if len(serious) == 1 else "findings"
    return [f"The audit has {len(serious)} serious {noun}: read these before the numbers."]


def _failed(content: Content) -> list[str]:
    names = list(content.failures)
    if not names:
        return []
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return [f"Failed: {', '.join(names[:NAMED])}{more}; see the run details."]
