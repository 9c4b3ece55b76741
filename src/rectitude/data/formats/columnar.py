"""Parquet and Arrow IPC: typed columns; only the needed ones are read.

LensKit's native Parquet has one row per list with all items in one cell, so it keeps empty lists.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

import polars as pl

from rectitude.data.columns import WantedColumns
from rectitude.data.formats.file import ARROW, PARQUET, STREAM, File, FileContent
from rectitude.data.formats.footer import CONTRADICTION, rows_by_group
from rectitude.data.formats.page_sizes import require_modest
from rectitude.data.frames import rename_columns
from rectitude.data.table import Source, SourceParts
from rectitude.errors import BadTable, UnreadableFile
from rectitude.memory import require_growth
from rectitude.storage import Write

_ARROW_END = 10
"""The bytes after the footer of an Arrow file: its length, and the mark of the format."""
_BLOCKS = (2, 3)
"""Fields of the footer: the blocks of dictionaries, and those of rows."""
DAMAGED = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What Polars raises for damaged files; a panic is no `Exception`."""


def read_parquet(file: File, want: WantedColumns) -> Source:
    """Read a Parquet file."""
    if file.data is not None or not file.head.startswith(PARQUET):
        raise UnreadableFile(
            f"{file.path} is not a Parquet file: it begins with {file.head[:8]!r}.",
            "a Parquet file, as its name says.",
            f"rename it, or name its format: {want.wrapper}(path, format=...).",
        )
    return scan_parquet(file.path, [file.path])


def read_arrow(file: File, want: WantedColumns) -> Source:
    """Read an Arrow IPC file or stream."""
    if not file.head.startswith((ARROW, STREAM)):
        raise UnreadableFile(
            f"{file.path} is not an Arrow file: it begins with {file.head[:8]!r}.",
            "an Arrow IPC file or stream.",
            f"rename it, or name its format: {want.wrapper}(path, format=...).",
        )
    reader = pl.read_ipc if file.head.startswith(ARROW) else pl.read_ipc_stream

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        try:
            with file.open() as content:  # Polars would take a path for a glob pattern
                if reader is pl.read_ipc:  # a stream does not tell
                    _require_blocks(content)
                    _require_rows(pl.scan_ipc(content), len(chosen), file.path, [file.path])
                    content.seek(0)
                return rename_columns(reader(content, columns=list(chosen.values())), chosen)
        except DAMAGED as error:
            raise _unreadable(file.path, error, "Arrow") from error

    try:
        with file.open() as content:
            if reader is pl.read_ipc:
                _require_blocks(content)
            names = reader(content, n_rows=0).columns
    except DAMAGED as error:
        raise _unreadable(file.path, error, "Arrow") from error
    return Source(file.path.name, names, take)


def _require_blocks(content: BinaryIO) -> None:
    """Raise an error if the footer of an Arrow file says that rows lie outside of it, about which
    Polars would panic. The footer is a FlatBuffer: its tables say where their fields are."""
    size = content.seek(0, os.SEEK_END)
    try:
        content.seek(-_ARROW_END, os.SEEK_END)
        (length,) = struct.unpack("<i", content.read(4))
        content.seek(-_ARROW_END - length, os.SEEK_END)
        blocks = [*_read_blocks(content.read(length))]
    except (ValueError, struct.error) as error:
        raise OSError("its footer is damaged") from error
    finally:
        content.seek(0)
    if any(min(block) < 0 or sum(block) > size for block in blocks):
        raise OSError("rows lie outside of it")


