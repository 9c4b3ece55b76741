"""Texts in JSON, TOML and YAML that somebody else wrote: hostile, damaged or just odd."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from rectitude.errors import UnreadableFile
from rectitude.options import toml_lines, yaml_lines
from rectitude.texts import (
    MOST_BYTES,
    parse_json,
    parse_toml,
    parse_yaml,
    read_settings,
    read_text,
)

PARSERS: dict[str, Callable[..., Any]] = {
    "json": parse_json, "toml": parse_toml, "yaml": parse_yaml,
}  # fmt: skip
DEEP = "[" * 100_000
LAUGHS = "\n".join(
    ["a0: &a0 [1, 1]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))]
)
MERGES = "\n".join(
    ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 40))]
)


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("json", DEEP, "nested too deeply"),
        ("json", '{"a":' * 100_000, "nested too deeply"),
        ("json", "9" * 5_000, "more than 4,300 digits"),
        ("json", '{"a": "\\ud800"}', "half of a surrogate pair"),
        ("json", '{"\\udc00": 1}', "half of a surrogate pair"),
        ("json", "{,", r"line 1, column 2"),
        ("toml", f"a = {DEEP}", "nested too deeply"),
        ("toml", "a = " + "{b = " * 100_000, "nested too deeply"),
        ("toml", f"a = {'9' * 5_000}", "more than 4,300 digits"),
        ("toml", "a = 2020-99-99", "it, line 1"),
        ("toml", "a = 1\nb = x", "it, line 2"),
        ("yaml", DEEP[:600], "nested too deeply"),
        ("yaml", "a: 2020-99-99", "month must be in 1..12"),
        ("yaml", 'a: "\\uD800"', "half of a surrogate pair"),
        ("yaml", "a: " + "9" * 5_000, "more than 4,300 digits"),
        ("yaml", "a: &a [*a]", "more than 100 levels"),
        ("yaml", "a: &a {b: *a}", "more than 100 levels"),
        ("yaml", LAUGHS, "more than 100,000 values"),
        ("yaml", MERGES, "more than 100,000 values"),
        ("yaml", "a: 1\n" * 20_001, "YAML of at most 100,000 characters"),
        ("yaml", "a: [", "it, line 1"),
    ],
)
def test_bad_texts_are_one_kind_of_error(kind: str, text: str, said: str) -> None:
    begun = perf_counter()
    with pytest.raises(UnreadableFile, match=said) as caught:
        PARSERS[kind](text, "it", "a good one.")
    assert caught.value.found.startswith("it")
    assert perf_counter() - begun < 10


def test_whole_pairs_of_surrogates_are_characters() -> None:
    assert parse_json('["\\ud83d\\ude00", "\\\\ud800"]', "it", "") == ["😀", "\\ud800"]


def test_aliases_of_yaml_are_replaced() -> None:
    values, _ = parse_yaml("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}", "it", "")
    assert values == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}
    assert parse_yaml("", "it", "") == (None, None)


def test_lines_of_yaml_are_those_of_the_keys() -> None:
    _, root = parse_yaml("a:\n  b: 1\n  c:\n  - d: 2\n", "it", "")
    assert yaml_lines(root, "it") == {
        ("a",): 1, ("a", "b"): 2, ("a", "c"): 3, ("a", "c", 0): 4, ("a", "c", 0, "d"): 4,
    }  # fmt: skip


# files


def test_pipes_and_devices_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        for read in (read_text, read_settings):
            with pytest.raises(UnreadableFile, match="is a pipe or a device"):
                read(path, "experiment", "a file.")


def test_settings_of_many_megabytes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("a" * MOST_BYTES)
    read_settings(path, "experiment", "a file.")
    path.write_text("a" * (MOST_BYTES + 1))
    with pytest.raises(UnreadableFile, match=r"the experiment .* has 1,000,001 bytes"):
        read_settings(path, "experiment", "a file.")


# lines of TOML

ODD = '''\
# a comment with [brackets] and "quotes
first = 1  # one
"quoted key" = "text with [ and # and = in it"
long = """
[not a heading]
not = "a key"
""""
literal = \'\'\'
x = { \'\'\'
list = [
  1,  # "one
  { name = "a", size = 2 },
  [ 3, 4 ],
  { name = "b" },
]
inline = { a = 1, b = { c = "}" } }

[table.inner]  # [comment]
key = 2020-01-01

[[table.many]]
key = 'C:\\'
[[table.many]]
key = "\\""
other.dotted = 1
'''


def test_lines_of_toml_are_those_of_the_keys() -> None:
    lines = toml_lines(ODD)
    parse_toml(ODD, "it", "")
    expected = {
        ("first",): 2, ("quoted key",): 3, ("long",): 4, ("literal",): 8, ("list",): 10,
        ("list", 1): 12, ("list", 1, "size"): 12, ("list", 3): 14, ("list", 3, "name"): 14,
        ("inline",): 16, ("inline", "b", "c"): 16, ("table",): 18, ("table", "inner"): 18,
        ("table", "inner", "key"): 19, ("table", "many", 0, "key"): 22,
        ("table", "many", 1, "key"): 24, ("table", "many", 1, "other", "dotted"): 25,
    }  # fmt: skip
    assert {path: lines.get(path) for path in expected} == expected
    assert ("not",) not in lines
    assert ("x",) not in lines


@pytest.mark.parametrize(
    "text",
    [
        "a = [\n" + "1,\n" * 40_000 + "]\n",
        "a = [\n" + "{b = 1},\n" * 10_000 + "]\n",
        "a = {" + ", ".join(f'"\\u0062{n}" = 1' for n in range(10_000)) + "}",
        "\n".join(f"[t{n}]\na = 1" for n in range(10_000)),
    ],
    ids=["numbers", "tables", "escaped keys", "headings"],
)
def test_lines_of_toml_are_found_in_linear_time(text: str) -> None:
    begun = perf_counter()
    assert toml_lines(text)
    assert perf_counter() - begun < 8  # a quadratic reader takes minutes
