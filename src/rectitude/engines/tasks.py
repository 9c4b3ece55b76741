"""What an engine does with its tables: hand a task to every part, and add up the states.

An engine only moves rows. A task builds the tables of a part from its rows, and evaluates them as
`evaluation.parts` does on one machine, so that all values have the same bits. Several plans, one
for each convention, are evaluated in one pass.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeAlias

import polars as pl

from rectitude.aggregate.evaluation import Evaluation
from rectitude.candidate_sets.value import load_stored
from rectitude.data.frames import open_frame
from rectitude.data.read import TableReader
from rectitude.data.table import Inputs, Source, Table
from rectitude.engines.aside import open_folder, scan_values, write_values
from rectitude.engines.given import unwrap
from rectitude.errors import BadTable, RectitudeError
from rectitude.evaluation.firstpass import require_few_values, settle_slices
from rectitude.evaluation.inputs import RawInputs
from rectitude.evaluation.parts import (
    CutTables,
    KnownItems,
    PartState,
    Side,
    evaluate_part,
    find_roles,
    finish,
    open_part,
    read_whole,
)
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.state import KeptValues
from rectitude.evaluation.written import write_tables

HEAD = 1000
"""how many rows of each table are looked at before any are moved"""
Outcome: TypeAlias = "PartSum | RectitudeError"
Outcomes: TypeAlias = Sequence[Outcome]
"""what became of a part under each plan"""


@dataclass(frozen=True, slots=True)
class PartSum:
    """The state of one part, or of several, and the files with their values per list."""

    state: PartState
    files: tuple[Path, ...] = ()

    def __add__(self, other: PartSum) -> PartSum:
        return PartSum(self.state + other.state, self.files + other.files)


class MovedTables(CutTables, Protocol):
    """The tables of an engine, whose rows it moves to workers."""

    @property
    def given(self) -> RawInputs:
        """All inputs, as the engine holds them."""

    @property
    def users(self) -> pl.Series | None:
        """The users that are named beside the predictions; None if none are named."""

    @property
    def readers(self) -> Mapping[Side, TableReader]:
        """What is known of the columns of each table that is cut."""

    def counts(self, side: Side, role: str) -> Sequence[pl.DataFrame]:
        """Return the ids of a column as `item`, and how many `rows` have each, perhaps in several
        tables."""

    def run(self, task: PartTask, roles: Mapping[Side, str]) -> Iterable[Outcomes]:
        """Return the outcomes of a task for every part, by the column of each table that decides
        the part of a row."""


@dataclass(frozen=True, slots=True)
class PartTask:
    """What a worker needs to evaluate a part, besides its rows."""

    plans: Sequence[Plan]
    given: RawInputs
    readers: Mapping[Side, TableReader]
    heads: Mapping[Side, Table]
    """the first rows of each table that is cut"""
    whole: Mapping[str, Table]
    """the tables that every part needs whole"""
    known: KnownItems | None
    users: pl.Series | None = None
    """of what type the users are who are named beside the predictions; None if none are named"""
    folder: Path | None = None
    """where values per list are put aside; None if they are returned"""

    def columns(self, side: Side) -> list[str]:
        """Return the columns of a table that are read."""
        names, left = self.readers[side].source.names, self.heads[side].left
        return [name for name in names if name not in left]

    def empty(self, side: Side) -> pl.DataFrame:
        """Return the columns that are read, without any rows."""
        return self.readers[side].source.take({name: name for name in self.columns(side)})

    def evaluate(
        self, rows: Mapping[Side, pl.DataFrame], users: pl.Series | None = None
    ) -> Outcomes:
        """Return, for each plan, the state of the part with these rows, and with these users of
        whom some may have an empty list, or the error that they cause.

        A worker has one core; what it computes with is limited to that.
        """
        for setting in ("RECTITUDE_THREADS", "POLARS_MAX_THREADS"):
            os.environ.setdefault(setting, "1")
        try:
            tables = {side: self._build(side, frame) for side, frame in rows.items()}
        except RectitudeError as error:
            return [error] * len(self.plans)
        if self.users is not None:
            handed = self.users if users is None else users
            tables["predictions"] = replace(tables["predictions"], handed=handed)
        return [self._try(plan, tables) for plan in self.plans]

    def for_workers(self) -> PartTask:
        """Return the task without the rows that only the driver looks at, to be sent away."""
        heads = {side: replace(head, frame=pl.DataFrame()) for side, head in self.heads.items()}
        return replace(self, heads=heads)

    def try_heads(self) -> dict[int, RectitudeError]:
        """Evaluate the first rows of all tables, to find errors before any rows are moved. Return
        the error of each plan that cannot be evaluated, by its number."""
        outcomes = [self._try(plan, self.heads) for plan in self.plans]
        return {n: out for n, out in enumerate(outcomes) if isinstance(out, RectitudeError)}

    def _try(self, plan: Plan, tables: Mapping[Side, Table]) -> Outcome:
        ready: dict[str, Table] = {str(side): table for side, table in tables.items()}
        given = replace(self.given, ready={**ready, **self.whole})
        try:
            state = evaluate_part(plan, given, self.known)
        except RectitudeError as error:
            return error
        if self.folder is None:
            return PartSum(state)
        files = write_values(plan, state.state.kept, self.folder)
        return PartSum(replace(state, state=replace(state.state, kept=KeptValues())), files)

    def _build(self, side: Side, frame: pl.DataFrame) -> Table:
        """Return the rows of one side as a table; what all rows tell is known from its head."""
        head, part = self.heads[side], open_frame(frame)
        if part is None:
            raise ValueError("rows that are no frame")
        table = self.readers[side].build(part)
        return replace(table, left=head.left, unclear=head.unclear)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Tables whose first rows were looked at before."""

    tables: MovedTables
    heads: Mapping[Side, Table]

    def head(self, side: Side, rows: int) -> Table:
        head = self.heads[side]
        return replace(head, frame=head.frame.head(rows))

    def distinct(self, side: Side, role: str) -> pl.Series:
        return self.tables.distinct(side, role)


