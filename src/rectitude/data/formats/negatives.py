"""NCF's sampled test sets: `(user,item)`, a tab, and the items to rank it among."""

from __future__ import annotations

import re
from collections.abc import Mapping
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

PAIR = re.compile(r"^\([^(),\s]+,\s*[^(),\s]+\)(\t|$)")
PARTS = r"^\((?<user>[^(),\s]+),\s*(?<item>[^(),\s]+)\)\t?(?<rest>.*)$"


def sniff(file: File, what: What) -> str | None:
    """Lines that begin with a pair in parentheses."""
    lines = file.lines
    pairs = bool(lines) and all(PAIR.match(line) for line in lines)
    return "every line begins with (user,item)" if pairs else None


def read(file: File, want: Wanted) -> Source:
    """As candidates the positive and then its negatives, as truth the positive alone.

    Negatives that stand twice stay: whoever counts candidates shall see them.
    """
    import polars as pl

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


def write(content: Content, path: Path) -> Mapping[Path, Write]:
    """One line a user: the first candidate as the positive, the others as its negatives."""
    import polars as pl

    require_plain(content.frame, r"[\s(),]", "a file of negatives")
    lists = content.frame.group_by("list", maintain_order=True).agg(pl.col("item").cast(pl.String))
    pair = pl.format("({},{})", pl.col("list").cast(pl.String), pl.col("item").list.first())
    negatives = pl.col("item").list.slice(1).list.join("\t")
    line = pl.when(pl.col("item").list.len() > 1).then(pair + "\t" + negatives).otherwise(pair)
    lines = lists.select(line.alias("line"))["line"]
    return write_bytes("".join(f"{text}\n" for text in lines).encode(), path)


def _rows(parts: pl.DataFrame, what: What) -> pl.DataFrame:
    import polars as pl

    positive = parts.select(pl.col("user").alias("list"), "item")
    if what == "truth":
        return positive
    rest = pl.col("rest").str.split("\t").list.eval(pl.element().filter(pl.element() != ""))
    both = parts.select(
        pl.col("user").alias("list"), pl.concat_list(pl.col("item"), rest).alias("item")
    )
    return both.explode("item")
