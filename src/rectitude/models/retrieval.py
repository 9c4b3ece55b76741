"""Retrieval: items whose vectors are close to the user's vector. Vectors come from files, arrays or
frames."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats
from rectitude.data.formats.columnar import scan_parquet
from rectitude.data.frames import series
from rectitude.data.ids import fit_ids, numbers_in
from rectitude.data.matrices import load, matrix
from rectitude.errors import BadIds, BadScores, BadTable
from rectitude.models.matrix import Matrix, UserProfiles
from rectitude.models.ranking import Products
from rectitude.models.registry import Learnt, model
from rectitude.texts import require_regular

Likeness = Literal["dot", "cosine"]
Named = tuple[pl.Series, Floats]
"""Ids in order, and the vector of each id."""


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
    """Items with the highest inner product, or cosine, between their vector and the user's.

    Vectors are arrays, frames or files (.npy, .npz, Parquet). Without user vectors, a user's vector
    is the weighted mean over the items of their profile. All items with a vector can be
    recommended, even if they are not in the training data.
    """
    names, right = _scale(vectors_of(items, item_ids, train.items.dtype, "item"), likeness)
    if users is None:
        return _average_profiles(train, names, right, likeness)
    owners, left = _scale(vectors_of(users, user_ids, train.users.dtype, "user"), likeness)
    if left.shape[1] != right.shape[1]:
        raise BadScores(
            f"user vectors have {left.shape[1]} dimensions, item vectors have {right.shape[1]}.",
            "the same number of dimensions.",
        )

    def knows(profiles: UserProfiles) -> Flags:
        return numbers_in(profiles.users, owners) >= 0

    def score(profiles: UserProfiles) -> Products:
        return Products(left[numbers_in(profiles.users, owners)], right)

    return Learnt(score, names, knows, {"vectors": f"{len(owners):,} users, {len(names):,} items"})


def _average_profiles(train: Matrix, names: pl.Series, right: Floats, likeness: Likeness) -> Learnt:
    """Represent users by the mean vector of their items that have one."""
    number = numbers_in(train.items, names)
    has = (number >= 0).astype(np.float64)
    vectors = np.where(has[:, None] > 0, right[number], 0.0)

    def knows(profiles: UserProfiles) -> Flags:
        flags: Flags = profiles.rows @ has > 0
        return flags

    def score(profiles: UserProfiles) -> Products:
        mean = np.asarray(profiles.rows @ vectors) / np.asarray(profiles.rows @ has)[:, None]
        return Products(_normalise(mean) if likeness == "cosine" else mean, right)

    without = int((has == 0).sum())
    words = f"{len(names):,} items; {without:,} of {len(has):,} training items have none"
    return Learnt(score, names, knows, {"vectors": words})


def _scale(named: Named, likeness: Likeness) -> Named:
    names, vectors = named
    return names, _normalise(vectors) if likeness == "cosine" else vectors


def _normalise(vectors: Floats) -> Floats:
    """Return vectors scaled to length 1; zero vectors stay as they are."""
    length = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    scaled: Floats = vectors / np.where(length > 0, length, 1.0)
    return scaled


def vectors_of(source: object, ids: object, dtype: pl.DataType, what: str) -> Named:
    """Return ids in order and their vectors.

    `source` is an array, the path of a `.npy`, `.npz` or Parquet file, or a Polars frame with a
    column of ids followed by one column of vectors or several of numbers. `ids` name the rows of an
    array, which are numbered from 0 otherwise; an `.npz` file may hold them as `ids` next to
    `vectors`.
    """
    names, rows = _open_vectors(source, what)
    if ids is not None:
        names = series(ids, what)
    vectors = np.asarray(matrix(rows, f"{what} vectors"), np.float64)
    names = series(np.arange(len(vectors)) if names is None else names, what)
    _require_valid(names, vectors, what)
    names = fit_ids(names, dtype, f"{what} vectors", text=False)
    order = names.arg_sort().to_numpy()
    return names.gather(order), np.ascontiguousarray(vectors[order])


def _open_vectors(source: object, what: str) -> tuple[Any, NDArray[Any]]:
    if isinstance(source, (str, PathLike)):
        path = require_regular(source)
        if path.suffix == ".parquet":
            table = scan_parquet(path, [path])
            return _open_frame(table.take({name: name for name in table.names}), what)
        return _choose_arrays(load(source), fspath(source), what)
    if isinstance(source, pl.DataFrame):
        return _open_frame(source, what)
    return None, matrix(source, f"{what} vectors")


def _choose_arrays(
    arrays: Mapping[str, NDArray[Any]], where: str, what: str
) -> tuple[Any, NDArray[Any]]:
    ids = next((arrays[name] for name in ("ids", f"{what}s", what) if name in arrays), None)
    usual = ["", "vectors", f"{what}_vectors"]
    names = [name for name in usual if name in arrays] or [n for n in arrays if n != "ids"]
    if len(names) != 1 and names[:1] not in [["vectors"], [f"{what}_vectors"]]:
        raise BadTable(
            f"{where} holds {', '.join(sorted(arrays)) or 'no arrays'}.",
            "an array named 'vectors', and optionally one named 'ids'.",
        )
    return ids, arrays[names[0]]


def _open_frame(frame: pl.DataFrame, what: str) -> tuple[Any, NDArray[Any]]:
    name = next((n for n in (what, f"{what}_id", "id") if n in frame.columns), frame.columns[0])
    others = frame.drop(name)
    if others.width == 1 and others.dtypes[0].is_nested():
        column = others.to_series()
        lengths = column.list.len() if hasattr(column.dtype, "inner") else None
        if lengths is not None and lengths.n_unique() > 1:
            raise BadScores(
                f"{what} vectors have between {lengths.min()!r} and {lengths.max()!r} dimensions.",
                "the same number of dimensions for all vectors.",
            )
        return frame[name], np.array(column.to_list(), np.float64)
    return frame[name], others.to_numpy()


def _require_valid(names: pl.Series, vectors: Floats, what: str) -> None:
    if len(names) != len(vectors):
        raise BadIds(
            f"{len(names):,} ids were given for {len(vectors):,} {what} vectors.",
            "one id per vector.",
        )
    repeated = names.filter(names.is_duplicated())
    if len(repeated):
        raise BadIds(
            f"{repeated.n_unique():,} {what}s have more than one vector (first: {repeated[0]!r}).",
            f"one vector per {what}.",
        )
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise BadScores(
            f"{len(bad):,} of {len(vectors):,} {what} vectors are not finite (first: {what}"
            f" {names[int(bad[0])]!r}).",
            "finite numbers.",
        )
