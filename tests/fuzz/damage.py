"""Damage to any file: by what it holds, byte by byte, or by what stands in its place.

`damage` changes one file or folder in place and says what it did, and whether the result is
certainly malformed. Damage that may leave a legitimate file is never called certain.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from damaged_archives import (
    PACK,
    damage_array,
    damage_arrays,
    damage_packed,
    damage_ranx,
    damage_zip,
)
from damaged_tables import damage_columns, damage_text
from damaged_trees import damage_json, damage_json_lines, damage_toml, damage_yaml


class Damage(NamedTuple):
    """What was done to a file, and whether no reader may accept it."""

    name: str
    certain: bool


def damage(chance: Random, path: Path) -> Damage:
    """Damage a file, or one of the files in a folder."""
    if path.is_dir():
        return _damage_folder(chance, path)
    kind = chance.choices(("content", "bytes", "place"), (6, 3, 1.5))[0]
    if kind == "place":
        name = chance.choice(list(PLACES))
        PLACES[name](path)
        return Damage(f"place: {name}", True)
    data = path.read_bytes()
    if kind == "bytes":
        name = chance.choice(list(BYTES))
        out, certain = BYTES[name](chance, data), name in CERTAIN
    else:
        name, out = damage_content(chance, path.name, data)
        certain = name in CERTAIN
    path.unlink()
    path.write_bytes(out)
    return Damage(f"{kind}: {name}", certain and out != data)


def _damage_folder(chance: Random, folder: Path) -> Damage:
    """Damage what a folder holds; nothing is certain, as not all of its files need be read."""
    if chance.random() < 0.08:
        name = chance.choice(list(FOLDERS))
        FOLDERS[name](folder)
        return Damage(f"folder: {name}", False)
    inside = sorted(p for p in folder.rglob("*") if p.is_file() and p.name[0] != ".")
    by_name = {p.name: p for p in inside}  # one of each name, so that small files are not lost
    path = chance.choice([*by_name.values(), *inside])
    return Damage(f"{path.name}: {damage(chance, path).name}", False)


def damage_content(chance: Random, name: str, data: bytes) -> tuple[str, bytes]:
    """Damage a file by what it holds; archives are damaged inside."""
    ending = Path(name).suffix.lower()
    if ending == ".npy":
        return damage_array(chance, data)
    if ending == ".npz":
        return damage_arrays(chance, data)
    if name == "cbor.lz4":
        return damage_ranx(chance, data, damage_content)
    if ending in PACK or ending in (".zst", ".lz4") or name.endswith(".csv.zip"):
        return damage_packed(chance, ending, data, damage_content)
    if ending == ".zip":
        return damage_zip(chance, data, damage_content)
    if ending in (".parquet", ".arrow"):
        return damage_columns(chance, data, ending)
    trees = {".json": damage_json, ".jsonl": damage_json_lines, ".toml": damage_toml,
             ".yaml": damage_yaml}  # fmt: skip
    said, text = trees.get(ending, damage_text)(chance, data.decode("utf-8"))
    return said, text.encode("utf-8", "surrogatepass")


def _flip(chance: Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
    return bytes(out)


def _chunk(chance: Random, data: bytes) -> tuple[int, int]:
    start = chance.randrange(len(data))
    return start, min(len(data), start + chance.choice((1, 4, 16, 100)))


def _cut(chance: Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data.rstrip()) or 1)]


def _removed(chance: Random, data: bytes) -> bytes:
    start, end = _chunk(chance, data)
    return data[:start] + data[end:]


def _doubled(chance: Random, data: bytes) -> bytes:
    start, end = _chunk(chance, data)
    return data[:end] + data[start:end] * chance.choice((1, 50)) + data[end:]


def _swapped(chance: Random, data: bytes) -> bytes:
    a, b = sorted((chance.randrange(len(data)), chance.randrange(len(data))))
    return data[b:] + data[a:b] + data[:a]


def _filled(chance: Random, data: bytes) -> bytes:
    start, end = _chunk(chance, data)
    return data[:start] + chance.choice((b"\x00", b"\xff", b"\x1b")) * (end - start) + data[end:]


def _recoded(chance: Random, data: bytes) -> bytes:
    text = data.decode("latin-1")
    return text.encode(chance.choice(("utf-16", "utf-16-le", "utf-32", "utf-7", "cp037")))


def _started(chance: Random, data: bytes) -> bytes:
    magic = (
        b"\xef\xbb\xbf", b"\xff\xfe", b"PK\x03\x04", b"\x1f\x8b\x08", b"PAR1", b"ARROW1\x00\x00",
        b"\x93NUMPY", b"BZh9", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"\x00", b"{", b"%PDF-1.7",
        b"\x80\x04", b"SQLite format 3\x00", b"\xff\xff\xff\xff", b"#", b"\n" * 100_000,
    )  # fmt: skip
    start = chance.choice(magic)
    return start + data if chance.random() < 0.5 else start + data[len(start) :]


def _random(chance: Random, data: bytes) -> bytes:
    return bytes([0xFF]) + chance.randbytes(chance.choice((50, 5000)))


def _invalid_text(chance: Random, data: bytes) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + chance.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80")) + data[at:]


Change = Callable[[Random, bytes], bytes]
BYTES: dict[str, Change] = {
    "flip": _flip, "cut": _cut, "removed": _removed, "doubled": _doubled, "swapped": _swapped,
    "filled": _filled, "recoded": _recoded, "started": _started, "random": _random,
    "invalid text": _invalid_text, "empty": lambda _, __: b"", "zeros": lambda _, d: bytes(len(d)),
    "spaces": lambda _, __: b" \n\t\n ", "tail": lambda c, d: d + c.randbytes(30),
}  # fmt: skip
CERTAIN = frozenset({"random", "empty", "zeros", "spaces", "json deep"})
"""Damage after which no file of any kind is legitimate."""


def _replaced_by(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def replace(path: Path) -> None:
        path.unlink()
        make(path)

    return replace


def _link(target: str) -> Callable[[Path], None]:
    return _replaced_by(lambda path: path.symlink_to(target))


def _socket(path: Path) -> None:
    import socket

    here = os.getcwd()
    os.chdir(path.parent)  # a socket's address is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


PLACES: dict[str, Callable[[Path], None]] = {
    "missing": lambda path: path.unlink(),
    "folder": _replaced_by(lambda path: path.mkdir()),
    "pipe": _replaced_by(os.mkfifo),
    "socket": _replaced_by(_socket),
    "/dev/zero": _link("/dev/zero"),
    "/dev/null": _link("/dev/null"),
    "/dev/urandom": _link("/dev/urandom"),
    "link to nowhere": _link("nowhere/at/all"),
    "link to itself": lambda path: _link(path.name)(path),
    "/proc/self/mem": _link("/proc/self/mem"),
}


def _loop(folder: Path) -> None:
    for name in "ab":
        (folder / name).symlink_to(".")


def _gone(folder: Path) -> None:
    shutil.rmtree(folder)


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def _file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("{}")


FOLDERS = {"loops of links": _loop, "missing": _gone, "empty": _emptied, "a file": _file}
