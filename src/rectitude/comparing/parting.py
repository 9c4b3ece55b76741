"""Slices of evaluations that are there already: by columns of the users' table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rectitude.aggregate.evaluation import Evaluation, Result
from rectitude.arrays import Integers
from rectitude.data.attributes import Attributes
from rectitude.data.cutting import labelled
from rectitude.data.ids import Column
from rectitude.data.slicing import Axis, Coded, Slicing, crossed, named, parse
from rectitude.engines.axes import OWN, entries
from rectitude.errors import MissingNeed

if TYPE_CHECKING:
    from rectitude.data.table import Table

ALL = "all"


def parted(
    evaluation: Evaluation, by: Any, given: Mapping[str, Any], model: str
) -> dict[str, Evaluation]:
    """The evaluation, and one of each slice of its users, whose numbers are means of lists."""
    slicing = _slicing(evaluation, parse(by), given, model)
    found = {ALL: evaluation}
    for label, members in zip(slicing.labels, slicing.members, strict=True):
        if len(members):
            own = f"{slicing.name}: {label}" if label == ALL else label
            found[own] = _only(evaluation, members)
    return found


def _slicing(
    evaluation: Evaluation, axes: tuple[Axis, ...], given: Mapping[str, Any], model: str
) -> Slicing:
    """Which lists belong to which slice, as `evaluate` has it of users."""
    from rectitude.data.read import read

    users, table = given.get("users"), None
    if users is not None:
        table = read(users, "users", hints=given.get("columns"))
    owners = Column(evaluation.per_list()["user"], f"the evaluation {model}")
    coded = [_coded(axis, owners, table, model) for axis in axes]
    return crossed(named(axes), "lists", coded)


def _coded(axis: Axis, owners: Column, table: Table | None, model: str) -> Coded:
    column = axis.name.removeprefix("users.")
    known = [] if table is None else [name for name in table.frame.columns if name != "list"]
    if table is None or column not in known or axis.name in OWN:
        there = f": {', '.join(known)}" if known else ""
        raise MissingNeed(
            f"{model} is evaluated already, and slices by {axis} need what it was made of.",
            f"a column of users= (--users){there}; or predictions and truth.",
        )
    about = Column(table.frame["list"], table.source, table.text)
    entry, row, size = entries(owners, about, "user")
    return labelled(axis, Attributes("user", table, row, size), column, entry)


def _only(evaluation: Evaluation, members: Integers) -> Evaluation:
    """The evaluation of some lists."""
    results, failures = {}, dict(evaluation.failures)
    for name, result in evaluation.results.items():
        if result.values is not None and result.convention.get("average") == "micro":
            told = "values of lists do not tell a micro average of some of them"
            failures[name] = MissingNeed(f"{told}.", "predictions and truth.")
        elif result.values is not None:
            values = np.full(len(result.values), np.nan)
            values[members] = result.values[members]
            results[name] = replace(result, values=values, interval=None, ties=None)
        else:
            results[name] = result
    part = replace(evaluation, results=results, failures=failures)
    return replace(part, results={name: _numbered(part, name) for name in results})


def _numbered(part: Evaluation, name: str) -> Result:
    """The mean of the lists that are left, or of their users, in place of the number of all."""
    result = part.results[name]
    if result.values is None:
        return result
    values, weights = result.values, None if part.lists is None else part.lists.weights
    if result.convention.get("unit") == "user":
        alone = replace(part, results={name: result})
        values, weights = alone.per_user()[name].fill_null(np.nan).to_numpy(), None
    there = np.isfinite(values)
    share = np.ones(len(there)) if weights is None else weights
    whole = float(share[there].sum())
    scale = 100.0 if result.convention.get("scale") == "percent" else 1.0
    value = scale * float(values[there] @ share[there]) / whole if whole else float("nan")
    return replace(result, value=value, counted=int(there.sum()))
