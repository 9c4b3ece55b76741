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
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Evaluation, Keys
from rectitude.arrays import Floats, Integers
from rectitude.data.columns import has_names_of_other_side
from rectitude.data.ids import Column, kind_of, occurs_in
from rectitude.data.ledger import Ledger
from rectitude.data.read import TableReader, open_table, read
from rectitude.data.table import Table, What
from rectitude.errors import BadArgument, NothingToEvaluate
from rectitude.evaluation.account import (
    Lengths,
    count_judgeable,
    lengths_of,
    report_no_match,
    suspect_swap,
)
from rectitude.evaluation.batch import judge_batch, lists_for_all
from rectitude.evaluation.evaluate import (
    columns_for,
    evaluation_of,
    measure_whole,
    open_for,
    parse_slices,
    require_slices,
)
from rectitude.evaluation.inputs import RawInputs
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.scratch import Scratch, open_scratch
from rectitude.evaluation.state import KeptValues, State
from rectitude.evaluation.swapped import look_for_swap
from rectitude.memory import require_memory
from rectitude.metrics.registry import Facts

ROW_BYTES = 32
"""what a row of a table takes while it is evaluated, with its share of all intermediate arrays"""
Side = Literal["predictions", "truth", "train", "users", "weights", "candidates"]
_SIDES: tuple[Side, ...] = ("predictions", "truth", "train", "users", "weights")
"""the tables that are cut; all others are handed to every part whole"""


@dataclass(frozen=True, slots=True)
class PartState:
    """The state of one part, or of several, and what only all parts together can judge."""

    state: State
    lengths: Lengths
    """how long the lists are: the truth and the predictions may be swapped"""
    matches: int
    """how many recommended items are in the truth of their list"""
    judgeable: int
    """how many lists have predictions and truth"""

    def __add__(self, other: PartState) -> PartState:
        return PartState(
            self.state + other.state,
            self.lengths.plus(other.lengths),
            self.matches + other.matches,
            self.judgeable + other.judgeable,
        )


def evaluate_part(plan: Plan, given: RawInputs, known_items: pl.Series | None) -> PartState:
    """Return the state of one part, whose tables are in `given.ready`."""
    inputs = replace(open_for(plan, given), left="part", known_items=known_items)
    require_slices(plan, inputs)
    batch = judge_batch(plan, inputs)
    if batch.aligned is None:
        raise ValueError("a part that was just judged has no inputs")
    judged = lists_for_all(plan, batch)
    return PartState(
        measure_whole(plan, batch, inputs),
        lengths_of(batch.aligned, judged),
        len(judged.list),
        count_judgeable(batch.aligned),
    )


