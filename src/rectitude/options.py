"""Check the options of a function; report wrong ones with their line in the file.

Preparation steps, splits, candidate samplers and models are functions whose keyword arguments are
their options. This module reads from the signature which options exist, which types they have and
which are required. Errors in a TOML or YAML file are reported with the line of the key.
"""

from __future__ import annotations

import inspect
import re
import tomllib
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from rectitude.errors import BadArgument, RectitudeError, UnreadableFile, nearest, unknown_name

_TYPE_NAMES: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    datetime: "a date",
    date: "a date",
    Mapping: "a table such as {'how': 'leave_last', 'n': 1}",
    object: "any value",
}

_LARGEST = 2**63 - 1
MOST_PARTS = 10_000
"""The most folds or repeats of a split, each of which holds all rows."""
MOST_ROWS = 2**31 - 1
"""The most rows of a user to ask for."""


class Option(NamedTuple):
    """The type and default of an option."""

    kind: Any
    """the annotated type"""
    default: Any = ...
    """`...` if the option is required"""


Options = Mapping[str, Option]


@cache
def options_of(function: Callable[..., Any]) -> Options:
    """Return the options of a function: all its parameters except the first, which is the data."""
    hints = get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return {
        parameter.name: Option(
            hints[parameter.name],
            ... if parameter.default is parameter.empty else parameter.default,
        )
        for parameter in parameters
    }


def require_options(given: Mapping[str, Any], known: Options, where: str) -> None:
    """Raise an error unless all options exist, have the right types and none is missing."""
    for name, value in given.items():
        require_option(name, value, known, where)
    missing = missing_from(given, known)
    if missing:
        raise BadArgument(f"{where} has no {' and no '.join(missing)}.", "a value for it.")


def require_option(
    name: str, value: object, known: Options, where: str, whose: str = "", word: str = "parameter"
) -> None:
    """Raise an error, with the nearest name or choice, unless an option exists and fits."""
    if name not in known:
        raise unknown_name(word, name, known, where=where)
    require_fitting(value, known[name].kind, f"{name} of {whose or where}")


def missing_from(given: Mapping[str, Any], known: Options) -> list[str]:
    """Return the required options that were not given."""
    return [name for name, option in known.items() if option.default is ... and name not in given]


def require_fitting(value: object, kind: Any, name: str) -> None:
    """Raise an error, with the nearest choice, unless a value has the annotated type."""
    if isinstance(value, int | float) and not -_LARGEST <= value <= _LARGEST:  # also NaN
        raise BadArgument(f"{name} is {_shorten(value)}.", "a number from -2^63 to 2^63.")
    if not fits(value, kind):
        guess = nearest(str(value), choices(kind))
        raise BadArgument(
            f"{name} is {value!r}.",
            f"{in_words(kind)}.",
            f"did you mean {guess}?" if guess else "",
        )


def fits(value: object, kind: Any) -> bool:
    """Whether a value has the annotated type: a Literal, number, text, date or union."""
    if _is_union(kind):
        return any(fits(value, member) for member in get_args(kind))
    if get_origin(kind) is Literal:
        return isinstance(value, str | int) and value in get_args(kind)
    if isinstance(value, bool):
        return kind in (bool, object)
    plain = get_origin(kind) or kind
    return isinstance(value, {int: Integral, float: Real}.get(plain, plain))


def in_words(kind: Any) -> str:
    """Describe a type for an error message."""
    if _is_union(kind):
        descriptions = [
            in_words(member) for member in get_args(kind) if member is not types.NoneType
        ]
        return " or ".join(dict.fromkeys(descriptions))
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    return _TYPE_NAMES[get_origin(kind) or kind]


def choices(kind: Any) -> list[str]:
    """Return the texts that a Literal type allows; empty for other types."""
    if _is_union(kind):
        return [choice for member in get_args(kind) for choice in choices(member)]
    return list(get_args(kind)) if get_origin(kind) is Literal else []


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def require_whole(number: object, name: str, least: int = 1, most: int = _LARGEST) -> None:
    """Raise an error unless a value is a whole number from `least` to `most`."""
    if not fits(number, int) or int(number) < least:  # type: ignore[call-overload]
        raise BadArgument(f"{name} is {number!r}.", f"a whole number of at least {least}.")
    if int(number) > most:  # type: ignore[call-overload]
        raise BadArgument(f"{name} is {_shorten(number)}.", f"a whole number of at most {most:,}.")


def _shorten(number: object) -> str:
    text = repr(number)
    return text if len(text) <= 40 else f"{text[:20]}... ({len(text)} digits)"


def require_between(number: object, name: str, low: float, high: float) -> None:
    """Raise an error unless a value is a number from `low` to `high`."""
    if not fits(number, float) or not low <= float(number) <= high:  # type: ignore[arg-type]
        raise BadArgument(f"{name} is {number!r}.", f"a number from {low:g} to {high:g}.")


def require_ratio(ratio: object, name: str = "ratio") -> None:
    """Raise an error unless a value is a number between 0 and 1, both excluded."""
    if not fits(ratio, float) or not 0 < float(ratio) < 1:  # type: ignore[arg-type]
        raise BadArgument(f"{name} is {ratio!r}.", "a number between 0 and 1, such as 0.2.")


