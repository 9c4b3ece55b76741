"""The runs that ranx writes as `.lz4`: an object of objects in CBOR (RFC 8949), compressed twice.

Only what ranx writes is read: maps, texts, whole numbers and floats.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rectitude.data.columns import WantedColumns
from rectitude.data.formats.compression import compress, decompress_lz4
from rectitude.data.formats.file import File, FileContent, write_bytes
from rectitude.data.formats.jsons import collect_objects, open_document
from rectitude.data.table import Source
from rectitude.errors import UnreadableFile, UnwritableFile
from rectitude.storage import Write

_WHOLE, _BELOW, _TEXT, _MAP, _FLOAT = 0, 1, 3, 5, 7
_SIZES = {24: ">B", 25: ">H", 26: ">I", 27: ">Q"}
_FLOATS = {25: ">e", 26: ">f", 27: ">d"}
_DEPTH = 2
"""How deep maps may be nested: lists, and the items of a list."""
Value = str | int | float | Mapping[str, "Value"]


def read_cbor(file: File, want: WantedColumns) -> Source:
    """Read {user: {item: score}}, like a dict; all ids are text."""
    name = file.path.name
    return replace(open_document(decode(_unpack(file), name), want, name), label=name)


def _unpack(file: File) -> bytes:
    """Return the content, decompressed for the second time."""
    return decompress_lz4(io.BytesIO(file.content), len(file.content), file.path)


def write_cbor(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write an object of objects as ranx reads it."""
    if path.suffix.lower() != ".lz4":
        raise UnwritableFile(
            f"{path} does not have the extension of ranx's runs.", "a name such as run.lz4."
        )
    return write_bytes(compress(encode(collect_objects(content)), path), path)


def decode(data: bytes, name: str) -> Value:
    """Return the value that CBOR data holds; errors call the file `name`."""
    try:
        value, end = _decode(data, 0, 0)
    except (IndexError, KeyError, struct.error, UnicodeDecodeError, TypeError) as error:
        raise _damaged(name) from error
    if end != len(data):
        raise _damaged(name)
    return value


def _damaged(name: str) -> UnreadableFile:
    return UnreadableFile(
        f"{name} is damaged, or not a run that ranx wrote.",
        "CBOR data of the form {user: {item: score}}, compressed twice with lz4.",
        "write it again with run.save.",
    )


def _decode(data: bytes, at: int, depth: int) -> tuple[Value, int]:
    """Return the value at a position, and the position after it."""
    kind, short = data[at] >> 5, data[at] & 31
    if kind == _FLOAT:
        form = _FLOATS[short]
        return struct.unpack_from(form, data, at + 1)[0], at + 1 + struct.calcsize(form)
    number, at = _decode_number(data, at + 1, short)
    if kind in (_WHOLE, _BELOW):
        return number if kind == _WHOLE else -1 - number, at
    if kind == _TEXT:
        text = data[at : at + number]
        if len(text) < number:
            raise IndexError(number)
        return text.decode(), at + number
    if kind == _MAP and depth < _DEPTH:
        return _decode_map(data, at, depth + 1, number)
    raise KeyError(kind)


def _decode_number(data: bytes, at: int, short: int) -> tuple[int, int]:
    if short < min(_SIZES):
        return short, at
    form = _SIZES[short]
    return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)


def _decode_map(data: bytes, at: int, depth: int, size: int) -> tuple[Value, int]:
    pairs: dict[str, Value] = {}
    for _ in range(size):
        key, at = _decode(data, at, _DEPTH)
        value, at = _decode(data, at, depth)
        if not isinstance(key, str) or key in pairs:
            raise KeyError(key)
        pairs[key] = value
    return pairs, at


def encode(value: Value) -> bytes:
    """Return a value as CBOR data."""
    if isinstance(value, float):
        return bytes([_FLOAT << 5 | 27]) + struct.pack(">d", value)
    if isinstance(value, int):
        return _head(_WHOLE, value) if value >= 0 else _head(_BELOW, -1 - value)
    if isinstance(value, str):
        raw = value.encode()
        return _head(_TEXT, len(raw)) + raw
    parts = (encode(key) + encode(inner) for key, inner in value.items())
    return _head(_MAP, len(value)) + b"".join(parts)


def _head(kind: int, number: int) -> bytes:
    """Return the kind of a value with its size, or with the number itself, in as few bytes as
    possible."""
    if number < min(_SIZES):
        return bytes([kind << 5 | number])
    short = next(s for s, form in _SIZES.items() if number < 256 ** struct.calcsize(form))
    return bytes([kind << 5 | short]) + struct.pack(_SIZES[short], number)
