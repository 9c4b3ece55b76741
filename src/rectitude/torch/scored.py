"""Scores on their device: merged, multiplied, checked for what cannot be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rectitude.data.dense import Block, Dense
from rectitude.data.holes import Holes
from rectitude.errors import BadScores
from rectitude.predictions.dense import Embeddings, Scores
from rectitude.predictions.logits import Logits
from rectitude.predictions.rows import Kind, column_of, dense, names_of, table_of
from rectitude.torch import counting
from rectitude.torch.held import opened
from rectitude.torch.pending import Arrays
from rectitude.torch.tensors import name_of, plain

Predictions = Scores | Logits | Embeddings


class Scored(NamedTuple):
    """Scores that can be compared, on their device, and what is to be known of them elsewhere."""

    scores: Tensor
    checks: dict[str, Tensor]
    """what tells whether they are sound"""
    opened: Callable[[Predictions], Dense]
    """names and shape without the scores, of the predictions with names in main memory"""


def scored(predictions: Predictions) -> Scored:
    """The scores of dense predictions that lie on a device."""
    if isinstance(predictions, Embeddings):
        return _products(predictions)
    kind: Kind = "logits" if isinstance(predictions, Logits) else "scores"
    source = _real(predictions.source, kind, (2,) if kind == "logits" else (2, 3))
    scores = counting.comparable(source)
    words = (tuple(source.shape), name_of(source.dtype), kind)

    def made(named: Predictions) -> Dense:
        return opened(named, *words, gone)

    return Scored(scores, _holes(scores), made)


def _products(predictions: Embeddings) -> Scored:
    """The products, in the precision of the vectors, whatever autocast would make of them."""
    sides = {"user": predictions.user_vectors, "item": predictions.item_vectors}
    left, right = (_wide(_real(side, f"{name} vectors", (2,))) for name, side in sides.items())
    if left.shape[1] != right.shape[1]:
        raise BadScores(
            f"user vectors have {left.shape[1]} dimensions and item vectors {right.shape[1]}.",
            "the same number of dimensions.",
        )
    kind = torch.promote_types(left.dtype, right.dtype)
    with torch.autocast(left.device.type, enabled=False):
        scores = left.to(kind) @ right.to(kind).T
    finite = {"user": left.isfinite().all(dim=1), "item": right.isfinite().all(dim=1)}
    checks = {f"finite/{name}": flags for name, flags in finite.items()}
    words = f"embeddings ({len(left)} x {len(right)}, {left.shape[1]} dimensions)"
    shape = (len(left), len(right))
    made = partial(_opened_products, shape=shape, words=words)
    return Scored(scores, {**checks, **_holes(scores)}, made)


def _opened_products(predictions: Predictions, shape: tuple[int, int], words: str) -> Dense:
    own = {side: plain(getattr(predictions, side)) for side in ("users", "items", "lists")}
    table = table_of(own["users"], own["lists"], shape[0], words)
    names = names_of(own["items"], shape[1], "items", "item vectors")
    return dense(gone, table, names, "scores", getattr(predictions, "padding", None))


def _real(given: object, what: str, dimensions: tuple[int, ...]) -> Tensor:
    """A tensor of real numbers, or an error."""
    if not isinstance(given, Tensor):
        raise BadScores(f"{what} is a {type(given).__name__}.", "a tensor, like the others.")
    shape = tuple(given.shape)
    if given.ndim not in dimensions or given.layout != torch.strided:
        raise BadScores(f"{what} has the shape {shape}.", "(rows, columns).")
    if 0 in shape:
        raise BadScores(
            f"{what} is empty: its shape is {shape}.", "at least one row and one column."
        )
    if given.is_complex():
        raise BadScores(f"{what} has the type {name_of(given.dtype)}.", "floats or integers.")
    return given.detach()


def _wide(vectors: Tensor) -> Tensor:
    if not vectors.is_floating_point():
        return vectors.double()
    return vectors if vectors.dtype.itemsize > 2 else vectors.float()


def gone() -> Iterator[Block]:
    """The blocks of scores that were counted and not kept."""
    raise BadScores("the scores were not kept.", "what was counted in them.")


def _holes(scores: Tensor) -> dict[str, Tensor]:
    found = counting.holes(scores)
    return {"holes/cells": found.cells, "holes/first": found.first}


def require_sound(made: Dense, arrays: Arrays) -> None:
    """An error if a vector is not finite, or a score NaN."""
    for name in ("user", "item"):
        bad = ~arrays.get(f"finite/{name}", np.ones(1, bool))
        if bad.any():
            raise BadScores(
                f"{int(bad.sum())} of {len(bad)} {name} vectors are not finite "
                f"(first: vector {int(np.flatnonzero(bad)[0])}).",
                "finite numbers.",
            )
    cells, first = arrays["holes/cells"], arrays["holes/first"]
    rows = np.flatnonzero(cells)
    if len(rows):
        where = (int(rows[0]), int(first[rows[0]]))
        Holes(made, len(rows), int(cells.sum()), where).require_none()


def without_scores(predictions: Predictions) -> Predictions:
    """The predictions' names alone, so that no scores are held."""
    if isinstance(predictions, Embeddings):
        return replace(predictions, user_vectors=None, item_vectors=None)
    return replace(predictions, source=None)


def padding_of(predictions: Predictions, columns: int, usual: object) -> int | None:
    """The column that stands for no item: the one named, or else the usual one."""
    if isinstance(predictions, Logits):
        return None
    item = usual if predictions.padding is None else predictions.padding
    if item is None:
        return None
    return column_of(names_of(plain(predictions.items), columns, "items", "columns"), item)
