"""Accuracy over the whole catalogue: what was rightly left out of a list counts as well.

The first k places count as recommended also where the list is shorter, and the catalogue is what
`items=` says, even if lists or truth name other items.
"""

from __future__ import annotations

import numpy as np

from rectitude.judge.judged import Judged
from rectitude.metrics.choices import whole_k
from rectitude.metrics.facts import Facts
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Accuracy over the catalogue",
    formula="(hits in the top {k} + items neither there nor relevant) / items of the catalogue",
    reading="0.99 is common: nearly all items are rightly left out of every list.",
    use="For numbers of tools that report it. Recommending nothing scores best wherever less than "
    "half of the places are hits; precision and recall say more.",
    bounds=(-np.inf, 1.0),
    breaks=("perfect_is_best",),
    needs=("items",),
)
def catalogue_accuracy(lists: Judged, k: int | None, *, facts: Facts) -> Ratio:
    """Share of the catalogue that is rightly recommended or rightly left out."""
    size = facts.catalogue
    wrong = whole_k(lists, k) + lists.relevant - 2 * lists.hits(k)  # listed or relevant, not both
    return Ratio(size - wrong, np.full(lists.size, float(size)))


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
