"""`robustness`: under which conventions does the order of models change?"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Literal, Unpack

import numpy as np

from rectitude.errors import BadLists, BadName, RectitudeError
from rectitude.evaluation.inputs import Arguments, Given, given_of
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
from rectitude.render import Grid

Kind = Literal["base", "profile", "switch"]
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Standing:
    """The models under one convention, best first; equal ones stand together."""

    kind: Kind
    label: str
    values: Mapping[str, float]
    order: tuple[tuple[str, ...], ...]
    changed: tuple[Pair, ...] = ()
    """pairs of models that stand otherwise than in the base"""

    @property
    def ranking(self) -> str:
        """The order in one line."""
        return " > ".join(" = ".join(equal) for equal in self.order)


@dataclass(frozen=True, slots=True)
class Robustness:
    """The order of models in the base convention, and what becomes of it under others."""

    metric: str
    base: Standing
    standings: tuple[Standing, ...]
    failures: Mapping[str, str]
    """conventions under which a model has no value, and why"""

    @property
    def changes(self) -> tuple[Standing, ...]:
        """The conventions that change the order."""
        return tuple(one for one in self.standings if one.changed)

    @property
    def keeps(self) -> tuple[Standing, ...]:
        """The conventions that leave the order as it is."""
        return tuple(one for one in self.standings if not one.changed)

    def as_dict(self) -> dict[str, Any]:
        """The findings for JSON."""
        return {"format": "rectitude.robustness", "version": 1, **asdict(self)}

    def to_json(self) -> str:
        """The findings as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        return _text(self)


def robustness(
    models: Mapping[str, object],
    truth: object,
    metric: str,
    profiles: Iterable[object] | None = None,
    base: object = "default",
    **inputs: Unpack[Arguments],
) -> Robustness:
    """Order models by a metric under every profile that defines it, and under every convention that
    differs from the base in one switch; say which of them change the order.

    Other arguments are those of `evaluate`.
    """
    if len(models) < 2:
        raise BadName(f"{len(models)} model was given.", "at least two, whose order can change.")
    name, first = one_name(metric), next(iter(models.values()))
    given = given_of(None, truth, inputs)
    start = end_of(base, name)
    chosen = _chosen(start, profiles, _of(given, first))
    ends = [end for _, end in chosen.values()]
    values = {label: _values(_of(given, one), ends) for label, one in models.items()}
    return _compared(str(name), chosen, values)


def _of(given: Given, predictions: object) -> Given:
    return replace(given, inputs={**given.inputs, "predictions": predictions})


def _chosen(
    start: End, profiles: Iterable[object] | None, given: Given
) -> dict[str, tuple[Kind, End]]:
    """The conventions to try, by label, the base first."""
    truth = Trials(given, [start.asked]).inputs(start.asked).truth.frame
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


def _values(given: Given, ends: Sequence[End]) -> dict[str, float | str]:
    """The value of a model under each convention, or why there is none."""
    deepest = [one for end in ends for one in expand([end.asked], end.profile).values()]
    opened = Opened(given, deepest)
    found: dict[str, float | str] = {}
    for end in sorted(ends, key=lambda end: str(Judging.of(end.asked.convention).switches)):
        trials = opened.trials(end.profile)
        trials.forget()
        found[end.label] = _value(trials, end)
    return found


def _value(trials: Trials, end: End) -> float | str:
    try:
        value = trials.result(end.asked, end.profile).value
    except RectitudeError as error:
        return error.found
    return value if math.isfinite(value) else f"the value is {value}."


def _compared(
    metric: str,
    chosen: Mapping[str, tuple[Kind, End]],
    values: Mapping[str, Mapping[str, float | str]],
) -> Robustness:
    standings: list[Standing] = []
    failures: dict[str, str] = {}
    for label, (kind, end) in chosen.items():
        under = {model: own[label] for model, own in values.items()}
        without = [model for model, value in under.items() if isinstance(value, str)]
        if without:
            failures[label] = f"{without[0]}: {under[without[0]]}"
        else:
            numbers = {model: float(value) for model, value in under.items()}
            standings.append(_standing(kind, label, numbers, end.asked.metric.best))
        if kind == "base" and without:
            raise BadLists(
                f"{metric!r} of {without[0]} has no value under the base ({end.label}): "
                f"{under[without[0]]}",
                "a base under which every model has a value.",
                "name another base, or switches to change.",
            )
    base = standings[0]
    others = (replace(one, changed=_changed(base, one)) for one in standings[1:])
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


def _changed(base: Standing, other: Standing) -> tuple[Pair, ...]:
    """The pairs of models that stand otherwise than in the base, the better one there first."""
    before, after = (
        {model: place for place, equal in enumerate(one.order) for model in equal}
        for one in (base, other)
    )
    return tuple(
        (one, two)
        for one, two in combinations([model for equal in base.order for model in equal], 2)
        if _sign(before[one] - before[two]) != _sign(after[one] - after[two])
    )


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _text(found: Robustness) -> str:
    digits = decimals(*found.base.values.values())
    said = ", ".join(f"{m} {v:.{digits}f}" for m, v in found.base.values.items())
    lines = [f"{found.metric} under {found.base.label}: {found.base.ranking} ({said})", ""]
    tried = len(found.standings)
    if found.changes:
        lines.append(f"{len(found.changes)} of {tried} other conventions change the order:")
        rows = [[one.label, one.ranking, _pairs(one.changed)] for one in found.changes]
        lines += [Grid(["convention", "order", "changed"], rows).text()]
    else:
        lines.append(f"None of {tried} other conventions changes the order.")
    for words, moved in (("and move the values", True), ("and change no value", False)):
        labels = [one.label for one in found.keeps if (one.values != found.base.values) is moved]
        lines += ["", f"Leave the order as it is {words}: {', '.join(labels)}."] if labels else []
    if found.failures:
        lines += ["", "Give no value:"]
        alike: dict[str, list[str]] = {}
        for label, reason in found.failures.items():
            alike.setdefault(reason, []).append(label)
        lines += [f"  {', '.join(labels)}: {reason}" for reason, labels in alike.items()]
        undefined = any("0/0" in reason for reason in alike)
        lines += ["A base with undefined=zero gives lists of 0/0 a value."] if undefined else []
    return "\n".join(lines)


def _pairs(pairs: Iterable[Pair]) -> str:
    return ", ".join(f"{one}/{two}" for one, two in pairs)