def evaluate_moved(plans: Sequence[Plan], tables: MovedTables) -> list[Evaluation | RectitudeError]:
    """Evaluate tables whose rows an engine moves to its workers, once for all plans. Return the
    evaluation under each plan, or why there is none."""
    given, readers = tables.given, tables.readers
    roles = find_roles(readers, given.list_key)
    heads: dict[Side, Table] = {side: tables.head(side, HEAD) for side in roles}
    _require_order(heads["predictions"], readers["predictions"])
    beyond = [plan for plan in plans if plan.metrics_beyond_ranks]
    whole = read_whole([*beyond, *plans][0], given, roles, {})
    sides = {side: readers[side] for side in roles}
    moved = _without_tables(given, {*roles, *whole})
    task = PartTask(plans, moved, sides, heads, whole, _count_known(plans, tables, roles, whole))
    task = replace(task, users=None if tables.users is None else tables.users.clear())
    failed, left = _settle(task, tables)
    states: dict[int, PartSum | RectitudeError | None] = {**failed}
    finishing = _Finishing(given, whole, _Seen(tables, heads))
    with open_folder(plans) as folder:
        if left:
            task = replace(task, plans=[*left.values()], folder=folder)
            outcomes = [*tables.run(task, roles)]
            sums = (add_states(of_plan) for of_plan in zip(*outcomes, strict=True))
            states |= dict.fromkeys(left) | dict(zip(left, sums, strict=False))
        if callable(given.progress):
            given.progress(1, 1)
        return [finishing.finish(plan, states[n]) for n, plan in enumerate(plans)]


def _count_known(
    plans: Sequence[Plan],
    tables: MovedTables,
    roles: Mapping[Side, str],
    whole: Mapping[str, Table],
) -> KnownItems | None:
    """Return the items of all training data, if parts have only some of it and need them."""
    needed = "items" not in whole or any(plan.slicings for plan in plans)
    if not needed or "train" not in roles or "train" in whole:
        return None
    return KnownItems.of(tables.counts("train", "item"))


