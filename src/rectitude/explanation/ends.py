"""The two ends of an explanation: what a metric means under a profile, convention or evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from rectitude.aggregate.evaluation import Evaluation
from rectitude.convention import Convention, parse_value
from rectitude.errors import BadName, RectitudeError
from rectitude.metrics import METRICS
from rectitude.metrics.names import Name, parse_all
from rectitude.profiles import PROFILES, Asked, Profile, profile_of


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
