"""Opening what was handed to an evaluation: tables are read, dense scores get their masks.

What a convention makes of seen items, and of users and items that a row of scores or training says
nothing of, is settled here for all metrics alike: other columns make other rankings.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, Literal, NamedTuple, TypedDict, get_args

import numpy as np
import polars as pl

from rectitude.arrays import Integers, Ragged
from rectitude.candidates.value import Candidates, stored
from rectitude.convention import Convention
from rectitude.data.dense import Block, Dense
from rectitude.data.matrices import load, matrix
from rectitude.data.read import read
from rectitude.data.table import Inputs, Table, What
from rectitude.errors import BadName, BadTable, unknown_name
from rectitude.evaluation.restrict import (
    Offered,
    competing,
    named,
    offered_by,
    outside,
    restricted,
    scores_beside,
    table_made,
)
from rectitude.judge.judged import is_relevant
from rectitude.parallel import together
from rectitude.predictions.lists import Lists
from rectitude.predictions.logits import Logits, whole_targets
from rectitude.predictions.masks import by_position, cells, from_table, has_column, has_row
from rectitude.predictions.scores import Embeddings, Scores, are_numbers, column_of
from rectitude.profiles import Asked


class Arguments(TypedDict, total=False):
    """What may be handed over beside predictions and truth, as `evaluate` takes it."""

    train: object
    items: object
    users: object
    candidates: object
    ranking: object
    weights: object
    list_key: str
    columns: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Given:
    """What was handed over, by name, as it came."""

    inputs: Mapping[str, object]
    ranking: object = None
    list_key: str = "user"
    columns: Mapping[str, str] | None = None
    progress: Callable[[int, int], None] | None = None
    padding: object = None
    """the item that the profile holds to be padding"""
    keep: tuple[str, ...] = ()
    """columns of predictions and truth that are kept beside their own"""


def given_of(
    predictions: object, truth: object, inputs: Arguments, padding: object = None
) -> Given:
    """What was handed over, from the keywords of a function."""
    known: dict[str, Any] = {**inputs}
    for name in known.keys() - Arguments.__annotations__:
        raise unknown_name("argument", name, Arguments.__annotations__)
    ranking, columns = known.pop("ranking", None), known.pop("columns", None)
    list_key = known.pop("list_key", "user")
    tables = dict.fromkeys(("train", "items", "users", "weights", "candidates")) | known
    both = {"predictions": predictions, "truth": truth}
    return Given({**both, **tables}, ranking, list_key, columns, padding=padding)


class Reach(NamedTuple):
    """How far metrics look into dense scores."""

    depth: int | None
    """the deepest rank; None for all"""
    loss: Literal["loss", "ranks"]
    chances: Literal["chances", "none"]

    @staticmethod
    def of(asked: Collection[Asked]) -> Reach:
        """What metrics look at, all together."""
        depths = [_depth(one) for one in asked]
        known = [depth for depth in depths if depth is not None]
        loss, sure = (any(w in one.metric.requires for one in asked) for w in ("logits", "chances"))
        return Reach(
            max(known) if len(known) == len(depths) else None,
            "loss" if loss else "ranks",
            "chances" if sure else "none",
        )


def _depth(asked: Asked) -> int | None:
    """The deepest rank that a metric looks at; None for all."""
    metric = asked.metric
    hits_anywhere = asked.convention.ideal == "listed" and "ideal" in metric.obeys
    whole = "scores" in metric.requires or metric.reach == "list" or hits_anywhere
    whole |= asked.convention.score_precision == "logistic"  # two readings, pair by pair
    return None if whole else asked.cutoff


def opened(given: Given, reach: Reach, convention: Convention) -> Inputs:
    """Everything that was handed over, ready to be brought together."""
    if given.inputs["candidates"] is not None:
        known = stored(given.inputs["candidates"])
        given = replace(given, inputs={**given.inputs, "candidates": known})
    predictions = given.inputs["predictions"]
    if isinstance(predictions, (Scores, Logits, Embeddings)):
        return _dense(given, predictions, reach, convention)
    if given.ranking is not None:
        raise BadName(
            "ranking= was given, and the predictions are lists.",
            "dense predictions: rt.Scores, rt.Logits or rt.Embeddings.",
        )
    tables = _tables(given, {})
    offered = _offered(given, tables)
    sources = Inputs(**tables, key=given.list_key)
    return sources if offered is None else restricted(sources, offered, convention)


def _offered(given: Given, tables: dict[str, Any]) -> Offered | None:
    """The candidates, taken out of the tables if they are one."""
    known = given.inputs.get("candidates")
    if isinstance(known, Candidates):
        return offered_by(known)
    return Offered(tables.pop("candidates")) if "candidates" in tables else None


def _tables(given: Given, ready: Mapping[str, Table]) -> dict[str, Any]:
    """Every table, read; `ready` ones are taken as they are."""
    tables: dict[str, Table] = dict(ready)
    inputs, key = given.inputs, given.list_key

    def load_table(what: What) -> None:
        keep = given.keep if what in ("predictions", "truth") else ()
        tables[what] = read(inputs[what], what, hints=given.columns, list_key=key, keep=keep)

    needed = ("predictions", "truth")
    wanted = [w for w in get_args(What) if inputs.get(w) is not None or w in needed]
    wanted = [w for w in wanted if w not in ready and not isinstance(inputs[w], Candidates)]
    if not wanted:
        return tables
    together([partial(load_table, what) for what in wanted])
    seen = {name for table in tables.values() for name in table.columns.values()}
    unseen = {role: name for role, name in (given.columns or {}).items() if name not in seen}
    for what in wanted if unseen else ():
        read(inputs[what], what, columns=unseen, list_key=key)  # says which names there are
    return tables


def _dense(
    given: Given,
    predictions: Scores | Logits | Embeddings,
    reach: Reach,
    convention: Convention,
) -> Inputs:
    dense = replace(
        _padded(predictions.opened(), given),
        depth=reach.depth,
        want_loss=reach.loss,
        want_chances=reach.chances,
        progress=given.progress,
    )
    _require_fitting(dense, given, convention)
    inputs = dict(given.inputs)
    ready = {"predictions": dense.table}
    if dense.kind == "logits":
        ready["truth"] = _targets(dense, inputs["truth"])
        _refuse(inputs, ("train", "candidates"))
    elif _sparse(inputs["truth"]):
        ready["truth"] = _sparse_truth(dense, inputs["truth"])
    train, cells_offered, seen = inputs["train"], None, None
    if _sparse(train):
        seen = cells(dense, relevant_cells(train, convention), "train")
        inputs["train"] = None
    if _sparse(inputs["candidates"]):
        cells_offered = cells(dense, inputs.pop("candidates"), "candidates")
    given = replace(given, inputs=inputs)
    tables = _tables(given, ready)
    offered = _offered(given, tables) or cells_offered
    if train is not None and seen is None and dense.kind == "scores":
        seen = from_table(dense, relevant_rows(tables["train"], convention), "train")
    seen = _still_seen(dense, seen, tables["truth"], convention)
    if given.ranking is not None and dense.kind == "scores":
        tables["predictions"] = _recorded_lists(dense, given)
        masked = None if convention.seen == "kept" else seen
        beside = partial(scores_beside, dense, masked, tables["predictions"])
        return Inputs(**tables, key=given.list_key, beside=beside)
    sources = Inputs(**tables, key=given.list_key, dense=dense, seen=seen)
    if offered is not None:
        return competing(sources, offered, convention)
    if dense.kind == "scores":
        dense = with_unknown(dense, tables["truth"], tables.get("train"), convention)
    recorded = None if given.ranking is None else _recorded(dense, given.ranking)
    return replace(sources, dense=dense, recorded=recorded)


def _still_seen(
    dense: Dense, seen: Ragged | None, truth: Table, convention: Convention
) -> Ragged | None:
    """What counts as seen, where that depends on the truth."""
    if seen is None or convention.seen_items == "all":
        return seen
    return outside(dense, seen, relevant_of(truth, convention))


def _padded(dense: Dense, given: Given) -> Dense:
    """The scores without the profile's padding item, unless another was named."""
    if dense.padding is not None or given.padding is None or dense.kind == "logits":
        return dense
    return replace(dense, padding=column_of(dense.items, given.padding))


