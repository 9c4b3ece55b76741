"""What all dense predictions have in common: named rows and columns, and blocks that are
checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rectitude.data.dense import COPIED_BYTES, Block, Dense, array_blocks, ready
from rectitude.data.matrices import matrix
from rectitude.data.series import series
from rectitude.data.table import ROW_NUMBER, Table
from rectitude.errors import BadIds, BadScores

if TYPE_CHECKING:
    import polars as pl


Kind = Literal["scores", "logits"]
_SHAPES: Mapping[Kind, tuple[int, ...]] = {"scores": (2, 3), "logits": (2,)}


class Rows(NamedTuple):
    """Rows of scores, wherever they come from."""

    blocks: Callable[[], Iterator[Block]]
    rows: int
    columns: int
    words: str


def rows_of(held: object, announced: int | None, kind: Kind, asked: str) -> Rows:
    """The rows of an array, or of a function, which must be announced: `asked` says where."""
    if not callable(held):
        array = matrix(held, kind, _SHAPES[kind])
        shape = " x ".join(map(str, array.shape))
        words = f"{kind} ({shape}, {array.dtype})"
        return Rows(array_blocks(array), len(array), array.shape[-1], words)
    if announced is None:
        raise BadScores(
            f"{kind} come from a function, which does not say how many rows there are.", asked
        )
    columns = first_columns(held, kind)
    blocks = partial(checked_blocks, held, announced, columns, kind)
    return Rows(blocks, announced, columns, f"{kind} ({announced} x {columns}, function)")


def called(function: Callable[[], object], what: str) -> Iterator[Any]:
    """What a function returns, one block after the other."""
    given = function()
    if not isinstance(given, Iterable):
        raise BadScores(
            f"the function of {what} returned a {type(given).__name__}.",
            "blocks of rows, one after the other.",
            "write yield in the function, or return a list of arrays.",
        )
    return iter(given)


def first_columns(function: Callable[[], object], what: Kind) -> int:
    """How many columns the first block has that a function returns."""
    first = next(called(function, what), None)
    if first is None:
        raise BadScores(f"the function of {what} returned no block.", "at least one block.")
    return int(matrix(first, f"the first block of {what}", _SHAPES[what]).shape[-1])


def checked_blocks(
    function: Callable[[], object], rows: int, columns: int, what: Kind
) -> Iterator[Block]:
    """The blocks that a function returns, or an error where they do not fit."""
    seen = 0
    for number, given in enumerate(called(function, what)):
        block = matrix(given, f"block {number} of the {what}", _SHAPES[what])
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


def names_of(given: object | None, size: int, what: str, of: str) -> pl.Series:
    """The ids of rows or columns: those given, or numbers from 0."""
    import polars as pl

    if given is None:
        return pl.Series(what, np.arange(size))
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
    import polars as pl

    if ids.dtype != pl.Object:
        return ids.is_duplicated()
    times = Counter((type(value), value) for value in ids.to_list())
    return pl.Series([times[type(value), value] > 1 for value in ids.to_list()])


def table_of(users: object | None, lists: object | None, rows: int, words: str) -> Table:
    """One row for each row of scores."""
    import polars as pl

    key = lists if lists is not None else users
    columns = {"list": names_of(key, rows, "lists" if lists is not None else "users", "rows")}
    if lists is not None and users is not None:
        owners = in_order(users, "users")
        if len(owners) != rows:
            raise BadScores(f"users names {len(owners)}, and there are {rows} rows.", "one each.")
        columns["user"] = owners
    frame = pl.DataFrame({role: column.alias(role) for role, column in columns.items()})
    known = {**dict.fromkeys(columns, ""), "list": ROW_NUMBER if key is None else ""}
    return Table(frame, known, words, given=False, text=False, handed=None)
