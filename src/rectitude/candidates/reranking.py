"""Lists made again with more variety: an item costs more, the more of its category stand above it.

This is the controllable aggregation of ComiRec: the candidates of all interests of a user are
pooled, and places are given one after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats, Integers, Ragged
from rectitude.data.dense import ready
from rectitude.data.matrices import matrix
from rectitude.errors import BadName, BadScores
from rectitude.rowkernels.rows import best


class Pool(NamedTuple):
    """The candidates of each row, best first."""

    items: Integers
    """(rows, candidates) columns of the scores, -1 where there is none"""
    scores: Floats
    """(rows, candidates) their scores, -inf where there is none"""


def pooled(scores: object, k: int, padding: int | None = None) -> Pool:
    """The best k columns of every interest of a row, each once, with its best score.

    `scores` are rows x interests x columns, or rows x columns; the column `padding` is left out. Of
    equal scores the earlier interest comes first, then the earlier column.
    """
    array = matrix(scores, "scores", (2, 3))
    flat = ready(array.reshape(-1, array.shape[-1]))
    if k < 1 or np.isnan(flat).any():
        raise BadScores(f"the best {k} of scores, {int(np.isnan(flat).sum())} of them NaN.")
    masked = None
    if padding is not None:
        masked = Ragged(np.arange(len(flat) + 1), np.full(len(flat), padding, np.int32))
    items = best(flat, masked, k)
    found = np.take_along_axis(flat, np.maximum(items, 0), axis=1)
    return merged(items.reshape(len(array), -1), found.reshape(len(array), -1))


def merged(items: object, scores: object) -> Pool:
    """Candidates of several searches side by side, each item of a row once, with its best score.

    Both are rows x candidates, such as an index returns them; items below 0 and scores of -inf are
    empty places.
    """
    columns = np.array(matrix(items, "items"), np.int64)
    values = np.array(matrix(scores, "scores"), np.float64)
    if columns.shape != values.shape:
        raise BadScores(f"items are {columns.shape}, scores {values.shape}.", "the same shape.")
    values[columns < 0] = -np.inf
    columns[values == -np.inf] = -1
    pool = _best_first(columns, values)
    pool.scores[_again(pool.items)] = -np.inf
    items, scores = _best_first(*pool)
    return Pool(np.where(scores > -np.inf, items, -1), scores)


def _best_first(items: Integers, scores: Floats) -> Pool:
    order = np.argsort(-scores, axis=1, kind="stable")
    return Pool(np.take_along_axis(items, order, 1), np.take_along_axis(scores, order, 1))


def _again(columns: Integers) -> NDArray[np.bool_]:
    """Which places hold an item that stands further left already."""
    order = np.argsort(columns, axis=1, kind="stable")
    ordered = np.take_along_axis(columns, order, axis=1)
    same = np.zeros(columns.shape, bool)
    same[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    again = np.empty_like(same)
    np.put_along_axis(again, order, same, axis=1)
    return again


def reranked(pool: Pool, categories: object, k: int, coefficient: float = 0.0) -> Integers:
    """(rows, k) columns of the scores, chosen one after the other: each time the candidate with the
    highest score less `coefficient` x items of its category chosen before.

    `categories` are numbers from 0, one for each column; a column with a number below 0 has no
    category and cannot be chosen. Of equals, the one with the higher score comes first; -1 where
    no candidate is left. With the coefficient 0 the pool stays as it is.
    """
    if k < 1 or not 0 <= coefficient < np.inf:
        raise BadName(
            f"k is {k} and the coefficient {coefficient}.", "k from 1 on, a coefficient from 0 on."
        )
    number = np.array(matrix(categories, "categories", (1,)), np.int64)
    items, left = pool.items, pool.scores.copy()
    if items.max(initial=-1) >= len(number):
        raise BadName(
            f"there are {len(number)} categories, and a candidate is column {items.max()}.",
            "one category for each column of the scores.",
        )
    kind = np.where(items >= 0, number[items], -1)
    left[kind < 0] = -np.inf
    return _chosen(items, left, kind, k, coefficient)


def _chosen(items: Integers, left: Floats, kind: Integers, k: int, coefficient: float) -> Integers:
    chosen = np.full((len(items), k), -1)
    rows = np.arange(len(items))
    counts = np.zeros((len(items), int(kind.max(initial=0)) + 1))
    for place in range(min(k, items.shape[1])):
        worth = left - coefficient * counts[rows[:, None], kind]
        best = worth.argmax(axis=1)
        there = left[rows, best] > -np.inf
        chosen[there, place] = items[rows, best][there]
        counts[rows, kind[rows, best]] += 1
        left[rows, best] = -np.inf
    return chosen
