"""`Profile`: a convention with settings for individual metrics and names, and `Asked`: what a
metric name means under a profile.

Also in this module: the profiles that ship with rectitude, by name; metrics that combine others on
the same list, such as `hypervolume[precision,recall]@10`; and the comparison of two profiles.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from os import PathLike
from typing import Any

import numpy as np

from rectitude.convention import SWITCHES, Convention, format_gains, is_table, parse_value
from rectitude.errors import (
    BadArgument,
    BadName,
    NotComparable,
    RectitudeError,
    UnknownName,
    unknown_name,
)
from rectitude.judge.judged import Judged
from rectitude.metrics import METRICS, Metric, Ratio
from rectitude.metrics.aliases import translate, unknown_metric
from rectitude.metrics.names import Name, Variants, parse, parse_all, write_variant
from rectitude.metrics.registry import call_metric, require_choice
from rectitude.render import Grid, Printable

_SYNONYMS = {"gains": "gain"}
"""other words for switches in names: ndcg[gains={1: 3, 2: 7}]"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A metric as it will be computed: its function, convention, parameters and cutoff."""

    name: Name
    metric: Metric
    convention: Convention
    numbers: Mapping[str, float | str]
    by: str = ""
    """the column of user groups to aggregate by; all users form one group if it is empty"""
    typed: Name | None = None
    """the name as it was typed, if it is another name of the metric"""
    stat: str = "mean"
    """what the values of lists become: their mean, or another statistic"""

    @property
    def cutoff(self) -> int | None:
        """The cutoff; None for the whole list."""
        return None if self.metric.cutoff == "level" else self.name.cutoff


