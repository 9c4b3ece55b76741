"""Adjacency lists (`user item item ...`, LightGCN) and pairs of sets (SMGCN)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rectitude.data.columns import Wanted
from rectitude.data.formats.file import File
from rectitude.data.formats.fit import require_plain
from rectitude.data.formats.format import Content
from rectitude.data.formats.lines import numbered_lines, source_of
from rectitude.data.formats.separated import write_bytes
from rectitude.data.source import Source
from rectitude.data.table import What
from rectitude.errors import BadTable
from rectitude.storage import Write

if TYPE_CHECKING:
    import polars as pl


ALONE = ("items", "users", "weights")
"""Tables that have no pairs of a user and an item."""


def sniff(file: File, what: What) -> str | None:
    """Lines of whole numbers with spaces between, of different lengths or longer than a row."""
    rows = [line.split() for line in file.lines]
    if what in ALONE or file.suffix not in ("", ".txt") or any("\t" in line for line in file.lines):
        return None
    if not all(word.isdecimal() for row in rows for word in row):
        return None
    if len({row[0] for row in rows}) < len(rows):  # rows of a table, one of which is broken
        return None
    lengths = {len(row) for row in rows}
    if len(lengths) < 2 and max(lengths, default=0) <= 4:
        return None
    return f"lines of {min(lengths)} to {max(lengths)} whole numbers: a user and its items"


def read(file: File, want: Wanted) -> Source:
    """A user and its items on each line; for predictions in their order, best first."""
    import polars as pl

    words = numbered_lines(file).select(_words("line"))
    lists = words.select(
        pl.col("line").list.first().alias("list"), pl.col("line").list.slice(1).alias("item")
    )
    frame = lists.filter(pl.col("item").list.len() > 0).explode("item")
    handed = lists["list"].unique(maintain_order=True) if want.what == "predictions" else None
    return replace(source_of(file, frame, handed), given=want.what == "predictions")


def write(content: Content, path: Path) -> Mapping[Path, Write]:
    """A line for each list, also for one without items."""
    import polars as pl

    frame = content.frame.with_columns(pl.col("list", "item").cast(pl.String))
    require_plain(frame, r"\s", "an adjacency list")
    lists = frame.group_by("list", maintain_order=True).agg("item")
    if content.handed is not None:
        keys = pl.DataFrame({"list": content.handed.cast(pl.String).unique(maintain_order=True)})
        lists = keys.join(lists, on="list", how="left", maintain_order="left")
    items = pl.col("item").list.join(" ")
    joined = pl.when(items.fill_null("") == "").then("list").otherwise(pl.col("list") + " " + items)
    lines = lists.select(joined.alias("line"))["line"]
    return write_bytes("".join(f"{line}\n" for line in lines).encode(), path)


def sniff_sets(file: File, what: What) -> str | None:
    """Lines of two sets of whole numbers with a tab between them."""
    halves = [line.split("\t") for line in file.lines]
    if what in ALONE or not halves or any(len(half) != 2 for half in halves):
        return None
    words = [[side.split() for side in half] for half in halves]
    if not all(word.isdecimal() for half in words for side in half for word in side):
        return None
    several = sum(len(side) > 1 for half in words for side in half)
    return "two sets of whole numbers on every line, a tab between them" if several else None


def read_sets(file: File, want: Wanted) -> Source:
    """The second set of each line: a list is a line, its key the number of the line from 0.

    The first set is what the list answers to; it stays in the file.
    """
    import polars as pl

    lines = numbered_lines(file).with_row_index("list")
    halves = lines.with_columns(pl.col("line").str.split("\t"))
    wrong = halves.filter(pl.col("line").list.len() != 2)
    if wrong.height:
        raise BadTable(
            f"{file.path.name}, line {wrong['number'][0]} has {wrong['line'].list.len()[0]} parts.",
            "two sets with a tab between them.",
            "fix this line.",
        )
    second = halves.select(pl.col("list").cast(pl.String), pl.col("line").list.get(1))
    items = second.select("list", _words("line").alias("item"))
    return source_of(file, items.filter(pl.col("item").list.len() > 0).explode("item"))


def _words(column: str) -> pl.Expr:
    import polars as pl

    return pl.col(column).str.extract_all(r"\S+")
