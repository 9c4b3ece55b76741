"""Dense predictions: scores of every item, or embeddings whose products are the scores.

Wherever scores come from (an array, a file, a function), they become blocks of rows that are
checked, and rows and columns with names; logits are opened by the same functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache, partial
from os import PathLike
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Integers
from rectitude.data.dense import COPIED_BYTES, Block, Dense, array_blocks, ready
from rectitude.data.frames import series
from rectitude.data.matrices import (
    load,
    matrix,
    require_finite_vectors,
    require_same_dimensions,
)
from rectitude.data.table import ROW_NUMBER, Table
from rectitude.errors import BadIds, BadScores
from rectitude.predictions.masks import top

Kind = Literal["scores", "logits"]
_MOST_SHARED = 1 << 20
DIMENSIONS: Mapping[Kind, tuple[int, ...]] = {"scores": (2, 3), "logits": (2,)}
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
        require_same_dimensions(left.shape[1], right.shape[1])
        for name, vectors in zip(sides, (left, right), strict=True):
            require_finite_vectors(np.isfinite(vectors).all(axis=1), name)
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


class Rows(NamedTuple):
    """Rows of scores, wherever they come from."""

    blocks: Callable[[], Iterator[Block]]
    rows: int
    columns: int
    words: str


def rows_of(held: object, announced: int | None, kind: Kind, asked: str) -> Rows:
    """The rows of an array, or of a function, which must be announced: `asked` says where."""
    if not callable(held):
        array = matrix(held, kind, DIMENSIONS[kind])
        shape = " x ".join(map(str, array.shape))
        words = f"{kind} ({shape}, {array.dtype})"
        return Rows(array_blocks(array), len(array), array.shape[-1], words)
    if announced is None:
        raise BadScores(
            f"{kind} come from a function, which does not say how many rows there are.", asked
        )
    columns = _first_columns(held, kind)
    blocks = partial(_checked_blocks, held, announced, columns, kind)
    return Rows(blocks, announced, columns, f"{kind} ({announced} x {columns}, function)")


def _called(function: Callable[[], object], what: str) -> Iterator[Any]:
    """What a function returns, one block after the other."""
    given = function()
    if not isinstance(given, Iterable):
        raise BadScores(
            f"the function of {what} returned a {type(given).__name__}.",
            "blocks of rows, one after the other.",
            "write yield in the function, or return a list of arrays.",
        )
    return iter(given)


def _first_columns(function: Callable[[], object], what: Kind) -> int:
    """How many columns the first block has that a function returns."""
    first = next(_called(function, what), None)
    if first is None:
        raise BadScores(f"the function of {what} returned no block.", "at least one block.")
    return int(matrix(first, f"the first block of {what}", DIMENSIONS[what]).shape[-1])


def _checked_blocks(
    function: Callable[[], object], rows: int, columns: int, what: Kind
) -> Iterator[Block]:
    """The blocks that a function returns, or an error where they do not fit."""
    seen = 0
    for number, given in enumerate(_called(function, what)):
        block = matrix(given, f"block {number} of the {what}", DIMENSIONS[what])
        if block.shape[-1] != columns:
            raise BadScores(
                f"block {number} of the {what} has {block.shape[-1]} columns, the first {columns}.",
                "the same columns in every block.",
            )
        seen += len(block)
        if seen > rows:
            break
        step = len(block) if block.ndim == 2 else max(1, COPIED_BYTES // block[:1].nbytes)
        for first in range(0, len(block), step):
            yield ready(block[first : first + step])
    if seen != rows:
        more = "at least " if seen > rows else ""
        raise BadScores(
            f"the blocks of {what} have {more}{seen} rows, and {rows} were announced.",
            "as many rows as users=, lists= or rows= say.",
            "the function is called for every reading, and begins again each time.",
        )


def dense(
    blocks: Callable[[], Iterator[Block]],
    table: Table,
    items: pl.Series,
    kind: Kind,
    padding: object | None = None,
) -> Dense:
    """Dense predictions from their blocks and ids."""
    column = None if padding is None else column_of(items, padding)
    if padding is not None and column is None:
        raise BadScores(
            f"the padding item {padding!r} is no column (first item: {items[0]!r}).",
            "one of the items.",
        )
    named = table.columns["list"] != ROW_NUMBER
    return Dense(table.frame.height, len(items), blocks, table, items, kind, column, named)


def column_of(items: pl.Series, item: object) -> int | None:
    """The column of an item, None if it has none."""
    found = [number for number, one in enumerate(items.to_list()) if one == item]
    return found[0] if len(found) == 1 else None


def table_of(users: object | None, lists: object | None, rows: int, words: str) -> Table:
    """One row for each row of scores."""
    key = lists if lists is not None else users
    if key is None:
        frame = numbers_from_0(rows, "list").to_frame()
        return Table(frame, {"list": ROW_NUMBER}, words, given=False, text=False, handed=None)
    columns = {"list": names_of(key, rows, "lists" if lists is not None else "users", "rows")}
    if lists is not None and users is not None:
        owners = in_order(users, "users")
        if len(owners) != rows:
            raise BadScores(f"users names {len(owners)}, and there are {rows} rows.", "one each.")
        columns["user"] = owners
    frame = pl.DataFrame({role: column.alias(role) for role, column in columns.items()})
    return Table(frame, dict.fromkeys(columns, ""), words, given=False, text=False, handed=None)


def names_of(given: object | None, size: int, what: str, of: str) -> pl.Series:
    """The ids of rows or columns: those given, or numbers from 0."""
    if given is None:
        return numbers_from_0(size, what)
    ids = in_order(given, what)
    if len(ids) != size:
        raise BadScores(
            f"{what} names {len(ids)}, and there are {size} {of}.", f"one id for each of the {of}."
        )
    if ids.null_count():
        raise BadIds(f"{ids.null_count()} of {size} {what} are missing.", "an id for each.")
    twice = _repeated(ids)
    if twice.any():
        raise BadIds(
            f"{int(twice.sum())} of {size} {what} occur twice (first: {ids.filter(twice)[0]!r}).",
            f"each id once among the {what}.",
            "a user with several rows needs lists= with a key for each row."
            if what == "users"
            else "",
        )
    return ids


def numbers_from_0(size: int, name: str) -> pl.Series:
    """The names of rows or columns that have none. Batches of one size share them."""
    return _shared_numbers(size, name) if size <= _MOST_SHARED else pl.Series(name, np.arange(size))


@lru_cache(maxsize=8)
def _shared_numbers(size: int, name: str) -> pl.Series:
    return pl.Series(name, np.arange(size))


def are_numbers(ids: pl.Series) -> bool:
    """Whether ids are known to be the numbers that rows or columns without names have."""
    return len(ids) <= _MOST_SHARED and ids is _shared_numbers(len(ids), ids.name)


def in_order(given: object, what: str) -> pl.Series:
    """Ids in the order of rows or columns, which a set does not have."""
    if isinstance(given, Set):
        raise BadIds(
            f"{what} is a {type(given).__name__}, which has no order of its own.",
            "the ids in the order of the scores, such as a list.",
        )
    return series(given, what)


def _repeated(ids: pl.Series) -> pl.Series:
    """Which ids occur more than once."""
    if ids.dtype != pl.Object:
        return ids.is_duplicated()
    times = Counter((type(value), value) for value in ids.to_list())
    return pl.Series([times[type(value), value] > 1 for value in ids.to_list()])