@dataclass(frozen=True, slots=True, repr=False)
class Profile:
    """A convention with settings for individual metrics, and with the framework's metric names."""

    name: str = "default"
    framework: str = "rectitude"
    versions: tuple[str, ...] = ()
    about: str = ""
    unproven: str = ""
    """why no values of the framework prove the profile; empty if there are such values"""
    convention: Convention = field(default_factory=Convention)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """the framework's own name of a metric -> the name used here"""
    variants: Mapping[str, str | Mapping[str, Any]] = field(default_factory=dict)
    known_differences: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    padding: int | str | None = None
    """the item that the framework never recommends from dense scores"""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """switches that were set differently from the profile"""

    def __repr__(self) -> str:
        versions = " ".join([self.framework, *self.versions])
        return f"<Profile {self.label}: {versions}, {len(self.metrics)} metrics of its own>"

    @property
    def label(self) -> str:
        """The name, followed by the changed switches."""
        return ", ".join([self.name, *(f"{key}={value}" for key, value in self.changes.items())])

    def replace(self, **changes: Any) -> Profile:
        """Return this profile with other values of some switches, for every metric."""
        if not changes:
            return self
        metrics = {
            name: {key: value for key, value in entry.items() if key not in changes}
            for name, entry in self.metrics.items()
        }
        convention = self.convention.replace(**changes)
        tables = {key: format_gains(given) for key, given in changes.items() if is_table(given)}
        all_changes = {**self.changes, **changes, **tables}
        return replace(self, convention=convention, metrics=metrics, changes=all_changes)

    def translate(self, name: Name) -> Name:
        """Return the name used here for a name as people type it: in any case, or as this or
        another framework calls the metric."""
        if ":" in name.base:
            return replace(name, base=METRICS.take(name.base))
        ours = translate(name, METRICS, self.metrics, self.names)
        if ours is None:
            titles = {key: metric.title for key, metric in METRICS.items()}
            raise unknown_metric(name, {**dict.fromkeys(self.metrics, ""), **titles})
        return ours

    def resolve(self, name: Name) -> Asked:
        """Return the metric that a name means under this profile."""
        if not self.names and name.base in METRICS and name.has_plain_end:
            return self._resolve(name)
        ours = self.translate(name)
        asked = self._resolve(ours)
        return asked if ours == name else replace(asked, typed=name)

    def _resolve(self, name: Name) -> Asked:
        if name.base in self.absent:
            raise BadName(
                f"{name.base!r} of {self.framework} is not available: in {self.framework} it is "
                f"{self.absent[name.base]}.",
                "a metric that the profile reproduces.",
                f"{METRICS[name.base].title} ({name.base}) is available under other profiles.",
            )
        entry, variants = self._find_entry(name)
        asked = self._ask(name, entry, variants)
        if 0 < len(variants) < len(name.variants):
            self._require_agreement(asked, entry, variants)
        return asked

    def _require_agreement(
        self, asked: Asked, entry: Mapping[str, Any], variants: Variants
    ) -> None:
        """Raise an error if variants contradict an entry with brackets of its own: if they set what
        it sets, while the metric without brackets has another value."""
        plain, _ = self._find_entry(replace(asked.name, variants=()))
        usual = {**self.convention.as_dict(), **plain}
        settings = self._settings(variants, asked.metric)
        for key in entry.keys() & settings.keys():
            if not _is_same(entry[key], settings[key]) and entry[key] != usual.get(key):
                taken = [variant for variant in asked.name.variants if variant not in variants]
                brackets = ",".join(map(write_variant, taken))
                raise _contradiction(asked.metric, brackets, f"{key}={settings[key]}", key)

    def has(self, name: str) -> bool:
        """Return whether a metric name exists under this profile."""
        try:
            self.resolve(parse(name)[0])
        except RectitudeError:
            return False
        return True

    def _find_entry(self, name: Name) -> tuple[Mapping[str, Any], Variants]:
        """Return the profile's entry for a metric name, and the variants that remain to apply.

        The entry with most of the variants is taken, and then the one with the same cutoff.
        """
        ends = (None,) if name.at is None else (name.at, "k", None)
        keys = {key: _parse_key(key) for key in self.metrics if key.startswith(name.base)}
        fitting = [
            key
            for key, own in keys.items()
            if own.base == name.base and own.at in ends and {*own.variants} <= {*name.variants}
        ]
        if not fitting:
            return {}, name.variants
        most = max(len(keys[key].variants) for key in fitting)
        fitting = [key for key in fitting if len(keys[key].variants) == most]
        if len({keys[key].variants for key in fitting}) > 1:
            raise _one_of_them(name, [str(replace(keys[key], at=None)) for key in fitting])
        best = min(fitting, key=lambda key: ends.index(keys[key].at))
        left = [variant for variant in name.variants if variant not in keys[best].variants]
        return self.metrics[best], tuple(left)

    def _ask(self, name: Name, entry: Mapping[str, Any], variants: Variants) -> Asked:
        """Return the metric that an entry of the profile and variants define."""
        defaults = dict(entry)
        metric = METRICS[defaults.pop("metric", name.base)]
        numbers = dict(metric.parameters)
        changes: dict[str, Any] = dict(metric.fixed)
        points = parts_in(variants, self.metrics) if "parts" in metric.needs else {}
        if points:
            variants = tuple(variant for variant in variants if variant[0] not in points)
            parts = {part: self.resolve(Name(part, at=name.at)) for part in points}
            reference = {**numbers, **defaults, **self._settings(variants, metric)}["reference"]
            metric, numbers = compose(metric, parts, points, str(reference))
            changes = share_convention(metric, parts)
        stat = dict(variants).get("stat") or "mean"
        variants = tuple(variant for variant in variants if variant[0] != "stat")
        settings = {**defaults, **self._settings(variants, metric)}
        if metric.kind == "derived" and not metric.of:  # computed from the means of groups
            inner = self.resolve(Name(str(settings.get("of", numbers["of"]))))
            metric = replace(metric, of=(inner.metric.name,))
        for key, value in settings.items():
            set_value(key, value, metric, changes, numbers)
        if metric.cutoff == "level" and name.at is not None:
            numbers["level"] = name.level
        asked = Asked(name, metric, self.convention.replace(**changes), numbers, stat=stat)
        _check_cutoff(asked)
        _check_stat(asked)
        return asked

    def check(self, key: str) -> None:
        """Raise an error if the profile's entry for a metric is not valid."""
        self._ask(replace(parse(key)[0], at=None), self.metrics[key], ())

    def _settings(self, variants: Variants, metric: Metric) -> dict[str, Any]:
        """Return the switches and numbers that variants set; no two may set one differently."""
        settings: dict[str, Any] = {}
        setters: dict[str, str] = {}
        for variant, value in variants:
            meaning = self.variants.get(variant, _SYNONYMS.get(variant, variant))
            if value is None and not isinstance(meaning, Mapping):
                raise _unknown_variant(variant, metric, self)
            given = meaning if isinstance(meaning, Mapping) else {meaning: value}
            said = write_variant((variant, value))
            for key, setting in given.items():
                if not _is_same(settings.setdefault(key, setting), setting):
                    raise _contradiction(metric, setters[key], said, key)
                setters.setdefault(key, said)
        return settings


@cache
def _parse_key(key: str) -> Name:
    return parse(key)[0]


