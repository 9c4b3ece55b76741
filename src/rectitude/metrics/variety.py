"""Metrics of how different the items of a list are from each other."""

from __future__ import annotations

import numpy as np

from rectitude.data.shares import shown_shares
from rectitude.data.tallies import equal_pairs
from rectitude.judge.judged import Judged
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Diversity of categories",
    formula="pairs of items in the top {k} of different categories / pairs of items in the top "
    "{k}; category = column {by} of items=; items without one are left out, and 0/0 where fewer "
    "than two are left",
    reading="0.8 means that two items of a list, drawn at random, are of different categories in "
    "80% of the draws. It does not look at relevance: a random list scores high.",
    use="Use it beside recall or ndcg, to see what variety costs. Another column: "
    "category_diversity[by=genre].",
    cite="cen2020controllable",
    breaks=("perfect_is_best", "moving_up_helps"),
    needs=("items", "shown", "stock"),
)
def category_diversity(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """Share of the pairs of recommended items that are of different categories."""
    stock, shown = needed(lists.stock, "shown"), needed(lists.shown, "shown")
    equal, pairs = equal_pairs(stock.groups(by).number, stock.listed, shown)
    return Ratio(pairs - equal, pairs)


@metric(
    "Coverage of categories",
    formula="different values of column {by} of items= among the items in the top {k} / different "
    "values of the column; an item may have several, and one without adds nothing",
    reading="0.3 means that a list shows items of 30% of all categories.",
    use="Use it beside category_diversity, which looks at how evenly the places are spread; no "
    "list of k items with one category each covers more than k.",
    cite="ge2010beyond",
    breaks=("perfect_is_best", "moving_up_helps"),
    needs=("items", "shown", "stock"),
)
def category_coverage(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """Share of all categories that a list shows."""
    stock, shown = needed(lists.stock, "shown"), needed(lists.shown, "shown")
    members = stock.memberships(by)
    found = shown_shares(stock, shown, members)
    many = np.bincount(found.owner, minlength=lists.size).astype(np.float64)
    return Ratio(many, np.full(lists.size, float(len(members.names))))
