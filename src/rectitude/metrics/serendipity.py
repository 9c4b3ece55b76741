"""Metrics of what users would not have met anyway: new to them, unexpected, and relevant."""

from __future__ import annotations

from functools import partial
from math import fsum

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, distinct
from rectitude.errors import NothingToEvaluate
from rectitude.judge.judged import Judged
from rectitude.metrics.exposure import many_of
from rectitude.metrics.history import met_and_expected, profile_alike
from rectitude.metrics.registry import Counts, Law, Ratio, count_metric, metric

_LAWS: tuple[Law, ...] = ("perfect_is_best", "moving_up_helps")
_OWN = ("shown", "stock", "train", "people")


def _met(lists: Judged) -> tuple[Floats, Floats]:
    """(lists,) items shown that the user had in training, and others that are expected."""
    stock, owner = lists.stock, lists.owner
    return lists.places.each("met and expected", partial(met_and_expected, stock, owner))


def _found(lists: Judged) -> Integers:
    """(found,) the number of the item of each row."""
    return lists.wanted[lists.where]


@metric(
    "Share of items new to the user",
    formula="items in the top {k} that the user had not in train / items in the top {k}",
    reading="0.9 means that a tenth of what is shown, the user had already; 1 wherever such items "
    "are removed from lists.",
    use="Use it where lists may repeat what users had, as with music or groceries.",
    cite="castells2022novelty",
    breaks=_LAWS,
    needs=_OWN,
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
    breaks=_LAWS,
    needs=_OWN,
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
    above = np.maximum(own - chance[_found(lists)], 0.0) * lists.hit
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
    total, many = profile_alike(stock, owner[whose], _found(lists)[rows])
    many_had = np.diff(stock.offsets)[owner]
    new = np.maximum(1 - total / np.maximum(many, 1), 0.0) * lists.hit[rows]
    values = np.bincount(whose, weights=new, minlength=lists.size)
    return Ratio(values.astype(np.float64), lists.returned_upto(k)).where(many_had > 0)


def items_of_theirs(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """How often each item is shown, and how often the users of these lists had it in train."""
    stock, shown = lists.stock, lists.shown[counts]
    mine = np.isin(stock.user, lists.owner[counts])
    had = np.bincount(stock.item[mine], minlength=len(stock.ids))
    return {"shown": stock.times(shown), "train": had}


@count_metric(
    "Coverage of the users' own train",
    counts=items_of_theirs,
    formula="items in the top {k} of some list that the users of these lists had in train / items "
    "that they had in train",
    reading="0.3 means that 30% of what these users had in train is shown to one of them.",
    use="For numbers of tools that see the training data of the evaluated users only; "
    "train_coverage is over all of train.",
    cite="ge2010beyond",
    needs=_OWN,
)
def own_train_coverage(counts: Counts) -> float:
    """Share of the items that these users had in train that are shown to one of them."""
    both = (counts["shown"] > 0) & (counts["train"] > 0)
    return int(both.sum()) / many_of(counts, "train")


def hits_by_relevant(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """How often each item is a hit in lists with so many relevant items, and how often train and
    truth hold it. The numbers of lists, batches and users are good for their sums only."""
    stock, wanted = lists.stock, lists.wanted
    rows, whose = lists.within(k)
    there = lists.hit[rows] & counts[whose]
    items, relevant = _found(lists)[rows][there], lists.relevant[whose][there].astype(np.int64)
    people, owner = lists.people, lists.owner
    known = distinct(np.concatenate((stock.user, people.attributes.row)))
    new = ~np.isin(owner, known)
    found = {f"of {n}": np.bincount(items[relevant == n], minlength=len(stock.ids))
             for n in np.unique(relevant).tolist()}  # fmt: skip
    single = {"lists": counts.sum(), "batches": 1, "known": len(known), "new": new.sum()}
    truth = np.bincount(wanted, minlength=len(stock.ids))
    return {**found, **{n: np.array([int(c)]) for n, c in single.items()},
            "train": stock.rows, "truth": truth}  # fmt: skip


@count_metric(
    "Popularity of the hits",
    counts=hits_by_relevant,
    formula="mean over lists of (sum over hits in the top {k} of p / relevant items), p = rows of "
    "train and truth with the item / (users of train and of users= + lists of other users)",
    reading="It grows with recall and with the popularity of what is found: 0 without a hit.",
    use="For numbers of tools that report it under the name of popularity; average_popularity is "
    "of all items shown, and by train alone.",
    cite="abdollahpouri2019managing",
    bounds=(0.0, np.inf),
    needs=("wanted", "stock", "train", "people"),
)
def hit_popularity(counts: Counts) -> float:
    """How popular the items are that are found, over how many could be."""
    batches = max(int(counts["batches"].sum()), 1)
    users = int(counts["known"].sum()) // batches + int(counts["new"].sum())
    size = max(len(counts["train"]), len(counts["truth"]))
    popular = _filled(counts["train"], size) // batches + _filled(counts["truth"], size)
    lists = int(counts["lists"].sum())
    if not lists:
        raise NothingToEvaluate("no list counts.", "at least one list.")
    found = {int(n[3:]): _filled(c, size) for n, c in counts.items() if n.startswith("of ")}
    total = fsum(int((popular * hits).sum()) / relevant for relevant, hits in found.items())
    return total / max(users, 1) / lists


def _filled(counts: Integers, size: int) -> Integers:
    return np.pad(counts, (0, size - len(counts)))
