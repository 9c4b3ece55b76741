"""`File`: a file with its first bytes, decompressed if necessary.

`Format` describes how to read and write a file format. `FileContent` is what to write.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import BinaryIO, Literal

import polars as pl

from rectitude.data.columns import WantedColumns
from rectitude.data.formats.compression import (
    MAGIC,
    PACKED,
    compress,
    decompress,
    explain_archive,
    lone_member,
)
from rectitude.data.formats.foreign import SUFFIXES, refuse_address, refuse_foreign
from rectitude.data.table import Source
from rectitude.errors import UnreadableFile, nearest
from rectitude.storage import Write
from rectitude.texts import special_file

READ = (
    "csv, tsv, JSON, JSON lines, Parquet, Arrow, .npz, .npy, a TREC run or qrels, or a format of"
    " another library; text may be compressed as .gz .bz2 .xz .zst .lz4 .zip."
)
PARQUET, ARROW, STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_SEPARATORS = {".tsv": "\t", ".inter": "\t", ".csv": ","}
HEAD = 1 << 16
"""How many bytes are read to detect the format and the integer columns."""
_LONGEST_LINE = 1 << 26
"""The longest header that is read, in bytes."""
SAMPLE = 100
"""How many lines are read to detect the format."""


@dataclass(frozen=True)
class File:
    """A file that exists and is not empty."""

    path: Path
    head: bytes
    """Its first bytes, decompressed."""
    data: bytes | None = None
    """The whole content, if it had to be decompressed."""
    compression: str | None = None

    @property
    def suffix(self) -> str:
        """The extension of the file name, ignoring the extension of a compression."""
        return suffix_of(self.path)

    @property
    def content(self) -> bytes:
        """The whole content, decompressed."""
        return self.path.read_bytes() if self.data is None else self.data

    def open(self) -> BinaryIO:
        """Open the decompressed content for reading."""
        return self.path.open("rb") if self.data is None else io.BytesIO(self.data)

    @cached_property
    def start(self) -> list[str]:
        """The lines of the first bytes; the last one may be cut off."""
        return self.head.decode("utf-8-sig", errors="replace").splitlines()

    @cached_property
    def lines(self) -> list[str]:
        """The first non-blank lines, without a cut-off line unless it is the only one."""
        cut = len(self.head) >= HEAD and len(self.start) > 1
        whole = self.start[:-1] if cut else self.start
        return [line for line in whole if line.strip()][:SAMPLE]

    @cached_property
    def separator(self) -> str:
        """The separator of the fields in the first line."""
        return _guess_separator(next(filter(str.strip, self.start), ""), self.suffix)


def suffix_of(path: Path) -> str:
    """Return the extension of a file name in lower case, ignoring that of a compression."""
    packed = path.suffix.lower() in PACKED
    return (Path(path.stem) if packed else path).suffix.lower()


def open_content(path: Path) -> File:
    """Open a file and decompress it if its content is compressed."""
    start = _read_start(path)
    compression = next((name for magic, name in MAGIC.items() if start.startswith(magic)), None)
    named = PACKED.get(path.suffix.lower())
    if named and not compression and not start.startswith(PARQUET):
        raise UnreadableFile(
            f"{path} is not compressed with {named}, although its name says so.",
            f"{named} data.",
            "rename the file, or compress it again.",
        )
    if compression is None or (compression == "zip" and lone_member(path) is None):
        return _require_known(File(path, start))
    data = decompress(path, compression)
    if not data:
        raise UnreadableFile(
            f"{path} is empty after decompression.", READ, "write or download it again."
        )
    return _require_known(File(path, _cut_head(data), data, compression))


def _require_known(file: File) -> File:
    """Return a file; raise an error if it is of a kind that is not read, such as a pickle."""
    if b"\0" in file.head or file.suffix in SUFFIXES:
        refuse_foreign(file.path, file.suffix, file.head)
    return file


def _guess_separator(line: str, suffix: str) -> str:
    """Return a tab if there is one, else the most frequent separator, else a space.

    Text in quotes does not count.
    """
    usual, line = _SEPARATORS.get(suffix, ","), re.sub(r'"[^"]*"', '""', line)
    if "\t" in line:
        return "\t"
    separator = max((usual, ",", ";", "|"), key=line.count)
    if separator in line:
        return separator
    return " " if " " in line.strip() else usual


def require_text(file: File) -> None:
    """Raise an error if the beginning of a file shows that it is not UTF-8 text."""
    path, head = file.path, file.head
    if head.startswith(PARQUET) and not file.compression:
        raise UnreadableFile(
            f"{path} is a Parquet file.",
            "a text file, as the named format requires.",
            "leave out the format, or name parquet.",
        )
    if head.startswith(PARQUET):
        raise UnreadableFile(
            f"{path} is a Parquet file compressed with {file.compression}.",
            "an uncompressed Parquet file.",
            "decompress it: Parquet has its own compression.",
        )
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableFile(
            f"{path} is UTF-16, not UTF-8 (line 1, byte 0).",
            "text in UTF-8.",
            "convert it, for example with: iconv -f utf-16 -t utf-8",
        )
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        raise UnreadableFile(
            f"{path} is a zip archive that {explain_archive(path)}.",
            f"an archive with a single file, or {READ}",
            "unpack it and pass the path of a file.",
        )
    if b"\r" in head and b"\n" not in head and head.lstrip()[:1] not in (b"{", b"["):
        raise UnreadableFile(
            f"the lines of {path} end with only a carriage return.",
            "lines that end with a newline.",
            "convert it, for example with: tr '\\r' '\\n'",
        )
    if b"\0" in head:
        raise not_text(path, head.index(b"\0"))


def not_text(path: Path, position: int) -> UnreadableFile:
    """Return the error for a text with a zero byte."""
    return UnreadableFile(
        f"{path} is not text: byte {position} is zero.",
        READ,
        "convert it to one of these formats.",
    )


def write_bytes(raw: bytes, path: Path) -> Mapping[Path, Write]:
    """Write bytes, compressed if the file name asks for it."""
    return {path: partial(_write_data, compress(raw, path))}


def _write_data(data: bytes, path: Path) -> int:
    return path.write_bytes(data)


def _read_start(path: Path) -> bytes:
    """Return the first bytes of a file; raise an error if it is missing or empty."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise special_file(path)
    try:
        with path.open("rb") as file:
            start = file.read(HEAD)
            if _has_cut_header(start):
                start += file.readline(_LONGEST_LINE)
    except FileNotFoundError:
        refuse_address(path)
        raise UnreadableFile(
            f"{path} does not exist.", "an existing file.", _suggest_name(path)
        ) from None
    except OSError as error:
        raise UnreadableFile(
            f"{path} cannot be read: {error.strerror}.",
            "a readable file.",
            "check the path and its permissions.",
        ) from error
    if not start:
        raise UnreadableFile(f"{path} is empty (0 bytes).", READ, "write or download it again.")
    return start


