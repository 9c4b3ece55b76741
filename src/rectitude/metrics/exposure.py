"""Metrics of what all lists together show: how many items, and how evenly.

They are functions of counts per item, which add up over batches. Every position counts, relevant or
not, even if its item is not in the catalogue.
"""

from __future__ import annotations

from math import e, fsum, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers
from rectitude.errors import NothingToEvaluate, UndefinedValue
from rectitude.judge.judged import Judged
from rectitude.metrics.registry import Counts, count_metric, require_choice

OF_TRAIN = ("shown", "stock", "train")
OF_CATALOGUE = ("shown", "stock", "catalogue")


def items_shown(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """Count how often each item is shown, and flag whether it is in the catalogue and in the
    training data."""
    stock = lists.stock
    catalogue = np.zeros(0, bool) if stock.catalogue is None else stock.catalogue
    flags_by_name = {"catalogue": catalogue, "train": stock.rows > 0}
    return {
        "shown": count_times_shown(lists, counts),
        **{what: flags.astype(int) for what, flags in flags_by_name.items()},
    }


AGAIN = ("counted", "left_out")
"""What happens to an item that stands in a list again."""


def count_times_shown(lists: Judged, counts: Flags, again: str = "counted") -> Integers:
    """Count how often each item is shown in the lists that count; see `AGAIN`."""
    require_choice("again", again, AGAIN)
    places = lists.places if again == "counted" else lists.places.firsts
    if counts.all():
        return places.each(("times", again), lists.stock.times_upto)
    return lists.stock.times(places.shown[counts, : places.own])


def items_by_rank(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """Count how often each item is shown at each rank, and flag whether it is in the training
    data."""
    stock, shown = lists.stock, lists.shown[counts]
    ranks = {f"rank {rank}": stock.times(column) for rank, column in enumerate(shown.T, 1)}
    return {**ranks, "train": (stock.rows > 0).astype(int)}


def _count_nonzero(counts: Counts, what: str) -> int:
    return int(np.count_nonzero(counts[what]))


def require_items(counts: Counts, what: str) -> int:
    """Return how many items the training data or the catalogue has; 0/0 if it has none."""
    size = _count_nonzero(counts, what)
    if not size:
        raise UndefinedValue(
            f"{what} has no items, so there is nothing to divide by.",
            f"at least one item in {what}.",
            "pass train= for metrics over the training data, items= for those over the catalogue.",
        )
    return size


def compute_shares(weights: NDArray[Any]) -> Floats:
    """Return the shares of all items with a weight above 0, ascending."""
    ordered = np.sort(weights[weights > 0])
    if not len(ordered):
        raise NothingToEvaluate(
            "all lists that count are empty.",
            "at least one list with an item.",
            "check the predictions, and which items were removed from the lists.",
        )
    return np.asarray(ordered / ordered.sum(), np.float64)


def compute_inequality(weights: NDArray[Any], size: int) -> float:
    """Return how unequal the weights of `size` items are: 0 if all are equal, size - 1 if one has
    everything."""
    shares = compute_shares(weights)
    position = np.arange(1, len(shares) + 1) + size - len(shares)
    return fsum(((2 * position - size - 1) * shares).tolist())


@count_metric(
    "Distinct items",
    counts=items_shown,
    formula="number of different items in the top {k} of all lists",
    reading="200 means that the lists of all users together show 200 different items.",
    use="Use it to compare models on the same users: it grows with the number of lists and with "
    "the cutoff. item_coverage divides it by the size of the catalogue.",
    cite="ge2010beyond",
    bounds=(0.0, np.inf),
    needs=("shown", "stock"),
)
def distinct_items(counts: Counts) -> float:
    """Number of different items shown."""
    return _count_nonzero(counts, "shown")


@count_metric(
    "Item coverage",
    counts=items_shown,
    formula="different items in the top {k} of all lists / (items of the catalogue + {padding})",
    reading="0.3 means that 30% of the catalogue is shown to at least one user. It exceeds 1 only "
    "if lists show items that are not in the catalogue.",
    use="Use it together with an accuracy metric, to see how much of the catalogue a model uses. "
    "It grows with the number of lists. An item counts as covered if it is shown once; gini also "
    "looks at how often.",
    cite="ge2010beyond",
    bounds=(0.0, np.inf),
    needs=OF_CATALOGUE,
)
def item_coverage(counts: Counts, *, padding: float = 0.0) -> float:
    """Share of the catalogue that is shown to at least one user."""
    return _count_nonzero(counts, "shown") / (require_items(counts, "catalogue") + padding)


@count_metric(
    "Coverage of the training items",
    counts=items_shown,
    formula="training items in the top {k} of at least one list / training items; others = "
    "{others}: if this is not 0, items shown that are not in the training data count, too",
    reading="0.3 means that 30% of the items in the training data are shown to at least one user.",
    use="Use it if you have no catalogue; item_coverage divides by the catalogue.",
    cite="ge2010beyond",
    bounds=(0.0, np.inf),
    needs=OF_TRAIN,
)
def train_coverage(counts: Counts, *, others: float = 0.0) -> float:
    """Share of the training items that are shown to at least one user."""
    both = (counts["shown"] > 0) & (counts["train"] > 0)
    return (_count_nonzero(counts, "shown") if others else int(both.sum())) / require_items(
        counts, "train"
    )


@count_metric(
    "Gini index",
    counts=items_shown,
    formula="sum over items of (2 * j - n - 1) * count / (n * total count), count = how often the "
    "item is shown, j = its position from least to most shown, n = items of the catalogue + "
    "{padding} (top {k})",
    reading="0 if every item is shown equally often; close to 1 if a few items fill all lists. It "
    "is below 0 only if lists show more items than the catalogue has.",
    use="Use it to see how unevenly a model exposes the catalogue. If there are fewer positions "
    "than items, even the most even lists are far from 0: compare on the same users and cutoff.",
    cite="fleder2009blockbuster",
    bounds=(-np.inf, 1.0),
    best="low",
    needs=OF_CATALOGUE,
)
def gini(counts: Counts, *, padding: float = 0.0) -> float:
    """Inequality of how often the items of the catalogue are shown."""
    size = require_items(counts, "catalogue") + int(padding)
    return compute_inequality(counts["shown"], size) / size


@count_metric(
    "Gini index over the training items",
    counts=items_shown,
    formula="sum over items of (2 * j - n - 1) * count / (n * total count), count = how often the "
    "item is shown, j = its position from least to most shown, n = training items (top {k})",
    reading="0 if every item is shown equally often; close to 1 if a few items fill all lists.",
    use="Use it if you have no catalogue; gini is over the catalogue.",
    cite="fleder2009blockbuster",
    bounds=(-np.inf, 1.0),
    best="low",
    needs=OF_TRAIN,
)
def train_gini(counts: Counts) -> float:
    """Inequality of how often the training items are shown."""
    size = require_items(counts, "train")
    return compute_inequality(counts["shown"], size) / size


@count_metric(
    "Gini index of exposure over the training items",
    counts=items_by_rank,
    formula="sum over items of (2 * j - n - 1) * exposure / (n * total exposure), exposure = sum "
    "of {patience} ^ (rank - 1) over all lists with the item, j = its position from least to most "
    "exposed, n = training items (top {k})",
    reading="0 if every item has the same exposure; close to 1 if a few items have nearly all of "
    "it.",
    use="Use it instead of train_gini if users look mostly at the first ranks.",
    cite="fleder2009blockbuster",
    bounds=(-np.inf, 1.0),
    best="low",
    needs=OF_TRAIN,
    tie_order="any",
)
def exposure_gini(counts: Counts, *, patience: float = 0.85) -> float:
    """Inequality of the training items' exposure, if attention decreases down the list."""
    size, ranks = require_items(counts, "train"), range(1, len(counts))
    exposed = [patience ** (rank - 1) * counts[f"rank {rank}"] for rank in ranks]
    return compute_inequality(np.sum(exposed, axis=0), size) / size


@count_metric(
    "Entropy of the items shown",
    counts=items_shown,
    formula="- sum over items of p * ln(p), p = the item's share of all positions in the top {k} "
    "of all lists; logarithm to base {base}",
    reading="0 if all lists show the same single item, ln(n) if n items are shown equally often: "
    "an entropy of 4.6 is that of exp(4.6) = 100 items shown equally often.",
    use="Use it like gini, if you have no catalogue. entropy[base=2] is in bits.",
    cite="shannon1948mathematical",
    bounds=(0.0, np.inf),
    needs=("shown", "stock"),
)
def entropy(counts: Counts, *, base: float = e) -> float:
    """Entropy of the items shown: how many items the lists spread over, on a logarithmic scale."""
    shares = compute_shares(counts["shown"])
    return max(-fsum((shares * np.log(shares)).tolist()), 0.0) / log(base)
