"""Rows on their way to workers: divided into parts by a hash of the id that decides their part.

Polars hashes alike wherever its version and the kind of processor are the same. Workers hash a few
known ids, too, so that rows cannot be divided in two ways without anybody noticing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from rectitude.data.read import TableReader
from rectitude.errors import MissingExtra
from rectitude.evaluation.parts import Side

Ids = Literal["integers", "any"]
"""whether all ids are integers; otherwise they are compared as text, where 7 is the same in every
type of number"""
_WIDE = (pl.UInt64, pl.Int128, pl.UInt128)
_KNOWN = pl.Series(["7", "a longer text than others", "é"])


@dataclass(frozen=True, slots=True)
class Cut:
    """How the rows of one table are divided."""

    column: str
    """the column of the source with the ids that decide the part of a row"""
    parts: int
    ids: Ids
    known: int
    """what some known ids hash to, where the cut was planned"""

    def divide(self, rows: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield the rows of each part that has any, in their order, with its number."""
        if self.known != _hash_known():
            raise MissingExtra(
                "a worker hashes ids in another way than this process: its Polars "
                f"({pl.__version__}) or its processor is of another kind.",
                "the same version of Polars, and the same kind of processor, everywhere.",
                "install the same packages on all machines.",
            )
        if rows.is_empty():
            return
        part = (self._hash(rows[self.column]) % self.parts).alias("part of a table")
        by_part = rows.with_columns(part).partition_by(
            part.name, as_dict=True, include_key=False, maintain_order=True
        )
        for (number,), frame in by_part.items():
            yield int(number), frame

    def _hash(self, ids: pl.Series) -> pl.Series:
        return (ids.cast(pl.Int64) if self.ids == "integers" else _as_text(ids)).hash()


def plan_cuts(
    readers: Mapping[Side, TableReader],
    roles: Mapping[Side, str],
    parts: int,
    users: pl.Series | None,
) -> dict[Side, Cut]:
    """Return how each table is divided, by the role of the column that decides, so that `users`
    can be divided with them."""
    names = {side: readers[side].columns[role] for side, role in roles.items()}
    types = [readers[side].source.take({name: name})[name].dtype for side, name in names.items()]
    types += [] if users is None else [users.dtype]
    whole = all(dtype.is_integer() and dtype not in _WIDE for dtype in types)
    ids: Ids = "integers" if whole else "any"
    return {side: Cut(name, parts, ids, _hash_known()) for side, name in names.items()}


def divide_users(cuts: Mapping[Side, Cut], users: pl.Series | None) -> dict[int, pl.Series]:
    """Return the users that are named beside the predictions by the number of their part."""
    if users is None:
        return {}
    cut = replace(cuts["predictions"], column=users.name)
    return {part: rows[users.name] for part, rows in cut.divide(users.to_frame())}


def _as_text(ids: pl.Series) -> pl.Series:
    """Return ids as text that is the same for the same number in different types; ids that can be
    no text stay what they are."""
    if ids.dtype.is_decimal():
        ids = ids.cast(pl.Float64)
    if ids.dtype.is_float():
        whole = ids.cast(pl.Int64, strict=False)
        same = whole.cast(pl.Float64) == ids
        column = pl.DataFrame({"id": ids, "whole": whole.cast(pl.String), "same": same})
        text = pl.when("same").then("whole").otherwise(pl.col("id").cast(pl.String))
        return column.select(text.alias("id"))["id"]
    if ids.dtype.is_nested() or ids.dtype == pl.Binary:
        return ids
    return ids.cast(pl.String)


def _hash_known() -> int:
    return int((_KNOWN.hash() % 2**20).sum())
