"""What a small Parquet file would take in memory, as its footer and its pages say.

A column of equal values takes a few bytes, however long it is: in cells that hold lists, or as one
long text, even a file of a few rows can ask for gigabytes. Polars tells the number of rows alone.
The footer and the heads of the pages are in Thrift's compact protocol; only their sizes are looked
at. Where they contradict each other, the larger number counts.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rectitude.errors import UnreadableFile
from rectitude.memory import require_growth

LARGE = 1 << 24
"""Files of that many bytes are not looked into: the number of their rows says enough."""
_END = 8
"""The bytes after the footer: its length, and the mark of the format."""
_MOST_PAGES, _DEPTH = 200_000, 20
_VALUE_BYTES = 8
_GROUPS, _CHUNKS, _ABOUT = 4, 1, 3
"""Fields: the row groups of a file, the columns of a group, what a column says about itself."""
_PATH, _VALUES, _UNPACKED, _PACKED, _FIRST_PAGE, _DICTIONARY = 3, 5, 6, 7, 9, 11
"""Fields of a column: its name, how many values it has, its bytes, and where its pages are."""
_PAGE_UNPACKED, _PAGE_PACKED, _PAGE_KINDS = 2, 3, (5, 7, 8)
"""Fields of a page: its bytes, and what only a page of data, in both versions, or of a dictionary
has, which begins with how many values there are."""
_CONTRADICTION = (IndexError, ValueError, TypeError, AttributeError, struct.error)
"""What a damaged footer leads to."""

Fields = dict[int, Any]


def require_modest(file: Path | bytes, label: str, columns: Collection[str] | None = None) -> None:
    """Raise an error if these columns of a Parquet file, by default all, would take absurdly much
    memory for its size. Damaged files pass: reading them says what is wrong."""
    size = len(file) if isinstance(file, bytes) else file.stat().st_size
    if size >= LARGE:
        return
    data = file if isinstance(file, bytes) else file.read_bytes()
    need, pages = 0, 0
    for chunk in _read_chunks(data):
        if columns is not None and chunk.column not in columns:
            continue
        inside = 0
        for page in _read_pages(data, chunk):
            inside, pages = inside + page, pages + 1
            if pages > _MOST_PAGES:
                raise UnreadableFile(
                    f"{label} ({size:,} bytes) has more than {_MOST_PAGES:,} pages.",
                    "pages of some kilobytes, as programs write them.",
                    "write it again.",
                )
        need += max(chunk.need, inside)
    require_growth(need, size, label)


class _Chunk(NamedTuple):
    """A column of a row group: its name, the bytes it needs, and where its pages lie."""

    column: str
    need: int
    start: int
    end: int


def _read_chunks(data: bytes) -> Iterator[_Chunk]:
    try:
        (length,) = struct.unpack("<I", data[-_END : -_END + 4])
        footer, _ = _read_struct(data[-_END - length : -_END], 0, 0)
        for group in footer.get(_GROUPS, ()):
            for chunk in group.get(_CHUNKS, ()):
                yield _chunk_of(chunk.get(_ABOUT, {}))
    except _CONTRADICTION:
        return


def _chunk_of(about: Mapping[int, Any]) -> _Chunk:
    name = b"".join(about.get(_PATH, [b""])[:1]).decode()
    need = max(about.get(_UNPACKED, 0), _VALUE_BYTES * about.get(_VALUES, 0))
    starts = [about.get(field, 0) for field in (_FIRST_PAGE, _DICTIONARY)]
    start = min(filter(None, starts), default=0)
    return _Chunk(name, need, start, start + about.get(_PACKED, 0))


def _read_pages(data: bytes, chunk: _Chunk) -> Iterator[int]:
    """Yield the bytes that each page of a column needs."""
    at = chunk.start
    try:
        while 0 <= at < chunk.end:
            page, at = _read_struct(data, at, 0)
            values = max(page.get(kind, {}).get(1, 0) for kind in _PAGE_KINDS)
            yield max(page.get(_PAGE_UNPACKED, 0), _VALUE_BYTES * values)
            at += max(page.get(_PAGE_PACKED, 0), 0)
    except _CONTRADICTION:
        return


# Thrift's compact protocol: every field says its type and how far its number is from the last one

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12


def _read_struct(data: bytes, at: int, depth: int) -> tuple[Fields, int]:
    if depth > _DEPTH:
        raise ValueError(depth)
    fields: Fields = {}
    number = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _read_number(data, at)
        fields[number], at = _read_value(data, at, head & 15, depth)
    return fields, at + 1


def _read_value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE):  # the type is the value
        return kind == _TRUE, at
    if kind in (_BYTE, _DOUBLE):  # no size
        return None, at + (1 if kind == _BYTE else 8)
    if kind == _BINARY:
        length, at = _read_varint(data, at)
        return data[at : at + length], at + length
    if kind in (_LIST, _SET):
        return _read_list(data, at, depth)
    if kind == _STRUCT:
        return _read_struct(data, at, depth + 1)
    return _read_number(data, at)


def _read_list(data: bytes, at: int, depth: int) -> tuple[list[Any], int]:
    head, at = data[at], at + 1
    size, kind = head >> 4, head & 15
    if size == 15:
        size, at = _read_varint(data, at)
    if kind in (_TRUE, _FALSE):  # one byte each in a list
        return [], at + size
    values = []
    for _ in range(size):
        value, at = _read_value(data, at, kind, depth + 1)
        values.append(value)
    return values, at


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """Return a whole number, whose lowest bit is its sign."""
    number, at = _read_varint(data, at)
    return number >> 1 ^ -(number & 1), at


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while data[at] & 0x80:
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | data[at] << shift, at + 1
