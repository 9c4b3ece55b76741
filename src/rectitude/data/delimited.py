"""Separated text: its separator, and whether it has a header."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from rectitude.data.aliases import KEPT_WHOLE, POSITIONS
from rectitude.data.columns import Wanted, matches
from rectitude.data.source import Source
from rectitude.data.text import Text, is_number, parse
from rectitude.errors import UnreadableFile

SEPARATORS = {".tsv": "\t", ".inter": "\t", ".csv": ","}
WORDS = {"\t": "tabs", " ": "spaces", ",": "commas"}
Header = Literal["guessed", "none", "first line"]
_NO_HEADER = (
    "if the file has no header: rt.Interactions(path, format='headerless'), or first"
    " rectitude convert --from headerless."
)


def open_delimited(
    path: Path,
    data: bytes | None,
    head: bytes,
    suffix: str,
    want: Wanted,
    separator: str = "",
    header: Header = "guessed",
) -> Source:
    """A csv, tsv or the like as a source; ids stay the text they are, so that "007" survives."""
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    before = next((number for number, line in enumerate(lines) if line.strip()), None)
    if before is None:
        raise UnreadableFile(f"{path} holds no lines.", "a table, with or without a header.")
    separator = separator or separator_of(lines[before], suffix)
    first = fields_of(lines[before], separator)
    named = header == "first line" or (header == "guessed" and _is_header(first, want))
    names = first if named else [f"column {place + 1}" for place in range(len(first))]
    text = Text(
        path, data, names, separator, before + named, late=before > 0,
        whole=want.what in KEPT_WHOLE, loose=separator == " ",
    )  # fmt: skip
    places = dict(zip(POSITIONS[want.what], names, strict=False))
    return Source(
        path.name, names, partial(parse, text), None if named else places, text=True,
        hint=_NO_HEADER if named else "",
        recognised=_told(separator, named),
    )  # fmt: skip


def separator_of(line: str, suffix: str) -> str:
    """A tab if there is one; else what splits the first line most often; else spaces. What stands
    in quotes does not count."""
    usual, line = SEPARATORS.get(suffix, ","), re.sub(r'"[^"]*"', '""', line)
    if "\t" in line:
        return "\t"
    found = max((usual, ",", ";", "|"), key=line.count)
    if found in line:
        return found
    return " " if " " in line.strip() else usual


def fields_of(line: str, separator: str) -> list[str]:
    """The fields of one line."""
    if separator == " ":
        return line.split()
    return [field.strip() for field in next(csv.reader([line], delimiter=separator))]


def _told(separator: str, named: bool) -> str:
    word = WORDS.get(separator, repr(separator))
    return f"separated by {word}, {'with' if named else 'without'} a header"


def _is_header(fields: Sequence[str], want: Wanted) -> bool:
    """A header names a role; failing that, it is a line without any number."""
    named = [name for name in fields if name in want.named.values()]
    roles = (role for role in ("list", "user", "item", "weight"))
    if named or any(matches(fields, role, want) for role in roles):
        return True
    return not any(field.strip() and is_number([field]) for field in fields)
