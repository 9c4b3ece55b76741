"""Parquet and Arrow IPC: typed columns, of which only those that are needed are read.

LensKit's native Parquet has one row per list, its items in one cell, so that empty lists live.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from rectitude.data.columns import WantedColumns
from rectitude.data.formats.file import ARROW, PARQUET, STREAM, File, FileContent
from rectitude.data.frames import renamed
from rectitude.data.table import Source
from rectitude.errors import BadTable, UnreadableFile
from rectitude.storage import Write


def read_parquet(file: File, want: WantedColumns) -> Source:
    """A Parquet file as a source."""
    if file.data is not None or not file.head.startswith(PARQUET):
        raise UnreadableFile(
            f"{file.path} is not a Parquet file: it begins with {file.head[:8]!r}.",
            "Parquet, as its name says.",
        )
    return scanned(file.path, [file.path])


def read_arrow(file: File, want: WantedColumns) -> Source:
    """An Arrow IPC file or stream as a source."""
    if not file.head.startswith((ARROW, STREAM)):
        raise UnreadableFile(
            f"{file.path} is not Arrow: it begins with {file.head[:8]!r}.", "Arrow IPC."
        )
    reader = pl.read_ipc if file.head.startswith(ARROW) else pl.read_ipc_stream

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        try:
            with file.open() as content:  # a name would be taken for a pattern
                return renamed(reader(content, columns=list(chosen.values())), chosen)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise _broken(file.path, error, "Arrow") from error

    try:
        with file.open() as content:
            names = reader(content, n_rows=0).columns
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _broken(file.path, error, "Arrow") from error
    return Source(file.path.name, names, take)


def write_parquet(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Rows as Parquet."""
    return {path: content.frame.write_parquet}


def write_arrow(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Rows as an Arrow IPC file, which is what Feather is."""
    return {path: content.frame.write_ipc}


def scanned(path: Path, pieces: Sequence[Path]) -> Source:
    """Parquet files that are one table, as a source of the name of `path`."""
    lazy = pl.scan_parquet([*pieces], glob=False, hive_partitioning=False)

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        try:
            return renamed(lazy.select(chosen.values()).collect(), chosen)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise _broken(path, error, "Parquet", len(pieces)) from error

    try:
        return Source(path.name, lazy.collect_schema().names(), take)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _broken(path, error, "Parquet", len(pieces)) from error


def _broken(path: Path, error: Exception, kind: str, pieces: int = 1) -> UnreadableFile:
    size = path.stat().st_size
    said = (str(error).splitlines() or [type(error).__name__])[0]
    if pieces > 1 and isinstance(
        error, pl.exceptions.SchemaError | pl.exceptions.ColumnNotFoundError
    ):
        return UnreadableFile(
            f"the {pieces} pieces of {path} have different columns: {said}.",
            "the same columns in each of them, of the same types.",
            "write them again as one table.",
        )
    return UnreadableFile(
        f"{path} is truncated or damaged ({size} bytes): {said}.",
        f"a complete {kind} file.",
        "copy or write it again.",
    )


NAMES = {"item": "item_id", "score": "score", "rank": "rank", "grade": "rating"}


def read_lenskit(file: File, want: WantedColumns) -> Source:
    """One row per list; taking lists apart is left to whoever takes any such frame apart."""
    source = read_parquet(file, want)
    if "items" not in source.names:
        raise BadTable(
            f"{file.path.name} has no column 'items': {', '.join(source.names)}.",
            "LensKit's native layout, one row per list.",
            "for one row per item choose the format lenskit_flat.",
        )
    return source


def write_lenskit(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """One row per list, also for lists without items."""
    return {path: nested(content).write_parquet}


def nested(content: FileContent) -> pl.DataFrame:
    """The rows of each list as a list of records, lists in the order in which they came."""
    frame = content.frame
    fields = [pl.col(role).alias(NAMES[role]) for role in frame.columns if role != "list"]
    rows = frame.select(pl.col("list").alias("user_id"), pl.struct(fields).alias("items"))
    lists = rows.group_by("user_id", maintain_order=True).agg("items")
    if content.handed is None:
        return lists
    keys = pl.DataFrame({"user_id": content.handed.unique(maintain_order=True)})
    joined = keys.join(lists, on="user_id", how="left", maintain_order="left")
    none = pl.lit([], dtype=lists.schema["items"])
    return joined.with_columns(pl.col("items").fill_null(none))
