"""`Log`: raw interactions, one row each, for the steps before there are predictions.

Masks select its rows. Several threads copy them, and count users and items on the way. Memory
limits the speed of copying, so NumPy allocates the copies: it asks for large pages, while Polars
gets small ones that the system maps one by one. A block of a column stays in the processor's cache
until it is counted and copied for every mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.data.columns import COUNTS, normal
from rectitude.data.ids import count_ids, whole_numbers
from rectitude.data.ledger import Ledger
from rectitude.data.read import read
from rectitude.data.table import Table
from rectitude.data.times import convert_times, describe_times
from rectitude.data.values import Mask, blocks, flags_of, is_plain_numeric, kind, require_counts
from rectitude.errors import BadIds, BadTable
from rectitude.kernels import freeze, kernel, should_compile
from rectitude.parallel import in_blocks, require_polars, run_tasks
from rectitude.render import Printable

ROW = "row"
"""The column that holds the number of each row in the source, from 0."""
Size = tuple[int, int, int]
"""Rows, users, items."""
_MANY_ROWS = 100_000
_SMALL_PIECE = 1 << 12
"""Frames in pieces smaller than this many rows are made contiguous first."""
_SPARSE = 4
"""With at least this many rows per marked row, taking marked rows by position is faster."""
_SPARE = 1024
"""How many more entries than rows the table has in which ids are counted."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Log(Printable):
    """Interactions: user, item, and if the source has them grade and timestamp.

    Rows keep the number they had in the source (`row`) when others are removed, so every part of a
    split can be traced back.
    """

    frame: pl.DataFrame
    """columns user, item, [grade], [timestamp], row"""
    source: str
    """a description of the source"""
    ledger: Ledger = field(default_factory=Ledger)
    """what reading the source found, and what each step of the preparation did"""
    text: bool = False
    """whether ids come from a file without types; they are integers if all of them look like it"""
    counted: list[Size] = field(default_factory=list, init=False, repr=False, compare=False)
    """the size, once it has been counted"""

    def _shown(self) -> Iterator[str]:
        rows, users, items = self.size
        yield f"{self.source}: {rows:,} rows, {users:,} users, {items:,} items"
        yield str(self.ledger)

    def with_frame(self, frame: pl.DataFrame) -> Log:
        """Return a log with other rows of the same source."""
        return replace(self, frame=frame)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as an Arrow stream, for `evaluate`, Polars and Arrow."""
        return self.frame.drop(ROW).__arrow_c_stream__(requested_schema)

    def require(self, column: str, purpose: str, otherwise: str = "") -> None:
        """Raise an error if a column is missing that `purpose` needs; `otherwise` is advice on how
        to do without it."""
        if column not in self.frame.columns:
            name_it = f"name it: rt.Interactions(source, {column}='column name')."
            raise BadTable(
                f"{self.source} has no {column} column, but {purpose} needs one.",
                f"the columns {', '.join(['user', 'item', column])}.",
                f"{name_it}\n  {otherwise}" if otherwise else name_it,
            )

    @property
    def size(self) -> Size:
        """Rows, users, items."""
        if not self.counted:
            users, items = (count_ids(self.frame[side]) for side in ("user", "item"))
            self.counted.append((self.frame.height, users, items))
        return self.counted[0]


def open_log(source: object) -> Log:
    """Read any table as a log, with ids of one type and comparable timestamps.

    In files without types, ids and timestamps become numbers if all of them are numbers.
    """
    if isinstance(source, Log):
        require_polars()
        return source
    table = read(source, "log")
    frame = table.frame.rename({"list": "user"}) if "list" in table.frame.columns else table.frame
    ledger = Ledger()
    if table.recognised:
        ledger.note("read", f"{table.source}, recognised as {table.recognised}")
    if table.left:
        ledger.note("columns left out", ", ".join(table.left))
    converted: dict[str, pl.Series] = {}

    def convert(name: str, convert_column: Callable[[pl.Series], pl.Series]) -> None:
        converted[name] = convert_column(frame[name])

    tasks = [
        partial(convert, role, partial(_convert_ids, table=table)) for role in ("user", "item")
    ]
    if "grade" in frame.columns:
        tasks.append(partial(convert, "grade", partial(_check_grades, table=table, ledger=ledger)))
    if "timestamp" in frame.columns:
        title = f"log ({table.source})"
        tasks.append(partial(convert, "timestamp", partial(convert_times, title=title)))
    run_tasks(tasks, frame.height > _MANY_ROWS)
    if "timestamp" in converted:
        ledger.note("timestamps", describe_times(converted["timestamp"]))
    columns = [
        converted[name] for name in ("user", "item", "grade", "timestamp") if name in converted
    ]
    frame = frame.with_columns(columns)
    rows = frame.with_row_index(ROW).select(*frame.columns, ROW)
    return Log(rows, table.source, ledger, table.text)


def _convert_ids(ids: pl.Series, table: Table) -> pl.Series:
    """Return ids of one type; text from a file without types becomes integers if all of it is."""
    if ids.dtype == pl.Object:
        kinds = sorted({type(value).__name__ for value in ids.to_list()})
        raise BadIds(
            f"log ({table.source}): the {ids.name} ids are Python objects ({', '.join(kinds)};"
            f" first: {ids[0]!r}).",
            "integers, text, floats or dates, all of one type.",
            "convert them to text: [str(id) for id in ids].",
        )
    if not table.text or ids.dtype != pl.String:
        return ids
    numbers = whole_numbers(ids)
    return ids if numbers is None else numbers.alias(ids.name)


def _check_grades(grades: pl.Series, table: Table, ledger: Ledger) -> pl.Series:
    """Return the grades and count negative ones; in a column of counts they are an error."""
    below = grades < 0
    count = int(below.sum())
    if count:
        name = table.columns.get("grade", "")
        if normal(name) in COUNTS:
            require_counts(grades, name, f"log ({table.source})")
        first = int(below.arg_max() or 0)
        example = f"row {first + 1}, {grades[first]:g}"
        ledger.count(
            "negative_grades", count, "grades are negative", len(grades), example, "notice"
        )
    return grades


def choose_rows(log: Log, mask: Mask) -> Log:
    """Return the rows that a mask marks, in the order of the log."""
    return select_parts(log, mask)[0]


def select_parts(log: Log, *masks: Mask) -> list[Log]:
    """Return the rows that each mask marks, in the order of the log.

    If it costs little, users and items are counted on the way.
    """
    frames, distinct = take_rows(log.frame, masks, ("user", "item"))
    logs = [log.with_frame(frame) for frame in frames]
    if "user" in distinct and "item" in distinct:
        for part, users, items in zip(
            [*logs, log], distinct["user"], distinct["item"], strict=True
        ):
            part.counted[:] = [(part.frame.height, users, items)]
    return logs


# selecting rows by masks


class TakenRows(NamedTuple):
    """The rows of each mask, and the numbers of distinct ids per mask and in the whole frame.

    Ids are counted only in integer columns whose values do not exceed the number of rows by much.
    """

    frames: list[pl.DataFrame]
    distinct: Mapping[str, list[int]]


def take_rows(frame: pl.DataFrame, masks: Sequence[Mask], counted: Sequence[str] = ()) -> TakenRows:
    """Return the rows that each mask marks, in the order of the frame."""
    if not (frame.height and should_compile(frame.height)):
        return TakenRows([frame.filter(pl.Series(mask)) for mask in masks], {})
    if max(frame.n_chunks("all")) * _SMALL_PIECE > frame.height:
        frame = frame.rechunk()
    columns = [
        _Column(values, values.name in counted and values.dtype.is_integer())
        for values in frame
        if is_plain_numeric(values)
    ]
    if columns:
        _copy_columns(
            columns, [freeze(flags_of(mask).view(np.uint8)) for mask in masks], frame.height
        )
    others = frame.drop(column.values.name for column in columns)
    other_columns = [
        others.filter(pl.Series(mask)) if others.width else pl.DataFrame() for mask in masks
    ]
    parts = [
        pl.DataFrame([*rows, *(column.copy_rows(number) for column in columns)]).select(
            frame.columns
        )
        for number, rows in enumerate(other_columns)
    ]
    return TakenRows(
        parts, {column.values.name: column.distinct() for column in columns if column.is_counted()}
    )


@dataclass(slots=True)
class _Column:
    """A column that is being copied, as unsigned numbers of the same width."""

    values: pl.Series
    counted: bool
    blocks: list[NDArray[Any]] = field(default_factory=list)
    copies: list[NDArray[Any]] = field(default_factory=list)
    occurs: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    """which ids occur, for each mask and for the rows that no mask marks"""
    highest: list[int] = field(default_factory=list)
    """the highest id of each block"""

    def is_counted(self) -> bool:
        """Whether the ids were counted and none was too high for the table."""
        return self.counted and max(self.highest, default=0) < self.occurs.shape[1]

    def distinct(self) -> list[int]:
        """Return the number of distinct ids for each mask, then for all rows."""
        occurs = self.occurs[:, : max(self.highest, default=0) + 1]
        return [*(int(np.count_nonzero(ids)) for ids in occurs[:-1]), int(occurs.any(axis=0).sum())]

    def copy_rows(self, number: int) -> pl.Series:
        """Return the rows of a mask."""
        name, dtype = self.values.name, self.values.dtype
        return pl.Series(name, self.copies[number].view(kind(self.values))).cast(dtype)


def _copy_columns(columns: Sequence[_Column], flags: list[NDArray[np.uint8]], rows: int) -> None:
    """Fill the copies of all columns, block by block, and count ids.

    Ids in rows that no mask marks are counted too.
    """
    cuts, column_blocks = blocks(*(column.values for column in columns))
    unmarked = ~reduce(np.logical_or, (mask.view(bool) for mask in flags))
    masks = [*flags, freeze(unmarked.view(np.uint8))]
    ends = [np.cumsum([0, *(np.count_nonzero(f[a:b]) for a, b in pairwise(cuts))]) for f in masks]
    for column, pieces in zip(columns, column_blocks, strict=True):
        column.blocks = [piece.view(f"u{piece.itemsize}") for piece in pieces]
        column.copies = [np.empty(last[-1], column.blocks[0].dtype) for last in ends[:-1]]
        column.occurs = np.zeros((len(masks), rows + _SPARE if column.counted else 0), np.uint8)
        column.highest = [0] * (len(cuts) - 1)
    pick, mark = kernel(_pick_values), kernel(_mark_occurring)

    def copy_block(column: _Column, block: int, number: int, marked: NDArray[Any]) -> int:
        values, sparse = column.blocks[block], marked.dtype != np.uint8
        if number == len(flags):  # only counted; if not sparse, together with all other rows
            kept_values = values.take(marked) if sparse else values
        else:
            kept_values = column.copies[number][ends[number][block] : ends[number][block + 1]]
            values.take(marked, out=kept_values, mode="clip") if sparse else pick(
                values, marked, kept_values
            )
        return int(mark(freeze(kept_values), column.occurs[number])) if column.counted else 0

    def copy_blocks(first: int, last: int) -> None:
        for block in range(first, last):
            marked = [_compact_flags(mask[cuts[block] : cuts[block + 1]]) for mask in masks]
            for column in columns:
                numbered = list(enumerate(marked))[: len(flags) + column.counted]
                column.highest[block] = max(copy_block(column, block, *mask) for mask in numbered)

    in_blocks(copy_blocks, len(cuts) - 1, 1)


def _compact_flags(flags: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the positions of the set flags if there are few, otherwise the flags."""
    sparse = np.count_nonzero(flags) * _SPARSE < len(flags)
    return np.flatnonzero(flags.view(bool)) if sparse else flags


def _pick_values(values, flags, out):  # type: ignore[no-untyped-def]
    """Copy the marked values in order, without a branch that the processor could mispredict."""
    row = position = 0
    while position < out.shape[0]:
        out[position] = values[row]
        position += flags[row]
        row += 1


def _mark_occurring(values, occurs):  # type: ignore[no-untyped-def]
    """Mark which numbers occur, unless one is too high for the table; return the highest.

    Threads share the table. A number that is already marked is not written again, so threads do
    not wait for each other's writes.
    """
    highest = np.uint64(0)
    for row in range(values.shape[0]):
        highest = max(highest, np.uint64(values[row]))
    if highest < np.uint64(occurs.shape[0]):
        for row in range(values.shape[0]):
            if not occurs[values[row]]:
                occurs[values[row]] = 1
    return highest
