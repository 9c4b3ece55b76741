"""`identify`: which definition of a metric gives a reported value for these predictions?"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from rectitude.aggregate.definition import choice_in_words
from rectitude.arrays import Floats
from rectitude.convention import SWITCHES
from rectitude.data.ledger import list_warnings
from rectitude.errors import BadArgument, RectitudeError
from rectitude.evaluation.inputs import Arguments, gather_arguments
from rectitude.explanation.identify.assignments import (
    JUDGING,
    Assignment,
    Flip,
    Space,
    Start,
    Starts,
    assignments,
    singles,
    starts_of,
)
from rectitude.explanation.identify.result import (
    Identification,
    Level,
    Match,
    ProfileValue,
    fitting_by_chance,
)
from rectitude.explanation.identify.sweep import Outcome, space_of, values_of
from rectitude.explanation.reported import Reported, read_reported
from rectitude.explanation.trials import Opened, close, one_name, takes_padding
from rectitude.profiles import Asked

_MOST_MATCHES = 100


def identify(
    predictions: object,
    truth: object,
    metric: str,
    value: object,
    *,
    decimals: int | None = None,
    tolerance: float | None = None,
    profiles: Iterable[object] | None = None,
    most: int = 10_000,
    **inputs: Unpack[Arguments],
) -> Identification:
    """Find the assignments of switches under which predictions give a reported value.

    `value` is the text as it was printed (`"0.0612"`, `"6.12%"`), or a number with `decimals` or
    `tolerance`. First all profiles are tried, or those in `profiles`; then one change of a profile,
    two changes, and so on, up to `most` assignments. Other arguments are those of `evaluate`.

    >>> found = identify({"ann": ["a", "b", "c"]}, {"ann": ["b"]}, "mrr", "50.0%")
    >>> found.matches[0].value
    0.5
    """
    target = read_reported(value, decimals, tolerance)
    _require_many(most)
    starts = starts_of(one_name(metric), profiles)
    arguments = gather_arguments(predictions, truth, inputs)
    opened = Opened(arguments, _deepest(starts.found))
    space = _space(opened, starts.found, target)
    tried = assignments(starts.found, space, most)
    outcomes = values_of(tried, opened.trials, space)
    found = _identification(metric, target, starts, space, tried, outcomes)
    start = starts.found[0]
    ledger = opened.trials(start.profile).ledger(start.asked)
    return replace(found, notes=tuple(list_warnings({start.label: [ledger]})))


def _deepest(starts: Sequence[Start]) -> list[Asked]:
    """Return the metric of each start, and one that reads all ranks."""
    first = starts[0].asked
    whole = first.convention.replace(score_precision="logistic")
    return [*(start.asked for start in starts), replace(first, convention=whole)]


def _require_many(most: int) -> None:
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise BadArgument(
            f"most is {most!r}.", "a whole number of at least 1: how many definitions to try."
        )


def _space(opened: Opened, starts: Sequence[Start], target: Reported) -> Space:
    """Return what can be changed; values too large for a fraction are tried in percent too."""
    first = starts[0]
    space = space_of(opened.trials(first.profile), first.asked)
    highest = max(start.asked.metric.bounds[1] for start in starts)
    preset = {"scale": "percent"} if abs(target.middle) > highest else {}
    padded = takes_padding(opened.given.inputs["predictions"])
    space = replace(space, padding_matters=padded, preset=preset)
    return replace(space, effective=_effective_changes(opened, first, space))


def _effective_changes(opened: Opened, start: Start, space: Space) -> frozenset[Flip]:
    """Return the single changes that change the value of a start."""
    tried = singles(start, space)
    unchanged, *changed = values_of(tried, opened.trials, space)
    return frozenset(
        flip
        for assignment, value in zip(tried[1:], changed, strict=True)
        if isinstance(value, float)
        and not (isinstance(unchanged, float) and close(value, unchanged))
        for flip in assignment.changes.items()
    )


def _identification(
    metric: str,
    target: Reported,
    starts: Starts,
    space: Space,
    tried: Sequence[Assignment],
    outcomes: Sequence[Outcome],
) -> Identification:
    values = _merge_rounded([value if isinstance(value, float) else math.nan for value in outcomes])
    fits = np.array([target.fits(value) for value in values.tolist()])
    finite = np.isfinite(values)
    if not finite.any():
        _raise_first(outcomes)
    matches = _matches(tried, values, np.flatnonzero(fits))
    return Identification(
        metric=metric,
        value=target.text,
        low=target.low,
        high=target.high,
        tried=len(tried),
        undefined=int((~finite).sum()),
        distinct=len(np.unique(values[finite])),
        fitting=int(fits.sum()),
        by_chance=(levels := _levels(tried, values, target))[-1].by_chance,
        matches=matches,
        nearest=None if matches else _nearest(tried, values, target),
        profiles=_profiles(starts, tried, outcomes, target),
        levels=levels,
        unvaried=tuple(name for name in JUDGING if not space.live[name]),
    )


def _merge_rounded(numbers: Sequence[float]) -> Floats:
    """Replace values that differ only by rounding with the first of them."""
    values = np.array(numbers)
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    group = np.cumsum(np.r_[True, ~close(ascending[1:], ascending[:-1])]) - 1
    first = np.full(len(values), len(values))
    np.minimum.at(first, group, order)
    values[order] = values[first[group]]
    return values


def _raise_first(outcomes: Sequence[Outcome]) -> None:
    """Raise the first error, which is that of the default profile if it has one."""
    for outcome in outcomes:
        if isinstance(outcome, RectitudeError):
            raise outcome


def _levels(tried: Sequence[Assignment], values: Floats, target: Reported) -> tuple[Level, ...]:
    """Summarise what was tried with no change, at most one, at most two, and so on."""
    changes = np.array([len(assignment.changes) for assignment in tried])
    levels = []
    for most in range(int(changes.max()) + 1):
        inside = changes <= most
        distinct = np.unique(values[inside & np.isfinite(values)])
        fitting = sum(map(target.fits, distinct.tolist()))
        expected = fitting_by_chance(distinct, target.low, target.high)
        levels.append(Level(most, int(inside.sum()), len(distinct), fitting, expected))
    return tuple(levels)


def _matches(
    tried: Sequence[Assignment], values: Floats, fitting: Iterable[int]
) -> tuple[Match, ...]:
    """Return the values that fit, fewest changes first; among equals, those tried first."""
    groups: dict[float, list[Assignment]] = defaultdict(list)
    for number in fitting:
        groups[float(values[number])].append(tried[number])
    ranked = sorted(groups.items(), key=lambda group: len(group[1][0].changes))
    return tuple(_match(value, same) for value, same in ranked[:_MOST_MATCHES])


def _nearest(tried: Sequence[Assignment], values: Floats, target: Reported) -> Match:
    number = int(np.nanargmin(np.abs(values - target.middle)))
    same = np.flatnonzero(values == values[number])
    return _match(float(values[number]), [tried[int(index)] for index in same])


def _match(value: float, same: Sequence[Assignment]) -> Match:
    """Describe a value by the first assignment that gives it, which has the fewest changes."""
    first = same[0]
    convention, before = first.asked.convention, first.start.asked.convention
    return Match(
        value=value,
        start=first.start.label,
        changes={name: (getattr(before, name), new) for name, new in first.changes.items()},
        sentences={name: choice_in_words(name, convention) for name in first.changes},
        profiles=tuple(label for assignment in same for label in assignment.profiles),
        assignments=len(same),
        alike=_same_value_choices(first, same[1:]),
        recipe={"profile": first.start.profile.name, **first.changes},
        metric=str(first.asked.name),
        convention=convention.as_dict(),
        numbers=dict(first.asked.numbers),
    )


def _same_value_choices(
    first: Assignment, others: Iterable[Assignment]
) -> dict[str, tuple[Any, ...]]:
    """Return the choices of single switches that do not change the value of an assignment."""
    same_value: dict[str, list[Any]] = defaultdict(list)
    metric = first.asked.metric
    obeyed = [n for n, s in SWITCHES.items() if s.stage != "metrics" or n in metric.obeys]
    for other in others:
        if other.asked.metric is not metric or other.asked.numbers != first.asked.numbers:
            continue
        changed = first.asked.convention.differences(other.asked.convention)
        names = [name for name in obeyed if name in changed]
        if len(names) == 1:
            same_value[names[0]].append(changed[names[0]][1])
    return {name: tuple(dict.fromkeys(choices)) for name, choices in same_value.items()}


def _profiles(
    starts: Starts, tried: Sequence[Assignment], outcomes: Sequence[Outcome], target: Reported
) -> tuple[ProfileValue, ...]:
    """Return the value of each unchanged profile, or the reason why it has none."""
    by_label: dict[str, ProfileValue] = {}
    for assignment, outcome in zip(tried, outcomes, strict=True):
        for label in assignment.profiles:
            by_label[label] = _profile_value(label, outcome, target)
    for label, reason in starts.without.items():
        by_label[label] = ProfileValue(label, None, fits=False, reason=reason)
    order = [start.label for start in starts.found] + list(starts.without)
    return tuple(by_label[label] for label in order)


def _profile_value(label: str, outcome: Outcome, target: Reported) -> ProfileValue:
    if isinstance(outcome, RectitudeError):
        return ProfileValue(label, None, fits=False, reason=outcome.found)
    if not math.isfinite(outcome):
        return ProfileValue(label, None, fits=False, reason="the value is undefined.")
    return ProfileValue(label, outcome, fits=target.fits(outcome))
