"""Popularity and novelty metrics, of all items shown and of the hits.

Also metrics of a numeric attribute of items, such as a price. The head is the most popular items in
the training data, the tail the other items.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers
from rectitude.judge.attributes import Groups
from rectitude.judge.items import Stock
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Gain, GainFrom, gain_function
from rectitude.metrics.exposure import AGAIN
from rectitude.metrics.registry import (
    IN_UNITS,
    RELEVANCE_LAWS,
    Facts,
    Ratio,
    metric,
    require_choice,
)

_NEEDS = ("shown", "stock", "train")


def _average(lists: Judged, key: Hashable, values: Callable[[], Floats | Flags]) -> Ratio:
    """Return the mean of a value over the items of each list; 0/0 for an empty list."""
    return Ratio(lists.stock.total(key, values, lists.places), lists.length)


@metric(
    "Average popularity",
    formula="sum over the items in the top {k} of max(training rows with the item, {least}) / "
    "number of these items; repeats = {repeats}: if this is 0, repeated rows of the same user and "
    "item count once",
    reading="120 means that the items shown have 120 training rows on average.",
    use="Use it to see how much a model follows popularity. Compare it with the mean popularity of "
    "the items that users chose themselves. It depends on the size of the training data.",
    cite="yin2012challenging",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def average_popularity(
    lists: Judged, k: int | None, *, least: float = 0.0, repeats: float = 1.0
) -> Ratio:
    """Mean popularity of the items shown."""
    key = ("popularity", least, repeats)
    return _average(lists, key, lambda: np.maximum(lists.stock.popularity(repeats), least))


@metric(
    "Average share of the training data",
    formula="sum over the items in the top {k} of (training rows with the item / training rows) / "
    "number of these items",
    reading="0.01 means that an item shown has 1% of the training rows on average.",
    use="Use it like average_popularity, to compare training data of different sizes.",
    cite="yin2012challenging",
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def popularity_share(lists: Judged, k: int | None) -> Ratio:
    """Mean share of the training rows that the items shown have."""
    stock = lists.stock
    return _average(lists, "share of train", lambda: stock.rows / max(len(stock.item), 1))


@metric(
    "Popularity rank",
    formula="mean over the items in the top {k} of the share of training items with at most as "
    "many users, where items with equally many count half; 0 for an item that is not in the "
    "training data",
    reading="1 if only the most popular item is shown; close to 0.5 for random items.",
    use="Use it instead of average_popularity when a few items would dominate the mean.",
    cite="vargas2011rank",
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def popularity_rank(lists: Judged, k: int | None) -> Ratio:
    """Mean popularity rank of the items shown, as a share."""
    return _average(lists, "rank share", lambda: lists.stock.rank_share)


@metric(
    "Mean inverse user frequency",
    formula="mean over the items in the top {k} of log2(users in the training data / users with "
    "the item, at least 1)",
    reading="3 means that one user in 8 (2^3) has an item shown in their training data, as a "
    "geometric mean.",
    use="Use it to see how little known the items shown are. It ignores relevance: a random list "
    "scores high.",
    cite="zhou2010solving",
    bounds=(0.0, np.inf),
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def inverse_user_frequency(lists: Judged, k: int | None) -> Ratio:
    """Mean self-information of the items shown, by users, in bits."""
    return _average(lists, "bits", lambda: lists.stock.bits)


@metric(
    "Surprisal",
    formula="sum over the items in the top {k} of log2(users in the training data / users with the "
    "item) / log2(users in the training data) / {k}; 1 for an item that is not in the training "
    "data",
    reading="1 if every item shown has at most one user in the training data, 0 if all users have "
    "all of them. Empty positions count as 0.",
    use="Use it like inverse_user_frequency, scaled to 0 to 1.",
    cite="zhou2010solving",
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
    cutoff="needed",
)
def surprisal(lists: Judged, k: int | None) -> Ratio:
    """Mean self-information of the items shown, as a share of the maximum."""
    stock = lists.stock
    max_bits = np.log2(max(stock.everyone, 2))
    total = stock.total("surprisal", lambda: stock.bits / max_bits, lists.places)
    return Ratio.of(total / lists.places.own)


@metric(
    "Long-tail items",
    formula="number of items in the top {k} that are items of {tail} but not of the head; head = "
    "the smallest set of the most popular items whose share of the training rows has {border} "
    "{head}; "
    "repeats = {repeats}: if this is 0, repeated rows of the same user and item count once; ties "
    "in popularity are broken by {equals}; again = {again}: an item that stands in a list again is "
    "counted or left_out",
    reading="3 means that a list shows three items from the long tail on average.",
    use="Use it with lists of equal length; long_tail_share is a share of the list.",
    cite="abdollahpouri2019managing",
    bounds=(0.0, np.inf),
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def long_tail_items(
    lists: Judged, k: int | None, *, head: float = 0.8, repeats: float = 1.0,
    border: str = "reached", tail: str = "train", equals: str = "item", again: str = "counted",
) -> Ratio:  # fmt: skip
    """Number of items in a list that are from the long tail."""
    return Ratio.of(_count_tail(lists, (head, repeats, border, tail, equals), again))


@metric(
    "Long-tail share",
    formula="items in the top {k} that are items of {tail} but not of the head / items in the top "
    "{k}; head = the smallest set of the most popular items whose share of the training rows has "
    "{border} {head}; repeats = {repeats}: if this is 0, repeated rows of the same user and item "
    "count once; ties in popularity are broken by {equals}; again = {again}: among the tail items, "
    "one that stands in a list again is counted or left_out",
    reading="0.2 means that a fifth of the items shown are from the long tail.",
    use="Use it to see whether less popular items are shown at all. It ignores relevance.",
    cite="abdollahpouri2019managing",
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def long_tail_share(
    lists: Judged, k: int | None, *, head: float = 0.8, repeats: float = 1.0,
    border: str = "reached", tail: str = "train", equals: str = "item", again: str = "counted",
) -> Ratio:  # fmt: skip
    """Share of a list that is from the long tail."""
    return Ratio(_count_tail(lists, (head, repeats, border, tail, equals), again), lists.length)


def _count_tail(lists: Judged, settings: tuple[Any, ...], again: str) -> Floats:
    """Return how many items of each list are from the long tail; see `split_head_tail`."""
    require_choice("again", again, AGAIN)
    places = lists.places if again == "counted" else lists.places.firsts
    key = ("tail", *settings, again)
    return lists.stock.total(key, lambda: is_in_tail(lists.stock, *settings), places)


@metric(
    "Share of the least popular items",
    formula="items in the top {k} that are among the least popular {lowest} of the training items "
    "(rounded down, at least one; ties are broken by id) / items in the top {k}",
    reading="0.05 means that 5% of the items shown are among the least popular ones.",
    use="Use it like long_tail_share, when the tail should be a fixed share of the items.",
    cite="yin2012challenging",
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def least_popular_share(lists: Judged, k: int | None, *, lowest: float = 0.1) -> Ratio:
    """Share of a list that is among the least popular training items."""
    return _average(lists, ("rare", lowest), lambda: is_rare(lists.stock, lowest))


def _discount_values(lists: Judged, k: int | None, values: Floats) -> Ratio:
    """Return the values of hits, discounted by rank, over the discounts of all filled ranks."""
    ranks = np.arange(1, int(lists.returned_upto(k).max(initial=0)) + 1)
    sums = np.append(0.0, np.cumsum(1 / np.log2(ranks + 1)))
    discounts = sums[lists.returned_upto(k).astype(np.int64)]
    return Ratio(lists.total(values / np.log2(lists.rank + 1), upto=k), np.maximum(discounts, 1.0))


@metric(
    "Expected popularity complement",
    formula="sum over hits in the top {k} of gain * (1 - max(training rows with the item, "
    "{least}) / users in the training data) / log2(rank + 1), divided by the same sum of 1 / "
    "log2(rank + 1) over all items; gain = {gain}",
    reading="Close to 1 if all items of the list are relevant and little known. It is never higher "
    "than the discounted precision.",
    use="Use it to reward relevant items that are not popular.",
    cite="vargas2011rank",
    bounds=(-np.inf, np.inf),
    breaks=("perfect_is_best",),
    needs=("train", "met"),
)
def epc(
    lists: Judged, k: int | None, *, facts: Facts, gain: Gain, gain_from: GainFrom,
    least: float = 0.0,
) -> Ratio:  # fmt: skip
    """Relevance of the items shown, times the share of users without them in the training data."""
    familiarity = np.maximum(lists.met, least) / max(facts.trained, 1)
    return _discount_values(
        lists, k, gain_function(lists, gain, gain_from)(lists.grade) * (1 - familiarity)
    )


@metric(
    "Expected free discovery",
    formula="sum over hits in the top {k} of gain * log2(training rows / training rows with the "
    "item, at least {least}) / log2(rank + 1), divided by the same sum of 1 / log2(rank + 1) over "
    "all items; gain = {gain}",
    reading="High if relevant items are rare in the training data; 10 bits correspond to one row "
    "in 1,024.",
    use="Use it like epc, when the difference between rare and very rare items matters.",
    cite="vargas2011rank",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    needs=("train", "met"),
)
def efd(
    lists: Judged, k: int | None, *, facts: Facts, gain: Gain, gain_from: GainFrom,
    least: float = 1.0,
) -> Ratio:  # fmt: skip
    """Relevance of the items shown, times their self-information."""
    bits = np.log2(max(facts.interactions, 1) / np.maximum(lists.met, least))
    return _discount_values(lists, k, gain_function(lists, gain, gain_from)(lists.grade) * bits)


@metric(
    "Expected free discovery, unknown items as rare as the rarest",
    formula="as efd, but an item that is not in the training data counts as if it had as many rows "
    "as the rarest item there",
    reading="Read it like efd. The two differ only if every item has several training rows and "
    "some hits are on unknown items.",
    use="Use it to reproduce tools that take the novelty of the rarest item for unknown items.",
    cite="vargas2011rank",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    needs=("train", "met", "stock"),
)
def efd_as_rarest(
    lists: Judged, k: int | None, *, facts: Facts, gain: Gain, gain_from: GainFrom
) -> Ratio:
    """Expected free discovery with unknown items as rare as the rarest training item."""
    rows = lists.stock.rows
    rarest = float(rows[rows > 0].min()) if (rows > 0).any() else 1.0
    return efd(lists, k, facts=facts, gain=gain, gain_from=gain_from, least=rarest)


@metric(
    "Self-information",
    formula="mean over the items in the top {k} of log2(training rows / training rows with the "
    "item); an item that is not in the training data counts as if it had {least} rows, and as 0 if "
    "that is 0",
    reading="10 bits mean that an item shown has one training row in 1,024, as a geometric mean.",
    use="Use it to see how rare the items shown are, relevant or not; efd looks at hits, and "
    "inverse_user_frequency counts users instead of rows.",
    cite="zhou2010solving",
    bounds=(0.0, np.inf),
    breaks=RELEVANCE_LAWS,
    needs=("shown", "stock", "train"),
)
def self_information(lists: Judged, k: int | None, *, least: float = 1.0) -> Ratio:
    """Mean self-information of the items shown, by training rows, in bits."""
    stock = lists.stock

    def bits() -> Floats:
        rows, row_count = np.maximum(stock.rows, least), max(len(stock.item), 1)
        return np.log2(row_count / np.where(rows > 0, rows, row_count))

    return Ratio(stock.total(("row bits", least), bits, lists.places), lists.length)


@metric(
    "Hits weighted by inverse propensity",
    formula="sum over hits in the top {k} of min(training rows / training rows with the item, "
    "{largest}); 0 for an item that is not in the training data",
    reading="A hit on an item with 1% of the interactions counts as 100. There is no upper limit, "
    "and a few hits on rare items can dominate the value.",
    use="Use it together with the hit rate, to see whether a model hits more than popular items. "
    "It assumes that users are exposed to items in proportion to their popularity in the training "
    "data.",
    cite="yang2018unbiased",
    bounds=(0.0, np.inf),
    needs=("train", "met"),
)
def propensity_hits(
    lists: Judged, k: int | None, *, facts: Facts, largest: float = 10_000.0
) -> Ratio:
    """Hits, each weighted by how rare its item is in the training data."""
    weight = np.minimum(facts.interactions / np.maximum(lists.met, 1), largest)
    return Ratio.of(lists.total(np.where(lists.hit & (lists.met > 0), weight, 0.0), upto=k))


@metric(
    "Mean of an attribute",
    formula="sum over the items in the top {k} of column {of} of items= / number of these items; "
    "items without a number are left out, and 0/0 if none is left",
    reading="12.5 means that the items of a list cost 12.5 on average, if the column is a price.",
    use="Use it to see what a model shows: expensive or cheap items, old or new ones. Compare it "
    "with the same mean over the items that users chose themselves; neither high nor low is good "
    "as such.",
    bounds=(-np.inf, np.inf),
    breaks=RELEVANCE_LAWS,
    needs=("items", "shown", "stock"),
    fixed=IN_UNITS,
)
def mean_attribute(lists: Judged, k: int | None, *, of: str = "price") -> Ratio:
    """Mean of a numeric attribute of the items shown."""
    stock = lists.stock
    values, places = stock.values(of), lists.places
    return Ratio(
        stock.total(("value", of), lambda: np.nan_to_num(values), places),
        stock.total(("known", of), lambda: ~np.isnan(values), places),
    )


@metric(
    "Value of the hits",
    formula="sum over the relevant items in the top {k} of column {of} of items=; an item without "
    "a number adds nothing",
    reading="If the column is a price, 3.2 means that the hits of a list have a total price of 3.2 "
    "on average.",
    use="Use it when hits differ in value: revenue, margin, minutes. A few expensive items can "
    "dominate the mean; look at the values per list as well.",
    bounds=(-np.inf, np.inf),
    breaks=RELEVANCE_LAWS,
    needs=("items", "wanted"),
    fixed=IN_UNITS,
    averages="closed form",
)
def hit_value(lists: Judged, k: int | None, *, of: str = "price") -> Ratio:
    """Sum of a numeric attribute of the hits."""
    values = np.nan_to_num(lists.stock.values(of))[lists.item]
    return Ratio.of(lists.total(values * lists.hit * lists.chance(k), upto=k))


_HEAD, _TAIL = 0, 1
_BORDERS = ("reached", "passed")
_TAILS = ("train", "catalogue")


def split_head_tail(
    stock: Stock, head: float, repeats: float, border: str, tail: str, equals: str
) -> Groups:
    """Return the group of each item: 0 for the head, 1 for the tail, -1 for neither.

    The head is the smallest set of the most popular items that together reach, or pass, this share
    of the training rows. The tail is the other items of the training data or of the catalogue. Ties
    in popularity are broken by the column `equals` of the items, lowest value first; `item` means
    the ids.
    """
    settings = (head, repeats, border, tail, equals)
    return stock.kept(("halves", *settings), lambda: _split_halves(stock, *settings))


def _split_halves(
    stock: Stock, head: float, repeats: float, border: str, tail: str, equals: str
) -> Groups:
    require_choice("border", border, _BORDERS)
    require_choice("tail", tail, _TAILS)
    popularity = stock.popularity(repeats)
    order = np.lexsort((_tie_order(stock, equals), -popularity))
    before, limit = np.cumsum(popularity[order]) - popularity[order], head * popularity.sum()
    candidates = popularity > 0
    if tail == "catalogue" and stock.catalogue is not None:
        candidates = candidates | stock.catalogue
    number = np.where(candidates, _TAIL, -1)
    leading = order[before < limit if border == "reached" else before <= limit]
    number[leading[popularity[leading] > 0]] = _HEAD
    return Groups(number, pl.Series(["head", "tail"]))


def _tie_order(stock: Stock, equals: str) -> Integers:
    """Return the sort key for equally popular items."""
    if equals == "item":
        return np.arange(len(stock.ids))
    number = stock.groups(equals).number
    return np.where(number < 0, len(stock.ids), number)


def is_in_tail(stock: Stock, *settings: Any) -> Flags:
    """Return (items,) whether the item is in the tail; see `split_head_tail`."""
    flags: Flags = split_head_tail(stock, *settings).number == _TAIL
    return flags


def is_rare(stock: Stock, lowest: float) -> Flags:
    """Return (items,) whether the item is among the least popular training items.

    These are a share of the training items, at least one; ties are broken by id.
    """
    trained = np.flatnonzero(stock.rows > 0)
    order = trained[np.argsort(stock.rows[trained], kind="stable")]
    flags = np.zeros(len(stock.ids), bool)
    flags[order[: max(int(len(order) * lowest), 1)]] = True
    return flags
