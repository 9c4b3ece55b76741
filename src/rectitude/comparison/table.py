"""The tables of a comparison: models by metrics as papers print them, and the differences.

Marks say without words which numbers are best, second best, and apart from others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from string import ascii_letters
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from rectitude.errors import BadName
from rectitude.render import DAGGER, Cell, Grid, Place, format_number, interval

if TYPE_CHECKING:
    from rectitude.comparison.result import Comparison, Difference

Model = TypeVar("Model", bound=Hashable)
Extra = Literal["interval", "points", "relative"]
"""What can stand beside a number: the interval of its mean, and the change from the baseline in
percentage points (or the metric's own unit) and in percent."""


def models(comparison: Comparison, show: Collection[Extra]) -> Grid:
    """The numbers of the models with their marks, and what is shown beside them."""
    _require_baseline(comparison, show)
    columns = {
        (metric, heading): cells
        for metric in comparison.values
        for heading, cells in _columns(comparison, metric, show).items()
    }
    names = next(iter(comparison.values.values()))
    groups, headings = zip(("", "model"), *columns, strict=True)
    return Grid(headings, [*zip(names, *columns.values(), strict=True)], groups=groups)


def _columns(comparison: Comparison, metric: str, show: Collection[Extra]) -> dict[str, list[Cell]]:
    """The numbers of a metric under an empty heading, and the columns beside them."""
    marked = marks(comparison, metric)
    found = {
        "": [
            Cell(_value(comparison, metric, m), one.place, one.raised) for m, one in marked.items()
        ]
    }
    for extra, write in _EXTRAS.items():
        if extra in show:
            beside = [Cell(write(comparison, metric, model)) for model in marked]
            found[_heading(comparison, metric, extra)] = beside
    return found


def _require_baseline(comparison: Comparison, show: Collection[Extra]) -> None:
    asked = [extra for extra in ("points", "relative") if extra in show]
    if asked and comparison.baseline is None:
        raise BadName(
            f"{asked[0]} are shown against a baseline, and there is none.",
            "baseline= (--baseline) with the model that others are compared with.",
        )


def _heading(comparison: Comparison, metric: str, extra: str) -> str:
    """What stands above a column beside the numbers."""
    own = next((one.unit for one in comparison.differences if one.metric == metric), "")
    return {"interval": level(comparison), "points": own or "change", "relative": "rel. %"}[extra]


def _value(comparison: Comparison, metric: str, model: str) -> str:
    """A number, with its spread over runs if there are any."""
    deviation = comparison.deviations.get(metric, {}).get(model, math.nan)
    value = format_number(comparison.values[metric][model])
    return value if not math.isfinite(deviation) else f"{value} ± {deviation:.4f}"


def _interval(comparison: Comparison, metric: str, model: str) -> str:
    ends = comparison.intervals.get(metric, {}).get(model)
    return "" if ends is None else interval(*ends)


def _points(comparison: Comparison, metric: str, model: str) -> str:
    one = _from_baseline(comparison, metric, model)
    return "" if one is None else change(one, one.difference).removesuffix(" pp")


def _relative(comparison: Comparison, metric: str, model: str) -> str:
    one = _from_baseline(comparison, metric, model)
    return "" if one is None else percent(one.relative).removesuffix("%")


def _from_baseline(comparison: Comparison, metric: str, model: str) -> Difference | None:
    """The difference from the baseline; the baseline itself has none."""
    return None if model == comparison.baseline else comparison.of(metric, model)


_EXTRAS: Mapping[Extra, Callable[[Comparison, str, str], str]] = {
    "interval": _interval,
    "points": _points,
    "relative": _relative,
}


def differences(comparison: Comparison) -> Grid:
    """Everything about each difference."""
    heading = ["difference", "metric", "mean", f"{level(comparison)} from", "to", "relative", "p"]
    heading += ["corrected", "dz", "better", "worse", "detectable"]
    heading += [] if comparison.margin is None else ["equivalence"]
    return Grid(heading, [_difference(one) for one in comparison.differences])


def _difference(one: Difference) -> list[str | Cell]:
    numbers = [change(one, value) for value in (one.difference, one.low, one.high)]
    numbers += [percent(one.relative), chance(one.p), chance(one.corrected)]
    numbers += [format_number(one.effect, "{:+.2f}"), f"{one.better:,}", f"{one.worse:,}"]
    numbers += [change(one, one.detectable).removeprefix("+")]
    numbers += [] if one.equivalence is None else [chance(one.equivalence)]
    return [f"{one.model} - {one.baseline}", one.metric, *map(Cell, numbers)]


def level(comparison: Comparison) -> str:
    """The confidence of the intervals: "95%"."""
    return f"{100 * (1 - comparison.alpha):g}%"


def change(one: Difference, value: float) -> str:
    """A change: of shares in percentage points, of other metrics in their own unit."""
    if one.unit == "pp":
        return format_number(100 * value, "{:+.2f} pp")
    return format_number(value, "{:+.4f}")


def percent(value: float | None) -> str:
    """A relative change; there is none from 0."""
    return "" if value is None else format_number(value, "{:+.1f}%")


def chance(p: float) -> str:
    """A p-value: small ones are not told from each other."""
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def model_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """One row per metric and model, for programs; None where there is nothing to say."""
    found = []
    for metric, values in comparison.values.items():
        standing, told = places(values, comparison.best[metric]), marks(comparison, metric)
        for model, value in values.items():
            ends = comparison.intervals.get(metric, {}).get(model, (None, None))
            deviation = comparison.deviations.get(metric, {}).get(model)
            row = {"metric": metric, "model": model, "value": value, "deviation": deviation}
            row |= {"low": ends[0], "high": ends[1], "place": standing.get(model)}
            one = _from_baseline(comparison, metric, model) if comparison.baseline else None
            row |= dict.fromkeys(("points", "relative", "corrected", "significant"))
            if one is not None:
                row["points"] = one.difference * (100 if one.unit else 1)
                row |= {"relative": one.relative, "corrected": one.corrected}
                row["significant"] = told[model].apart
            found.append(row | {"letters": told[model].letters or None})
    return found


class Mark(NamedTuple):
    """The marks of one number."""

    place: Place = ""
    apart: bool = False
    """whether it differs significantly from the baseline"""
    letters: str = ""
    """models that share a letter do not differ significantly; empty where there is a baseline"""

    @property
    def raised(self) -> str:
        """What stands raised after the number."""
        return self.letters or (DAGGER if self.apart else "")


def marks(comparison: Comparison, metric: str) -> dict[str, Mark]:
    """The marks of each model."""
    values, best = comparison.values[metric], comparison.best[metric]
    standing, placed = places(values, best), best_marks(values, best)
    found = [one for one in comparison.differences if one.metric == metric]
    apart = {(one.model, one.baseline) for one in found if comparison.significant(one)}
    shared = letters(sorted(values, key=lambda model: standing.get(model, len(values) + 1)), apart)
    return {
        model: Mark(
            placed.get(model, ""),
            (model, comparison.baseline) in apart,
            "" if comparison.baseline else shared[model],
        )
        for model in values
    }


def best_marks(values: Mapping[Model, float], best: str) -> dict[Model, Place]:
    """Best and second best, where there are enough numbers for these words to mean something."""
    standing = places(values, best)
    if len({*standing.values()}) < 2:
        return {}
    words: dict[int, Place] = {1: "best"}
    words |= {2: "second"} if len(standing) > 2 else {}
    return {model: words.get(place, "") for model, place in standing.items()}


def places(values: Mapping[Model, float], best: str) -> dict[Model, int]:
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