def _is_same(first: Any, second: Any) -> bool:
    """Return whether two values of a setting are the same, as text or as a number."""
    try:
        return first == second or float(first) == float(second)
    except (TypeError, ValueError):
        return str(first) == str(second)


def _contradiction(metric: Metric, first: str, second: str, key: str) -> BadName:
    return BadName(
        f"{first!r} and {second!r} contradict each other in the brackets of {metric.name!r}: both "
        f"set {key}.",
        "one of them.",
    )


def _one_of_them(name: Name, heads: Iterable[str]) -> BadName:
    return BadName(
        f"{str(name)!r} combines {' and '.join(dict.fromkeys(heads))}, which are different metrics "
        "under this profile.",
        "one of them.",
    )


_STAT = r"mean|median|min|max|std|p(100|\d{1,2}(\.\d{1,6})?)"
"""the statistics of the values of lists; p90 is the value that 90% of the lists do not exceed"""


def _check_stat(asked: Asked) -> None:
    """Raise an error if a statistic does not exist, or if a metric is not a mean over lists."""
    if not re.fullmatch(_STAT, asked.stat):
        raise BadName(
            f"the statistic of {str(asked.name)!r} is {asked.stat!r}.",
            "mean, median, min, max, std, or a percentile such as p90.",
        )
    one_mean = asked.metric.kind == "list" and asked.metric.overall == "mean"
    plain = asked.convention.average == "macro" and asked.convention.unit == "list"
    if asked.stat != "mean" and not (one_mean and plain):
        reason = (
            f"its convention has average={asked.convention.average!r} and "
            f"unit={asked.convention.unit!r}"
            if one_mean
            else f"{asked.metric.name} has no value per list that is averaged"
        )
        raise BadName(
            f"{str(asked.name)!r} asks for a statistic of the values of lists, but {reason}.",
            "a metric that is the mean of one value per list, such as ndcg.",
        )


def _check_cutoff(asked: Asked) -> None:
    if asked.cutoff is not None and asked.metric.cutoff == "none":
        raise BadName(
            f"{str(asked.name)!r} has a cutoff.",
            f"no cutoff: {asked.metric.name} uses all ranks.",
            f"write {replace(asked.name, at=None)}.",
        )


def set_value(
    key: str,
    value: Any,
    metric: Metric,
    changes: dict[str, Any],
    numbers: dict[str, float | str],
) -> None:
    """Set a switch or parameter of a metric; numbers may be given as text."""
    if key in numbers and isinstance(metric.parameters[key], str):
        numbers[key] = str(value)
    elif key in numbers:
        numbers[key] = _parse_number(key, value, metric)
    elif key in SWITCHES and (SWITCHES[key].stage != "metrics" or key in metric.obeys):
        changes[key] = parse_value(key, value) if isinstance(value, str) else value
    else:
        names = [*metric.obeys, *numbers, "relevant_from"]
        raise unknown_name("switch or number", key, names, where=f"metric {metric.name!r}")


def _parse_number(key: str, value: Any, metric: Metric) -> float:
    try:
        return math.e if value == "e" else float(value)
    except (TypeError, ValueError):
        raise BadArgument(
            f"{key!r} of metric {metric.name!r} is {value!r}.",
            "a number, or 'e' for the base of natural logarithms.",
        ) from None


def _unknown_variant(variant: str, metric: Metric, profile: Profile) -> UnknownName:
    flags = [key for key, meaning in profile.variants.items() if isinstance(meaning, Mapping)]
    return unknown_name(
        "variant", variant, flags, where=f"metric {metric.name!r} under profile {profile.name!r}",
        note=f"to set a switch, write {metric.name}[switch=value].",
    )  # fmt: skip


ENDING = ".toml"
DEFAULT = "default"
_HOME = "rectitude.profiles"


class Profiles(Printable, Mapping[str, Profile]):
    """The profiles that ship with rectitude, by name."""

    def __getitem__(self, name: str) -> Profile:
        own = name if name == DEFAULT else _names_by_lower().get(str(name).lower())
        if own is None:
            raise unknown_name("profile", name, _names())
        return _load(own)

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())

    def __repr__(self) -> str:
        return f"{len(self)} profiles: {', '.join(self)}"

    def _shown(self) -> Iterator[Grid]:
        profiles = [(name, self[name]) for name in self]
        rows = [[name, p.framework, ", ".join(p.versions)] for name, p in profiles]
        yield Grid(["profile", "framework", "versions"], rows, left=(0, 1, 2))


PROFILES = Profiles()


@cache
def _names() -> tuple[str, ...]:
    files = [entry.name for entry in resources.files(_HOME).iterdir()]
    return (DEFAULT, *sorted(name.removesuffix(ENDING) for name in files if is_file(name)))


