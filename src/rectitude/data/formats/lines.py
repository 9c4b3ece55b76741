"""Files whose lines are lists of any length; Polars splits all lines at once.

The formats are adjacency lists (`user item item ...`, LightGCN), pairs of sets (SMGCN), and NCF's
test sets with sampled negatives: `(user,item)`, a tab, and the negatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from rectitude.data.columns import WantedColumns
from rectitude.data.formats.file import File, FileContent, not_text, write_bytes
from rectitude.data.formats.fit import require_plain
from rectitude.data.frames import rename_columns
from rectitude.data.table import Source, What
from rectitude.errors import BadTable, UnreadableFile
from rectitude.storage import Write


def number_lines(file: File) -> pl.DataFrame:
    """Return every non-blank line with its number from 1, in the columns number and line."""
    try:
        text = file.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = file.content.count(b"\n", 0, error.start) + 1
        raise UnreadableFile(
            f"{file.path} is not UTF-8 (line {line}, byte {error.start}).",
            "text in UTF-8.",
            "convert it, for example with: iconv -f latin1 -t utf-8",
        ) from None
    if "\0" in text:
        raise not_text(file.path, file.content.index(b"\0"))
    lines = pl.DataFrame({"line": [text]}).select(pl.col("line").str.split("\n"))
    numbered = lines.explode("line").with_row_index("number", 1)
    bare = numbered.with_columns(pl.col("line").str.strip_suffix("\r"))
    found = bare.filter(pl.col("line").str.strip_chars() != "")
    if not found.height:
        raise UnreadableFile(
            f"{file.path} contains only blank lines.",
            "a list, or a pair, on each line.",
            "write or download it again.",
        )
    return found


def source_of(file: File, frame: pl.DataFrame, handed: pl.Series | None = None) -> Source:
    """Return a source whose columns are identified by position and whose ids are text."""

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        return rename_columns(frame, chosen)

    roles = {name: name for name in frame.columns}
    return Source(
        file.path.name, list(roles), take, roles, anonymous=True, text=True, handed=handed
    )


def read_adjacency(file: File, want: WantedColumns) -> Source:
    """Read a user and their items from each line; predictions are in order, best first."""
    words = number_lines(file).select(_split_words("line"))
    lists = words.select(
        pl.col("line").list.first().alias("list"), pl.col("line").list.slice(1).alias("item")
    )
    frame = lists.filter(pl.col("item").list.len() > 0).explode("item")
    handed = lists["list"].unique(maintain_order=True)
    return replace(source_of(file, frame, handed), given=want.what == "predictions")


def write_adjacency(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write a line for each list, including empty lists."""
    frame = content.frame.with_columns(pl.col("list", "item").cast(pl.String))
    require_plain(frame, r"\s", "an adjacency list")
    lists = frame.group_by("list", maintain_order=True).agg("item")
    if content.list_keys is not None:
        keys = pl.DataFrame({"list": content.list_keys.cast(pl.String).unique(maintain_order=True)})
        lists = keys.join(lists, on="list", how="left", maintain_order="left")
    items = pl.col("item").list.join(" ")
    joined = pl.when(items.fill_null("") == "").then("list").otherwise(pl.col("list") + " " + items)
    lines = lists.select(joined.alias("line"))["line"]
    return write_bytes("".join(f"{line}\n" for line in lines).encode(), path)


def read_sets(file: File, want: WantedColumns) -> Source:
    """Read the second set of each line as a list; its key is the number of the line from 0.

    The first set is the query that the list answers; it is not read.
    """
    lines = number_lines(file).with_row_index("list")
    halves = lines.with_columns(pl.col("line").str.split("\t"))
    wrong = halves.filter(pl.col("line").list.len() != 2)
    if wrong.height:
        raise BadTable(
            f"{file.path.name}, line {wrong['number'][0]} has {wrong['line'].list.len()[0]}"
            " fields.",
            "two sets separated by a tab.",
            "fix this line.",
        )
    second = halves.select(pl.col("list").cast(pl.String), pl.col("line").list.get(1))
    items = second.select("list", _split_words("line").alias("item"))
    rows = items.filter(pl.col("item").list.len() > 0).explode("item")
    return source_of(file, rows, items["list"])


def _split_words(column: str) -> pl.Expr:
    return pl.col(column).str.extract_all(r"\S+")


POSITIVE_AND_NEGATIVES = r"^\((?<user>[^(),\s]+),\s*(?<item>[^(),\s]+)\)\t?(?<rest>.*)$"


def read_negatives(file: File, want: WantedColumns) -> Source:
    """Read the positive and its negatives as candidates, or only the positive as truth.

    Repeated negatives are kept, so a count of the candidates includes them.
    """
    if want.what not in ("candidates", "truth"):
        raise BadTable(
            f"{file.path.name} contains positives and negatives, but is read as {want.what}.",
            "candidates or truth.",
            "pass it as candidates or as truth.",
        )
    lines = number_lines(file)
    fields = lines.select(
        "number", pl.col("line").str.extract_groups(POSITIVE_AND_NEGATIVES)
    ).unnest("line")
    wrong = fields.filter(pl.col("user").is_null())
    if wrong.height:
        number = wrong["number"][0]
        raise BadTable(
            f"{file.path.name}, line {number} does not begin with (user,item).",
            "lines with (0,25) or another pair, a tab, and items separated by tabs.",
            "fix this line.",
        )
    return source_of(file, _select_rows(fields, want.what))


def write_negatives(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write one line per user: the first candidate as the positive, the others as negatives."""
    require_plain(content.frame, r"[\s(),]", "a file of negatives")
    lists = content.frame.group_by("list", maintain_order=True).agg(pl.col("item").cast(pl.String))
    pair = pl.format("({},{})", pl.col("list").cast(pl.String), pl.col("item").list.first())
    negatives = pl.col("item").list.slice(1).list.join("\t")
    line = pl.when(pl.col("item").list.len() > 1).then(pair + "\t" + negatives).otherwise(pair)
    lines = lists.select(line.alias("line"))["line"]
    return write_bytes("".join(f"{text}\n" for text in lines).encode(), path)


def _select_rows(fields: pl.DataFrame, what: What) -> pl.DataFrame:
    positive = fields.select(pl.col("user").alias("list"), "item")
    if what == "truth":
        return positive
    negatives = pl.col("rest").str.split("\t").list.eval(pl.element().filter(pl.element() != ""))
    candidates = fields.select(
        pl.col("user").alias("list"), pl.concat_list(pl.col("item"), negatives).alias("item")
    )
    return candidates.explode("item")
