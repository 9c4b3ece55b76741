"""Candidates that were handed over: what competes because of them, and what they leave out.

Lists keep the items that are candidates. Dense scores keep some columns where candidates are the
same for all; otherwise their cells become lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, Ragged, distinct, places
from rectitude.candidates.value import Candidates
from rectitude.convention import Convention
from rectitude.data.dense import Block, Dense
from rectitude.data.ids import Column, codes_of, located, numbered
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs, Table
from rectitude.errors import BadTable, NothingToEvaluate
from rectitude.predictions.masks import (
    columns_of,
    from_table,
    has_column,
    keys_of,
    with_keys,
    without_padding,
)


@dataclass(frozen=True, slots=True)
class Offered:
    """Candidates as a table, and as the value they came as, if they did."""

    table: Table
    """columns list and item; item alone where everybody has the same"""
    value: Candidates | None = None

    @property
    def shared(self) -> bool:
        """Whether everybody has the same candidates."""
        return "list" not in self.table.frame.columns

    def adds_truth(self, convention: Convention) -> bool:
        """Whether the items of the truth compete beside the candidates."""
        left_out = self.value is not None and self.value.without_truth
        return left_out or convention.candidates == "with_truth"

    def owner(self, table: Table) -> str:
        """The column that says whose a row is: candidates of a split are those of users, a table
        has the keys of lists."""
        return "user" if self.value is not None and "user" in table.frame.columns else "list"

    def facts(self) -> dict[str, Any]:
        """Where the candidates came from, for the manifest."""
        table, value = self.table, self.value
        facts: dict[str, Any] = {
            "source": table.source, "rows": table.frame.height, "columns": {**table.columns},
        }  # fmt: skip
        if value is None:
            return facts
        made = {"settings": dict(value.settings), "seed": value.seed, "hash": value.hash}
        return {**facts, **made}


def offered_by(value: Candidates) -> Offered:
    """Candidates that are a value, ready to be brought together with tables."""
    held = {"user": "list", "item": "item"}
    names = {old: new for old, new in held.items() if old in value.frame.columns}
    frame = value.frame.select(*names).rename(names)
    kind = f"{value.settings.get('kind', 'given')} candidates"
    columns = dict.fromkeys(names.values(), "")
    return Offered(Table(frame, columns, kind, given=False, text=False, handed=None), value)


def restricted(sources: Inputs, offered: Offered, convention: Convention) -> Inputs:
    """Lists without the items that do not compete; a list that is emptied stays a list."""
    predictions, adds = sources.predictions, offered.adds_truth(convention)
    coded, ledger = _coded(sources, offered), Ledger()
    listed, truth, known = coded["predictions"], coded.get("truth"), _Known.of(coded["candidates"])
    inside = known.holds(listed)
    if adds:
        inside |= _among(_require_truth(truth, sources).pairs, listed.pairs)
    require_some(inside, predictions, offered.table)
    ledger.count(
        "outside_candidates", int((~inside).sum()), "recommended items are no candidates: left out",
        of=len(inside), weight="notice", example=_example(predictions.frame, ~inside),
    )  # fmt: skip
    if truth is not None:
        account(ledger, sources.truth, truth.owner, known.serves(truth), known.holds(truth), adds)
    missing = _missing(listed, inside, known, truth if adds else None)
    ledger.count(
        "candidates_not_listed", missing,
        "candidates stand in no list: positives among them are misses", weight="notice",
    )  # fmt: skip
    handed = _handed(predictions)
    warn(ledger, offered, len(handed))
    kept = replace(predictions, frame=predictions.frame.filter(inside), handed=handed)
    lists: Literal["cut", "complete"] = "cut" if missing else "complete"
    return replace(sources, predictions=kept, lists=lists, ledger=ledger, offered=offered.facts())


def require_some(inside: Flags, predictions: Table, candidates: Table) -> None:
    """An error if nothing that is predicted is a candidate: most likely ids differ."""
    if inside.any() or not len(inside):
        return
    first = _example(candidates.frame, np.ones(candidates.frame.height, bool))
    raise NothingToEvaluate(
        f"none of {len(inside):,} recommended items is a candidate of its user (first: "
        f"{_example(predictions.frame, ~inside)} in {predictions.source}; {first} in "
        f"{candidates.source}).",
        "candidates for the lists that are handed over.",
        "check that both use the same ids and the right columns.",
    )


def _require_truth(truth: _Coded | None, sources: Inputs) -> _Coded:
    if truth is None:
        raise BadTable(
            f"candidates are given by {sources.key!r}, and the truth has no such column.",
            "the key of the list in both, where the truth goes with the candidates.",
        )
    return truth


def account(
    ledger: Ledger, truth: Table, owner: Integers, has: Flags, inside: Flags, adds_truth: bool
) -> None:
    """Count what candidates mean for the truth. (rows) whose a row is, whether he has candidates,
    and whether its item is one of them."""
    rows, frame = len(inside), truth.frame
    ledger.count(
        "users_without_candidates", len(distinct(owner[~has])),
        "users in the truth have no candidates", of=len(distinct(owner)), weight="warning",
        example=_example(frame, ~has),
    )  # fmt: skip
    outside = int((~inside).sum())
    if adds_truth:
        ledger.count("truth_added", outside, "rows of the truth join the candidates", of=rows)
        return
    ledger.count(
        "truth_outside", outside, "rows of the truth are not among the candidates: never found",
        of=rows, weight="warning", example=_example(frame, ~inside),
    )  # fmt: skip


def warn(ledger: Ledger, offered: Offered, lists: int) -> None:
    """Name the candidates, and say what sampling does to the numbers."""
    value = offered.value
    if value is None:
        return
    linked = "; those of a user's positives compete together" if value.linked else ""
    ledger.note("candidates", f"{value}{linked}")
    if value.sampling:
        about = f"lists rank a sample of the items: {value.sampling}"
        ledger.count("lists_sampled", lists, about, of=lists, weight="warning")


@dataclass(frozen=True, slots=True)
class _Coded:
    """The rows of a table in numbers that all tables share."""

    owner: Integers
    """whose each row is; empty where rows are everybody's"""
    item: Integers
    items: int
    """how many items there are in all tables"""

    @property
    def pairs(self) -> Integers:
        """Owner and item as one number."""
        return self.owner * self.items + self.item


