"""`Identification`: which definitions give a reported value, and how much that says: a match means
little where many values would fit by chance."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rectitude.arrays import Floats
from rectitude.explanation.explain.result import shown
from rectitude.render import Grid

FORMAT = "rectitude.identification"
FORMAT_VERSION = 1
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Match:
    """Assignments that give one and the same value, by the one with the fewest changes."""

    value: float
    start: str
    """the profile that is changed, or is as it is"""
    changes: Mapping[str, tuple[Any, Any]]
    """switch -> what it is in the profile, what it is here"""
    sentences: Mapping[str, str]
    """what the changed switches say here"""
    profiles: tuple[str, ...]
    """the profiles that give this value, but for rounding, as they are"""
    assignments: int
    """how many of those tried give this value"""
    alike: Mapping[str, tuple[Any, ...]]
    """choices of single switches that would give this value as well"""
    recipe: Mapping[str, Any]
    """what to pass to `evaluate` as `convention=`"""
    metric: str
    """the name to ask for under this convention"""
    convention: Mapping[str, Any]
    numbers: Mapping[str, float | str]

    @property
    def label(self) -> str:
        """The profile and the changes, in short."""
        changed = (f"{switch}={shown(new)}" for switch, (_, new) in self.changes.items())
        return ", ".join([self.start, *changed])


@dataclass(frozen=True, slots=True)
class Level:
    """What was tried with at most so many changes."""

    changes: int
    tried: int
    distinct: int
    """how many different values they gave"""
    fitting: int
    """how many of these values fit"""
    by_chance: float | None
    """how many would fit by chance; None if too few values were found to say"""


@dataclass(frozen=True, slots=True)
class ProfileValue:
    """What a profile gives, or why it gives nothing."""

    profile: str
    value: float | None
    fits: bool
    reason: str = ""


@dataclass(frozen=True)
class Identification:
    """Which assignments of switches reproduce a reported value.

    `matches` are the values that fit, fewest changes first; `by_chance` says how many of the
    distinct values would fit if the reported one had nothing to do with them.
    """

    metric: str
    value: str
    low: float
    high: float
    tried: int
    undefined: int
    """how many of those tried give no value"""
    distinct: int
    fitting: int
    """how many assignments fit"""
    by_chance: float | None
    matches: tuple[Match, ...]
    """at most the first hundred values"""
    nearest: Match | None
    """the nearest value where none fits"""
    profiles: tuple[ProfileValue, ...]
    levels: tuple[Level, ...]
    unvaried: tuple[str, ...]
    """switches of which no choice changes any list here"""

    def __bool__(self) -> bool:
        return bool(self.matches)

    @property
    def verdict(self) -> str:
        """What was found, in words."""
        return _verdict(self)

    def as_dict(self) -> dict[str, Any]:
        """The identification for JSON."""
        facts = asdict(self)
        return {"format": FORMAT, "version": FORMAT_VERSION, "verdict": self.verdict, **facts}

    def to_json(self) -> str:
        """The identification as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        low, high = _apart(self.low, self.high)
        found = f"{self.metric} = {self.value}: from {low} to {high}"
        lines = [found, self.verdict, "", _levels(self)]
        lines.append("by chance: how many distinct values would fit one that is not among them")
        for match in self.matches[:_SHOWN]:
            lines += ["", *_match(match)]
        more = len(self.matches) - _SHOWN
        lines += ["", f"... and {more:,} more values that fit"] if more > 0 else []
        lines += ["", _profiles(self)]
        if self.unvaried:
            lines += ["", f"no choice changes any list here: {', '.join(self.unvaried)}"]
        return "\n".join(lines)


def fitting_by_chance(values: Floats, low: float, high: float) -> float | None:
    """How many of some distinct values would lie from `low` to `high` if nothing had put them
    there; None where fewer than two lie outside.

    The interval itself is left out, as a true match would count for chance. The m values nearest
    to it, m the root of how many there are, say how dense values are around it: m - 1 of them in
    the stretch up to the m-th, which for values scattered at random is right on average. So many
    for each unit of length, times the width of the interval, would fall into it.
    """
    width, middle = high - low, low + (high - low) / 2
    distance = np.sort(np.abs(values[(values < low) | (values > high)] - middle))
    if len(distance) < 2:
        return None
    near = max(2, round(math.sqrt(len(distance))))
    stretch = max(2 * float(distance[near - 1]) - width, 1e-9 * width)
    return (near - 1) * width / stretch if width else 0.0


