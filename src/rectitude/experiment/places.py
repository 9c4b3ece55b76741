"""Where the keys of a TOML or YAML text stand, so that an error can name the line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rectitude.errors import UnreadableFile

At = tuple[str | int, ...]
"""A key inside of tables and lists: ("models", "knn", "k")."""
Lines = dict[At, int]
_MOST = 100_000


@dataclass(frozen=True)
class Places:
    """The lines of keys in a file; of a config that is no file, their names alone."""

    label: str
    lines: Lines = field(default_factory=dict)

    def where(self, at: At) -> str:
        """The file and line of a key, or of the table that it should stand in."""
        for size in range(len(at), 0, -1):
            if at[:size] in self.lines:
                return f"{self.label}, line {self.lines[at[:size]]}"
        if self.lines or not at:
            return self.label
        return f"{self.label}, {dotted(at)}"


def dotted(at: At) -> str:
    """A key in words: models.knn.k, prepare[2].step."""
    words = [f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in at]
    return "".join(words).removeprefix(".")


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


def _inside(chunk: str) -> Iterator[tuple[At, int]]:
    """The keys of one assignment, and how many lines below its first each stands."""
    place = 0
    for path in _keys(tomllib.loads(chunk), ()):
        key = path[-1]
        if isinstance(key, str):
            pattern = rf"(?<![\w-])[\"']?({re.escape(key)})[\"']?\s*[=.]"
            match = re.compile(pattern).search(chunk, place)
            place = match.start(1) if match else place
        yield path, chunk.count("\n", 0, place)


def _keys(node: Any, path: At) -> Iterator[At]:
    """Every key of nested tables and lists, in the order of the text."""
    if isinstance(node, Mapping):
        inner = list(node.items())
    else:
        inner = list(enumerate(node)) if isinstance(node, list) else []
    for key, value in inner:
        yield (*path, key)
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
        if len(found) > _MOST:
            raise UnreadableFile(f"{label} holds more than {_MOST:,} keys.", "an experiment.")
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