@cache
def _names_by_lower() -> Mapping[str, str]:
    return {name.lower(): name for name in _names()}


@cache
def _load(name: str) -> Profile:
    if name == DEFAULT:
        return Profile(about="The definitions that rectitude uses by default.")
    from rectitude.profiles.reading import from_toml  # noqa: PLC0415  (profile files only)

    text = resources.files(_HOME).joinpath(f"{name}{ENDING}").read_text("utf-8")
    return from_toml(name, text, f"{name}{ENDING}")


def profile_of(given: object) -> Profile:
    """Return the profile for a `convention=` argument.

    The argument is a profile name, the path of a profile file, a `Convention`, a `Profile`, or a
    dict of switches. A dict may name a profile to start from:
    `{"profile": "trec_eval-9", "relevant_from": 2}`.
    """
    if given is None:
        return PROFILES[DEFAULT]
    if isinstance(given, Profile):
        return given
    if isinstance(given, Convention):
        is_default = given == Convention()
        return Profile(name=DEFAULT if is_default else "custom", convention=given)
    if isinstance(given, str):
        return find_profile(given)
    if isinstance(given, PathLike):
        return _read_profile(given)
    if isinstance(given, Mapping):
        changes = dict(given)
        start = profile_of(changes.pop("profile", DEFAULT))
        return start.replace(**changes)
    raise BadArgument(
        f"convention is of type {type(given).__name__}.",
        "a profile name, the path of a profile file, a Convention, or a dict of switches.",
        "only evaluate takes several conventions." if isinstance(given, list | tuple) else "",
    )


def find_profile(name: str) -> Profile:
    """Return a profile by its name, or from a custom file if the name ends in `.toml`."""
    return _read_profile(name) if is_file(name) else PROFILES[name]


def is_file(name: str) -> bool:
    """Return whether a profile name is the path of a profile file."""
    return name.endswith(ENDING)


def _read_profile(path: str | PathLike[str]) -> Profile:
    from rectitude.profiles.reading import from_file  # noqa: PLC0415  (profile files only)

    return from_file(path)


@dataclass(frozen=True, slots=True)
class Composed:
    """A metric function that combines the values of other metrics, its parts, on each list.

    It receives the reference point of each part under the name of the part, and the numbers of the
    part under `part.number`.
    """

    whole: str
    parts: tuple[str, ...]

    def __call__(self, lists: Judged, k: int | None, **settings: Any) -> Ratio:
        """Return the value of each list; it is undefined if one of its parts is."""
        ratios = [self._compute_part(METRICS[part], lists, k, settings) for part in self.parts]
        defined = np.all([ratio.below > 0 for ratio in ratios], axis=0)
        values = [r.above / np.where(r.below > 0, r.below, 1.0) for r in ratios]
        signs = [1.0 if METRICS[part].best == "high" else -1.0 for part in self.parts]
        points = [settings[part] for part in self.parts]
        better = [s * (v - p) for s, v, p in zip(signs, values, points, strict=True)]
        ratio: Ratio = METRICS[self.whole].function(better)
        return ratio.where(defined)

    @staticmethod
    def _compute_part(
        part: Metric, lists: Judged, k: int | None, settings: dict[str, Any]
    ) -> Ratio:
        numbers = {name: settings[f"{part.name}.{name}"] for name in part.parameters}
        switches = {switch: settings[switch] for switch in part.switches}
        return call_metric(part.function, lists, k, **switches, **numbers)


def parts_in(variants: Variants, entries: Container[str]) -> dict[str, str | None]:
    """Return the variants that name a metric, with their reference points: precision=0.5."""
    return {
        key: point
        for key, point in variants
        if (key in METRICS or key in entries) and (point is None or key not in SWITCHES)
    }


def compose(
    metric: Metric, parts: Mapping[str, Asked], points: Mapping[str, str | None], reference: str
) -> tuple[Metric, dict[str, float | str]]:
    """Return the metric that combines the parts, and its numbers: the reference point and the
    numbers of each part."""
    require_choice("reference", reference, ("worst", "best"))
    numbers: dict[str, float | str] = {}
    for name, part in parts.items():
        _require_by_list(metric, name, part.metric)
        numbers[part.metric.name] = _point(metric, name, part.metric, points[name], reference)
        numbers |= {f"{part.metric.name}.{key}": value for key, value in part.numbers.items()}
    of = tuple(part.metric.name for part in parts.values())
    metrics = [METRICS[name] for name in of]
    composed = replace(
        metric,
        function=Composed(metric.name, of),
        of=of,
        needs=tuple(dict.fromkeys(need for part in metrics for need in part.requires)),
        switches=tuple(dict.fromkeys(switch for part in metrics for switch in part.switches)),
        reach="list" if any(part.reach == "list" for part in metrics) else "cutoff",
    )
    return composed, {**numbers, "reference": reference}


