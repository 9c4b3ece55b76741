"""`robustness`: which conventions change the order of models?"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Literal, Unpack

import numpy as np
import polars as pl

from rectitude.errors import BadArgument, BadLists, RectitudeError
from rectitude.evaluation.inputs import Arguments, RawInputs, gather_arguments, with_sides
from rectitude.evaluation.plan import expand
from rectitude.explanation.explain.result import decimals
from rectitude.explanation.trials import (
    End,
    Opened,
    Trials,
    close,
    end_of,
    one_name,
    under_flips,
    under_profiles,
)
from rectitude.judge.judge import Judging
from rectitude.render import Grid, Printable, Tabular

Kind = Literal["base", "profile", "switch"]
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Standing:
    """The models under one convention, best first; models with equal values share a rank."""

    kind: Kind
    label: str
    values: Mapping[str, float]
    order: tuple[tuple[str, ...], ...]
    changed: tuple[Pair, ...] = ()
    """pairs of models whose order differs from the base"""

    @property
    def ranking(self) -> str:
        """The order of the models in one line."""
        return " > ".join(" = ".join(equal) for equal in self.order)


@dataclass(frozen=True, slots=True, repr=False)
class Robustness(Printable, Tabular):
    """The order of models under the base convention and under others."""

    metric: str
    base: Standing
    standings: tuple[Standing, ...]
    failures: Mapping[str, str]
    """conventions under which a model has no value, and the reason"""

    @property
    def changes(self) -> tuple[Standing, ...]:
        """The conventions that change the order."""
        return tuple(standing for standing in self.standings if standing.changed)

    @property
    def keeps(self) -> tuple[Standing, ...]:
        """The conventions that do not change the order."""
        return tuple(standing for standing in self.standings if not standing.changed)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as a dict for JSON."""
        return {"format": "rectitude.robustness", "version": 1, **asdict(self)}

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row per convention: the order, and the value of each model."""
        rows = [
            {"kind": one.kind, "convention": one.label, "order": one.ranking}
            | {"changed": _join_pairs(one.changed), **one.values}
            for one in (self.base, *self.standings)
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_json(self) -> str:
        """Return the result as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def _shown(self) -> Iterator[str | Grid]:
        return _shown(self)


def robustness(
    models: Mapping[str, object],
    truth: object,
    metric: str,
    profiles: Iterable[object] | None = None,
    base: object = "default",
    **inputs: Unpack[Arguments],
) -> Robustness:
    """Find the conventions under which the order of models changes.

    The models are ranked by a metric under every profile that defines it, and under every
    convention that differs from the base in one switch. Other arguments are those of `evaluate`.
    """
    if len(models) < 2:
        raise BadArgument(
            f"{len(models)} model{'s were' if len(models) != 1 else ' was'} given.",
            "at least two models, because robustness asks whether their ranking changes.",
            "add another model, such as a popularity baseline.",
        )
    name, first = one_name(metric), next(iter(models.values()))
    arguments = gather_arguments({}, truth, inputs)
    start = end_of(base, name)
    chosen = _choose_conventions(start, profiles, _with_predictions(arguments, first))
    ends = [end for _, end in chosen.values()]
    values = {
        model: _values(_with_predictions(arguments, predictions), ends)
        for model, predictions in models.items()
    }
    return _compare(str(name), chosen, values)


def _with_predictions(arguments: RawInputs, predictions: object) -> RawInputs:
    return with_sides(arguments, predictions, arguments.inputs["truth"])


def _choose_conventions(
    start: End, profiles: Iterable[object] | None, arguments: RawInputs
) -> dict[str, tuple[Kind, End]]:
    """Return the conventions to try, by label, the base first."""
    truth = Trials(arguments, [start.asked]).inputs(start.asked).truth.frame
    grades = truth["grade"].to_numpy() if "grade" in truth.columns else np.ones(0)
    kinds: tuple[tuple[Kind, Iterable[End]], ...] = (
        ("base", [start]),
        ("profile", under_profiles(start.asked.name, profiles)),
        ("switch", under_flips(start, grades)),
    )
    chosen: dict[str, tuple[Kind, End]] = {}
    for kind, ends in kinds:
        for end in ends:
            chosen.setdefault(end.label, (kind, end))
    return chosen


