"""`File`: a file whose first bytes are known, decompressed where it must be.

`Format` says how a kind of file is read and written, `FileContent` what is written.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO, Literal
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

import polars as pl

from rectitude.data.columns import WantedColumns
from rectitude.data.table import Source
from rectitude.errors import MissingExtra, UnreadableFile, nearest
from rectitude.storage import Write

READ = (
    "csv, tsv, JSON (lines), Parquet, Arrow, .npz, .npy, a TREC run or qrels, or a format of"
    " another library; text also as .gz .bz2 .xz .zst .lz4 .zip."
)
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
PARQUET, ARROW, STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_SEPARATORS = {".tsv": "\t", ".inter": "\t", ".csv": ","}
HEAD = 1 << 16
"""How many bytes are looked at to recognise a format, and columns that hold integers."""
SAMPLE = 100
"""How many lines are looked at to recognise a format."""


@dataclass(frozen=True)
class File:
    """A file that is there and not empty."""

    path: Path
    head: bytes
    """Its first bytes, decompressed."""
    data: bytes | None = None
    """All of it, if it had to be decompressed."""
    packing: str | None = None

    @property
    def suffix(self) -> str:
        """The ending of its name, but for that of a compression."""
        return suffix_of(self.path)

    @property
    def content(self) -> bytes:
        """All bytes, decompressed."""
        return self.path.read_bytes() if self.data is None else self.data

    def open(self) -> BinaryIO:
        """The bytes to be read one after the other, decompressed."""
        return self.path.open("rb") if self.data is None else io.BytesIO(self.data)

    @cached_property
    def start(self) -> list[str]:
        """The lines of its first bytes, of which the last may be cut off."""
        return self.head.decode("utf-8-sig", errors="replace").splitlines()

    @cached_property
    def lines(self) -> list[str]:
        """The first lines that hold something, whole ones only unless there is but one."""
        cut = len(self.head) >= HEAD and len(self.start) > 1
        whole = self.start[:-1] if cut else self.start
        return [line for line in whole if line.strip()][:SAMPLE]

    @cached_property
    def separator(self) -> str:
        """What separates the fields of its first line, taken as text in columns."""
        return _separator_of(next(filter(str.strip, self.start), ""), self.suffix)


def suffix_of(path: Path) -> str:
    """The ending of a name in small letters, but for that of a compression."""
    packed = path.suffix.lower() in PACKED
    return (Path(path.stem) if packed else path).suffix.lower()


def opened(path: Path) -> File:
    """A file, decompressed if its content says that it is compressed."""
    start = _start(path)
    packing = next((name for magic, name in MAGIC.items() if start.startswith(magic)), None)
    named = PACKED.get(path.suffix.lower())
    if named and not packing and not start.startswith(PARQUET):
        raise UnreadableFile(f"{path} is not {named}, whatever its name says.", f"{named} data.")
    if packing is None or (packing == "zip" and _lone_member(path) is None):
        return File(path, start)
    data = _unpacked(path, packing)
    if not data:
        raise UnreadableFile(f"{path} is empty once decompressed.", READ)
    return File(path, data[:HEAD], data, packing)


def _separator_of(line: str, suffix: str) -> str:
    """A tab if there is one; else what splits the first line most often; else spaces. What stands
    in quotes does not count."""
    usual, line = _SEPARATORS.get(suffix, ","), re.sub(r'"[^"]*"', '""', line)
    if "\t" in line:
        return "\t"
    found = max((usual, ",", ";", "|"), key=line.count)
    if found in line:
        return found
    return " " if " " in line.strip() else usual


def require_text(file: File) -> None:
    """An error if a file is anything but text in UTF-8, as far as its beginning shows."""
    path, head = file.path, file.head
    if head.startswith(PARQUET) and not file.packing:
        raise UnreadableFile(f"{path} is a Parquet file.", "text, as was said.")
    if head.startswith(PARQUET):
        raise UnreadableFile(f"{path} holds a Parquet file in {file.packing}.",
                             "Parquet as it is.",
                             "decompress it: Parquet is compressed within.")  # fmt: skip
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableFile(f"{path} is not UTF-8 but UTF-16 (line 1, byte 0).", "text in UTF-8.",
                             "convert it, for example with: iconv -f utf-16 -t utf-8")  # fmt: skip
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        raise UnreadableFile(
            f"{path} is an archive (zip) that {_held(path)}.", f"one file in it, or {READ}",
            "unpack it and name a file.",
        )  # fmt: skip
    if b"\r" in head and b"\n" not in head and head.lstrip()[:1] not in (b"{", b"["):
        raise UnreadableFile(
            f"lines of {path} end in a carriage return alone.", "lines that end in a newline.",
            "convert it, for example with: tr '\\r' '\\n'",
        )  # fmt: skip
    if b"\0" in head:
        at = head.index(b"\0")
        raise UnreadableFile(f"{path} is not text (a zero at byte {at}).", READ)


def write_bytes(raw: bytes, path: Path) -> Mapping[Path, Write]:
    """Bytes as they are, or compressed if the name asks for it."""
    return {path: partial(_write, _packed(raw, path))}


def _write(data: bytes, where: Path) -> int:
    return where.write_bytes(data)


def _packed(data: bytes, path: Path) -> bytes:
    packing = PACKED.get(path.suffix.lower())
    if packing is None:
        return data
    if packing in ("zstd", "lz4"):
        return bytes(_optional(packing, path)(data))
    # Without the time of writing, so that equal content makes equal files.
    pack: dict[str, Callable[[bytes], bytes]] = {
        "gzip": lambda raw: gzip.compress(raw, mtime=0), "bzip2": bz2.compress,
        "xz": lzma.compress, "zip": partial(_zipped, Path(path.stem).name),
    }  # fmt: skip
    return pack[packing](data)


def _start(path: Path) -> bytes:
    """The first bytes of a file that is there and not empty."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UnreadableFile(
            f"{path} is a pipe or a device, and files are read twice: to tell their format first.",
            "a file, which may be compressed.",
            "write what comes through the pipe to a file.",
        )
    try:
        with path.open("rb") as file:
            start = file.read(HEAD)
    except FileNotFoundError:
        raise UnreadableFile(f"{path} does not exist.", advice=_near(path)) from None
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror}.") from error
    if not start:
        raise UnreadableFile(f"{path} is empty (0 bytes).", READ)
    return start


