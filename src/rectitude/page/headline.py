"""The table that a report begins with, and what it says in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rectitude.page.content import Content, Value


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of the table, and how it is marked."""

    value: float | None
    text: str
    interval: str = ""
    mark: str = ""
    """best, second, or nothing"""
    apart: bool = False
    """whether it is significantly different from the baseline's"""
    counted: int | None = None


def headline(content: Content) -> dict[str, Any]:
    """Models x metrics, with best, second best and significance marked."""
    metrics, models = list(content.values), content.models
    apart = _apart(content)
    rows = [
        {"model": model, "cells": [_cell(content, metric, model, apart) for metric in metrics]}
        for model in models
    ]
    baseline = None if content.comparison is None else content.comparison["baseline"]
    return {"metrics": metrics, "rows": rows, "baseline": baseline, "apart": bool(apart)}


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


def _cell(content: Content, metric: str, model: str, apart: set[tuple[str, str]]) -> Cell:
    value = content.values[metric].get(model)
    if value is None or value.value is None:
        return Cell(None, "–")
    return Cell(
        value.value, f"{value.value:.4f}", _spread(value), _mark(content, metric, value.value),
        (metric, model) in apart, value.counted,
    )  # fmt: skip


def _spread(value: Value) -> str:
    if value.low is not None and value.high is not None:
        return f"{value.low:.4f} to {value.high:.4f}"
    deviation = value.deviation
    return "" if deviation is None or math.isnan(deviation) else f"± {deviation:.4f}"


def _mark(content: Content, metric: str, value: float) -> str:
    """Best and second best where there are enough models for these words to mean something."""
    having = [one.value for one in content.values[metric].values() if one.value is not None]
    levels = sorted(set(having), reverse=content.best[metric] == "high")
    if len(levels) < 2:
        return ""
    if value == levels[0]:
        return "best"
    return "second" if len(having) > 2 and value == levels[1] else ""


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
    words = (
        f"{first} is best by {metric}: {having[first]:.4f}, then {second}: {having[second]:.4f}."
    )
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
    count = len(content.failures)
    if not count:
        return []
    return [f"{count} {'part' if count == 1 else 'parts'} failed: see the run details."]
