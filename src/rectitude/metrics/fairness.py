"""Metrics of how evenly groups of items are shown: equal opportunity and statistical parity.

They are functions of counts per group, which add up over batches. Groups are the values of a column
of items=, or the head and the tail of train; items without a group are left out.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Flags
from rectitude.data.attributes import Groups
from rectitude.data.groupwise import unequal
from rectitude.data.halves import halves
from rectitude.data.history import Wanted
from rectitude.data.parity import available, chances, counts_of, rates, relevant
from rectitude.judge.judged import Judged
from rectitude.metrics.exposure import times_shown
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Counts, count_metric
from rectitude.threads import Once

_NEEDS = ("wanted", "people")


def by_column(lists: Judged, k: int | None, counts: Flags, *, by: str = "group") -> Counts:
    """What groups of items get, and what they could have got."""
    return _counted(lists, k, counts, needed(lists.stock, "wanted").groups(by))


def by_half(
    lists: Judged, k: int | None, counts: Flags, *, head: float = 0.8, repeats: float = 1.0,
    border: str = "reached", tail: str = "train", equals: str = "item",
) -> Counts:  # fmt: skip
    """What head and tail get, and what they could have got."""
    stock = needed(lists.stock, "wanted")
    return _counted(lists, k, counts, halves(stock, head, repeats, border, tail, equals))


def _counted(lists: Judged, k: int | None, counts: Flags, groups: Groups) -> Counts:
    stock, wanted = needed(lists.stock, "wanted"), needed(lists.wanted, "wanted")
    rows, found = lists.within(k)
    hits = wanted[lists.where[rows][lists.hit[rows] & counts[found]]]
    places = np.zeros(len(stock.ids), int) if lists.shown is None else times_shown(lists, counts)
    once = lists.places.kept if counts.all() else Once()  # for all cutoffs
    could = once("chances", lambda: chances(stock, relevant_items(lists, counts)))
    return counts_of(stock, groups, hits, could, places, int(counts.sum()), lists.size)


def relevant_items(lists: Judged, counts: Flags) -> Wanted:
    """The users and the relevant items of the lists that count."""
    owner, wanted = needed(lists.owner, "people"), needed(lists.wanted, "wanted")
    if counts.all() and lists.always_relevant:
        return Wanted(owner, lists.truth.offsets, wanted)
    lists_of = lists.truth.rows()
    rows = counts[lists_of] & lists.is_relevant(lists.truth.values)
    many = np.bincount(lists_of[rows], minlength=lists.size)[counts]
    return Wanted(owner[counts], np.append(0, np.cumsum(many)), wanted[rows])


_HALVES = (
    "head = the most popular items, up to the one with which {head} of the rows of train is "
    "{border}, tail = the other items of {tail}; repeats = {repeats}: rows that repeat a user "
    "count if this is not 0; of equally popular items the first by {equals} are more popular; "
    "item_group = {item_group}: the rate of that half alone if it is not all"
)
_TWO_WAYS = "below = {below}: unseen leaves out those that the user had in train, all does not"


@count_metric(
    "Ranking-based equal opportunity",
    counts=by_column,
    formula="standard deviation / mean over groups of hits in the top {k} / relevant items, of all "
    "lists and of the group; group = column {by} of items=; item_group = {item_group}: the rate of "
    "that group alone if it is not all; relevant items, " + _TWO_WAYS,
    reading="0 if relevant items of every group are found equally often; 1 if of two groups only "
    "one is found. Groups without relevant items are left out.",
    use="Use it to see whether a model serves the items of some group worse than they deserve. "
    "The rates of the groups say which: reo[item_group=drama]@10.",
    cite="zhu2020measuring",
    bounds=(0.0, np.inf),
    best="low",
    needs=("items", *_NEEDS),
)
def reo(counts: Counts, *, below: str = "unseen", item_group: str = "all") -> float:
    """How differently often relevant items of the groups are found."""
    return unequal(rates(counts, "hits", relevant(counts, below)), item_group, "reo")


@count_metric(
    "Equal opportunity of head and tail",
    counts=by_half,
    formula="standard deviation / mean over head and tail of hits in the top {k} / relevant items, "
    f"of all lists and of the half; {_HALVES}; relevant items, {_TWO_WAYS}",
    reading="0 if relevant items are found equally often, popular or not; 1 if only those of one "
    "half are found.",
    use="Use it to see whether a model finds what is popular and misses relevant items that are "
    "not.",
    cite="zhu2020measuring",
    bounds=(0.0, 1.0),
    best="low",
    needs=("train", *_NEEDS),
)
def pop_reo(counts: Counts, *, below: str = "unseen", item_group: str = "all") -> float:
    """How differently often relevant items of head and tail are found."""
    return unequal(rates(counts, "hits", relevant(counts, below)), item_group, "pop_reo")


@count_metric(
    "Places of head and tail over relevant items",
    counts=by_half,
    formula="standard deviation / mean over head and tail of places in the top {k} / relevant "
    f"items, of all lists and of the half; {_HALVES}; relevant items, {_TWO_WAYS}",
    reading="0 if both halves have as many places as relevant items, in proportion.",
    use="For numbers of tools that report it under the name of PopREO, where wrong places count as "
    "well; pop_reo looks at hits.",
    cite="zhu2020measuring",
    bounds=(0.0, 1.0),
    best="low",
    needs=("train", "shown", *_NEEDS),
)
def pop_reo_places(counts: Counts, *, below: str = "unseen", item_group: str = "all") -> float:
    """How differently many places head and tail have for each of their relevant items."""
    found = rates(counts, "places", relevant(counts, below))
    return unequal(found, item_group, "pop_reo_places")


_THREE_WAYS = (
    "items that could be shown, below = {below}: unseen leaves out those that the user had in "
    "train, all does not, estimated takes off the mean number of rows of train"
)


@count_metric(
    "Ranking-based statistical parity",
    counts=by_column,
    formula="standard deviation / mean over groups of places in the top {k} / places that the "
    "items of the group could have had, one for every list and item that could be shown; group = "
    "column {by} of items=; item_group = {item_group}: the rate of that group alone if it is not "
    "all; " + _THREE_WAYS,
    reading="0 if an item is shown equally often whatever its group; 1 if of two groups only one "
    "is shown. It does not look at relevance.",
    use="Use it to see whether items of some group are hardly shown; reo asks whether the relevant "
    "ones are. The rates of the groups say which: rsp[item_group=drama]@10.",
    cite="zhu2020measuring",
    bounds=(0.0, np.inf),
    best="low",
    needs=("items", "shown", *_NEEDS),
)
def rsp(counts: Counts, *, below: str = "unseen", item_group: str = "all") -> float:
    """How differently often items of the groups are shown."""
    return unequal(rates(counts, "places", available(counts, below)), item_group, "rsp")


@count_metric(
    "Statistical parity of head and tail",
    counts=by_half,
    formula="standard deviation / mean over head and tail of places in the top {k} / places that "
    "the items of the half could have had, one for every list and item that could be shown; "
    f"{_HALVES}; {_THREE_WAYS}",
    reading="0 if an item is shown equally often, popular or not; 1 if only one half is shown.",
    use="Use it beside gini: it says whether the places that some items lack are those of the "
    "less popular ones.",
    cite="zhu2020measuring",
    bounds=(0.0, 1.0),
    best="low",
    needs=("train", "shown", *_NEEDS),
)
def pop_rsp(counts: Counts, *, below: str = "unseen", item_group: str = "all") -> float:
    """How differently often items of head and tail are shown."""
    return unequal(rates(counts, "places", available(counts, below)), item_group, "pop_rsp")
