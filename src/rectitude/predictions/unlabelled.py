"""Predictions without ids: arrays, tensors, pivot frames, and lists of lists.

Their users, and the items of arrays, are positions, so the truth must be by position as well: a
matrix of the same shape, as many lists, or ids that can be row and column numbers. Everything else
is refused, because numbers that happen to fit would give a wrong result.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rectitude.arrays import Ragged
from rectitude.data.dense import Dense
from rectitude.data.frames import is_held
from rectitude.data.ids import whole_numbers
from rectitude.data.ledger import Ledger
from rectitude.data.matrices import matrix
from rectitude.data.pivots import is_pivot, may_be_top_items, pivot_of, source_of_cells
from rectitude.data.table import Table
from rectitude.errors import BadArgument, BadIds
from rectitude.predictions.masks import Cells, are_cells
from rectitude.predictions.scores import Embeddings, Scores, are_numbers, in_order

_MOST_MISSING = 1 / 4
"""The share of ids that may be missing in a truth from which that of 0 is suspicious."""
_MEANING = {"user": "says only which users to evaluate", "item": "is only the catalogue"}


class Recognised(NamedTuple):
    """Predictions and truth in a form that says what they are, and how they were read."""

    predictions: object
    truth: object
    note: str = ""


def recognise(predictions: Any, truth: Any) -> Recognised:
    """Return arrays and frames of scores as `Scores`, and a dense truth as cells."""
    if isinstance(predictions, (Scores, Embeddings)):
        by_position = is_held(getattr(predictions, "source", None)) and _is_by_position(truth)
        return Recognised(predictions, _cells_of(truth, predictions), _BY_POSITION[by_position])
    if is_array(predictions) and predictions.ndim > 1 and predictions.dtype != object:
        return _recognise_array(predictions, truth)
    if is_held(predictions) and (are_cells(truth) or is_array(truth) or is_pivot(predictions)):
        return _recognise_pivot(predictions, truth)
    if are_cells(predictions) and is_array(truth) and truth.ndim == 2:
        return _recognise_sparse(predictions, truth)
    if _are_lists(predictions) or _are_lists(truth):
        return _recognise_lists(predictions, truth)
    return Recognised(predictions, truth)


def is_array(given: Any) -> bool:
    """Whether something is an array of NumPy or a tensor of torch."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return isinstance(given, np.ndarray) or (tensor is not None and isinstance(given, tensor))


def _recognise_array(array: Any, truth: Any) -> Recognised:
    if _are_lists(truth) and not holds_floats(array):
        return _recognise_lists(array.tolist(), truth)
    kind = "NumPy array" if isinstance(array, np.ndarray) else "torch tensor"
    shape = " x ".join(map(str, array.shape))
    if not holds_floats(array):
        raise BadArgument(
            f"predictions is a {kind} ({shape}) of type {array.dtype}, which could hold scores or"
            " recommended items.",
            "an array of floats, or predictions that say what they are.",
            "use rt.Scores(array, users=..., items=...) for scores, dict(zip(users, array)) for"
            " items in ranked order.",
        )
    if _is_one_per_row(truth):
        raise BadArgument(
            f"predictions is a {kind} ({shape}) and truth has one number per row; the array could"
            " hold logits of classes or scores of items.",
            "predictions that say what they are.",
            "use rt.Logits(array) if truth is the class of each row; for items, use"
            " rt.Scores(array, users=..., items=...) and a truth of users and items.",
        )
    note = f"scores; rows of the {kind} ({shape}) are users, columns are items, by position"
    return Recognised(Scores(array), _cells_of(truth, Scores(array)), note)


def _recognise_sparse(scores: Any, truth: Any) -> Recognised:
    """Return a dense truth beside sparse scores as a sparse matrix as well."""
    grades = matrix(truth, "truth")
    if grades.shape != scores.shape:
        raise BadArgument(
            f"predictions is a sparse matrix of shape {scores.shape}, and truth has the shape"
            f" {grades.shape}.",
            "the same shape: rows and columns are matched by position.",
        )
    note = "scores; rows are users and columns are items in both matrices, by position"
    return Recognised(scores, type(scores)(grades), note)


