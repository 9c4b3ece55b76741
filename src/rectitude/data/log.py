"""`Log`: interactions as they came, one row each, for what happens before predictions exist.

Its rows are taken by masks: copied on several threads, users and items counted on the way. Copying
is bound by memory. What Polars writes goes into pages that the system maps one by one, and NumPy
asks for large ones; a block of a column stays in the processor's cache until it is copied for every
mask and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from rectitude.data.times import in_words, times
from rectitude.data.values import Mask, blocks, flags_of, kind, plain, require_counts
from rectitude.errors import BadIds, BadTable
from rectitude.kernels import frozen, kernel, repay
from rectitude.parallel import in_blocks, together

ROW = "row"
"""The column that holds the number of each row in the source, from 0."""
Size = tuple[int, int, int]
"""Rows, users, items."""
_MANY_ROWS = 100_000
_FEW = 1 << 12
"""Frames in pieces of so few rows are made whole first."""
_SPARSE = 4
"""With so many rows for one that is marked, it is faster to go from one to the next."""
_SPARE = 1024
"""Ids are counted in a table of all numbers up to that of rows and so many more."""


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
            users, items = (count_ids(self.frame[side]) for side in ("user", "item"))
            self.counted.append((self.frame.height, users, items))
        return self.counted[0]


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


# rows that masks mark


class TakenRows(NamedTuple):
    """The rows of each mask, and how many different ids there are among them, then in the whole;
    only of columns of whole numbers that are not much above the number of rows."""

    frames: list[pl.DataFrame]
    distinct: Mapping[str, list[int]]


def taken(frame: pl.DataFrame, masks: Sequence[Mask], counted: Sequence[str] = ()) -> TakenRows:
    """The rows that each mask marks, in the order of the frame."""
    if not (frame.height and repay(frame.height)):
        return TakenRows([frame.filter(pl.Series(mask)) for mask in masks], {})
    if max(frame.n_chunks("all")) * _FEW > frame.height:
        frame = frame.rechunk()
    columns = [
        _Column(values, values.name in counted and values.dtype.is_integer())
        for values in frame
        if plain(values)
    ]
    if columns:
        _copy(columns, [frozen(flags_of(mask).view(np.uint8)) for mask in masks], frame.height)
    others = frame.drop(column.values.name for column in columns)
    left = [others.filter(pl.Series(mask)) if others.width else pl.DataFrame() for mask in masks]
    parts = [
        pl.DataFrame([*rows, *(column.copied(nth) for column in columns)]).select(frame.columns)
        for nth, rows in enumerate(left)
    ]
    return TakenRows(parts, {each.values.name: each.distinct() for each in columns if each.known()})


@dataclass(slots=True)
class _Column:
    """A column that is being copied, as unsigned numbers of its width."""

    values: pl.Series
    counted: bool
    blocks: list[NDArray[Any]] = field(default_factory=list)
    copies: list[NDArray[Any]] = field(default_factory=list)
    met: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    """for each mask and for rows of none, which ids were met"""
    highest: list[int] = field(default_factory=list)
    """of each block"""

    def known(self) -> bool:
        """Whether the ids were counted, and none was too high for that."""
        return self.counted and max(self.highest, default=0) < self.met.shape[1]

    def distinct(self) -> list[int]:
        """How many ids the rows of each mask have, and all rows."""
        met = self.met[:, : max(self.highest, default=0) + 1]
        return [*(int(np.count_nonzero(ids)) for ids in met[:-1]), int(met.any(axis=0).sum())]

    def copied(self, nth: int) -> pl.Series:
        """The rows of a mask."""
        name, dtype = self.values.name, self.values.dtype
        return pl.Series(name, self.copies[nth].view(kind(self.values))).cast(dtype)


def _copy(columns: Sequence[_Column], flags: list[NDArray[np.uint8]], rows: int) -> None:
    """Fill the copies of all columns, block by block, and count ids, also those of rows that no
    mask marks."""
    cuts, found = blocks(*(each.values for each in columns))
    rest = ~reduce(np.logical_or, (mask.view(bool) for mask in flags))
    every = [*flags, frozen(rest.view(np.uint8))]
    ends = [np.cumsum([0, *(np.count_nonzero(f[a:b]) for a, b in pairwise(cuts))]) for f in every]
    for each, parts in zip(columns, found, strict=True):
        each.blocks = [part.view(f"u{part.itemsize}") for part in parts]
        each.copies = [np.empty(last[-1], each.blocks[0].dtype) for last in ends[:-1]]
        each.met = np.zeros((len(every), rows + _SPARE if each.counted else 0), np.uint8)
        each.highest = [0] * (len(cuts) - 1)
    pick, meet = kernel(_pick), kernel(_meet)

    def one(each: _Column, block: int, nth: int, marked: NDArray[Any]) -> int:
        values, few = each.blocks[block], marked.dtype != np.uint8
        if nth == len(flags):  # these are counted only, with the others if they are not few
            kept = values.take(marked) if few else values
        else:
            kept = each.copies[nth][ends[nth][block] : ends[nth][block + 1]]
            values.take(marked, out=kept, mode="clip") if few else pick(values, marked, kept)
        return int(meet(frozen(kept), each.met[nth])) if each.counted else 0

    def work(first: int, last: int) -> None:
        for block in range(first, last):
            marked = [_few(mask[cuts[block] : cuts[block + 1]]) for mask in every]
            for each in columns:
                masks = list(enumerate(marked))[: len(flags) + each.counted]
                each.highest[block] = max(one(each, block, *mask) for mask in masks)

    in_blocks(work, len(cuts) - 1, 1)


def _few(flags: NDArray[np.uint8]) -> NDArray[Any]:
    """The places of flags if few are set, or else the flags."""
    few = np.count_nonzero(flags) * _SPARSE < len(flags)
    return np.flatnonzero(flags.view(bool)) if few else flags


def _pick(values, flags, out):  # type: ignore[no-untyped-def]
    """The marked values, one after the other; without a branch that could be foreseen wrongly."""
    row = place = 0
    while place < out.shape[0]:
        out[place] = values[row]
        place += flags[row]
        row += 1


def _meet(values, met):  # type: ignore[no-untyped-def]
    """Note which numbers occur unless one is too high for the table; the highest. Threads share the
    table: a number is noted once, so that they do not wait for each other's writing."""
    highest = np.uint64(0)
    for row in range(values.shape[0]):
        highest = max(highest, np.uint64(values[row]))
    if highest < np.uint64(met.shape[0]):
        for row in range(values.shape[0]):
            if not met[values[row]]:
                met[values[row]] = 1
    return highest
