"""Predictions held in tensors: what they are, and how arrays are made of them in main memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rectitude.data.dense import COPIED_BYTES, Block, Dense
from rectitude.data.matrices import require_dimensions
from rectitude.errors import BadLists, BadName, BadScores
from rectitude.predictions.logits import Logits
from rectitude.predictions.scores import (
    DIMENSIONS,
    Embeddings,
    Kind,
    Scores,
    dense,
    names_of,
    table_of,
)
from rectitude.torch.tensors import array, name_of, plain

_NUMPY_HAS = (torch.float16, torch.float32, torch.float64)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The items recommended in each row, best first, -1 for an empty place.

    `scores` are theirs, if they shall decide the order; `users` name the rows, which are numbers
    from 0 otherwise; `lists` are the keys of rows where a user has several.
    """

    items: Tensor
    scores: Tensor | None = None
    _: KW_ONLY
    users: object | None = None
    lists: object | None = None

    def require_fitting(self) -> None:
        """An error if these are no lists."""
        if self.items.ndim != 2 or self.items.is_floating_point() or self.items.is_complex():
            raise BadLists(
                f"items is a tensor of shape {tuple(self.items.shape)} and type "
                f"{name_of(self.items.dtype)}.",
                "(users, places) whole numbers.",
            )
        if self.scores is not None and self.scores.shape != self.items.shape:
            raise BadScores(
                f"scores is a tensor of shape {tuple(self.scores.shape)}, and items of "
                f"{tuple(self.items.shape)}.",
                "the same shape.",
            )
        if 0 in self.items.shape:
            raise BadLists(f"items is empty: its shape is {tuple(self.items.shape)}.", "a list.")


def recognised(predictions: object, truth: object, users: object, ids: object) -> object:
    """A bare tensor as what it must be, its rows named by `ids`: logits where the truth is one
    target a row, else scores."""
    if not isinstance(predictions, Tensor):
        return _named(predictions, ids)
    if not predictions.is_floating_point():
        raise BadScores(
            f"predictions is a tensor of type {name_of(predictions.dtype)}, which may hold scores "
            "or items.",
            "something that can be told.",
            "rt.Scores(tensor) for scores, rectitude.torch.Ranked(tensor) for lists of items.",
        )
    if isinstance(truth, (Tensor, np.ndarray)) and truth.ndim == 1:
        return Logits(predictions)
    if users is not None:
        raise BadName(
            "users= says who is evaluated, and the rows of this tensor have no names.",
            "ids= with the user of each row.",
            "update(scores, truth, ids=users)",
        )
    return Scores(predictions, users=ids)


def _named(predictions: object, ids: object) -> object:
    if ids is None or isinstance(predictions, Logits):
        return predictions
    if not isinstance(predictions, (Scores, Embeddings, Ranked)) or not _nameless(predictions):
        raise BadName(
            "ids= was given, and the predictions name their lists themselves.", "one of them."
        )
    return replace(predictions, users=ids)


def _nameless(predictions: Scores | Embeddings | Ranked) -> bool:
    return predictions.users is None and predictions.lists is None


def tensors_of(predictions: object) -> dict[str, Tensor]:
    """The tensors that hold scores or items, by name."""
    if isinstance(predictions, Ranked):
        given: dict[str, object] = {"items": predictions.items, "scores": predictions.scores}
    elif isinstance(predictions, Embeddings):
        given = {"user vectors": predictions.user_vectors, "item vectors": predictions.item_vectors}
    elif isinstance(predictions, (Scores, Logits)):
        kind = "scores" if isinstance(predictions, Scores) else "logits"
        given = {kind: predictions.source}
    else:
        given = {}
    return {name: value for name, value in given.items() if isinstance(value, Tensor)}


