"""Assignments of switches to try: each profile's definition of a metric, then changes of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import Any

from rectitude.convention import SWITCHES, Convention
from rectitude.errors import RectitudeError
from rectitude.explanation.trials import require_mean
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
"""The switches that decide the ranks of items. Thresholds and list ends are applied afterwards."""
MOST_WAYS = 50
"""At most this many ways of judging are tried."""
_AVERAGING = tuple(s.name for s in SWITCHES.values() if s.stage in ("aggregate", "present"))
_FORMULAS, _FOR_A_FORMULA = 1_000, 10
"""Formulas are slow: this many are always allowed, and one more for every 10 assignments."""
_LOOKED_AT = 20
"""The search considers this many assignments for each one that may be taken."""
_OF_COUNTS = ("truth_needed", "list_needed", "scale")


@dataclass(frozen=True, slots=True)
class Start:
    """A metric under a profile, with the name that it has there."""

    profile: Profile
    asked: Asked
    label: str
    """the profile, and the metric's name there if it differs from the requested one"""


@dataclass(frozen=True, slots=True)
class Starts:
    """The starts of a search, and the profiles without a start, with the reason."""

    found: tuple[Start, ...]
    without: Mapping[str, str]


def starts_of(name: Name, profiles: Iterable[object] | None) -> Starts:
    """Return everything that a metric name may mean: first the default, then each profile.

    A profile that has the metric under other names gives a start for each name.
    """
    require_mean(name)
    named = map(profile_of, ["default", *(PROFILES if profiles is None else profiles)])
    chosen = list({profile.label: profile for profile in named}.values())
    metrics, errors = _resolve_everywhere(name, chosen)
    if not metrics:
        raise errors["default"]
    starts: list[Start] = []
    without: dict[str, str] = {}
    for profile in chosen:
        own_starts = list(_starts_under(profile, name, metrics))
        starts += own_starts
        if not own_starts:
            without[profile.label] = errors[profile.label].found
    return Starts(tuple(starts), without)


def _resolve_everywhere(
    name: Name, profiles: Iterable[Profile]
) -> tuple[dict[str, str], dict[str, RectitudeError]]:
    """Return the metrics that a name means in the profiles, and the errors where it means none."""
    metrics: dict[str, str] = {}
    errors: dict[str, RectitudeError] = {}
    for profile in profiles:
        try:
            metrics[profile.resolve(name).metric.name] = profile.label
        except RectitudeError as error:
            errors[profile.label] = error
    return metrics, errors


def _starts_under(profile: Profile, name: Name, metrics: Iterable[str]) -> Iterator[Start]:
    """Yield the starts of a profile.

    These are the name itself if the profile defines it, the names of this library if not, and the
    other names of the profile for the same metrics.
    """
    is_defined = _resolve(profile, name)
    names = [name] if is_defined else [Name(base, at=name.at) for base in metrics]
    names += [] if name.variants else _other_names(profile, name, set(metrics))
    for candidate in dict.fromkeys(names):
        asked = _resolve(profile, candidate)
        if asked is not None:
            label = profile.label if candidate == name else f"{profile.label} ({candidate})"
            yield Start(profile, asked, label)


def _other_names(profile: Profile, name: Name, metrics: set[str]) -> list[Name]:
    """Return the names under which a profile has one of these metrics."""
    names = []
    for key, entry in profile.metrics.items():
        other = parse(key)[0]
        if entry.get("metric") in metrics and other.at in (None, "k", name.at):
            names.append(replace(other, at=name.at))
    return names


def _resolve(profile: Profile, name: Name) -> Asked | None:
    try:
        return profile.resolve(name)
    except RectitudeError:
        return None


@dataclass(frozen=True, slots=True)
class Assignment:
    """A metric under a profile with some switches changed."""

    start: Start
    changes: Mapping[str, Any]
    profile: Profile
    asked: Asked
    profiles: tuple[str, ...] = ()
    """the profiles that define the metric this way without any change"""


