"""Retrieval: items whose vectors are near the vector of a user, wherever vectors come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rectitude.arrays import Flags, Floats
from rectitude.errors import BadScores
from rectitude.models.matrix import Matrix, numbers_in
from rectitude.models.profiles import Profiles
from rectitude.models.ranking import Products
from rectitude.models.registry import Learnt, model
from rectitude.models.vectors import Named, vectors_of

if TYPE_CHECKING:
    import polars as pl

Likeness = Literal["dot", "cosine"]


@model("embeddings", fold_in="scored", unknown_items="scored", without=("rest",))
def embeddings(
    train: Matrix,
    *,
    items: object,
    users: object = None,
    item_ids: object = None,
    user_ids: object = None,
    likeness: Likeness = "dot",
) -> Learnt:
    """Items whose vectors have the highest inner product, or cosine, with that of the user.

    Vectors are arrays, frames or files (.npy, .npz, Parquet). Without vectors of users, the vector
    of a user is the weighed mean over his profile. Items with a vector can be recommended, whether
    train holds them or not.
    """
    names, right = _scaled(vectors_of(items, item_ids, train.items.dtype, "item"), likeness)
    if users is None:
        return _averaged(train, names, right, likeness)
    owners, left = _scaled(vectors_of(users, user_ids, train.users.dtype, "user"), likeness)
    if left.shape[1] != right.shape[1]:
        raise BadScores(
            f"user vectors have {left.shape[1]} dimensions and item vectors {right.shape[1]}.",
            "the same number of dimensions.",
        )

    def knows(profiles: Profiles) -> Flags:
        return numbers_in(profiles.users, owners) >= 0

    def score(profiles: Profiles) -> Products:
        return Products(left[numbers_in(profiles.users, owners)], right)

    return Learnt(score, names, knows, {"vectors": f"{len(owners):,} users, {len(names):,} items"})


def _averaged(train: Matrix, names: pl.Series, right: Floats, likeness: Likeness) -> Learnt:
    """Users as the mean of what they had, over the items that have a vector."""
    at = numbers_in(train.items, names)
    has = (at >= 0).astype(np.float64)
    own = np.where(has[:, None] > 0, right[at], 0.0)

    def knows(profiles: Profiles) -> Flags:
        flags: Flags = profiles.rows @ has > 0
        return flags

    def score(profiles: Profiles) -> Products:
        total = np.asarray(profiles.rows @ own) / np.asarray(profiles.rows @ has)[:, None]
        return Products(_unit(total) if likeness == "cosine" else total, right)

    without = int((has == 0).sum())
    words = f"{len(names):,} items; {without:,} of {len(has):,} items of train have none"
    return Learnt(score, names, knows, {"vectors": words})


def _scaled(named: Named, likeness: Likeness) -> Named:
    names, vectors = named
    return names, _unit(vectors) if likeness == "cosine" else vectors


def _unit(vectors: Floats) -> Floats:
    """Vectors of length 1; those without a direction stay as they are."""
    length = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    scaled: Floats = vectors / np.where(length > 0, length, 1.0)
    return scaled
