"""Candidate items: which predictions compete under them, and what they leave out.

Ranked lists keep only their candidates. Dense scores keep some columns if all users have the same
candidates; otherwise, the scores of the candidates become lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, Ragged, distinct, positions_in
from rectitude.candidate_sets.value import HIGHER_IN_SAMPLES, Candidates
from rectitude.convention import Convention
from rectitude.data.dense import Block, Dense
from rectitude.data.ids import Column, codes_of, count_ids, locate, number_ids, smallest
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs, Table
from rectitude.errors import BadArgument, BadTable, NothingToEvaluate
from rectitude.judge.seen import describe_overlap
from rectitude.predictions.masks import (
    columns_of,
    from_table,
    has_column,
    keys_of,
    with_keys,
    without_padding,
)


@dataclass(frozen=True, slots=True, eq=False)
class Offered:
    """Candidates as a table, and as a `Candidates` value if they were passed as one."""

    table: Table
    """the columns list and item; only item if all users have the same candidates"""
    value: Candidates | None = None

    @property
    def shared(self) -> bool:
        """Whether all users have the same candidates."""
        return "list" not in self.table.frame.columns

    def adds_truth(self, convention: Convention) -> bool:
        """Return whether the items of the truth compete together with the candidates."""
        left_out = self.value is not None and self.value.without_truth
        return left_out or convention.candidates == "with_truth"

    def owner(self, table: Table) -> str:
        """Return the column with the owner of each row: the user for a `Candidates` value, the key
        of the list for a table."""
        return "user" if self.value is not None and "user" in table.frame.columns else "list"

    def facts(self) -> dict[str, Any]:
        """Return where the candidates came from, for the manifest."""
        table, value = self.table, self.value
        facts: dict[str, Any] = {
            "source": table.source, "rows": table.frame.height, "columns": {**table.columns},
        }  # fmt: skip
        if value is None:
            return facts
        details = {"settings": dict(value.settings), "seed": value.seed, "hash": value.hash}
        return {**facts, **details}


def offer_candidates(value: Candidates) -> Offered:
    """Return a `Candidates` value in a form that can be matched with tables."""
    roles = {"user": "list", "item": "item"}
    names = {old: new for old, new in roles.items() if old in value.frame.columns}
    frame = value.frame.select(*names).rename(names)
    kind = f"{value.settings.get('kind', 'given')} candidates"
    columns = dict.fromkeys(names.values(), "")
    return Offered(Table(frame, columns, kind, given=False, text=False, handed=None), value)


def restrict_lists(sources: Inputs, offered: Offered, convention: Convention) -> Inputs:
    """Remove items that are not candidates from the lists. A list that becomes empty stays a
    list."""
    predictions, adds_truth = sources.predictions, offered.adds_truth(convention)
    coded, ledger = _code_tables(sources, offered), Ledger()
    allowed = _CandidateSet.of(coded["candidates"])
    listed, truth = coded["predictions"], coded.get("truth")
    inside = allowed.holds(listed)
    if adds_truth:
        inside |= _among(_require_truth(truth, sources).pairs, listed.pairs)
    if sources.left != "part":
        require_some(inside, predictions, offered.table)
    ledger.count(
        "outside_candidates", int((~inside).sum()),
        "recommended items are not candidates: left out", of=len(inside), weight="notice",
        example=_format_example(predictions.frame, ~inside),
    )  # fmt: skip
    if truth is not None:
        account(
            ledger, sources.truth, truth.owner, allowed.serves(truth), allowed.holds(truth),
            adds_truth,
        )  # fmt: skip
    missing = _count_missing(listed, inside, allowed, truth if adds_truth else None)
    ledger.count(
        "candidates_not_listed", missing,
        "candidates are in no list: relevant items among them are misses", weight="notice",
    )  # fmt: skip
    keys = _list_keys(predictions)
    warn(ledger, offered, len(keys), sources)
    kept = replace(predictions, frame=predictions.frame.filter(inside), handed=keys)
    lists: Literal["cut", "complete"] = "cut" if missing else "complete"
    return replace(sources, predictions=kept, lists=lists, ledger=ledger, offered=offered.facts())


def require_some(inside: Flags, predictions: Table, candidates: Table) -> None:
    """Raise an error if no predicted item is a candidate, most likely because the ids differ."""
    if inside.any() or not len(inside):
        return
    first = _format_example(candidates.frame, np.ones(candidates.frame.height, bool))
    listed = f"{_format_example(predictions.frame, ~inside)} in {predictions.source}"
    raise no_candidate(len(inside), f"{listed}; {first} in {candidates.source}")


def no_candidate(rows: int, first: str) -> NothingToEvaluate:
    """Return the error for lists of which no row is a candidate."""
    return NothingToEvaluate(
        f"none of {rows:,} recommended items is a candidate of its user (first: {first}).",
        "candidates for the given lists.",
        "check that both use the same ids and that the right columns were read.",
    )


def _require_truth(truth: _Coded | None, sources: Inputs) -> _Coded:
    if truth is None:
        raise BadTable(
            f"candidates are given per {sources.key!r}, but the truth has no such column.",
            "the list key in both, because the truth is added to the candidates.",
        )
    return truth


def account(
    ledger: Ledger, truth: Table, owner: Integers, has: Flags, inside: Flags, adds_truth: bool
) -> None:
    """Count what candidates mean for the truth. For each row of the truth: its owner, whether they
    have candidates, and whether the item is one of them."""
    rows, frame = len(inside), truth.frame
    ledger.count(
        "users_without_candidates", len(distinct(owner[~has])),
        "users in the truth have no candidates", of=len(distinct(owner)), weight="warning",
        example=_format_example(frame, ~has),
    )  # fmt: skip
    outside = int((~inside).sum())
    if adds_truth:
        ledger.count(
            "truth_added", outside, "rows of the truth were added to the candidates", of=rows
        )
        return
    ledger.count(
        "truth_outside", outside, "rows of the truth are not candidates: they can never be hits",
        of=rows, weight="warning", example=_format_example(frame, ~inside),
    )  # fmt: skip


def warn(ledger: Ledger, offered: Offered, lists: int, sources: Inputs) -> None:
    """Name the candidates in the ledger, and warn if they are a sample."""
    value = offered.value
    if value is None:
        per_list, items = _size_of(offered, sources)
        warn_of_table(ledger, offered.table.source, per_list, items, lists)
        return
    linked = (
        "; the candidates of all positives of a user are ranked together" if value.linked else ""
    )
    ledger.note("candidates", f"{value}{linked}")
    if value.sampling:
        about = f"lists rank a sample of the items: {value.sampling}"
        ledger.count("lists_sampled", lists, about, of=lists, weight="warning")


def _size_of(offered: Offered, sources: Inputs) -> tuple[float, int]:
    """Return how many candidates a list has on average, and how many items are known: columns of
    scores, or else items of the catalogue, the training data or the candidates, whichever are
    more."""
    frame, dense = offered.table.frame, sources.dense
    candidates = count_ids(frame["item"])
    per_list = frame.height / max(1, count_ids(frame["list"]))
    if dense is not None:
        return per_list, dense.columns
    others = [table.frame["item"] for table in (sources.items, sources.train) if table is not None]
    return per_list, max(candidates, *map(count_ids, others), 0)


def warn_of_table(ledger: Ledger, source: str, per_list: float, items: int, lists: int) -> None:
    """Name candidates that were passed as a table. Warn if lists rank less than half of the items:
    such candidates are most likely a sample, not all items that the user could be shown."""
    ledger.note("candidates", f"{source}; on average {per_list:,.0f} of {items:,} items per list")
    if per_list < items / 2:
        about = f"lists rank a sample of the items: {HIGHER_IN_SAMPLES}."
        ledger.count("lists_sampled", lists, about, of=lists, weight="warning")


@dataclass(frozen=True, slots=True, eq=False)
class _Coded:
    """The rows of a table, in numbers that all tables share."""

    owner: Integers
    """the owner of each row; empty if the rows apply to all users"""
    item: Integers
    items: int
    """how many items there are in all tables"""

    @property
    def pairs(self) -> Integers:
        """Owner and item as one number."""
        return self.owner * self.items + self.item


@dataclass(frozen=True, slots=True, eq=False)
class _CandidateSet:
    """Candidates as sorted numbers without duplicates: of items if all users share them, otherwise
    of pairs."""

    numbers: Integers
    owners: Integers | None
    """who has candidates; None if all have the same"""
    items: int

    @staticmethod
    def of(rows: _Coded) -> _CandidateSet:
        """Return the candidates in these rows."""
        if not len(rows.owner):
            return _CandidateSet(distinct(rows.item), None, rows.items)
        return _CandidateSet(distinct(rows.pairs), distinct(rows.owner), rows.items)

    def holds(self, rows: _Coded) -> Flags:
        """Return whether the item of each row is a candidate."""
        return positions_in(self.numbers, rows.item if self.owners is None else rows.pairs) >= 0

    def serves(self, rows: _Coded) -> Flags:
        """Return whether the owner of each row has candidates."""
        if self.owners is None:
            return np.ones(len(rows.item), bool)
        return positions_in(self.owners, rows.owner) >= 0

    def size(self, owners: Integers) -> int:
        """Return how many pairs of these owners are candidates."""
        if self.owners is None:
            return len(owners) * len(self.numbers)
        return int((positions_in(owners, self.numbers // self.items) >= 0).sum())


def _among(numbers: Integers, rows: Integers) -> Flags:
    return positions_in(distinct(numbers), rows) >= 0


def _code_tables(sources: Inputs, offered: Offered) -> dict[str, _Coded]:
    """Return the candidates and the tables with known owners, in common numbers."""
    tables = {
        "predictions": sources.predictions, "truth": sources.truth, "candidates": offered.table,
    }  # fmt: skip
    owners = {side: offered.owner(table) for side, table in tables.items()}
    with_owner = {side: name for side, name in owners.items() if name in tables[side].frame.columns}
    owner_numbers, _ = _number_columns(tables, with_owner, "user")
    item_numbers, items = _number_columns(tables, dict.fromkeys(tables, "item"), "item")
    nobody = np.empty(0, np.int64)
    return {
        side: _Coded(owner_numbers.get(side, nobody), item, items)
        for side, item in item_numbers.items()
        if side in owner_numbers or side == "candidates"
    }


def _number_columns(
    tables: Mapping[str, Table], columns: Mapping[str, str], what: str
) -> tuple[Mapping[str, Integers], int]:
    """Return a column of every table as numbers from 0, and how many there are."""
    numbering = number_ids(
        {side: Column.of(tables[side], name) for side, name in columns.items()}, what
    )
    return numbering.numbers, len(numbering)


def _count_missing(
    listed: _Coded, inside: Flags, candidates: _CandidateSet, added: _Coded | None
) -> int:
    """Return how many candidates are missing from the lists that were given."""
    owners = distinct(listed.owner)
    possible = candidates.size(owners)
    if added is not None:
        more = ~candidates.holds(added) & (positions_in(owners, added.owner) >= 0)
        possible += len(distinct(added.pairs[more]))
    return possible - len(distinct(listed.pairs[inside]))


def _list_keys(predictions: Table) -> pl.Series:
    """Return the keys of all lists that were given."""
    if predictions.handed is not None:
        return predictions.handed
    numbers, _ = _number_columns({"lists": predictions}, {"lists": "list"}, "list")
    return predictions.frame["list"].filter(pl.Series(numbers["lists"]).is_first_distinct())


def _format_example(frame: pl.DataFrame, flags: Flags) -> str:
    """Return the smallest owner among the flagged rows, with their smallest item."""
    rows = frame.filter(flags)
    if rows.is_empty():
        return ""
    owners = rows.get_column("list", default=rows.get_column("user", default=None))
    if owners is None:
        return f"item {smallest(rows['item'])!r}"
    first = smallest(owners)
    its_rows = rows.head(1) if owners.dtype == pl.Object else rows.filter(owners == first)
    return f"{first!r}, item {smallest(its_rows['item'])!r}"


def outside(dense: Dense, given: Ragged, table: Table) -> Ragged:
    """Return the cells that are not in a table."""
    left = np.setdiff1d(keys_of(dense, given), cells_of_table(dense, table), assume_unique=True)
    return with_keys(dense, left)


def restrict_scores(sources: Inputs, offered: Offered | Ragged, convention: Convention) -> Inputs:
    """Restrict scores to candidates: to some of the columns if all users have the same candidates,
    otherwise to lists of the scores of their candidates."""
    dense, seen, truth, ledger = sources.dense, sources.seen_cells, sources.truth, Ledger()
    if dense is None:
        return sources
    offer = offered if isinstance(offered, Offered) else None
    adds = convention.candidates == "with_truth" if offer is None else offer.adds_truth(convention)
    facts = _describe_cells(offered) if isinstance(offered, Ragged) else offered.facts()
    restricted = replace(sources, offered=facts, ledger=ledger)
    if offer is not None:
        warn(ledger, offer, dense.rows, sources)
    elif isinstance(offered, Ragged):
        per_list = len(offered.values) / max(1, int((offered.lengths > 0).sum()))
        warn_of_table(ledger, facts["source"], per_list, dense.columns, dense.rows)
    if offer is not None and offer.shared and not adds:
        dense, seen = narrow_scores(dense, seen, _columns_for_all(dense, offer, ledger))
        account_for_cells(dense, None, truth, ledger, adds)
        return replace(restricted, dense=dense, seen_cells=seen)
    cells = offered if isinstance(offered, Ragged) else cells_of_candidates(dense, offered, ledger)
    account_for_cells(dense, cells, truth, ledger, adds)
    chosen = cells_to_rank(dense, cells, truth, seen, convention, adds)
    if not len(chosen.values) and not len(cells.values):
        raise NothingToEvaluate(
            f"no candidate belongs to any row of {dense.source}.",
            "candidates for the users of the scores.",
            "check that both use the same ids.",
        )
    if seen is not None and sources.seen_table is None:  # a table is compared with the lists later
        wanted = cells_of_table(dense, truth)
        known = int((positions_in(keys_of(dense, seen), wanted) >= 0).sum())
        about = describe_overlap(sources)
        ledger.count("truth_in_train", known, about, len(wanted), weight="warning")
    lists = lists_from_cells(dense, chosen)
    return replace(restricted, predictions=lists, dense=None, seen_cells=None, lists="complete")


def _describe_cells(cells: Ragged) -> dict[str, Any]:
    return {"source": "sparse matrix", "rows": len(cells.values), "columns": {}}


def cells_of_candidates(dense: Dense, offered: Offered, ledger: Ledger) -> Ragged:
    """Return the cells of the candidates; shared candidates are in every row.

    A table may only contain items of the scores. A `Candidates` value is made for many models and
    may contain items without a score: these are counted and left out.
    """
    if offered.shared:
        column = _columns_for_all(dense, offered, ledger)
        return Ragged(np.arange(dense.rows + 1) * len(column), np.tile(column, dense.rows))
    if offered.value is None:
        return from_table(dense, offered.table, "candidates")
    # Like training data, candidates from a split belong to users, not to lists.
    return from_table(dense, _with_scores(dense, offered, ledger), "train")


def _columns_for_all(dense: Dense, offered: Offered, ledger: Ledger) -> Integers:
    return np.unique(columns_of(dense, _with_scores(dense, offered, ledger)))


def _with_scores(dense: Dense, offered: Offered, ledger: Ledger) -> Table:
    table = offered.table
    if not offered.shared:
        score_owners, table_owners = codes_of(
            _owner_column(dense, offered.owner(dense.table)), table, "list"
        )
        table = replace(table, frame=table.frame.filter(np.isin(table_owners, score_owners)))
    scored = has_column(dense, table)
    missing = table.frame["item"].filter(~scored)
    ledger.count(
        "candidates_without_score", len(missing), "candidates have no score and are not ranked",
        of=len(scored), weight="warning", example=f"item {missing[0]!r}" if len(missing) else "",
    )  # fmt: skip
    return replace(table, frame=table.frame.filter(scored))


def narrow_scores(
    dense: Dense, seen: Ragged | None, column: Integers
) -> tuple[Dense, Ragged | None]:
    """Return the scores of some columns, and the seen items among them."""
    if len(column) == dense.columns:
        return dense, seen
    number = np.full(dense.columns, -1)
    number[column] = np.arange(len(column))

    def blocks() -> Iterator[Block]:
        return (np.ascontiguousarray(block[:, column]) for block in dense.blocks())

    padding = -1 if dense.padding is None else int(number[dense.padding])
    narrowed = replace(
        dense, columns=len(column), items=dense.items.gather(column), blocks=blocks,
        padding=None if padding < 0 else padding,
    )  # fmt: skip
    if seen is None:
        return narrowed, None
    present = number[seen.values] >= 0
    return narrowed, with_keys(
        narrowed, seen.rows()[present] * len(column) + number[seen.values[present]]
    )


def account_for_cells(
    dense: Dense, cells: Ragged | None, truth: Table, ledger: Ledger, adds: bool
) -> None:
    """Count what candidates mean for the truth of these rows; without `cells`, all cells are
    candidates."""
    if "list" not in truth.frame.columns:
        return
    row = locate(*codes_of(_owner_column(dense, "list"), truth, "list"))
    matched = row >= 0
    matched_truth = replace(truth, frame=truth.frame.filter(matched))
    row, column = row[matched], columns_of(dense, truth)[matched]
    inside, has = column >= 0, np.ones(len(row), bool)
    if cells is not None:
        inside &= positions_in(keys_of(dense, cells), row * dense.columns + column) >= 0
        has = cells.lengths[row] > 0
    account(ledger, matched_truth, row, has, inside, adds)


def cells_to_rank(
    dense: Dense, offered: Ragged, truth: Table, seen: Ragged | None, convention: Convention,
    adds: bool,
) -> Ragged:  # fmt: skip
    """Return the cells to rank: the candidates, with the truth if it is added, without seen
    items. Raise an error if candidates were seen and would be ranked last, which lists
    cannot express."""
    chosen = keys_of(dense, offered)
    if adds:
        chosen = np.union1d(chosen, cells_of_table(dense, truth))
    if seen is not None and convention.seen == "removed":
        chosen = np.setdiff1d(chosen, keys_of(dense, seen), assume_unique=True)
    if seen is not None and convention.seen == "last":
        again = int((positions_in(keys_of(dense, seen), chosen) >= 0).sum())
        _refuse_seen_candidates(again, len(chosen))
    return with_keys(dense, without_padding(dense, chosen))


def _refuse_seen_candidates(seen: int, candidates: int) -> None:
    if seen:
        raise BadArgument(
            f"{seen:,} of {candidates:,} candidates are items that the user has seen, and "
            "seen='last' ranks all other items first.",
            "seen='removed' or seen='kept' with such candidates.",
        )


def _owner_column(dense: Dense, key: str) -> Column:
    return Column(dense.table.frame[key], dense.source)


def cells_of_table(dense: Dense, table: Table) -> Integers:
    """Return the numbers of the cells in a table, if they exist in the scores."""
    inside = replace(table, frame=table.frame.filter(has_column(dense, table)))
    return keys_of(dense, from_table(dense, inside, "candidates"))


def scores_of_rows(dense: Dense, seen: Ragged | None, table: Table) -> Floats:
    """Return the score of each list and item in a table, (rows,); minus infinity if it is masked,
    NaN if there is none."""
    row = locate(*codes_of(_owner_column(dense, "list"), table, "list"))
    column = columns_of(dense, table)
    scores = dense.at(row, column)
    if seen is not None:
        masked = np.isin(row * dense.columns + column, keys_of(dense, seen))
        scores[masked & ~np.isnan(scores)] = -np.inf
    return scores


def lists_from_cells(dense: Dense, chosen: Ragged) -> Table:
    """Return the scores of some cells as lists."""
    score = np.empty(len(chosen.values))
    rows = chosen.rows()
    for first, last, block in dense.spans():
        here = slice(int(chosen.offsets[first]), int(chosen.offsets[last]))
        score[here] = block[rows[here] - first, chosen.values[here]]
        if dense.progress is not None:
            dense.progress(last, dense.rows)
    largest = np.finfo(np.float64).max  # lists need finite scores; the order stays the same
    score = np.clip(score, -largest, largest)
    columns = {**name_cells(dense, rows, chosen.values), "score": score}
    table = make_table(columns, f"candidates of {dense.source}")
    return replace(table, handed=dense.table.frame["list"])


def make_table(columns: Mapping[str, Any], source: str, given: bool = False) -> Table:
    """Return a table from columns that were computed here."""
    frame = pl.DataFrame(dict(columns))
    return Table(frame, dict.fromkeys(columns, ""), source, given, text=False, handed=None)


def name_cells(dense: Dense, rows: Integers, columns: Integers) -> dict[str, pl.Series]:
    """Return the ids of the rows and columns of cells."""
    frame = dense.table.frame
    return {
        **{name: _take_ids(frame[name], rows) for name in frame.columns},
        "item": _take_ids(dense.items, columns),
    }


def _take_ids(ids: pl.Series, positions: Integers) -> pl.Series:
    """Return the ids at some positions; NumPy is faster for integers."""
    if ids.dtype == pl.Int64:
        return pl.Series(ids.name, ids.to_numpy()[positions])
    return ids.gather(positions)
