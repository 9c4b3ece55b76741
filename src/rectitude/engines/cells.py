"""Cells of a matrix of scores, and those that are ranked where candidates are handed over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rectitude.arrays import Floats, Integers, places
from rectitude.convention import Convention
from rectitude.data.dense import Block, Cells, Dense
from rectitude.data.ids import Column
from rectitude.data.ledger import Ledger
from rectitude.data.sources import Sources
from rectitude.data.table import Table
from rectitude.engines.offered import Offered, account, warn
from rectitude.errors import NothingToEvaluate
from rectitude.predictions.top import (
    codes_of,
    columns_of,
    from_table,
    has_column,
    keys_of,
    located,
    with_keys,
    without_padding,
)

if TYPE_CHECKING:
    import polars as pl


def outside(dense: Dense, given: Cells, table: Table) -> Cells:
    """The cells that a table does not name."""
    left = np.setdiff1d(keys_of(dense, given), named_by(dense, table), assume_unique=True)
    return with_keys(dense, left)


def competing(sources: Sources, offered: Offered | Cells, convention: Convention) -> Sources:
    """Scores of which nothing but candidates competes: some of the columns where these are the same
    for all, otherwise the cells as lists."""
    dense, seen, truth, ledger = sources.dense, sources.seen, sources.truth, Ledger()
    if dense is None:
        return sources
    given = offered if isinstance(offered, Offered) else None
    adds = convention.candidates == "with_truth" if given is None else given.adds_truth(convention)
    facts = _facts_of(offered) if isinstance(offered, Cells) else offered.facts()
    kept = replace(sources, offered=facts, ledger=ledger)
    if given is not None:
        warn(ledger, given, dense.rows)
    if given is not None and given.shared and not adds:
        dense, seen = narrowed(dense, seen, _shared_columns(dense, given, ledger))
        account_for_cells(dense, None, truth, ledger, adds)
        return replace(kept, dense=dense, seen=seen)
    cells = offered if isinstance(offered, Cells) else offered_cells(dense, offered, ledger)
    account_for_cells(dense, cells, truth, ledger, adds)
    chosen = ranked(dense, cells, truth, seen, convention, adds)
    if not len(chosen.column):
        raise NothingToEvaluate(
            f"no candidate belongs to any row of {dense.source}.",
            "candidates for the users of the scores.",
            "check that both use the same ids.",
        )
    lists = gathered(dense, chosen)
    return replace(kept, predictions=lists, dense=None, seen=None, lists="complete")


def _facts_of(cells: Cells) -> dict[str, Any]:
    return {"source": "sparse matrix", "rows": len(cells.column), "columns": {}}


def offered_cells(dense: Dense, offered: Offered, ledger: Ledger) -> Cells:
    """The cells that candidates stand for, those shared by all in every row.

    A table must name items of the scores only. Candidates made for many models may hold items that
    this one has no score for: they are counted and left out.
    """
    if offered.shared:
        column = _shared_columns(dense, offered, ledger)
        return Cells(np.arange(dense.rows + 1) * len(column), np.tile(column, dense.rows))
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


def narrowed(dense: Dense, seen: Cells | None, column: Integers) -> tuple[Dense, Cells | None]:
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
    there = number[seen.column] >= 0
    return few, with_keys(few, seen.rows()[there] * len(column) + number[seen.column[there]])


def account_for_cells(
    dense: Dense, cells: Cells | None, truth: Table, ledger: Ledger, adds: bool
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
        has = np.diff(cells.start)[row] > 0
    account(ledger, told, row, has, inside, adds)


def ranked(
    dense: Dense, offered: Cells, truth: Table, seen: Cells | None, convention: Convention,
    adds: bool,
) -> Cells:  # fmt: skip
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


def scores_beside(dense: Dense, seen: Cells | None, table: Table) -> Floats:
    """(rows of a table) the scores of its lists and items, minus infinity where masked and NaN
    where there are none."""
    row = located(*codes_of(_owners(dense, "list"), table, "list"))
    column = columns_of(dense, table)
    found = dense.at(row, column)
    if seen is not None:
        masked = np.isin(row * dense.columns + column, keys_of(dense, seen))
        found[masked & ~np.isnan(found)] = -np.inf
    return found


def gathered(dense: Dense, chosen: Cells) -> Table:
    """The scores of some cells as lists."""
    score = np.empty(len(chosen.column))
    rows = chosen.rows()
    for first, last, block in dense.spans():
        here = slice(int(chosen.start[first]), int(chosen.start[last]))
        score[here] = block[rows[here] - first, chosen.column[here]]
        if dense.progress is not None:
            dense.progress(last, dense.rows)
    largest = np.finfo(np.float64).max  # lists have finite scores; the order stays the same
    score = np.clip(score, -largest, largest)
    columns = {**named(dense, rows, chosen.column), "score": score}
    table = table_made(columns, f"candidates of {dense.source}")
    return replace(table, handed=dense.table.frame["list"])


def table_made(columns: Mapping[str, Any], source: str, given: bool = False) -> Table:
    """A table of our own making."""
    import polars as pl

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
    import polars as pl

    if ids.dtype == pl.Int64:
        return pl.Series(ids.name, ids.to_numpy()[places])
    return ids.gather(places)
