"""Metrics of the categories that a list shows: how many, how different, how evenly spread."""

from __future__ import annotations

from functools import partial

import numpy as np

from rectitude.arrays import Floats
from rectitude.data.features import group_weights
from rectitude.data.mixtures import groups_shown
from rectitude.data.tallies import equal_pairs
from rectitude.errors import BadName
from rectitude.judge.judged import Judged
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Law, Ratio, metric

_NEEDS = ("items", "shown", "stock")
_LAWS: tuple[Law, ...] = ("perfect_is_best", "moving_up_helps")
_CELLS = 1 << 21  # of lists and categories that are held at a time


def _categories(lists: Judged, by: str) -> Floats:
    """(lists,) how many different categories the items of each list have."""
    stock = needed(lists.stock, "shown")
    return lists.places.each(("groups", by), partial(groups_shown, stock, by))


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
    breaks=_LAWS,
    needs=_NEEDS,
)
def category_diversity(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """Share of the pairs of recommended items that are of different categories."""
    stock = needed(lists.stock, "shown")
    count = partial(equal_pairs, stock.groups(by).number, stock.listed)
    equal, pairs = lists.places.each(("equal", by), count)
    return Ratio(pairs - equal, pairs)


@metric(
    "Coverage of categories",
    formula="different values of column {by} of items= among the items in the top {k} / different "
    "values of the column; an item may have several, and one without adds nothing",
    reading="0.3 means that a list shows items of 30% of all categories.",
    use="Use it beside category_diversity, which looks at how evenly the places are spread; no "
    "list of k items with one category each covers more than k.",
    cite="ge2010beyond",
    breaks=_LAWS,
    needs=_NEEDS,
)
def category_coverage(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """Share of all categories that a list shows."""
    every = len(needed(lists.stock, "shown").memberships(by).names)
    return Ratio(_categories(lists, by), np.full(lists.size, float(every)))


@metric(
    "Share of different categories",
    formula="different values of column {by} of items= among the items in the top {k} / {k}; an "
    "item without one adds none",
    reading="0.3 at the cutoff 10 means that a list shows three categories.",
    use="Use it with lists of equal length; category_diversity looks at pairs, and at how evenly "
    "categories are shown.",
    cite="castells2022novelty",
    breaks=_LAWS,
    needs=_NEEDS,
)
def distinct_categories(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """How many categories a list shows, over its length."""
    return Ratio.of(_categories(lists, by) / needed(lists.shown, "shown").shape[1])


@metric(
    "Entropy of the categories of a list",
    formula="- sum over the values g of column {by} of items= of p(g) * log2(p(g)), p = share of "
    "the items in the top {k}, each weighing {patience} ^ (rank - 1), with {smooth} added for "
    "every value of the catalogue; an item of several values counts for each in equal parts, one "
    "without is left out; 0/0 where none is left",
    reading="0 bits if a list shows one category, log2(n) if it shows n of them equally often.",
    use="Use it like category_diversity, where items have several categories. A patience below 1 "
    "lets the first places count for more.",
    cite="castells2022novelty",
    bounds=(0.0, np.inf),
    breaks=_LAWS,
    needs=_NEEDS,
)
def category_entropy(
    lists: Judged, k: int | None, *, by: str = "category", patience: float = 1.0,
    smooth: float = 0.0,
) -> Ratio:  # fmt: skip
    """How many categories a list is spread over, in bits."""
    if not 0 < patience <= 1 or smooth < 0:
        raise BadName(
            f"patience is {patience:g} and smooth {smooth:g}.", "0 < patience <= 1, smooth >= 0."
        )
    stock, shown = needed(lists.stock, "shown"), needed(lists.shown, "shown")
    members, bits, some = stock.memberships(by), np.zeros(lists.size), np.zeros(lists.size)
    step = max(_CELLS // max(len(members.names), shown.shape[1]), 1)
    for first in range(0, lists.size, step):
        here = slice(first, first + step)
        weights = group_weights(members, stock.listed[shown[here]], patience)
        bits[here], some[here] = _bits(weights + smooth), weights.any(axis=1)
    return Ratio.of(bits).where(some > 0)


def _bits(weights: Floats) -> Floats:
    shares = weights / np.maximum(weights.sum(axis=1), 1e-300)[:, None]
    bits = shares * np.log2(np.where(shares > 0, shares, 1.0))
    return np.asarray(0.0 - bits.sum(axis=1), np.float64)
