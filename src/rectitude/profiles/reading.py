"""Read profile files and check their content; errors name the file and the line."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rectitude.convention import SWITCHES, Convention, parse_value
from rectitude.errors import BadSetting, unknown_name
from rectitude.metrics import METRICS
from rectitude.metrics.names import parse
from rectitude.options import KeyLines, locate_errors, toml_lines
from rectitude.profiles.profile import Profile, set_value
from rectitude.texts import parse_toml, read_settings


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _is_id(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _table_of(*kinds: type) -> Callable[[object], bool]:
    return lambda value: (
        isinstance(value, dict) and all(isinstance(entry, kinds) for entry in value.values())
    )


SHAPES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "framework": (lambda value: isinstance(value, str), "text"),
    "versions": (_is_texts, 'a list of texts, such as ["1.0"]'),
    "about": (lambda value: isinstance(value, str), "text"),
    "unproven": (lambda value: isinstance(value, str), "text: why no values prove the profile"),
    "padding": (_is_id, "the number or text of an item"),
    "convention": (_table_of(object), "a table: [convention]"),
    "metrics": (_table_of(dict), "tables: [metrics.ndcg]"),
    "names": (_table_of(str), "the framework's names, with the name used here, as text"),
    "variants": (_table_of(str, dict), 'names with { switch = "choice" } or "switch"'),
    "absent": (_table_of(str), "metric names with their meaning in the framework, as text"),
    "known_differences": (_table_of(str), "metric names with the cause, as text"),
}
"""What each key of a profile file must contain: a check, and its description for errors."""


@dataclass(frozen=True, slots=True)
class _File:
    """The text of a profile file, and its name for errors."""

    text: str
    label: str

    def locate(self, *path: str) -> str:
        """Return the file and line of a key, for errors."""
        return KeyLines(self.label, {(): 1, **toml_lines(self.text)}).where(path)

    def at(self, *path: str) -> AbstractContextManager[None]:
        """Return a context that adds the file and line of a key to errors raised in it."""
        return locate_errors(lambda: self.locate(*path))


def from_toml(name: str, text: str, label: str = "") -> Profile:
    """Return a profile from the text of its file; errors call the file `label`."""
    file = _File(text, label or f"profile {name!r}")
    stored = parse_toml(
        text, file.label,
        "TOML: key = value, with text in quotes, under headings such as [convention].",
    )  # fmt: skip
    _check_shapes(file, stored)
    settings = stored.pop("convention", {})
    convention = Convention().replace(**_switches(file, ("convention",), settings))
    versions = tuple(stored.pop("versions"))
    facts = {"framework": name, **stored}
    profile = Profile(name=name, versions=versions, convention=convention, **facts)
    for key, entry in profile.metrics.items():
        _check_metric(file, key, entry)
        with file.at("metrics", key):
            profile.check(key)
    for key, meaning in profile.variants.items():
        _check_variant(file, key, meaning)
    for key, meaning in profile.names.items():
        with file.at("names", key):
            parse(key)
            replace(profile, names={}).resolve(parse(meaning)[0])
    for key in profile.absent:
        with file.at("absent", key):
            _ = METRICS[key]
    return profile


def from_file(path: str | os.PathLike[str]) -> Profile:
    """Return a profile from a custom file."""
    text = read_settings(
        path, "profile", "a TOML file, or the name of a profile that ships with rectitude.",
        "to list these, run: rectitude profiles",
    )  # fmt: skip
    return from_toml(Path(path).stem, text, os.fspath(path))


def _check_shapes(file: _File, stored: Mapping[str, Any]) -> None:
    """Raise an error for an unknown key, a value of the wrong type, or missing versions."""
    for key, value in stored.items():
        if key not in SHAPES:
            raise unknown_name("key", key, SHAPES, where=file.locate(key))
        fits, description = SHAPES[key]
        if not fits(value):
            path = _first_wrong(key, value)
            shown = value if len(path) == 1 else value[path[-1]]
            raise BadSetting(
                f"{file.locate(*path)}: {'.'.join(path)} is {_describe(shown)}.", f"{description}."
            )
    if "versions" not in stored:
        raise BadSetting(
            f"{file.locate()}: versions is missing.",
            'the releases whose values are reproduced: versions = ["1.0"].',
        )


def _first_wrong(key: str, value: object) -> tuple[str, ...]:
    """Return the path to the first wrong value: an entry of a table, or the key itself."""
    fits, _ = SHAPES[key]
    if isinstance(value, dict) and fits({}):
        return next((key, name) for name, entry in value.items() if not fits({name: entry}))
    return (key,)


def _describe(value: object) -> str:
    names = {str: "text", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    shown = "a table" if isinstance(value, dict) else names.get(type(value), "a date or time")
    return shown if isinstance(value, dict) else f"{shown} ({value!r})"


def _switches(file: _File, path: tuple[str, ...], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of switches in a table; errors name the line of the switch."""
    values = {}
    for switch, setting in settings.items():
        with file.at(*path, switch):
            value = parse_value(switch, setting) if isinstance(setting, str) else setting
            values[switch] = getattr(Convention().replace(**{switch: value}), switch)
    with file.at(*path):
        Convention().replace(**values)
    return values


def _check_metric(file: _File, key: str, entry: Mapping[str, Any]) -> None:
    with file.at("metrics", key):
        base = parse(key)[0].base
    with file.at("metrics", key, "metric"):
        metric = METRICS[str(entry.get("metric", base))]
    numbers = dict(metric.parameters)
    for name, value in entry.items():
        if name != "metric":
            changes: dict[str, Any] = {}
            with file.at("metrics", key, name):
                set_value(name, value, metric, changes, numbers)
            _switches(file, ("metrics", key), changes)


def _check_variant(file: _File, key: str, meaning: str | Mapping[str, Any]) -> None:
    """Raise an error if a variant sets or renames a switch or number that does not exist."""
    settings: Mapping[str, Any] = {meaning: None} if isinstance(meaning, str) else meaning
    numbers = {number for metric in METRICS.values() for number in metric.parameters}
    for name, value in settings.items():
        if name not in SWITCHES and name not in numbers:
            names = [*SWITCHES, *numbers]
            where = file.locate("variants", key, name)
            raise unknown_name("switch or number", name, names, where=where)
        if name in SWITCHES and not isinstance(meaning, str):
            _switches(file, ("variants", key), {name: value})