def _settle(
    task: PartTask, tables: MovedTables
) -> tuple[dict[int, RectitudeError], dict[int, Plan]]:
    """Evaluate the first rows of all tables, to find errors before any rows are moved, and find
    the edges of slices. Return the error of each plan that cannot be evaluated, by its number, and
    all other plans."""
    failed, left = task.try_heads(), {}
    for number, plan in enumerate(task.plans):
        if number in failed:
            continue
        try:
            left[number] = _settle_slices(plan, task, tables)
        except RectitudeError as error:
            failed[number] = error
    return failed, left


def _settle_slices(plan: Plan, task: PartTask, tables: MovedTables) -> Plan:
    """Return the plan with the edges of slices that depend on all rows of a table, which is read
    here for that."""
    if not plan.slicings:
        return plan
    given = replace(task.given, inputs={**task.given.inputs, "candidates": None})
    heads = {str(side): head for side, head in task.heads.items()}

    def open_tables(read: Mapping[str, Table]) -> Inputs:
        return open_part(plan, replace(given, ready={**heads, **read, **task.whole}), task.known)

    def load(sides: Sequence[str]) -> Iterator[Inputs]:
        readers = {str(side): reader for side, reader in task.readers.items()}
        sources = {side: unwrap(tables.given.inputs[side]) for side in dict.fromkeys(sides)}
        found = {side: one for side, one in sources.items() if isinstance(one, Source)}
        yield open_tables({side: readers[side].build(source) for side, source in found.items()})

    return settle_slices(plan, open_tables({}), load, task.whole)


@dataclass(frozen=True, slots=True)
class _Finishing:
    """What is needed to make evaluations of the sums of all parts."""

    given: RawInputs
    whole: Mapping[str, Table]
    seen: _Seen

    def finish(
        self, plan: Plan, total: PartSum | RectitudeError | None
    ) -> Evaluation | RectitudeError:
        if isinstance(total, RectitudeError):
            return total
        try:
            state = None if total is None else total.state
            if state is not None:
                require_few_values(plan.slicings, state.state.slices)
            evaluation = finish(plan, self.given, state, self.whole, self.seen)
            if total is not None and total.files and plan.per_list is not None:
                write_tables([scan_values(file) for file in total.files], evaluation, plan.per_list)
        except RectitudeError as error:
            return error
        return evaluation


def add_states(outcomes: Iterable[Outcome]) -> Outcome | None:
    """Return the sum of all states, added pair by pair, or the first error; None if there are
    none."""
    found = [*outcomes]
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=False)
        last = found[-1:] if len(found) % 2 else []
        found = [add_pair(*pair) for pair in pairs] + last
    return found[0] if found else None


def add_pair(one: Outcome, other: Outcome) -> Outcome:
    """Return the sum of two states, or the first error."""
    if isinstance(one, RectitudeError):
        return one
    return other if isinstance(other, RectitudeError) else one + other


def add_outcomes(some: Outcomes, others: Outcomes) -> Outcomes:
    """Return the outcomes of two parts together; a part without rows has none."""
    if not (some and others):
        return some or others
    return [add_pair(*pair) for pair in zip(some, others, strict=True)]


def _without_tables(given: RawInputs, ready: set[str]) -> RawInputs:
    """Return the inputs for workers, which get their tables by another way: only names are left of
    these."""
    names = {name: name if name in ready else table for name, table in given.inputs.items()}
    names["candidates"] = load_stored(names["candidates"])  # workers may not see the file
    return replace(given, inputs=names, progress=None)


def _require_order(head: Table, reader: TableReader) -> None:
    """Raise an error for lists that have neither ranks nor scores, and are not whole in a row."""
    whole_lists = head.given and not reader.given
    if whole_lists or ({"rank", "score"} & {*head.frame.columns} and not reader.given):
        return
    raise BadTable(
        f"the predictions ({head.source}) are ordered by neither rank nor score, and rows that are"
        " spread over machines have no order.",
        "a column with the rank or the score.",
        "add it, for example with row_number().",
    )
