"""Options that somebody wrote down: checked against what a function takes, told with their line.

Steps, ways of splitting, candidates and models are functions whose keywords are their options. What
may be given, of which type, and what must be given is read off the signature, once, here. Options
that come from a TOML or YAML file are told with the line on which their key stands.
"""

from __future__ import annotations

import inspect
import os
import re
import tomllib
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from rectitude.errors import BadName, RectitudeError, UnreadableFile, nearest, unknown_name

_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    datetime: "a date",
    date: "a date",
    Mapping: "a table such as {'how': 'leave_last', 'n': 1}",
    object: "any value",
}
_MOST_KEYS = 100_000


class Option(NamedTuple):
    """What may be given under a name."""

    kind: Any
    """its type, as annotated"""
    default: Any = ...
    """`...` stands for one that must be given"""


Options = Mapping[str, Option]


@cache
def options_of(function: Callable[..., Any]) -> Options:
    """What a function takes beside its first parameter, which is what it works on."""
    hints = get_type_hints(function)
    taken = list(inspect.signature(function).parameters.values())[1:]
    return {
        one.name: Option(hints[one.name], ... if one.default is one.empty else one.default)
        for one in taken
    }


def require_options(given: Mapping[str, Any], known: Options, where: str) -> None:
    """Options that exist, of the right types, and nothing missing, or a clear error."""
    for name, value in given.items():
        require_option(name, value, known, where)
    missing = missing_from(given, known)
    if missing:
        raise BadName(f"{where} was given no {' and no '.join(missing)}.", "a value for it.")


def require_option(
    name: str, value: object, known: Options, where: str, whose: str = "", word: str = "parameter"
) -> None:
    """An option that exists and has the right type, or an error with the nearest name or choice."""
    if name not in known:
        raise unknown_name(word, name, known, where=where)
    require_fitting(value, known[name].kind, f"{name} of {whose or where}")


def missing_from(given: Mapping[str, Any], known: Options) -> list[str]:
    """The options that must be given, and are not."""
    return [name for name, one in known.items() if one.default is ... and name not in given]


def require_fitting(value: object, kind: Any, name: str) -> None:
    """An error, with the nearest choice, if a value has not the type of an annotation."""
    if not fits(value, kind):
        guess = nearest(str(value), choices(kind))
        raise BadName(
            f"{name} is {value!r}.",
            f"{in_words(kind)}.",
            f"did you mean {guess}?" if guess else "",
        )