def _read_blocks(footer: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield where each block of rows or of a dictionary begins, and the bytes of its two parts."""

    def at(form: str, place: int) -> int:
        (number,) = struct.unpack_from(form, footer, place)
        return int(number)

    table = at("<I", 0)
    fields = table - at("<i", table)
    for number in _BLOCKS:
        place = 4 + 2 * number
        start = at("<H", fields + place) if place < at("<H", fields) else 0
        vector = table + start + at("<I", table + start) if start else 0
        for block in range(at("<I", vector) if vector else 0):
            yield struct.unpack_from("<qi4xq", footer, vector + 4 + 24 * block)


def write_parquet(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write rows as Parquet."""
    return {path: content.frame.write_parquet}


def write_arrow(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write rows as an Arrow IPC file, which is the same as Feather."""
    return {path: content.frame.write_ipc}


def scan_parquet(path: Path, pieces: Sequence[Path]) -> Source:
    """Return Parquet files that form one table as a source labelled with the name of `path`."""
    lazy = pl.scan_parquet([*pieces], glob=False, hive_partitioning=False)

    def take(rows: pl.LazyFrame, chosen: Mapping[str, str]) -> pl.DataFrame:
        try:
            _require_rows(rows, len(chosen), path, pieces)
            for piece in pieces:
                require_modest(piece, str(piece), {*chosen.values()})
            return rename_columns(rows.select(chosen.values()).collect(), chosen)
        except DAMAGED as error:
            damaged, group = _find_damage(pieces, [*chosen.values()])
            raise _unreadable(damaged or path, error, "Parquet", len(pieces), group) from error

    try:
        names = lazy.collect_schema().names()
        rows = int(lazy.select(pl.len()).collect().item())
    except DAMAGED as error:
        raise _unreadable(path, error, "Parquet", len(pieces)) from error

    def span(first: int, last: int) -> Source:
        return Source(path.name, names, partial(take, lazy.slice(first, last - first)))

    def each(size: int) -> Iterator[Source]:
        yield from (span(first, min(first + size, rows)) for first in range(0, rows, size))

    return Source(path.name, names, partial(take, lazy), parts=SourceParts(rows, each, span))


def _require_rows(lazy: pl.LazyFrame, columns: int, path: Path, pieces: Sequence[Path]) -> None:
    """Raise an error if a table has absurdly many rows for the size of its files."""
    rows = int(lazy.select(pl.len()).collect().item())
    size = sum(piece.stat().st_size for piece in pieces)
    require_growth(8 * rows * columns, size, str(path))


def _find_damage(pieces: Sequence[Path], columns: Sequence[str]) -> tuple[Path | None, str]:
    """Return the first of some files that has a damaged row group, and the group in words; None if
    all groups can be read one by one."""
    for piece in pieces:
        first, rows = 0, pl.scan_parquet(piece, glob=False, hive_partitioning=False)
        try:
            groups = rows_by_group(piece)
        except (OSError, *CONTRADICTION, KeyError):  # the footer is damaged, too
            return piece, ""
        for number, size in enumerate(groups):
            try:
                rows.slice(first, size).select(columns).collect()
            except DAMAGED:
                return piece, f", row group {number + 1} of {len(groups)},"
            first += size
    return None, ""


def _unreadable(
    path: Path, error: BaseException, kind: str, pieces: int = 1, group: str = ""
) -> UnreadableFile:
    size = path.stat().st_size
    message = (str(error).splitlines() or [type(error).__name__])[0]
    if pieces > 1 and isinstance(
        error, pl.exceptions.SchemaError | pl.exceptions.ColumnNotFoundError
    ):
        return UnreadableFile(
            f"the {pieces} pieces of {path} have different columns: {message}.",
            "the same columns with the same types in all of them.",
            "write them again as one table.",
        )
    if os.strerror(errno.ENOMEM) in message:
        return UnreadableFile(
            f"{path} ({size:,} bytes) cannot be read: there is not enough memory for it.",
            "free memory for its content.",
            "end other programs, or raise the limit of this process (ulimit -v).",
        )
    return UnreadableFile(
        f"{path}{group} is truncated or damaged ({size} bytes): {message}.",
        f"a complete {kind} file.",
        "copy or write it again.",
    )


NAMES = {"item": "item_id", "score": "score", "rank": "rank", "grade": "rating"}


def read_lenskit(file: File, want: WantedColumns) -> Source:
    """Read one row per list; `read` splits the lists later."""
    source = read_parquet(file, want)
    if "items" not in source.names:
        raise BadTable(
            f"{file.path.name} has no column 'items'; its columns: {', '.join(source.names)}.",
            "LensKit's native layout, one row per list.",
            "for one row per item, choose the format lenskit_flat.",
        )
    return source


def write_lenskit(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write one row per list, including empty lists."""
    return {path: nest_lists(content).write_parquet}


def nest_lists(content: FileContent) -> pl.DataFrame:
    """Return one row per list with its rows as a list of records, in order of appearance."""
    frame = content.frame
    fields = [pl.col(role).alias(NAMES[role]) for role in frame.columns if role != "list"]
    rows = frame.select(pl.col("list").alias("user_id"), pl.struct(fields).alias("items"))
    lists = rows.group_by("user_id", maintain_order=True).agg("items")
    if content.list_keys is None:
        return lists
    keys = pl.DataFrame({"user_id": content.list_keys.unique(maintain_order=True)})
    joined = keys.join(lists, on="user_id", how="left", maintain_order="left")
    empty = pl.lit([], dtype=lists.schema["items"])
    return joined.with_columns(pl.col("items").fill_null(empty))
