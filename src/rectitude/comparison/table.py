"""The tables of a comparison: models by metrics as in papers, and the differences.

Marks show which numbers are best, second best, and significantly different from others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from string import ascii_letters
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from rectitude.errors import BadArgument
from rectitude.render import DAGGER, Cell, Grid, Highlight, format_number, interval

if TYPE_CHECKING:
    from rectitude.comparison.result import Comparison, Difference

Model = TypeVar("Model", bound=Hashable)
Extra = Literal["interval", "points", "relative"]
"""Columns that can be shown next to a number: its confidence interval, and the change from the
baseline in percentage points (or the metric's own unit) and in percent."""


def models(comparison: Comparison, show: Collection[Extra]) -> Grid:
    """Build the table of models: their numbers with marks, and any extra columns."""
    _require_baseline(comparison, show)
    columns = {
        (metric, heading): cells
        for metric in comparison.values
        for heading, cells in _build_columns(comparison, metric, show).items()
    }
    names = next(iter(comparison.values.values()))
    groups, headings = zip(("", "model"), *columns, strict=True)
    return Grid(headings, [*zip(names, *columns.values(), strict=True)], groups=groups)


def _build_columns(
    comparison: Comparison, metric: str, show: Collection[Extra]
) -> dict[str, list[Cell]]:
    """Return the numbers of a metric under an empty heading, and its extra columns."""
    marks_by_model = marks(comparison, metric)
    columns = {
        "": [
            Cell(_show_value(comparison, metric, m), mark.place, mark.raised)
            for m, mark in marks_by_model.items()
        ]
    }
    for extra, write in _EXTRAS.items():
        if extra in show:
            cells = [Cell(write(comparison, metric, model)) for model in marks_by_model]
            columns[_name_column(comparison, metric, extra)] = cells
    return columns


def _require_baseline(comparison: Comparison, show: Collection[Extra]) -> None:
    requested = [extra for extra in ("points", "relative") if extra in show]
    if requested and comparison.baseline is None:
        raise BadArgument(
            f"the column {requested[0]!r} needs a baseline, but none is given.",
            "baseline= (--baseline) with the name of the model to compare with.",
        )


def _name_column(comparison: Comparison, metric: str, extra: str) -> str:
    """Return the heading of an extra column."""
    units = [row.unit for row in comparison.differences if row.metric == metric]
    points = "pp" if "fraction" in units else "change"
    return {"interval": level(comparison), "points": points, "relative": "rel. %"}[extra]


def _show_value(comparison: Comparison, metric: str, model: str) -> str:
    """Format a number, with its standard deviation if there are several runs."""
    deviation = comparison.deviations.get(metric, {}).get(model, math.nan)
    value = format_number(comparison.values[metric][model])
    return value if not math.isfinite(deviation) else f"{value} ± {deviation:.4f}"


def _show_interval(comparison: Comparison, metric: str, model: str) -> str:
    ends = comparison.intervals.get(metric, {}).get(model)
    return "" if ends is None else interval(*ends)


def _show_points(comparison: Comparison, metric: str, model: str) -> str:
    row = _find_difference(comparison, metric, model)
    return "" if row is None else format_change(row, row.difference).removesuffix(" pp")


def _show_relative(comparison: Comparison, metric: str, model: str) -> str:
    row = _find_difference(comparison, metric, model)
    return "" if row is None else format_percent(row.relative).removesuffix("%")


def _find_difference(comparison: Comparison, metric: str, model: str) -> Difference | None:
    """Return the difference from the baseline; None for the baseline itself."""
    return None if model == comparison.baseline else comparison.of(metric, model)


_EXTRAS: Mapping[Extra, Callable[[Comparison, str, str], str]] = {
    "interval": _show_interval,
    "points": _show_points,
    "relative": _show_relative,
}


def differences(comparison: Comparison) -> Grid:
    """Build the table of differences."""
    heading = ["difference", "metric", "mean", f"{level(comparison)} from", "to", "relative", "p"]
    heading += ["corrected p", "dz", "better", "worse", "detectable"]
    heading += [] if comparison.margin is None else ["equivalence"]
    return Grid(heading, [_build_row(row) for row in comparison.differences])


def _build_row(row: Difference) -> list[str | Cell]:
    numbers = [format_change(row, value) for value in (row.difference, row.low, row.high)]
    numbers += [format_percent(row.relative), format_p(row.p), format_p(row.corrected)]
    numbers += [format_number(row.effect, "{:+.2f}"), f"{row.better:,}", f"{row.worse:,}"]
    numbers += [format_change(row, row.detectable).removeprefix("+")]
    numbers += [] if row.equivalence is None else [format_p(row.equivalence)]
    return [f"{row.model} - {row.baseline}", row.metric, *map(Cell, numbers)]


def level(comparison: Comparison) -> str:
    """Return the confidence level of the intervals: "95%"."""
    return f"{100 * (1 - comparison.alpha):g}%"


def format_change(row: Difference, value: float) -> str:
    """Format a change: in percentage points for shares, else in the metric's own unit."""
    if row.unit == "fraction":
        return format_number(100 * value, "{:+.2f} pp")
    return format_number(value, "{:+.4f}")


def format_percent(value: float | None) -> str:
    """Format a relative change; empty if the baseline is 0."""
    return "" if value is None else format_number(value, "{:+.1f}%")


def format_p(p: float) -> str:
    """Format a p-value; all values below 0.0001 look the same."""
    return "<0.0001" if p < 0.0001 else format_number(p)


def model_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Return one row per metric and model, for programs; None for values that do not apply."""
    rows = []
    for metric, values in comparison.values.items():
        ranks, marks_by_model = (
            rank_models(values, comparison.best[metric]),
            marks(comparison, metric),
        )
        for model, value in values.items():
            ends = comparison.intervals.get(metric, {}).get(model, (None, None))
            deviation = comparison.deviations.get(metric, {}).get(model)
            row = {"metric": metric, "model": model, "value": value, "deviation": deviation}
            row |= {"low": ends[0], "high": ends[1], "place": ranks.get(model)}
            difference = (
                _find_difference(comparison, metric, model) if comparison.baseline else None
            )
            row |= dict.fromkeys(
                ("difference", "unit", "relative_percent", "corrected", "significant")
            )
            if difference is not None:
                row |= {"difference": difference.difference, "unit": difference.unit}
                row["relative_percent"] = difference.relative
                row["corrected"] = difference.corrected
                row["significant"] = marks_by_model[model].significant
            rows.append(row | {"letters": marks_by_model[model].letters or None})
    return rows


class Mark(NamedTuple):
    """The marks of one number."""

    place: Highlight = ""
    significant: bool = False
    """whether it differs significantly from the baseline"""
    letters: str = ""
    """models that share a letter do not differ significantly; empty if there is a baseline"""

    @property
    def raised(self) -> str:
        """The superscript after the number."""
        return self.letters or (DAGGER if self.significant else "")


def marks(comparison: Comparison, metric: str) -> dict[str, Mark]:
    """Return the marks of each model."""
    values, best = comparison.values[metric], comparison.best[metric]
    ranks, best_or_second = rank_models(values, best), best_marks(values, best)
    rows = [row for row in comparison.differences if row.metric == metric]
    significant_pairs = {(row.model, row.baseline) for row in rows if comparison.significant(row)}
    shared = letters(
        sorted(values, key=lambda model: ranks.get(model, len(values) + 1)), significant_pairs
    )
    return {
        model: Mark(
            best_or_second.get(model, ""),
            (model, comparison.baseline) in significant_pairs,
            "" if comparison.baseline else shared[model],
        )
        for model in values
    }


def best_marks(values: Mapping[Model, float], best: str) -> dict[Model, Highlight]:
    """Mark the best and second best numbers, if there are enough different ones."""
    ranks = rank_models(values, best)
    if len({*ranks.values()}) < 2:
        return {}
    words: dict[int, Highlight] = {1: "best"}
    words |= {2: "second"} if len(ranks) > 2 else {}
    return {model: words.get(rank, "") for model, rank in ranks.items()}


def rank_models(values: Mapping[Model, float], best: str) -> dict[Model, int]:
    """Rank the models that have a number: 1 is the best, and equal numbers share a rank."""
    defined = {model: value for model, value in values.items() if not math.isnan(value)}
    levels = sorted(set(defined.values()), reverse=best == "high")
    return {model: levels.index(value) + 1 for model, value in defined.items()}


def letters(models: Sequence[str], different: Collection[tuple[str, str]]) -> dict[str, str]:
    """Return a compact letter display: models share a letter unless the pair is in `different`.

    Each letter stands for a maximal group of models without a pair in `different` (Piepho 2004).
    Letters are assigned to groups in the order of the models.

    >>> letters(["x", "y", "z"], {("x", "z")})
    {'x': 'a', 'y': 'ab', 'z': 'b'}
    """
    near = {
        model: {m for m in models if m != model and not {(model, m), (m, model)} & {*different}}
        for model in models
    }
    groups: list[frozenset[str]] = []
    _collect_groups(frozenset(), {*models}, set(), near, groups)
    ordered = sorted(groups, key=lambda group: [model not in group for model in models])
    names = [_name_group(number) for number in range(len(ordered))]
    return {m: "".join(n for n, g in zip(names, ordered, strict=True) if m in g) for m in models}


def _collect_groups(
    chosen: frozenset[str],
    possible: set[str],
    done: set[str],
    near: Mapping[str, set[str]],
    groups: list[frozenset[str]],
) -> None:
    """Add all maximal groups of the chosen and further possible models (Bron-Kerbosch)."""
    if not possible:
        groups += [] if done else [chosen]
        return
    pivot = max(possible | done, key=lambda model: len(near[model] & possible))
    for model in possible - near[pivot]:
        _collect_groups(chosen | {model}, possible & near[model], done & near[model], near, groups)
        possible = possible - {model}
        done = done | {model}


def _name_group(number: int) -> str:
    """Return a letter from a to Z, then a1, b1 and so on."""
    turns, letter = divmod(number, len(ascii_letters))
    return ascii_letters[letter] + (str(turns) if turns else "")
