"""Nearest-neighbour models of items and of users, and a Markov chain."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, offsets_of
from rectitude.models.matrix import Matrix, Sparse, UserProfiles, last_items, order_of
from rectitude.models.ranking import ScoredCells, kth_best, top_k
from rectitude.models.registry import Learnt, Progress, model
from rectitude.options import require_from
from rectitude.preparing.order import in_time, order_groups

_CELLS = 1 << 22
"""How many products are held in memory at a time."""


@model("item-knn", fold_in="scored")
def item_knn(
    train: Matrix,
    *,
    neighbours: int = 20,
    shrinkage: float = 10.0,
    progress: Progress | None = None,
) -> Learnt:
    """Items similar to those in the user's profile, by the cosine between the users of items.

    Each item of the profile contributes its nearest neighbours. `shrinkage` is added to the product
    of the lengths, so that a few common users give only a low similarity.
    """
    require_from(neighbours, "neighbours")
    require_from(shrinkage, "shrinkage", 0)
    columns = train.weighted.T.tocsr()
    near = _nearest(columns, columns, neighbours, shrinkage, progress, "others")
    return Learnt(lambda profiles: _positive_cells(profiles.rows @ near))


@model("user-knn", fold_in="scored")
def user_knn(train: Matrix, *, neighbours: int = 100, shrinkage: float = 0.0) -> Learnt:
    """Items of the most similar users, by the cosine between their items, weighted by similarity.

    `shrinkage` is added to the product of the lengths, so that a few common items give only a low
    similarity.
    """
    require_from(neighbours, "neighbours")
    require_from(shrinkage, "shrinkage", 0)

    def score(profiles: UserProfiles) -> ScoredCells:
        near = _nearest(profiles.rows, train.weighted, neighbours + 1, shrinkage)
        return _positive_cells(_without_self(near, profiles.number, neighbours) @ train.weighted)

    return Learnt(score)


def _nearest(
    rows: Sparse,
    others: Sparse,
    most: int,
    shrinkage: float,
    progress: Progress | None = None,
    among: str = "all",
) -> Sparse:
    """Return (rows x others) the highest cosines of each row, in blocks of bounded memory.

    With `among="others"`, rows and others are the same, and a row is not its own neighbour.
    """
    from scipy.sparse import csr_array

    lengths, other_lengths = _lengths(rows), _lengths(others)
    transposed = others.T.tocsr()
    step = max(1, _CELLS // max(others.shape[0], 1))
    bounds = [*range(0, rows.shape[0], step), rows.shape[0]]
    parts = []
    for low, high in pairwise(bounds):
        cells = _cosines(
            rows[low:high] @ transposed, lengths[low:high], other_lengths, shrinkage, most + 1
        )
        if among == "others":
            cells = cells.where(cells.row + low != cells.item)
        cells = top_k(cells, most)
        parts.append(cells._replace(row=cells.row + low))
        if progress is not None:
            progress(high, rows.shape[0])
    row, item, score = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((item, row))
    start = offsets_of(row, rows.shape[0])
    return csr_array((score[order], item[order], start), shape=(rows.shape[0], others.shape[0]))


def _cosines(
    products: Sparse, lengths: Floats, other_lengths: Floats, shrinkage: float, most: int
) -> ScoredCells:
    """Return cosines above 0. If there are many, return only those that may be among the highest of
    a row, so that fewer have to be sorted."""
    size = products.shape
    if most >= size[1] or products.nnz < size[0] * size[1] // 16:
        cells = _positive_cells(products)
        divisor = lengths[cells.row] * other_lengths[cells.item] + shrinkage
        return cells._replace(score=cells.score / divisor)
    scores = products.toarray()
    scores /= np.maximum(
        lengths[:, None] * other_lengths[None, :] + shrinkage, np.finfo(float).tiny
    )
    row, item = np.nonzero((scores >= kth_best(scores, most)[:, None]) & (scores > 0))
    return ScoredCells(row, item, scores[row, item])


def _lengths(rows: Sparse) -> Floats:
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return np.sqrt(np.bincount(owner, rows.data**2, rows.shape[0]))


def _without_self(near: Sparse, number: Integers, most: int) -> Sparse:
    """Return at most so many neighbours of users, without the users themselves."""
    from scipy.sparse import csr_array

    cells = _positive_cells(near)
    cells = top_k(cells.where(cells.item != number[cells.row]), most)
    order = np.lexsort((cells.item, cells.row))
    start = offsets_of(cells.row, near.shape[0])
    return csr_array((cells.score[order], cells.item[order], start), shape=near.shape)


def _positive_cells(scores: Sparse) -> ScoredCells:
    """Return the entries of a sparse matrix that are above 0."""
    row = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    cells = ScoredCells(row, scores.indices.astype(np.int64), scores.data)
    return cells.where(scores.data > 0)


@model("markov", fold_in="scored", without=("weights",))
def markov(train: Matrix) -> Learnt:
    """Items by how often they directly followed the user's last item.

    Rows are in order of time, and by item at the same time; without timestamps, in their given
    order.
    """
    order = order_of(train.log)
    columns = in_time(train.log.frame) if order == "time" else []
    runs = order_groups((train.user.astype(np.uint32), len(train.users)), columns)
    user, item = train.user[runs.rows], train.item[runs.rows]
    same = user[1:] == user[:-1]
    follows = _follow_shares(item[:-1][same], item[1:][same], len(train.items))
    last = last_items(train.log, train.user, train.item, len(train.users))
    last = np.append(last, -1)  # for users who are not in train

    def latest(profiles: UserProfiles) -> Integers:
        return np.where(profiles.last >= 0, profiles.last, last[profiles.number])

    def knows(profiles: UserProfiles) -> Flags:
        return latest(profiles) >= 0

    words = "by timestamp" if order == "time" else "by row: the training data has no timestamps"
    return Learnt(
        lambda profiles: _positive_cells(follows[latest(profiles)]),
        knows=knows,
        note={"order": words},
    )


def _follow_shares(before: Integers, after: Integers, items: int) -> Sparse:
    """Return (items x items) the share of each item among those that directly followed another."""
    from scipy.sparse import csr_array

    key, count = np.unique(before * items + after, return_counts=True)
    start = offsets_of(key // items, items)
    share = count / np.bincount(before, minlength=items)[key // items]
    return csr_array((share, key % items, start), shape=(items, items))
