"""Separated text: its separator, and whether it has a header."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rectitude.data.aliases import KEPT_WHOLE, POSITIONS
from rectitude.data.columns import Wanted, matches
from rectitude.data.source import Source
from rectitude.data.text import Text, is_number, parse
from rectitude.errors import UnreadableFile

SEPARATORS = {".tsv": "\t", ".inter": "\t", ".csv": ","}


def open_delimited(
    path: Path, data: bytes | None, head: bytes, suffix: str, want: Wanted
) -> Source:
    """A csv, tsv or the like as a source; ids stay the text they are, so that "007" survives."""
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    before = next((number for number, line in enumerate(lines) if line.strip()), None)
    if before is None:
        raise UnreadableFile(f"{path} holds no lines.", "a table, with or without a header.")
    separator = _separator(lines[before], suffix)
    first = _fields(lines[before], separator)
    header = _is_header(first, want)
    names = first if header else [f"column {place + 1}" for place in range(len(first))]
    whole = want.what in KEPT_WHOLE
    text = Text(
        path, data, names, separator, before + header,
        late=before > 0, whole=whole, loose=separator == " ",
    )  # fmt: skip
    places = dict(zip(POSITIONS[want.what], names, strict=False))
    return Source(
        path.name, names, partial(parse, text), None if header else places, text=True,
        hint="if the file has no header, add one." if header else "",
    )  # fmt: skip


def _separator(line: str, suffix: str) -> str:
    """A tab if there is one; else what splits the first line most often; else spaces."""
    usual = SEPARATORS.get(suffix, ",")
    if "\t" in line:
        return "\t"
    found = max((usual, ",", ";", "|"), key=line.count)
    if found in line:
        return found
    return " " if " " in line.strip() else usual


def _fields(line: str, separator: str) -> list[str]:
    if separator == " ":
        return line.split()
    return [field.strip() for field in next(csv.reader([line], delimiter=separator))]


def _is_header(fields: Sequence[str], want: Wanted) -> bool:
    """A header names a role; failing that, it is a line without any number."""
    named = [name for name in fields if name in want.named.values()]
    roles = (role for role in ("list", "user", "item", "weight"))
    if named or any(matches(fields, role, want) for role in roles):
        return True
    return not any(field.strip() and is_number([field]) for field in fields)