def _cut_head(data: bytes) -> bytes:
    """Return the first bytes of decompressed content, with the whole first line."""
    start = data[:HEAD]
    end = data.find(b"\n", HEAD, HEAD + _LONGEST_LINE) if _has_cut_header(start) else HEAD
    return start if end == HEAD else data[: end + 1 or None]


def _has_cut_header(start: bytes) -> bool:
    """Whether the first line of a text is longer than the first bytes; a JSON file may be one
    line."""
    one_line = len(start) == HEAD and b"\n" not in start and b"\0" not in start
    return one_line and not start.startswith(tuple(MAGIC)) and start.lstrip()[:1] not in b"{["


def _suggest_name(path: Path) -> str:
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist either."
    close = nearest(path.name, (entry.name for entry in path.parent.iterdir()))
    return f"did you mean {close}?" if close else "check the name and the current directory."


Kind = Literal["predictions", "truth", "candidates"]
"""The kind of table to write."""
Role = Literal["list", "item", "score", "rank", "grade", "timestamp"]


@dataclass(frozen=True, slots=True, eq=False)
class FileContent:
    """The content to write: rows with canonical columns, and the keys of all lists."""

    kind: Kind
    frame: pl.DataFrame
    list_keys: pl.Series | None = None
    """Keys of all lists, including empty ones; None if only lists with rows are known."""
    tag: str = "rectitude"
    """The name of the run, for formats that store one."""
    sizes: tuple[int, int] | None = None
    """The numbers of users and items, if this is a subset of a larger table and the format numbers
    them."""


def _no_remarks(content: FileContent) -> tuple[str, ...]:
    """Return no remarks, the default of a format."""
    return ()


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    `read` opens a file. `write` returns, for each file to write, the function that writes it; it
    is None for a read-only format.
    """

    title: str
    read: Callable[[File, WantedColumns], Source]
    write: Callable[[FileContent, Path], Mapping[Path, Write]] | None = None
    suffixes: tuple[str, ...] = ()
    """Extensions of a target file that select this format."""
    content: Literal["text", "binary", "text or binary"] = "text"
    holds: Mapping[Kind, tuple[Role, ...]] = field(default_factory=dict)
    """The kinds of table it can store, with their columns besides list and item."""
    needs: Mapping[Kind, tuple[Role, ...]] = field(default_factory=dict)
    """Required columns; missing ones are created."""
    empty: Literal["kept", "lost"] = "lost"
    """What happens to lists without items."""
    order: Literal["kept", "lost"] = "lost"
    """Whether rows stay in the order of their list, which makes ranks unnecessary."""
    ids: Literal["typed", "text", "by extension"] = "text"
    """Whether columns have types; for some formats, the file extension decides."""
    times: Literal["as they are", "seconds"] = "as they are"
    """Whether timestamps must be seconds since 1970."""
    remarks: Callable[[FileContent], tuple[str, ...]] = _no_remarks
    """Return further remarks about some content in this format."""
