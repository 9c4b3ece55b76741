"""Files of two sets a line (symptoms and herbs), in which the first set is who asks.

Their readers number the lines, which says nothing across files; here the first set is the user.
"""

from __future__ import annotations

from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from rectitude.data.formats.file import opened
from rectitude.data.formats.lines import numbered_lines
from rectitude.data.table import Table

if TYPE_CHECKING:
    import polars as pl


def holds_sets(table: Table) -> bool:
    """Whether a table was read from such a file."""
    return table.recognised.partition(" ")[0] == "sets"


def by_first_set(path: str | PathLike[str], table: Table) -> Table:
    """The table of such a file with the first set of each line as its user, numbers ascending."""
    import polars as pl

    lines = numbered_lines(opened(Path(fspath(path)).expanduser()))
    halves = lines.select(pl.col("line").str.split("\t"))
    first, second = (_words(pl.col("line").list.get(side)) for side in (0, 1))
    user = first.list.eval(pl.element().sort_by(pl.element().cast(pl.Int64))).list.join(" ")
    frame = halves.select(user.alias("list"), second.alias("item"))
    return replace(table, frame=frame.filter(pl.col("item").list.len() > 0).explode("item"))


def _words(text: pl.Expr) -> pl.Expr:
    return text.str.extract_all(r"\S+")
