"""Embeddings of which some may be NaN or infinite: an evaluation refuses them, an audit counts
what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags
from rectitude.data.dense import Block, Dense
from rectitude.data.matrices import load, matrix
from rectitude.predictions.dense import Embeddings


def opened_products(embeddings: Embeddings) -> Dense:
    """The products as blocks of rows, NaN where a vector is not finite."""
    left, right = (_array(side) for side in (embeddings.user_vectors, embeddings.item_vectors))
    lost, gone = (~np.isfinite(side).all(axis=1) for side in (left, right))
    if not lost.any() and not gone.any():
        return embeddings.opened()
    sound = replace(
        embeddings,
        user_vectors=np.where(lost[:, None], 0, left),
        item_vectors=np.where(gone[:, None], 0, right),
    )
    dense = sound.opened()
    return replace(dense, blocks=lambda: _with_holes(dense, lost, gone))


def _with_holes(dense: Dense, lost: Flags, gone: Flags) -> Iterator[Block]:
    first = 0
    for block in dense.blocks():
        holes = lost[first : first + len(block), None] | gone
        yield np.where(holes, block.dtype.type(np.nan), block)
        first += len(block)


def _array(given: object) -> NDArray[Any]:
    if isinstance(given, (str, PathLike)):
        given = next(iter(load(given).values()))
    return matrix(given, "vectors")
