"""How far apart the items of lists are, by their vectors: a sum over the pairs of each list.

Every list goes by itself, in the order of its places, and floats are added one after the other: the
same bits whatever the other lists are, in NumPy and compiled.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.compiled import frozen, kernel, repay
from rectitude.errors import unknown_name
from rectitude.threads import in_blocks

Distance = Literal["cosine", "euclidean", "hamming", "jaccard"]
DISTANCES: tuple[str, ...] = get_args(Distance)
BLOCK = 1 << 20  # numbers of vectors that NumPy holds at a time


def apart(vectors: Floats, items: Integers, distance: str) -> tuple[Floats, Floats]:
    """(lists,) the sum of the distances of all pairs of items in each list, and how many pairs
    these are. Items below 0, and those whose vector is NaN, are left out.

    Cosine: 1 - cosine, 1 where a vector is 0. Hamming: how many numbers differ. Jaccard: of the
    numbers that are not 0 in one or both, the share that is in one only, 0 where there are none.
    """
    if distance not in DISTANCES:
        raise unknown_name("distance", distance, DISTANCES)
    there = np.append(~np.isnan(vectors).any(axis=1), False)
    known = items if there[:-1].all() else np.where(there[items], items, -1)
    many = (known >= 0).sum(axis=1)
    pairs = many * (many - 1) / 2
    if distance == "cosine":
        return np.where(pairs > 0, np.maximum(pairs - _alike(vectors, known), 0.0), 0.0), pairs
    if distance == "jaccard":
        vectors = np.where(there[:-1, None], vectors != 0, np.nan)
    return _summed(vectors, known, distance), pairs


def _summed(vectors: Floats, items: Integers, distance: str) -> Floats:
    """(lists,) the sum of the distances of all pairs of items."""
    total = np.empty(len(items))
    work: Any = _differences
    if repay(items.size * vectors.shape[1]):
        work = kernel(difference_kernel)
    table = frozen(np.vstack((vectors, np.full(vectors.shape[1], np.nan))))
    squared, size = distance != "hamming", np.append(vectors.sum(axis=1), np.nan)
    one, other = np.triu_indices(items.shape[1], 1)
    step = max(BLOCK // max(items.shape[1] * vectors.shape[1], len(one), 1), 1)

    def block(first: int, last: int) -> None:
        for start in range(first, last, step):
            here = items[start : min(start + step, last)]
            some = np.zeros((len(here), len(one)))
            work(table, frozen(here), squared, some)
            if distance == "euclidean":
                some = np.sqrt(some)
            elif distance == "jaccard":  # both have (a + b + different) / 2 numbers together
                some = 2 * some / np.maximum(size[here[:, one]] + size[here[:, other]] + some, 1.0)
            both = (here[:, one] >= 0) & (here[:, other] >= 0)
            total[start : start + len(here)] = np.where(both, some, 0.0).sum(axis=1)

    in_blocks(block, len(items))
    return total


def _alike(vectors: Floats, items: Integers) -> Floats:
    """(lists,) the sum of the cosines of all pairs: half of what the square of the sum of the unit
    vectors has beyond their own squares."""
    norm = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    units = np.where(norm[:, None] > 0, vectors, 0.0) / np.where(norm > 0, norm, 1.0)[:, None]
    units = np.vstack((units, np.zeros(vectors.shape[1])))
    own, cosines = np.einsum("ij,ij->i", units, units), np.empty(len(items))
    table, mine = frozen(units), frozen(own)
    work: Any = _cosines
    if repay(items.size * vectors.shape[1]):
        work = kernel(cosine_kernel)

    def block(first: int, last: int) -> None:
        for start in range(first, last, 512):  # a block that the processor holds
            here = slice(start, min(start + 512, last))
            work(table, mine, items[here], cosines[here])

    in_blocks(block, len(items))
    return cosines


def _cosines(units: Floats, own: Floats, items: Integers, cosines: Floats) -> None:
    """The sum of the cosines of all pairs in each list; the twin of `cosine_kernel`."""
    sums, owns = np.zeros((len(items), units.shape[1])), np.zeros(len(items))
    for place in items.T:
        sums += units[place]
        owns += own[place]
    cosines[:] = (_squares(sums) - owns) / 2


def cosine_kernel(units: Floats, own: Floats, items: Integers, cosines: Floats) -> None:
    """The sum of the cosines of all pairs in each list, compiled."""
    sums = np.empty(units.shape[1])
    for u in range(len(items)):
        sums[:] = 0.0
        owns, square = 0.0, 0.0
        for item in items[u]:
            if item >= 0:
                owns += own[item]
                for c in range(len(sums)):
                    sums[c] += units[item, c]
        for c in range(len(sums)):
            square += sums[c] * sums[c]
        cosines[u] = (square - owns) / 2


def _squares(vectors: Floats) -> Floats:
    """The square of the length of each vector; its numbers are added one after the other."""
    total = np.zeros(len(vectors))
    for column in vectors.T:
        total += column * column
    return total


def _differences(vectors: Floats, items: Integers, squared: bool, some: Floats) -> None:
    """(lists, pairs) the sum of the squares of the differences of two vectors, or how many numbers
    differ; the twin of `difference_kernel`."""
    begin, x = 0, vectors[items]
    for i in range(items.shape[1] - 1):
        many = items.shape[1] - 1 - i
        mine = some[:, begin : begin + many]
        for column in np.moveaxis(x[:, i:], 2, 0):
            away = column[:, 1:] - column[:, :1]
            mine += away * away if squared else away != 0
        begin += many


def difference_kernel(vectors: Floats, items: Integers, squared: bool, some: Floats) -> None:
    """(lists, pairs) the sum of the squares of the differences of two vectors, or how many numbers
    differ, compiled. The items of a list lie side by side, so that many pairs go at once."""
    size, places = vectors.shape[1], items.shape[1]
    x = np.empty((size, places))
    for u in range(len(items)):
        for j in range(places):
            x[:, j] = vectors[items[u, j]]
        begin = -1
        for i in range(places - 1):
            for c in range(size):
                one = x[c, i]
                for j in range(i + 1, places):
                    away = x[c, j] - one
                    some[u, begin - i + j] += away * away if squared else away != 0
            begin += places - 1 - i
