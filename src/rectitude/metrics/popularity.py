"""Metrics of how popular the items of a list are in train, and how new: relevant or not."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from rectitude.arrays import Flags, Floats
from rectitude.data.halves import in_tail, rare
from rectitude.judge.judged import Judged
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Law, Ratio, metric

_NEEDS = ("shown", "stock", "train")
_LAWS: tuple[Law, ...] = ("perfect_is_best", "moving_up_helps")


def _mean(lists: Judged, key: Hashable, worth: Callable[[], Floats | Flags]) -> Ratio:
    """What the items of each list are worth on average; 0/0 for an empty list."""
    return Ratio(needed(lists.stock, "shown").total(key, worth, lists.places), lists.length)


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
    breaks=_LAWS,
    needs=_NEEDS,
)
def average_popularity(
    lists: Judged, k: int | None, *, least: float = 0.0, repeats: float = 1.0
) -> Ratio:
    """Mean popularity of the items shown."""
    stock = needed(lists.stock, "shown")
    key = ("popularity", least, repeats)
    return _mean(lists, key, lambda: np.maximum(stock.popularity(repeats), least))


@metric(
    "Average share of train",
    formula="sum over the items in the top {k} of rows of train with the item / rows of train / "
    "number of these items",
    reading="0.01 means that an item shown has 1% of train on average.",
    use="Use it like average_popularity, across training data of different size.",
    cite="yin2012challenging",
    best="low",
    breaks=_LAWS,
    needs=_NEEDS,
)
def popularity_share(lists: Judged, k: int | None) -> Ratio:
    """Mean share of train that the items shown have."""
    stock = needed(lists.stock, "shown")
    return _mean(lists, "share of train", lambda: stock.rows / max(len(stock.item), 1))


@metric(
    "Popularity rank",
    formula="mean over the items in the top {k} of the share of train's items that fewer or as "
    "many users had, equals counting half; 0 for an item that train does not hold",
    reading="1 if only the most popular item is shown; near 0.5 for items at random.",
    use="Use it in the place of average_popularity where few items would rule the mean.",
    cite="vargas2011rank",
    best="low",
    breaks=_LAWS,
    needs=_NEEDS,
)
def popularity_rank(lists: Judged, k: int | None) -> Ratio:
    """Mean rank of the items shown by popularity, as a share."""
    stock = needed(lists.stock, "shown")
    return _mean(lists, "rank share", lambda: stock.rank_share)


@metric(
    "Mean inverse user frequency",
    formula="mean over the items in the top {k} of log2(users of train / users of train who had "
    "the item, at least 1)",
    reading="3 means that an item shown was had by one user of 8 (2^3), on a logarithmic mean.",
    use="Use it to see how little known the items shown are; it does not look at relevance, and a "
    "random list scores high.",
    cite="zhou2010solving",
    bounds=(0.0, np.inf),
    breaks=_LAWS,
    needs=_NEEDS,
)
def inverse_user_frequency(lists: Judged, k: int | None) -> Ratio:
    """Mean information in meeting the items shown, in bits."""
    stock = needed(lists.stock, "shown")
    return _mean(lists, "bits", lambda: stock.bits)


@metric(
    "Surprisal",
    formula="sum over the items in the top {k} of log2(users of train / users of train who had the "
    "item) / log2(users of train) / {k}; 1 for an item that train does not hold",
    reading="1 if every place holds an item that at most one user had, 0 if all users had them "
    "all. Empty places count 0.",
    use="Use it like inverse_user_frequency, between 0 and 1.",
    cite="zhou2010solving",
    breaks=_LAWS,
    needs=_NEEDS,
)
def surprisal(lists: Judged, k: int | None) -> Ratio:
    """Mean information in meeting the items shown, as a share of the most there can be."""
    stock = needed(lists.stock, "shown")
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
    breaks=_LAWS,
    needs=_NEEDS,
)
def long_tail_items(
    lists: Judged, k: int | None, *, head: float = 0.8, repeats: float = 1.0,
    border: str = "reached", tail: str = "train", equals: str = "item",
) -> Ratio:  # fmt: skip
    """How many items of a list are from the long tail."""
    stock = needed(lists.stock, "shown")
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
    breaks=_LAWS,
    needs=_NEEDS,
)
def long_tail_share(
    lists: Judged, k: int | None, *, head: float = 0.8, repeats: float = 1.0,
    border: str = "reached", tail: str = "train", equals: str = "item",
) -> Ratio:  # fmt: skip
    """Share of a list that is from the long tail."""
    stock = needed(lists.stock, "shown")
    own = (head, repeats, border, tail, equals)
    return _mean(lists, ("tail", *own), lambda: in_tail(stock, *own))


@metric(
    "Share of the least popular items",
    formula="items in the top {k} that are among the least popular {lowest} of the items of train "
    "(rounded down, at least one; of equals the first ids) / items in the top {k}",
    reading="0.05 means that 5% of what is shown is among the least popular items.",
    use="Use it like long_tail_share, where the tail is to hold a fixed share of the items.",
    cite="yin2012challenging",
    breaks=_LAWS,
    needs=_NEEDS,
)
def least_popular_share(lists: Judged, k: int | None, *, lowest: float = 0.1) -> Ratio:
    """Share of a list that is among the least popular items of train."""
    stock = needed(lists.stock, "shown")
    return _mean(lists, ("rare", lowest), lambda: rare(stock, lowest))
