"""The conventions that an order of models is held against: profiles, and single switches set
otherwise than in the base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from rectitude.arrays import Floats
from rectitude.convention import SWITCHES
from rectitude.errors import RectitudeError
from rectitude.explanation.ends import End, end_of
from rectitude.metrics.names import Name
from rectitude.profiles import PROFILES
from rectitude.switch import Switch

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
