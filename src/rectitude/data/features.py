"""Vectors of items from any column: numbers as they are, words as 0 and 1."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats
from rectitude.data.attributes import Attributes


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
    found = np.full((attributes.size, len(names)), np.nan)
    found[entry] = 0.0
    found[entry, number] = 1.0
    return found


def _words(attributes: Attributes, column: str) -> bool:
    import polars as pl

    table = attributes.table
    if table is None or column not in table.frame.columns:
        return False
    kind = table.frame.schema[column]
    inner = kind.inner if isinstance(kind, (pl.List, pl.Array)) else kind
    return inner in (pl.String, pl.Categorical, pl.Enum)
