"""Retrieval: items whose vectors are near the vector of a user, wherever vectors come from: files,
arrays or frames, with ids."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats
from rectitude.data.frames import series
from rectitude.data.ids import fitted, numbers_in
from rectitude.data.matrices import load, matrix
from rectitude.errors import BadIds, BadScores, BadTable
from rectitude.models.matrix import Matrix, UserProfiles
from rectitude.models.ranking import Products
from rectitude.models.registry import Learnt, model

Likeness = Literal["dot", "cosine"]
Named = tuple[pl.Series, Floats]
"""Ids in order, and the vector of each."""


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

    def knows(profiles: UserProfiles) -> Flags:
        return numbers_in(profiles.users, owners) >= 0

    def score(profiles: UserProfiles) -> Products:
        return Products(left[numbers_in(profiles.users, owners)], right)

    return Learnt(score, names, knows, {"vectors": f"{len(owners):,} users, {len(names):,} items"})


def _averaged(train: Matrix, names: pl.Series, right: Floats, likeness: Likeness) -> Learnt:
    """Users as the mean of what they had, over the items that have a vector."""
    at = numbers_in(train.items, names)
    has = (at >= 0).astype(np.float64)
    own = np.where(has[:, None] > 0, right[at], 0.0)

    def knows(profiles: UserProfiles) -> Flags:
        flags: Flags = profiles.rows @ has > 0
        return flags

    def score(profiles: UserProfiles) -> Products:
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


def vectors_of(source: object, ids: object, dtype: pl.DataType, what: str) -> Named:
    """Vectors by id, in the order of ids.

    `source` is an array, the path of a `.npy`, `.npz` or Parquet file, or a Polars frame: a column
    of ids, then one of vectors or several of numbers. `ids` name the rows of an array, which are
    numbers from 0 otherwise; an `.npz` file may hold them as `ids` beside `vectors`.
    """
    names, rows = _opened(source, what)
    if ids is not None:
        names = series(ids, what)
    held = np.asarray(matrix(rows, f"{what} vectors"), np.float64)
    names = series(np.arange(len(held)) if names is None else names, what)
    _require_sound(names, held, what)
    names = fitted(names, dtype, f"{what} vectors", text=False)
    order = names.arg_sort().to_numpy()
    return names.gather(order), np.ascontiguousarray(held[order])


def _opened(source: object, what: str) -> tuple[Any, NDArray[Any]]:
    if isinstance(source, (str, PathLike)):
        if Path(fspath(source)).suffix == ".parquet":
            return _framed(pl.read_parquet(fspath(source)), what)
        return _named(load(source), fspath(source), what)
    if isinstance(source, pl.DataFrame):
        return _framed(source, what)
    return None, matrix(source, f"{what} vectors")


def _named(arrays: Mapping[str, NDArray[Any]], where: str, what: str) -> tuple[Any, NDArray[Any]]:
    ids = next((arrays[name] for name in ("ids", f"{what}s", what) if name in arrays), None)
    wanted = ["", "vectors", f"{what}_vectors"]
    found = [name for name in wanted if name in arrays] or [n for n in arrays if n != "ids"]
    if len(found) != 1 and found[:1] not in [["vectors"], [f"{what}_vectors"]]:
        raise BadTable(
            f"{where} holds {', '.join(sorted(arrays)) or 'nothing'}.",
            "an array named 'vectors', and 'ids' beside it.",
        )
    return ids, arrays[found[0]]


def _framed(frame: pl.DataFrame, what: str) -> tuple[Any, NDArray[Any]]:
    name = next((n for n in (what, f"{what}_id", "id") if n in frame.columns), frame.columns[0])
    others = frame.drop(name)
    if others.width == 1 and others.dtypes[0].is_nested():
        column = others.to_series()
        lengths = column.list.len() if hasattr(column.dtype, "inner") else None
        if lengths is not None and lengths.n_unique() > 1:
            raise BadScores(
                f"{what} vectors have from {lengths.min()!r} to {lengths.max()!r} dimensions.",
                "the same number for all.",
            )
        return frame[name], np.array(column.to_list(), np.float64)
    return frame[name], others.to_numpy()


def _require_sound(names: pl.Series, held: Floats, what: str) -> None:
    if len(names) != len(held):
        raise BadIds(
            f"{len(names):,} ids were given for {len(held):,} {what} vectors.", "one each."
        )
    repeated = names.filter(names.is_duplicated())
    if len(repeated):
        raise BadIds(
            f"{repeated.n_unique():,} {what}s have several vectors (first: {repeated[0]!r}).",
            "one vector each.",
        )
    bad = np.flatnonzero(~np.isfinite(held).all(axis=1))
    if len(bad):
        raise BadScores(
            f"{len(bad):,} of {len(held):,} {what} vectors are not finite (first: {what}"
            f" {names[int(bad[0])]!r}).",
            "finite numbers.",
        )