def in_words(expected: float) -> str:
    """How many that is."""
    if expected < 0.01:
        return f"{expected:.1g}"
    return f"{expected:.2f}" if expected < 10 else f"{expected:,.0f}"


def _verdict(found: Identification) -> str:
    if not found.matches:
        return _nothing(found)
    best = found.matches[0]
    changes = len(best.changes)
    first = [match for match in found.matches if len(match.changes) == changes]
    said = _by_profiles(first) if best.profiles else _by_changes(best, len(first))
    return f"{said} {_chance(found, changes)}"


def _nothing(found: Identification) -> str:
    many = f"{found.tried:,} assignments"
    if found.nearest is None:
        return f"none of {many} gives a value."
    near = found.nearest
    return (
        f"none of {many} gives {found.value}; nearest {_near(found, near.value)} with "
        f"{near.label}. "
        "The lists, the truth or the metric may be other ones."
    )


def _by_profiles(first: list[Match]) -> str:
    names = [name for match in first for name in match.profiles]
    if len(names) == 1:
        return f"{names[0]} gives it: {_value(first[0].value)}."
    if len(first) == 1:
        return (
            f"{_and(names)} give it and cannot be told apart here: their values are equal, "
            f"{_value(first[0].value)}."
        )
    groups = "; ".join(f"{_and(list(m.profiles))} {_value(m.value)}" for m in first)
    return f"{len(names)} profiles give it, by {len(first)} different values: {groups}."


def _by_changes(best: Match, values: int) -> str:
    changes = len(best.changes)
    times = "one change" if changes == 1 else f"{changes} changes"
    others = f" and {values - 1:,} other values" if values > 1 else ""
    return f"no profile gives it. With {times} {best.label} does: {_value(best.value)}{others}."


def _chance(found: Identification, changes: int) -> str:
    level = next(one for one in found.levels if one.changes == changes)
    what = "profiles" if changes == 0 else f"assignments with at most {changes} changes"
    what = what.removesuffix("s") if changes == 1 else what
    if level.by_chance is None:
        return f"The {what} give too few values to say how many would fit by chance."
    expected = level.by_chance
    meaning = "a match is hardly chance"
    if expected >= 0.05:
        meaning = "a match may be chance"
    if expected >= 0.5:
        meaning = "a match says little, more decimals would tell"
    number = f"{level.distinct:,} distinct values of {what}"
    return f"Of the {number}, {in_words(expected)} would fit by chance: {meaning}."


def _levels(found: Identification) -> str:
    rows = []
    for level in found.levels:
        chance = "" if level.by_chance is None else in_words(level.by_chance)
        upto = "none (profiles)" if level.changes == 0 else f"at most {level.changes}"
        rows.append([upto, f"{level.tried:,}", f"{level.distinct:,}", f"{level.fitting:,}", chance])
    return Grid(["changes", "tried", "distinct values", "fit", "by chance"], rows).text()


def _match(match: Match) -> list[str]:
    lines = [f"{_value(match.value)}: {match.label}"]
    lines += [
        f"  {s}: {match.sentences[s]}, not {shown(old)}" for s, (old, _) in match.changes.items()
    ]
    same = [name for name in match.profiles if name != match.start]
    lines += [f"  the same value: {', '.join(same)}"] if same else []
    alike = (f"{one}={' or '.join(map(shown, some))}" for one, some in match.alike.items())
    return [*lines, f"  the same value with {', '.join(alike)}"] if match.alike else lines


def _profiles(found: Identification) -> str:
    """What the profiles give, nearest first; then those that give nothing."""
    middle = (found.low + found.high) / 2
    given = [(abs(one.value - middle), one) for one in found.profiles if one.value is not None]
    rows = [
        [one.profile, _value(one.value or 0.0), "yes" if one.fits else ""]
        for _, one in sorted(given, key=lambda pair: pair[0])
    ]
    without = [f"{one.profile}: {one.reason}" for one in found.profiles if one.value is None]
    return "\n".join([Grid(["profile", "value", "fits"], rows).text(), *without])


def _value(value: float) -> str:
    return f"{value:.8g}"


def _apart(one: float, other: float) -> tuple[str, str]:
    """Two values with as many digits as tell them apart."""
    short = _value(one), _value(other)
    return short if one == other or short[0] != short[1] else (repr(one), repr(other))


def _near(found: Identification, value: float) -> str:
    """A value outside the interval, so that it cannot be mistaken for one inside."""
    return max((_apart(value, end)[0] for end in (found.low, found.high)), key=len)


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
