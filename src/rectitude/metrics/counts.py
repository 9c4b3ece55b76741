"""Metrics that count: items found, full lists, and items that were correctly left out.

Metrics over the whole catalogue take it from `items=`, even if lists or truth contain other items.
They count the first k positions as recommended even if the list is shorter.
"""

from __future__ import annotations

import numpy as np

from rectitude.judge.judged import Judged
from rectitude.metrics.choices import whole_k
from rectitude.metrics.registry import IN_UNITS, RELEVANCE_LAWS, Facts, Ratio, metric


@metric(
    "Number of lists",
    formula="sum over lists of 1, or of {missing} for users without a list",
    reading="The number of lists that a mean over lists is based on.",
    use="Use it next to means, to check that two of them are based on the same lists.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    fixed=IN_UNITS,
    overall="sum",
)
def num_q(lists: Judged, k: int | None, *, missing: float = 1.0) -> Ratio:
    """Number of lists that count."""
    return Ratio.of(np.where(lists.handed, 1.0, missing))


@metric(
    "Number of items returned",
    formula="sum over lists of the items in the top {k}",
    reading="The total number of items in all lists.",
    use="Use it to check whether lists are as long as they should be.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    fixed=IN_UNITS,
    overall="sum",
)
def num_ret(lists: Judged, k: int | None) -> Ratio:
    """Number of items in all lists."""
    return Ratio.of(lists.returned_upto(k))


@metric(
    "Number of relevant items",
    formula="sum over lists of the relevant items in the truth, times {missing} for users without "
    "a list",
    reading="The total number of items that could have been found.",
    use="Use it to check that two means are based on the same truth.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    fixed=IN_UNITS,
    overall="sum",
)
def num_rel(lists: Judged, k: int | None, *, missing: float = 1.0) -> Ratio:
    """Number of relevant items of all lists."""
    return Ratio.of(lists.relevant * np.where(lists.handed, 1.0, missing))


@metric(
    "Number of relevant items returned",
    formula="sum over lists of the hits in the top {k}",
    reading="The total number of relevant items that were found.",
    use="Use it together with num_rel: their ratio is the recall over all lists pooled.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    fixed=IN_UNITS,
    overall="sum",
)
def num_rel_ret(lists: Judged, k: int | None) -> Ratio:
    """Number of hits in all lists."""
    return Ratio.of(lists.hits(k))


@metric(
    "Number of items returned that are judged not relevant",
    formula="sum over lists of the items in the top {k} that are judged and not relevant",
    reading="How many returned items are known to be wrong. Other items may just not have been "
    "judged.",
    use="Use it together with num_ret and num_rel_ret when the truth is incomplete.",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    fixed=IN_UNITS,
    overall="sum",
)
def num_nonrel_judged_ret(lists: Judged, k: int | None) -> Ratio:
    """Number of returned items that are known to be wrong."""
    return Ratio.of(lists.total((~lists.hit).astype(float), upto=k))


