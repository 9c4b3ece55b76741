"""Metrics of how far apart the items of a list are: by their vectors, by who had them, by group."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.data.distances import apart
from rectitude.data.features import features, indicators
from rectitude.data.history import alike
from rectitude.data.shares import shares
from rectitude.data.stock import Stock
from rectitude.judge.judged import Judged
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Law, Ratio, metric

_NEEDS = ("items", "shown", "stock")
_LAWS: tuple[Law, ...] = ("perfect_is_best", "moving_up_helps")
_BLOCK = 1 << 14


def _items(lists: Judged) -> tuple[Stock, Integers]:
    """The items, and the number of the one in each place, -1 where there is none."""
    stock, shown = needed(lists.stock, "shown"), needed(lists.shown, "shown")
    return stock, lists.once("numbers", lambda: stock.listed[shown])


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
)
def cooccurrence_diversity(lists: Judged, k: int | None) -> Ratio:
    """Mean distance of the items of a list, by the users who had both."""
    stock, items = _items(lists)
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
    stock, items = _items(lists)
    members = stock.memberships(by)
    place = np.repeat(np.arange(lists.size), items.shape[1])
    found = shares(place, items.reshape(-1), members, lists.size)
    return Ratio.of(np.bincount(found.owner, minlength=lists.size) / items.shape[1])


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
    stock, items = _items(lists)
    vectors = indicators(stock.attributes, by)
    known = np.append(~np.isnan(vectors).any(axis=1), False)
    parts = np.vstack((np.nan_to_num(vectors), np.zeros(vectors.shape[1])))
    parts = parts / np.maximum(parts.sum(axis=1), 1.0)[:, None]
    bits = np.zeros(lists.size)
    for first in range(0, lists.size, _BLOCK):
        here = slice(first, first + _BLOCK)
        bits[here] = _bits(parts, items[here], patience, smooth)
    return Ratio.of(bits).where(np.any(known[items], axis=1, keepdims=True)[:, 0])


def _bits(parts: Floats, items: Integers, patience: float, smooth: float) -> Floats:
    weights = np.full((len(items), parts.shape[1]), smooth)
    for rank, item in enumerate(items.T):
        weights += patience**rank * parts[item]
    weights /= np.maximum(weights.sum(axis=1), 1e-300)[:, None]
    bits = weights * np.log2(np.where(weights > 0, weights, 1.0))
    return np.asarray(0.0 - bits.sum(axis=1), np.float64)
