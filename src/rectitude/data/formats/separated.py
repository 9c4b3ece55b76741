"""Separated text: csv, tsv, files without a header, MovieLens' `::`, RecBole's typed headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from rectitude.data.columns import WantedColumns
from rectitude.data.formats.file import File, FileContent, packed
from rectitude.data.formats.fit import require_plain
from rectitude.data.table import Source, What
from rectitude.data.text import Header, fields_of, open_delimited, separator_of
from rectitude.errors import BadTable
from rectitude.storage import Write

TYPED = re.compile(r":(token|float)(_seq)?$")
COLONS = "::"


def sniff_csv(file: File, what: What) -> str | None:
    """Any text that nothing else recognised, unless tabs separate it."""
    return "text in columns" if _separator(file) != "\t" else None


def sniff_tsv(file: File, what: What) -> str | None:
    """Text whose first line holds a tab."""
    return "text in columns" if _separator(file) == "\t" else None


def read_sniffed(file: File, want: WantedColumns) -> Source:
    """Separated text; the first line says by what, and whether there is a header."""
    return _opened(file, want)


def read_csv(file: File, want: WantedColumns) -> Source:
    """Text separated by commas, semicolons or bars, also where its name says otherwise."""
    line = file.lines[0] if file.lines else ""
    return _opened(file, want, max((",", ";", "|"), key=line.count))


def read_tsv(file: File, want: WantedColumns) -> Source:
    """Text separated by tabs, also where its name says otherwise."""
    return _opened(file, want, "\t")


def read_headerless(file: File, want: WantedColumns) -> Source:
    """Separated text whose first line is a row like all others."""
    return _opened(file, want, header="none")


def in_places(*roles: str) -> Callable[[File, WantedColumns], Source]:
    """Reads text without a header whose columns have these roles, in order.

    Where lists are users, the user is the key; the column list is that of a basket or session.
    """

    def read(file: File, want: WantedColumns) -> Source:
        source = _opened(file, want, header="none")
        places = dict(zip(roles, source.names, strict=False))
        if "user" in places and not want.keyed:
            places["list"] = places.pop("user")
        if want.what != "log":
            places.pop("timestamp", None)
        return replace(source, roles=places)

    return read


def sniff_movielens(file: File, what: What) -> str | None:
    """Lines with `::` between fields, as in ratings.dat."""
    lines = file.lines
    apart = bool(lines) and all(2 <= line.count(COLONS) <= 3 for line in lines)
    return "every line is separated by '::'" if apart else None


def read_movielens(file: File, want: WantedColumns) -> Source:
    """MovieLens' ratings.dat: user::item::rating::timestamp. Lines keep their numbers."""
    data = file.content.replace(COLONS.encode(), b"\t")
    opened = open_delimited(file.path, data, data[: len(file.head)], "", want, "\t", "none")
    return replace(opened, recognised="without a header")


def sniff_recbole(file: File, what: What) -> str | None:
    """A header whose names bear types, such as user_id:token."""
    fields = fields_of(file.lines[0], "\t") if file.lines else []
    if len(fields) > 1 and all(TYPED.search(field) for field in fields):
        return f"its header bears types, such as {fields[0]}"
    return None


def read_recbole(file: File, want: WantedColumns) -> Source:
    """An atomic file of RecBole (.inter, .user, .item), whole or split (name.train.inter)."""
    if sniff_recbole(file, want.what) is None:
        first = file.lines[0] if file.lines else ""
        raise BadTable(
            f"{file.path.name} has the header {first!r:.80}.",
            "names with types and tabs between them, such as user_id:token and rating:float.",
        )
    return _opened(file, want, "\t", "first line")


def write_separated(
    content: FileContent, path: Path, *, separator: str = ",", header: bool = True
) -> Mapping[Path, Write]:
    """Rows as text, compressed if the name asks for it."""
    raw = content.frame.write_csv(separator=separator, include_header=header).encode()
    return write_bytes(raw, path)


def write_movielens(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """user::item::rating[::timestamp]."""
    require_plain(content.frame, r'[:"\s]', "a file separated by '::'")
    raw = content.frame.write_csv(separator="\t", include_header=False)
    return write_bytes(raw.replace("\t", COLONS).encode(), path)


def write_bytes(raw: bytes, path: Path) -> Mapping[Path, Write]:
    """Bytes as they are, or compressed if the name asks for it."""
    data = packed(raw, path)
    return {path: partial(_write, data)}


def _write(data: bytes, where: Path) -> int:
    return where.write_bytes(data)


def _separator(file: File) -> str:
    return separator_of(file.lines[0] if file.lines else "", file.suffix)


def _opened(
    file: File, want: WantedColumns, separator: str = "", header: Header = "guessed"
) -> Source:
    return open_delimited(file.path, file.data, file.head, file.suffix, want, separator, header)
