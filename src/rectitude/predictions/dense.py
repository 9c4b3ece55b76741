"""Dense predictions: scores of every item, or embeddings whose products are the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Integers
from rectitude.data.dense import Block, Dense, ready
from rectitude.data.matrices import load, matrix
from rectitude.errors import BadScores
from rectitude.predictions.rows import dense, in_order, names_of, rows_of, table_of
from rectitude.predictions.top import top

_PRODUCT_BYTES = 1 << 27


@dataclass(frozen=True, slots=True)
class Scores:
    """A score for every user and item.

    `source` is an array (users x items, or users x interests x items, of which the best interest
    counts), the path of a `.npy` or `.npz` file, which is mapped into memory (unless it is
    compressed), or a function that returns the blocks of rows one after the other, each time it is
    called. `users` and `items` name rows and columns, which are numbers from 0 otherwise; `lists`
    are the keys of rows where a user has several; `padding` is the item of a column that must never
    be recommended.
    """

    source: object
    _: KW_ONLY
    users: object | None = None
    items: object | None = None
    lists: object | None = None
    padding: object | None = None

    def opened(self) -> Dense:
        """The scores as blocks of rows."""
        held, users, items = self._held()
        key = users if self.lists is None else self.lists
        announced = len(in_order(key, "users")) if callable(held) and key is not None else None
        asked = "users= with the user of each row, in order."
        blocks, rows, columns, words = rows_of(held, announced, "scores", asked)
        table = table_of(users, self.lists, rows, words)
        names = names_of(items, columns, "items", "columns")
        return dense(blocks, table, names, "scores", self.padding)

    def _held(self) -> tuple[object, object | None, object | None]:
        if not isinstance(self.source, (str, PathLike)):
            return self.source, self.users, self.items
        arrays = load(self.source)
        only = list(arrays) if len(arrays) == 1 else []
        name = next((n for n in ("", "scores", *only) if n in arrays), None)
        if name is None:
            raise BadScores(
                f"{self.source} holds {', '.join(sorted(arrays)) or 'nothing'}.",
                "an array named 'scores', and 'users' and 'items' beside it if they have ids.",
            )
        own = {side: arrays.get(side) for side in ("users", "items")}
        users = self.users if self.users is not None else own["users"]
        return arrays[name], users, self.items if self.items is not None else own["items"]

    def top(self, k: int, train: object = None) -> Integers:
        """(rows, k) the columns of the best items of each row, best first; -1 where there is none.

        Items in `train` are left out; equal scores stand in the order of their columns.
        """
        return top(self.opened(), k, train)


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Vectors of users and items whose inner products are the scores.

    Vectors are arrays, or paths of `.npy` files, which are mapped into memory. The products are
    made block by block and never held together.
    """

    user_vectors: object
    item_vectors: object
    _: KW_ONLY
    users: object | None = None
    items: object | None = None
    lists: object | None = None
    padding: object | None = None

    def opened(self) -> Dense:
        """The products as blocks of rows."""
        left, right = self._vectors()
        words = f"embeddings ({len(left)} x {len(right)}, {left.shape[1]} dimensions)"
        table = table_of(self.users, self.lists, len(left), words)
        names = names_of(self.items, len(right), "items", "item vectors")
        return dense(_products(left, right), table, names, "scores", self.padding)

    def top(self, k: int, train: object = None) -> Integers:
        """(rows, k) the columns of the best items of each row, as `Scores.top` gives them."""
        return top(self.opened(), k, train)

    def _vectors(self) -> tuple[NDArray[Any], NDArray[Any]]:
        sides = {"user": self.user_vectors, "item": self.item_vectors}
        left, right = (_vectors(side, f"{name} vectors") for name, side in sides.items())
        if left.shape[1] != right.shape[1]:
            raise BadScores(
                f"user vectors have {left.shape[1]} dimensions and item vectors {right.shape[1]}.",
                "the same number of dimensions.",
            )
        for name, vectors in zip(sides, (left, right), strict=True):
            bad: Flags = ~np.asarray(np.isfinite(vectors).all(axis=1))
            if bad.any():
                raise BadScores(
                    f"{int(bad.sum())} of {len(bad)} {name} vectors are not finite "
                    f"(first: vector {int(np.flatnonzero(bad)[0])}).",
                    "finite numbers.",
                )
        return left, right


def _vectors(given: object, what: str) -> NDArray[Any]:
    if isinstance(given, (str, PathLike)):
        arrays = load(given)
        if len(arrays) != 1:
            raise BadScores(f"{given} holds {', '.join(sorted(arrays))}.", f"the {what} alone.")
        given = next(iter(arrays.values()))
    return ready(matrix(given, what))


def _products(left: NDArray[Any], right: NDArray[Any]) -> Callable[[], Iterator[Block]]:
    """The products of all rows in blocks, which share one piece of memory."""
    kind = np.result_type(left, right)
    left, right = left.astype(kind, copy=False), right.astype(kind, copy=False)
    step = max(1, _PRODUCT_BYTES // (len(right) * kind.itemsize))

    def blocks() -> Iterator[Block]:
        room = np.empty((min(step, len(left)), len(right)), kind)
        for first in range(0, len(left), step):
            part = left[first : first + step]
            with np.errstate(over="ignore", invalid="ignore"):  # whoever reads them finds a NaN
                block = np.matmul(part, right.T, out=room[: len(part)])
            yield block

    return blocks