def shape_of(predictions: object) -> tuple[int, int] | None:
    """Rows and columns, where they show before anything is read."""
    if isinstance(predictions, Embeddings):
        sides = (predictions.user_vectors, predictions.item_vectors)
        known = [len(side) for side in sides if isinstance(side, (Tensor, np.ndarray))]
        return (known[0], known[1]) if len(known) == 2 else None
    if isinstance(predictions, (Scores, Logits)):
        source = predictions.source
        if isinstance(source, (Tensor, np.ndarray)):
            kind: Kind = "scores" if isinstance(predictions, Scores) else "logits"
            require_dimensions(tuple(source.shape), kind, DIMENSIONS[kind])
            return len(source), int(source.shape[-1])
    return None


def in_memory(predictions: object) -> object:
    """Predictions whose tensors are arrays: views of their memory, where NumPy has their type."""
    if isinstance(predictions, Embeddings):
        sides = ("user_vectors", "item_vectors")
        vectors: dict[str, Any] = {side: plain(getattr(predictions, side)) for side in sides}
        return replace(predictions, **vectors, **_names(predictions))
    if not isinstance(predictions, (Scores, Logits)):
        return predictions
    names = _names(predictions) if isinstance(predictions, Scores) else {}
    source = predictions.source
    if not isinstance(source, Tensor):
        return replace(predictions, **names) if names else predictions
    if source.is_floating_point() and source.dtype not in _NUMPY_HAS and source.ndim > 1:
        return _narrow(replace(predictions, **names), source.detach().cpu())
    return replace(predictions, source=array(source), **names)


def _names(predictions: Scores | Embeddings) -> dict[str, Any]:
    return {side: plain(getattr(predictions, side)) for side in ("users", "items", "lists")}


def _narrow(predictions: Scores | Logits, source: Tensor) -> Scores | Logits:
    """Scores of a type that NumPy lacks: converted block by block, as halves are."""
    made = partial(opened, predictions, tuple(source.shape), words_of(predictions, source))
    blocks = partial(_blocks, source)
    if isinstance(predictions, Logits):
        return MadeLogits(source, made=partial(made, blocks))
    sides = {side: getattr(predictions, side) for side in ("users", "items", "lists", "padding")}
    return MadeScores(source, made=partial(made, blocks), **sides)


def _blocks(source: Tensor) -> Iterator[Block]:
    step = max(1, COPIED_BYTES // (4 * max(1, source[0].numel())))
    for block in torch.split(source, step):
        wide = block.float()
        yield (wide.amax(dim=1) if wide.ndim == 3 else wide).contiguous().numpy()


def words_of(predictions: Scores | Logits, source: Tensor) -> str:
    """Scores or logits in words, as those in arrays are described."""
    kind = "scores" if isinstance(predictions, Scores) else "logits"
    return f"{kind} ({' x '.join(map(str, source.shape))}, {name_of(source.dtype)})"


def opened(
    predictions: Scores | Logits | Embeddings,
    shape: tuple[int, ...],
    words: str,
    blocks: Callable[[], Iterator[Block]],
) -> Dense:
    """Dense predictions of such a shape, named as they are elsewhere."""
    if isinstance(predictions, Logits):
        names = names_of(None, shape[-1], "classes", "columns")
        return dense(blocks, table_of(None, None, shape[0], words), names, "logits")
    own = _names(predictions)
    table = table_of(own["users"], own["lists"], shape[0], words)
    columns = "item vectors" if isinstance(predictions, Embeddings) else "columns"
    names = names_of(own["items"], shape[-1], "items", columns)
    return dense(blocks, table, names, "scores", predictions.padding)


@dataclass(frozen=True, slots=True)
class MadeScores(Scores):
    """Scores that are opened in a way of their own."""

    made: Callable[[], Dense] = field(kw_only=True)

    def opened(self) -> Dense:
        """What was made."""
        return self.made()


@dataclass(frozen=True, slots=True)
class MadeLogits(Logits):
    """Logits that are opened in a way of their own."""

    made: Callable[[], Dense] = field(kw_only=True)

    def opened(self) -> Dense:
        """What was made."""
        return self.made()