@dataclass(frozen=True, slots=True)
class Space:
    """What can be changed on these inputs."""

    live: Mapping[str, Sequence[Any]]
    """choices that change how some list is judged"""
    equal: Mapping[Flip, Any]
    """(switch, choice) -> another choice that always gives the same result here"""
    unit_matters: bool = True
    weights_matter: bool = True
    padding_matters: bool = False
    preset: Mapping[str, Any] = field(default_factory=dict)
    """changes that the search also starts from"""
    effective: frozenset[Flip] = frozenset()
    """single changes that change the value; they are combined first"""

    def choices(self, metric: Metric) -> dict[str, Sequence[Any]]:
        """Return the choices to try for each switch of a metric.

        Choices that raise errors and choices that only change the last digits are left out.
        """
        choices: dict[str, Sequence[Any]] = {}
        for name, switch in SWITCHES.items():
            if name in metric.fixed or name == "decimals":
                continue
            if switch.stage in ("truth", "order", "judge"):
                choices[name] = self.live.get(name, ())
            elif switch.stage == "metrics":
                choices[name] = tuple(switch.choices) if name in metric.obeys else ()
            elif metric.kind != "counts" or name in _OF_COUNTS:
                choices[name] = [c for c in switch.choices if c not in ("error", "float32")]
        if not self.unit_matters:
            choices["unit"] = ()
        if not self.weights_matter:
            choices["weighting"] = ()
        return choices

    def settle(self, name: str, value: Any) -> Any:
        """Return a choice of a switch, or the choice that gives the same result."""
        return self.equal.get((name, value), value)

    def way(self, convention: Convention) -> Way:
        """Return the choices that decide the ranks of items."""
        return tuple(self.settle(name, getattr(convention, name)) for name in JUDGING)


