"""`Log`: interactions as they came, one row each, for what happens before predictions exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from rectitude.data.aliases import COUNTS, normal
from rectitude.data.codes import distinct
from rectitude.data.ids import whole_numbers
from rectitude.data.ledger import Ledger
from rectitude.data.read import read
from rectitude.data.table import Table
from rectitude.data.taking import taken
from rectitude.data.times import in_words, times
from rectitude.data.values import require_counts
from rectitude.errors import BadIds, BadTable
from rectitude.threads import together

if TYPE_CHECKING:
    import polars as pl

    from rectitude.data.blocks import Mask

_MANY_ROWS = 100_000
ROW = "row"
"""The column that holds the number of each row in the source, from 0."""


Size = tuple[int, int, int]
"""Rows, users, items."""


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
    ledger: Ledger = field(default_factory=Ledger)
    """what was met when the source was read, and what each step of preparing did"""
    text: bool = False
    """ids come from a file without types: integers are so because all of them are"""
    counted: list[Size] = field(default_factory=list, init=False, repr=False, compare=False)
    """its size, once somebody has counted it"""

    def with_frame(self, frame: pl.DataFrame) -> Log:
        """Other rows of the same source."""
        return replace(self, frame=frame)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for whoever takes tables: `evaluate`, Polars, Arrow."""
        return self.frame.drop(ROW).__arrow_c_stream__(requested_schema)

    def require(self, column: str, purpose: str) -> None:
        """An error if a column is missing that something needs."""
        if column not in self.frame.columns:
            raise BadTable(
                f"{self.source} has no {column} column, and {purpose} needs one.",
                f"columns {', '.join(['user', 'item', column])}.",
                f"name it: rt.Interactions(source, {column}='its name').",
            )

    @property
    def size(self) -> Size:
        """Rows, users, items."""
        if not self.counted:
            users, items = (distinct(self.frame[side]) for side in ("user", "item"))
            self.counted.append((self.frame.height, users, items))
        return self.counted[0]


def chosen(log: Log, mask: Mask) -> Log:
    """The rows that a mask marks, in the order of the log."""
    return parts_of(log, mask)[0]


def parts_of(log: Log, *masks: Mask) -> list[Log]:
    """The rows that each mask marks, in the order of the log. Where it costs little, users and
    items of all of them are counted on the way."""
    frames, found = taken(log.frame, masks, ("user", "item"))
    logs = [log.with_frame(frame) for frame in frames]
    if "user" in found and "item" in found:
        for each, users, items in zip([*logs, log], found["user"], found["item"], strict=True):
            each.counted[:] = [(each.frame.height, users, items)]
    return logs


def open_log(source: object) -> Log:
    """Anything tabular as a log: ids there and of one type, timestamps that can be compared.

    Ids and timestamps in files without types are numbers if every one of them is.
    """
    if isinstance(source, Log):
        return source
    table = read(source, "log")
    frame = table.frame.rename({"list": "user"}) if "list" in table.frame.columns else table.frame
    ledger = Ledger()
    if table.recognised:
        ledger.note("read", f"{table.source} as {table.recognised}")
    if table.left:
        ledger.note("columns left out", ", ".join(table.left))
    made: dict[str, pl.Series] = {}

    def make(name: str, how: Callable[[pl.Series], pl.Series]) -> None:
        made[name] = how(frame[name])

    tasks = [partial(make, role, partial(_ids, table=table)) for role in ("user", "item")]
    if "grade" in frame.columns:
        tasks.append(partial(make, "grade", partial(_grades, table=table, ledger=ledger)))
    if "timestamp" in frame.columns:
        title = f"log ({table.source})"
        tasks.append(partial(make, "timestamp", partial(times, title=title)))
    together(tasks, frame.height > _MANY_ROWS)
    if "timestamp" in made:
        ledger.note("timestamps", in_words(made["timestamp"]))
    columns = [made[name] for name in ("user", "item", "grade", "timestamp") if name in made]
    frame = frame.with_columns(columns)
    rows = frame.with_row_index(ROW).select(*frame.columns, ROW)
    return Log(rows, table.source, ledger, table.text)


def _ids(ids: pl.Series, table: Table) -> pl.Series:
    """Ids of one type; text from a file without types as integers, if it is nothing else."""
    import polars as pl

    if ids.dtype == pl.Object:
        kinds = sorted({type(value).__name__ for value in ids.to_list()})
        raise BadIds(
            f"log ({table.source}): the {ids.name} ids are Python objects ({', '.join(kinds)};"
            f" first: {ids[0]!r}).",
            "integers, text, floats or dates, all of one type.",
            "make text of them: [str(id) for id in ids].",
        )
    if not table.text or ids.dtype != pl.String:
        return ids
    numbers = whole_numbers(ids)
    return ids if numbers is None else numbers.alias(ids.name)


def _grades(grades: pl.Series, table: Table, ledger: Ledger) -> pl.Series:
    """Grades, with those below zero counted; in a column of counts they are an error."""
    below = grades < 0
    count = int(below.sum())
    if count:
        name = table.columns.get("grade", "")
        if normal(name) in COUNTS:
            require_counts(grades, name, f"log ({table.source})")
        first = int(below.arg_max() or 0)
        example = f"row {first + 1}, {grades[first]:g}"
        ledger.count(
            "negative_grades", count, "grades are below zero", len(grades), example, "notice"
        )
    return grades
