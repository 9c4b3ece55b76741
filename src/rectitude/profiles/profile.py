"""`Profile`: a convention with what it says about single metrics and names, and `Asked`: what a
metric name means under it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rectitude.convention import SWITCHES, Convention, parse_value
from rectitude.errors import BadName, RectitudeError, UnknownName, unknown_name
from rectitude.metrics import METRICS, Metric
from rectitude.metrics.names import Name, parse
from rectitude.profiles.composing import composed, parts_in, shared_convention

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