@dataclass(frozen=True, slots=True)
class _Frame:
    """A start that is being changed, and what all its assignments have in common."""

    start: Start
    preset: Mapping[str, Any]
    flips: Sequence[Flip]
    prefix: tuple[Any, ...]
    values: Mapping[str, Any]

    def key(self, space: Space, changes: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return a key that is equal for two assignments exactly if they define the same."""
        both = {**self.values, **changes}
        return (self.prefix, *map(space.settle, both, both.values()))


@dataclass(frozen=True, slots=True)
class _Limits:
    """Limits on what is slow: ways of judging, and formulas."""

    formulas: int
    seen: set[Way] = field(default_factory=set)
    computed: set[Way] = field(default_factory=set)

    def admit(self, key: tuple[Any, ...]) -> bool:
        """Return whether the assignment of a key stays within the limits."""
        way, formula = _costly(key)
        fresh = way not in self.seen and len(self.seen) >= MOST_WAYS
        return not fresh and (formula in self.computed or len(self.computed) < self.formulas)

    def enter(self, key: tuple[Any, ...]) -> None:
        """Count what the assignment of a key needs."""
        way, formula = _costly(key)
        self.seen.add(way)
        self.computed.add(formula)


def _costly(key: tuple[Any, ...]) -> tuple[Way, Way]:
    """Return the parts of a key that decide the ranks of items and the values of lists."""
    start, *values = key
    way = (start[-1], *values[: len(JUDGING)])
    return way, (start, *values[: len(JUDGING)], *values[len(JUDGING) + len(_AVERAGING) :])


def assignments(starts: Sequence[Start], space: Space, most: int) -> list[Assignment]:
    """Return the starts, then assignments with one change, two, and so on, up to `most` in all.

    The starts take turns, so none is searched deeper than another. Choices that change the value,
    and choices that more profiles make, are tried first.
    """
    alike: dict[Any, list[_Frame]] = defaultdict(list)
    for frame in (_frame(start, {}, starts, space) for start in starts):
        alike[frame.key(space, {})].append(frame)
    taken = {key: _make_unchanged([frame.start for frame in same]) for key, same in alike.items()}
    limits = _Limits(max(_FORMULAS, most // _FOR_A_FORMULA))
    for key in taken:
        limits.enter(key)
    first = next(iter(alike.values()))[0]
    for _, changes in _sets(first, 1):  # reserve room for the single changes of the first start
        limits.enter(first.key(space, changes))
    frames = [same[0] for same in alike.values()]
    if space.preset:
        frames += [_frame(frame.start, space.preset, starts, space) for frame in frames]
    for frame, changes in islice(_breadth_first(frames), most * _LOOKED_AT):
        if len(taken) >= most:
            break
        key = frame.key(space, changes)
        if key in taken or not limits.admit(key):
            continue
        assignment = _make_changed(frame.start, changes)
        if assignment is not None:
            limits.enter(key)
            taken[key] = assignment
    return list(taken.values())


def singles(start: Start, space: Space) -> list[Assignment]:
    """Return a start unchanged, then with every single change."""
    changed = (_make_changed(start, dict([flip])) for flip in _flips(start, {}, [start], space))
    return [
        _make_unchanged([start]),
        *(assignment for assignment in changed if assignment is not None),
    ]


def _make_unchanged(starts: Sequence[Start]) -> Assignment:
    """Return an unchanged profile, with the labels of others that define the same."""
    first = starts[0]
    labels = tuple(start.label for start in starts)
    return Assignment(first, {}, first.profile, first.asked, labels)


def _make_changed(start: Start, changes: Mapping[str, Any]) -> Assignment | None:
    """Return a start with switches changed; None if they contradict each other."""
    try:
        profile = start.profile.replace(**changes)
        return Assignment(start, changes, profile, profile.resolve(start.asked.name))
    except RectitudeError:
        return None


def _frame(
    start: Start, preset: Mapping[str, Any], starts: Sequence[Start], space: Space
) -> _Frame:
    asked = start.asked
    names = (*JUDGING, *_AVERAGING, "relevant_from", "list_end", *asked.metric.obeys)
    owner = start.label if asked.metric.kind == "derived" else None  # profiles may define its parts
    numbers = tuple(sorted(asked.numbers.items()))
    padding = start.profile.padding if space.padding_matters else None
    prefix = (asked.metric.name, asked.name.at, numbers, owner, padding)
    values = {name: getattr(asked.convention, name) for name in names}
    return _Frame(start, preset, _flips(start, preset, starts, space), prefix, values)


def _flips(
    start: Start, preset: Mapping[str, Any], starts: Sequence[Start], space: Space
) -> list[Flip]:
    """Return the single changes that a start accepts.

    Those that change the value come first, and among them those that more profiles make.
    """
    popularity = Counter(flip for s in starts for flip in s.asked.convention.as_dict().items())
    current = start.asked.convention.as_dict()
    flips = [
        (name, choice)
        for name, choices in space.choices(start.asked.metric).items()
        for choice in choices
        if name not in preset and choice != current[name] and _accepts(start, name, choice)
    ]
    return sorted(flips, key=lambda flip: (flip not in space.effective, -popularity[flip]))


def _accepts(start: Start, name: str, choice: Any) -> bool:
    """Return whether a change takes effect; a switch in brackets in the metric's name is fixed."""
    changed = _make_changed(start, {name: choice})
    return changed is not None and getattr(changed.asked.convention, name) == choice


def _breadth_first(frames: Sequence[_Frame]) -> Iterator[tuple[_Frame, dict[str, Any]]]:
    """Yield every set of changes of every start, smaller sets first; starts take turns."""
    most = max((len({name for name, _ in frame.flips}) for frame in frames), default=0)
    for size in range(most + 1):
        running = [_sets(frame, size - len(frame.preset)) for frame in frames]
        while running:
            turn = [next(sets, None) for sets in running]
            running = [sets for sets, item in zip(running, turn, strict=True) if item is not None]
            yield from (item for item in turn if item is not None)


def _sets(frame: _Frame, size: int) -> Iterator[tuple[_Frame, dict[str, Any]]]:
    """Yield the sets of `size` changes, ordered by their least likely change."""
    if size == 0:
        yield frame, dict(frame.preset)
    for last in range(size - 1, len(frame.flips)) if size > 0 else ():
        for others in combinations(frame.flips[:last], size - 1):
            changes = {**frame.preset, **dict([*others, frame.flips[last]])}
            if len(changes) == size + len(frame.preset):
                yield frame, changes
