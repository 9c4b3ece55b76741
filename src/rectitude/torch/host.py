"""A batch for main memory: every tensor becomes an array, a sparse matrix or a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from rectitude.data.frames import series
from rectitude.errors import BadLists, BadName, BadTruth
from rectitude.predictions.lists import Lists
from rectitude.predictions.logits import Logits
from rectitude.torch.held import Ranked, in_memory, shape_of
from rectitude.torch.tensors import EMPTY, array, on_host, plain

Batch = tuple[object, object, dict[str, Any]]
"""Predictions, truth, and what else was handed over, as `evaluate` takes them."""


def on_host_inputs(predictions: object, truth: object, more: Mapping[str, Any]) -> Batch:
    """The batch without tensors."""
    if isinstance(predictions, Ranked):
        return ranked_inputs(predictions, truth, more)
    shape = shape_of(predictions)
    sides = {what: _cells(more.get(what), shape, what) for what in ("train", "candidates")}
    rest = {what: plain(value) for what, value in more.items()}
    if isinstance(predictions, Logits) and isinstance(truth, Tensor) and shape is not None:
        truth = targets(truth, shape)
    return in_memory(predictions), _cells(truth, shape, "truth"), {**rest, **sides}


def _cells(given: object, shape: tuple[int, int] | None, what: str) -> object:
    if not isinstance(given, Tensor):
        return given
    if shape is None:
        raise BadName(
            f"{what} is a tensor, whose columns are those of scores, and these are not known.",
            "scores in a tensor or an array.",
        )
    return on_host(given, *shape, what).matrix(*shape, what)


def targets(given: Tensor, shape: tuple[int, int]) -> NDArray[np.int64]:
    """One target a row, each of them a class."""
    require_targets(given)
    taken = on_host(given, *shape, "targets")
    taken.require_inside(shape[1], "targets")
    return taken.column


def require_targets(given: Tensor) -> None:
    """An error if a tensor cannot be one target for each row of logits."""
    if given.ndim != 1:
        raise BadName(
            f"the truth of logits is a tensor of shape {tuple(given.shape)}.",
            "one target a row.",
            "rt.Scores for rows with several relevant columns.",
        )


def ranked_inputs(predictions: Ranked, truth: object, more: Mapping[str, Any]) -> Batch:
    """Lists in tensors as tables."""
    predictions.require_fitting()
    items = array(predictions.items)
    scores = None if predictions.scores is None else array(predictions.scores)
    keys = _keys(predictions, more.get("list_key", "user"))
    given = _table(truth, keys) if isinstance(truth, Tensor) else truth
    rest = {what: _beside(value, what) for what, value in more.items()}
    return lists_of(items, scores, keys), given, rest


def lists_of(
    items: NDArray[Any], scores: NDArray[Any] | None, keys: Mapping[str, pl.Series]
) -> Lists:
    """Lists as a table; `keys` are the ids of rows, those of the lists last."""
    wrong = items < EMPTY
    if wrong.any():
        first = int(np.flatnonzero(wrong.any(axis=1))[0])
        raise BadLists(
            f"{int(wrong.sum())} of {items.size} items are negative (first: row {first}).",
            "item numbers from 0, -1 for an empty place.",
        )
    row, place = np.nonzero(items != EMPTY)
    named = {role: ids.gather(row) for role, ids in keys.items()}
    order = {"rank": place} if scores is None else {"score": scores[row, place].astype(np.float64)}
    frame = pl.DataFrame({**named, "item": items[row, place], **order})
    key = list(keys)[-1]
    return Lists(frame, users=keys[key])


def _keys(predictions: Ranked, list_key: str) -> dict[str, pl.Series]:
    rows, users = len(predictions.items), plain(predictions.users)
    if predictions.lists is None:
        return {"user": names(users, rows, "users")}
    if list_key == "user":
        raise BadName(
            "the lists have lists=, and list_key= does not say what they are.",
            "list_key= with the column of the truth that holds the keys of lists.",
            "list_key='session', for example.",
        )
    own = {list_key: names(plain(predictions.lists), rows, "lists")}
    return own if users is None else {"user": names(users, rows, "users"), **own}


def names(given: object | None, rows: int, what: str) -> pl.Series:
    """The ids of rows: those given, or numbers from 0."""
    if given is None:
        return pl.Series(what, np.arange(rows))
    ids = series(given, what)
    if len(ids) != rows:
        raise BadLists(f"{what} names {len(ids)}, and there are {rows} rows.", "one id a row.")
    return ids


def _beside(given: object, what: str) -> object:
    if isinstance(given, Tensor) and what in ("train", "candidates"):
        raise BadName(
            f"{what} is a tensor, whose columns are those of scores, and these are lists.",
            "a table with the columns user and item.",
        )
    return plain(given)


def _table(truth: Tensor, keys: Mapping[str, pl.Series]) -> pl.DataFrame:
    """A truth of items by row, as a table."""
    rows = len(next(iter(keys.values())))
    width = 0 if truth.layout == torch.strided else truth.shape[1]  # dense ones name items
    taken = on_host(truth, rows, width, "truth")
    wrong = taken.column < (EMPTY if taken.layout == "padded" else 0)
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise BadTruth(
            f"{int(wrong.sum())} of {len(wrong)} items of the truth are negative (first: row "
            f"{int(taken.row[first])}, {int(taken.column[first])}).",
            "item numbers from 0, -1 for an empty place of a padded tensor.",
        )
    there = taken.column >= 0
    owner = {role: ids.gather(taken.row[there]) for role, ids in keys.items()}
    return pl.DataFrame({**owner, "item": taken.column[there], "grade": taken.value[there]})