@dataclass(frozen=True, slots=True)
class _Known:
    """Candidates as sorted numbers, each once: of items where all share them, else of pairs."""

    numbers: Integers
    owners: Integers | None
    """who has candidates; None for everybody"""
    items: int

    @staticmethod
    def of(rows: _Coded) -> _Known:
        """The candidates that rows stand for."""
        if not len(rows.owner):
            return _Known(distinct(rows.item), None, rows.items)
        return _Known(distinct(rows.pairs), distinct(rows.owner), rows.items)

    def holds(self, rows: _Coded) -> Flags:
        """Whether each row is of a candidate."""
        return places(self.numbers, rows.item if self.owners is None else rows.pairs) >= 0

    def serves(self, rows: _Coded) -> Flags:
        """Whether each row is of somebody who has candidates."""
        if self.owners is None:
            return np.ones(len(rows.item), bool)
        return places(self.owners, rows.owner) >= 0

    def size(self, owners: Integers) -> int:
        """How many pairs of these owners are candidates."""
        if self.owners is None:
            return len(owners) * len(self.numbers)
        return int((places(owners, self.numbers // self.items) >= 0).sum())


def _among(known: Integers, rows: Integers) -> Flags:
    return places(distinct(known), rows) >= 0


def _coded(sources: Inputs, offered: Offered) -> dict[str, _Coded]:
    """The tables that say whose their rows are, and the candidates, in common numbers."""
    tables = {
        "predictions": sources.predictions, "truth": sources.truth, "candidates": offered.table,
    }  # fmt: skip
    owners = {side: offered.owner(table) for side, table in tables.items()}
    named = {side: name for side, name in owners.items() if name in tables[side].frame.columns}
    who, _ = _numbers(tables, named, "user")
    what, items = _numbers(tables, dict.fromkeys(tables, "item"), "item")
    nobody = np.empty(0, np.int64)
    return {
        side: _Coded(who.get(side, nobody), item, items)
        for side, item in what.items()
        if side in who or side == "candidates"
    }


def _numbers(
    tables: Mapping[str, Table], columns: Mapping[str, str], what: str
) -> tuple[Mapping[str, Integers], int]:
    """A column of every table in numbers from 0 on, and how many there are."""
    found = numbered({side: Column.of(tables[side], name) for side, name in columns.items()}, what)
    return found.numbers, len(found)


def _missing(listed: _Coded, inside: Flags, known: _Known, added: _Coded | None) -> int:
    """How many pairs could stand in the lists that were handed over, and do not."""
    handed = distinct(listed.owner)
    could = known.size(handed)
    if added is not None:
        more = ~known.holds(added) & (places(handed, added.owner) >= 0)
        could += len(distinct(added.pairs[more]))
    return could - len(distinct(listed.pairs[inside]))


def _handed(predictions: Table) -> pl.Series:
    """The keys of all lists that were handed over."""
    if predictions.handed is not None:
        return predictions.handed
    numbers, _ = _numbers({"lists": predictions}, {"lists": "list"}, "list")
    return predictions.frame["list"].filter(pl.Series(numbers["lists"]).is_first_distinct())


def _example(frame: pl.DataFrame, flags: Flags) -> str:
    if not flags.any():
        return ""
    row = frame.row(int(flags.argmax()), named=True)
    owner = row.get("list", row.get("user"))
    return f"item {row['item']!r}" if owner is None else f"{owner!r}, item {row['item']!r}"


def outside(dense: Dense, given: Ragged, table: Table) -> Ragged:
    """The cells that a table does not name."""
    left = np.setdiff1d(keys_of(dense, given), named_by(dense, table), assume_unique=True)
    return with_keys(dense, left)


def competing(sources: Inputs, offered: Offered | Ragged, convention: Convention) -> Inputs:
    """Scores of which nothing but candidates competes: some of the columns where these are the same
    for all, otherwise the cells as lists."""
    dense, seen, truth, ledger = sources.dense, sources.seen, sources.truth, Ledger()
    if dense is None:
        return sources
    given = offered if isinstance(offered, Offered) else None
    adds = convention.candidates == "with_truth" if given is None else given.adds_truth(convention)
    facts = _facts_of(offered) if isinstance(offered, Ragged) else offered.facts()
    kept = replace(sources, offered=facts, ledger=ledger)
    if given is not None:
        warn(ledger, given, dense.rows)
    if given is not None and given.shared and not adds:
        dense, seen = narrowed(dense, seen, _shared_columns(dense, given, ledger))
        account_for_cells(dense, None, truth, ledger, adds)
        return replace(kept, dense=dense, seen=seen)
    cells = offered if isinstance(offered, Ragged) else offered_cells(dense, offered, ledger)
    account_for_cells(dense, cells, truth, ledger, adds)
    chosen = ranked(dense, cells, truth, seen, convention, adds)
    if not len(chosen.values):
        raise NothingToEvaluate(
            f"no candidate belongs to any row of {dense.source}.",
            "candidates for the users of the scores.",
            "check that both use the same ids.",
        )
    lists = gathered(dense, chosen)
    return replace(kept, predictions=lists, dense=None, seen=None, lists="complete")


def _facts_of(cells: Ragged) -> dict[str, Any]:
    return {"source": "sparse matrix", "rows": len(cells.values), "columns": {}}


def offered_cells(dense: Dense, offered: Offered, ledger: Ledger) -> Ragged:
    """The cells that candidates stand for, those shared by all in every row.

    A table must name items of the scores only. Candidates made for many models may hold items that
    this one has no score for: they are counted and left out.
    """
    if offered.shared:
        column = _shared_columns(dense, offered, ledger)
        return Ragged(np.arange(dense.rows + 1) * len(column), np.tile(column, dense.rows))
    if offered.value is None:
        return from_table(dense, offered.table, "candidates")
    # Training goes by users, and so do candidates that were made from a split.
    return from_table(dense, _with_scores(dense, offered, ledger), "train")


def _shared_columns(dense: Dense, offered: Offered, ledger: Ledger) -> Integers:
    return np.unique(columns_of(dense, _with_scores(dense, offered, ledger)))


def _with_scores(dense: Dense, offered: Offered, ledger: Ledger) -> Table:
    table = offered.table
    if not offered.shared:
        own, named = codes_of(_owners(dense, offered.owner(dense.table)), table, "list")
        table = replace(table, frame=table.frame.filter(np.isin(named, own)))
    scored = has_column(dense, table)
    missing = table.frame["item"].filter(~scored)
    ledger.count(
        "candidates_without_score", len(missing), "candidates have no score and are not ranked",
        of=len(scored), weight="warning", example=f"item {missing[0]!r}" if len(missing) else "",
    )  # fmt: skip
    return replace(table, frame=table.frame.filter(scored))


def narrowed(dense: Dense, seen: Ragged | None, column: Integers) -> tuple[Dense, Ragged | None]:
    """Scores of some columns alone, and what was seen of them."""
    if len(column) == dense.columns:
        return dense, seen
    number = np.full(dense.columns, -1)
    number[column] = np.arange(len(column))

    def blocks() -> Iterator[Block]:
        return (np.ascontiguousarray(block[:, column]) for block in dense.blocks())

    padding = -1 if dense.padding is None else int(number[dense.padding])
    few = replace(
        dense, columns=len(column), items=dense.items.gather(column), blocks=blocks,
        padding=None if padding < 0 else padding,
    )  # fmt: skip
    if seen is None:
        return few, None
    there = number[seen.values] >= 0
    return few, with_keys(few, seen.rows()[there] * len(column) + number[seen.values[there]])


def account_for_cells(
    dense: Dense, cells: Ragged | None, truth: Table, ledger: Ledger, adds: bool
) -> None:
    """Count what candidates mean for the truth of these rows; all cells are, if none are given."""
    if "list" not in truth.frame.columns:
        return
    row = located(*codes_of(_owners(dense, "list"), truth, "list"))
    mine = row >= 0
    told = replace(truth, frame=truth.frame.filter(mine))
    row, column = row[mine], columns_of(dense, truth)[mine]
    inside, has = column >= 0, np.ones(len(row), bool)
    if cells is not None:
        inside &= places(keys_of(dense, cells), row * dense.columns + column) >= 0
        has = cells.lengths[row] > 0
    account(ledger, told, row, has, inside, adds)


def ranked(
    dense: Dense, offered: Ragged, truth: Table, seen: Ragged | None, convention: Convention,
    adds: bool,
) -> Ragged:  # fmt: skip
    """The cells to be ranked: the candidates, and the truth if it goes with them, less what was
    seen."""
    chosen = keys_of(dense, offered)
    if adds:
        chosen = np.union1d(chosen, named_by(dense, truth))
    if seen is not None and convention.seen == "removed":
        chosen = np.setdiff1d(chosen, keys_of(dense, seen), assume_unique=True)
    return with_keys(dense, without_padding(dense, chosen))


def _owners(dense: Dense, key: str) -> Column:
    return Column(dense.table.frame[key], dense.source)


def named_by(dense: Dense, table: Table) -> Integers:
    """The numbers of the cells that a table names, as far as they exist."""
    inside = replace(table, frame=table.frame.filter(has_column(dense, table)))
    return keys_of(dense, from_table(dense, inside, "candidates"))


def scores_beside(dense: Dense, seen: Ragged | None, table: Table) -> Floats:
    """(rows of a table) the scores of its lists and items, minus infinity where masked and NaN
    where there are none."""
    row = located(*codes_of(_owners(dense, "list"), table, "list"))
    column = columns_of(dense, table)
    found = dense.at(row, column)
    if seen is not None:
        masked = np.isin(row * dense.columns + column, keys_of(dense, seen))
        found[masked & ~np.isnan(found)] = -np.inf
    return found


def gathered(dense: Dense, chosen: Ragged) -> Table:
    """The scores of some cells as lists."""
    score = np.empty(len(chosen.values))
    rows = chosen.rows()
    for first, last, block in dense.spans():
        here = slice(int(chosen.offsets[first]), int(chosen.offsets[last]))
        score[here] = block[rows[here] - first, chosen.values[here]]
        if dense.progress is not None:
            dense.progress(last, dense.rows)
    largest = np.finfo(np.float64).max  # lists have finite scores; the order stays the same
    score = np.clip(score, -largest, largest)
    columns = {**named(dense, rows, chosen.values), "score": score}
    table = table_made(columns, f"candidates of {dense.source}")
    return replace(table, handed=dense.table.frame["list"])


def table_made(columns: Mapping[str, Any], source: str, given: bool = False) -> Table:
    """A table of our own making."""
    frame = pl.DataFrame(dict(columns))
    return Table(frame, dict.fromkeys(columns, ""), source, given, text=False, handed=None)


def named(dense: Dense, rows: Integers, columns: Integers) -> dict[str, pl.Series]:
    """Cells by the ids of their rows and columns."""
    frame = dense.table.frame
    return {
        **{name: _taken(frame[name], rows) for name in frame.columns},
        "item": _taken(dense.items, columns),
    }


def _taken(ids: pl.Series, places: Integers) -> pl.Series:
    """The ids at some places; integers are taken by NumPy, which has less to do for it."""
    if ids.dtype == pl.Int64:
        return pl.Series(ids.name, ids.to_numpy()[places])
    return ids.gather(places)
