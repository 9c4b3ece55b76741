"""Profiles: the conventions of other frameworks, by release, as data.

A profile is a TOML file beside this module. It sets switches for all metrics, overrides some of
them for one metric, and says what the framework's own names and variants mean. Nothing in the code
asks for a profile's name.

    framework = "RecTools"
    versions = ["0.19.0"]                      releases whose values are reproduced
    about = "..."
    padding = 0                                the item that is never recommended from dense scores

    [convention]                               switches, for every metric
    ideal = "k"

    [metrics.hits]                             one metric: its name here, switches, numbers
    metric = "hit"
    hit_as = "count"

    [metrics."recall[macro]"]                  a name with all its variants; then neither
    metric = "macro_recall"                    [metrics.recall] nor [variants] is looked at

    [metrics."accuracy@k"]                     a name with a cutoff, any one: @k, or one: @5
    ties = "item_descending"

    [variants]                                 what stands in brackets: switches it sets,
    burges = { gain = "exp2" }                 ndcg[burges]@10
    rel = "relevant_from"                      or the switch or number it renames: ndcg[rel=2]@10

    [absent]                                   the framework's metrics that are not here, where a
    mcc = "of each user's list"                metric of ours has the name: name -> what it is there

    [known_differences]                        honest exceptions: metric name -> cause

What is nearer to the name wins: [convention], then the switches that a metric's own definition
fixes, then its entry here, then the variants asked for.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import resources
from typing import Any

from rectitude.convention import SWITCHES, Convention, parse_value, require_switch
from rectitude.errors import BadName, UnknownName, unknown_name
from rectitude.metrics import METRICS, Metric
from rectitude.metrics.names import Name, parse

Variants = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A metric as it will be computed: the function, its convention, its own numbers and its
    cutoff."""

    name: Name
    metric: Metric
    convention: Convention
    numbers: Mapping[str, float]

    @property
    def cutoff(self) -> int | None:
        """The cutoff, or None for the whole list."""
        return self.name.cutoff


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
        for key, value in own.items():
            _set(key, value, metric, changes, numbers)
        for variant, given in variants:
            self._set_variant(variant, given, metric, changes, numbers)
        asked = Asked(name, metric, self.convention.replace(**changes), numbers)
        _check_cutoff(asked)
        return asked

    def check(self) -> None:
        """An error if an entry names a metric, a switch or a number that does not exist."""
        for key, entry in self.metrics.items():
            self._ask(replace(parse(key)[0], at=None), entry, ())

    def _set_variant(
        self,
        variant: str,
        given: str | None,
        metric: Metric,
        changes: dict[str, Any],
        numbers: dict[str, float],
    ) -> None:
        meaning = self.variants.get(variant, variant)
        if isinstance(meaning, Mapping):
            settings = dict(meaning)
            for key, value in settings.items():
                _set(key, value, metric, changes, numbers)
            return
        if given is None:
            raise _unknown_variant(variant, metric, self)
        _set(meaning, given, metric, changes, numbers)


def _check_cutoff(asked: Asked) -> None:
    if asked.cutoff is not None and asked.metric.cutoff == "none":
        raise BadName(
            f"{str(asked.name)!r} has a cutoff.",
            f"no cutoff: {asked.metric.name} looks at all ranks.",
            f"write {replace(asked.name, at=None)}.",
        )


def _set(
    key: str, value: Any, metric: Metric, changes: dict[str, Any], numbers: dict[str, float]
) -> None:
    """Give a switch or a number of a metric its value, which may still be text."""
    if key in numbers:
        numbers[key] = _number(key, value, metric)
    elif key in SWITCHES and (SWITCHES[key].stage != "metrics" or key in metric.obeys):
        changes[key] = parse_value(key, value) if isinstance(value, str) else value
    else:
        known = [*metric.obeys, *numbers, "relevant_from"]
        raise unknown_name("switch or number", key, known, where=f"metric {metric.name!r}")


def _number(key: str, value: Any, metric: Metric) -> float:
    try:
        return math.e if value == "e" else float(value)
    except ValueError:
        raise BadName(
            f"{key!r} of metric {metric.name!r} cannot be {value!r}.", "a number."
        ) from None


def _unknown_variant(variant: str, metric: Metric, profile: Profile) -> UnknownName:
    flags = [key for key, meaning in profile.variants.items() if isinstance(meaning, Mapping)]
    return unknown_name(
        "variant", variant, flags, where=f"metric {metric.name!r} under profile {profile.name!r}",
        note=f"to set a switch write {metric.name}[switch=value].",
    )  # fmt: skip


class Profiles(Mapping[str, Profile]):
    """The profiles that ship with rectitude, by name."""

    def __getitem__(self, name: str) -> Profile:
        if name not in _names():
            raise unknown_name("profile", name, _names())
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())


PROFILES = Profiles()


@cache
def _names() -> tuple[str, ...]:
    files = [entry.name for entry in resources.files(__name__).iterdir()]
    return ("default", *sorted(name[:-5] for name in files if name.endswith(".toml")))


@cache
def _load(name: str) -> Profile:
    if name == "default":
        return Profile(about="What rectitude computes unless told otherwise.")
    text = resources.files(__name__).joinpath(f"{name}.toml").read_text("utf-8")
    return from_toml(name, text)


def from_toml(name: str, text: str) -> Profile:
    """A profile from the text of its file."""
    stored = tomllib.loads(text)
    known = [f.name for f in fields(Profile) if f.name not in ("name", "changes")]
    for key in stored:
        if key not in known:
            raise unknown_name("key", key, known, where=f"profile {name!r}")
    versions = tuple(stored.pop("versions"))
    convention = Convention().replace(**stored.pop("convention", {}))
    profile = Profile(name=name, versions=versions, convention=convention, **stored)
    profile.check()
    return profile


def profile_of(given: object) -> Profile:
    """The profile that a `convention=` argument means.

    A profile name, a `Convention`, a `Profile`, or a dict of changes, which may name the profile it
    starts from: `{"profile": "trec_eval-9", "relevant_from": 2}`.
    """
    if given is None:
        return PROFILES["default"]
    if isinstance(given, Profile):
        return given
    if isinstance(given, Convention):
        same = given == Convention()
        return Profile(name="default" if same else "custom", convention=given)
    if isinstance(given, str):
        return PROFILES[given]
    if isinstance(given, Mapping):
        changes = dict(given)
        start = PROFILES[changes.pop("profile", "default")]
        for switch in changes:
            require_switch(switch)
        return start.replace(**changes)
    raise BadName(
        f"convention is a {type(given).__name__}.",
        "a profile name, a Convention, or a dict of switches.",
    )