def _require_fitting(dense: Dense, given: Given, convention: Convention) -> None:
    """Refuse what would be ignored or cannot be told."""
    if "user" in dense.table.frame.columns and given.list_key == "user":
        raise BadName(
            "the scores have users= and lists=, and list_key= does not say what the lists are.",
            "list_key= with the column of the truth that holds the keys of lists.",
            "list_key='session', for example.",
        )
    if given.inputs["candidates"] is None:
        return
    if given.ranking is not None:
        raise BadName(
            "candidates= and ranking= were given.", "one of them: a recorded order is final."
        )
    if convention.seen == "last":
        raise BadName(
            "candidates= was given, and seen='last' ranks all other items first.",
            "seen='removed' or 'kept' with candidates.",
        )


def _refuse(inputs: Mapping[str, object], names: Sequence[str]) -> None:
    for name in names:
        if inputs.get(name) is not None:
            raise BadName(
                f"{name}= was given, and the predictions are logits, of which every class counts.",
                "rt.Scores for items that can be masked.",
            )


def _sparse(given: object) -> bool:
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(given))


def _targets(dense: Dense, given: object) -> Table:
    if isinstance(given, (str, PathLike)):
        given = next(iter(load(given).values()))
    target = whole_targets(given, dense.rows)
    return table_made({"list": dense.table.frame["list"], "item": target}, "targets")


def _sparse_truth(dense: Dense, given: Any) -> Table:
    matrix = by_position(dense, given, "truth")
    rows = np.repeat(np.arange(dense.rows), np.diff(matrix.indptr))
    if dense.named or not are_numbers(dense.items):
        columns: dict[str, Any] = {**named(dense, rows, matrix.indices)}
    else:  # rows and columns are their own names
        columns = {"list": rows, "item": matrix.indices.astype(np.int64)}
    columns["grade"] = matrix.data.astype(np.float64)
    return table_made(columns, "sparse matrix")


