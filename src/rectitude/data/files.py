"""Paths: which kind of file it is, and whether it is whole."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rectitude.data.columns import Wanted
from rectitude.data.delimited import open_delimited
from rectitude.data.frames import renamed
from rectitude.data.source import Source
from rectitude.data.trec import is_trec, open_trec
from rectitude.errors import UnreadableFile, nearest

if TYPE_CHECKING:
    import polars as pl

READ = "csv, tsv, txt, inter, parquet, TREC run or qrels; text also as .gz .bz2 .xz .zst."
PACKED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
PARQUET = b"PAR1"
HEAD = 1 << 16


def open_file(path: Path, want: Wanted) -> Source:
    """A file as a source. Its content says what it is; its name only helps."""
    start = _start(path)
    if start.startswith(PARQUET) or path.suffix in (".parquet", ".pq"):
        return _parquet(path, start)
    packing = next((name for magic, name in MAGIC.items() if start.startswith(magic)), None)
    named = PACKED.get(path.suffix.lower())
    if named and not packing:
        raise UnreadableFile(f"{path} is not {named}, whatever its name says.", f"{named} data.")
    data = _unpacked(path, packing) if packing else None
    head = start if data is None else data[:HEAD]
    _require_text(path, head, packing)
    suffix = path.with_suffix("").suffix if named else path.suffix
    if is_trec(path.name, suffix.lower(), head, want.what):
        return open_trec(path, data, head, want)
    return open_delimited(path, data, head, suffix.lower(), want)


def _start(path: Path) -> bytes:
    """The first bytes of a file that is there and not empty."""
    if path.is_dir():
        raise UnreadableFile(f"{path} is a folder.", "a file.", _inside(path))
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


def _inside(folder: Path) -> str:
    files = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    return f"name one of its files: {', '.join(files[:8])}" if files else "it holds no files."


def _near(path: Path) -> str:
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist either."
    close = nearest(path.name, (entry.name for entry in path.parent.iterdir()))
    return f"did you mean {close}?" if close else "check the name and the current folder."


def _require_text(path: Path, head: bytes, packing: str | None) -> None:
    if packing and not head:
        raise UnreadableFile(f"{path} is empty once decompressed.", READ)
    if head.startswith(PARQUET):
        raise UnreadableFile(f"{path} holds a Parquet file in {packing}.", "Parquet as it is.",
                             "decompress it: Parquet is compressed within.")  # fmt: skip
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableFile(f"{path} is not UTF-8 but UTF-16 (line 1, byte 0).", "text in UTF-8.",
                             "convert it, for example with: iconv -f utf-16 -t utf-8")  # fmt: skip
    if b"\0" in head:
        at = head.index(b"\0")
        raise UnreadableFile(f"{path} is not text (a zero at byte {at}).", READ)
    if path.suffix.lower() in (".json", ".jsonl"):
        raise UnreadableFile(f"{path} is JSON.", READ, "load it and hand over the dict.")


def _unpacked(path: Path, packing: str) -> bytes:
    import polars as pl

    broken = (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError, pl.exceptions.PolarsError)
    unpack = {"gzip": gzip.decompress, "bzip2": bz2.decompress, "xz": lzma.decompress}
    try:
        return _zstd(path) if packing == "zstd" else unpack[packing](path.read_bytes())
    except broken as error:
        raise UnreadableFile(
            f"{path} is truncated or damaged: {packing} says {str(error).splitlines()[0]!r}.",
            f"complete {packing} data.",
            "copy or download it again.",
        ) from error


def _zstd(path: Path) -> bytes:
    """Polars brings zstd, which Python does not have yet: it reads the file as one column."""
    import polars as pl

    lines = pl.read_csv(
        path.read_bytes(), has_header=False, separator="\x1f", quote_char=None,
        schema={"column_1": pl.String}, raise_if_empty=False,
    )  # fmt: skip
    joined = lines["column_1"].fill_null("").str.join("\n").item()
    return str(joined or "").encode()


def _parquet(path: Path, start: bytes) -> Source:
    import polars as pl

    if not start.startswith(PARQUET):
        raise UnreadableFile(f"{path} is not a Parquet file: it begins with {start[:8]!r}.",
                             "Parquet, as its name says.")  # fmt: skip
    lazy = pl.scan_parquet(path, glob=False, hive_partitioning=False)

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        try:
            return renamed(lazy.select(chosen.values()).collect(), chosen)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise _broken_parquet(path, error) from error

    try:
        return Source(path.name, lazy.collect_schema().names(), take)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _broken_parquet(path, error) from error


def _broken_parquet(path: Path, error: Exception) -> UnreadableFile:
    size = path.stat().st_size
    return UnreadableFile(
        f"{path} is truncated or damaged ({size} bytes): {str(error).splitlines()[0]}.",
        "a complete Parquet file.",
        "copy or write it again.",
    )
