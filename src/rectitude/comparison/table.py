"""The table that papers print: models by metrics, with marks and what else is asked for.

What a table says about a number without words: best, second best, apart from others.

Numbers of a comparison as people write them: never a bare NaN, never minus zero.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from string import ascii_letters
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rectitude.errors import BadName

if TYPE_CHECKING:
    from rectitude.comparison.result import Comparison, Difference


class Mark(NamedTuple):
    """The marks of one number."""

    place: Literal["best", "second", ""] = ""
    apart: bool = False
    """whether it differs significantly from the baseline"""
    letters: str = ""
    """models that share a letter do not differ significantly; empty where there is a baseline"""


def marks(comparison: Comparison, metric: str) -> dict[str, Mark]:
    """The marks of each model."""
    standing = places(comparison.values[metric], comparison.best[metric])
    words: dict[int, Literal["best", "second"]] = {1: "best"}
    if len(standing) > 2:
        words[2] = "second"
    all_equal = len({*standing.values()}) < 2
    found = [one for one in comparison.differences if one.metric == metric]
    apart = {(one.model, one.baseline) for one in found if comparison.significant(one)}
    named = [*comparison.values[metric]]
    shared = letters(sorted(named, key=lambda model: standing.get(model, len(named) + 1)), apart)
    return {
        model: Mark(
            "" if all_equal else words.get(standing.get(model, 0), ""),
            (model, comparison.baseline) in apart,
            "" if comparison.baseline else shared[model],
        )
        for model in named
    }


def places(values: Mapping[str, float], best: str) -> dict[str, int]:
    """The place of each model that has a number: 1 is the best, and equal ones share a place."""
    known = {model: value for model, value in values.items() if not math.isnan(value)}
    levels = sorted(set(known.values()), reverse=best == "high")
    return {model: levels.index(value) + 1 for model, value in known.items()}


def letters(models: Sequence[str], apart: Collection[tuple[str, str]]) -> dict[str, str]:
    """A compact letter display: models share a letter unless they are apart.

    A letter stands for a largest group of models of which no two are apart (Piepho 2004). Letters
    go to groups in the order of the models.

    >>> letters(["x", "y", "z"], {("x", "z")})
    {'x': 'a', 'y': 'ab', 'z': 'b'}
    """
    near = {
        one: {m for m in models if m != one and not {(one, m), (m, one)} & {*apart}}
        for one in models
    }
    groups: list[frozenset[str]] = []
    _grow(frozenset(), {*models}, set(), near, groups)
    ordered = sorted(groups, key=lambda group: [model not in group for model in models])
    names = [_letter(number) for number in range(len(ordered))]
    return {m: "".join(n for n, g in zip(names, ordered, strict=True) if m in g) for m in models}


def _grow(
    chosen: frozenset[str],
    possible: set[str],
    done: set[str],
    near: Mapping[str, set[str]],
    groups: list[frozenset[str]],
) -> None:
    """Add the largest groups that hold the chosen and only possible models (Bron and Kerbosch)."""
    if not possible:
        groups += [] if done else [chosen]
        return
    pivot = max(possible | done, key=lambda model: len(near[model] & possible))
    for model in possible - near[pivot]:
        _grow(chosen | {model}, possible & near[model], done & near[model], near, groups)
        possible = possible - {model}
        done = done | {model}


def _letter(number: int) -> str:
    """a to Z, then a1, b1 and so on."""
    turns, letter = divmod(number, len(ascii_letters))
    return ascii_letters[letter] + (str(turns) if turns else "")


def written(value: float, form: str) -> str:
    """A number in a format; in words where it is none, and never minus zero."""
    if not math.isfinite(value):
        return "undefined" if math.isnan(value) else "infinite" if value > 0 else "-infinite"
    told = form.format(value)
    return told if any(digit in told for digit in "123456789") else form.format(0.0)


def shown(value: float) -> str:
    """The number of a model."""
    return written(value, "{:.4f}")


def change(one: Difference, value: float) -> str:
    """A change: of shares in percentage points, of other metrics in their own unit."""
    return written(100 * value, "{:+.2f} pp") if one.unit == "pp" else written(value, "{:+.4f}")


def percent(value: float | None) -> str:
    """A relative change; there is none from 0."""
    return "" if value is None else written(value, "{:+.1f}%")


def chance(p: float) -> str:
    """A p-value: small ones are not told from each other."""
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


Extra = Literal["interval", "points", "relative"]
"""What can stand beside a number: the interval of its mean, and the change from the baseline in
percentage points (or the metric's own unit) and in percent."""


class Cell(NamedTuple):
    """A text with its marks."""

    text: str
    mark: Mark = Mark()


class MetricColumn(NamedTuple):
    """The cells of one metric, model by model: its numbers, or what was asked for beside them."""

    metric: str
    what: str
    """empty for the numbers"""
    cells: list[Cell]


def columns(comparison: Comparison, show: Collection[Extra]) -> list[MetricColumn]:
    """The table without the names of the models."""
    _require_baseline(comparison, show)
    found = []
    for metric, values in comparison.values.items():
        told = marks(comparison, metric)
        cells = [Cell(_value(comparison, metric, model), told[model]) for model in values]
        found.append(MetricColumn(metric, "", cells))
        for extra in [extra for extra in _EXTRAS if extra in show]:
            beside = [Cell(_EXTRAS[extra](comparison, metric, model)) for model in values]
            found.append(MetricColumn(metric, heading(comparison, metric, extra), beside))
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
