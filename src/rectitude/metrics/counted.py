"""Metrics that count: items and lists as they are, summed over all lists."""

from __future__ import annotations

import numpy as np

from rectitude.judge.judged import Judged
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Number of lists",
    formula="sum over lists of 1, or {missing} where no list was handed over",
    reading="How many lists a mean over lists is over.",
    use="Use it beside means, to see that two of them are over the same lists.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    fixed={"scale": "fraction"},
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
    fixed={"scale": "fraction"},
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
    fixed={"scale": "fraction"},
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
    fixed={"scale": "fraction"},
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
    breaks=("perfect_is_best", "moving_up_helps"),
    fixed={"scale": "fraction"},
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
    fixed={"scale": "fraction"},
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
    fixed={"scale": "fraction"},
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
    fixed={"scale": "fraction"},
    overall="sum",
)
def full_lists(lists: Judged, k: int | None) -> Ratio:
    """The lists that are as long as the cutoff."""
    return Ratio.of((lists.returned >= (k or 1)).astype(np.float64))