def _recorded_lists(dense: Dense, given: Given) -> Table:
    """A recorded order of scores as lists: a table, or the columns of each row in order."""
    handed, ranking = dense.table.frame["list"], given.ranking
    if not isinstance(ranking, np.ndarray):
        key = given.list_key
        table = read(Lists(ranking), "predictions", hints=given.columns, list_key=key)
        if "user" in dense.table.frame.columns and "user" not in table.frame.columns:
            raise BadTable(
                "ranking does not say which users its lists belong to, and the scores do.",
                f"a user column beside {key!r}.",
            )
        same = handed.cast(pl.String) if table.text and handed.dtype != pl.Object else handed
        return replace(table, handed=same)
    order = _recorded(dense, ranking)
    rows, places = np.nonzero(order >= 0)
    columns = {**named(dense, rows, order[rows, places]), "rank": places}
    return replace(table_made(columns, "recorded order", given=True), handed=handed)


def _recorded(dense: Dense, ranking: object) -> Integers:
    """(rows, places) the columns of each row in order; a single column is the first place."""
    order = matrix(ranking, "ranking", (1, 2))
    order = order[:, None] if order.ndim == 1 else order
    wrong = len(order) != dense.rows or order.dtype.kind not in "iu"
    if wrong or order.max() >= dense.columns or order.min() < -1:
        raise BadTable(
            f"ranking has the shape {order.shape}, the type {order.dtype} and numbers from "
            f"{order.min()} to {order.max()}.",
            f"{dense.rows} rows of column numbers below {dense.columns}, -1 for an empty place.",
        )
    return order.astype(np.int64)


def settled_when_opened(convention: Convention, offered: bool) -> dict[str, object]:
    """The choices that opening looks at: under others, the same inputs must be opened anew.

    `offered` says whether candidates were handed over.
    """
    masks = convention.seen_items
    return {
        "candidates": convention.candidates if offered else None,
        "seen": convention.seen if offered else None,
        "seen_items": masks,
        "relevant_from": None if masks == "all" else convention.relevant_from,
        "unknown_items": convention.unknown_items == "lowest",
        "unknown_users": convention.unknown_users == "tied",
    }


def require_settled(asked: Asked, convention: Convention, offered: bool) -> None:
    """An error if a metric wants a choice for itself that is made for all metrics at once."""
    own, common = (settled_when_opened(c, offered) for c in (asked.convention, convention))
    for switch in [name for name in own if own[name] != common[name]]:
        value = getattr(asked.convention, switch)
        what = "candidates are taken" if offered else "scores are opened"
        raise BadName(
            f"{str(asked.name)!r} sets {switch}={value!r} for itself, and {what} once.",
            "the same choice for all metrics.",
            f"pass convention={{'{switch}': {value!r}}} to an evaluation of its own.",
        )


def relevant_rows(train: Table, convention: Convention) -> Table:
    """The training data, without rows that are not relevant if those do not mask their items."""
    return relevant_of(train, convention) if _by_grade(convention) else train


def relevant_of(table: Table, convention: Convention) -> Table:
    """The relevant rows of a table; without grades, all."""
    if "grade" not in table.frame.columns:
        return table
    grades = table.frame["grade"].cast(float).to_numpy()
    return replace(table, frame=table.frame.filter(is_relevant(grades, convention.relevant_from)))


def _by_grade(convention: Convention) -> bool:
    return convention.seen_items == "relevant_outside_truth"


def relevant_cells(train: Any, convention: Convention) -> Any:
    """The same of a sparse matrix, whose values are the grades."""
    if not _by_grade(convention):
        return train
    kept = train.tocsr(copy=True)
    kept.data = is_relevant(kept.data, convention.relevant_from).astype(np.int8)
    return kept


def with_unknown(dense: Dense, truth: Table, train: Table | None, convention: Convention) -> Dense:
    """The scores with a column for every item of the truth that has none, at the lowest score of
    the row, and with equal scores for users not met in training, where the convention says so."""
    missing, known = None, None
    if convention.unknown_items == "lowest":
        missing = _without_column(dense, truth)
    if convention.unknown_users == "tied" and train is not None:
        known = has_row(dense, train)
    if missing is None and known is None:
        return dense
    more = 0 if missing is None else len(missing)

    def blocks() -> Iterator[Block]:
        for first, last, block in dense.spans():
            real = block if dense.padding is None else np.delete(block, dense.padding, axis=1)
            lowest = np.repeat(real.min(axis=1, keepdims=True), more, axis=1)
            wide = np.concatenate((block, lowest), axis=1)
            if known is not None:
                wide[~known[first:last]] = 0
            yield wide

    items = dense.items if missing is None else dense.items.append(missing)
    return replace(dense, columns=dense.columns + more, items=items, blocks=blocks)


def _without_column(dense: Dense, truth: Table) -> pl.Series:
    """The items of the truth that no column stands for, each once, in the type of the columns."""
    items = truth.frame["item"].filter(~has_column(dense, truth)).unique(maintain_order=True)
    return items.cast(dense.items.dtype)
