"""Evaluate tables that are larger than memory: cut them into parts, and add up the states of these.

All rows of a list, or of a user, belong to the same part. If the predictions are sorted by list, a
part is a range of their rows, which are read from their file. Otherwise their rows are written to
temporary files, by a hash of their key. A part is then evaluated like any batch. What concerns all
lists, such as the known items, is handed to each part. A run that was killed goes on with the
temporary files and the states of parts that it had finished.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Evaluation
from rectitude.arrays import Integers
from rectitude.data.ids import deciding_rows, kind_of
from rectitude.data.read import TableReader
from rectitude.data.table import Inputs, Table
from rectitude.errors import BadArgument, RectitudeError
from rectitude.evaluation.evaluate import columns_for, parse_slices
from rectitude.evaluation.firstpass import require_few_values, settle_slices
from rectitude.evaluation.inputs import RawInputs
from rectitude.evaluation.parts import (
    ROW_BYTES,
    KnownItems,
    PartState,
    Side,
    count_rows,
    evaluate_part,
    find_roles,
    finish,
    join_ids,
    open_part,
    open_sides,
    read_whole,
    users_of,
)
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.scratch import Scratch, open_scratch
from rectitude.evaluation.state import KeptValues
from rectitude.evaluation.unchanged import identify_inputs, identify_plan
from rectitude.evaluation.written import tabulate_kept, write_tables
from rectitude.judge.align import load_kernels
from rectitude.memory import in_units
from rectitude.parallel import load_ahead

_KNOWN = "train.items"
"""the temporary table with the items of the training data"""
MOST_PARTS = 256
"""the most parts of an evaluation: every piece of a table may have a file for each of them"""


@contextmanager
def cut_tables(given: RawInputs, limit: int, slices: object) -> Iterator[Partitions | None]:
    """Cut the tables into parts that fit into the limit; yield None if all of them fit together.

    Temporary files are removed at the end.
    """
    keep = columns_for(parse_slices(slices))
    tables = open_sides(given, keep)
    rows = sum(table.rows or 0 for table in tables.values())
    if tables["predictions"].rows is None or rows * ROW_BYTES <= limit or not _can_cut(given):
        yield None
        return
    count = count_parts(rows, limit)
    with open_scratch(identify_inputs(given, limit, keep)) as scratch:
        yield Partitions(given, tables, scratch, rows, count)


def _can_cut(given: RawInputs) -> bool:
    """Return whether the users that are named beside the predictions can be cut as well: nothing
    tells which user the key of an empty list belongs to, nor the part of an object."""
    users = users_of(given)
    return users is None or (given.list_key == "user" and users.dtype != pl.Object)


_PART_BYTES = 3 * ROW_BYTES
"""what a row of a part takes, and one of the next part, which is read meanwhile"""


def count_parts(rows: int, limit: int) -> int:
    """Return how many parts the rows of all tables are cut into. Raise an error if a limit is so
    low that there would be too many."""
    parts = max(-(-rows * _PART_BYTES // limit), 2)
    if parts <= MOST_PARTS:
        return parts
    least = in_units(-(-rows // MOST_PARTS) * _PART_BYTES, up=True)
    raise BadArgument(
        f"with {in_units(limit)} of memory, about {rows:,} rows would be cut into {parts:,} parts.",
        f"at most {MOST_PARTS} parts, for which {least} are enough.",
        f"allow more memory: memory={least!r} (command line: --memory {least}).",
    )


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
    rows: int
    """the number of rows of all tables"""
    parts: int
    """how many parts there are, or nearly so if parts are ranges of rows"""
    _progress: _Progress = field(init=False, repr=False)
    _files: Counter[str] = field(default_factory=Counter, init=False, repr=False)
    """how many temporary files were written to each folder"""

    @property
    def target(self) -> int:
        """The number of rows of a part, over all tables."""
        return max(-(-self.rows // self.parts), 1)

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
        self._progress = _Progress.of(self)
        known = None if "train" in whole else self._known
        plan = self._settle_slices(plan, whole, known)
        total: PartState | None = None
        _ = self._samples, self._users_by_part  # before threads need them
        load_kernels(self.rows)
        with closing(load_ahead(self._find_part(plan), range(self.cut.parts))) as parts:
            for part in parts:
                state = self._evaluate_part(plan, part, whole, known)
                if state is not None:
                    total = state if total is None else total + state
                    require_few_values(plan.slicings, total.state.slices)
        evaluation = finish(plan, self.given, total, whole, self)
        if plan.per_list is not None:
            tables = self.scratch.scan_values(identify_plan(plan), self.cut.parts)
            write_tables(tables, evaluation, plan.per_list)
        self._progress.finish()
        return evaluation

    def _settle_slices(
        self, plan: Plan, whole: Mapping[str, Table], known: KnownItems | None
    ) -> Plan:
        """Return the plan with the edges of slices that depend on all parts."""
        if not plan.slicings:
            return plan
        heads: dict[str, Table] = {side: self.head(side, 1) for side in self.roles}
        inputs = {**self.given.inputs, "candidates": None}
        given = replace(self.given, inputs=inputs, samples=self._samples)

        def open_tables(tables: Mapping[str, Table]) -> Inputs:
            return open_part(plan, replace(given, ready={**heads, **tables, **whole}), known)

        def load(sides: Sequence[str]) -> Iterator[Inputs]:
            for part in range(self.cut.parts):
                yield open_tables(self._load(part, sides))

        return settle_slices(plan, open_tables({}), load, whole)

    def _find_part(self, plan: Plan) -> Callable[[int], _Part]:
        """Return a function that returns the rows of a part, or its state if a killed run left
        it."""
        name = identify_plan(plan)

        def find(number: int) -> _Part:
            left = self.scratch.find_state(name, number)
            if isinstance(left, _Finished):
                return _Part(number, {}, left)
            return _Part(number, self._load(number), None)

        return find

    def _evaluate_part(
        self, plan: Plan, part: _Part, whole: Mapping[str, Table], known: KnownItems | None
    ) -> PartState | None:
        """Return the state of a part, which a killed run may have left; None if it has no rows."""
        if part.left is not None:
            self._progress.add(part.left.rows)
            return part.left.state
        tables, name = {**part.tables, **whole}, identify_plan(plan)
        rows = sum(tables[side].frame.height for side in self.roles)
        state = None
        if rows or part.number in self._users_by_part:
            given = replace(self.given, ready=tables, samples=self._samples)
            with self._name_part():
                state = evaluate_part(plan, given, known)
        if state is not None and plan.per_list is not None:
            state = self._put_values_aside(plan, name, part.number, state)
        self.scratch.keep_state(name, part.number, _Finished(state, rows))
        self._progress.add(rows)
        return state

    def _put_values_aside(self, plan: Plan, name: str, part: int, state: PartState) -> PartState:
        """Write the values per list of a part to a temporary file; return its state without
        them."""
        asked = [str(asked.name) for asked in plan.asked]
        values = tabulate_kept(state.state.kept, asked)
        if values is not None:
            self.scratch.write_values(name, part, values)
        return replace(state, state=replace(state.state, kept=KeptValues()))

    @contextmanager
    def _name_part(self) -> Iterator[None]:
        """Say in an error that its numbers are those of a part."""
        try:
            yield
        except RectitudeError as error:
            about = f"rows and counts are those of one of {self.cut.parts} parts of the tables."
            advice = f"{error.advice}\n  {about}" if error.advice else about
            raise type(error)(error.found, error.expected, advice) from error

    def head(self, side: Side, rows: int) -> Table:
        """Return the first rows of a table."""
        reader = self.tables[side]
        return next(reader.each(rows), None) or reader.build(reader.source)

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
        kinds = [self._first_id(side) for side in self.roles]
        kinds += [] if self._users is None else [self._users]
        has_text = any(self.tables[side].source.text for side in self.roles)
        types = {kind_of(ids) for ids in kinds if ids.dtype != pl.Null}
        parts = self.tables["predictions"].source.parts
        by_number = parts is not None and parts.span is not None
        if by_number and not has_text and len(types) == 1:
            ranges = self._find_ranges()
            if ranges is not None:
                return ranges
        whole = {ids.dtype.is_integer() and ids.dtype != pl.UInt64 for ids in kinds}
        return Hashes(self.parts, as_text=has_text or whole != {True})

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
        """The tables with a few rows that say of what kind their ids are, after all rows were
        written to temporary files."""
        templates: dict[Side, Table] = {}
        for side in self.roles:
            if side != "predictions" or not isinstance(self.cut, Ranges):
                templates[side] = self._write(side)
        return templates

    def _write(self, side: Side) -> Table:
        """Write the rows of a table to temporary files by part; return it with a few rows that say
        of what kind its ids are. Pieces that are complete are not read again, except for the first
        one, which describes the table."""
        template: Table | None = None
        reader = self.tables[side]
        for number, piece in enumerate(reader.parts(self.target)):
            found = self.scratch.find_piece(side, number)
            table = reader.build(piece) if found is None or template is None else template
            sample, folders = found or self._write_piece(side, number, table)
            self._files.update(folders)
            template = _join_templates(template, replace(table, frame=sample))
        if template is None:  # a file without rows
            template = reader.build(reader.source)
        return template

    def _write_piece(
        self, side: Side, number: int, table: Table
    ) -> tuple[pl.DataFrame, Sequence[str]]:
        """Write the rows of a piece of a table by part, and then note that it is complete. Return a
        few of its rows, and the folders that its files are in."""
        written = []
        role = self.roles[side]
        frames: dict[str, pl.DataFrame] = {side: table.frame}
        if table.handed is not None:
            frames[f"{side}.handed"] = pl.DataFrame({role: table.handed})
        for name, frame in frames.items():
            part = pl.Series("part of a table", self.cut.number(frame[role]))
            marked = frame.with_columns(part)
            by_part = marked.partition_by(part.name, as_dict=True, include_key=False)
            for (which,), rows in by_part.items():
                written.append(self.scratch.write(name, int(which), number, rows))
        if side == "train":
            counts = count_rows(table.frame["item"])
            written.append(self.scratch.write(_KNOWN, 0, number, counts))
        sample = _sample(table)
        folders = self.scratch.finish_piece(side, number, sample, written)
        self._progress.add(table.frame.height)
        return sample, folders

    @cached_property
    def _known(self) -> KnownItems | None:
        """All items of the training data, each once, and how many rows have it."""
        _ = self._templates
        return KnownItems.of(self._read(_KNOWN, 0))

    @cached_property
    def _users(self) -> pl.Series | None:
        """The users that are named beside the predictions."""
        return users_of(self.given)

    @cached_property
    def _users_by_part(self) -> dict[int, pl.Series]:
        """The users that are named beside the predictions, by the number of their part."""
        if self._users is None:
            return {}
        part = pl.Series("part", self.cut.number(self._users))
        frame = pl.DataFrame([self._users, part])
        by_part = frame.partition_by("part", as_dict=True, maintain_order=True)
        return {int(number): rows["list"] for (number,), rows in by_part.items()}

    def _read(self, table: str, part: int) -> list[pl.DataFrame]:
        """Return the rows of a table that belong to a part, from as many files as were written."""
        return self.scratch.read(table, part, self._files[self.scratch.folder_of(table, part)])

    @cached_property
    def _samples(self) -> dict[str, Table]:
        """Rows of every table that is cut, which say of what kind its ids are."""
        found = {side: self._templates.get(side) or self.head(side, 1) for side in self.roles}
        tables: dict[str, Table] = {str(side): table for side, table in found.items()}
        if self._users is not None:
            users = self._users[deciding_rows(self._users)].to_frame()
            tables["handed"] = replace(found["predictions"], frame=users)
        return tables

    def _load(self, part: int, sides: Collection[str] | None = None) -> dict[str, Table]:
        """Return the tables of a part, or some of them."""
        tables: dict[str, Table] = {}
        for side, template in self._templates.items():
            if sides is not None and side not in sides:
                continue
            frame = _match_types(self._read(side, part), template.frame.clear())
            handed = template.handed
            if handed is not None:
                frames = self._read(f"{side}.handed", part)
                empty = pl.DataFrame({self.roles[side]: handed.clear()})
                handed = _match_types(frames, empty)[self.roles[side]]
            tables[side] = replace(template, frame=frame, handed=handed)
        if isinstance(self.cut, Ranges) and (sides is None or "predictions" in sides):
            readable = self.tables["predictions"]
            parts = readable.source.parts
            if parts is None or parts.span is None:
                raise ValueError("rows of this table cannot be found by number")
            tables["predictions"] = readable.build(parts.span(*self.cut.rows[part]))
        if self._users is not None and "predictions" in tables:
            users = self._users_by_part.get(part, self._users.clear())
            tables["predictions"] = replace(tables["predictions"], handed=users)
        return tables


@dataclass(frozen=True, slots=True)
class _Finished:
    """What is kept of a part that was evaluated."""

    state: PartState | None
    rows: int


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of a part, or what is left of it."""

    number: int
    tables: Mapping[str, Table]
    left: _Finished | None


