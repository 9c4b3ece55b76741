"""The same predictions under many conventions: opened once, judged once for each way of judging.

An `End` is what a metric means under a profile, a convention or in an evaluation; models are held
against ends of all profiles, and of single switches set otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rectitude.aggregate.evaluation import Evaluation, Keys, Result
from rectitude.arrays import Floats
from rectitude.convention import SWITCHES, Convention, Switch, parse_value
from rectitude.data.table import Inputs
from rectitude.errors import BadName, RectitudeError
from rectitude.evaluation.batch import Batch, judged_for, view_of
from rectitude.evaluation.evaluate import results_of
from rectitude.evaluation.inputs import Given, Reach, opened, settled_when_opened
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
"""judged lists take room; few are enough where conventions come in the order of their judging"""


def close(one: float | Floats, other: float | Floats) -> Any:
    """Whether values are equal but for the rounding of floating-point numbers; NaN equals NaN."""
    return np.isclose(one, other, rtol=1e-14, atol=1e-15, equal_nan=True)


@dataclass
class Opened:
    """Inputs that are opened once for every item that a profile holds to be padding."""

    given: Given
    deepest: Sequence[Asked]
    by_padding: dict[Any, Trials] = field(default_factory=dict)

    def trials(self, profile: Profile) -> Trials:
        """The inputs as a profile sees them."""
        padding = profile.padding if takes_padding(self.given.inputs["predictions"]) else None
        if padding not in self.by_padding:
            self.by_padding[padding] = Trials(replace(self.given, padding=padding), self.deepest)
        return self.by_padding[padding]


def takes_padding(predictions: object) -> bool:
    """Whether a profile's padding item is left out of these predictions."""
    return isinstance(predictions, Scores | Embeddings) and predictions.padding is None


@dataclass
class Trials:
    """Predictions and truth, held ready to be evaluated under one convention after the other.

    `deepest` are the metrics that will be tried, under any of the conventions: they say how deep
    dense scores are looked into.
    """

    given: Given
    deepest: Sequence[Asked]
    batches: dict[Any, Batch] = field(default_factory=dict)

    def result(self, asked: Asked, profile: Profile | None = None) -> Result:
        """A metric under its convention; an error of `rectitude.errors` where it has no value.

        The profile says what the parts of a derived metric are, if not what their names say.
        """
        profile = profile or Profile(name="trial", convention=asked.convention)
        plan, batch = Plan.of([asked], profile), self.batch(asked)
        values = {n: np.empty(batch.size) for n, one in plan.measured.items() if has_values(one)}
        totals = {
            name: total_of(plan, batch, one, values.get(name))
            for name, one in plan.measured.items()
        }
        results, failures = results_of(plan, State(totals), batch.facts, values)
        for error in failures.values():
            raise error
        return results[str(asked.name)]

    def judged(self, asked: Asked) -> Judged:
        """The lists as a metric sees them under its convention."""
        plan, batch = alone(asked), self.batch(asked)
        return view_of(plan, batch, asked, judged_for(plan, batch, asked).judged)

    def keys(self, asked: Asked) -> Keys:
        """The lists behind the values."""
        return self.batch(asked).lists

    def inputs(self, asked: Asked) -> Inputs:
        """The inputs, as they were opened for a metric."""
        return opened(self.given, Reach.of(self.deepest), asked.convention)

    def forget(self) -> None:
        """Drop judged lists where many are held."""
        for batch in self.batches.values():
            if len(batch.verdicts) > VERDICTS_KEPT:
                batch.verdicts.clear()
                batch.views.clear()

    def batch(self, asked: Asked) -> Batch:
        """The lists, for metrics whose inputs are opened alike; few choices are made then."""
        convention = asked.convention
        offered = self.given.inputs.get("candidates") is not None
        key = tuple(settled_when_opened(convention, offered).values())
        if key not in self.batches:
            inputs = opened(self.given, Reach.of(self.deepest), convention)
            self.batches[key] = Batch.of(align_inputs(inputs, exact_items=True), bounds=False)
        return self.batches[key]


def alone(asked: Asked) -> Plan:
    """The plan of one metric under its convention."""
    return Plan.of([asked], Profile(name="trial", convention=asked.convention))


