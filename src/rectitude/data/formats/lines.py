"""Files whose lines hold lists of any length: lines are taken apart by Polars, all at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rectitude.data.formats.file import File
from rectitude.data.frames import renamed
from rectitude.data.source import Source
from rectitude.errors import UnreadableFile

if TYPE_CHECKING:
    import polars as pl


def numbered_lines(file: File) -> pl.DataFrame:
    """Every line that holds something, with its number from 1: columns number, line."""
    import polars as pl

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
