"""The table that papers print: models by metrics, with marks and what else is asked for."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rectitude.comparing.marks import Mark, marks, places
from rectitude.comparing.numbers import change, percent, shown
from rectitude.errors import BadName

if TYPE_CHECKING:
    from rectitude.comparing.result import Comparison, Difference

Extra = Literal["interval", "points", "relative"]
"""What can stand beside a number: the interval of its mean, and the change from the baseline in
percentage points (or the metric's own unit) and in percent."""


class Cell(NamedTuple):
    """A text with its marks."""

    text: str
    mark: Mark = Mark()


class Column(NamedTuple):
    """The cells of one metric, model by model: its numbers, or what was asked for beside them."""

    metric: str
    what: str
    """empty for the numbers"""
    cells: list[Cell]


def columns(comparison: Comparison, show: Collection[Extra]) -> list[Column]:
    """The table without the names of the models."""
    _require_baseline(comparison, show)
    found = []
    for metric, values in comparison.values.items():
        told = marks(comparison, metric)
        cells = [Cell(_value(comparison, metric, model), told[model]) for model in values]
        found.append(Column(metric, "", cells))
        for extra in [extra for extra in _EXTRAS if extra in show]:
            beside = [Cell(_EXTRAS[extra](comparison, metric, model)) for model in values]
            found.append(Column(metric, heading(comparison, metric, extra), beside))
    return found


def _require_baseline(comparison: Comparison, show: Collection[Extra]) -> None:
    asked = [extra for extra in ("points", "relative") if extra in show]
    if asked and comparison.baseline is None:
        raise BadName(
            f"{asked[0]} are shown against a baseline, and there is none.",
            "baseline= (--baseline) with the model that others are compared with.",
        )


def heading(comparison: Comparison, metric: str, extra: str) -> str:
    """What stands above a column beside the numbers."""
    own = next((one.unit for one in comparison.differences if one.metric == metric), "")
    level = f"{100 * (1 - comparison.alpha):g}%"
    return {"interval": level, "points": own or "change", "relative": "rel. %"}[extra]


def _value(comparison: Comparison, metric: str, model: str) -> str:
    """A number, with its spread over runs if there are any."""
    deviation = comparison.deviations.get(metric, {}).get(model, math.nan)
    value = shown(comparison.values[metric][model])
    return value if not math.isfinite(deviation) else f"{value} ± {deviation:.4f}"


def _interval(comparison: Comparison, metric: str, model: str) -> str:
    ends = comparison.intervals.get(metric, {}).get(model)
    return "" if ends is None else f"[{shown(ends[0])}, {shown(ends[1])}]"


def _points(comparison: Comparison, metric: str, model: str) -> str:
    one = _against(comparison, metric, model)
    return "" if one is None else change(one, one.difference).removesuffix(" pp")


def _relative(comparison: Comparison, metric: str, model: str) -> str:
    one = _against(comparison, metric, model)
    return "" if one is None else percent(one.relative).removesuffix("%")


def _against(comparison: Comparison, metric: str, model: str) -> Difference | None:
    """The difference from the baseline; the baseline itself has none."""
    if model == comparison.baseline:
        return None
    return comparison.of(metric, model)


_EXTRAS: dict[str, Any] = {"interval": _interval, "points": _points, "relative": _relative}


def rows(comparison: Comparison) -> list[dict[str, Any]]:
    """One row per metric and model, for programs; None where there is nothing to say."""
    found = []
    for metric, values in comparison.values.items():
        standing, told = places(values, comparison.best[metric]), marks(comparison, metric)
        for model, value in values.items():
            ends = comparison.intervals.get(metric, {}).get(model, (None, None))
            deviation = comparison.deviations.get(metric, {}).get(model)
            row = {"metric": metric, "model": model, "value": value, "deviation": deviation}
            row |= {"low": ends[0], "high": ends[1], "place": standing.get(model)}
            one = _against(comparison, metric, model) if comparison.baseline else None
            row["points"] = None if one is None else one.difference * (100 if one.unit else 1)
            row["relative"] = None if one is None else one.relative
            row["corrected"] = None if one is None else one.corrected
            row["significant"] = None if one is None else told[model].apart
            found.append(row | {"letters": told[model].letters or None})
    return found
