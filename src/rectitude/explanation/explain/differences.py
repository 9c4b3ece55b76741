"""Compare two saved evaluations: values, gaps, definitions and inputs.

This uses only what the evaluations recorded. To say how much each difference adds to a gap, the
predictions and the truth are needed: see `rectitude.explain`.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rectitude.aggregate.evaluation import Evaluation, Result
from rectitude.convention import SWITCHES
from rectitude.errors import NotComparable, make_visible
from rectitude.explanation.explain.result import (
    Change,
    decimals,
    format_choice,
    formula_change,
    number_change,
    switch_change,
)
from rectitude.metrics import METRICS
from rectitude.render import Grid

Sameness = Literal["the same", "different", "not comparable"]
_SIDES = ("predictions", "truth")
_NAMED = 3
"""If there are more differences, the table only counts them; they are named below it."""


@dataclass(frozen=True, slots=True)
class SavedDifference:
    """A metric in two evaluations; a value is None if it is undefined."""

    metric: str
    first: float | None
    second: float | None
    changes: tuple[Change, ...]
    """how the two definitions differ"""

    @property
    def gap(self) -> float | None:
        """The second value minus the first."""
        if self.first is None or self.second is None:
            return None
        return self.second - self.first


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences between two evaluations."""

    first: str
    second: str
    metrics: tuple[SavedDifference, ...]
    inputs: dict[str, Sameness]
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the differences as a dict for JSON."""
        facts = asdict(self)
        for difference, entry in zip(self.metrics, facts["metrics"], strict=True):
            entry["gap"] = difference.gap
        return {"format": "rectitude.differences", "version": 1, **facts}

    def to_json(self) -> str:
        """Return the differences as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        return make_visible(_text(self))


def differences(first: Evaluation, second: Evaluation) -> Differences:
    """Compare two evaluations by what they recorded."""
    common = [name for name in first if name in second]
    if not common:
        raise NotComparable(
            "the evaluations have no metric in common: "
            f"the first has {', '.join(first) or 'none'}, "
            f"the second has {', '.join(second) or 'none'}.",
            "at least one metric that they share.",
            "evaluate both with the same metrics.",
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
    before, after = (None if math.isnan(r.value) else r.value for r in (first, second))
    return SavedDifference(name, before, after, tuple(_changes(first, second)))


def _changes(first: Result, second: Result) -> list[Change]:
    """Return the differences between two definitions that can change the value."""
    obeyed = _switches_obeyed(first) | _switches_obeyed(second)
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


def _switches_obeyed(result: Result) -> set[str]:
    """Return the metric switches that a metric obeys; all of them if the metric is unknown here."""
    return set(METRICS[result.metric].obeys if result.metric in METRICS else SWITCHES)


def _sameness(first: Evaluation, second: Evaluation, side: str) -> Sameness:
    """Compare the fingerprints of two inputs."""
    before, after = (
        str(evaluation.manifest.get("inputs", {}).get(side, {}).get("fingerprint", ""))
        for evaluation in (first, second)
    )
    if not before or before.partition(":")[0] != after.partition(":")[0]:
        return "not comparable"
    return "the same" if before == after else "different"


def _text(differences: Differences) -> str:
    gaps = [metric.gap for metric in differences.metrics if metric.gap is not None]
    digits = decimals(*gaps)
    heading, rows = ["metric", "first", "second", "gap", "differences in definition"], []
    for metric in differences.metrics:
        values = [_number(metric.first, digits), _number(metric.second, digits)]
        gap = "" if metric.gap is None else f"{metric.gap:+.{digits}f}"
        rows.append([metric.metric, *values, gap, _name_changes(metric.changes)])
    lines = [f"first: {differences.first}", f"second: {differences.second}"]
    lines += [Grid(heading, rows).text(), ""]
    lines += [f"{side}: {same}" for side, same in differences.inputs.items()]
    for which in ("first", "second"):
        names = getattr(differences, f"only_{which}")
        lines += [f"only in the {which}: {', '.join(names)}"] if names else []
    lines += _sentences(differences)
    return "\n".join([*lines, "", _verdict(differences)])


def _name_changes(changes: tuple[Change, ...]) -> str:
    """Name the differences if there are few, or else count them."""
    if len(changes) > _NAMED:
        return f"{len(changes)} switches or parameters"
    return ", ".join(change.name for change in changes) or "none"


def _sentences(differences: Differences) -> list[str]:
    """Describe each change once, with the metrics that it affects."""
    affected: dict[tuple[str, str, str], list[str]] = {}
    changes: dict[tuple[str, str, str], Change] = {}
    for metric in differences.metrics:
        for change in metric.changes:
            key = (change.name, format_choice(change.first), format_choice(change.second))
            changes[key] = change
            affected.setdefault(key, []).append(metric.metric)
    lines = []
    for key, change in changes.items():
        lines += ["", f"{change.name}: {change.about} ({', '.join(affected[key])})"]
        lines += [f"  {which}: {change.describe(which)}" for which in ("first", "second")]
    return lines


def _verdict(differences: Differences) -> str:
    defined_alike = not any(metric.changes for metric in differences.metrics)
    equal = all(metric.first == metric.second for metric in differences.metrics)
    kinds = set(differences.inputs.values())
    if defined_alike and equal:
        return "The definitions are the same, and so are the values."
    if defined_alike:
        return "The definitions are the same: the gaps come from the inputs."
    if kinds == {"the same"}:
        why = "The inputs are the same: the gaps come from the definitions."
    elif "different" in kinds:
        why = "Both definitions and inputs differ: the gaps come from both."
    else:
        why = "The evaluations do not say whether their inputs are the same."
    return f"{why} To see how much each difference adds, pass the predictions and the truth."


def _number(value: float | None, digits: int) -> str:
    return "undefined" if value is None else f"{value:.{digits}f}"
