"""`Ranked`: lists of recommended items held in tensors, as `torch.topk` leaves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from torch import Tensor

from rectitude.data.series import series
from rectitude.errors import BadLists, BadScores
from rectitude.predictions.lists import Lists
from rectitude.torch.tensors import EMPTY, name_of


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


def names(given: object | None, rows: int, what: str) -> pl.Series:
    """The ids of rows: those given, or numbers from 0."""
    if given is None:
        return pl.Series(what, np.arange(rows))
    ids = series(given, what)
    if len(ids) != rows:
        raise BadLists(f"{what} names {len(ids)}, and there are {rows} rows.", "one id a row.")
    return ids


def lists_of(
    items: NDArray[Any], scores: NDArray[Any] | None, keys: Mapping[str, pl.Series]
) -> Lists:
    """Lists as a table; `keys` are the ids of rows, those of the lists last."""
    wrong = items < EMPTY
    if wrong.any():
        first = int(np.flatnonzero(wrong.any(axis=1))[0])
        raise BadLists(
            f"{int(wrong.sum())} of {items.size} items are negative (first: row {first}).",
            "item numbers from 0, -1 for an empty place.",
        )
    row, place = np.nonzero(items != EMPTY)
    named = {role: ids.gather(row) for role, ids in keys.items()}
    order = {"rank": place} if scores is None else {"score": scores[row, place].astype(np.float64)}
    frame = pl.DataFrame({**named, "item": items[row, place], **order})
    key = list(keys)[-1]
    return Lists(frame, users=keys[key])
