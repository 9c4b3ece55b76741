"""Damage to files that hold a tree of values: JSON, JSON lines, TOML and YAML."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Iterator
from random import Random
from typing import Any

DEEP = 100_000
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 0.5, "", "x", [], {}, [[]], [{}], {"": 0}, {"x": [None]}, 10**400, -(10**19),
    2**63, 1e308, float("nan"), float("inf"), "\x00", "\x1b[31mred\x07", "\ud800", "\u202eabc",
    "9" * 5000, "../../../etc/passwd", "2020-99-99", "1e999", "nan", list(range(50)), ["a", 1],
)  # fmt: skip
"""Values that hardly any key expects."""


def damage_json(chance: Random, text: str) -> tuple[str, str]:
    """Return what was done to a JSON document, and the document."""
    name = chance.choice(("value", "value", "value", "key", "lost", "rename", "more", *TEXTUAL))
    if name in TEXTUAL:
        return f"json {name}", TEXTUAL[name](chance, text)
    tree = _change(chance, json.loads(text), name)
    return f"json {name}", json.dumps(tree)


def damage_json_lines(chance: Random, text: str) -> tuple[str, str]:
    """Damage one line of JSON lines, or several alike."""
    lines = text.splitlines()
    count = chance.choice((1, 1, 1, len(lines)))
    name = ""
    for place in chance.sample(range(len(lines)), min(count, len(lines))):
        if lines[place].strip():
            name, lines[place] = damage_json(chance, lines[place])
    return name, "\n".join(lines) + "\n"


def damage_toml(chance: Random, text: str) -> tuple[str, str]:
    """Damage a value or key of a TOML file, or its text."""
    name = chance.choice(
        ("value", "value", "value", "key", "lost", "rename", "more", "deep", "text")
    )
    if name == "deep":
        opening = chance.choice(("[", "{a=", "[{a="))
        return "toml deep", text + "\nx = " + opening * chance.choice((200, 5_000, DEEP))
    if name == "text":
        return "toml text", damage_lines(chance, text)
    return f"toml {name}", dump_toml(_change(chance, tomllib.loads(text), name))


def damage_yaml(chance: Random, text: str) -> tuple[str, str]:
    """Damage a value or key of a YAML file, or its text."""
    import yaml

    name = chance.choice(
        ("value", "value", "key", "lost", "rename", "more", "text", "trick", "trick")
    )
    if name == "text":
        return "yaml text", damage_lines(chance, text)
    if name == "trick":
        return "yaml trick", text + chance.choice(TRICKS) + "\n"
    return f"yaml {name}", json.dumps(_change(chance, yaml.safe_load(text), name))


def dump_toml(tree: dict[str, Any]) -> str:
    """Write a tree as TOML, one line for each key at the top; values that TOML lacks stay odd."""
    return "".join(f"{json.dumps(key)} = {_inline(value)}\n" for key, value in tree.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(str(k))} = {_inline(v)}" for k, v in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, float):
        return str(value)
    return json.dumps(value)


def damage_lines(chance: Random, text: str) -> str:
    """Drop, repeat, swap or break lines."""
    lines = text.splitlines() or [""]
    place, other = (chance.randrange(len(lines)) for _ in range(2))
    what = chance.randrange(6)
    if what == 0:
        del lines[place]
    elif what == 1:
        lines[place:place] = [lines[place]] * chance.choice((1, 3, 1000))
    elif what == 2:
        lines[place], lines[other] = lines[other], lines[place]
    elif what == 3:
        at = chance.randrange(len(lines[place]) + 1)
        lines[place] = lines[place][:at] + chance.choice(SNIPPETS) + lines[place][at:]
    elif what == 4:
        key = lines[place].split("=")[0].split(":")[0]
        sign = "=" if "=" in text else ":"
        lines[place] = f"{key}{sign} {chance.choice(SNIPPETS)}"
    else:
        lines[place] = chance.choice(SNIPPETS)
    return "\n".join(lines) + "\n"


SNIPPETS = (
    '"', "'", '"""', "[", "]", "{", "}", "=", "==", ":", ",", "#", "\\", "\t", "\x00", "\x1b[2J",
    "\x7f", "\ufeff", "[[", "[a.b]", "a.b.c = 1", "2020-99-99", "99:99:99", "0x", "1__0", "1e400",
    "nan", "inf", "9" * 5000, "\u0085", "true", "null", "!!python/name:os.system", "%x", "&a *a",
    "\r", "1979-05-27T07:32:00-99:00", "{}" * 50,
)  # fmt: skip
TRICKS = (
    "a: &a [*a]",
    "b: &b {b: *b}",
    "x: !!python/object/apply:os.system ['touch ran']",
    "x: 2020-99-99",
    "x: !!binary '***'",
    "x: !!timestamp nope",
    "x: !!int nope",
    "<<: 5",
    "<<: [1, 2]",
    "? [1, 2]\n: 3",
    "? {a: 1}\n: 3",
    "x: " + "[" * 5_000,
    "x: " + "[" * DEEP,
    "x: " + "{a: " * 3_000,
    "- 1",
    "---\nb: 1",
    "x: *missing",
    "x: 190:20:30\n1: 2\nnull: 3\ntrue: 4",
    "\n".join(
        ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
        + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    ),
)


def _change(chance: Random, tree: Any, how: str) -> Any:
    """Change one place of a tree."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    if not places:
        return chance.choice(ODD)
    if chance.random() < 0.3:  # near the top, where most keys are read
        places = [place for place in places if place[0] is tree] or places
    holder, key = chance.choice(places)
    if how == "value":
        holder[key] = chance.choice(ODD)
    elif how == "lost":
        del holder[key]
    elif how in ("key", "rename") and isinstance(holder, dict):
        name = chance.choice(("", "x", "\x1b[1m", "__class__", str(key).upper(), f"{key} "))
        holder[name] = holder.pop(key) if how == "rename" else chance.choice(ODD)
    elif isinstance(holder, list):
        holder.extend([holder[key]] * chance.choice((1, 100)))
    else:
        holder[key] = _shaken(chance, holder[key])
    return tree


def _shaken(chance: Random, value: Any) -> Any:
    """The value in another shape: within a list, as text, with its keys as a list."""
    shapes = ([value], {"x": value}, str(value), json.dumps(value, default=str))
    return chance.choice(
        (*shapes, list(value) if isinstance(value, dict | str) else [value, value])
    )


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a tree: what holds it, and its key."""
    if not isinstance(tree, dict | list):
        return
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        yield tree, key
        yield from _places(value)


def _deep(chance: Random, text: str) -> str:
    size = chance.choice((200, 2_000, DEEP))
    opening, closing = chance.choice((("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")))
    nested = opening * size + "1" + closing * size
    return chance.choice((nested, '{"user": ' + nested + "}", '{"1": {"2": ' + nested + "}}"))


def _repeat(chance: Random, text: str) -> str:
    keys = ",".join(['"1": {"2": 1}'] * chance.choice((2, 100, 20_000)))
    return "{" + keys + "}"


def _insert(chance: Random, text: str) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(SNIPPETS) + text[at:]


def _cut(chance: Random, text: str) -> str:
    return text[: chance.randrange(len(text.rstrip()) or 1)]


def _whole(chance: Random, text: str) -> str:
    return json.dumps(chance.choice(ODD))


TEXTUAL = {"deep": _deep, "repeat": _repeat, "insert": _insert, "cut": _cut, "whole": _whole}