def _near(path: Path) -> str:
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist either."
    close = nearest(path.name, (entry.name for entry in path.parent.iterdir()))
    return f"did you mean {close}?" if close else "check the name and the current folder."


def _unpacked(path: Path, packing: str) -> bytes:
    unpack: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.decompress, "bzip2": bz2.decompress, "xz": lzma.decompress, "zstd": _zstd,
        "zip": lambda raw: ZipFile(io.BytesIO(raw)).read(str(_lone_member(path))),
    }  # fmt: skip
    if packing == "lz4":
        unpack["lz4"] = _optional("lz4", path, "decompress")
    broken = (
        EOFError, OSError, RuntimeError, zlib.error, lzma.LZMAError, ValueError, BadZipFile,
        pl.exceptions.PolarsError,
    )  # fmt: skip
    try:
        return unpack[packing](path.read_bytes())
    except broken as error:
        raise UnreadableFile(
            f"{path} is truncated or damaged: {packing} says {str(error).splitlines()[0]!r}.",
            f"complete {packing} data.",
            "copy or download it again.",
        ) from error


def _lone_member(path: Path) -> str | None:
    """The name of the one file of an archive; None if it holds several, arrays, or names that lead
    out of it. It is read and never written anywhere."""
    names = _members(path)
    safe = len(names) == 1 and not _leads_out(names[0])
    return names[0] if safe and not names[0].endswith(".npy") else None


