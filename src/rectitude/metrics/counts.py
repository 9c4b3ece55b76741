"""Metrics that count: items found, lists that are full, and what was rightly left out of a list.

Where the whole catalogue counts, it is what `items=` says, even if lists or truth name other items,
and the first k places count as recommended also where the list is shorter.
"""

from __future__ import annotations

import numpy as np

from rectitude.judge.judged import Judged
from rectitude.metrics.choices import whole_k
from rectitude.metrics.registry import IN_UNITS, NO_LAW, Facts, Ratio, metric


@metric(
    "Number of lists",
    formula="sum over lists of 1, or {missing} where no list was handed over",
    reading="How many lists a mean over lists is over.",
    use="Use it beside means, to see that two of them are over the same lists.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    fixed=IN_UNITS,
    overall="sum",
)
def num_q(lists: Judged, k: int | None, *, missing: float = 1.0) -> Ratio:
    """The lists that count."""
    return Ratio.of(np.where(lists.handed, 1.0, missing))


@metric(
    "Number of items returned",
    formula="sum over lists of the items in the top {k}",
    reading="How many items all lists hold together.",
    use="Use it to see whether lists are as long as they should be.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    fixed=IN_UNITS,
    overall="sum",
)
def num_ret(lists: Judged, k: int | None) -> Ratio:
    """The items in all lists."""
    return Ratio.of(lists.returned_upto(k))


@metric(
    "Number of relevant items",
    formula="sum over lists of the relevant items in the truth, times {missing} where no list was "
    "handed over",
    reading="How many items could have been found in all.",
    use="Use it to see that two means are over the same truth.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    fixed=IN_UNITS,
    overall="sum",
)
def num_rel(lists: Judged, k: int | None, *, missing: float = 1.0) -> Ratio:
    """The relevant items of all lists."""
    return Ratio.of(lists.relevant * np.where(lists.handed, 1.0, missing))


@metric(
    "Number of relevant items returned",
    formula="sum over lists of the hits in the top {k}",
    reading="How many items were found in all.",
    use="Use it beside num_rel: recall of all lists taken together.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    fixed=IN_UNITS,
    overall="sum",
)
def num_rel_ret(lists: Judged, k: int | None) -> Ratio:
    """The hits of all lists."""
    return Ratio.of(lists.hits(k))


@metric(
    "Number of items returned that are judged not relevant",
    formula="sum over lists of the items in the top {k} that are judged and not relevant",
    reading="How many items are known to be wrong; others may just not have been judged.",
    use="Use it beside num_ret and num_rel_ret when the truth is incomplete.",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    fixed=IN_UNITS,
    overall="sum",
)
def num_nonrel_judged_ret(lists: Judged, k: int | None) -> Ratio:
    """The items of all lists that are known to be wrong."""
    return Ratio.of(lists.total((~lists.hit).astype(float), upto=k))


@metric(
    "Utility",
    formula="{hit} * hits + {miss} * other items in the top {k} + {missed} * relevant items not "
    "there + {passed} * other items of a catalogue of {catalogue}",
    reading="What a list is worth if every item has its price; negative when the wrong ones cost "
    "more than the right ones bring.",
    use="Use it when showing a wrong item has a cost that you can name.",
    bounds=(-np.inf, np.inf),
    fixed=IN_UNITS,
)
def utility(
    lists: Judged,
    k: int | None,
    *,
    hit: float = 1.0,
    miss: float = -1.0,
    missed: float = 0.0,
    passed: float = 0.0,
    catalogue: float = 0.0,
) -> Ratio:
    """Worth of the items shown and not shown."""
    hits, shown = lists.hits(k), lists.returned_upto(k)
    absent = lists.relevant - hits
    others = catalogue - shown - absent
    return Ratio.of(hit * hits + miss * (shown - hits) + missed * absent + passed * others)


@metric(
    "Set average precision",
    formula="precision * recall = hits^2 / (items in the top {k} * relevant items)",
    reading="Average precision if every hit stood at the end of the list.",
    use="Use it for lists without an order.",
)
def set_map(lists: Judged, k: int | None) -> Ratio:
    """Precision of the list times its recall."""
    hits = lists.hits(k)
    return Ratio(hits * hits, np.maximum(lists.returned_upto(k), 1.0) * lists.relevant)


@metric(
    "Length of the list",
    formula="items in the top {k}",
    reading="10 at the cutoff 10 if every list is long enough.",
    use="Use it beside other metrics, to see whether short lists are what makes a model poor.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
)
def list_length(lists: Judged, k: int | None) -> Ratio:
    """How many items a list holds."""
    return Ratio.of(lists.returned_upto(k))


@metric(
    "Covered users",
    formula="number of lists with an item",
    reading="How many users (lists) are shown anything at all.",
    use="Use it beside means that leave out users without a list; num_q counts those, too.",
    cite="ge2010beyond",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    fixed=IN_UNITS,
    overall="sum",
)
def covered_users(lists: Judged, k: int | None) -> Ratio:
    """The lists that hold an item."""
    return Ratio.of((lists.returned > 0).astype(np.float64))


