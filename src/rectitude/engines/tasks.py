"""What an engine does with its tables: hand a task to every part, and add up the states.

An engine only moves rows. A task builds the tables of a part from its rows, and evaluates them as
`evaluation.parts` does on one machine, so that all values have the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import polars as pl

from rectitude.aggregate.evaluation import Evaluation
from rectitude.data.frames import open_frame
from rectitude.data.read import TableReader
from rectitude.data.table import Table
from rectitude.errors import BadTable, RectitudeError
from rectitude.evaluation.inputs import RawInputs
from rectitude.evaluation.parts import (
    CutTables,
    PartState,
    Side,
    evaluate_part,
    find_roles,
    finish,
    read_whole,
)
from rectitude.evaluation.plan import Plan

HEAD = 1000
"""how many rows of each table are looked at before any are moved"""
Outcome: TypeAlias = PartState | RectitudeError


class MovedTables(CutTables, Protocol):
    """The tables of an engine, whose rows it moves to workers."""

    @property
    def given(self) -> RawInputs:
        """All inputs, as the engine holds them."""

    @property
    def readers(self) -> Mapping[Side, TableReader]:
        """What is known of the columns of each table that is cut."""

    def run(self, task: PartTask, roles: Mapping[Side, str]) -> Iterable[Outcome]:
        """Return the outcome of a task for every part, by the column of each table that decides the
        part of a row."""


@dataclass(frozen=True, slots=True)
class PartTask:
    """What a worker needs to evaluate a part, besides its rows."""

    plan: Plan
    given: RawInputs
    readers: Mapping[Side, TableReader]
    heads: Mapping[Side, Table]
    """the first rows of each table that is cut"""
    whole: Mapping[str, Table]
    """the tables that every part needs whole"""
    known_items: pl.Series | None

    def columns(self, side: Side) -> list[str]:
        """Return the columns of a table that are read."""
        names, left = self.readers[side].source.names, self.heads[side].left
        return [name for name in names if name not in left]

    def evaluate(self, rows: Mapping[Side, pl.DataFrame]) -> Outcome:
        """Return the state of the part with these rows, or the error that they cause.

        A worker has one core; what it computes with is limited to that.
        """
        for setting in ("RECTITUDE_THREADS", "POLARS_MAX_THREADS"):
            os.environ.setdefault(setting, "1")
        try:
            tables = {side: self._build(side, frame) for side, frame in rows.items()}
            return self._evaluate(tables)
        except RectitudeError as error:
            return error

    def for_workers(self) -> PartTask:
        """Return the task without the rows that only the driver looks at, to be sent away."""
        readers = {
            side: replace(reader, source=replace(reader.source, take=_take_nothing))
            for side, reader in self.readers.items()
        }
        heads = {side: replace(head, frame=pl.DataFrame()) for side, head in self.heads.items()}
        return replace(self, readers=readers, heads=heads)

    def try_heads(self) -> None:
        """Evaluate the first rows of all tables, to find errors before any rows are moved."""
        self._evaluate(self.heads)

    def _evaluate(self, tables: Mapping[Side, Table]) -> PartState:
        ready: dict[str, Table] = {str(side): table for side, table in tables.items()}
        given = replace(self.given, ready={**ready, **self.whole})
        return evaluate_part(self.plan, given, self.known_items)

    def _build(self, side: Side, frame: pl.DataFrame) -> Table:
        """Return the rows of one side as a table; what all rows tell is known from its head."""
        head, part = self.heads[side], open_frame(frame)
        if part is None:
            raise ValueError("rows that are no frame")
        table = self.readers[side].build(part)
        return replace(table, left=head.left, unclear=head.unclear)


def _take_nothing(chosen: Mapping[str, str]) -> pl.DataFrame:
    raise ValueError(f"a worker was asked for columns of the whole table: {[*chosen]}")


def evaluate_moved(plan: Plan, tables: MovedTables) -> Evaluation:
    """Evaluate tables whose rows an engine moves to its workers."""
    given, readers = tables.given, tables.readers
    roles = find_roles(readers, given.list_key)
    heads: dict[Side, Table] = {side: tables.head(side, HEAD) for side in roles}
    _require_order(heads["predictions"], readers["predictions"])
    whole = read_whole(plan, given, roles, {})
    by_head = "train" not in roles or "train" in whole or "items" in whole
    task = PartTask(
        plan,
        _without_tables(given, {*roles, *whole}),
        {side: readers[side] for side in roles},
        heads,
        whole,
        None if by_head else tables.distinct("train", "item"),
    )
    task.try_heads()
    total = add_states(tables.run(task, roles))
    if callable(given.progress):
        given.progress(1, 1)
    return finish(plan, given, total, whole, tables)


def add_states(outcomes: Iterable[Outcome]) -> PartState | None:
    """Return the sum of all states, added pair by pair; None if there are none. Raise the first
    error."""
    states = []
    for outcome in outcomes:
        if isinstance(outcome, RectitudeError):
            raise outcome
        states.append(outcome)
    while len(states) > 1:
        pairs = zip(states[::2], states[1::2], strict=False)
        last = states[-1:] if len(states) % 2 else []
        states = [one + other for one, other in pairs] + last
    return states[0] if states else None


def _without_tables(given: RawInputs, ready: set[str]) -> RawInputs:
    """Return the inputs for workers, which get their tables by another way: only names are left of
    these."""
    names = {name: name if name in ready else table for name, table in given.inputs.items()}
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
