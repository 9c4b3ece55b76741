"""What evaluations part by part share, wherever the parts are evaluated: on this machine, by Spark
or by Ray.

All rows of a list, or of a user, belong to the same part. A part is evaluated like any batch, and
the states of all parts are added. What concerns all lists, such as the known items, is handed to
each part; what only all parts together can tell is added at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Evaluation, Keys
from rectitude.arrays import Floats, Integers
from rectitude.candidate_sets.value import Candidates, load_stored
from rectitude.data.columns import has_names_of_other_side
from rectitude.data.frames import series
from rectitude.data.ids import Column, occurs_in
from rectitude.data.ledger import Ledger
from rectitude.data.read import TableReader, open_table, read
from rectitude.data.table import Inputs, Table, What, is_wrapped
from rectitude.errors import BadArgument, NothingToEvaluate
from rectitude.evaluation.account import (
    Lengths,
    count_judgeable,
    lengths_of,
    report_no_match,
    suspect_swap,
)
from rectitude.evaluation.batch import judge_batch, lists_for_all
from rectitude.evaluation.evaluate import evaluation_of, measure_whole, open_for, require_slices
from rectitude.evaluation.inputs import RawInputs
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.restrict import no_candidate
from rectitude.evaluation.state import KeptValues, State
from rectitude.evaluation.swapped import look_for_swap
from rectitude.memory import require_memory
from rectitude.metrics.registry import Facts, is_ours

ROW_BYTES = 32
"""what a row of a table takes while it is evaluated, with its share of all intermediate arrays"""
Side = Literal["predictions", "truth", "train", "seen", "users", "weights"]
"""a table that is cut; all others are handed to every part whole"""

_OF_USERS: tuple[Side, ...] = ("train", "seen", "users")
"""tables with rows of users, whatever the key of a list is"""


class CutTables(Protocol):
    """Tables that are cut into parts, wherever they lie."""

    def head(self, side: Side, rows: int) -> Table:
        """Return the first rows of a table."""

    def distinct(self, side: Side, role: str) -> pl.Series:
        """Return the ids of a column, each once."""


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


@dataclass(frozen=True, slots=True, eq=False)
class KnownItems:
    """The items of all training data, and how many of its rows have each of them."""

    items: pl.Series
    rows: Integers

    @staticmethod
    def of(counts: Sequence[pl.DataFrame]) -> KnownItems | None:
        """Return the items of tables with the columns item and rows; None if there are none."""
        if not counts:
            return None
        both = pl.concat(counts, how="vertical_relaxed").group_by("item").agg(pl.col("rows").sum())
        return KnownItems(both["item"], both["rows"].to_numpy().astype(np.int64))


def count_rows(items: pl.Series) -> pl.DataFrame:
    """Return each item, and how many rows have it."""
    return items.alias("item").value_counts(name="rows")


def evaluate_part(plan: Plan, given: RawInputs, known: KnownItems | None) -> PartState:
    """Return the state of one part, whose tables are in `given.ready`."""
    inputs = open_part(plan, given, known)
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


def open_part(plan: Plan, given: RawInputs, known: KnownItems | None) -> Inputs:
    """Open the inputs of one part, with what is known of all training data."""
    inputs = replace(open_for(plan, given), samples=given.samples)
    if known is None:
        return inputs
    return replace(inputs, known_items=known.items, known_rows=known.rows)


def open_sides(given: RawInputs, keep: Sequence[str]) -> dict[Side, TableReader]:
    """Open the tables that are cut, with these columns of predictions and truth for slices."""
    return {
        side: open_table(
            given.inputs[side], side, hints=given.columns, list_key=given.list_key,
            keep=keep if side in ("predictions", "truth") else (),
        )
        for side in get_args(Side)
        if given.inputs.get(side) is not None
    }  # fmt: skip


def users_of(given: RawInputs) -> pl.Series | None:
    """Return the users that are named beside the predictions, of whom some may have an empty list;
    None if none are named."""
    predictions = given.inputs["predictions"]
    if not is_wrapped(predictions) or predictions.users is None:
        return None
    return series(predictions.users, "list")


def find_roles(tables: Mapping[Side, TableReader], list_key: str) -> dict[Side, str]:
    """Return the column of each table that decides the part of a row; none for tables that stay
    whole."""
    if list_key == "user":
        return dict.fromkeys(tables, "list")
    if all("user" in tables[side].columns for side in ("predictions", "truth")):
        roles = {"predictions": "user", "truth": "user", **dict.fromkeys(_OF_USERS, "list")}
        return {side: roles[side] for side in tables if side in roles}
    if "list" not in tables["truth"].columns or {*_OF_USERS} & {*tables}:
        raise BadArgument(
            f"the predictions or the truth have no user column; tables larger than memory are cut "
            f"by user if train=, seen= or users= is given, or if the truth has no {list_key!r}.",
            "a user column next to the list key in both.",
            "add it, or allow more memory: memory=...",
        )
    return dict.fromkeys(tables, "list")


def read_whole(
    plan: Plan,
    given: RawInputs,
    cut: Iterable[str],
    rows: Mapping[str, int | None],
) -> dict[str, Table]:
    """Return the tables that every part needs whole: all that are not cut, and training data and
    users where metrics look beyond the lists of a part. `rows` says how many rows they have, where
    that is known."""
    whole = (set(given.inputs) - {*cut}) | tables_beyond_lists(plan)
    tables: dict[str, Table] = {}
    for side in get_args(What):
        source = given.inputs.get(side)
        source = load_stored(source) if side == "candidates" else source
        if side not in whole or source is None or isinstance(source, Candidates):
            continue
        needed = (rows.get(side) or 0) * ROW_BYTES
        require_memory(needed, f"{side}=, which metrics need whole,")
        tables[side] = read(source, side, hints=given.columns, list_key=given.list_key)
    return tables


def tables_beyond_lists(plan: Plan) -> set[str]:
    """Return the tables of which metrics need more than the rows of the lists' users."""
    tables: set[str] = set()
    for asked in plan.metrics_beyond_ranks.values():
        needs = {*asked.metric.requires}
        is_custom = not is_ours(asked.metric.function)
        if is_custom or needs & _OF_ITEMS:
            tables.add("train")
        if is_custom or needs & _OF_PEOPLE or asked.by:
            tables |= {"train", "users"}
    return tables


