"""Damage to containers: zip archives, compressed files, NumPy arrays and sparse matrices."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from random import Random

import numpy as np

from rectitude.data.formats.cbor import decode, encode

BOMB = 1_500_000_000
"""Bytes that a bomb unpacks to: more than the memory that an input may take."""
Inner = Callable[[Random, str, bytes], tuple[str, bytes]]
PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
}  # fmt: skip


def pack(ending: str, data: bytes) -> bytes:
    """Compress bytes as a file of that ending holds them."""
    if ending == ".zst":
        import zstandard

        return zstandard.compress(data)
    if ending == ".lz4":
        import lz4.frame

        return bytes(lz4.frame.compress(data))
    if ending == ".zip":
        return zipped({"a.csv": data})
    return PACK[ending](data)


def unpack(ending: str, data: bytes) -> bytes:
    """Decompress a valid file."""
    if ending == ".zst":
        import zstandard

        return zstandard.decompress(data, max_output_size=10**8)
    if ending == ".lz4":
        import lz4.frame

        return bytes(lz4.frame.decompress(data))
    if ending == ".zip":
        return next(iter(members(data).values()))
    return {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}[ending](data)


@cache
def bomb(ending: str) -> bytes:
    """A small file that unpacks to far more: rows of a table, or zeros in an array."""
    block = b"user,item,score\n" + b"1,2,0.5\n" * 2_000_000
    if ending == ".zip":
        return _zip_bomb("a.csv", b"", block)
    if ending == ".npz":
        start = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (6, {BOMB // 24}), }}"
        return _zip_bomb("scores.npy", _header(start), bytes(len(block)))
    return pack(ending, block) * (BOMB // len(block))


def _zip_bomb(name: str, start: bytes, block: bytes) -> bytes:
    target = io.BytesIO()
    with (
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        member.write(start)
        for _ in range(BOMB // len(block) + 1):
            member.write(block)
    return target.getvalue()


def members(data: bytes) -> dict[str, bytes]:
    """The files in an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(files: dict[str, bytes]) -> bytes:
    """An archive of files."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def damage_zip(chance: Random, data: bytes, inner: Inner) -> tuple[str, bytes]:
    """Damage a member of an archive, the list of members, or the archive's own fields."""
    files = members(data)
    what = chance.choice(("inner", "inner", "inner", "lost", "renamed", "added", "fields", "bomb"))
    name = chance.choice(list(files))
    if what == "inner":
        said, files[name] = inner(chance, name, files[name])
        return f"zip of {said}", zipped(files)
    if what == "lost":
        del files[name]
    if what == "renamed":
        files[chance.choice(NAMES)] = files.pop(name)
    if what == "added":
        files[chance.choice(NAMES)] = chance.choice((b"", b"{}", files[name]))
    if what == "fields":
        return "zip fields", _damage_fields(chance, data)
    if what == "bomb":
        return "zip bomb", bomb(".zip")
    return f"zip {what}", zipped(files)


NAMES = ("../up.json", "/root.json", "a" * 300, "\x1b[31m/x.json", "x/", "%0a/lists.parquet",
         "evaluation.json.json", "lists.parquet ", "con", "\\x", "é/ü.json")  # fmt: skip


def _damage_fields(chance: Random, data: bytes) -> bytes:
    """Change sizes, checksum, method or flags in the headers of an archive."""
    out = bytearray(data)
    local, central = out.find(b"PK\x03\x04"), out.find(b"PK\x01\x02")
    field = chance.choice(
        ((6, 8, "<H"), (8, 10, "<H"), (14, 16, "<I"), (18, 20, "<I"), (22, 24, "<I"))
    )
    value = chance.choice((0, 1, 99, 0xFFFE, 0xFFFF))
    value = value if field[2] == "<H" else chance.choice((0, 1, 2**31, 2**32 - 2, 2**32 - 1))
    for start, place in ((local, field[0]), (central, field[1])):
        if start >= 0 and chance.random() < 0.8:
            struct.pack_into(field[2], out, start + place, value)
    return bytes(out)


def damage_packed(chance: Random, ending: str, data: bytes, inner: Inner) -> tuple[str, bytes]:
    """Damage the text in a compressed file, or the compression."""
    what = chance.choice(("inner", "inner", "bomb", "twice", "tail", "two"))
    if what == "inner":
        said, text = inner(chance, "a.csv", unpack(ending, data))
        return f"packed {said}", pack(ending, text)
    if what == "bomb":
        return "packed bomb", bomb(ending)
    if what == "twice":
        return "packed twice", pack(ending, data)
    if what == "tail":
        return "packed tail", data + chance.randbytes(50)
    return "packed two", data + pack(chance.choice((".gz", ".bz2", ".zip")), b"user,item\n")


