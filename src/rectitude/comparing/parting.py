"""Slices of evaluations that are there already: by a column of the users' table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rectitude.aggregate.evaluation import Evaluation, Result
from rectitude.arrays import Flags
from rectitude.data.slicing import NO_VALUE, Axis, named, parse
from rectitude.errors import MissingNeed, unknown_name

if TYPE_CHECKING:
    import polars as pl

ALL = "all"


def parted(
    evaluation: Evaluation, by: Any, given: Mapping[str, Any], model: str
) -> dict[str, Evaluation]:
    """The evaluation, and one of each slice of its users, whose numbers are means of lists."""
    axes = parse(by)
    labels = _labels(evaluation, axes, given.get("users"), model)
    found = {ALL: evaluation}
    for label in sorted(labels.unique().to_list(), key=lambda one: (one == NO_VALUE, one)):
        found[label] = _only(evaluation, (labels == label).to_numpy())
    return found


def _labels(evaluation: Evaluation, axes: tuple[Axis, ...], users: object, model: str) -> pl.Series:
    """(lists,) the slice of each list."""
    import polars as pl

    from rectitude.data.read import read

    if users is None or any(axis.parts or axis.edges for axis in axes):
        raise MissingNeed(
            f"{model} is evaluated already, and slices by {named(axes)} need what it was made of.",
            "a column of users= (--users), uncut, or predictions and truth.",
        )
    table = read(users, "users").frame
    for axis in axes:
        if axis.name not in table.columns:
            raise unknown_name("column", axis.name, table.columns, where="users")
    owner = evaluation.per_list()["user"]
    facts = table.unique("list", keep="first").with_columns(pl.col("list").cast(owner.dtype))
    joined = owner.to_frame().join(
        facts, left_on="user", right_on="list", how="left", maintain_order="left"
    )
    texts = [pl.col(axis.name).cast(pl.String).fill_null(NO_VALUE) for axis in axes]
    return joined.select(pl.concat_str(texts, separator=", ").alias("slice"))["slice"]


def _only(evaluation: Evaluation, chosen: Flags) -> Evaluation:
    """The evaluation of some lists."""
    results = {name: _result(result, chosen) for name, result in evaluation.results.items()}
    return replace(evaluation, results=results)


def _result(result: Result, chosen: Flags) -> Result:
    if result.values is None:
        return result
    values = np.where(chosen, result.values, np.nan)
    there = values[np.isfinite(values)]
    scale = 100.0 if result.convention.get("scale") == "percent" else 1.0
    value = scale * float(there.mean()) if len(there) else float("nan")
    return replace(result, values=values, value=value, counted=len(there), interval=None, ties=None)
