"""The items in the first places: which they are, and their categories in the catalogue."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Integers, places
from rectitude.data.ids import Column
from rectitude.data.stock import Stock, stock
from rectitude.data.table import Table
from rectitude.errors import BadTable, MissingNeed
from rectitude.judge.match import Ranking
from rectitude.judge.sides import Sides
from rectitude.predictions.top import codes_of

CATEGORY = "category"
"""The column of the catalogue that holds the category of each item."""


def shown_categories(sides: Sides, ranking: Ranking | None, shown: Integers) -> Integers | None:
    """(lists, k) the number of the category in each place, -1 where there is no item or the item
    has no category; None without a catalogue."""
    table, items = sides.sources.items, items_of(sides, ranking)
    return None if table is None or items is None else np.append(_numbers(items, table), -1)[shown]


def items_of(sides: Sides, ranking: Ranking | None) -> Column | None:
    """The items in the order of their numbers in `Judged.shown`: the columns of dense scores, or
    the items of given lists, see `shown_in_lists`."""
    dense = sides.sources.dense
    if dense is not None:
        return Column(dense.items, dense.source)
    if ranking is None:
        return None
    _, where = ranking.lists.expand()
    _, first = np.unique(ranking.items.whole[where], return_index=True)
    rows = ranking.lists.rows(where[first])
    predictions = sides.sources.predictions
    return Column(predictions.frame["item"][rows], predictions.source, predictions.text)


def stock_of(sides: Sides, ranking: Ranking | None) -> Stock | None:
    """The items behind the numbers in `Judged.shown`, and all others."""
    listed = items_of(sides, ranking)
    return None if listed is None else stock(listed, sides.sources)


def _numbers(items: Column, table: Table) -> Integers:
    """The number of each item's category, -1 where the catalogue has none for it."""
    if CATEGORY not in table.frame.columns:
        raise MissingNeed(
            f"the catalogue ({table.source}) has no column {CATEGORY!r}; its columns: "
            f"{', '.join(table.frame.columns)}.",
            "one with the category of each item.",
        )
    own, theirs = codes_of(items, table, "item")
    category = table.frame[CATEGORY].rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1
    order = np.lexsort((category, theirs))
    code, number = theirs[order], category[order]
    new = np.append(True, (code[1:] != code[:-1]) | (number[1:] != number[:-1]))
    code, number = code[new], number[new]
    again = code[1:] == code[:-1]
    if again.any():
        row = int(np.flatnonzero(theirs == code[1:][again][0])[0])
        raise BadTable(
            f"{int(again.sum())} items of {table.source} have several categories (first: item "
            f"{table.frame['item'][row]!r}).",
            "one category for each item.",
        )
    return np.append(number, -1)[places(code, own)]