def _values(arguments: RawInputs, ends: Sequence[End]) -> dict[str, float | str]:
    """Return the value of a model under each convention, or the reason why there is none.

    The first convention is the base. If the model has no value under it, no other is tried.
    """
    deepest = [asked for end in ends for asked in expand([end.asked], end.profile).values()]
    opened = Opened(arguments, deepest)
    base, *others = ends
    values = {base.label: _value(opened.trials(base.profile), base)}
    if isinstance(values[base.label], str):
        return values
    for end in sorted(others, key=lambda end: str(Judging.of(end.asked.convention).switches)):
        trials = opened.trials(end.profile)
        trials.forget()
        values[end.label] = _value(trials, end)
    return values


def _value(trials: Trials, end: End) -> float | str:
    try:
        value = trials.result(end.asked, end.profile).value
    except RectitudeError as error:
        return error.found
    return value if math.isfinite(value) else f"the value is {value}."


def _compare(
    metric: str,
    chosen: Mapping[str, tuple[Kind, End]],
    values: Mapping[str, Mapping[str, float | str]],
) -> Robustness:
    standings: list[Standing] = []
    failures: dict[str, str] = {}
    for label, (kind, end) in chosen.items():
        under = {model: by_label[label] for model, by_label in values.items()}
        without = [model for model, value in under.items() if isinstance(value, str)]
        if without:
            failures[label] = f"{without[0]}: {under[without[0]]}"
        else:
            numbers = {model: float(value) for model, value in under.items()}
            standings.append(_standing(kind, label, numbers, end.asked.metric.best))
        if kind == "base" and without:
            raise BadLists(
                f"{metric!r} of model {without[0]} has no value under the base ({end.label}): "
                f"{under[without[0]]}",
                "a base convention under which every model has a value.",
                "choose another base, or change some of its switches.",
            )
    base = standings[0]
    others = (replace(standing, changed=_find_swaps(base, standing)) for standing in standings[1:])
    return Robustness(metric, base, tuple(others), failures)


def _standing(kind: Kind, label: str, values: dict[str, float], best: str) -> Standing:
    models = sorted(values, key=lambda model: -values[model] if best == "high" else values[model])
    order: list[list[str]] = []
    for model in models:
        if order and close(values[order[-1][0]], values[model]):
            order[-1].append(model)
        else:
            order.append([model])
    return Standing(kind, label, values, tuple(tuple(equal) for equal in order))


def _find_swaps(base: Standing, other: Standing) -> tuple[Pair, ...]:
    """Return the pairs whose order differs from the base, the better model of the base first."""
    before, after = (
        {model: rank for rank, equal in enumerate(standing.order) for model in equal}
        for standing in (base, other)
    )
    return tuple(
        (first, second)
        for first, second in combinations([model for equal in base.order for model in equal], 2)
        if _sign(before[first] - before[second]) != _sign(after[first] - after[second])
    )


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _shown(result: Robustness) -> Iterator[str | Grid]:
    base, tried, changes = result.base, len(result.standings), result.changes
    digits = decimals(*base.values.values())
    ranked = [model for equal in base.order for model in equal]
    values = ", ".join(f"{model} {base.values[model]:.{digits}f}" for model in ranked)
    yield from (f"{result.metric} under {base.label}: {base.ranking} ({values})", "")
    if changes:
        yield f"{len(changes)} of {tried} other conventions change the order:"
        rows = [[other.label, other.ranking, _join_pairs(other.changed)] for other in changes]
        yield Grid(["convention", "order", "changed pairs"], rows)
    else:
        yield f"None of the {tried} other conventions changes the order."
    for words, moved in (("Same order, other values", True), ("Same order, same values", False)):
        labels = [other.label for other in result.keeps if (other.values != base.values) is moved]
        yield from ["", f"{words}: {', '.join(labels)}."] if labels else []
    yield from _describe_failures(result.failures)


def _describe_failures(failures: Mapping[str, str]) -> list[str]:
    """Return the conventions that give no value, grouped by reason."""
    if not failures:
        return []
    labels_of: dict[str, list[str]] = {}
    for label, reason in failures.items():
        labels_of.setdefault(reason, []).append(label)
    lines = ["", "No value under:"]
    lines += [f"  {', '.join(labels)}: {reason}" for reason, labels in labels_of.items()]
    if any("0/0" in reason for reason in labels_of):
        lines.append("With undefined=zero in the base, lists whose value is 0/0 count as 0.")
    return lines


def _join_pairs(pairs: Iterable[Pair]) -> str:
    return ", ".join(f"{first}/{second}" for first, second in pairs)
