"""`Profile`: a convention with what it says about single metrics and names, and `Asked`: what a
metric name means under it.

Below them: the profiles that ship, by name; metrics that are made of others on the same list, such
as `hypervolume[precision,recall]@10`; and what two profiles mean by the same name.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from os import PathLike
from typing import Any

import numpy as np

from rectitude.convention import SWITCHES, Convention, parse_value
from rectitude.errors import BadName, RectitudeError, UnknownName, unknown_name
from rectitude.judge.judged import Judged
from rectitude.metrics import METRICS, Metric, Ratio
from rectitude.metrics.names import Name, parse, parse_all
from rectitude.metrics.registry import require_choice, values_of

Variants = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A metric as it will be computed: the function, its convention, its own numbers and
    texts, and its cutoff."""

    name: Name
    metric: Metric
    convention: Convention
    numbers: Mapping[str, float | str]
    by: str = ""
    """the column of users by whose groups values are added up; all together if it is empty"""

    @property
    def cutoff(self) -> int | None:
        """The cutoff, or None for the whole list."""
        return None if self.metric.cutoff == "level" else self.name.cutoff


@dataclass(frozen=True, slots=True)
class Profile:
    """A convention with what it says about single metrics and names."""

    name: str = "default"
    framework: str = "rectitude"
    versions: tuple[str, ...] = ()
    about: str = ""
    convention: Convention = field(default_factory=Convention)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    variants: Mapping[str, str | Mapping[str, Any]] = field(default_factory=dict)
    known_differences: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    padding: int | None = None
    """the item that the framework never recommends from dense scores"""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """switches that were set otherwise than the profile says"""

    @property
    def label(self) -> str:
        """The name, and what was changed."""
        return ", ".join([self.name, *(f"{key}={value}" for key, value in self.changes.items())])

    def replace(self, **changes: Any) -> Profile:
        """This profile with switches set otherwise, for every metric."""
        if not changes:
            return self
        metrics = {
            name: {key: value for key, value in own.items() if key not in changes}
            for name, own in self.metrics.items()
        }
        convention = self.convention.replace(**changes)
        changed = {**self.changes, **changes}
        return replace(self, convention=convention, metrics=metrics, changes=changed)

    def resolve(self, name: Name) -> Asked:
        """What a metric name means under this profile."""
        if name.base in self.absent:
            raise BadName(
                f"{name.base!r} of {self.framework} is not available: there it is "
                f"{self.absent[name.base]}.",
                "a metric that the profile reproduces.",
                f"{METRICS[name.base].title} ({name.base}) is computed under other profiles.",
            )
        own, variants = self._entry(name)
        return self._ask(name, own, variants)

    def has(self, name: str) -> bool:
        """Whether a metric name means something under this profile."""
        try:
            self.resolve(parse(name)[0])
        except RectitudeError:
            return False
        return True

    def _entry(self, name: Name) -> tuple[Mapping[str, Any], Variants]:
        """What the profile says of a metric name, and the variants that are left to apply."""
        ends = ("",) if name.at is None else (f"@{name.at}", "@k", "")
        for start, left in ((str(replace(name, at=None)), ()), (name.base, name.variants)):
            for key in (start + end for end in ends):
                if key in self.metrics:
                    return self.metrics[key], left
        return {}, name.variants

    def _ask(self, name: Name, entry: Mapping[str, Any], variants: Variants) -> Asked:
        own = dict(entry)
        metric = METRICS[own.pop("metric", name.base)]
        numbers = dict(metric.parameters)
        changes: dict[str, Any] = dict(metric.fixed)
        points = parts_in(variants, self.metrics) if "parts" in metric.needs else {}
        if points:
            variants = tuple(one for one in variants if one[0] not in points)
            parts = {part: self.resolve(Name(part, at=name.at)) for part in points}
            chosen = {**numbers, **own, **self._settings(variants, metric)}["reference"]
            metric, numbers = composed(metric, parts, points, str(chosen))
            changes = shared_convention(metric, parts)
        settings = {**own, **self._settings(variants, metric)}
        if metric.kind == "derived" and not metric.of:  # of the means of groups
            inner = self.resolve(Name(str(settings.get("of", numbers["of"]))))
            metric = replace(metric, of=(inner.metric.name,))
        for key, value in settings.items():
            set_value(key, value, metric, changes, numbers)
        if metric.cutoff == "level" and name.at is not None:
            numbers["level"] = name.level
        asked = Asked(name, metric, self.convention.replace(**changes), numbers)
        _check_cutoff(asked)
        return asked

    def check(self, key: str) -> None:
        """An error if the entry of a metric cannot be what the profile makes of it."""
        self._ask(replace(parse(key)[0], at=None), self.metrics[key], ())

    def _settings(self, variants: Variants, metric: Metric) -> dict[str, Any]:
        """The switches and numbers that variants set; of two that set the same, the later one."""
        settings: dict[str, Any] = {}
        for variant, given in variants:
            meaning = self.variants.get(variant, variant)
            if isinstance(meaning, Mapping):
                settings |= meaning
            elif given is None:
                raise _unknown_variant(variant, metric, self)
            else:
                settings[meaning] = given
        return settings