@metric(
    "Utility",
    formula="{hit} * hits + {miss} * other items in the top {k} + {missed} * relevant items "
    "outside it + {passed} * other items of a catalogue of {catalogue}",
    reading="The net benefit of a list if every item has a price; negative if the wrong items cost "
    "more than the right ones bring.",
    use="Use it when you can put a number on the cost of showing a wrong item.",
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
    """Net benefit of the items shown and not shown."""
    hits, shown = lists.hits(k), lists.returned_upto(k)
    absent = lists.relevant - hits
    others = catalogue - shown - absent
    return Ratio.of(hit * hits + miss * (shown - hits) + missed * absent + passed * others)


@metric(
    "Set average precision",
    formula="precision * recall = hits^2 / (items in the top {k} * relevant items)",
    reading="The average precision if all hits were at the end of the list.",
    use="Use it for lists without an order.",
)
def set_map(lists: Judged, k: int | None) -> Ratio:
    """Precision of the list times its recall."""
    hits = lists.hits(k)
    return Ratio(hits * hits, np.maximum(lists.returned_upto(k), 1.0) * lists.relevant)


@metric(
    "Length of the list",
    formula="items in the top {k}",
    reading="10 at cutoff 10 if every list is long enough.",
    use="Use it next to other metrics, to see whether a model scores low because its lists are "
    "short.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
)
def list_length(lists: Judged, k: int | None) -> Ratio:
    """Number of items in a list."""
    return Ratio.of(lists.returned_upto(k))


@metric(
    "Covered users",
    formula="number of lists with at least one item",
    reading="The number of users (lists) who are shown anything at all.",
    use="Use it next to means that leave out users without a list; num_q counts those users as "
    "well.",
    cite="ge2010beyond",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    fixed=IN_UNITS,
    overall="sum",
)
def covered_users(lists: Judged, k: int | None) -> Ratio:
    """Number of lists with at least one item."""
    return Ratio.of((lists.returned_upto(k) > 0).astype(np.float64))


@metric(
    "Full lists",
    formula="number of lists with at least {k} items; without a cutoff, with at least one",
    reading="The number of users (lists) who are shown as many items as the cutoff asks for.",
    use="Use it to see how many lists are shorter than the cutoff.",
    cite="ge2010beyond",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    fixed=IN_UNITS,
    overall="sum",
)
def full_lists(lists: Judged, k: int | None) -> Ratio:
    """Number of lists that are as long as the cutoff."""
    return Ratio.of((lists.returned_upto(k) >= (k or 1)).astype(np.float64))


@metric(
    "Filled positions",
    formula="items in the top {k} / {k}; without a cutoff, 1 unless the list is empty",
    reading="0.8 means that a fifth of the positions is empty.",
    use="Use it to see whether a model scores low because its lists are short.",
    cite="ge2010beyond",
    breaks=("perfect_is_best",),
)
def filled_share(lists: Judged, k: int | None) -> Ratio:
    """Share of the positions of a list that hold an item."""
    positions = np.maximum(whole_k(lists, k), 1.0)
    return Ratio(np.minimum(lists.returned_upto(k), positions), positions)


@metric(
    "Share of full lists",
    formula="1 if the list has at least {k} items, else 0; without a cutoff, at least one",
    reading="0.9 means that a tenth of the users get a list shorter than the cutoff.",
    use="Use it next to means at a cutoff; full_lists counts such lists.",
    cite="ge2010beyond",
    breaks=("perfect_is_best",),
)
def full_list_share(lists: Judged, k: int | None) -> Ratio:
    """Whether a list is as long as the cutoff."""
    return Ratio.of((lists.returned_upto(k) >= (k or 1)).astype(np.float64))


@metric(
    "Share of covered users",
    formula="1 if the list has at least one item, else 0",
    reading="0.95 means that 5% of the users are shown nothing.",
    use="Use it next to means that leave out users without a list; covered_users counts the "
    "covered ones.",
    cite="ge2010beyond",
    breaks=("perfect_is_best",),
)
def covered_share(lists: Judged, k: int | None) -> Ratio:
    """Whether a list has at least one item."""
    return Ratio.of((lists.returned_upto(k) > 0).astype(np.float64))


@metric(
    "Share of unrepeated items",
    formula="different items in the top {k} / items in the top {k}; if whole = {whole} is not 0: 1 "
    "for a list without repeats, else 0",
    reading="0.9 means that a tenth of the items shown are repeats of an item higher up in the "
    "same list.",
    use="Use it with duplicates='counted'. Other rules reject lists with repeats or keep only the "
    "first occurrence, so the value is always 1.",
    cite="ge2010beyond",
    breaks=RELEVANCE_LAWS,
    needs=("shown", "stock"),
)
def unrepeated_share(lists: Judged, k: int | None, *, whole: float = 0.0) -> Ratio:
    """Share of a list that is not a repeat."""
    ordered = np.sort(lists.stock.listed[lists.shown], axis=1)
    repeated = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).sum(axis=1)
    items = (ordered >= 0).sum(axis=1)
    if whole:
        return Ratio((repeated == 0) * (items > 0).astype(float), (items > 0).astype(float))
    return Ratio((items - repeated).astype(float), items.astype(float))


@metric(
    "Matthews correlation over the catalogue",
    formula="correlation between being in the top {k} and being relevant, over the items of the "
    "catalogue; 0 if one of the two is the same for all items, 0/0 if {k} or the relevant items "
    "exceed the catalogue",
    reading="1 if the first k are exactly the relevant items, 0 for a random list.",
    use="Use it as a single number per list that accounts for relevant items being rare. It falls "
    "with every position beyond the number of relevant items.",
    cite="matthews1975comparison",
    bounds=(-1.0, 1.0),
    breaks=("perfect_is_best",),
    needs=("size",),
)
def catalogue_mcc(lists: Judged, k: int | None, *, facts: Facts) -> Ratio:
    """Correlation between recommended and relevant over the catalogue."""
    size, positions, relevant = facts.catalogue, whole_k(lists, k), lists.relevant
    product = positions * relevant * (size - positions) * (size - relevant)
    above = np.where(product > 0, lists.hits(k) * size - positions * relevant, 0.0)
    return Ratio(above, np.where(product == 0, 1.0, np.sqrt(np.maximum(product, 0.0))))


@metric(
    "Percentile ranking",
    formula="mean over the relevant items of all lists of (rank - 1) / items of the catalogue; an "
    "item that is not in the list counts as halfway between the end of the list and the end of the "
    "catalogue",
    reading="0.1 means that relevant items are 10% down the catalogue on average; a random ranking "
    "has 0.5, and lower is better.",
    use="Use it for rankings of a whole catalogue with implicit feedback. Users with more relevant "
    "items weigh more.",
    cite="hu2008collaborative",
    best="low",
    needs=("size",),
    fixed={"average": "micro", "unit": "list"},
    cutoff="none",
)
def percentile_ranking(lists: Judged, k: int | None, *, facts: Facts) -> Ratio:
    """Mean depth of the relevant items, as a share of the catalogue."""
    size = facts.catalogue
    listed = lists.total(np.where(lists.hit, (lists.rank - 1) / size, 0.0))
    unlisted = (np.maximum(lists.returned - 1, 0) / size + 1) / 2
    return Ratio(listed + (lists.relevant - lists.hits(None)) * unlisted, lists.relevant)
