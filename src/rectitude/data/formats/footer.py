"""The footer of a Parquet file, as far as Polars does not tell what it says.

It is a struct in Thrift's compact protocol: every field says its type and how far its number is
from the last one, and integers are zigzag varints.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

ROW_GROUPS = 4
"""the field of a footer that holds its row groups"""
CONTRADICTION = (IndexError, ValueError, TypeError, AttributeError, struct.error)
"""What a damaged footer leads to."""
_END = 8
"""The bytes after the footer: its length, and the mark of the format."""
_ROWS = 3
"""the field of a row group that holds its number of rows"""
_DEPTH = 20
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12

Fields = dict[int, Any]


def rows_by_group(path: Path) -> list[int]:
    """Return how many rows each row group has; raise an error for a damaged footer."""
    with path.open("rb") as file:
        file.seek(-_END, 2)
        size = int.from_bytes(file.read(_END - 4), "little")
        file.seek(-size - _END, 2)
        footer, _ = read_struct(file.read(size), 0)
    return [group[_ROWS] for group in footer[ROW_GROUPS]]


def read_footer(data: bytes) -> Fields:
    """Return the fields of the footer of a file."""
    (length,) = struct.unpack("<I", data[-_END : -_END + 4])
    return read_struct(data[-_END - length : -_END], 0)[0]


def read_struct(data: bytes, at: int, depth: int = 0) -> tuple[Fields, int]:
    """Return the fields of a struct by number, and where it ends."""
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
        return read_struct(data, at, depth + 1)
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
