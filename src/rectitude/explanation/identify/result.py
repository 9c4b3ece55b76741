"""`Identification`: which definitions give a reported value, and how much a match means.

A match means little if many values would fit by chance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from rectitude.arrays import Floats
from rectitude.explanation.explain.result import format_choice
from rectitude.render import Grid, Printable, Tabular

FORMAT = "rectitude.identification"
FORMAT_VERSION = 1
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Match:
    """Assignments that give the same value, described by the one with the fewest changes."""

    value: float
    start: str
    """the profile that the changes apply to"""
    changes: Mapping[str, tuple[Any, Any]]
    """switch -> its choice in the profile, its choice here"""
    sentences: Mapping[str, str]
    """what the changed switches mean here"""
    profiles: tuple[str, ...]
    """the unchanged profiles that give this value, except for rounding"""
    assignments: int
    """how many of the tried assignments give this value"""
    alike: Mapping[str, tuple[Any, ...]]
    """choices of single switches that give this value as well"""
    recipe: Mapping[str, Any]
    """what to pass to `evaluate` as `convention=`"""
    metric: str
    """the name to ask for under this convention"""
    convention: Mapping[str, Any]
    numbers: Mapping[str, float | str]

    @property
    def label(self) -> str:
        """The profile and its changes in one line."""
        changed = (f"{switch}={format_choice(new)}" for switch, (_, new) in self.changes.items())
        return ", ".join([self.start, *changed])


@dataclass(frozen=True, slots=True)
class Level:
    """What was tried with at most a given number of changes."""

    changes: int
    tried: int
    distinct: int
    """how many different values they gave"""
    fitting: int
    """how many of these values fit"""
    by_chance: float | None
    """how many would fit by chance; None if there are too few values to estimate this"""


@dataclass(frozen=True, slots=True)
class ProfileValue:
    """The value of a profile, or the reason why it has none."""

    profile: str
    value: float | None
    fits: bool
    reason: str = ""


@dataclass(frozen=True, repr=False)
class Identification(Printable, Tabular):
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
    """how many of the tried assignments give no value"""
    distinct: int
    fitting: int
    """how many assignments fit"""
    by_chance: float | None
    matches: tuple[Match, ...]
    """at most the first hundred values"""
    nearest: Match | None
    """the nearest value if none fits"""
    profiles: tuple[ProfileValue, ...]
    levels: tuple[Level, ...]
    unvaried: tuple[str, ...]
    """switches whose choices change no list here"""
    notes: tuple[str, ...] = ()
    """what `evaluate` warns about"""

    def __bool__(self) -> bool:
        return bool(self.matches)

    @property
    def verdict(self) -> str:
        """The result in one or two sentences."""
        return _verdict(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the identification as a dict for JSON."""
        facts = asdict(self)
        return {"format": FORMAT, "version": FORMAT_VERSION, "verdict": self.verdict, **facts}

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row per profile: its value, and whether it fits."""
        return pl.DataFrame(
            [asdict(profile) for profile in self.profiles], infer_schema_length=None
        )

    def to_json(self) -> str:
        """Return the identification as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def _shown(self) -> Iterator[str | Grid]:
        low, high = _format_distinct(self.low, self.high)
        yield f"{self.metric} = {self.value}: from {low} to {high}"
        yield from (self.verdict, "", _levels(self))
        yield "by chance: how many distinct values would fit an unrelated reported value"
        for match in self.matches[:_SHOWN]:
            yield from ("", *_match(match))
        more = len(self.matches) - _SHOWN
        yield from ["", f"... and {more:,} more values that fit"] if more > 0 else []
        yield from ("", *_profiles(self))
        if self.unvaried:
            yield from ("", f"switches without effect on these lists: {', '.join(self.unvaried)}")
        if self.notes:
            yield from ("", *(f"! {note}" for note in self.notes))


def fitting_by_chance(values: Floats, low: float, high: float) -> float | None:
    """Estimate how many distinct values would lie between `low` and `high` by chance.

    Values inside the interval are ignored, because a true match must not count as chance. The
    density around the interval is estimated from the m nearest values outside, where m is the
    square root of their number: m - 1 of them lie in the range up to the m-th, which is unbiased
    for values scattered at random. The density times the width of the interval is the estimate.
    Returns None if fewer than two values lie outside.
    """
    width, middle = high - low, low + (high - low) / 2
    distance = np.sort(np.abs(values[(values < low) | (values > high)] - middle))
    if len(distance) < 2:
        return None
    near = max(2, round(math.sqrt(len(distance))))
    stretch = max(2 * float(distance[near - 1]) - width, 1e-9 * width)
    return (near - 1) * width / stretch if width else 0.0


