"""Compressed files: how they are recognised, read and written.

Content is decompressed piece by piece and never beyond the memory that it may take.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import polars as pl

from rectitude.archives import DAMAGED, read_member
from rectitude.errors import MissingExtra, RectitudeError, UnreadableFile
from rectitude.memory import expansion_limit, read_within, require_expansion

PACKED = {
    ".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".lz4": "lz4", ".zip": "zip",
}  # fmt: skip
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
_BLOCK = 1 << 17
"""The largest block of zstd, decompressed."""


def decompress(path: Path, compression: str) -> bytes:
    """Return the content of a compressed file."""
    with _name_damage(path, compression):
        return _UNPACK[compression](path)


@contextmanager
def _name_damage(path: Path, compression: str) -> Iterator[None]:
    """Turn what decompressors raise into one kind of error."""
    try:
        yield
    except RectitudeError:
        raise
    except (*DAMAGED, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UnreadableFile(
            f"{path} is truncated or damaged: {compression} says {reason!r}.",
            f"complete {compression} data.",
            "copy or download it again.",
        ) from error


def _read_stream(path: Path, opener: Callable[[Path], Any]) -> bytes:
    with opener(path) as stream:
        return read_within(stream, path.stat().st_size, str(path))


def _read_lz4(path: Path) -> bytes:
    return _read_stream(path, _import_compressor("lz4", path, "open"))


def decompress_lz4(content: BinaryIO, size: int, path: Path) -> bytes:
    """Return the content of a file that was compressed with lz4 twice, and decompressed once."""
    opener = _import_compressor("lz4", path, "open")
    with _name_damage(path, "lz4"), opener(content) as stream:
        return read_within(stream, size, str(path))


def _read_zip(path: Path) -> bytes:
    with ZipFile(path) as archive:
        return read_member(archive, str(lone_member(path)))


def _read_zstd(path: Path) -> bytes:
    """Decompress zstd with Polars, as one column of lines: Python does not support zstd yet."""
    data = path.read_bytes()
    require_expansion(_bound_zstd(data), len(data), str(path))
    lines = pl.read_csv(
        data, has_header=False, separator="\x1f", quote_char=None,
        schema={"column_1": pl.String}, raise_if_empty=False,
    )  # fmt: skip
    joined = lines["column_1"].fill_null("").str.join("\n").item()
    return str(joined or "").encode()


def _bound_zstd(data: bytes) -> int:
    """Return the most bytes that zstd data can expand to, from the headers of its blocks (RFC 8878,
    section 3.1.1); as soon as these are too many, the bytes so far."""
    limit, total, start = expansion_limit(len(data)), 0, 0
    while start + 5 < len(data) and total <= limit:
        if data[start + 1 : start + 4] == b"\x2a\x4d\x18":  # a frame to skip
            start += 8 + int.from_bytes(data[start + 4 : start + 8], "little")
            continue
        flags, last = data[start + 4], False
        single, checked = flags >> 5 & 1, flags >> 2 & 1
        size = (single, 2, 4, 8)[flags >> 6]
        start += 5 + (1 - single) + (0, 1, 2, 4)[flags & 3] + size
        while not last and start + 3 <= len(data) and total <= limit:
            header = int.from_bytes(data[start : start + 3], "little")
            last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
            total += max(size, 128) if kind < 2 else _BLOCK
            start += 3 + (1 if kind == 1 else size)
        start += 4 * checked
    return total


_UNPACK: Mapping[str, Callable[[Path], bytes]] = {
    "gzip": partial(_read_stream, opener=gzip.open),
    "bzip2": partial(_read_stream, opener=bz2.open),
    "xz": partial(_read_stream, opener=lzma.open),
    "zstd": _read_zstd,
    "lz4": _read_lz4,
    "zip": _read_zip,
}


def compress(data: bytes, path: Path) -> bytes:
    """Return content compressed as the name of a file asks for."""
    compression = PACKED.get(path.suffix.lower())
    if compression is None:
        return data
    if compression in ("zstd", "lz4"):
        return bytes(_import_compressor(compression, path)(data))
    # Without timestamps, so equal content makes equal files.
    pack: dict[str, Callable[[bytes], bytes]] = {
        "gzip": lambda raw: gzip.compress(raw, mtime=0), "bzip2": bz2.compress,
        "xz": lzma.compress, "zip": partial(_compress_zip, Path(path.stem).name),
    }  # fmt: skip
    return pack[compression](data)


def _compress_zip(name: str, data: bytes) -> bytes:
    """Return an archive with one file, without a timestamp."""
    raw = io.BytesIO()
    with ZipFile(raw, "w") as archive:
        archive.writestr(ZipInfo(name), data, ZIP_DEFLATED)
    return raw.getvalue()


def _import_compressor(compression: str, path: Path, verb: str = "compress") -> Callable[..., Any]:
    """Return the function of an optional package for a compression that Python lacks."""
    package, module = {"lz4": ("lz4", "lz4.frame"), "zstd": ("zstandard", "zstandard")}[compression]
    try:
        function: Callable[..., Any] = getattr(importlib.import_module(module), verb)
    except ImportError:
        done = "compressed" if verb == "compress" else "decompressed"
        raise MissingExtra(
            f"{path} must be {done} with {compression}, but the package {package!r} is not"
            " installed.",
            advice=f"install it with: pip install {package}",
        ) from None
    return function


# archives with one file


def lone_member(path: Path) -> str | None:
    """Return the name of the only file in an archive.

    Return None if the archive holds several files, arrays, or paths that lead outside of it. The
    file is only read, never extracted.
    """
    names = _member_names(path)
    safe = len(names) == 1 and not _is_unsafe(names[0])
    return names[0] if safe and not names[0].endswith(".npy") else None


def explain_archive(path: Path) -> str:
    """Return the reason why an archive cannot be read."""
    names = _member_names(path)
    unsafe = [name for name in names if _is_unsafe(name)]
    if unsafe:
        return f"holds an unsafe path, which leads outside of it ({unsafe[0]!r})"
    return f"holds {len(names)} files"


def _member_names(path: Path) -> list[str]:
    try:
        with ZipFile(path) as archive:
            return [name for name in archive.namelist() if not name.endswith("/")]
    except DAMAGED:
        return []


def _is_unsafe(name: str) -> bool:
    return ".." in Path(name).parts or name[:1] in ("/", "\\", "")
