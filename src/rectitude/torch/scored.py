"""Scores on a device: computed, checked, and counted in plain torch.

Counting gives exactly the same results as `rectitude.rowkernels.rows`, and nothing here waits for
the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rectitude.data.dense import Block, Dense, NanRows
from rectitude.data.matrices import (
    require_dimensions,
    require_finite_vectors,
    require_numbers,
    require_same_dimensions,
)
from rectitude.errors import BadScores
from rectitude.predictions.logits import Logits
from rectitude.predictions.scores import (
    DIMENSIONS,
    Embeddings,
    Kind,
    Scores,
    Similarity,
    column_of,
    describe_vectors,
    names_of,
)
from rectitude.torch.held import describe, open_dense
from rectitude.torch.kernels.products import uses_triton
from rectitude.torch.tensors import Arrays, name_of, to_plain

Predictions = Scores | Logits | Embeddings
STEP = 1 << 25
"""How many scores are compared at a time; the comparisons take about as many bytes."""


class DeviceProducts(NamedTuple):
    """Vectors whose products are counted on a device without being stored."""

    users: Tensor
    items: Tensor
    similarity: Similarity

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns the products have."""
        return len(self.users), len(self.items)

    @property
    def device(self) -> torch.device:
        """Where the vectors are."""
        return self.users.device


class Scored(NamedTuple):
    """Scores on their device that can be compared, and what the host needs to know about them."""

    scores: Tensor | DeviceProducts
    checks: dict[str, Tensor]
    """tensors that show whether the scores are valid"""
    words: str
    """their kind, shape and type"""
    open: Callable[[Predictions], Dense]
    """returns names and shape, without scores, of predictions whose names are on the CPU"""


def score_predictions(predictions: Predictions, stored: bool) -> Scored:
    """Return the scores of dense predictions on a device; `stored` says that they are needed
    themselves, not only ranks."""
    if isinstance(predictions, Embeddings):
        return _multiply(predictions, stored)
    kind: Kind = "logits" if isinstance(predictions, Logits) else "scores"
    source = _require_real(predictions.source, kind, DIMENSIONS[kind])
    scores = make_comparable(source)
    words = describe(predictions, source)
    opened = partial(open_dense, shape=tuple(source.shape), words=words, blocks=raise_not_kept)
    return Scored(scores, {}, words, opened)


def _multiply(predictions: Embeddings, stored: bool) -> Scored:
    """Return inner products in the precision of the vectors, even inside autocast."""
    sides = {"user": predictions.user_vectors, "item": predictions.item_vectors}
    users, items = (_require_real(side, f"{name} vectors", (2,)) for name, side in sides.items())
    require_same_dimensions(users.shape[1], items.shape[1])
    similarity, shape = predictions.similarity, (len(users), len(items))
    finite = {"user": users.isfinite().all(dim=1), "item": items.isfinite().all(dim=1)}
    checks = {f"finite/{name}": flags for name, flags in finite.items()}
    words = describe_vectors(*shape, users.shape[1], similarity)
    opened = partial(open_dense, shape=shape, words=words, blocks=raise_not_kept)
    if uses_triton(users, items) and not stored:
        checks["large"] = _may_overflow(users, items)
        return Scored(DeviceProducts(users, items, similarity), checks, words, opened)
    left, right = _widen(users), _widen(items)
    kind = torch.promote_types(left.dtype, right.dtype)
    with torch.autocast(left.device.type, enabled=False):
        factors = [left.to(kind), right.to(kind)]
        factors = [_to_unit(side) for side in factors] if similarity == "cosine" else factors
        scores = factors[0] @ factors[1].T
    return Scored(scores, checks, words, opened)


def _may_overflow(users: Tensor, items: Tensor) -> Tensor:
    """Return whether products of vectors may exceed 32-bit floats, which would hide their order."""
    largest = users.abs().amax().double() * items.abs().amax().double() * users.shape[1]
    return largest > torch.finfo(torch.float32).max


def _to_unit(vectors: Tensor) -> Tensor:
    """Return vectors of length 1, and vectors of zeros as they are, as for arrays."""
    largest = vectors.abs().amax(dim=1, keepdim=True)
    scaled = vectors / torch.where(largest == 0, 1, largest)
    lengths = scaled.norm(dim=1, keepdim=True)
    return scaled / torch.where(lengths == 0, 1, lengths)


