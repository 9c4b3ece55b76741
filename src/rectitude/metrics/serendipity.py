"""Metrics of what users would not have met anyway: new to them, unexpected, and relevant."""

from __future__ import annotations

from functools import partial

import numpy as np

from rectitude.arrays import Floats
from rectitude.judge.judged import Judged
from rectitude.metrics.history import met_and_expected, profile_alike
from rectitude.metrics.registry import NO_LAW, Ratio, metric

OF_USERS = ("shown", "stock", "train", "people")


def _met(lists: Judged) -> tuple[Floats, Floats]:
    """(lists,) items shown that the user had in training, and others that are expected."""
    find = partial(met_and_expected, lists.stock, lists.owner)
    return lists.places.each("met and expected", find)


@metric(
    "Share of items new to the user",
    formula="items in the top {k} that the user had not in train / items in the top {k}",
    reading="0.9 means that a tenth of what is shown, the user had already; 1 wherever such items "
    "are removed from lists.",
    use="Use it where lists may repeat what users had, as with music or groceries.",
    cite="castells2022novelty",
    breaks=NO_LAW,
    needs=OF_USERS,
)
def unseen_share(lists: Judged, k: int | None) -> Ratio:
    """Share of a list that its user had not met."""
    met, _ = _met(lists)
    return Ratio(lists.length - met, lists.length)


@metric(
    "Unexpectedness",
    formula="items in the top {k} that are not among the {k} most popular items of train that the "
    "user had not / items in the top {k}; of equally popular items the first ids are expected",
    reading="1 if a list shows nothing that a list of the most popular items would show; 0 if it "
    "shows nothing else.",
    use="Use it to see whether a model does more than follow popularity. It does not look at "
    "relevance: serendipity does.",
    cite="ge2010beyond",
    breaks=NO_LAW,
    needs=OF_USERS,
)
def unexpectedness(lists: Judged, k: int | None) -> Ratio:
    """Share of a list that the most popular items would not have shown its user."""
    _, expected = _met(lists)
    return Ratio(lists.length - expected, lists.length)


@metric(
    "Serendipity by popularity",
    name="serendipity",
    formula="sum over hits in the top {k} of max(popularity rank - rank, 0) / n / items in the top "
    "{k}; n = items of the catalogue; popularity rank: 1 for the most rows of train, equals share "
    "a rank and the next has the next; n + 1 for an item that train does not hold",
    reading="0 if every hit stands no higher than its popularity lets one expect; it nears the "
    "precision where hits are unpopular and stand first.",
    use="Use it to reward hits that popularity does not explain. It depends on the size of the "
    "catalogue.",
    cite="ge2010beyond",
    needs=("wanted", "stock", "train", "catalogue"),
)
def serendipity(lists: Judged, k: int | None) -> Ratio:
    """Hits, as far as they stand above where popularity would have put them."""
    stock = lists.stock
    size = np.count_nonzero(lists.catalogue)
    place = stock.popularity_rank
    chance = np.where(stock.rows > 0, (size + 1 - place) / size, 0.0)
    own = (size + 1 - lists.rank) / size
    above = np.maximum(own - chance[lists.item], 0.0) * lists.hit
    return Ratio(lists.total(above, upto=k), lists.returned_upto(k))


@metric(
    "Serendipity by history",
    formula="sum over hits in the top {k} of (1 - mean over the items that the user had in train "
    "of the users who had both / sqrt(users who had the one * users who had the other)) / items in "
    "the top {k}; 0/0 where the user had nothing in train",
    reading="Near the precision if hits are unlike all that the user had; 0 without hits.",
    use="Use it to reward hits that are far from what a user had before.",
    cite="zhang2012auralist",
    breaks=("perfect_is_best",),
    needs=("wanted", "stock", "train", "people"),
    at_once="all lists",
)
def history_serendipity(lists: Judged, k: int | None) -> Ratio:
    """Hits, as far as they are unlike what the user had."""
    stock, owner = lists.stock, lists.owner
    rows, whose = lists.within(k)
    total, many = profile_alike(stock, owner[whose], lists.item[rows])
    many_had = np.diff(stock.offsets)[owner]
    new = np.maximum(1 - total / np.maximum(many, 1), 0.0) * lists.hit[rows]
    values = np.bincount(whose, weights=new, minlength=lists.size)
    return Ratio(values.astype(np.float64), lists.returned_upto(k)).where(many_had > 0)
