"""Metrics of how popular items are in train, and how new: of all that is shown, and of the hits.

Also metrics of a number that items have, such as a price. The head of train is its most popular
items, the tail the others.
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
from rectitude.metrics.choices import Gain, GainFrom, worth_of
from rectitude.metrics.registry import IN_UNITS, NO_LAW, Facts, Ratio, metric, require_choice

_NEEDS = ("shown", "stock", "train")


def _mean(lists: Judged, key: Hashable, worth: Callable[[], Floats | Flags]) -> Ratio:
    """What the items of each list are worth on average; 0/0 for an empty list."""
    return Ratio(lists.stock.total(key, worth, lists.places), lists.length)


@metric(
    "Average popularity",
    formula="sum over the items in the top {k} of max(rows of train with the item, {least}) / "
    "number of these items; repeats = {repeats}: rows that repeat a user count if this is not 0",
    reading="120 means that the items shown have 120 rows of train on average.",
    use="Use it to see how far a model follows popularity. Compare with the mean popularity of "
    "what users chose themselves; it depends on the size of train.",
    cite="yin2012challenging",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=_NEEDS,
)
def average_popularity(
    lists: Judged, k: int | None, *, least: float = 0.0, repeats: float = 1.0
) -> Ratio:
    """Mean popularity of the items shown."""
    key = ("popularity", least, repeats)
    return _mean(lists, key, lambda: np.maximum(lists.stock.popularity(repeats), least))


@metric(
    "Average share of train",
    formula="sum over the items in the top {k} of rows of train with the item / rows of train / "
    "number of these items",
    reading="0.01 means that an item shown has 1% of train on average.",
    use="Use it like average_popularity, across training data of different size.",
    cite="yin2012challenging",
    best="low",
    breaks=NO_LAW,
    needs=_NEEDS,
)
def popularity_share(lists: Judged, k: int | None) -> Ratio:
    """Mean share of train that the items shown have."""
    stock = lists.stock
    return _mean(lists, "share of train", lambda: stock.rows / max(len(stock.item), 1))


@metric(
    "Popularity rank",
    formula="mean over the items in the top {k} of the share of train's items that fewer or as "
    "many users had, equals counting half; 0 for an item that train does not hold",
    reading="1 if only the most popular item is shown; near 0.5 for items at random.",
    use="Use it in the place of average_popularity where few items would rule the mean.",
    cite="vargas2011rank",
    best="low",
    breaks=NO_LAW,
    needs=_NEEDS,
)
def popularity_rank(lists: Judged, k: int | None) -> Ratio:
    """Mean rank of the items shown by popularity, as a share."""
    return _mean(lists, "rank share", lambda: lists.stock.rank_share)


@metric(
    "Mean inverse user frequency",
    formula="mean over the items in the top {k} of log2(users of train / users of train who had "
    "the item, at least 1)",
    reading="3 means that an item shown was had by one user of 8 (2^3), on a logarithmic mean.",
    use="Use it to see how little known the items shown are; it does not look at relevance, and a "
    "random list scores high.",
    cite="zhou2010solving",
    bounds=(0.0, np.inf),
    breaks=NO_LAW,
    needs=_NEEDS,
)
def inverse_user_frequency(lists: Judged, k: int | None) -> Ratio:
    """Mean information in meeting the items shown, in bits."""
    return _mean(lists, "bits", lambda: lists.stock.bits)


@metric(
    "Surprisal",
    formula="sum over the items in the top {k} of log2(users of train / users of train who had the "
    "item) / log2(users of train) / {k}; 1 for an item that train does not hold",
    reading="1 if every place holds an item that at most one user had, 0 if all users had them "
    "all. Empty places count 0.",
    use="Use it like inverse_user_frequency, between 0 and 1.",
    cite="zhou2010solving",
    breaks=NO_LAW,
    needs=_NEEDS,
)
def surprisal(lists: Judged, k: int | None) -> Ratio:
    """Mean information in meeting the items shown, as a share of the most there can be."""
    stock = lists.stock
    most = np.log2(max(stock.everyone, 2))
    worth = stock.total("surprisal", lambda: stock.bits / most, lists.places)
    return Ratio.of(worth / lists.places.own)


@metric(
    "Items of the long tail",
    formula="number of items in the top {k} that {tail} holds and that are outside the head; head "
    "= the most popular items, up to the one with which {head} of the rows of train is {border}; "
    "repeats = {repeats}: rows that repeat a user count if this is not 0; of equally popular items "
    "the first by {equals} are more popular",
    reading="3 means that three places of a list hold items of the long tail.",
    use="Use it with lists of equal length; long_tail_share is a share of the list.",
    cite="abdollahpouri2019managing",
    bounds=(0.0, np.inf),
    breaks=NO_LAW,
    needs=_NEEDS,
)
def long_tail_items(
    lists: Judged, k: int | None, *, head: float = 0.8, repeats: float = 1.0,
    border: str = "reached", tail: str = "train", equals: str = "item",
) -> Ratio:  # fmt: skip
    """How many items of a list are from the long tail."""
    stock = lists.stock
    own = (head, repeats, border, tail, equals)
    return Ratio.of(stock.total(("tail", *own), lambda: in_tail(stock, *own), lists.places))


@metric(
    "Share of the long tail",
    formula="items in the top {k} that {tail} holds and that are outside the head / items in the "
    "top {k}; head = the most popular items, up to the one with which {head} of the rows of train "
    "is {border}; repeats = {repeats}: rows that repeat a user count if this is not 0; of equally "
    "popular items the first by {equals} are more popular",
    reading="0.2 means that a fifth of what is shown is from the long tail.",
    use="Use it to see whether less popular items are shown at all. It does not look at relevance.",
    cite="abdollahpouri2019managing",
    breaks=NO_LAW,
    needs=_NEEDS,
)
def long_tail_share(
    lists: Judged, k: int | None, *, head: float = 0.8, repeats: float = 1.0,
    border: str = "reached", tail: str = "train", equals: str = "item",
) -> Ratio:  # fmt: skip
    """Share of a list that is from the long tail."""
    own = (head, repeats, border, tail, equals)
    return _mean(lists, ("tail", *own), lambda: in_tail(lists.stock, *own))


@metric(
    "Share of the least popular items",
    formula="items in the top {k} that are among the least popular {lowest} of the items of train "
    "(rounded down, at least one; of equals the first ids) / items in the top {k}",
    reading="0.05 means that 5% of what is shown is among the least popular items.",
    use="Use it like long_tail_share, where the tail is to hold a fixed share of the items.",
    cite="yin2012challenging",
    breaks=NO_LAW,
    needs=_NEEDS,
)
def least_popular_share(lists: Judged, k: int | None, *, lowest: float = 0.1) -> Ratio:
    """Share of a list that is among the least popular items of train."""
    return _mean(lists, ("rare", lowest), lambda: rare(lists.stock, lowest))


def _discounted(lists: Judged, k: int | None, values: Floats) -> Ratio:
    """Values of hits, discounted by rank, over the discounts of all places that hold an item."""
    places = np.arange(1, int(lists.returned_upto(k).max(initial=0)) + 1)
    whole = np.append(0.0, np.cumsum(1 / np.log2(places + 1)))
    below = whole[lists.returned_upto(k).astype(np.int64)]
    return Ratio(lists.total(values / np.log2(lists.rank + 1), upto=k), np.maximum(below, 1.0))


@metric(
    "Expected popularity complement",
    formula="sum over hits in the top {k} of gain * (1 - rows of train with the item, at least "
    "{least}, / users of train) / log2(rank + 1), divided by the same sum of 1 / log2(rank + 1) "
    "over all items; gain = {gain}",
    reading="Near 1 if all of the list is relevant and hardly known. It can be no higher than the "
    "discounted precision.",
    use="Use it to reward relevant items that are not popular anyway.",
    cite="vargas2011rank",
    bounds=(-np.inf, np.inf),
    breaks=("perfect_is_best",),
    needs=("train", "met"),
)
def epc(
    lists: Judged, k: int | None, *, facts: Facts, gain: Gain, gain_from: GainFrom,
    least: float = 0.0,
) -> Ratio:  # fmt: skip
    """Relevance of the items shown, times the share of users who had not met them."""
    known = np.maximum(lists.met, least) / max(facts.trained, 1)
    return _discounted(lists, k, worth_of(lists, gain, gain_from)(lists.grade) * (1 - known))


@metric(
    "Expected free discovery",
    formula="sum over hits in the top {k} of gain * log2(rows of train / rows of train with the "
    "item, at least {least}) / log2(rank + 1), divided by the same sum of 1 / log2(rank + 1) over "
    "all items; gain = {gain}",
    reading="High if relevant items are rare in train; 10 bits stand for one row in 1,024.",
    use="Use it like epc where the difference between rare and very rare items matters.",
    cite="vargas2011rank",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    needs=("train", "met"),
)
def efd(
    lists: Judged, k: int | None, *, facts: Facts, gain: Gain, gain_from: GainFrom,
    least: float = 1.0,
) -> Ratio:  # fmt: skip
    """Relevance of the items shown, times the information in meeting them."""
    bits = np.log2(max(facts.interactions, 1) / np.maximum(lists.met, least))
    return _discounted(lists, k, worth_of(lists, gain, gain_from)(lists.grade) * bits)


@metric(
    "Self-information",
    formula="mean over the items in the top {k} of log2(rows of train / rows of train with the "
    "item); one that train does not hold counts as if it had {least}, and 0 if that is 0",
    reading="10 bits mean that an item shown has one row of train in 1,024, on a logarithmic mean.",
    use="Use it to see how rare the items shown are, relevant or not; efd looks at hits, and "
    "inverse_user_frequency at users in the place of rows.",
    cite="zhou2010solving",
    bounds=(0.0, np.inf),
    breaks=NO_LAW,
    needs=("shown", "stock", "train"),
)
def self_information(lists: Judged, k: int | None, *, least: float = 1.0) -> Ratio:
    """Mean information in drawing the items shown from train, in bits."""
    stock = lists.stock

    def bits() -> Floats:
        rows, every = np.maximum(stock.rows, least), max(len(stock.item), 1)
        return np.log2(every / np.where(rows > 0, rows, every))

    return Ratio(stock.total(("row bits", least), bits, lists.places), lists.length)


@metric(
    "Hits by inverse propensity",
    formula="sum over hits in the top {k} of min(rows of train / rows of train with the item, "
    "{largest}); 0 for an item that train does not hold",
    reading="A hit on an item with 1% of the interactions counts 100. It has no upper limit, and "
    "few hits on rare items can make up most of it.",
    use="Use it beside the hit rate to see whether hits are more than popular items, on the "
    "assumption that what users come to see follows the popularity in train.",
    cite="yang2018unbiased",
    bounds=(0.0, np.inf),
    needs=("train", "met"),
)
def propensity_hits(
    lists: Judged, k: int | None, *, facts: Facts, largest: float = 10_000.0
) -> Ratio:
    """Hits, each weighted by how seldom training held the item."""
    weight = np.minimum(facts.interactions / np.maximum(lists.met, 1), largest)
    return Ratio.of(lists.total(np.where(lists.hit & (lists.met > 0), weight, 0.0), upto=k))


@metric(
    "Mean of an attribute",
    formula="sum over the items in the top {k} of column {of} of items= / number of these items; "
    "items without a number are left out, and 0/0 where none is left",
    reading="12.5 means that the items of a list cost 12.5 on average, if the column is a price.",
    use="Use it to see what a model shows: dear or cheap, old or new. Compare with the same mean "
    "over what users chose themselves; neither high nor low is good.",
    bounds=(-np.inf, np.inf),
    breaks=NO_LAW,
    needs=("items", "shown", "stock"),
    fixed=IN_UNITS,
)
def mean_attribute(lists: Judged, k: int | None, *, of: str = "price") -> Ratio:
    """Mean of a number that the items shown have."""
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
    reading="3.2 means that a list finds 3.2 of the price of what its user chose, on average.",
    use="Use it where hits are not worth the same: revenue, margin, minutes. A few dear items can "
    "rule the mean; look at the values per list, too.",
    bounds=(-np.inf, np.inf),
    breaks=NO_LAW,
    needs=("items", "wanted"),
    fixed=IN_UNITS,
    averages="closed form",
)
def hit_value(lists: Judged, k: int | None, *, of: str = "price") -> Ratio:
    """Sum of a number that the items found have."""
    worth = np.nan_to_num(lists.stock.values(of))[lists.item]
    return Ratio.of(lists.total(worth * lists.hit * lists.chance(k), upto=k))


_HEAD, _TAIL = 0, 1
_BORDERS = ("reached", "passed")
_TAILS = ("train", "catalogue")


def halves(
    stock: Stock, head: float, repeats: float, border: str, tail: str, equals: str
) -> Groups:
    """The group of each item: 0 for the head, the most popular items up to the one with which they
    reach this share of train, or pass it; 1 for the tail, the others of train or of the catalogue.

    Of equally popular items, those with the first values in the column `equals` of the items are
    more popular; `item` stands for the ids.
    """
    own = (head, repeats, border, tail, equals)
    return stock.kept(("halves", *own), lambda: _halves(stock, *own))


def _halves(
    stock: Stock, head: float, repeats: float, border: str, tail: str, equals: str
) -> Groups:
    require_choice("border", border, _BORDERS)
    require_choice("tail", tail, _TAILS)
    popularity = stock.popularity(repeats)
    order = np.lexsort((_among_equals(stock, equals), -popularity))
    before, limit = np.cumsum(popularity[order]) - popularity[order], head * popularity.sum()
    known = popularity > 0
    if tail == "catalogue" and stock.catalogue is not None:
        known = known | stock.catalogue
    number = np.where(known, _TAIL, -1)
    leading = order[before < limit if border == "reached" else before <= limit]
    number[leading[popularity[leading] > 0]] = _HEAD
    return Groups(number, pl.Series(["head", "tail"]))


def _among_equals(stock: Stock, equals: str) -> Integers:
    """What decides between items that are equally popular."""
    if equals == "item":
        return np.arange(len(stock.ids))
    number = stock.groups(equals).number
    return np.where(number < 0, len(stock.ids), number)


def in_tail(stock: Stock, *own: Any) -> Flags:
    """(items,) whether the item is in the tail; see `halves`."""
    found: Flags = halves(stock, *own).number == _TAIL
    return found


def rare(stock: Stock, lowest: float) -> Flags:
    """(items,) whether the item is among the least popular ones of train, a share of them and at
    least one; of equals the first ids."""
    known = np.flatnonzero(stock.rows > 0)
    order = known[np.argsort(stock.rows[known], kind="stable")]
    found = np.zeros(len(stock.ids), bool)
    found[order[: max(int(len(order) * lowest), 1)]] = True
    return found
