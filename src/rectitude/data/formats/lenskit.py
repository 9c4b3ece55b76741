"""LensKit's native Parquet: one row per list, its items in one cell, so that empty lists live."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rectitude.data.columns import Wanted
from rectitude.data.formats.columnar import read_parquet, sniff_parquet
from rectitude.data.formats.file import PARQUET, File
from rectitude.data.formats.format import Content
from rectitude.data.source import Source
from rectitude.data.table import What
from rectitude.errors import BadTable
from rectitude.storage import Write

if TYPE_CHECKING:
    import polars as pl

NAMES = {"item": "item_id", "score": "score", "rank": "rank", "grade": "rating"}


def sniff(file: File, what: What) -> str | None:
    """Parquet with a column `items` of lists of records."""
    if not (sniff_parquet(file, what) and file.head.startswith(PARQUET)):
        return None
    kind = _items(file.path)
    return f"its column items has the type {kind}" if kind else None


def read(file: File, want: Wanted) -> Source:
    """One row per list; taking lists apart is left to whoever takes any such frame apart."""
    source = read_parquet(file, want)
    if "items" not in source.names:
        raise BadTable(
            f"{file.path.name} has no column 'items': {', '.join(source.names)}.",
            "LensKit's native layout, one row per list.",
            "for one row per item choose the format lenskit_flat.",
        )
    return source


def write(content: Content, path: Path) -> Mapping[Path, Write]:
    """One row per list, also for lists without items."""
    return {path: nested(content).write_parquet}


def nested(content: Content) -> pl.DataFrame:
    """The rows of each list as a list of records, lists in the order in which they came."""
    import polars as pl

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


def _items(path: Path) -> str:
    """The type of the column `items` if it holds lists of records; else nothing."""
    import polars as pl

    try:
        kind = pl.scan_parquet(path, glob=False, hive_partitioning=False).collect_schema()["items"]
    except (pl.exceptions.PolarsError, OSError, KeyError):
        return ""
    inner = kind.inner if isinstance(kind, pl.List) else None
    return f"list of {inner}" if isinstance(inner, pl.Struct) else ""