def _check_cutoff(asked: Asked) -> None:
    if asked.cutoff is not None and asked.metric.cutoff == "none":
        raise BadName(
            f"{str(asked.name)!r} has a cutoff.",
            f"no cutoff: {asked.metric.name} looks at all ranks.",
            f"write {replace(asked.name, at=None)}.",
        )


def set_value(
    key: str,
    value: Any,
    metric: Metric,
    changes: dict[str, Any],
    numbers: dict[str, float | str],
) -> None:
    """Give a switch, a number or a text of a metric its value; a number may still be text."""
    if key in numbers and isinstance(metric.parameters[key], str):
        numbers[key] = str(value)
    elif key in numbers:
        numbers[key] = _number(key, value, metric)
    elif key in SWITCHES and (SWITCHES[key].stage != "metrics" or key in metric.obeys):
        changes[key] = parse_value(key, value) if isinstance(value, str) else value
    else:
        known = [*metric.obeys, *numbers, "relevant_from"]
        raise unknown_name("switch or number", key, known, where=f"metric {metric.name!r}")


def _number(key: str, value: Any, metric: Metric) -> float:
    try:
        return math.e if value == "e" else float(value)
    except (TypeError, ValueError):
        raise BadName(
            f"{key!r} of metric {metric.name!r} cannot be {value!r}.", "a number."
        ) from None


def _unknown_variant(variant: str, metric: Metric, profile: Profile) -> UnknownName:
    flags = [key for key, meaning in profile.variants.items() if isinstance(meaning, Mapping)]
    return unknown_name(
        "variant", variant, flags, where=f"metric {metric.name!r} under profile {profile.name!r}",
        note=f"to set a switch write {metric.name}[switch=value].",
    )  # fmt: skip


ENDING = ".toml"
DEFAULT = "default"
_HOME = "rectitude.profiles"


class Profiles(Mapping[str, Profile]):
    """The profiles that ship with rectitude, by name."""

    def __getitem__(self, name: str) -> Profile:
        if name != DEFAULT and name not in _names():
            raise unknown_name("profile", name, _names())
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())


PROFILES = Profiles()


@cache
def _names() -> tuple[str, ...]:
    files = [entry.name for entry in resources.files(_HOME).iterdir()]
    return (DEFAULT, *sorted(name.removesuffix(ENDING) for name in files if is_file(name)))


@cache
def _load(name: str) -> Profile:
    if name == DEFAULT:
        return Profile(about="What rectitude computes unless told otherwise.")
    from rectitude.profiles.reading import from_toml  # noqa: PLC0415  (profile files only)

    text = resources.files(_HOME).joinpath(f"{name}{ENDING}").read_text("utf-8")
    return from_toml(name, text, f"{name}{ENDING}")