def damage_ranx(chance: Random, data: bytes, inner: Inner) -> tuple[str, bytes]:
    """Damage a run of ranx: the object in it, its CBOR, or the inner one of its compressions."""
    cbor = unpack(".lz4", unpack(".lz4", data))
    what = chance.choice(("tree", "tree", "bytes", "bytes", "once", "thrice", "bomb"))
    if what == "tree":
        said, text = inner(chance, "a.json", json.dumps(decode(cbor, "valid")).encode())
        with suppress(ValueError, TypeError, AttributeError, RecursionError):  # no CBOR of ranx
            cbor = encode(json.loads(text))
        return f"ranx {said}", pack(".lz4", pack(".lz4", cbor))
    if what == "bytes":
        out = bytearray(cbor)
        for _ in range(chance.choice((1, 3, 10))):
            out[chance.randrange(len(out))] = chance.choice((0, 0x1B, 0x7B, 0x9F, 0xBB, 0xBF, 0xFF))
        return "ranx bytes", pack(".lz4", pack(".lz4", bytes(out)))
    if what == "bomb":
        return "ranx bomb", pack(".lz4", bomb(".lz4"))
    return f"ranx {what}", pack(".lz4", cbor) if what == "once" else pack(".lz4", data)


def damage_array(chance: Random, data: bytes) -> tuple[str, bytes]:
    """Damage a NumPy array: its header, its type, its shape or its values."""
    array = np.load(io.BytesIO(data))
    name = chance.choice(list(ARRAYS))
    return f"npy {name}", ARRAYS[name](chance, array)


def damage_arrays(chance: Random, data: bytes) -> tuple[str, bytes]:
    """Damage one array of an archive of arrays, its name, or the sizes that a matrix claims."""
    files = members(data)
    name = chance.choice(list(files))
    what = chance.choice(("inner", "inner", "lost", "renamed", "shape", "values", "bomb"))
    if what == "inner":
        said, files[name] = damage_array(chance, files[name])
        return f"npz of {said}", zipped(files)
    if what == "lost":
        del files[name]
    if what == "renamed":
        files[chance.choice(("x.npy", "format.npy", "indptr.npy", "x"))] = files.pop(name)
    if what == "shape":
        sizes = chance.choice(
            ((2_000_000_000, 1), (1, 10**18), (-1, 5), (10**9, 10**9), (0, 0), (3,))
        )
        files["shape.npy"] = saved(np.array(sizes, dtype=np.int64))
    if what == "values":
        array = np.load(io.BytesIO(files[name]), allow_pickle=False)
        files[name] = saved(_shaken(chance, array))
    if what == "bomb":
        return "npz bomb", bomb(".npz")
    return f"npz {what}", zipped(files)


def saved(array: np.ndarray) -> bytes:
    """An array as a file."""
    target = io.BytesIO()
    np.save(target, array, allow_pickle=True)
    return target.getvalue()


def _header(text: str) -> bytes:
    """The start of an array's file with any header."""
    padded = text.ljust(118).encode("latin-1", "replace") + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded) % 65536) + padded


def _claim(chance: Random, array: np.ndarray) -> bytes:
    shape = chance.choice(
        ((10**12,), (10**6, 10**6), (-1, 3), (0, 10**18), (2**63, 1), (10**30,), (1,) * 40)
    )
    descr = chance.choice(
        ("<f4", "<i8", "|O", "<U99999999", "|V8", "<M8[s]", ">f8", "nope", "<f16")
    )
    order = chance.choice(("True", "False", "1", "'x'"))
    body = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    return _header(body) + array.tobytes()[: chance.choice((0, 100, 10**6))]


def _syntax(chance: Random, array: np.ndarray) -> bytes:
    texts = ("{", "{}", "[]", "None", "(" * 5000, "{'descr': __import__('os').system('touch ran')}",
             "{'descr': '<f4', 'shape': (1,), 'fortran_order': False, 'x': 1}", "9" * 5000,
             "\x00")  # fmt: skip
    return _header(chance.choice(texts)) + array.tobytes()


def _typed(chance: Random, array: np.ndarray) -> bytes:
    kinds: tuple[object, ...] = ("O", "U5", "S3", "c16", "?", "f2", "M8[s]", "u1", "i8", "V4", "U0")
    with np.errstate(all="ignore"):
        try:
            return saved(array.astype(chance.choice(kinds)))  # type: ignore[call-overload]
        except (TypeError, ValueError):
            return saved(array.astype(object))


def _shaped(chance: Random, array: np.ndarray) -> bytes:
    array = np.atleast_1d(array)
    flat = array.ravel()
    shapes = (flat, flat[:, None, None], array[:0], array[..., :0], flat[0], array[None], flat[:-1],
              np.concatenate([flat, flat]))  # fmt: skip
    return saved(np.asarray(chance.choice(shapes)))


def _valued(chance: Random, array: np.ndarray) -> bytes:
    return saved(_shaken(chance, array))


def _shaken(chance: Random, array: np.ndarray) -> np.ndarray:
    """The array with impossible values in it."""
    out = np.array(array, copy=True)
    if out.dtype.kind not in "fiu" or not out.size:
        return out.ravel()[:0]
    odd = (
        (np.nan, np.inf, -np.inf, 1e308)
        if out.dtype.kind == "f"
        else (-1, -5, 127, 10**9, -(2**31))
    )
    value, flat = chance.choice(odd), out.reshape(-1)
    with np.errstate(all="ignore"):
        if chance.random() < 0.5:
            flat[chance.randrange(flat.size)] = np.array(value).astype(out.dtype)
        else:
            flat[:] = np.array(value).astype(out.dtype)
    return out


ARRAYS = {"claim": _claim, "syntax": _syntax, "type": _typed, "shape": _shaped, "values": _valued}
