"""Precision at a depth that is not the cutoff."""

from __future__ import annotations

import numpy as np

from rectitude.errors import BadName
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Count
from rectitude.metrics.ranking import rprec
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Precision at another depth",
    formula="hits in the top {depth} / {precision_over}",
    reading="Precision at the cutoff if the depth is the same; else no share of anything, and "
    "above 1 where more hits are counted than there are places.",
    use="For numbers of tools that cut lists at one depth and divide by another; use precision.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    averages="closed form",
    reach="list",
)
def deep_precision(
    lists: Judged, k: int | None, *, precision_over: Count, depth: float = 10.0
) -> Ratio:
    """Hits up to one depth, over the places up to another."""
    if depth < 1 or depth != int(depth):
        raise BadName(f"depth cannot be {depth:g}.", "a whole number of at least 1.")
    return Ratio(lists.hits(int(depth)), precision_over(lists, k))


@metric(
    "R-precision of lists with a hit",
    formula="as rprec, but 0/0 for a list without a hit among its first R",
    reading="With average=micro, the mean rprec of the lists in which it is not 0: it can only be "
    "higher than rprec.",
    use="For numbers of tools that leave such lists out; use rprec, which counts them as 0.",
    cite="buckley2000evaluating",
    breaks=("perfect_is_best",),
)
def rprec_found(lists: Judged, k: int | None) -> Ratio:
    """R-precision, undefined for lists in which it is 0."""
    whole = rprec(lists, k)
    share = whole.above / np.maximum(whole.below, 1.0)
    return Ratio(share, (share > 0).astype(np.float64))
