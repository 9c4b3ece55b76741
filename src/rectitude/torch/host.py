"""Convert a batch for the CPU: every tensor becomes an array, a sparse matrix or a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from rectitude.data.frames import series
from rectitude.errors import BadArgument, BadLists, BadTruth
from rectitude.predictions.lists import Lists
from rectitude.predictions.logits import Logits
from rectitude.torch.held import Ranked, in_memory, shape_of
from rectitude.torch.tensors import (
    EMPTY,
    cells_of_padded,
    cells_on_host,
    layout_of,
    to_array,
    to_plain,
)

Batch = tuple[object, object, dict[str, Any]]
"""Predictions, truth, and the other arguments, as `evaluate` takes them."""

_CELLS = ("train", "seen", "candidates")
"""Arguments that may be tensors of columns."""


def inputs_on_host(predictions: object, truth: object, more: Mapping[str, Any]) -> Batch:
    """Return the batch without tensors."""
    if isinstance(predictions, Ranked):
        return open_ranked(predictions, truth, more)
    shape = shape_of(predictions)
    masks = {what: _open_cells(more.get(what), shape, what) for what in _CELLS}
    rest = {what: to_plain(value) for what, value in more.items()}
    if isinstance(predictions, Logits) and isinstance(truth, Tensor) and shape is not None:
        truth = read_targets(truth, shape)
    return in_memory(predictions), _open_cells(truth, shape, "truth"), {**rest, **masks}


def _open_cells(value: object, shape: tuple[int, int] | None, what: str) -> object:
    if not isinstance(value, Tensor):
        return value
    if shape is None:
        raise BadArgument(
            f"{what} is a tensor, which refers to columns of scores, but the shape of the scores "
            "is not known.",
            "predictions that are a tensor or an array of scores.",
            f"pass {what} as a table with the columns user and item instead.",
        )
    if layout_of(value, *shape, what) == "padded":
        cells = cells_of_padded(to_array(value), shape[1], "given" if what == "truth" else "any")
        if cells is not None:
            return cells
    return cells_on_host(value, *shape, what).cells(*shape, what)


def read_targets(truth: Tensor, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return one target per row; each of them must be a class."""
    require_targets(truth)
    cells = cells_on_host(truth, *shape, "targets")
    cells.require_inside(shape[1], "targets")
    return cells.column


def require_targets(truth: Tensor) -> None:
    """Raise an error if a tensor does not hold one target per row of logits."""
    if truth.ndim != 1:
        raise BadArgument(
            f"the truth of logits is a tensor of shape {tuple(truth.shape)}.",
            "one target per row.",
            "use rt.Scores for rows with several relevant columns.",
        )


def open_ranked(predictions: Ranked, truth: object, more: Mapping[str, Any]) -> Batch:
    """Return ranked lists in tensors as tables."""
    predictions.require_fitting()
    items = to_array(predictions.items)
    scores = None if predictions.scores is None else to_array(predictions.scores)
    keys = _keys(predictions, more.get("list_key", "user"))
    table = _open_truth(truth, keys) if isinstance(truth, Tensor) else truth
    rest = {what: _open_argument(value, what) for what, value in more.items()}
    return lists_of(items, scores, keys), table, rest


def lists_of(
    items: NDArray[Any], scores: NDArray[Any] | None, keys: Mapping[str, pl.Series]
) -> Lists:
    """Return lists as a table; `keys` are the ids of the rows, and the last are those of lists."""
    wrong = items < EMPTY
    if wrong.any():
        first = int(np.flatnonzero(wrong.any(axis=1))[0])
        raise BadLists(
            f"{int(wrong.sum())} of {items.size} items are negative (first: row {first}).",
            "item numbers of at least 0, or -1 for an empty position.",
        )
    row, position = np.nonzero(items != EMPTY)
    named = {role: ids.gather(row) for role, ids in keys.items()}
    order = (
        {"rank": position}
        if scores is None
        else {"score": scores[row, position].astype(np.float64)}
    )
    frame = pl.DataFrame({**named, "item": items[row, position], **order})
    key = list(keys)[-1]
    return Lists(frame, users=keys[key])


def _keys(predictions: Ranked, list_key: str) -> dict[str, pl.Series]:
    rows, users = len(predictions.items), to_plain(predictions.users)
    if predictions.lists is None:
        return {"user": ids_of_rows(users, rows, "users")}
    if list_key == "user":
        raise BadArgument(
            "the lists were given keys with lists=, but list_key= does not name their column.",
            "list_key= with the column of the truth that holds the keys of lists.",
            "for example list_key='session'.",
        )
    key = {list_key: ids_of_rows(to_plain(predictions.lists), rows, "lists")}
    return key if users is None else {"user": ids_of_rows(users, rows, "users"), **key}


def ids_of_rows(ids: object | None, rows: int, what: str) -> pl.Series:
    """Return the ids of rows: the given ones, or numbers from 0."""
    if ids is None:
        return pl.Series(what, np.arange(rows))
    column = series(ids, what)
    if len(column) != rows:
        raise BadLists(f"{what} has {len(column)} ids for {rows} rows.", "one id per row.")
    return column


def _open_argument(value: object, what: str) -> object:
    if isinstance(value, Tensor) and what in _CELLS:
        raise BadArgument(
            f"{what} is a tensor, which refers to columns of scores, but predictions are lists.",
            "a table with the columns user and item.",
        )
    return to_plain(value)


def _open_truth(truth: Tensor, keys: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Return the relevant items of each row as a table."""
    rows = len(next(iter(keys.values())))
    width = 0 if truth.layout == torch.strided else truth.shape[1]  # dense ones hold item numbers
    cells = cells_on_host(truth, rows, width, "truth")
    wrong = cells.column < (EMPTY if cells.layout == "padded" else 0)
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise BadTruth(
            f"{int(wrong.sum())} of {len(wrong)} items of the truth are negative (first: row "
            f"{int(cells.row[first])}, {int(cells.column[first])}).",
            "item numbers of at least 0, or -1 for an empty position of a padded tensor.",
        )
    filled = cells.column >= 0
    owner = {role: ids.gather(cells.row[filled]) for role, ids in keys.items()}
    return pl.DataFrame({**owner, "item": cells.column[filled], "grade": cells.value[filled]})