def _recognise_pivot(frame: Any, truth: object) -> Recognised:
    """Return a frame with a column for each item as scores; refuse one that may hold items."""
    label = f"{type(frame).__module__.partition('.')[0]} frame"
    by_position = _is_by_position(truth)
    if not by_position and may_be_top_items(frame):
        raise BadArgument(
            f"predictions is a {label} of integers in columns that are numbered like ranks, which"
            " could hold scores or recommended items.",
            "floats, or predictions that say what they are.",
            "use rt.Scores(frame) if the columns are items and the cells are scores;"
            " dict(zip(users, frame[columns].to_numpy())) if the cells are items in ranked order.",
        )
    note = f"scores; the {label} has a row for each user and a column for each item"
    note += f"; {_BY_POSITION[by_position]}" if by_position else ""
    scores = Scores(frame)
    return Recognised(scores, _cells_of(truth, scores), note)


_BY_POSITION = {
    True: "the truth has no ids: its rows and columns are matched by position",
    False: "",
}


def _is_by_position(truth: Any) -> bool:
    return are_cells(truth) or is_array(truth)


def holds_floats(array: Any) -> bool:
    """Whether an array or tensor is of floats."""
    if isinstance(array, np.ndarray):
        return bool(array.dtype.kind == "f")
    return bool(array.is_floating_point())


def _is_one_per_row(truth: Any) -> bool:
    """Whether a truth is a plain sequence of numbers."""
    if isinstance(truth, (list, tuple)):
        return bool(truth) and all(isinstance(value, (int, np.integer)) for value in truth)
    one_dimension = is_array(truth) and truth.ndim == 1 and truth.dtype != object
    return one_dimension or (isinstance(truth, pl.Series) and truth.dtype.is_integer())


def _cells_of(truth: Any, scores: Scores | Embeddings) -> object:
    """Return a dense matrix as the cells that are not 0, a pivot frame as a table of them, and
    anything else unchanged."""
    if is_held(truth):
        return _open_pivot_truth(truth, scores)
    if not is_array(truth) or truth.ndim != 2:
        return truth
    grades = matrix(truth, "truth")
    rows, columns = np.nonzero(grades)
    offsets = np.searchsorted(rows, np.arange(len(grades) + 1))
    words = "torch tensor" if not isinstance(truth, np.ndarray) else "NumPy array"
    shape = (grades.shape[0], grades.shape[1])
    return Cells(Ragged(offsets, columns), grades[rows, columns], shape, True, words)


def _open_pivot_truth(truth: Any, scores: Scores | Embeddings) -> object:
    """Return a frame as a table of its cells, if its columns are items of the scores."""
    if is_pivot(truth) or not is_pivot(truth, labels="items"):
        return truth
    frame = getattr(scores, "source", None)
    items = scores.items
    if items is None and is_held(frame):
        items = pivot_of(frame, "scores").items
    pivot = pivot_of(truth, "truth")
    if items is None or pivot.items is None:
        return truth
    known = {str(item) for item in in_order(items, "items")}
    shared = any(str(item) in known for item in pivot.items)
    return source_of_cells(pivot, "truth") if shared else truth


# lists of lists


def _are_lists(given: Any) -> bool:
    """Whether something is one list of items per user, without the users."""
    if isinstance(given, pl.Series):
        return isinstance(given.dtype, pl.List)
    if isinstance(given, np.ndarray) and given.dtype == object and given.ndim == 1:
        given = given.tolist()
    return isinstance(given, list) and bool(given) and all(map(_is_list, given))


def _is_list(value: object) -> bool:
    return isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim == 1)


def _recognise_lists(predictions: Any, truth: Any) -> Recognised:
    """Return lists of lists by position, if both are and have the same length."""
    sides = {"predictions": predictions, "truth": truth}
    for name, given in sides.items():
        if not _are_lists(given):
            other = "truth" if name == "predictions" else "predictions"
            raise BadArgument(
                f"{other} is a list of lists without users, but {name} is of type"
                f" {type(given).__name__}.",
                "lists of lists on both sides, which are matched by position, or users on both.",
                f"name the users: dict(zip(users, {other})).",
            )
    if len(predictions) != len(truth):
        raise BadArgument(
            f"predictions has {len(predictions)} lists and truth has {len(truth)}.",
            "the same number: lists without users are matched by position.",
            "name the users on both sides: {user: [items]}.",
        )
    note = f"lists by position; predictions and truth have {len(truth)} each"
    return Recognised(_to_list(predictions), _to_list(truth), note)


