"""Assignments of switches to try: what a metric name means under each profile, then ever more
changes of that."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import Any

from rectitude.convention import SWITCHES, Convention
from rectitude.errors import RectitudeError
from rectitude.metrics import Metric
from rectitude.metrics.names import Name, parse
from rectitude.profiles import PROFILES, Asked, Profile, profile_of

Flip = tuple[str, Any]
Way = tuple[Any, ...]
JUDGING = tuple(
    switch.name
    for switch in SWITCHES.values()
    if switch.stage in ("truth", "order", "judge")
    and switch.name not in ("relevant_from", "list_end")
)
"""the switches that decide where items stand; thresholds and ends are put on what stands"""
MOST_WAYS = 50
"""how many ways of judging are tried"""
_AVERAGING = tuple(s.name for s in SWITCHES.values() if s.stage in ("aggregate", "present"))
_FORMULAS, _FOR_A_FORMULA = 1_000, 10
"""formulas that are tried in any case, and assignments for each one beyond: they cost more"""
_LOOKED_AT = 20
"""how many assignments are looked at for each one that is taken"""
_OF_COUNTS = ("truth_needed", "list_needed", "scale")


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


@dataclass(frozen=True, slots=True)
class Assignment:
    """A metric under a profile in which some switches are changed."""

    start: Start
    changes: Mapping[str, Any]
    profile: Profile
    asked: Asked
    profiles: tuple[str, ...] = ()
    """the profiles that define the metric so as they are"""


@dataclass(frozen=True, slots=True)
class Space:
    """What can be changed, on the inputs at hand."""

    live: Mapping[str, Sequence[Any]]
    """choices that make a difference in how lists are judged"""
    equal: Mapping[Flip, Any]
    """choices that cannot differ from another one, by switch and choice"""
    unit_matters: bool = True
    padding_matters: bool = False
    given: Mapping[str, Any] = field(default_factory=dict)
    """changes from which the search sets out as well"""
    telling: frozenset[Flip] = frozenset()
    """single changes that alone give another value, to be combined before others"""

    def choices(self, metric: Metric) -> dict[str, Sequence[Any]]:
        """The values that switches of a metric can be given. An error is no value, and what only
        rounds the last digits is no other one."""
        found: dict[str, Sequence[Any]] = {}
        for name, switch in SWITCHES.items():
            if name in metric.fixed or name == "decimals":
                continue
            if switch.stage in ("truth", "order", "judge"):
                found[name] = self.live.get(name, ())
            elif switch.stage == "metrics":
                found[name] = tuple(switch.choices) if name in metric.obeys else ()
            elif metric.kind != "counts" or name in _OF_COUNTS:
                found[name] = [one for one in switch.choices if one not in ("error", "float32")]
        if not self.unit_matters:
            found["unit"] = ()
        return found

    def settled(self, name: str, value: Any) -> Any:
        """The value of a switch, or the one that it equals."""
        return self.equal.get((name, value), value)

    def way(self, convention: Convention) -> Way:
        """What decides where items stand."""
        return tuple(self.settled(name, getattr(convention, name)) for name in JUDGING)


@dataclass(frozen=True, slots=True)
class _Frame:
    """A start that is being changed: what every assignment from there has in common."""

    start: Start
    given: Mapping[str, Any]
    flips: Sequence[Flip]
    prefix: tuple[Any, ...]
    values: Mapping[str, Any]

    def key(self, space: Space, changes: Mapping[str, Any]) -> tuple[Any, ...]:
        """Equal for two assignments exactly if they define the same."""
        both = {**self.values, **changes}
        return (self.prefix, *map(space.settled, both, both.values()))


@dataclass(frozen=True, slots=True)
class _Limits:
    """What is costly, and how much of it there may be: ways of judging, and formulas."""

    formulas: int
    seen: set[Way] = field(default_factory=set)
    computed: set[Way] = field(default_factory=set)

    def admit(self, key: tuple[Any, ...]) -> bool:
        """Whether the assignment of a key is cheap enough."""
        way, formula = _costly(key)
        fresh = way not in self.seen and len(self.seen) >= MOST_WAYS
        return not fresh and (formula in self.computed or len(self.computed) < self.formulas)

    def enter(self, key: tuple[Any, ...]) -> None:
        """Count what the assignment of a key takes."""
        way, formula = _costly(key)
        self.seen.add(way)
        self.computed.add(formula)


def _costly(key: tuple[Any, ...]) -> tuple[Way, Way]:
    """The parts of a key that decide where items stand, and what lists are worth."""
    start, *values = key
    way = (start[-1], *values[: len(JUDGING)])
    return way, (start, *values[: len(JUDGING)], *values[len(JUDGING) + len(_AVERAGING) :])


def assignments(starts: Sequence[Start], space: Space, most: int) -> list[Assignment]:
    """The starts, then assignments with one change, two, and so on, up to so many in all.

    All starts take turns, so that none is searched deeper than another; choices that tell, and that
    more profiles make, are tried first.
    """
    alike: dict[Any, list[_Frame]] = defaultdict(list)
    for frame in (_frame(start, {}, starts, space) for start in starts):
        alike[frame.key(space, {})].append(frame)
    taken = {key: _unchanged([frame.start for frame in same]) for key, same in alike.items()}
    limits = _Limits(max(_FORMULAS, most // _FOR_A_FORMULA))
    for key in taken:
        limits.enter(key)
    first = next(iter(alike.values()))[0]
    for _, changes in _sets(first, 1):  # its single changes are not crowded out
        limits.enter(first.key(space, changes))
    frames = [same[0] for same in alike.values()]
    if space.given:
        frames += [_frame(frame.start, space.given, starts, space) for frame in frames]
    for frame, changes in islice(_breadth_first(frames), most * _LOOKED_AT):
        if len(taken) >= most:
            break
        key = frame.key(space, changes)
        if key in taken or not limits.admit(key):
            continue
        one = _changed(frame.start, changes)
        if one is not None:
            limits.enter(key)
            taken[key] = one
    return list(taken.values())


def singles(start: Start, space: Space) -> list[Assignment]:
    """A start as it is, and with every single change."""
    changed = (_changed(start, dict([flip])) for flip in _flips(start, {}, [start], space))
    return [_unchanged([start]), *(one for one in changed if one is not None)]


def _unchanged(starts: Sequence[Start]) -> Assignment:
    """A profile as it is, with others that say the same."""
    first = starts[0]
    labels = tuple(start.label for start in starts)
    return Assignment(first, {}, first.profile, first.asked, labels)


def _changed(start: Start, changes: Mapping[str, Any]) -> Assignment | None:
    """A start with switches changed; None where they contradict each other."""
    try:
        profile = start.profile.replace(**changes)
        return Assignment(start, changes, profile, profile.resolve(start.asked.name))
    except RectitudeError:
        return None


def _frame(start: Start, given: Mapping[str, Any], starts: Sequence[Start], space: Space) -> _Frame:
    asked = start.asked
    names = (*JUDGING, *_AVERAGING, "relevant_from", "list_end", *asked.metric.obeys)
    whose = start.label if asked.metric.kind == "derived" else None  # its parts may have entries
    numbers = tuple(sorted(asked.numbers.items()))
    padding = start.profile.padding if space.padding_matters else None
    prefix = (asked.metric.name, asked.name.at, numbers, whose, padding)
    values = {name: getattr(asked.convention, name) for name in names}
    return _Frame(start, given, _flips(start, given, starts, space), prefix, values)


def _flips(
    start: Start, given: Mapping[str, Any], starts: Sequence[Start], space: Space
) -> list[Flip]:
    """The single changes that a start can take: those first that tell, and among them those that
    more profiles have made."""
    made = Counter(flip for one in starts for flip in one.asked.convention.as_dict().items())
    own = start.asked.convention.as_dict()
    flips = [
        (name, choice)
        for name, choices in space.choices(start.asked.metric).items()
        for choice in choices
        if name not in given and choice != own[name] and _takes(start, name, choice)
    ]
    return sorted(flips, key=lambda flip: (flip not in space.telling, -made[flip]))


def _takes(start: Start, name: str, choice: Any) -> bool:
    """Whether a change shows: what stands in brackets in the metric's name is not changed."""
    one = _changed(start, {name: choice})
    return one is not None and getattr(one.asked.convention, name) == choice


def _breadth_first(frames: Sequence[_Frame]) -> Iterator[tuple[_Frame, dict[str, Any]]]:
    """Every set of changes of every start, the smaller first; starts take turns."""
    most = max((len({name for name, _ in frame.flips}) for frame in frames), default=0)
    for size in range(most + 1):
        running = [_sets(frame, size - len(frame.given)) for frame in frames]
        while running:
            turn = [next(one, None) for one in running]
            running = [one for one, found in zip(running, turn, strict=True) if found is not None]
            yield from (found for found in turn if found is not None)


def _sets(frame: _Frame, size: int) -> Iterator[tuple[_Frame, dict[str, Any]]]:
    """The sets of so many changes, in the order of their last one: likely ones among themselves
    come before any with a less likely one."""
    if size == 0:
        yield frame, dict(frame.given)
    for last in range(size - 1, len(frame.flips)) if size > 0 else ():
        for others in combinations(frame.flips[:last], size - 1):
            changes = {**frame.given, **dict([*others, frame.flips[last]])}
            if len(changes) == size + len(frame.given):
                yield frame, changes
