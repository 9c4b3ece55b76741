"""Predictions held in tensors: recognise their kind, and convert them to arrays on the CPU."""

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
from rectitude.errors import BadArgument, BadLists, BadScores
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
from rectitude.torch.tensors import name_of, to_array, to_plain

_NUMPY_HAS = (torch.float16, torch.float32, torch.float64)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The items recommended in each row, best first, with -1 for empty positions.

    `scores` belong to the items; if given, they decide the order. `users` name the rows, which are
    numbered from 0 otherwise. `lists` are the keys of the rows if a user has several lists.
    """

    items: Tensor
    scores: Tensor | None = None
    _: KW_ONLY
    users: object | None = None
    lists: object | None = None

    def require_fitting(self) -> None:
        """Raise an error if the tensors do not hold lists."""
        if self.items.ndim != 2 or self.items.is_floating_point() or self.items.is_complex():
            raise BadLists(
                f"items is a tensor of shape {tuple(self.items.shape)} and type "
                f"{name_of(self.items.dtype)}.",
                "integers of shape (lists, positions).",
            )
        if self.scores is not None and self.scores.shape != self.items.shape:
            raise BadScores(
                f"scores is a tensor of shape {tuple(self.scores.shape)}, but items has the shape "
                f"{tuple(self.items.shape)}.",
                "the same shape.",
            )
        if 0 in self.items.shape:
            raise BadLists(
                f"items is empty: its shape is {tuple(self.items.shape)}.",
                "at least one list with one position.",
            )


def recognise(predictions: object, truth: object, users: object, ids: object) -> object:
    """Return a plain tensor as scores whose rows are named by `ids`, or as logits if the truth is
    one target per row; return anything else with its rows named by `ids`."""
    if not isinstance(predictions, Tensor):
        return _name_rows(predictions, ids)
    if not predictions.is_floating_point():
        raise BadScores(
            f"predictions is a tensor of type {name_of(predictions.dtype)}, which could hold "
            "scores or items.",
            "a tensor of floats, or a tensor wrapped in a class that says what it holds.",
            "use rt.Scores(tensor) for scores, rectitude.torch.Ranked(tensor) for lists of items.",
        )
    if isinstance(truth, (Tensor, np.ndarray)) and truth.ndim == 1:
        return Logits(predictions)
    if users is not None:
        raise BadArgument(
            "users= says whom to evaluate, but the rows of this tensor have no user ids.",
            "ids= with the user of each row.",
            "call update(scores, truth, ids=users).",
        )
    return Scores(predictions, users=ids)


def _name_rows(predictions: object, ids: object) -> object:
    if ids is None or isinstance(predictions, Logits):
        return predictions
    if not isinstance(predictions, (Scores, Embeddings, Ranked)) or not _nameless(predictions):
        raise BadArgument(
            "ids= was given, but the predictions already name their lists.", "only one of them."
        )
    return replace(predictions, users=ids)


def _nameless(predictions: Scores | Embeddings | Ranked) -> bool:
    return predictions.users is None and predictions.lists is None


def tensors_of(predictions: object) -> dict[str, Tensor]:
    """Return the tensors that hold scores or items, by name."""
    if isinstance(predictions, Ranked):
        sources: dict[str, object] = {"items": predictions.items, "scores": predictions.scores}
    elif isinstance(predictions, Embeddings):
        sources = {
            "user vectors": predictions.user_vectors,
            "item vectors": predictions.item_vectors,
        }
    elif isinstance(predictions, (Scores, Logits)):
        kind = "scores" if isinstance(predictions, Scores) else "logits"
        sources = {kind: predictions.source}
    else:
        sources = {}
    return {name: value for name, value in sources.items() if isinstance(value, Tensor)}


def shape_of(predictions: object) -> tuple[int, int] | None:
    """Return rows and columns, if they are known before anything is read."""
    if isinstance(predictions, Embeddings):
        sides = (predictions.user_vectors, predictions.item_vectors)
        lengths = [len(side) for side in sides if isinstance(side, (Tensor, np.ndarray))]
        return (lengths[0], lengths[1]) if len(lengths) == 2 else None
    if isinstance(predictions, (Scores, Logits)):
        source = predictions.source
        if isinstance(source, (Tensor, np.ndarray)):
            kind: Kind = "scores" if isinstance(predictions, Scores) else "logits"
            require_dimensions(tuple(source.shape), kind, DIMENSIONS[kind])
            return len(source), int(source.shape[-1])
    return None


def in_memory(predictions: object) -> object:
    """Return predictions with arrays instead of tensors, without a copy if NumPy has their type."""
    if isinstance(predictions, Embeddings):
        sides = ("user_vectors", "item_vectors")
        vectors: dict[str, Any] = {side: to_plain(getattr(predictions, side)) for side in sides}
        return replace(predictions, **vectors, **_plain_names(predictions))
    if not isinstance(predictions, (Scores, Logits)):
        return predictions
    names = _plain_names(predictions) if isinstance(predictions, Scores) else {}
    source = predictions.source
    if not isinstance(source, Tensor):
        return replace(predictions, **names) if names else predictions
    if source.is_floating_point() and source.dtype not in _NUMPY_HAS and source.ndim > 1:
        return _convert_blocks(replace(predictions, **names), source.detach().cpu())
    return replace(predictions, source=to_array(source), **names)


def _plain_names(predictions: Scores | Embeddings) -> dict[str, Any]:
    return {side: to_plain(getattr(predictions, side)) for side in ("users", "items", "lists")}


def _convert_blocks(predictions: Scores | Logits, source: Tensor) -> Scores | Logits:
    """Return scores of a type that NumPy lacks, converted to float32 block by block."""
    open_blocks = partial(
        open_dense, predictions, tuple(source.shape), describe(predictions, source)
    )
    blocks = partial(_blocks, source)
    if isinstance(predictions, Logits):
        return OpenedLogits(source, made=partial(open_blocks, blocks))
    sides = {side: getattr(predictions, side) for side in ("users", "items", "lists", "padding")}
    return OpenedScores(source, made=partial(open_blocks, blocks), **sides)


def _blocks(source: Tensor) -> Iterator[Block]:
    step = max(1, COPIED_BYTES // (4 * max(1, source[0].numel())))
    for block in torch.split(source, step):
        floats = block.float()
        yield (floats.amax(dim=1) if floats.ndim == 3 else floats).contiguous().numpy()


def describe(predictions: Scores | Logits, source: Tensor) -> str:
    """Describe scores or logits in words, in the same way as those in arrays."""
    kind = "scores" if isinstance(predictions, Scores) else "logits"
    return f"{kind} ({' x '.join(map(str, source.shape))}, {name_of(source.dtype)})"


def open_dense(
    predictions: Scores | Logits | Embeddings,
    shape: tuple[int, ...],
    words: str,
    blocks: Callable[[], Iterator[Block]],
) -> Dense:
    """Return dense predictions of a shape, with the names of their rows and columns."""
    if isinstance(predictions, Logits):
        names = names_of(None, shape[-1], "classes", "columns")
        return dense(blocks, table_of(None, None, shape[0], words), names, "logits")
    ids = _plain_names(predictions)
    table = table_of(ids["users"], ids["lists"], shape[0], words)
    columns = "item vectors" if isinstance(predictions, Embeddings) else "columns"
    names = names_of(ids["items"], shape[-1], "items", columns)
    return dense(blocks, table, names, "scores", predictions.padding)


@dataclass(frozen=True, slots=True)
class OpenedScores(Scores):
    """Scores with a custom way to open them."""

    made: Callable[[], Dense] = field(kw_only=True)

    def open(self) -> Dense:
        """Return the dense scores."""
        return self.made()


@dataclass(frozen=True, slots=True)
class OpenedLogits(Logits):
    """Logits with a custom way to open them."""

    made: Callable[[], Dense] = field(kw_only=True)

    def open(self) -> Dense:
        """Return the dense logits."""
        return self.made()
