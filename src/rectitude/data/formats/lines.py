"""Files whose lines hold lists of any length: lines are taken apart by Polars, all at once.

Adjacency lists (`user item item ...`, LightGCN), pairs of sets (SMGCN), and NCF's sampled test
sets: `(user,item)`, a tab, and the items to rank it among.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from rectitude.data.columns import WantedColumns
from rectitude.data.formats.file import File, FileContent, write_bytes
from rectitude.data.formats.fit import require_plain
from rectitude.data.frames import renamed
from rectitude.data.table import Source, What
from rectitude.errors import BadTable, UnreadableFile
from rectitude.storage import Write


def numbered_lines(file: File) -> pl.DataFrame:
    """Every line that holds something, with its number from 1: columns number, line."""
    try:
        text = file.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = file.content.count(b"\n", 0, error.start) + 1
        raise UnreadableFile(
            f"{file.path} is not UTF-8 (line {line}, byte {error.start}).", "text in UTF-8."
        ) from None
    lines = pl.DataFrame({"line": [text]}).select(pl.col("line").str.split("\n"))
    numbered = lines.explode("line").with_row_index("number", 1)
    bare = numbered.with_columns(pl.col("line").str.strip_suffix("\r"))
    return bare.filter(pl.col("line").str.strip_chars() != "")


def source_of(file: File, frame: pl.DataFrame, handed: pl.Series | None = None) -> Source:
    """Columns that are known by their place; ids are text."""

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        return renamed(frame, chosen)

    roles = {name: name for name in frame.columns}
    return Source(
        file.path.name, list(roles), take, roles, anonymous=True, text=True, handed=handed
    )


def read_adjacency(file: File, want: WantedColumns) -> Source:
    """A user and its items on each line; for predictions in their order, best first."""
    words = numbered_lines(file).select(_words("line"))
    lists = words.select(
        pl.col("line").list.first().alias("list"), pl.col("line").list.slice(1).alias("item")
    )
    frame = lists.filter(pl.col("item").list.len() > 0).explode("item")
    handed = lists["list"].unique(maintain_order=True) if want.what == "predictions" else None
    return replace(source_of(file, frame, handed), given=want.what == "predictions")


def write_adjacency(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """A line for each list, also for one without items."""
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


def read_sets(file: File, want: WantedColumns) -> Source:
    """The second set of each line: a list is a line, its key the number of the line from 0.

    The first set is what the list answers to; it stays in the file.
    """
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
    return pl.col(column).str.extract_all(r"\S+")


PARTS = r"^\((?<user>[^(),\s]+),\s*(?<item>[^(),\s]+)\)\t?(?<rest>.*)$"


def read_negatives(file: File, want: WantedColumns) -> Source:
    """As candidates the positive and then its negatives, as truth the positive alone.

    Negatives that stand twice stay: whoever counts candidates shall see them.
    """
    if want.what not in ("candidates", "truth"):
        raise BadTable(
            f"{file.path.name} holds positives and negatives, and {want.what} is wanted.",
            "candidates or truth.",
        )
    lines = numbered_lines(file)
    parts = lines.select("number", pl.col("line").str.extract_groups(PARTS)).unnest("line")
    wrong = parts.filter(pl.col("user").is_null())
    if wrong.height:
        number = wrong["number"][0]
        raise BadTable(
            f"{file.path.name}, line {number} does not begin with (user,item).",
            "lines such as (0,25), a tab, and items with tabs between them.",
            "fix this line.",
        )
    return source_of(file, _rows(parts, want.what))


def write_negatives(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """One line a user: the first candidate as the positive, the others as its negatives."""
    require_plain(content.frame, r"[\s(),]", "a file of negatives")
    lists = content.frame.group_by("list", maintain_order=True).agg(pl.col("item").cast(pl.String))
    pair = pl.format("({},{})", pl.col("list").cast(pl.String), pl.col("item").list.first())
    negatives = pl.col("item").list.slice(1).list.join("\t")
    line = pl.when(pl.col("item").list.len() > 1).then(pair + "\t" + negatives).otherwise(pair)
    lines = lists.select(line.alias("line"))["line"]
    return write_bytes("".join(f"{text}\n" for text in lines).encode(), path)


def _rows(parts: pl.DataFrame, what: What) -> pl.DataFrame:
    positive = parts.select(pl.col("user").alias("list"), "item")
    if what == "truth":
        return positive
    rest = pl.col("rest").str.split("\t").list.eval(pl.element().filter(pl.element() != ""))
    both = parts.select(
        pl.col("user").alias("list"), pl.concat_list(pl.col("item"), rest).alias("item")
    )
    return both.explode("item")
