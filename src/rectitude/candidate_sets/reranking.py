"""Rerank lists for diversity: an item loses score for every item of its category ranked above it.

This is the controllable aggregation of ComiRec: the candidates of all interests of a user are
pooled, and items are chosen greedily, rank by rank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats, Integers, Ragged
from rectitude.data.dense import prepare_block
from rectitude.data.matrices import matrix
from rectitude.errors import BadArgument, BadScores
from rectitude.rowkernels.rows import best


class Pool(NamedTuple):
    """The candidates of each row, best first."""

    items: Integers
    """(rows, candidates) columns of the scores, -1 for empty positions"""
    scores: Floats
    """(rows, candidates) their scores, -inf for empty positions"""


def pool_interests(scores: object, k: int, padding: int | None = None) -> Pool:
    """Return the best k columns of every interest of a row, each once, with its best score.

    `scores` are rows x interests x columns, or rows x columns; the column `padding` is left out.
    Ties are in the order of interests, then of columns.
    """
    array = matrix(scores, "scores", (2, 3))
    flat = prepare_block(array.reshape(-1, array.shape[-1]))
    if k < 1:
        raise BadArgument(f"k is {k}.", "a whole number of at least 1.")
    if np.isnan(flat).any():
        raise BadScores(
            f"{int(np.isnan(flat).sum())} of {flat.size} scores are NaN.",
            "a number for every row and column.",
        )
    masked = None
    if padding is not None:
        masked = Ragged(np.arange(len(flat) + 1), np.full(len(flat), padding, np.int32))
    items = best(flat, masked, k)
    values = np.take_along_axis(flat, np.maximum(items, 0), axis=1)
    return merge_searches(items.reshape(len(array), -1), values.reshape(len(array), -1))


def merge_searches(items: object, scores: object) -> Pool:
    """Merge the candidates of several searches: each item of a row once, with its best score.

    Both arguments are rows x candidates, as an index returns them; items below 0 and scores of -inf
    are empty positions.
    """
    columns = np.array(matrix(items, "items"), np.int64)
    values = np.array(matrix(scores, "scores"), np.float64)
    if columns.shape != values.shape:
        raise BadScores(
            f"items has the shape {columns.shape}, but scores has {values.shape}.",
            "the same shape.",
        )
    values[columns < 0] = -np.inf
    columns[values == -np.inf] = -1
    pool = _best_first(columns, values)
    pool.scores[_find_repeats(pool.items)] = -np.inf
    items, scores = _best_first(*pool)
    return Pool(np.where(scores > -np.inf, items, -1), scores)


def _best_first(items: Integers, scores: Floats) -> Pool:
    order = np.argsort(-scores, axis=1, kind="stable")
    return Pool(np.take_along_axis(items, order, 1), np.take_along_axis(scores, order, 1))


def _find_repeats(columns: Integers) -> NDArray[np.bool_]:
    """Return which positions repeat an item that is further left in its row."""
    order = np.argsort(columns, axis=1, kind="stable")
    ordered = np.take_along_axis(columns, order, axis=1)
    same = np.zeros(columns.shape, bool)
    same[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    repeated = np.empty_like(same)
    np.put_along_axis(repeated, order, same, axis=1)
    return repeated


def rerank(pool: Pool, categories: object, k: int, coefficient: float = 0.0) -> Integers:
    """Choose k items per row greedily: each time the candidate with the highest score minus
    `coefficient` x the number of items of its category chosen before.

    Returns (rows, k) columns of the scores, -1 if no candidate is left. `categories` are numbers
    from 0, one for each column; a column with a number below 0 has no category and is never chosen.
    Ties go to the candidate with the higher score. With a coefficient of 0, the order of the pool
    does not change.
    """
    if k < 1 or not 0 <= coefficient < np.inf:
        raise BadArgument(
            f"k is {k} and coefficient is {coefficient}.",
            "k of at least 1 and a finite coefficient of at least 0.",
        )
    number = np.array(matrix(categories, "categories", (1,)), np.int64)
    items, left = pool.items, pool.scores.copy()
    if items.max(initial=-1) >= len(number):
        raise BadArgument(
            f"there are {len(number)} categories, but a candidate is column {items.max()}.",
            "one category for each column of the scores.",
        )
    category = np.where(items >= 0, number[items], -1)
    left[category < 0] = -np.inf
    return _choose_greedily(items, left, category, k, coefficient)


def _choose_greedily(
    items: Integers, left: Floats, category: Integers, k: int, coefficient: float
) -> Integers:
    chosen = np.full((len(items), k), -1)
    rows = np.arange(len(items))
    counts = np.zeros((len(items), int(category.max(initial=0)) + 1))
    for rank in range(min(k, items.shape[1])):
        value = left - coefficient * counts[rows[:, None], category]
        best = value.argmax(axis=1)
        available = left[rows, best] > -np.inf
        chosen[available, rank] = items[rows, best][available]
        counts[rows, category[rows, best]] += 1
        left[rows, best] = -np.inf
    return chosen