_OF_ITEMS = {"train", "met", "items"}
"""needs that depend on how often items occur in all training data, and on which of all items have
attributes"""
_OF_PEOPLE = {"people", "users"}
"""needs that depend on all users"""


def finish(
    plan: Plan,
    given: RawInputs,
    total: PartState | None,
    whole: Mapping[str, Table],
    tables: CutTables,
) -> Evaluation:
    """Return the evaluation of all parts, with what only all of them together can tell."""
    if total is None:
        raise NothingToEvaluate(
            "the predictions and the truth have no rows.", "at least one row in each."
        )
    state = total.state
    ledger = state.ledger + _look_for_swap(given, tables)
    given.account(ledger)
    _require_candidates(ledger)
    if not ledger["truth_rows"] or not ledger["users_with_list"]:
        raise _nothing_to_evaluate(ledger)
    if not total.matches:
        _report_no_match(tables, total.judgeable, ledger)
    first = tables.head("predictions", 1)
    suspect_swap(total.lengths, first, max(plan.cutoffs, default=None), ledger)
    if "users" in whole and "users_absent" in ledger:
        _correct_absent(ledger, whole["users"], state.batches)
    manifest = _correct_rows(state.manifest, whole)
    lists, values = _sort_lists(state.kept)
    state = replace(state, ledger=ledger, manifest=manifest)
    return evaluation_of(plan, state, Facts(), values, lists)


def _report_no_match(tables: CutTables, lists: int, ledger: Ledger) -> None:
    """Report that no recommended item is in the truth of its list; reads all items again."""
    predicted, wanted = (tables.distinct(side, "item") for side in ("predictions", "truth"))
    both = [Column(ids, "a table", text=True) for ids in (predicted, wanted)]
    shared = bool(occurs_in(both[0], both[1], "item").any())
    report_no_match(predicted, wanted, shared, lists, ledger)


def _look_for_swap(given: RawInputs, tables: CutTables) -> Ledger:
    """Return the warning that predictions and truth may be swapped, from their first rows."""
    heads = {side: tables.head(side, 1000) for side in ("predictions", "truth")}
    if not has_names_of_other_side(heads["predictions"], heads["truth"]):
        return Ledger()
    return look_for_swap(given.inputs, given.columns, heads)


def _require_candidates(ledger: Ledger) -> None:
    """Raise an error if no recommended item of any part is a candidate."""
    outside = ledger.entries.get("outside_candidates")
    if outside is not None and 0 < outside.count == outside.of:
        raise no_candidate(outside.count, outside.example)


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


def join_ids(columns: Sequence[pl.Series]) -> pl.Series:
    """Concatenate ids; integers become text if others are text."""
    frames = [column.alias("id").to_frame() for column in columns]
    return pl.concat(frames, how="vertical_relaxed")["id"]
