"""Evaluate tables that are larger than memory: cut them into parts, and add up the states of these.

All rows of a list, or of a user, belong to the same part. If the predictions are sorted by list, a
part is a range of their rows, which are read from their file. Otherwise their rows are written to
temporary files, by a hash of their key. A part is then evaluated like any batch. What concerns all
lists, such as the known items, is handed to each part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Evaluation
from rectitude.arrays import Integers
from rectitude.data.ids import kind_of
from rectitude.data.read import TableReader
from rectitude.data.table import Table
from rectitude.errors import RectitudeError
from rectitude.evaluation.evaluate import columns_for, parse_slices
from rectitude.evaluation.inputs import RawInputs
from rectitude.evaluation.parts import (
    ROW_BYTES,
    PartState,
    Side,
    evaluate_part,
    find_roles,
    finish,
    join_ids,
    open_sides,
    read_whole,
)
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.scratch import Scratch, open_scratch


@contextmanager
def cut_tables(given: RawInputs, limit: int, slices: object) -> Iterator[Partitions | None]:
    """Cut the tables into parts that fit into the limit; yield None if all of them fit together.

    Temporary files are removed at the end.
    """
    tables = open_sides(given, columns_for(parse_slices(slices)))
    rows = sum(table.rows or 0 for table in tables.values())
    if tables["predictions"].rows is None or rows * ROW_BYTES <= limit:
        yield None
        return
    with open_scratch() as scratch:
        yield Partitions(given, tables, scratch, max(limit // (2 * ROW_BYTES), 1), rows)


@dataclass(frozen=True, slots=True)
class Hashes:
    """Parts by a hash of the id, the same for 7 and "7" if some tables are untyped text."""

    parts: int
    as_text: bool

    def number(self, ids: pl.Series) -> Integers:
        """Return the number of the part of each id."""
        alike = ids.cast(pl.String if self.as_text else pl.Int64)
        return (alike.hash() % self.parts).to_numpy().astype(np.int64)


@dataclass(frozen=True, slots=True)
class Ranges:
    """Parts by ranges of ids; each is a range of rows of the sorted predictions."""

    edges: pl.Series
    """the first id of every part but the first"""
    rows: tuple[tuple[int, int], ...]
    """the rows of each part, from one number to before another"""

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return len(self.rows)

    def number(self, ids: pl.Series) -> Integers:
        """Return the number of the part of each id."""
        return self.edges.search_sorted(ids, side="right").to_numpy().astype(np.int64)


@dataclass
class Partitions:
    """Tables that are cut into parts, to be evaluated one after another."""

    given: RawInputs
    tables: Mapping[Side, TableReader]
    scratch: Scratch
    target: int
    """the number of rows of a part, over all tables"""
    rows: int

    def evaluate_plans(self, plans: Sequence[Plan]) -> list[Evaluation | RectitudeError]:
        """Return the evaluation under each plan, or why there is none."""
        found: list[Evaluation | RectitudeError] = []
        for plan in plans:
            try:
                found.append(self.evaluate(plan))
            except RectitudeError as error:
                found.append(error)
        return found

    def evaluate(self, plan: Plan) -> Evaluation:
        """Return the evaluation of all parts."""
        rows: dict[str, int | None] = {side: table.rows for side, table in self.tables.items()}
        whole = read_whole(plan, self.given, self.roles, rows)
        total: PartState | None = None
        known = None if "train" in whole or "items" in whole else self.known_items
        progress = self.given.progress
        for part in range(self.cut.parts):
            tables = {**self._load(part), **whole}
            if any(tables[side].frame.height for side in self.roles):
                state = evaluate_part(plan, replace(self.given, ready=tables), known)
                total = state if total is None else total + state
            if callable(progress):
                progress(part + 1, self.cut.parts)
        return finish(plan, self.given, total, whole, self)

    def head(self, side: Side, rows: int) -> Table:
        """Return the first rows of a table."""
        return next(self.tables[side].each(rows))

    def distinct(self, side: Side, role: str) -> pl.Series:
        """Return the ids of a column, each once."""
        pieces = self.tables[side].ids(role, self.target)
        return join_ids([ids.unique() for ids in pieces]).unique()

    @cached_property
    def roles(self) -> Mapping[Side, str]:
        """The column of each table that decides the part of a row."""
        return find_roles(self.tables, self.given.list_key)

    @cached_property
    def cut(self) -> Hashes | Ranges:
        """How rows are assigned to parts: by ranges of rows if the predictions are sorted."""
        kinds = {side: self._first_id(side) for side in self.roles}
        has_text = any(self.tables[side].source.text for side in self.roles)
        types = {kind_of(ids) for ids in kinds.values() if ids.dtype != pl.Null}
        parts = self.tables["predictions"].source.parts
        by_number = parts is not None and parts.span is not None
        if by_number and not has_text and len(types) == 1:
            ranges = self._find_ranges()
            if ranges is not None:
                return ranges
        whole = {ids.dtype.is_integer() and ids.dtype != pl.UInt64 for ids in kinds.values()}
        count = max(-(-self.rows // self.target), 2)
        return Hashes(count, as_text=has_text or whole != {True})

    def _first_id(self, side: Side) -> pl.Series:
        ids = next(self.tables[side].ids(self.roles[side], 1), pl.Series(dtype=pl.Null))
        return ids.explode() if ids.dtype == pl.List else ids

    def _find_ranges(self) -> Ranges | None:
        """Return ranges of rows that end where a list ends; None if the predictions are not
        sorted."""
        share = self.tables["predictions"].rows or 0
        size = max(self.target * share // max(self.rows, 1), 1)
        cuts, edges = [0], []
        first, goal, last = 0, size, None
        for keys in self.tables["predictions"].ids(self.roles["predictions"], 4 * self.target):
            if not keys.is_sorted() or (last is not None and len(keys) and keys[0] < last):
                return None
            while goal < first + len(keys):
                end = int(keys.search_sorted(keys[goal - first], side="right"))
                if end == len(keys):
                    break
                cuts.append(first + end)
                edges.append(keys[end])
                goal = first + end + size
            first += len(keys)
            goal, last = max(goal, first) if goal < first else goal, keys[-1] if len(keys) else last
        dtype = None if last is None else keys.dtype
        return Ranges(pl.Series("id", edges, dtype), tuple(pairwise([*cuts, first])))

    @cached_property
    def _templates(self) -> dict[Side, Table]:
        """The tables without rows, after all rows were written to temporary files."""
        templates: dict[Side, Table] = {}
        for side in self.roles:
            if side != "predictions" or not isinstance(self.cut, Ranges):
                templates[side] = self._write(side)
        return templates

    def _write(self, side: Side) -> Table:
        """Write the rows of a table to temporary files by part; return it without rows."""
        template: Table | None = None
        role = self.roles[side]
        for number, table in enumerate(self.tables[side].each(self.target)):
            frames: dict[str, pl.DataFrame] = {side: table.frame}
            if table.handed is not None:
                frames[f"{side}.handed"] = pl.DataFrame({role: table.handed})
            for name, frame in frames.items():
                self._write_piece(name, number, frame, role)
            if side == "train":
                self._collect_items(table.frame["item"])
            template = _join_templates(template, replace(table, frame=table.frame.clear()))
        if template is None:  # a file without rows
            template = self.tables[side].build(self.tables[side].source)
        return template

    def _write_piece(self, name: str, number: int, frame: pl.DataFrame, role: str) -> None:
        part = pl.Series("part of a table", self.cut.number(frame[role]))
        by_part = frame.with_columns(part).partition_by(part.name, as_dict=True, include_key=False)
        for (which,), rows in by_part.items():
            self.scratch.write(name, int(which), number, rows)

    def _collect_items(self, items: pl.Series) -> None:
        distinct = items.unique()
        self._items = (
            distinct if self._items is None else join_ids([self._items, distinct]).unique()
        )

    _items: pl.Series | None = None

    @property
    def known_items(self) -> pl.Series | None:
        """All items of the training data, each once."""
        _ = self._templates
        return self._items

    def _load(self, part: int) -> dict[str, Table]:
        """Return the tables of a part."""
        tables: dict[str, Table] = {}
        for side, template in self._templates.items():
            frame = _match_types(self.scratch.read(side, part), template.frame)
            handed = template.handed
            if handed is not None:
                frames = self.scratch.read(f"{side}.handed", part)
                empty = pl.DataFrame({self.roles[side]: handed.clear()})
                handed = _match_types(frames, empty)[self.roles[side]]
            tables[side] = replace(template, frame=frame, handed=handed)
        if isinstance(self.cut, Ranges):
            readable = self.tables["predictions"]
            parts = readable.source.parts
            if parts is None or parts.span is None:
                raise ValueError("rows of this table cannot be found by number")
            tables["predictions"] = readable.build(parts.span(*self.cut.rows[part]))
        return tables


def _join_templates(one: Table | None, other: Table) -> Table:
    """Return a table without rows, in types that fit both."""
    if one is None:
        return other
    frame = pl.concat([one.frame, other.frame], how="vertical_relaxed")
    return replace(one, frame=frame)


def _match_types(frames: Sequence[pl.DataFrame], template: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of all frames in the types of a template."""
    typed = [frame.cast(dict(template.schema)) for frame in frames]  # type: ignore[arg-type]
    return pl.concat(typed) if typed else template
