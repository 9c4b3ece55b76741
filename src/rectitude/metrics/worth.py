"""Metrics of a number that items have, such as a price: of what is shown, and of what is hit."""

from __future__ import annotations

import numpy as np

from rectitude.judge.judged import Judged
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Ratio, metric

_IN_UNITS = {"scale": "fraction"}  # no share of anything, of which there could be percent


@metric(
    "Mean of an attribute",
    formula="sum over the items in the top {k} of column {of} of items= / number of these items; "
    "items without a number are left out, and 0/0 where none is left",
    reading="12.5 means that the items of a list cost 12.5 on average, if the column is a price.",
    use="Use it to see what a model shows: dear or cheap, old or new. Compare with the same mean "
    "over what users chose themselves; neither high nor low is good.",
    bounds=(-np.inf, np.inf),
    breaks=("perfect_is_best", "moving_up_helps"),
    needs=("items", "shown", "stock"),
    fixed=_IN_UNITS,
)
def mean_attribute(lists: Judged, k: int | None, *, of: str = "price") -> Ratio:
    """Mean of a number that the items shown have."""
    stock = needed(lists.stock, "shown")
    values, places = stock.values(of), lists.places
    return Ratio(
        stock.total(("value", of), lambda: np.nan_to_num(values), places),
        stock.total(("known", of), lambda: ~np.isnan(values), places),
    )


@metric(
    "Value of the hits",
    formula="sum over the relevant items in the top {k} of column {of} of items=; an item without "
    "a number adds nothing",
    reading="3.2 means that a list finds 3.2 of the price of what its user chose, on average.",
    use="Use it where hits are not worth the same: revenue, margin, minutes. A few dear items can "
    "rule the mean; look at the values per list, too.",
    bounds=(-np.inf, np.inf),
    breaks=("perfect_is_best", "moving_up_helps"),
    needs=("items", "wanted"),
    fixed=_IN_UNITS,
    averages="closed form",
)
def hit_value(lists: Judged, k: int | None, *, of: str = "price") -> Ratio:
    """Sum of a number that the items found have."""
    stock, wanted = needed(lists.stock, "wanted"), needed(lists.wanted, "wanted")
    worth = np.nan_to_num(stock.values(of))[wanted[lists.where]]
    return Ratio.of(lists.total(worth * lists.hit * lists.chance(k), upto=k))