def _require_real(value: object, what: str, dimensions: tuple[int, ...]) -> Tensor:
    """Return a tensor of real numbers; raise an error for anything else."""
    if not isinstance(value, Tensor):
        raise BadScores(
            f"{what} is of type {type(value).__name__}, but other predictions are tensors.",
            "a tensor.",
        )
    shape = tuple(value.shape)
    if value.layout != torch.strided:
        raise BadScores(
            f"{what} is a sparse tensor of shape {shape}.",
            "a dense tensor of shape (rows, columns).",
            f"{what}.to_dense()",
        )
    require_dimensions(shape, what, dimensions)
    require_numbers(shape, what, name_of(value.dtype) if value.is_complex() else None)
    return value.detach()


def _widen(vectors: Tensor) -> Tensor:
    if not vectors.is_floating_point():
        return vectors.double()
    return vectors if vectors.dtype.itemsize > 2 else vectors.float()


def make_comparable(scores: Tensor) -> Tensor:
    """Return (rows, columns) floats that compare like the scores; merge interests by maximum."""
    if not scores.is_floating_point():
        scores = scores.double()
    elif scores.dtype.itemsize == 1:  # torch cannot compare these
        scores = scores.float()
    return scores.amax(dim=1) if scores.ndim == 3 else scores


def raise_not_kept() -> Iterator[Block]:
    """Raise an error in place of the blocks of scores, which were counted and not kept."""
    raise BadScores("the scores were not kept.", "values that were counted with the batch.")


def find_holes(scores: Tensor) -> dict[str, Tensor]:
    """Return the number of NaN in each row and the column of the first, for `require_sound`."""
    results = []
    for block in torch.split(scores, _rows_per_block(scores)):
        missing = block.isnan()
        results.append((missing.sum(dim=1), missing.to(torch.int8).argmax(dim=1)))
    cells, first = (torch.cat(column) for column in zip(*results, strict=True))
    return {"holes/cells": cells, "holes/first": first}


def require_sound(opened: Dense, arrays: Arrays) -> None:
    """Raise an error if a vector is not finite or a score is NaN."""
    for name in ("user", "item"):
        if f"finite/{name}" in arrays:
            require_finite_vectors(arrays[f"finite/{name}"], name)
    if arrays.get("large"):
        raise BadScores(
            f"products of the vectors may exceed 32-bit floats ({opened.source}).",
            "vectors whose products fit.",
            "scale the vectors down; the ranks stay the same.",
        )
    if "holes/cells" in arrays:  # also those in the padding column
        cells, first = arrays["holes/cells"], arrays["holes/first"]
    else:
        cells, first = arrays["0/logits"][6:8] if "0/logits" in arrays else arrays["0/rows"][:2]
    rows = np.flatnonzero(cells > 0)
    if len(rows):
        where = (int(rows[0]), int(first[rows[0]]))
        NanRows(opened, len(rows), int(cells.sum()), where).require_none()


def without_scores(predictions: Predictions) -> Predictions:
    """Return the predictions with their names only, so that scores can be freed."""
    if isinstance(predictions, Embeddings):
        return replace(predictions, user_vectors=None, item_vectors=None)
    return replace(predictions, source=None)


def padding_of(predictions: Predictions, columns: int, default: object) -> int | None:
    """Return the padding column of the predictions: their own, or the one of the profile."""
    if isinstance(predictions, Logits):
        return None
    item = default if predictions.padding is None else predictions.padding
    if item is None:
        return None
    return column_of(names_of(to_plain(predictions.items), columns, "items", "columns"), item)


def own_scores(scores: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """Return the score of each cell, NaN for a cell that does not exist."""
    inside = (column >= 0) & (column < scores.shape[1])
    cells = scores[row, column.clamp(0, scores.shape[1] - 1)]
    return torch.where(inside, cells, float("nan"))


def _rows_per_block(scores: Tensor) -> int:
    """Return how many rows to process together."""
    return max(1, STEP // max(1, scores.shape[1]))
