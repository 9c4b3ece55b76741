"""Evaluate the same predictions under many conventions.

Inputs are opened once, and lists are judged once for each way of judging. An `End` is what a metric
means under a profile, under a convention, or in a saved evaluation. Other ends are derived from it:
one for each profile, and one for each single switch that is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rectitude.aggregate.evaluation import Evaluation, Keys, Result
from rectitude.arrays import Floats
from rectitude.convention import SWITCHES, Convention, Switch, Threshold, parse_value
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs
from rectitude.errors import BadName, RectitudeError
from rectitude.evaluation.batch import Batch, judge_aligned, judge_for, view_of
from rectitude.evaluation.evaluate import results_of
from rectitude.evaluation.inputs import RawInputs, Reach, choices_at_opening, open_inputs
from rectitude.evaluation.measure import has_values, total_of
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.state import State
from rectitude.judge.align import align_inputs
from rectitude.judge.judged import Judged
from rectitude.metrics import METRICS
from rectitude.metrics.names import Name, parse_all
from rectitude.predictions.scores import Embeddings, Scores
from rectitude.profiles import PROFILES, Asked, Profile, profile_of

VERDICTS_KEPT = 12
"""Judged lists take memory. Few are enough, as conventions that judge alike come together."""


def close(one: float | Floats, other: float | Floats) -> Any:
    """Return whether values are equal except for floating-point rounding; NaN equals NaN.

    The tolerance is relative to the larger value, so swapping the two changes nothing.
    """
    options: dict[str, Any] = {"rtol": 1e-14, "atol": 1e-15, "equal_nan": True}
    return np.isclose(one, other, **options) | np.isclose(other, one, **options)


@dataclass
class Opened:
    """Inputs, opened once for each padding item that profiles name."""

    given: RawInputs
    deepest: Sequence[Asked]
    by_padding: dict[Any, Trials] = field(default_factory=dict)

    def trials(self, profile: Profile) -> Trials:
        """Return the inputs without the padding item of a profile."""
        padding = profile.padding if takes_padding(self.given.inputs["predictions"]) else None
        if padding not in self.by_padding:
            self.by_padding[padding] = Trials(replace(self.given, padding=padding), self.deepest)
        return self.by_padding[padding]


def takes_padding(predictions: object) -> bool:
    """Return whether a profile's padding item must be left out of these predictions."""
    return isinstance(predictions, Scores | Embeddings) and predictions.padding is None


@dataclass
class Trials:
    """Predictions and truth that are evaluated under one convention after another.

    `deepest` lists all metrics and conventions that will be tried. They decide how many of the best
    items are read from dense scores.
    """

    given: RawInputs
    deepest: Sequence[Asked]
    batches: dict[Any, Batch] = field(default_factory=dict)

    def result(self, asked: Asked, profile: Profile | None = None) -> Result:
        """Return a metric under its convention; raise a `RectitudeError` if it has no value.

        The profile defines the metrics that a derived metric is computed from.
        """
        profile = profile or Profile(name="trial", convention=asked.convention)
        plan, batch = Plan.of([asked], profile), self.batch(asked)
        measured = plan.measured.items()
        values = {name: np.empty(batch.size) for name, part in measured if has_values(part)}
        totals = {name: total_of(plan, batch, part, values.get(name)) for name, part in measured}
        results, failures = results_of(plan, State(totals), batch.facts, values)
        for error in failures.values():
            raise error
        return results[str(asked.name)]

    def judged(self, asked: Asked) -> Judged:
        """Return the lists as a metric sees them under its convention."""
        plan, batch = alone(asked), self.batch(asked)
        return view_of(plan, batch, asked, judge_for(plan, batch, asked).judged)

    def keys(self, asked: Asked) -> Keys:
        """Return the keys of the lists that have the values."""
        return self.batch(asked).lists

    def ledger(self, asked: Asked) -> Ledger:
        """Return the ledger that `evaluate` would print; empty if the lists cannot be judged."""
        aligned = self.batch(asked).aligned
        try:
            return (
                Ledger() if aligned is None else judge_aligned(alone(asked), aligned).full_ledger()
            )
        except RectitudeError:
            return Ledger()

    def inputs(self, asked: Asked) -> Inputs:
        """Return the inputs as they are opened for a metric."""
        return open_inputs(self.given, Reach.of(self.deepest), asked.convention)

    def forget(self) -> None:
        """Drop judged lists if there are many."""
        for batch in self.batches.values():
            if len(batch.verdicts) > VERDICTS_KEPT:
                batch.verdicts.clear()
                batch.views.clear()

    def batch(self, asked: Asked) -> Batch:
        """Return the lists; metrics whose switches open the inputs alike share them."""
        convention = asked.convention
        has_candidates = self.given.inputs.get("candidates") is not None
        key = tuple(choices_at_opening(convention, has_candidates).values())
        if key not in self.batches:
            inputs = open_inputs(self.given, Reach.of(self.deepest), convention)
            self.batches[key] = Batch.of(align_inputs(inputs, exact_items=True), bounds=False)
        return self.batches[key]


def alone(asked: Asked) -> Plan:
    """Return the plan of one metric under its convention."""
    return Plan.of([asked], Profile(name="trial", convention=asked.convention))


