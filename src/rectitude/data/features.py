"""Vectors of items, and of lists, from any column: numbers as they are, words as 0 and 1."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats, Integers, offsets_of, totals
from rectitude.data.attributes import Attributes, Memberships
from rectitude.data.history import expanded
from rectitude.errors import BadTable

_CELLS = 1 << 27
"""how many numbers a table of items and words may have"""


def features(attributes: Attributes, column: str) -> Floats:
    """(entries, d) the vector of each entry, NaN where there is none. A column of words, or of
    lists of them, has one number for every word: 1 for the entries that have it."""
    if _words(attributes, column):
        return indicators(attributes, column)
    return attributes.vectors(column)


def indicators(attributes: Attributes, column: str) -> Floats:
    """(entries, values) 1 for the values that an entry has and 0 for the others; NaN where it has
    none."""
    entry, number, names = attributes.memberships(column)
    if attributes.size * len(names) > _CELLS:
        raise BadTable(
            f"column {column!r} has {len(names):,} different values, for {attributes.size:,} "
            f"{attributes.what}s: too many for a number each.",
            f"at most {_CELLS // attributes.size:,} of them.",
            "put values together into fewer, or pass a column of vectors.",
        )
    found = np.full((attributes.size, len(names)), np.nan)
    found[entry] = 0.0
    found[entry, number] = 1.0
    return found


def group_weights(members: Memberships, items: Integers, patience: float) -> Floats:
    """(lists, groups) what the items of lists, -1 for none, weigh in each group: each weighs
    `patience` times as much as the one before it, in equal parts in each of its groups."""
    groups = len(members.names)
    known = int(max(members.entry.max(initial=-1), items.max(initial=-1))) + 1
    offsets = offsets_of(members.entry, known)
    owner, place = np.nonzero(items >= 0)
    item = items[owner, place]
    weight = patience**place / np.maximum(np.diff(offsets)[item], 1)
    row, where = expanded(offsets, item)
    cells = owner[row] * groups + members.number[where]
    shape = len(items), max(groups, 1)
    return totals(cells, shape[0] * shape[1], weight[row]).reshape(shape)


def _words(attributes: Attributes, column: str) -> bool:
    import polars as pl

    table = attributes.table
    if table is None or column not in table.frame.columns:
        return False
    kind = table.frame.schema[column]
    inner = kind.inner if isinstance(kind, (pl.List, pl.Array)) else kind
    return inner in (pl.String, pl.Categorical, pl.Enum)
