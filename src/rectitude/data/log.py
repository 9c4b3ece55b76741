"""`Log`: interactions as they came, one row each, for what happens before predictions exist."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rectitude.data.read import read
from rectitude.errors import BadTable

if TYPE_CHECKING:
    import polars as pl

ROW = "row"
"""The column that holds the number of each row in the source, from 0."""


@dataclass(frozen=True, slots=True)
class Log:
    """Interactions: user, item, and where there are such columns grade and timestamp.

    Rows keep the number that they had in the source (`row`), whatever was removed since, so that
    every part of a split can be traced back.
    """

    frame: pl.DataFrame
    """columns user, item, [grade], [timestamp], row"""
    source: str
    """the source in words"""

    def with_frame(self, frame: pl.DataFrame) -> Log:
        """Other rows of the same source."""
        return replace(self, frame=frame)

    def require(self, column: str, purpose: str) -> None:
        """An error if a column is missing that something needs."""
        if column not in self.frame.columns:
            raise BadTable(
                f"{self.source} has no {column} column, and {purpose} needs one.",
                f"columns {', '.join(['user', 'item', column])}.",
                f"name it: rt.Interactions(source, {column}='its name').",
            )

    @property
    def size(self) -> tuple[int, int, int]:
        """Rows, users, items."""
        frame = self.frame
        return frame.height, frame["user"].n_unique(), frame["item"].n_unique()


def open_log(source: object) -> Log:
    """Anything tabular as a log."""
    if isinstance(source, Log):
        return source
    table = read(source, "log")
    frame = table.frame.rename({"list": "user"}) if "list" in table.frame.columns else table.frame
    return Log(frame.with_row_index(ROW).select(*frame.columns, ROW), table.source)