@dataclass(frozen=True, slots=True)
class End:
    """A metric as one of the two sides defines it."""

    label: str
    asked: Asked
    profile: Profile
    """says what the parts of a derived metric are"""
    recorded: float | None = None
    """the value that an evaluation holds"""


def one_name(metric: str) -> Name:
    """The one metric that a text names."""
    names = parse_all(metric)
    if len(names) != 1:
        raise BadName(
            f"{metric!r} names {len(names)} metrics.", "one, such as 'ndcg@10'.", "one at a time."
        )
    return names[0]


def end_of(given: object, name: Name) -> End:
    """What a metric means under a profile name, a convention, a dict of switches, a profile, or in
    an evaluation."""
    if isinstance(given, Evaluation):
        return _recorded(given, name)
    if isinstance(given, Convention):
        changes = Convention().differences(given)
        given = {switch: new for switch, (_, new) in changes.items()}
    profile = profile_of(given)
    try:
        asked = profile.resolve(name)
    except RectitudeError as error:
        raise type(error)(
            f"{str(name)!r} has no meaning under {profile.label!r}: {error.found}",
            error.expected,
            error.advice,
        ) from error
    return End(profile.label, asked, profile)


def _recorded(evaluation: Evaluation, name: Name) -> End:
    """The effective convention, numbers and metric that an evaluation holds for a name."""
    result = evaluation.result(str(name))
    convention = Convention().replace(**result.convention)
    asked = Asked(result.name, METRICS[result.metric], convention, dict(result.numbers))
    label = str(evaluation.manifest.get("profile", "default"))
    known = _profile_labelled(label)
    same = known is not None and _resolves_to(known, asked)
    profile = known if known is not None and same else Profile(name=label, convention=convention)
    return End(f"{label} (evaluation)", asked, profile, result.value)


def _resolves_to(profile: Profile, asked: Asked) -> bool:
    try:
        found = profile.resolve(asked.name)
    except RectitudeError:
        return False
    mine = (asked.metric.name, asked.convention, dict(asked.numbers))
    return (found.metric.name, found.convention, dict(found.numbers)) == mine


def _profile_labelled(label: str) -> Profile | None:
    """The profile behind a label such as 'ranx, ties=optimistic'; None if it is not known."""
    name, *rest = label.split(", ")
    try:
        changes = {
            key: parse_value(key, value) for key, _, value in (c.partition("=") for c in rest)
        }
        return PROFILES[name].replace(**changes)
    except RectitudeError:
        return None


_THRESHOLDS = 10
"""so many grades are tried as the lowest relevant one"""


def under_profiles(name: Name, profiles: Iterable[object] | None) -> Iterator[End]:
    """What a metric is under profiles: the named ones, or all that define it."""
    for profile in PROFILES if profiles is None else profiles:
        try:
            yield end_of(profile, name)
        except RectitudeError:
            if profiles is not None:
                raise


def under_flips(start: End, grades: Floats) -> Iterator[End]:
    """The base with one switch set otherwise, for every switch that can change which value is
    larger, and every choice that lets lists have values."""
    for switch in SWITCHES.values():
        obeyed = switch.stage != "metrics" or switch.name in start.asked.metric.obeys
        if switch.stage == "present" or not obeyed:
            continue
        for choice in _choices(switch, grades):
            yield from _flipped(start, switch.name, choice)


def _choices(switch: Switch, grades: Floats) -> list[Any]:
    if switch.name == "relevant_from":
        return thresholds(grades)
    return [choice for choice in switch.choices if choice != "error"]


def thresholds(grades: Floats) -> list[float]:
    """Grades that could be the lowest relevant one, beside the lowest above 0, which is so without;
    whole numbers where there are many."""
    levels = np.unique(grades[grades > 0])[1:]
    if len(levels) > _THRESHOLDS:
        whole = np.arange(1, _THRESHOLDS + 1)
        levels = whole[(whole >= levels[0]) & (whole <= levels[-1])]
    return [float(level) for level in levels]


def _flipped(start: End, switch: str, choice: Any) -> Iterator[End]:
    try:
        profile = start.profile.replace(**{switch: choice})
        asked = profile.resolve(start.asked.name)
    except RectitudeError:  # it contradicts another switch of the base
        return
    if asked.convention != start.asked.convention:
        label = f"{choice:g}" if isinstance(choice, float) else choice
        yield End(f"{switch}={label}", asked, profile)
