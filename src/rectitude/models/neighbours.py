"""Neighbours: items that the same users had, users who had the same items, what follows on what."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, offsets_of
from rectitude.models.matrix import Matrix, Sparse, UserProfiles, last_items, order_of
from rectitude.models.ranking import ScoredCells, first, kth
from rectitude.models.registry import Learnt, Progress, model
from rectitude.options import require_from
from rectitude.prepare.order import in_time, ordered

_CELLS = 1 << 22
"""Products of a block that are held at a time."""


@model("item-knn", fold_in="scored")
def item_knn(
    train: Matrix,
    *,
    neighbours: int = 20,
    shrinkage: float = 10.0,
    progress: Progress | None = None,
) -> Learnt:
    """Items near those of the profile: each brings its nearest, by the cosine of who had them.

    `shrinkage` is added to the product of the lengths, so that few common users prove little.
    """
    require_from(neighbours, "neighbours")
    require_from(shrinkage, "shrinkage", 0)
    columns = train.weighted.T.tocsr()
    near = _nearest(columns, columns, neighbours, shrinkage, progress, "others")
    return Learnt(lambda profiles: _cells(profiles.rows @ near))


@model("user-knn", fold_in="scored")
def user_knn(train: Matrix, *, neighbours: int = 100, shrinkage: float = 0.0) -> Learnt:
    """What the users had who are nearest by the cosine of their items, weighed by it.

    `shrinkage` is added to the product of the lengths, so that few common items prove little.
    """
    require_from(neighbours, "neighbours")
    require_from(shrinkage, "shrinkage", 0)

    def score(profiles: UserProfiles) -> ScoredCells:
        near = _nearest(profiles.rows, train.weighted, neighbours + 1, shrinkage)
        return _cells(_without(near, profiles.number, neighbours) @ train.weighted)

    return Learnt(score)


def _nearest(
    rows: Sparse,
    others: Sparse,
    most: int,
    shrinkage: float,
    progress: Progress | None = None,
    among: str = "all",
) -> Sparse:
    """(rows x others) the highest cosines of each row, in blocks of bounded memory.

    Rows are the others themselves where these are compared with each other: a row is then no
    neighbour of itself.
    """
    from scipy.sparse import csr_array

    lengths, theirs = _lengths(rows), _lengths(others)
    turned = others.T.tocsr()
    step = max(1, _CELLS // max(others.shape[0], 1))
    bounds = [*range(0, rows.shape[0], step), rows.shape[0]]
    parts = []
    for low, high in pairwise(bounds):
        cells = _cosines(rows[low:high] @ turned, lengths[low:high], theirs, shrinkage, most + 1)
        if among == "others":
            cells = cells.where(cells.row + low != cells.item)
        cells = first(cells, most)
        parts.append(cells._replace(row=cells.row + low))
        if progress is not None:
            progress(high, rows.shape[0])
    row, item, score = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((item, row))
    start = offsets_of(row, rows.shape[0])
    return csr_array((score[order], item[order], start), shape=(rows.shape[0], others.shape[0]))


def _cosines(
    products: Sparse, lengths: Floats, theirs: Floats, shrinkage: float, most: int
) -> ScoredCells:
    """Cosines that are above 0; where there are many, only what may be among the highest of a row,
    so that fewer have to be sorted."""
    size = products.shape
    if most >= size[1] or products.nnz < size[0] * size[1] // 16:
        cells = _cells(products)
        below = lengths[cells.row] * theirs[cells.item] + shrinkage
        return cells._replace(score=cells.score / below)
    scores = products.toarray()
    scores /= np.maximum(lengths[:, None] * theirs[None, :] + shrinkage, np.finfo(float).tiny)
    row, item = np.nonzero((scores >= kth(scores, most)[:, None]) & (scores > 0))
    return ScoredCells(row, item, scores[row, item])


def _lengths(rows: Sparse) -> Floats:
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return np.sqrt(np.bincount(owner, rows.data**2, rows.shape[0]))


def _without(near: Sparse, own: Integers, most: int) -> Sparse:
    """Neighbours without the users themselves, and no more than so many."""
    from scipy.sparse import csr_array

    cells = _cells(near)
    cells = first(cells.where(cells.item != own[cells.row]), most)
    order = np.lexsort((cells.item, cells.row))
    start = offsets_of(cells.row, near.shape[0])
    return csr_array((cells.score[order], cells.item[order], start), shape=near.shape)


def _cells(scores: Sparse) -> ScoredCells:
    """The entries of a sparse matrix that are above 0."""
    row = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    cells = ScoredCells(row, scores.indices.astype(np.int64), scores.data)
    return cells.where(scores.data > 0)


@model("markov", fold_in="scored", without=("weights",))
def markov(train: Matrix) -> Learnt:
    """Items by how often they came right after the item that the user had last.

    Rows go by time, those of equal time by item; without timestamps they go as they stand.
    """
    order = order_of(train.log)
    columns = in_time(train.log.frame) if order == "time" else []
    runs = ordered((train.user.astype(np.uint32), len(train.users)), columns)
    user, item = train.user[runs.rows], train.item[runs.rows]
    same = user[1:] == user[:-1]
    follows = _counts(item[:-1][same], item[1:][same], len(train.items))
    last = last_items(train.log, train.user, train.item, len(train.users))
    last = np.append(last, -1)  # for users who are not in train

    def latest(profiles: UserProfiles) -> Integers:
        return np.where(profiles.last >= 0, profiles.last, last[profiles.number])

    def knows(profiles: UserProfiles) -> Flags:
        return latest(profiles) >= 0

    words = "by timestamp" if order == "time" else "as the rows of train stand: it has no times"
    return Learnt(
        lambda profiles: _cells(follows[latest(profiles)]), knows=knows, note={"order": words}
    )


def _counts(before: Integers, after: Integers, items: int) -> Sparse:
    """(items x items) the share of each item among those that came right after another."""
    from scipy.sparse import csr_array

    key, count = np.unique(before * items + after, return_counts=True)
    start = offsets_of(key // items, items)
    share = count / np.bincount(before, minlength=items)[key // items]
    return csr_array((share, key % items, start), shape=(items, items))
