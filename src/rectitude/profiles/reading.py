"""Profile files: what may stand in them, and errors that name the file and the line."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rectitude.convention import SWITCHES, Convention, parse_value
from rectitude.errors import BadName, unknown_name
from rectitude.metrics import METRICS
from rectitude.metrics.names import parse
from rectitude.options import KeyLines, read_text, read_toml, told_at, toml_lines
from rectitude.profiles.profile import Profile, set_value


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _table_of(*kinds: type) -> Callable[[object], bool]:
    return lambda value: (
        isinstance(value, dict) and all(isinstance(one, kinds) for one in value.values())
    )


SHAPES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "framework": (lambda value: isinstance(value, str), "text"),
    "versions": (_is_texts, 'a list of texts, such as ["1.0"]'),
    "about": (lambda value: isinstance(value, str), "text"),
    "padding": (_is_whole, "the number of an item"),
    "convention": (_table_of(object), "a table: [convention]"),
    "metrics": (_table_of(dict), "tables: [metrics.ndcg]"),
    "variants": (_table_of(str, dict), 'names with { switch = "choice" } or "switch"'),
    "absent": (_table_of(str), "names with what the metric is there"),
    "known_differences": (_table_of(str), "names with the cause"),
}
"""What each key of a profile file holds: a check, and the words for it."""


@dataclass(frozen=True, slots=True)
class _File:
    """The text of a profile and how errors call it."""

    text: str
    label: str

    def place(self, *path: str) -> str:
        """Where a key stands, in words."""
        return KeyLines(self.label, {(): 1, **toml_lines(self.text)}).where(path)

    def at(self, *path: str) -> AbstractContextManager[None]:
        """Errors in here are told with the place of a key."""
        return told_at(lambda: self.place(*path))


def from_toml(name: str, text: str, label: str = "") -> Profile:
    """A profile from the text of its file; `label` is what errors call the file."""
    file = _File(text, label or f"profile {name!r}")
    stored = read_toml(
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
    for key in profile.absent:
        with file.at("absent", key):
            _ = METRICS[key]
    return profile


def from_file(path: str | os.PathLike[str]) -> Profile:
    """A profile from a file of one's own."""
    text = read_text(
        path, "profile", "a TOML file, or the name of a profile that ships.",
        "rectitude profiles lists those.",
    )  # fmt: skip
    return from_toml(Path(path).stem, text, os.fspath(path))


def _check_shapes(file: _File, stored: Mapping[str, Any]) -> None:
    """Refuse unknown keys, values of the wrong type, and a profile without releases."""
    for key, value in stored.items():
        if key not in SHAPES:
            raise unknown_name("key", key, SHAPES, where=file.place(key))
        fits, words = SHAPES[key]
        if not fits(value):
            wrong = _first_wrong(key, value)
            shown = value if len(wrong) == 1 else value[wrong[-1]]
            raise BadName(
                f"{file.place(*wrong)}: {'.'.join(wrong)} is {_kind(shown)}.", f"{words}."
            )
    if "versions" not in stored:
        raise BadName(
            f"{file.place()}: versions is missing.",
            'the releases whose values are reproduced: versions = ["1.0"].',
        )


def _first_wrong(key: str, value: object) -> tuple[str, ...]:
    """The path to what is wrong: an entry of a table, or the whole."""
    fits, _ = SHAPES[key]
    if isinstance(value, dict):
        return next((key, name) for name, one in value.items() if not fits({name: one}))
    return (key,)


def _kind(value: object) -> str:
    names = {str: "text", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    shown = "a table" if isinstance(value, dict) else names.get(type(value), "a date or time")
    return shown if isinstance(value, dict) else f"{shown} ({value!r})"


def _switches(file: _File, path: tuple[str, ...], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Switches with the values that a table gives them, each checked where it stands."""
    values = {}
    for switch, given in settings.items():
        with file.at(*path, switch):
            value = parse_value(switch, given) if isinstance(given, str) else given
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
    """A variant sets switches and numbers that exist, or renames one."""
    settings: Mapping[str, Any] = {meaning: None} if isinstance(meaning, str) else meaning
    numbers = {number for metric in METRICS.values() for number in metric.parameters}
    for name, value in settings.items():
        if name not in SWITCHES and name not in numbers:
            known = [*SWITCHES, *numbers]
            where = file.place("variants", key, name)
            raise unknown_name("switch or number", name, known, where=where)
        if name in SWITCHES and not isinstance(meaning, str):
            _switches(file, ("variants", key), {name: value})