@contextmanager
def cut_tables(given: RawInputs, limit: int, slices: object) -> Iterator[Partitions | None]:
    """Cut the tables into parts that fit into the limit; yield None if all of them fit together.

    Temporary files are removed at the end.
    """
    keep = columns_for(parse_slices(slices))
    tables = {
        what: open_table(
            given.inputs[what], what, hints=given.columns, list_key=given.list_key,
            keep=keep if what in ("predictions", "truth") else (),
        )
        for what in _SIDES
        if given.inputs.get(what) is not None
    }  # fmt: skip
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

    def evaluate(self, plan: Plan) -> Evaluation:
        """Return the evaluation of all parts."""
        whole = self._whole_tables(plan)
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
        if total is None:
            raise NothingToEvaluate(
                "the predictions and the truth have no rows.", "at least one row in each."
            )
        return self._finish(plan, total, whole)

    @cached_property
    def roles(self) -> Mapping[Side, str]:
        """The column of each table that decides the part of a row; none for tables that stay
        whole."""
        tables = self.tables
        if self.given.list_key == "user":
            return dict.fromkeys(tables, "list")
        owned = all("user" in tables[side].columns for side in ("predictions", "truth"))
        if owned:
            roles = {"predictions": "user", "truth": "user", "train": "list", "users": "list"}
            return {side: roles[side] for side in tables if side in roles}
        if "list" not in tables["truth"].columns or {"train", "users"} & {*tables}:
            raise BadArgument(
                f"the predictions or the truth have no user column; tables larger than memory are "
                f"cut by user if train= or users= is given, or if the truth has no "
                f"{self.given.list_key!r}.",
                "a user column next to the list key in both.",
                "add it, or allow more memory: memory=...",
            )
        return dict.fromkeys(tables, "list")

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
        self._items = distinct if self._items is None else _join([self._items, distinct]).unique()

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

    def _whole_tables(self, plan: Plan) -> dict[str, Table]:
        """Return the tables that every part needs whole: all that are not cut, and training data
        and users where metrics or slices look beyond the lists of a part."""
        given, whole = self.given, set(self.given.inputs) - {*self.roles}
        if plan.metrics_beyond_ranks or plan.slicings:
            whole |= {"train", "users"}
        tables: dict[str, Table] = {}
        for side in get_args(What):
            if side == "candidates" or side not in whole or given.inputs.get(side) is None:
                continue
            reader = self.tables.get(side)
            rows = 0 if reader is None else reader.rows or 0
            require_memory(rows * ROW_BYTES, f"{side}=, which metrics or slices need whole,")
            tables[side] = read(
                given.inputs[side], side, hints=given.columns, list_key=given.list_key
            )
        return tables

    def _finish(self, plan: Plan, total: PartState, whole: Mapping[str, Table]) -> Evaluation:
        """Return the evaluation of all parts, with what only all of them together can tell."""
        state, predictions = total.state, self.tables["predictions"]
        ledger = state.ledger + self._look_for_swap()
        if not ledger["truth_rows"] or not ledger["users_with_list"]:
            raise _nothing_to_evaluate(ledger)
        if not total.matches:
            self._report_no_match(total.judgeable, ledger)
        first = next(predictions.each(1))
        suspect_swap(total.lengths, first, max(plan.cutoffs, default=None), ledger)
        if "users" in whole and "users_absent" in ledger:
            _correct_absent(ledger, whole["users"], state.batches)
        manifest = _correct_rows(state.manifest, whole)
        lists, values = _sort_lists(state.kept)
        state = replace(state, ledger=ledger, manifest=manifest)
        return evaluation_of(plan, state, Facts(), values, lists)

    def _report_no_match(self, lists: int, ledger: Ledger) -> None:
        """Report that no recommended item is in the truth of its list; reads all items again."""
        predicted, wanted = (
            _join([ids.unique() for ids in self.tables[side].ids("item", self.target)]).unique()
            for side in ("predictions", "truth")
        )
        both = [Column(ids, "a table", text=True) for ids in (predicted, wanted)]
        shared = bool(occurs_in(both[0], both[1], "item").any())
        report_no_match(predicted, wanted, shared, lists, ledger)

    def _look_for_swap(self) -> Ledger:
        """Return the warning that predictions and truth may be swapped, from their first rows."""
        tables = {side: next(self.tables[side].each(1000)) for side in ("predictions", "truth")}
        if not has_names_of_other_side(tables["predictions"], tables["truth"]):
            return Ledger()
        return look_for_swap(self.given.inputs, self.given.columns, tables)


def _nothing_to_evaluate(ledger: Ledger) -> NothingToEvaluate:
    if not ledger["truth_rows"]:
        return NothingToEvaluate(
            "the truth has no rows for the lists to evaluate.",
            "at least one row with a user and an item.",
        )
    return NothingToEvaluate(
        f"no user of the truth ({ledger['users_in_truth']:,}) has predictions.",
        "predictions for at least one user of the truth.",
        "check that both use the same ids and that the right columns were read.",
    )


def _correct_absent(ledger: Ledger, users: Table, parts: int) -> None:
    """Correct the number of users without list and truth: every part counted those of all other
    parts, too."""
    entry = ledger.entries["users_absent"]
    people = users.frame["list"].n_unique()
    absent = entry.count - (parts - 1) * people
    ledger.count("users_absent", absent, entry.about, entry.of, entry.example, entry.weight)
    if not absent:
        del ledger.entries["users_absent"]


def _correct_rows(manifest: Mapping[str, Any], whole: Mapping[str, Table]) -> dict[str, Any]:
    """Return the manifest with the rows of tables that were handed to every part."""
    inputs = {
        side: {**facts, "rows": whole[side].frame.height} if side in whole else facts
        for side, facts in manifest["inputs"].items()
    }
    return {**manifest, "inputs": inputs}


def _sort_lists(kept: KeptValues) -> tuple[Keys | None, dict[str, Floats]]:
    """Return the lists sorted by key, as in one evaluation, and the values of each metric."""
    lists = kept.keys()
    if lists is None:
        return None, {}
    order = lists.keys.arg_sort().to_numpy()
    weights = None if lists.weights is None else lists.weights[order]
    ordered = Keys(
        lists.keys.gather(order), lists.owners[order], lists.users, lists.by_user, weights
    )
    return ordered, {name: kept.values(name)[order] for name in kept.names()}


def _join(columns: Sequence[pl.Series]) -> pl.Series:
    """Concatenate ids; integers become text if others are text."""
    frames = [column.alias("id").to_frame() for column in columns]
    return pl.concat(frames, how="vertical_relaxed")["id"]


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
