"""Metrics of what all lists together show: how many items, and how evenly.

They are functions of counts per item, which add up over batches. A place counts whatever the item's
relevance, also where the item is in no catalogue.
"""

from __future__ import annotations

from math import e, fsum, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers
from rectitude.errors import NothingToEvaluate, UndefinedValue
from rectitude.judge.judged import Judged
from rectitude.metrics.registry import Counts, count_metric

OF_TRAIN = ("shown", "stock", "train")
OF_CATALOGUE = ("shown", "stock", "catalogue")


def items_shown(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """How often each item is shown, and whether it is in the catalogue and in train."""
    stock = lists.stock
    catalogue = np.zeros(0, bool) if stock.catalogue is None else stock.catalogue
    told = {"catalogue": catalogue, "train": stock.rows > 0}
    return {
        "shown": times_shown(lists, counts),
        **{what: flags.astype(int) for what, flags in told.items()},
    }


def times_shown(lists: Judged, counts: Flags) -> Integers:
    """How often each item is shown in the lists that count."""
    if counts.all():
        return lists.places.each("times", lists.stock.times_upto)
    return lists.stock.times(lists.shown[counts])


def items_by_rank(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """How often each item is shown at each rank, and whether it is in train."""
    stock, shown = lists.stock, lists.shown[counts]
    ranks = {f"rank {rank}": stock.times(column) for rank, column in enumerate(shown.T, 1)}
    return {**ranks, "train": (stock.rows > 0).astype(int)}


def _many(counts: Counts, what: str) -> int:
    return int(np.count_nonzero(counts[what]))


def many_of(counts: Counts, what: str) -> int:
    """How many items of train or of the catalogue there are; 0/0 where there is none."""
    many = _many(counts, what)
    if not many:
        raise UndefinedValue(f"there is no item of {what} to divide by.", "at least one item.")
    return many


def place_shares(weights: NDArray[Any]) -> Floats:
    """The shares of the items that have any, ascending."""
    ordered = np.sort(weights[weights > 0])
    if not len(ordered):
        raise NothingToEvaluate("no list that counts shows an item.", "at least one item.")
    return np.asarray(ordered / ordered.sum(), np.float64)


def inequality(weights: NDArray[Any], size: int) -> float:
    """How unequal the weights of so many items are: 0 if all are equal, size - 1 if one has all."""
    shares = place_shares(weights)
    place = np.arange(1, len(shares) + 1) + size - len(shares)
    return fsum(((2 * place - size - 1) * shares).tolist())


@count_metric(
    "Distinct items",
    counts=items_shown,
    formula="number of different items in the top {k} of all lists",
    reading="200 means that all users together are shown 200 items.",
    use="Use it to compare models on the same users: it grows with the number of lists and with "
    "the cutoff. item_coverage relates it to the catalogue.",
    cite="ge2010beyond",
    bounds=(0.0, np.inf),
    needs=("shown", "stock"),
)
def distinct_items(counts: Counts) -> float:
    """How many different items are shown."""
    return _many(counts, "shown")


@count_metric(
    "Item coverage",
    counts=items_shown,
    formula="different items in the top {k} of all lists / (items of the catalogue + {padding})",
    reading="0.3 means that 30% of the catalogue is shown to somebody. It exceeds 1 only where "
    "lists show items that are not in the catalogue.",
    use="Use it beside an accuracy metric, to see how much of the catalogue a model makes use of. "
    "It grows with the number of lists; one place is enough to be covered, gini looks further.",
    cite="ge2010beyond",
    bounds=(0.0, np.inf),
    needs=OF_CATALOGUE,
)
def item_coverage(counts: Counts, *, padding: float = 0.0) -> float:
    """Share of the catalogue that is shown to somebody."""
    return _many(counts, "shown") / (many_of(counts, "catalogue") + padding)


@count_metric(
    "Coverage of train",
    counts=items_shown,
    formula="items of train in the top {k} of some list / items of train; others = {others}: items "
    "shown that train does not hold count, too, if this is not 0",
    reading="0.3 means that 30% of the items of train are shown to somebody.",
    use="Use it where no catalogue is known; item_coverage is over the catalogue.",
    cite="ge2010beyond",
    bounds=(0.0, np.inf),
    needs=OF_TRAIN,
)
def train_coverage(counts: Counts, *, others: float = 0.0) -> float:
    """Share of the items of train that are shown to somebody."""
    both = (counts["shown"] > 0) & (counts["train"] > 0)
    return (_many(counts, "shown") if others else int(both.sum())) / many_of(counts, "train")


@count_metric(
    "Gini index",
    counts=items_shown,
    formula="sum over items of (2 * j - n - 1) * places / (n * all places), j = the item's place "
    "from the least to the most shown, n = items of the catalogue + {padding} (top {k})",
    reading="0 if every item is shown equally often; near 1 if few items have all places. It "
    "falls below 0 only where lists show more items than the catalogue has.",
    use="Use it to see how unevenly a model shows the catalogue. With fewer places than items even "
    "the most even lists are far from 0: compare on the same users and cutoff.",
    cite="fleder2009blockbuster",
    bounds=(-np.inf, 1.0),
    best="low",
    needs=OF_CATALOGUE,
)
def gini(counts: Counts, *, padding: float = 0.0) -> float:
    """How unevenly places are given to the items of the catalogue."""
    size = many_of(counts, "catalogue") + int(padding)
    return inequality(counts["shown"], size) / size


@count_metric(
    "Gini index over train",
    counts=items_shown,
    formula="sum over items of (2 * j - n - 1) * places / (n * all places), j = the item's place "
    "from the least to the most shown, n = items of train (top {k})",
    reading="0 if every item is shown equally often; near 1 if few items have all places.",
    use="Use it where no catalogue is known; gini is over the catalogue.",
    cite="fleder2009blockbuster",
    bounds=(-np.inf, 1.0),
    best="low",
    needs=OF_TRAIN,
)
def train_gini(counts: Counts) -> float:
    """How unevenly places are given to the items of train."""
    size = many_of(counts, "train")
    return inequality(counts["shown"], size) / size


@count_metric(
    "Gini index of exposure over train",
    counts=items_by_rank,
    formula="sum over items of (2 * j - n - 1) * exposure / (n * all exposure), exposure = sum of "
    "{patience} ^ (rank - 1) over the item's places, j = the item's place from the least to the "
    "most exposed, n = items of train (top {k})",
    reading="0 if every item has the same exposure; near 1 if few items have nearly all of it.",
    use="Use it in the place of train_gini where users look at the first places most.",
    cite="fleder2009blockbuster",
    bounds=(-np.inf, 1.0),
    best="low",
    needs=OF_TRAIN,
)
def exposure_gini(counts: Counts, *, patience: float = 0.85) -> float:
    """How unevenly items of train are exposed, if users grow tired down the list."""
    size, ranks = many_of(counts, "train"), range(1, len(counts))
    exposed = [patience ** (rank - 1) * counts[f"rank {rank}"] for rank in ranks]
    return inequality(np.sum(exposed, axis=0), size) / size


@count_metric(
    "Entropy of the items shown",
    counts=items_shown,
    formula="- sum over items of p * ln(p), p = share of the places in the top {k} of all lists; "
    "logarithm to base {base}",
    reading="0 if one item has all places, ln(n) if n items share them equally: exp(4.6) = 100 "
    "items shown equally often have the same entropy as 4.6.",
    use="Use it like gini, when no catalogue is known. entropy[base=2] is in bits.",
    cite="shannon1948mathematical",
    bounds=(0.0, np.inf),
    needs=("shown", "stock"),
)
def entropy(counts: Counts, *, base: float = e) -> float:
    """How many items the places are spread over, on a logarithmic scale."""
    shares = place_shares(counts["shown"])
    return max(-fsum((shares * np.log(shares)).tolist()), 0.0) / log(base)
