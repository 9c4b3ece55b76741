"""The users that lists, training and the table of users name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Floats, Integers, distinct, places, run_starts
from rectitude.data.attributes import Attributes, Groups, Memberships
from rectitude.data.ids import Column, align
from rectitude.data.sources import Sources

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class People:
    """All users of one evaluation, by number."""

    ids: pl.Series
    """(users,) sorted"""
    listed: Integers
    """(users of the lists) the number of each"""
    trained: Integers
    """(rows of train) the number of the user"""
    attributes: Attributes

    def groups(self, column: str) -> Groups:
        """The group of each user."""
        return self.attributes.groups(column)

    def memberships(self, column: str) -> Memberships:
        """All groups of each user."""
        return self.attributes.memberships(column)

    def vectors(self, column: str) -> Floats:
        """(users, d) the vector of each user."""
        return self.attributes.vectors(column)

    def values(self, column: str) -> Floats:
        """(users,) a number for each user."""
        return self.attributes.values(column)


def people(listed: pl.Series, sources: Sources) -> People:
    """The users of the lists, with all others."""
    columns = {"lists": Column(listed, "lists")}
    for side, table in (("users", sources.users), ("train", sources.train)):
        if table is not None:
            columns[side] = Column(table.frame["list"], table.source, table.text)
    ids = align(columns, "user")
    parts = [codes.whole[run_starts(codes.whole)] for codes in ids.codes.values()]
    known = distinct(*parts)
    number = {side: places(known, codes.whole) for side, codes in ids.codes.items()}
    nobody = np.zeros(0, np.int64)
    about = Attributes("user", sources.users, number.get("users", nobody), len(known))
    return People(ids.labels(known), number["lists"], number.get("train", nobody), about)