def _members(path: Path) -> list[str]:
    try:
        with ZipFile(path) as archive:
            return [name for name in archive.namelist() if not name.endswith("/")]
    except (BadZipFile, OSError):
        return []


def _leads_out(name: str) -> bool:
    return ".." in Path(name).parts or name[0] in "/\\"


def _held(path: Path) -> str:
    """Why an archive is not read, in words."""
    names = _members(path)
    unsafe = [name for name in names if _leads_out(name)]
    if unsafe:
        return f"holds an unsafe path, which leads out of it ({unsafe[0]!r})"
    return f"holds {len(names)} files"


def _zipped(name: str, data: bytes) -> bytes:
    """An archive of one file, without the time of writing."""
    raw = io.BytesIO()
    with ZipFile(raw, "w") as archive:
        archive.writestr(ZipInfo(name), data, ZIP_DEFLATED)
    return raw.getvalue()


def _zstd(data: bytes) -> bytes:
    """Polars brings zstd, which Python does not have yet: it reads the file as one column."""
    lines = pl.read_csv(
        data, has_header=False, separator="\x1f", quote_char=None,
        schema={"column_1": pl.String}, raise_if_empty=False,
    )  # fmt: skip
    joined = lines["column_1"].fill_null("").str.join("\n").item()
    return str(joined or "").encode()


def _optional(packing: str, path: Path, verb: str = "compress") -> Callable[[bytes], Any]:
    """What a package of its own does, for a compression that Python does not bring."""
    package, module = {"lz4": ("lz4", "lz4.frame"), "zstd": ("zstandard", "zstandard")}[packing]
    try:
        found: Callable[[bytes], Any] = getattr(importlib.import_module(module), verb)
    except ImportError:
        raise MissingExtra(
            f"{path} is to be {verb}ed with {packing}, and the package {package!r} is not there.",
            advice=f"install it with: pip install {package}",
        ) from None
    return found


Kind = Literal["predictions", "truth", "candidates"]
"""What a file that is written holds."""
Role = Literal["list", "item", "score", "rank", "grade", "timestamp"]


@dataclass(frozen=True, slots=True)
class FileContent:
    """What is written: rows with canonical columns, and all lists there are."""

    kind: Kind
    frame: pl.DataFrame
    handed: pl.Series | None = None
    """Keys of all lists, also empty ones; None if only those with rows are known."""
    tag: str = "rectitude"
    """The name of the run, for formats that have a place for it."""
    sizes: tuple[int, int] | None = None
    """How many users and items there are where this is a part of something larger, for formats
    that number them."""


def _nothing(content: FileContent) -> tuple[str, ...]:
    """Of most content there is nothing to be said."""
    return ()


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of file.

    `read` opens it. `write` says for each file to be written how; a format that is only read has
    none.
    """

    title: str
    read: Callable[[File, WantedColumns], Source]
    write: Callable[[FileContent, Path], Mapping[Path, Write]] | None = None
    suffixes: tuple[str, ...] = ()
    """Endings that choose this format for a file to be written."""
    nature: Literal["text", "binary", "either"] = "text"
    holds: Mapping[Kind, tuple[Role, ...]] = field(default_factory=dict)
    """What can be written in it, and which columns beside list and item it has room for."""
    needs: Mapping[Kind, tuple[Role, ...]] = field(default_factory=dict)
    """Columns that it cannot do without: they are made where they are missing."""
    empty: Literal["kept", "lost"] = "lost"
    """What happens to lists without items."""
    order: Literal["kept", "lost"] = "lost"
    """Whether items stand in the order of their list, so that no rank is needed."""
    ids: Literal["typed", "text", "by ending"] = "text"
    """Whether columns have types; some formats leave that to the kind of file."""
    times: Literal["as they are", "seconds"] = "as they are"
    """Whether moments are numbers: seconds since 1970."""
    remarks: Callable[[FileContent], tuple[str, ...]] = _nothing
    """What is to be said of some content in this format beyond the columns."""
