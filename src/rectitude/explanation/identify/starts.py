"""Where a search for a definition starts: what a metric name means under each profile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from rectitude.errors import RectitudeError
from rectitude.metrics.names import Name, parse
from rectitude.profiles import PROFILES, Asked, Profile, profile_of


@dataclass(frozen=True, slots=True)
class Start:
    """A metric under a profile, under the name that it has there."""

    profile: Profile
    asked: Asked
    label: str
    """the profile, and the name of the metric there if it is not the one asked for"""


@dataclass(frozen=True, slots=True)
class Starts:
    """The starts of a search, and the profiles without one, with the reason."""

    found: tuple[Start, ...]
    without: Mapping[str, str]


def starts_of(name: Name, profiles: Iterable[object] | None) -> Starts:
    """Everything that a metric name may mean: under the default first, then under each profile.

    A profile that has the metric under names of its own gives a start for each of them.
    """
    named = map(profile_of, ["default", *(PROFILES if profiles is None else profiles)])
    chosen = list({profile.label: profile for profile in named}.values())
    meant, errors = _meant(name, chosen)
    if not meant:
        raise errors["default"]
    found: list[Start] = []
    without: dict[str, str] = {}
    for profile in chosen:
        here = list(_under(profile, name, meant))
        found += here
        if not here:
            without[profile.label] = errors[profile.label].found
    return Starts(tuple(found), without)


def _meant(
    name: Name, profiles: Iterable[Profile]
) -> tuple[dict[str, str], dict[str, RectitudeError]]:
    """The metrics of ours that a name means in some profile, and why it means none in others."""
    meant: dict[str, str] = {}
    errors: dict[str, RectitudeError] = {}
    for profile in profiles:
        try:
            meant[profile.resolve(name).metric.name] = profile.label
        except RectitudeError as error:
            errors[profile.label] = error
    return meant, errors


def _under(profile: Profile, name: Name, meant: Iterable[str]) -> Iterator[Start]:
    """The name itself if the profile knows it, our names if not, and the profile's other names."""
    own = _resolved(profile, name)
    names = [name] if own else [Name(base, at=name.at) for base in meant]
    names += [] if name.variants else _other_names(profile, name, set(meant))
    for one in dict.fromkeys(names):
        asked = _resolved(profile, one)
        if asked is not None:
            label = profile.label if one == name else f"{profile.label} ({one})"
            yield Start(profile, asked, label)


def _other_names(profile: Profile, name: Name, meant: set[str]) -> list[Name]:
    """The names under which a profile has one of these metrics."""
    found = []
    for key, entry in profile.metrics.items():
        other = parse(key)[0]
        if entry.get("metric") in meant and other.at in (None, "k", name.at):
            found.append(replace(other, at=name.at))
    return found


def _resolved(profile: Profile, name: Name) -> Asked | None:
    try:
        return profile.resolve(name)
    except RectitudeError:
        return None
