"""Several metrics of a list at once: how far it is from a point, in all of them together.

The parts stand in brackets, with points of their own where the usual ones do not fit:
`hypervolume[precision,recall]@10`, `euc_distance[ndcg=0.8,recall]@10`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rectitude.arrays import Floats
from rectitude.metrics.ratings import NO_LAW
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Hypervolume",
    formula="product over the parts of max(0, how much better the list's value is than the point "
    "of the part); without one of its own, a part's point is its {reference} value",
    reading="Of precision and recall, 0.06 may be 0.2 * 0.3. 0 as soon as one part is no better "
    "than its point, however good the others are.",
    use="Use it to hold one number against several goals at once, such as accuracy and novelty, "
    "with parts on like scales. It is a list's own volume, not that of a front of models.",
    cite="zitzler1999multiobjective",
    bounds=(0.0, np.inf),
    breaks=NO_LAW,
    needs=("parts",),
)
def hypervolume(better: Sequence[Floats], *, reference: str = "worst") -> Ratio:
    """Volume between a list's values and a point that all of them should exceed."""
    return Ratio.of(np.prod(np.maximum(better, 0.0), axis=0))


@metric(
    "Euclidean distance to the ideal",
    formula="square root of the sum over the parts of (the list's value - the point of the part)^2;"
    " without one of its own, a part's point is its {reference} value",
    reading="0 if all parts are ideal; sqrt(2) = 1.41 if two parts from 0 to 1 are as bad as can "
    "be.",
    use="Use it like hypervolume, where a part that is nearly 0 should not decide alone.",
    cite="zeleny1973compromise",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=("parts",),
)
def euc_distance(better: Sequence[Floats], *, reference: str = "best") -> Ratio:
    """Distance between a list's values and a point that all of them should reach."""
    return Ratio.of(np.sqrt(np.square(better).sum(axis=0)))