@dataclass(frozen=True, slots=True)
class End:
    """A metric as one of two sides defines it."""

    label: str
    asked: Asked
    profile: Profile
    """defines the metrics that a derived metric is computed from"""
    recorded: float | None = None
    """the value in the evaluation, if the end is one"""


def one_name(metric: str) -> Name:
    """Return the one metric that a text names."""
    names = parse_all(metric)
    if len(names) != 1:
        raise BadName(
            f"{metric!r} names {len(names)} metrics.",
            "one metric, such as 'ndcg@10'.",
            "ask for one metric at a time.",
        )
    return names[0]


def end_of(side: object, name: Name) -> End:
    """Return what a metric means on one side.

    A side is a profile or its name, a convention, a dict of switches, or an evaluation.
    """
    require_mean(name)
    if isinstance(side, Evaluation):
        return _read_recorded(side, name)
    if isinstance(side, Convention):
        changes = Convention().differences(side)
        side = {switch: new for switch, (_, new) in changes.items()}
    profile = profile_of(side)
    try:
        asked = profile.resolve(name)
    except RectitudeError as error:
        raise type(error)(
            f"{str(name)!r} is not defined under {profile.label!r}: {error.found}",
            error.expected,
            error.advice,
        ) from error
    return End(profile.label, asked, profile)


def require_mean(name: Name) -> None:
    """Raise an error for another statistic than the mean, to which lists do not add."""
    stat = dict(name.variants).get("stat") or "mean"
    if stat != "mean":
        plain = tuple(variant for variant in name.variants if variant[0] != "stat")
        raise BadName(
            f"{str(name)!r} is the {stat} of the values of lists.",
            "a mean: what a list adds to another statistic is not defined.",
            f"write {replace(name, variants=plain)}.",
        )


def _read_recorded(evaluation: Evaluation, name: Name) -> End:
    """Return the convention, parameters and metric that an evaluation recorded for a name."""
    result = evaluation.result(str(name))
    convention = Convention().replace(**result.convention)
    asked = Asked(result.name, METRICS[result.metric], convention, dict(result.numbers))
    label = str(evaluation.manifest.get("profile", "default"))
    profile = _profile_labelled(label)
    if profile is None or not _resolves_to(profile, asked):
        profile = Profile(name=label, convention=convention)
    return End(f"{label} (evaluation)", asked, profile, result.value)


def _resolves_to(profile: Profile, asked: Asked) -> bool:
    try:
        resolved = profile.resolve(asked.name)
    except RectitudeError:
        return False
    recorded = (asked.metric.name, asked.convention, dict(asked.numbers))
    return (resolved.metric.name, resolved.convention, dict(resolved.numbers)) == recorded


def _profile_labelled(label: str) -> Profile | None:
    """Return the profile of a label such as 'ranx, ties=optimistic'; None if there is none."""
    name, *rest = label.split(", ")
    try:
        changes = {
            key: parse_value(key, value) for key, _, value in (c.partition("=") for c in rest)
        }
        return PROFILES[name].replace(**changes)
    except RectitudeError:
        return None


_THRESHOLDS = 10
"""At most this many grades are tried as `relevant_from`."""


def under_profiles(name: Name, profiles: Iterable[object] | None) -> Iterator[End]:
    """Yield a metric under the named profiles, or under all that define it."""
    require_mean(name)
    for profile in PROFILES if profiles is None else profiles:
        try:
            yield end_of(profile, name)
        except RectitudeError:
            if profiles is not None:
                raise


def under_flips(start: End, grades: Floats) -> Iterator[End]:
    """Yield the base with one switch changed.

    Switches that cannot change which of two values is larger are left out, and so are choices that
    only raise errors.
    """
    for switch in SWITCHES.values():
        obeyed = switch.stage != "metrics" or switch.name in start.asked.metric.obeys
        if switch.stage == "present" or not obeyed:
            continue
        for choice in _choices(switch, grades):
            yield from _flip(start, switch.name, choice)


def _choices(switch: Switch, grades: Floats) -> list[Any]:
    if switch.name == "relevant_from":
        return thresholds(grades)
    return [choice for choice in switch.choices if choice != "error"]


def thresholds(grades: Floats) -> list[Threshold]:
    """Return grades to try as `relevant_from`: all but the lowest above 0, which is the default,
    and `any` if some are not above 0.

    If there are many different grades, whole numbers are tried instead.
    """
    levels = np.unique(grades[grades > 0])[1:]
    if len(levels) > _THRESHOLDS:
        whole = np.arange(1, _THRESHOLDS + 1)
        levels = whole[(whole >= levels[0]) & (whole <= levels[-1])]
    numbers: list[Threshold] = [float(level) for level in levels]
    return ["any", *numbers] if (grades <= 0).any() else numbers


def _flip(start: End, switch: str, choice: Any) -> Iterator[End]:
    try:
        profile = start.profile.replace(**{switch: choice})
        asked = profile.resolve(start.asked.name)
    except RectitudeError:  # the choice contradicts another switch of the base
        return
    if asked.convention != start.asked.convention:
        label = f"{choice:g}" if isinstance(choice, float) else choice
        yield End(f"{switch}={label}", asked, profile)
