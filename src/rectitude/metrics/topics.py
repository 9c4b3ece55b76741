"""How many of the topics that a user cares for a list finds."""

from __future__ import annotations

import numpy as np

from rectitude.data.halves import require_choice
from rectitude.data.parity import topics_of
from rectitude.judge.judged import Judged
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Recall of topics",
    formula="different values of column {by} of items= among the hits in the top {k} / those among "
    "all {over} items; an item may have several values, and those without one add none",
    reading="0.5 means that a list finds half of the topics that its user's relevant items have.",
    use="Use it where one good item for each interest is enough; recall asks for all items.",
    cite="zhai2003beyond",
    breaks=("perfect_is_best",),
    needs=("items", "wanted"),
)
def srecall(lists: Judged, k: int | None, *, by: str = "category", over: str = "relevant") -> Ratio:
    """Share of the topics of the relevant items that the list finds."""
    require_choice("over", over, ("relevant", "catalogue"))
    stock, wanted = needed(lists.stock, "wanted"), needed(lists.wanted, "wanted")
    rows, owner = lists.within(k)
    hits, told = lists.hit[rows], lists.is_relevant(lists.truth.values)
    items = wanted[lists.where[rows][hits]]
    above = topics_of(stock, by, items, owner[hits], lists.size)
    below = np.full(lists.size, float(len(stock.memberships(by).names)))
    if over == "relevant":
        below = topics_of(stock, by, wanted[told], lists.truth.rows()[told], lists.size)
    return Ratio(above, below)