@dataclass
class _Progress:
    """Reports the rows that were moved to temporary files and evaluated, of all that will be."""

    report: object
    total: int
    done: int = 0

    @staticmethod
    def of(partitions: Partitions) -> _Progress:
        """Return the progress of an evaluation that has not begun."""
        moved = partitions.rows
        if isinstance(partitions.cut, Ranges):
            moved -= partitions.tables["predictions"].rows or 0
        return _Progress(partitions.given.progress, moved + partitions.rows)

    def add(self, rows: int) -> None:
        """Report further rows; how many rows a text has is an estimate."""
        self.done = min(self.done + rows, self.total)
        if callable(self.report):
            self.report(self.done, self.total)

    def finish(self) -> None:
        """Report the end."""
        self.add(self.total)


def _sample(table: Table) -> pl.DataFrame:
    """Return the rows of a table that say of what kind its ids are."""
    ids = [table.frame[role] for role in ("list", "user", "item") if role in table.frame.columns]
    return table.frame[sorted({row for column in ids for row in deciding_rows(column)})]


def _join_templates(one: Table | None, other: Table) -> Table:
    """Return a table with the rows of both, in types that fit both."""
    if one is None:
        return other
    frame = pl.concat([one.frame, other.frame], how="vertical_relaxed")
    return replace(one, frame=frame)


def _match_types(frames: Sequence[pl.DataFrame], template: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of all frames in the types of a template."""
    typed = [frame.cast(dict(template.schema)) for frame in frames]  # type: ignore[arg-type]
    return pl.concat(typed) if typed else template