def profile_of(given: object) -> Profile:
    """The profile that a `convention=` argument means.

    A profile name, the path of a profile file, a `Convention`, a `Profile`, or a dict of changes,
    which may name the profile it starts from: `{"profile": "trec_eval-9", "relevant_from": 2}`.
    """
    if given is None:
        return PROFILES[DEFAULT]
    if isinstance(given, Profile):
        return given
    if isinstance(given, Convention):
        same = given == Convention()
        return Profile(name=DEFAULT if same else "custom", convention=given)
    if isinstance(given, str):
        return named(given)
    if isinstance(given, PathLike):
        return _of_file(given)
    if isinstance(given, Mapping):
        changes = dict(given)
        start = profile_of(changes.pop("profile", DEFAULT))
        return start.replace(**changes)
    raise BadName(
        f"convention is a {type(given).__name__}.",
        "a profile name or file, a Convention, or a dict of switches.",
    )


def named(name: str) -> Profile:
    """A profile by its name, or by the path of a file of one's own, which ends in `.toml`."""
    return _of_file(name) if is_file(name) else PROFILES[name]


def is_file(name: str) -> bool:
    """Whether a profile is named by a file of one's own."""
    return name.endswith(ENDING)


def _of_file(path: str | PathLike[str]) -> Profile:
    from rectitude.profiles.reading import from_file  # noqa: PLC0415  (profile files only)

    return from_file(path)


@dataclass(frozen=True, slots=True)
class Composed:
    """A function of the values of other metrics, as a function of lists.

    It is given the point of every part under the part's name, and the part's own numbers under
    `part.number`.
    """

    whole: str
    parts: tuple[str, ...]

    def __call__(self, lists: Judged, k: int | None, **given: Any) -> Ratio:
        """The value of each list; undefined where a part is."""
        ratios = [self._of_part(METRICS[part], lists, k, given) for part in self.parts]
        defined = np.all([ratio.below > 0 for ratio in ratios], axis=0)
        values = [r.above / np.where(r.below > 0, r.below, 1.0) for r in ratios]
        signs = [1.0 if METRICS[part].best == "high" else -1.0 for part in self.parts]
        points = [given[part] for part in self.parts]
        better = [s * (v - p) for s, v, p in zip(signs, values, points, strict=True)]
        ratio: Ratio = METRICS[self.whole].function(better)
        return ratio.where(defined)

    @staticmethod
    def _of_part(part: Metric, lists: Judged, k: int | None, given: dict[str, Any]) -> Ratio:
        own = {name: given[f"{part.name}.{name}"] for name in part.parameters}
        switches = {switch: given[switch] for switch in part.switches}
        return values_of(part.function, lists, k, **switches, **own)


def parts_in(variants: Variants, known: Container[str]) -> dict[str, str | None]:
    """The variants that name a metric, with the point that stands behind it."""
    return {
        key: point
        for key, point in variants
        if (key in METRICS or key in known) and (point is None or key not in SWITCHES)
    }


def composed(
    metric: Metric, parts: Mapping[str, Asked], points: Mapping[str, str | None], reference: str
) -> tuple[Metric, dict[str, float | str]]:
    """The metric of some parts, and its numbers: the point of each, and what each has of its
    own."""
    require_choice("reference", reference, ("worst", "best"))
    numbers: dict[str, float | str] = {}
    for name, part in parts.items():
        _require_by_list(metric, name, part.metric)
        numbers[part.metric.name] = _point(metric, name, part.metric, points[name], reference)
        numbers |= {f"{part.metric.name}.{own}": value for own, value in part.numbers.items()}
    of = tuple(part.metric.name for part in parts.values())
    every = [METRICS[name] for name in of]
    made = replace(
        metric,
        function=Composed(metric.name, of),
        of=of,
        needs=tuple(dict.fromkeys(need for one in every for need in one.requires)),
        switches=tuple(dict.fromkeys(switch for one in every for switch in one.switches)),
        reach="list" if any(one.reach == "list" for one in every) else "cutoff",
    )
    return made, {**numbers, "reference": reference}


