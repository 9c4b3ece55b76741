"""Dense predictions: a score for every item, or embeddings whose inner products are the scores.

Scores may come from an array, a file or a function. They become blocks of rows that are checked,
together with the ids of rows and columns. Logits use the same functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import KW_ONLY, dataclass, replace
from functools import lru_cache, partial
from os import PathLike
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Integers
from rectitude.data.dense import COPIED_BYTES, Block, Dense, array_blocks, prepare_block
from rectitude.data.frames import is_held, series
from rectitude.data.matrices import (
    load,
    matrix,
    require_finite_vectors,
    require_same_dimensions,
)
from rectitude.data.pivots import pivot_of
from rectitude.data.table import ROW_NUMBER, Table
from rectitude.data.values import require_one_type
from rectitude.errors import BadArgument, BadIds, BadScores
from rectitude.predictions.masks import top

Kind = Literal["scores", "logits"]
Similarity = Literal["dot", "cosine"]
_MOST_SHARED = 1 << 20
DIMENSIONS: Mapping[Kind, tuple[int, ...]] = {"scores": (2, 3), "logits": (2,)}
_PRODUCT_BYTES = 1 << 27


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """A score for every user and item.

    `source` is an array, the path of a `.npy` or `.npz` file (memory-mapped unless it is
    compressed), or a function that returns the rows in blocks and starts from the beginning at
    every call. An array has the shape users x items, or users x interests x items; then the highest
    score of all interests counts. A pandas frame has the users in its index and the items in its
    columns; a Polars frame has a column of users, and the names of all others are the items.

    `users` and `items` are the ids of rows and columns. Without them, rows and columns are numbers
    from 0, and the truth must use these numbers; `users=range(rows)` and `items=range(columns)`
    state that they are ids. `lists` are the keys of the rows if a user has several rows. `padding`
    is the item of a column that must never be recommended.
    """

    source: object
    _: KW_ONLY
    users: object | None = None
    items: object | None = None
    lists: object | None = None
    padding: object | None = None

    def open(self) -> Dense:
        """Return the scores as blocks of rows."""
        if is_held(self.source):
            return self._open_frame()
        source, users, items = self._load()
        key = users if self.lists is None else self.lists
        announced = len(in_order(key, "users")) if callable(source) and key is not None else None
        requirement = "users= with the user of each row, in order."
        blocks, rows, columns, words = rows_of(source, announced, "scores", requirement)
        table = table_of(users, self.lists, rows, words)
        names = names_of(items, columns, "items", "columns")
        return dense(blocks, table, names, "scores", self.padding)

    def _open_frame(self) -> Dense:
        """Return the scores of a frame, whose labels are the ids unless others are given."""
        pivot = pivot_of(self.source, "scores")
        users = pivot.users if self.users is None else self.users
        items = pivot.items if self.items is None else self.items
        opened = replace(self, source=pivot.values("scores"), users=users, items=items).open()
        words = f"{opened.source.removesuffix(')')}, {pivot.label})"
        table = replace(opened.table, source=words)
        return replace(opened, table=table, text=pivot.text and self.items is None)

    def _load(self) -> tuple[object, object | None, object | None]:
        if not isinstance(self.source, (str, PathLike)):
            return self.source, self.users, self.items
        arrays = load(self.source)
        single = list(arrays) if len(arrays) == 1 else []
        name = next((n for n in ("", "scores", *single) if n in arrays), None)
        if name is None:
            raise BadScores(
                f"{self.source} contains {', '.join(sorted(arrays)) or 'no array'}.",
                "an array named 'scores', and optionally 'users' and 'items' with their ids.",
            )
        stored = {side: arrays.get(side) for side in ("users", "items")}
        users = self.users if self.users is not None else stored["users"]
        return arrays[name], users, self.items if self.items is not None else stored["items"]

    def top(self, k: int, train: object = None) -> Integers:
        """Return the columns of the best items of each row, (rows, k), best first; -1 if there is
        none.

        Items in `train` are left out. Items with equal scores keep the order of their columns.
        """
        return top(self.open(), k, train)


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """Vectors of users and items whose inner products are the scores.

    Vectors are arrays, or paths of `.npy` files, which are memory-mapped. The products are computed
    block by block, so all scores are never in memory at once. With `similarity="cosine"`, every
    vector is first divided by its length; a vector of zeros has no direction and scores 0 with
    every other.
    """

    user_vectors: object
    item_vectors: object
    _: KW_ONLY
    users: object | None = None
    items: object | None = None
    lists: object | None = None
    padding: object | None = None
    similarity: Similarity = "dot"

    def __post_init__(self) -> None:
        if self.similarity not in get_args(Similarity):
            raise BadArgument(f"similarity is {self.similarity!r}.", "'dot' or 'cosine'.")

    def open(self) -> Dense:
        """Return the inner products as blocks of rows."""
        left, right = self._vectors()
        words = describe_vectors(len(left), len(right), left.shape[1], self.similarity)
        table = table_of(self.users, self.lists, len(left), words)
        names = names_of(self.items, len(right), "items", "item vectors")
        return dense(_products(left, right), table, names, "scores", self.padding)

    def top(self, k: int, train: object = None) -> Integers:
        """Return the columns of the best items of each row, (rows, k), like `Scores.top`."""
        return top(self.open(), k, train)

    def _vectors(self) -> tuple[NDArray[Any], NDArray[Any]]:
        sides = {"user": self.user_vectors, "item": self.item_vectors}
        left, right = (_vectors(side, f"{name} vectors") for name, side in sides.items())
        require_same_dimensions(left.shape[1], right.shape[1])
        for name, vectors in zip(sides, (left, right), strict=True):
            require_finite_vectors(np.isfinite(vectors).all(axis=1), name)
        return (left, right) if self.similarity == "dot" else (_to_unit(left), _to_unit(right))


def describe_vectors(users: int, items: int, dimensions: int, similarity: Similarity) -> str:
    """Describe embeddings in words, for the ledger."""
    how = "" if similarity == "dot" else f", {similarity} similarity"
    return f"embeddings ({users} x {items}, {dimensions} dimensions{how})"


def _to_unit(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return vectors of length 1; a vector of zeros stays as it is.

    They are scaled by their largest number first, so that squares neither overflow nor vanish.
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    scaled = vectors / np.where(largest == 0, 1, largest)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit: NDArray[Any] = scaled / np.where(lengths == 0, 1, lengths)
    return unit


def _vectors(vectors: object, description: str) -> NDArray[Any]:
    if isinstance(vectors, (str, PathLike)):
        arrays = load(vectors)
        if len(arrays) != 1:
            raise BadScores(
                f"{vectors} contains {', '.join(sorted(arrays))}.",
                f"one array with the {description}.",
            )
        vectors = next(iter(arrays.values()))
    return prepare_block(matrix(vectors, description))


def _products(left: NDArray[Any], right: NDArray[Any]) -> Callable[[], Iterator[Block]]:
    """Return the inner products of all rows in blocks, which share one buffer."""
    dtype = np.result_type(left, right)
    left, right = left.astype(dtype, copy=False), right.astype(dtype, copy=False)
    step = max(1, _PRODUCT_BYTES // (len(right) * dtype.itemsize))

    def blocks() -> Iterator[Block]:
        buffer = np.empty((min(step, len(left)), len(right)), dtype)
        for first in range(0, len(left), step):
            users = left[first : first + step]
            with np.errstate(over="ignore", invalid="ignore"):  # a check finds NaN later
                block = np.matmul(users, right.T, out=buffer[: len(users)])
            yield block

    return blocks


class Rows(NamedTuple):
    """Rows of scores from any source."""

    blocks: Callable[[], Iterator[Block]]
    rows: int
    columns: int
    words: str


def rows_of(source: object, announced: int | None, kind: Kind, asked: str) -> Rows:
    """Return the rows of an array or a function. A function needs the number of rows, `announced`;
    `asked` says where to pass it."""
    if not callable(source):
        array = matrix(source, kind, DIMENSIONS[kind])
        shape = " x ".join(map(str, array.shape))
        words = f"{kind} ({shape}, {array.dtype})"
        return Rows(array_blocks(array), len(array), array.shape[-1], words)
    if announced is None:
        raise BadScores(
            f"{kind} come from a function, which does not give the number of rows.", asked
        )
    columns = _first_columns(source, kind)
    blocks = partial(_check_blocks, source, announced, columns, kind)
    return Rows(blocks, announced, columns, f"{kind} ({announced} x {columns}, function)")


def _call(function: Callable[[], object], what: str) -> Iterator[Any]:
    """Call a function and return an iterator over its blocks."""
    blocks = function()
    if not isinstance(blocks, Iterable):
        raise BadScores(
            f"the function for the {what} returned a {type(blocks).__name__}.",
            "an iterable of blocks of rows.",
            "use yield in the function, or return a list of arrays.",
        )
    return iter(blocks)


def _first_columns(function: Callable[[], object], what: Kind) -> int:
    """Return the number of columns in the first block that a function returns."""
    first = next(_call(function, what), None)
    if first is None:
        raise BadScores(f"the function for the {what} returned no blocks.", "at least one block.")
    return int(matrix(first, f"the first block of {what}", DIMENSIONS[what]).shape[-1])


def _check_blocks(
    function: Callable[[], object], rows: int, columns: int, what: Kind
) -> Iterator[Block]:
    """Yield the blocks that a function returns. Raise an error if their shapes do not fit."""
    total = 0
    for number, values in enumerate(_call(function, what)):
        block = matrix(values, f"block {number} of the {what}", DIMENSIONS[what])
        if block.shape[-1] != columns:
            raise BadScores(
                f"block {number} of the {what} has {block.shape[-1]} columns, but block 0 has "
                f"{columns}.",
                "the same number of columns in every block.",
            )
        total += len(block)
        if total > rows:
            break
        step = len(block) if block.ndim == 2 else max(1, COPIED_BYTES // block[:1].nbytes)
        for first in range(0, len(block), step):
            yield prepare_block(block[first : first + step])
    if total != rows:
        more = "at least " if total > rows else ""
        raise BadScores(
            f"the number of rows in all blocks of {what} is {more}{total}, not {rows}.",
            "as many rows as users=, lists= or rows= say.",
            "the function is called several times and must start from the beginning each time.",
        )


def dense(
    blocks: Callable[[], Iterator[Block]],
    table: Table,
    items: pl.Series,
    kind: Kind,
    padding: object | None = None,
) -> Dense:
    """Return dense predictions from their blocks and ids."""
    column = None if padding is None else column_of(items, padding)
    if padding is not None and column is None:
        raise BadScores(
            f"the padding item {padding!r} is not a column (first item: {items[0]!r}).",
            "one of the items.",
        )
    has_ids = table.columns["list"] != ROW_NUMBER
    return Dense(table.frame.height, len(items), blocks, table, items, kind, column, has_ids)


def column_of(items: pl.Series, item: object) -> int | None:
    """Return the column of an item, or None if it has none."""
    if isinstance(item, str) and items.dtype.is_numeric():
        return None
    columns = [number for number, candidate in enumerate(items.to_list()) if candidate == item]
    return columns[0] if len(columns) == 1 else None


def table_of(users: object | None, lists: object | None, rows: int, words: str) -> Table:
    """Return a table with one row for each row of scores."""
    key = lists if lists is not None else users
    if key is None:
        frame = numbers_from_0(rows, "list").to_frame()
        return Table(frame, {"list": ROW_NUMBER}, words, given=False, text=False, handed=None)
    columns = {"list": names_of(key, rows, "lists" if lists is not None else "users", "rows")}
    if lists is not None and users is not None:
        owners = in_order(users, "users")
        if len(owners) != rows:
            raise BadScores(
                f"users= has length {len(owners)}, but there are {rows} rows.", "one user per row."
            )
        columns["user"] = owners
    frame = pl.DataFrame({role: column.alias(role) for role, column in columns.items()})
    return Table(frame, dict.fromkeys(columns, ""), words, given=False, text=False, handed=None)


def names_of(given: object | None, size: int, what: str, of: str) -> pl.Series:
    """Return the ids of rows or columns: the ones given, or numbers from 0."""
    if given is None:
        return numbers_from_0(size, what)
    ids = in_order(given, what)
    if len(ids) != size:
        raise BadScores(
            f"{what}= has length {len(ids)}, but there are {size} {of}.",
            f"one id for each of the {of}.",
        )
    require_one_type(ids, what.removesuffix("s"), f"{what}=")
    if ids.null_count():
        raise BadIds(f"{ids.null_count()} of {size} ids in {what}= are missing.", "no missing ids.")
    repeated = _flag_repeated(ids)
    if repeated.any():
        raise BadIds(
            f"{int(repeated.sum())} of {size} ids in {what}= occur more than once (first: "
            f"{ids.filter(repeated)[0]!r}).",
            f"each id once in {what}=.",
            "if a user has several rows, pass lists= with a key for each row."
            if what == "users"
            else "",
        )
    return ids


def numbers_from_0(size: int, name: str) -> pl.Series:
    """Return numbers as the ids of rows or columns without ids. Batches of the same size share
    them."""
    return _shared_numbers(size, name) if size <= _MOST_SHARED else pl.Series(name, np.arange(size))


@lru_cache(maxsize=8)
def _shared_numbers(size: int, name: str) -> pl.Series:
    return pl.Series(name, np.arange(size))


def are_numbers(ids: pl.Series) -> bool:
    """Return whether ids are the shared numbers that rows or columns without ids have."""
    return len(ids) <= _MOST_SHARED and ids is _shared_numbers(len(ids), ids.name)


def in_order(given: object, what: str) -> pl.Series:
    """Return ids in the order of rows or columns. Raise an error for a set, which has no order."""
    if isinstance(given, Set):
        raise BadIds(
            f"{what}= is of type {type(given).__name__}, which has no order.",
            "ids in the order of the scores, for example a list.",
        )
    return series(given, what)


def _flag_repeated(ids: pl.Series) -> pl.Series:
    """Return which ids occur more than once."""
    if ids.dtype != pl.Object:
        return ids.is_duplicated()
    counts = Counter((type(value), value) for value in ids.to_list())
    return pl.Series([counts[type(value), value] > 1 for value in ids.to_list()])