def fits(value: object, kind: Any) -> bool:
    """Whether a value has the type of an annotation: Literals, numbers, texts, dates, unions."""
    if _is_union(kind):
        return any(fits(value, one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return isinstance(value, str | int) and value in get_args(kind)
    if isinstance(value, bool):
        return kind in (bool, object)
    plain = get_origin(kind) or kind
    return isinstance(value, {int: Integral, float: Real}.get(plain, plain))


def in_words(kind: Any) -> str:
    """A type as an error names it."""
    if _is_union(kind):
        parts = [in_words(one) for one in get_args(kind) if one is not types.NoneType]
        return " or ".join(dict.fromkeys(parts))
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    return _WORDS[get_origin(kind) or kind]


def choices(kind: Any) -> list[str]:
    """The texts that a type allows, if it allows only some."""
    if _is_union(kind):
        return [choice for one in get_args(kind) for choice in choices(one)]
    return list(get_args(kind)) if get_origin(kind) is Literal else []


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def require_whole(number: object, name: str, least: int = 1) -> None:
    """A count that makes sense."""
    if not fits(number, int) or int(number) < least:  # type: ignore[call-overload]
        raise BadName(f"{name} is {number!r}.", f"a whole number of at least {least}.")


def require_between(number: object, name: str, low: float, high: float) -> None:
    """A number that is not below one end of a range, nor above the other."""
    if not fits(number, float) or not low <= float(number) <= high:  # type: ignore[arg-type]
        raise BadName(f"{name} is {number!r}.", f"a number from {low:g} to {high:g}.")


def require_ratio(ratio: object, name: str = "ratio") -> None:
    """A share that leaves something on both sides."""
    if not fits(ratio, float) or not 0 < float(ratio) < 1:  # type: ignore[arg-type]
        raise BadName(f"{name} is {ratio!r}.", "a number between 0 and 1, such as 0.2.")


def require_from(number: float, name: str, least: float = 1) -> None:
    """A number that is not below what it can be."""
    if not number >= least:  # nor is NaN
        raise BadName(f"{name} is {number}.", f"a number from {least:g} on.")


At = tuple[str | int, ...]
"""A key inside of tables and lists: ("models", "knn", "k")."""
Lines = dict[At, int]


@dataclass(frozen=True)
class KeyLines:
    """The lines of keys in a file; of what is no file, their names alone."""

    label: str
    lines: Lines = field(default_factory=dict)

    def where(self, at: At) -> str:
        """The file and line of a key, or of the table that it should stand in."""
        for size in range(len(at), -1, -1):
            if at[:size] in self.lines:
                return f"{self.label}, line {self.lines[at[:size]]}"
        if self.lines or not at:
            return self.label
        return f"{self.label}, {dotted(at)}"


def dotted(at: At) -> str:
    """A key in words: models.knn.k, prepare[2].step."""
    words = [f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in at]
    return "".join(words).removeprefix(".")


@contextmanager
def told_at(where: str | Callable[[], str]) -> Iterator[None]:
    """Errors inside begin with where it is that something is wrong, which may be looked for only
    then."""
    try:
        yield
    except RectitudeError as error:
        where = where if isinstance(where, str) else where()
        found = error.found if error.found.startswith(where) else f"{where}: {error.found}"
        raise type(error)(found, error.expected, error.advice) from None


def read_text(path: str | os.PathLike[str], what: str, expected: str, advice: str = "") -> str:
    """What a file holds, or an error that says why it cannot be read."""
    try:
        return Path(path).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        found = f"the {what} {os.fspath(path)} cannot be read: {cause}."
        raise UnreadableFile(found, expected, advice) from error


def read_toml(text: str, label: str, expected: str) -> dict[str, Any]:
    """What a TOML text holds, or an error with the line at which it cannot be read."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).partition(" (at ")
        where = place.rstrip(")") or "the end of the document"
        raise UnreadableFile(f"{label}, {where}: {message}.", expected) from None


def toml_lines(text: str) -> Lines:
    """The line of every key and heading of a TOML text that can be read."""
    rows, found, table = text.splitlines(), Lines(), At()
    counts: dict[At, int] = {}
    at = 0
    while at < len(rows):
        row, size = rows[at].strip(), 1
        if row.startswith("["):
            table = _heading(row, counts)
            for depth in range(1, len(table) + 1):
                found.setdefault(table[:depth], at + 1)
        elif row and not row.startswith("#"):
            size = _length(rows, at)
            chunk = "\n".join(rows[at : at + size])
            for path, down in _inside(chunk):
                found.setdefault((*table, *path), at + 1 + down)
        at += size
    return found


def _heading(row: str, counts: dict[At, int]) -> At:
    """The table that a heading opens; of a list of tables the latest."""
    node, path = tomllib.loads(row), At()
    while node:
        (key, node), *_ = node.items()
        path = (*path, key)
        if isinstance(node, list):
            counts[path] = counts.get(path, 0) + 1
            node = node[0]
        if path in counts:
            path = (*path, counts[path] - 1)
    return path


def _length(rows: list[str], at: int) -> int:
    """How many lines an assignment takes: as few as can be read."""
    for size in range(1, len(rows) - at + 1):
        try:
            tomllib.loads("\n".join(rows[at : at + size]))
        except tomllib.TOMLDecodeError:
            continue
        return size
    return 1


_SAID = re.compile(
    r"""(?s)("[^"\n]*"|'[^'\n]*')(?=\s*[=.])"""
    r"""|\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*"""
)
"""Quoted keys, and what may look like a key or a table and is none: texts and comments."""


def _inside(chunk: str) -> Iterator[tuple[At, int]]:
    """The keys of one assignment, and how many lines below its first each stands."""
    bare = _SAID.sub(lambda said: said[1] or re.sub(r"[^\n]", " ", said[0]), chunk)
    place = 0
    for path, value in _keys(tomllib.loads(chunk), ()):
        pattern = rf"(?<![\w-])[\"']?({re.escape(str(path[-1]))})[\"']?\s*[=.]"
        if isinstance(path[-1], int):
            pattern = r"(\{)" if isinstance(value, Mapping) else r"()"
        match = re.compile(pattern).search(bare, place)
        place = match.end(1) if match else place
        yield path, bare.count("\n", 0, place)


def _keys(node: Any, path: At) -> Iterator[tuple[At, Any]]:
    """Every key of nested tables and lists with its value, in the order of the text."""
    if isinstance(node, Mapping):
        inner = list(node.items())
    else:
        inner = list(enumerate(node)) if isinstance(node, list) else []
    for key, value in inner:
        yield (*path, key), value
        yield from _keys(value, (*path, key))


def yaml_lines(text: str, label: str) -> Lines:
    """The line of every key of a YAML text that can be read; a key twice is an error."""
    import yaml

    found = Lines()
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    waiting: list[tuple[Any, At]] = [(root, ())]
    while waiting:
        node, path = waiting.pop()
        for key, value, mark in _children(node):
            at = (*path, key)
            if at in found:
                raise UnreadableFile(
                    f"{label}, line {mark.line + 1}: {dotted(at)} stands there twice, first in line"
                    f" {found[at]}.",
                    "each key once.",
                )
            found[at] = mark.line + 1
            waiting.append((value, at))
        if len(found) > _MOST_KEYS:
            raise UnreadableFile(f"{label} holds more than {_MOST_KEYS:,} keys.", "an experiment.")
    return found


def _children(node: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """What a YAML node holds: key, value, and where the key stands."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), value, key.start_mark
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield number, value, value.start_mark