@metric(
    "Full lists",
    formula="number of lists with at least {k} items; without a cutoff, with at least one",
    reading="How many users (lists) are shown as many items as the cutoff asks for.",
    use="Use it to see how far a cutoff cuts, and where lists are just short.",
    cite="ge2010beyond",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    fixed=IN_UNITS,
    overall="sum",
)
def full_lists(lists: Judged, k: int | None) -> Ratio:
    """The lists that are as long as the cutoff."""
    return Ratio.of((lists.returned >= (k or 1)).astype(np.float64))


@metric(
    "Filled places",
    formula="items in the top {k} / {k}; without a cutoff, 1 unless the list is empty",
    reading="0.8 means that a fifth of the places is empty.",
    use="Use it to see whether short lists are what makes a model poor.",
    cite="ge2010beyond",
    breaks=("perfect_is_best",),
)
def filled_share(lists: Judged, k: int | None) -> Ratio:
    """Share of the places of a list that hold an item."""
    return Ratio(lists.returned_upto(k), np.maximum(whole_k(lists, k), 1.0))


@metric(
    "Share of full lists",
    formula="1 if the list has at least {k} items, else 0; without a cutoff, at least one",
    reading="0.9 means that a tenth of the users see a shorter list than the cutoff asks for.",
    use="Use it beside means at a cutoff; full_lists is their number.",
    cite="ge2010beyond",
    breaks=("perfect_is_best",),
)
def full_list_share(lists: Judged, k: int | None) -> Ratio:
    """Whether a list is as long as the cutoff."""
    return Ratio.of((lists.returned >= (k or 1)).astype(np.float64))


@metric(
    "Share of covered users",
    formula="1 if the list holds an item, else 0",
    reading="0.95 means that 5% of the users are shown nothing.",
    use="Use it beside means that leave out users without a list; covered_users is their number.",
    cite="ge2010beyond",
    breaks=("perfect_is_best",),
)
def covered_share(lists: Judged, k: int | None) -> Ratio:
    """Whether a list holds an item."""
    return Ratio.of((lists.returned > 0).astype(np.float64))


@metric(
    "Share of unrepeated items",
    formula="different items in the top {k} / items in the top {k}; 1 if {whole} is not 0 and no "
    "item is repeated, else 0 then",
    reading="0.9 means that a tenth of what is shown was shown already, higher up in the list.",
    use="Use it with duplicates='counted'; other rules refuse lists with repeats, or keep the "
    "first of equals, and it is 1.",
    cite="ge2010beyond",
    breaks=NO_LAW,
    needs=("shown", "stock"),
)
def unrepeated_share(lists: Judged, k: int | None, *, whole: float = 0.0) -> Ratio:
    """Share of a list that is no repeat."""
    ordered = np.sort(lists.stock.listed[lists.shown], axis=1)
    again = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).sum(axis=1)
    many = (ordered >= 0).sum(axis=1)
    if whole:
        return Ratio((again == 0) * (many > 0).astype(float), (many > 0).astype(float))
    return Ratio((many - again).astype(float), many.astype(float))


@metric(
    "Matthews correlation over the catalogue",
    formula="correlation of being in the top {k} and being relevant, over the items of the "
    "catalogue; 0 where one of them is the same for all items, 0/0 where {k} or the relevant items "
    "exceed the catalogue",
    reading="1 if the first k are exactly the relevant items, 0 for a list at random.",
    use="Use it for one number per list that is fair to rare relevant items; it falls with every "
    "place beyond the number of relevant items.",
    cite="matthews1975comparison",
    bounds=(-1.0, 1.0),
    breaks=("perfect_is_best",),
    needs=("items",),
)
def catalogue_mcc(lists: Judged, k: int | None, *, facts: Facts) -> Ratio:
    """Correlation of recommended and relevant over the catalogue."""
    size, places, relevant = facts.catalogue, whole_k(lists, k), lists.relevant
    product = places * relevant * (size - places) * (size - relevant)
    above = np.where(product > 0, lists.hits(k) * size - places * relevant, 0.0)
    return Ratio(above, np.where(product == 0, 1.0, np.sqrt(np.maximum(product, 0.0))))


@metric(
    "Percentile ranking",
    formula="mean over the relevant items of all lists of (rank - 1) / items of the catalogue; for "
    "one that is not in the list, the middle between its end and the end of the catalogue",
    reading="0.1 means that relevant items stand 10% down the catalogue on average; a list at "
    "random has 0.5, and less is better.",
    use="Use it for rankings of a whole catalogue with implicit feedback. Users with more relevant "
    "items weigh more.",
    cite="hu2008collaborative",
    best="low",
    needs=("items",),
    fixed={"average": "micro", "unit": "list"},
    cutoff="none",
)
def percentile_ranking(lists: Judged, k: int | None, *, facts: Facts) -> Ratio:
    """How far down the catalogue relevant items stand."""
    size = facts.catalogue
    found = lists.total(np.where(lists.hit, (lists.rank - 1) / size, 0.0))
    elsewhere = (np.maximum(lists.returned - 1, 0) / size + 1) / 2
    return Ratio(found + (lists.relevant - lists.hits(None)) * elsewhere, lists.relevant)