def share_convention(metric: Metric, parts: Mapping[str, Asked]) -> dict[str, Any]:
    """Return the switches of the parts, which must agree: all parts use the same judged lists."""
    shared: dict[str, Any] = {}
    whose: dict[str, str] = {}
    for name, part in parts.items():
        for switch, value in _relevant_switches(part).items():
            if shared.setdefault(switch, value) != value:
                raise NotComparable(
                    f"{whose[switch]} and {name} cannot be combined by {metric.name}: {switch} is "
                    f"{shared[switch]!r} in one and {value!r} in the other.",
                    f"the same value of {switch} for all metrics that are combined.",
                )
            whose.setdefault(switch, name)
    return shared


def _relevant_switches(part: Asked) -> dict[str, Any]:
    """Return the switches that can change the value of a metric."""
    convention: Convention = part.convention
    return {
        switch.name: getattr(convention, switch.name)
        for switch in SWITCHES.values()
        if switch.stage != "metrics" or switch.name in part.metric.obeys
    }


def _require_by_list(metric: Metric, name: str, part: Metric) -> None:
    has_list_values = part.kind == "list" and part.overall == "mean" and "parts" not in part.needs
    if not has_list_values or part.wants_facts:
        raise BadName(
            f"{metric.name} combines values per list, and {name} is not a mean of such values.",
            "metrics with a value per list, such as precision, ndcg or epc.",
        )


def _usual_point(part: Metric, reference: str) -> float:
    """Return the default reference point of a part: its worst or its best possible value."""
    low, high = part.bounds if part.best == "high" else part.bounds[::-1]
    return high if reference == "best" else low


def _point(metric: Metric, name: str, part: Metric, text: str | None, reference: str) -> float:
    """Return the reference point of a part: the number in the metric's name, or the default."""
    try:
        point = _usual_point(part, reference) if text is None else float(text)
    except ValueError:
        point = float("nan")
    if not math.isfinite(point):
        low, high = part.bounds
        what = f"{text!r}" if text is not None else f"its {reference} value, which is infinite"
        raise BadArgument(
            f"the reference point of {name} in {metric.name} is {what}.",
            f"a finite number; {name} is between {low:g} and {high:g}.",
            f"write {metric.name}[{name}=0.5,...], for example.",
        )
    return point


Pair = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class ProfileDifference:
    """How the meaning of one metric name differs between two profiles."""

    name: str
    metric: Pair
    """the metric that the name means under each profile"""
    switches: dict[str, Pair]
    """the switches that can change the metric and are set differently"""
    numbers: dict[str, Pair]
    """the numbers of the metric that differ"""

    @property
    def same(self) -> bool:
        """Whether the name means the same quantity under both profiles."""
        return self.metric[0] == self.metric[1] and not self.switches and not self.numbers

    def as_dict(self) -> dict[str, Any]:
        """Return the difference as a dict for JSON."""
        return {
            "name": self.name,
            "metric": list(self.metric),
            "switches": {switch: list(pair) for switch, pair in self.switches.items()},
            "numbers": {number: list(pair) for number, pair in self.numbers.items()},
        }


def compare_profiles(
    first: Profile, second: Profile, names: str | Iterable[str] | None = None
) -> list[ProfileDifference]:
    """Compare the metrics that both profiles have, or those with the given names."""
    if names is None:
        shared = [*METRICS, *(key for key in first.metrics if key in second.metrics)]
        names = [name for name in shared if first.has(name) and second.has(name)]
    return [_difference(n, first.resolve(n), second.resolve(n)) for n in parse_all(names)]


def _difference(name: Name, first: Asked, second: Asked) -> ProfileDifference:
    obeyed = {*first.metric.obeys, *second.metric.obeys}
    pairs = first.convention.differences(second.convention)
    relevant = [s for s in pairs if SWITCHES[s].stage != "metrics" or s in obeyed]
    numbers = {**first.numbers, **second.numbers}
    values = {number: (first.numbers.get(number), second.numbers.get(number)) for number in numbers}
    return ProfileDifference(
        str(name),
        (first.metric.name, second.metric.name),
        {switch: pairs[switch] for switch in relevant},
        {number: pair for number, pair in values.items() if pair[0] != pair[1]},
    )
