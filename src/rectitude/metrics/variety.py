"""Metrics of how different the items of a list are from each other."""

from __future__ import annotations

import numpy as np

from rectitude.judge.judged import Judged
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Diversity of categories",
    formula="pairs of items in the top {k} of different categories / pairs of items in the top "
    "{k}; items without a category are left out, and 0/0 where fewer than two are left",
    reading="0.8 means that two items of a list, drawn at random, are of different categories in "
    "80% of the draws. It does not look at relevance: a random list scores high.",
    use="Use it beside recall or ndcg, to see what variety costs. It needs items= with a column "
    "category.",
    cite="cen2020controllable",
    breaks=("perfect_is_best", "moving_up_helps"),
    needs=("items", "shown", "categories"),
)
def category_diversity(lists: Judged, k: int | None) -> Ratio:
    """Share of the pairs of recommended items that are of different categories."""
    categories = needed(lists.categories, "categories")
    ordered = np.sort(categories, axis=1)
    known = (ordered >= 0).sum(axis=1)
    pairs = known * (known - 1) / 2
    # in sorted rows, an item makes one equal pair with each item of its run before it
    place = np.arange(ordered.shape[1])
    starts = np.ones(ordered.shape, bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    before = place - np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    equal = np.where(ordered >= 0, before, 0).sum(axis=1)
    return Ratio(pairs - equal, pairs)
