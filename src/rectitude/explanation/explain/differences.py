"""Two evaluations side by side: values, gaps, what their definitions and inputs differ in.

This needs nothing but what evaluations record. How much each difference adds to a gap needs the
predictions and the truth: see `rectitude.explain`.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rectitude.aggregate.evaluation import Evaluation, Result
from rectitude.convention import SWITCHES
from rectitude.errors import BadName
from rectitude.explanation.explain.result import (
    Change,
    decimals,
    formula_change,
    number_change,
    shown,
    switch_change,
)
from rectitude.metrics import METRICS
from rectitude.render import Grid

Sameness = Literal["the same", "different", "not comparable"]
_SIDES = ("predictions", "truth")
_NAMED = 3
"""more differences than that are counted in the table, and named below it"""


@dataclass(frozen=True, slots=True)
class SavedDifference:
    """A metric in two evaluations; a value is None where it is undefined."""

    metric: str
    first: float | None
    second: float | None
    changes: tuple[Change, ...]
    """what the two definitions differ in"""

    @property
    def gap(self) -> float | None:
        """The second value less the first."""
        if self.first is None or self.second is None:
            return None
        return self.second - self.first


@dataclass(frozen=True, slots=True)
class Differences:
    """What two evaluations differ in."""

    first: str
    second: str
    metrics: tuple[SavedDifference, ...]
    inputs: dict[str, Sameness]
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The differences for JSON."""
        facts = asdict(self)
        for one, told in zip(self.metrics, facts["metrics"], strict=True):
            told["gap"] = one.gap
        return {"format": "rectitude.differences", "version": 1, **facts}

    def to_json(self) -> str:
        """The differences as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        return _text(self)


def differences(first: Evaluation, second: Evaluation) -> Differences:
    """Compare two evaluations by what they record."""
    common = [name for name in first if name in second]
    if not common:
        raise BadName(
            f"the evaluations have no metric in common: {', '.join(first) or 'none'}; "
            f"{', '.join(second) or 'none'}.",
            "two evaluations with a metric of the same name.",
        )
    return Differences(
        str(first.manifest.get("profile", "default")),
        str(second.manifest.get("profile", "default")),
        tuple(_difference(name, first.result(name), second.result(name)) for name in common),
        {side: _sameness(first, second, side) for side in _SIDES},
        tuple(name for name in first if name not in second),
        tuple(name for name in second if name not in first),
    )


def _difference(name: str, first: Result, second: Result) -> SavedDifference:
    one, two = (None if math.isnan(r.value) else r.value for r in (first, second))
    return SavedDifference(name, one, two, tuple(_changes(first, second)))


def _changes(first: Result, second: Result) -> list[Change]:
    """What two definitions differ in, as far as it can matter."""
    obeyed = _obeyed(first) | _obeyed(second)
    changes = []
    if first.metric != second.metric:
        changes.append(formula_change(first.metric, second.metric))
    for name in SWITCHES:
        pair = (first.convention.get(name), second.convention.get(name))
        if pair[0] != pair[1] and (SWITCHES[name].stage != "metrics" or name in obeyed):
            changes.append(switch_change(name, *pair))
    for name in dict.fromkeys([*first.numbers, *second.numbers]):
        numbers = (first.numbers.get(name), second.numbers.get(name))
        if numbers[0] != numbers[1]:
            changes.append(number_change(name, *numbers))
    return changes


def _obeyed(result: Result) -> set[str]:
    """The metric switches that a metric obeys: all, if nobody knows it here."""
    return set(METRICS[result.metric].obeys if result.metric in METRICS else SWITCHES)


def _sameness(first: Evaluation, second: Evaluation, side: str) -> Sameness:
    """Whether two inputs are the same by their fingerprints, where these can be compared."""
    one, two = (
        str(evaluation.manifest.get("inputs", {}).get(side, {}).get("fingerprint", ""))
        for evaluation in (first, second)
    )
    if not one or one.partition(":")[0] != two.partition(":")[0]:
        return "not comparable"
    return "the same" if one == two else "different"


def _text(found: Differences) -> str:
    gaps = [one.gap for one in found.metrics if one.gap is not None]
    digits = decimals(*gaps)
    heading, rows = ["metric", "first", "second", "gap", "definitions differ in"], []
    for one in found.metrics:
        values = [_number(one.first, digits), _number(one.second, digits)]
        gap = "" if one.gap is None else f"{one.gap:+.{digits}f}"
        rows.append([one.metric, *values, gap, _named(one.changes)])
    lines = [f"first: {found.first}", f"second: {found.second}", Grid(heading, rows).text(), ""]
    lines += [f"{side}: {same}" for side, same in found.inputs.items()]
    for which, only in (("first", found.only_first), ("second", found.only_second)):
        lines += [f"only in the {which}: {', '.join(only)}"] if only else []
    lines += _sentences(found)
    return "\n".join([*lines, "", _verdict(found)])


def _named(changes: tuple[Change, ...]) -> str:
    """What differs, by name where that is short."""
    if len(changes) > _NAMED:
        return f"{len(changes)} choices"
    return ", ".join(change.name for change in changes) or "nothing"


def _sentences(found: Differences) -> list[str]:
    """Each change once, with the metrics it concerns."""
    concerned: dict[tuple[str, str, str], list[str]] = {}
    changes: dict[tuple[str, str, str], Change] = {}
    for one in found.metrics:
        for change in one.changes:
            key = (change.name, shown(change.first), shown(change.second))
            changes[key] = change
            concerned.setdefault(key, []).append(one.metric)
    lines = []
    for key, change in changes.items():
        lines += ["", f"{change.name}: {change.about} ({', '.join(concerned[key])})"]
        lines += [f"  {which}: {change.said(which)}" for which in ("first", "second")]
    return lines


def _verdict(found: Differences) -> str:
    defined_alike = not any(one.changes for one in found.metrics)
    equal = all(one.first == one.second for one in found.metrics)
    kinds = set(found.inputs.values())
    if defined_alike and equal:
        return "The definitions are the same, and so are the values."
    if defined_alike:
        return "The definitions are the same: the gaps come from the inputs."
    if kinds == {"the same"}:
        why = "The inputs are the same: the gaps come from the definitions."
    elif "different" in kinds:
        why = "Both definitions and inputs differ: the gaps come from both."
    else:
        why = "Whether the inputs are the same cannot be told."
    return f"{why} How much each adds takes the predictions and the truth to say."


def _number(value: float | None, digits: int) -> str:
    return "undefined" if value is None else f"{value:.{digits}f}"