def in_words(expected: float) -> str:
    """Format an expected number of values."""
    if expected < 0.01:
        return f"{expected:.1g}"
    return f"{expected:.2f}" if expected < 10 else f"{expected:,.0f}"


def _verdict(result: Identification) -> str:
    if not result.matches:
        return _describe_no_match(result)
    best = result.matches[0]
    changes = len(best.changes)
    closest = [match for match in result.matches if len(match.changes) == changes]
    by_profile = bool(best.profiles)
    match = _describe_profiles(closest) if by_profile else _describe_changes(best, len(closest))
    return f"{match} {_describe_chance(result, changes)}"


def _describe_no_match(result: Identification) -> str:
    tried = f"{result.tried:,} definitions"
    if result.nearest is None:
        return f"None of {tried} gives a value."
    nearest = result.nearest
    return (
        f"None of {tried} gives {result.value}; the nearest is {_near(result, nearest.value)} "
        f"with {nearest.label}. "
        "The value may come from other lists, another truth or another metric."
    )


def _describe_profiles(closest: list[Match]) -> str:
    names = [name for match in closest for name in match.profiles]
    if len(names) == 1:
        return f"{names[0]} gives this value: {_value(closest[0].value)}."
    if len(closest) == 1:
        return (
            f"{_and(names)} give this value. They cannot be distinguished here, because their "
            f"values are equal: {_value(closest[0].value)}."
        )
    groups = "; ".join(f"{_and(list(m.profiles))} {_value(m.value)}" for m in closest)
    return f"{len(names)} profiles fit, with {len(closest)} different values: {groups}."


def _describe_changes(best: Match, values: int) -> str:
    changes = len(best.changes)
    times = "one change" if changes == 1 else f"{changes} changes"
    others = f"; {values - 1:,} other values fit as well" if values > 1 else ""
    return (
        f"No profile gives this value. With {times}, {best.label} does: "
        f"{_value(best.value)}{others}."
    )


def _describe_chance(result: Identification, changes: int) -> str:
    level = next(level for level in result.levels if level.changes == changes)
    what = "profiles" if changes == 0 else f"definitions with at most {changes} changes"
    what = what.removesuffix("s") if changes == 1 else what
    if level.by_chance is None:
        return f"The {what} give too few values to estimate how many would fit by chance."
    expected = level.by_chance
    meaning = "so this match is unlikely to be a coincidence"
    if expected >= 0.05:
        meaning = "so this match may be a coincidence"
    if expected >= 0.5:
        meaning = "so this match means little; a value with more decimals would mean more"
    return (
        f"The {what} give {level.distinct:,} distinct values; {in_words(expected)} of them would "
        f"be expected to fit by chance, {meaning}."
    )


def _levels(result: Identification) -> Grid:
    rows = []
    for level in result.levels:
        chance = "" if level.by_chance is None else in_words(level.by_chance)
        upto = "none (profiles)" if level.changes == 0 else f"at most {level.changes}"
        rows.append([upto, f"{level.tried:,}", f"{level.distinct:,}", f"{level.fitting:,}", chance])
    return Grid(["changes", "tried", "distinct values", "fit", "by chance"], rows)


def _match(match: Match) -> list[str]:
    lines = [f"{_value(match.value)}: {match.label}"]
    lines += [
        f"  {switch}: {match.sentences[switch]} instead of {format_choice(old)}"
        for switch, (old, _) in match.changes.items()
    ]
    same = [name for name in match.profiles if name != match.start]
    lines += [f"  same value: {', '.join(same)}"] if same else []
    alternatives = (
        f"{switch}={' or '.join(map(format_choice, choices))}"
        for switch, choices in match.alike.items()
    )
    return [*lines, f"  same value with {', '.join(alternatives)}"] if match.alike else lines


def _profiles(result: Identification) -> list[str | Grid]:
    """List the values of the profiles, nearest first, then the profiles without a value."""
    middle = (result.low + result.high) / 2
    distances = [(abs(p.value - middle), p) for p in result.profiles if p.value is not None]
    rows = [
        [profile.profile, _value(profile.value or 0.0), "yes" if profile.fits else ""]
        for _, profile in sorted(distances, key=lambda pair: pair[0])
    ]
    without = [f"{p.profile}: {p.reason}" for p in result.profiles if p.value is None]
    return [Grid(["profile", "value", "fits"], rows), *without]


def _value(value: float) -> str:
    return f"{value:.8g}"


def _format_distinct(left: float, right: float) -> tuple[str, str]:
    """Format two values with enough digits to distinguish them."""
    short = _value(left), _value(right)
    return short if left == right or short[0] != short[1] else (repr(left), repr(right))


def _near(result: Identification, value: float) -> str:
    """Format a value outside the interval with enough digits to show that it is outside."""
    return max((_format_distinct(value, end)[0] for end in (result.low, result.high)), key=len)


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
