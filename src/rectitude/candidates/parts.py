"""The ids of a split in numbers: who is evaluated, on what, and what each user has met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Floats, Integers, distinct
from rectitude.candidates.ids import fitted, plain
from rectitude.data.read import read
from rectitude.errors import NothingToEvaluate
from rectitude.splits.split import Split

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Parts:
    """A split whose users and items are numbered in the order of their ids."""

    users: pl.Series
    """all users of the split, sorted"""
    items: pl.Series
    """all items of the split and of the catalogue, sorted"""
    train: pl.DataFrame
    """what was met before the truth, fold-in included: user and item as numbers"""
    truth: pl.DataFrame
    """pairs of the truth, sorted, each once, as numbers"""
    catalogue: Integers
    """numbers of the items that may be offered"""

    @property
    def future(self) -> Integers:
        """Numbers of the items that the truth is the first to hold."""
        met = self.truth["item"].unique().to_numpy()
        return np.setdiff1d(met, self.train["item"].unique().to_numpy())

    @property
    def counts(self) -> Floats:
        """(items) how often each was met before the truth."""
        counts = np.bincount(self.train["item"].to_numpy(), minlength=len(self.items))
        return counts.astype(np.float64)

    def keys(self, frame: pl.DataFrame) -> Integers:
        """Pairs as single numbers, sorted, each once."""
        return distinct(frame["user"].to_numpy() * len(self.items) + frame["item"].to_numpy())


def parts_of(split: Split, items: object = None) -> Parts:
    """A split in numbers. `items` is the catalogue; without one, it is what the split holds."""
    import polars as pl

    logs = [split.train, *([split.fold_in] if split.fold_in else [])]
    if split.truth.frame.is_empty():
        raise NothingToEvaluate("the truth has no rows, so nobody needs candidates.")
    met = pl.concat([plain(log.frame) for log in logs])
    found = plain(split.truth.frame)
    offered = None if items is None else _catalogue(items, met["item"].dtype)
    users = pl.concat([met["user"], found["user"]]).unique().sort()
    everything = [met["item"], found["item"], *([] if offered is None else [offered])]
    known = pl.concat(everything).unique().sort()
    numbered = [_numbered(frame, users, known) for frame in (met, found)]
    whole = known if offered is None else offered
    return Parts(
        users, known, numbered[0], numbered[1].unique().sort("user", "item"),
        np.sort(numbers_of(whole, known)),
    )  # fmt: skip


def _catalogue(items: object, dtype: pl.DataType) -> pl.Series:
    table = read(items, "items")
    return fitted(table.frame["item"], dtype, table.source, table.text).unique()


def numbers_of(ids: pl.Series, known: pl.Series) -> Integers:
    """The number of each id among the known ones."""
    import polars as pl

    places = pl.DataFrame({"id": known}).with_row_index("number")
    found = pl.DataFrame({"id": ids}).join(places, on="id", how="left", maintain_order="left")
    numbers: Integers = found["number"].to_numpy().astype(np.int64)
    return numbers


def _numbered(frame: pl.DataFrame, users: pl.Series, items: pl.Series) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(
        {
            "user": numbers_of(frame["user"], users),
            "item": numbers_of(frame["item"], items),
        }
    )
