"""Metrics of how far apart the items of a list are: by their vectors, or by who had them."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.data.distances import apart
from rectitude.data.features import features
from rectitude.data.history import alike
from rectitude.judge.judged import Judged
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Law, Ratio, metric

_NEEDS = ("items", "shown", "stock")
_LAWS: tuple[Law, ...] = ("perfect_is_best", "moving_up_helps")
_BLOCK = 1 << 14


def _vectors(lists: Judged, of: str) -> tuple[Floats, Integers]:
    """The vectors of the items as lists number them, and the numbers in the first places."""
    stock, shown = needed(lists.stock, "shown"), needed(lists.shown, "shown")
    return features(stock.attributes, of)[stock.listed[:-1]], shown


@metric(
    "Intra-list distance",
    name="ild",
    formula="mean over the pairs of items in the top {k} of the {distance} distance of their "
    "vectors, column {of} of items=; items without a vector are left out, and 0/0 where fewer than "
    "two are left. cosine: 1 - cosine, 1 if a vector is 0; euclidean; hamming: how many numbers "
    "differ; jaccard: of the numbers that are not 0 in one or both, the share that is in one only",
    reading="0 if all items of a list are alike. Under cosine, 1 means that they have nothing in "
    "common; euclidean and hamming have no upper end.",
    use="Use it beside an accuracy metric, to see what variety costs; a random list scores high. "
    "Values are comparable for the same vectors and distance only. "
    "ild[of=genre,distance=jaccard] takes a column of words or of lists of words.",
    cite="ziegler2005improving",
    bounds=(0.0, np.inf),
    breaks=_LAWS,
    needs=_NEEDS,
)
def ild(lists: Judged, k: int | None, *, of: str = "embedding", distance: str = "cosine") -> Ratio:
    """Mean distance of the items of a list from each other."""
    return Ratio(*apart(*_vectors(lists, of), distance))


@metric(
    "Intra-list similarity",
    formula="mean over the pairs of items in the top {k} of the cosine of their vectors, column "
    "{of} of items=; items without a vector are left out; 1 if one is left, 0/0 if none is",
    reading="1 if all items of a list point the same way, 0 if they have nothing in common.",
    use="It is 1 - ild, but for lists of one item; use ild, where more is more diverse.",
    cite="ziegler2005improving",
    bounds=(-1.0, 1.0),
    best="low",
    breaks=_LAWS,
    needs=_NEEDS,
)
def intra_list_similarity(lists: Judged, k: int | None, *, of: str = "embedding") -> Ratio:
    """Mean cosine of the items of a list."""
    vectors, shown = _vectors(lists, of)
    total, pairs = apart(vectors, shown, "cosine")
    there = np.append(~np.isnan(vectors).any(axis=1), False)
    one = there[shown].sum(axis=1) == 1
    return Ratio(pairs - total + one, pairs + one)


@metric(
    "Diversity by co-occurrence",
    formula="mean over the pairs of items in the top {k} of 1 - users of train who had both / "
    "sqrt(users who had the one * users who had the other), 1 where nobody had one of them; 0/0 "
    "where there are fewer than two items",
    reading="1 if nobody had two items of a list, 0 if the same users had them all.",
    use="Use it where items have no vectors: users' own choices say what is alike. Items that "
    "nobody had count as different from all others.",
    cite="zhang2012auralist",
    breaks=_LAWS,
    needs=("shown", "stock", "train"),
    at_once="all lists",
)
def cooccurrence_diversity(lists: Judged, k: int | None) -> Ratio:
    """Mean distance of the items of a list, by the users who had both."""
    stock, shown = needed(lists.stock, "shown"), needed(lists.shown, "shown")
    items = stock.listed[shown]
    one, other = np.triu_indices(items.shape[1], 1)
    total, pairs = np.zeros(lists.size), np.zeros(lists.size)
    for first in range(0, lists.size, _BLOCK):
        here = slice(first, first + _BLOCK)
        left, right = items[here, one], items[here, other]
        both = (left >= 0) & (right >= 0)
        different = np.zeros(both.shape)
        different[both] = 1 - alike(stock, left[both], right[both])
        total[here], pairs[here] = different.sum(axis=1), both.sum(axis=1)
    return Ratio(np.maximum(total, 0.0), pairs)