def require_from(number: float, name: str, least: float = 1) -> None:
    """Raise an error unless a number is at least `least`."""
    if not number >= least:  # also catches NaN
        raise BadArgument(f"{name} is {number}.", f"a number of at least {least:g}.")


At = tuple[str | int, ...]
"""The path of a key in nested tables and lists, such as ("models", "knn", "k")."""
Lines = dict[At, int]


@dataclass(frozen=True)
class KeyLines:
    """The line of each key in a file; empty if the options do not come from a file."""

    label: str
    lines: Lines = field(default_factory=dict)

    def where(self, at: At) -> str:
        """Return the file and line of a key, or of the table that it should be in."""
        for size in range(len(at), -1, -1):
            if at[:size] in self.lines:
                return f"{self.label}, line {self.lines[at[:size]]}"
        if self.lines or not at:
            return self.label
        return f"{self.label}, {join_key(at)}"


def join_key(at: At) -> str:
    """Write the path of a key as text: models.knn.k, prepare[2].step."""
    steps = [f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in at]
    return "".join(steps).removeprefix(".")


@contextmanager
def locate_errors(where: str | Callable[[], str]) -> Iterator[None]:
    """Prefix the errors raised inside this block with their location.

    A function is called for the location only if there is an error.
    """
    try:
        yield
    except RectitudeError as error:
        where = where if isinstance(where, str) else where()
        found = error.found if error.found.startswith(where) else f"{where}: {error.found}"
        raise type(error)(found, error.expected, error.advice) from None


def toml_lines(text: str) -> Lines:
    """Return the line of every key and heading in a valid TOML text."""
    lines, table = Lines(), At()
    counts: dict[At, int] = {}
    for number, statement in _statements(text):
        if statement.lstrip().startswith("["):
            table = _read_heading(statement, counts)
            for depth in range(1, len(table) + 1):
                lines.setdefault(table[:depth], number)
        else:
            for path, down in _find_keys(statement):
                lines.setdefault((*table, *path), number + down)
    return lines


_TOKEN = re.compile(
    r"""(?s)\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'"""
    r"""|\#[^\n]*|[\[{]|[\]}]|\n"""
)
"""Matches what decides where a statement ends: whole texts and comments, brackets, line ends."""


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the headings and assignments of a valid TOML text with the number of their line."""
    start, line, begun, depth = 0, 1, 1, 0
    for token in _TOKEN.finditer(f"{text}\n"):
        mark = token[0]
        depth += (mark in "[{") - (mark in "]}")
        line += mark.count("\n")
        if mark == "\n" and not depth:
            statement = text[start : token.start()]
            if statement.strip() and not statement.lstrip().startswith("#"):
                yield begun, statement
            start, begun = token.end(), line


def _read_heading(line: str, counts: dict[At, int]) -> At:
    """Return the path of the table that a heading opens; in a list of tables, the latest one."""
    node, path = tomllib.loads(line), At()
    while node:
        (key, node), *_ = node.items()
        path = (*path, key)
        if isinstance(node, list):
            counts[path] = counts.get(path, 0) + 1
            node = node[0]
        if path in counts:
            path = (*path, counts[path] - 1)
    return path


_QUOTED = re.compile(
    r"""(?s)("[^"\n]*"|'[^'\n]*')(?=\s*[=.])"""
    r"""|\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*"""
)
"""Matches quoted keys, and texts and comments, which may only look like keys or tables."""


def _find_keys(chunk: str) -> Iterator[tuple[At, int]]:
    """Yield the keys of one assignment, and how many lines each is below its first line.

    From a key on that is written in another way, with escapes, the line stays the same.
    """
    bare = _QUOTED.sub(lambda match: match[1] or re.sub(r"[^\n]", " ", match[0]), chunk)
    position, down, lost = 0, 0, False
    for path, value in _walk_keys(tomllib.loads(chunk), ()):
        pattern = rf"(?<![\w-])[\"']?({re.escape(str(path[-1]))})[\"']?\s*[=.]"
        if isinstance(path[-1], int):
            pattern = r"(\{)" if isinstance(value, Mapping) else r"()"
        match = None if lost else re.compile(pattern).search(bare, position)
        lost = match is None
        if match:
            down += bare.count("\n", position, match.end(1))
            position = match.end(1)
        yield path, down


def _walk_keys(node: Any, path: At) -> Iterator[tuple[At, Any]]:
    """Yield every key of nested tables and lists with its value, in the order of the text."""
    if isinstance(node, Mapping):
        inner = list(node.items())
    else:
        inner = list(enumerate(node)) if isinstance(node, list) else []
    for key, value in inner:
        yield (*path, key), value
        yield from _walk_keys(value, (*path, key))


def yaml_lines(root: Any, label: str) -> Lines:
    """Return the line of every key below a YAML node; a repeated key is an error."""
    lines = Lines()
    waiting: list[tuple[Any, At]] = [(root, ())]
    while waiting:
        node, path = waiting.pop()
        for key, value, mark in _children(node):
            key_path = (*path, key)
            if key_path in lines:
                raise UnreadableFile(
                    f"{label}, line {mark.line + 1}: {join_key(key_path)} is given twice, first on "
                    f"line {lines[key_path]}.",
                    "each key once.",
                )
            lines[key_path] = mark.line + 1
            waiting.append((value, key_path))
    return lines


def _children(node: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """Yield the children of a YAML node: key, value, and the position of the key."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), value, key.start_mark
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield number, value, value.start_mark
