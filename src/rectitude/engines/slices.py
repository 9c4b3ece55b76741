"""Evaluations of slices: the same lists, with one part of the truth at a time.

A slice is a part of the rows of the truth. Its evaluation knows no other relevant items and no
other users: what a list holds of another slice counts as not relevant, and takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Literal, Unpack, get_args

import numpy as np

from rectitude.aggregate.evaluation import Evaluation
from rectitude.arrays import Flags
from rectitude.data.ids import Column, align
from rectitude.data.sources import Sources
from rectitude.data.table import Table
from rectitude.engines.cells import named, table_made
from rectitude.engines.local import asked_of, evaluation_of
from rectitude.engines.opening import Inputs, given_of, opened
from rectitude.engines.part import computed
from rectitude.errors import MissingNeed, NothingToEvaluate, unknown_name
from rectitude.profiles import profile_of
from rectitude.splits.unknown import SLICES

By = Literal["known"]


def slices(
    predictions: object,
    truth: object,
    metrics: str | Iterable[str] | None = None,
    convention: object = None,
    *,
    by: By = "known",
    intervals: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **inputs: Unpack[Inputs],
) -> dict[str, Evaluation]:
    """The evaluation of all lists, and one of every slice that has any, by name.

    `by="known"` parts the truth by what training (`train=`) holds: warm, unknown user, unknown
    item, both. The other arguments are those of `evaluate`. How many rows each slice has, and why
    one could not be evaluated, stands in the ledger of "all".
    """
    if by not in get_args(By):
        raise unknown_name("slices", by, get_args(By))
    profile = profile_of(convention)
    asked = asked_of(metrics, profile, predictions)
    given = replace(given_of(predictions, truth, inputs, profile.padding), progress=progress)
    wanted = list(computed(asked, profile).values())
    sources = opened(given, wanted, profile.convention)
    found = {"all": evaluation_of(sources, asked, profile, intervals)}
    ledger = found["all"].ledger
    labels = _SLICES[by](sources)
    for name, rows in labels.items():
        about = f"rows of the truth are in the slice {name!r}"
        ledger.count(f"slice_{name.replace(' ', '_')}", int(rows.sum()), about, of=len(rows))
        if not rows.any():
            continue
        try:
            found[name] = evaluation_of(_only(sources, rows), asked, profile, intervals)
        except NothingToEvaluate as error:
            ledger.note(name, f"not evaluated: {error.found}")
    return found


def _only(sources: Sources, rows: Flags) -> Sources:
    """The same evaluation of some rows of the truth and of the users they belong to."""
    truth = replace(sources.truth, frame=sources.truth.frame.filter(rows))
    users, key = sources.users, "list" if sources.key == "user" else "user"
    if key in truth.frame.columns and users is None:
        ids = truth.frame[key].alias("list").to_frame()
        users = replace(truth, frame=ids, columns={"list": ""}, handed=None)
    elif key in truth.frame.columns and users is not None:
        chosen = _held((users, "list"), (truth, key), "user")
        users = replace(users, frame=users.frame.filter(chosen))
    return replace(sources, truth=truth, users=users)


def _held(own: tuple[Table, str], other: tuple[Table, str], what: str) -> Flags:
    """(rows) whether the id in a column of one table stands in a column of another."""
    columns = {
        side: Column(table.frame[name], table.source, table.text)
        for side, (table, name) in (("own", own), ("other", other))
    }
    codes = align(columns, what).codes
    return np.isin(codes["own"].whole, codes["other"].whole)


def _known(sources: Sources) -> dict[str, Flags]:
    """(rows of the truth) what training knows of the user and of the item."""
    truth, train = sources.truth, _train(sources)
    user = ~_held((truth, _owner(sources)), (train, "list"), "user")
    item = ~_held((truth, "item"), (train, "item"), "item")
    slice_of = user + 2 * item.astype(int)
    return {name: slice_of == number for number, name in enumerate(SLICES)}


def _owner(sources: Sources) -> str:
    return "user" if "user" in sources.truth.frame.columns else "list"


def _train(sources: Sources) -> Table:
    if sources.train is not None:
        return sources.train
    if sources.seen is None or sources.dense is None:
        raise MissingNeed(
            "nothing says which users and items are known.", "train= with the training data.",
        )  # fmt: skip
    cells, dense = sources.seen, sources.dense
    ids = named(dense, cells.rows(), cells.column)
    return table_made({"list": ids.get("user", ids["list"]), "item": ids["item"]}, "train")


_SLICES: Mapping[str, Callable[[Sources], dict[str, Flags]]] = {"known": _known}