def shared_convention(metric: Metric, parts: Mapping[str, Asked]) -> dict[str, Any]:
    """The switches of the parts, which are computed on the same lists in the same way."""
    shared: dict[str, Any] = {}
    whose: dict[str, str] = {}
    for name, part in parts.items():
        for switch, value in _matters(part).items():
            if shared.setdefault(switch, value) != value:
                raise BadName(
                    f"{whose[switch]} and {name} cannot be combined by {metric.name}: {switch} is "
                    f"{shared[switch]!r} in one and {value!r} in the other.",
                    "parts that judge and count the same lists in the same way.",
                )
            whose.setdefault(switch, name)
    return shared


def _matters(part: Asked) -> dict[str, Any]:
    convention: Convention = part.convention
    return {
        switch.name: getattr(convention, switch.name)
        for switch in SWITCHES.values()
        if switch.stage != "metrics" or switch.name in part.metric.obeys
    }


def _require_by_list(metric: Metric, name: str, part: Metric) -> None:
    one_by_one = part.kind == "list" and part.overall == "mean" and "parts" not in part.needs
    if not one_by_one or part.wants_facts:
        raise BadName(
            f"{metric.name} is made of values of each list, and {name} is no mean of such values.",
            "metrics with a value per list, such as precision, ndcg or epc.",
        )


def _usual_point(part: Metric, reference: str) -> float:
    """The point of a part that was given none: its worst or its best value."""
    low, high = part.bounds if part.best == "high" else part.bounds[::-1]
    return high if reference == "best" else low


def _point(metric: Metric, name: str, part: Metric, given: str | None, reference: str) -> float:
    try:
        point = _usual_point(part, reference) if given is None else float(given)
    except ValueError:
        point = float("nan")
    if not math.isfinite(point):
        low, high = part.bounds
        what = f"{given!r}" if given is not None else f"its {reference} value, which is infinite"
        raise BadName(
            f"the point of {name} in {metric.name} is {what}.",
            f"a number; {name} lies between {low:g} and {high:g}.",
            f"write {metric.name}[{name}=0.5,...], for example.",
        )
    return point


Pair = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class ProfileDifference:
    """What one metric name means under two profiles, where that differs."""

    name: str
    metric: Pair
    """the metrics that the name stands for"""
    switches: dict[str, Pair]
    """the switches that can change it and are set differently"""
    numbers: dict[str, Pair]
    """the metric's own numbers that differ"""

    @property
    def same(self) -> bool:
        """Whether both mean the same quantity."""
        return self.metric[0] == self.metric[1] and not self.switches and not self.numbers

    def as_dict(self) -> dict[str, Any]:
        """The difference for JSON."""
        return {
            "name": self.name,
            "metric": list(self.metric),
            "switches": {switch: list(pair) for switch, pair in self.switches.items()},
            "numbers": {number: list(pair) for number, pair in self.numbers.items()},
        }


def compared(
    one: Profile, other: Profile, names: str | Iterable[str] | None = None
) -> list[ProfileDifference]:
    """Each metric that both profiles have, or those named, under one and under the other."""
    if names is None:
        shared = [*METRICS, *(key for key in one.metrics if key in other.metrics)]
        names = [name for name in shared if one.has(name) and other.has(name)]
    return [_difference(n, one.resolve(n), other.resolve(n)) for n in parse_all(names)]


def _difference(name: Name, one: Asked, other: Asked) -> ProfileDifference:
    own = {*one.metric.obeys, *other.metric.obeys}
    pairs = one.convention.differences(other.convention)
    matters = [s for s in pairs if SWITCHES[s].stage != "metrics" or s in own]
    numbers = {**one.numbers, **other.numbers}
    given = {number: (one.numbers.get(number), other.numbers.get(number)) for number in numbers}
    return ProfileDifference(
        str(name),
        (one.metric.name, other.metric.name),
        {switch: pairs[switch] for switch in matters},
        {number: pair for number, pair in given.items() if pair[0] != pair[1]},
    )