def _to_list(given: Any) -> Sequence[object]:
    if isinstance(given, pl.Series):
        return given.to_list()
    return given.tolist() if isinstance(given, np.ndarray) else given  # type: ignore[no-any-return]


# positions as ids


class _Positions(NamedTuple):
    """Rows or columns without ids, and the ids of the truth that should be their numbers."""

    word: str
    line: str
    size: int
    ids: pl.Series


def require_positions(dense: Dense, truth: Table, given: Mapping[str, object]) -> Ledger:
    """Raise an error if rows or columns have no ids, and the truth has ids that cannot be their
    numbers. Return a ledger, with a warning if these ids seem to start at 1."""
    sides = [*_list_positions(dense, truth)]
    for side in sides:
        outside = _flag_outside(side.ids, side.size)
        if outside.any():
            raise _not_positions(side, outside, truth.source, given)
    return Ledger() if dense.padding == 0 else _suspect_counting(sides)


def _list_positions(dense: Dense, truth: Table) -> Iterator[_Positions]:
    sides = (
        ("user", "list", "row", dense.rows, not dense.named),
        ("item", "item", "column", dense.columns, are_numbers(dense.items)),
    )
    for word, role, line, size, unlabelled in sides:
        if unlabelled and role in truth.frame.columns:
            ids = truth.frame[role]
            numbers = whole_numbers(ids) if truth.text else None
            yield _Positions(word, line, size, ids if numbers is None else numbers)


def _suspect_counting(sides: Sequence[_Positions]) -> Ledger:
    """Return a ledger with a warning if ids that are taken for positions seem to start at 1.

    A truth that contains most ids would contain 0, too; in one that contains few, 0 may be missing
    by chance. So the share of missing ids decides, that of users times that of items.
    """
    ledger, missing = Ledger(), 1.0
    if not sides or any(side.ids.min() != 1 for side in sides):
        return ledger
    for side in sides:
        missing *= 1 - side.ids.n_unique() / side.size
    if missing <= _MOST_MISSING:
        word, line, _, ids = sides[0]
        from_one = ", ".join(f"{side.word}s=range(1, {side.size + 1})" for side in sides)
        from_zero = ", ".join(f"{side.word}s=range({side.size})" for side in sides)
        about = (
            f"truth rows, and none has {word} 0, the first {line}: are the ids 1-based? If so, use"
            f" rt.Scores(array, {from_one}); if not, confirm it with {from_zero}"
        )
        ledger.count("maybe_from_one", len(ids), about, weight="warning")
    return ledger


def _flag_outside(ids: pl.Series, size: int) -> pl.Series:
    """Return which ids cannot be numbers of rows or columns."""
    if ids.dtype.is_integer():
        return (ids < 0) | (ids >= size)
    return pl.repeat(value=True, n=len(ids), eager=True)


def _not_positions(
    side: _Positions, outside: pl.Series, source: str, given: Mapping[str, object]
) -> BadIds:
    word, line, size, ids = side
    first, count = ids[outside.arg_max() or 0], int(outside.sum())
    state = ""
    if ids.dtype.is_integer():
        state = f"if {word}s are {line} numbers, say so with {word}s=range({size}). "
        if (ids.min(), ids.max()) == (1, size):
            state = f"if {word}s are {line} numbers from 1, use {word}s=range(1, {size + 1}). "
    if given.get(f"{word}s") is not None:
        state = f"the argument {word}s= beside the truth {_MEANING[word]}. "
    return BadIds(
        f"the scores have no {word} ids, so their {size:,} {line}s are {word}s 0 to {size - 1:,},"
        f" but {count:,} of {len(ids):,} truth rows ({source}) have another {word} (first:"
        f" {first!r}).",
        f"the {word} of each {line}: rt.Scores(array, users=..., items=...).",
        f"{state}On the command line, pass --score-{word}s.",
    )
