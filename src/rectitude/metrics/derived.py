"""Metrics of metrics: functions of the values of others at the same cutoff.

Those of several metrics of a list at once name their parts in brackets, with points of their own
where the usual ones do not fit: `hypervolume[precision,recall]@10`,
`euc_distance[ndcg=0.8,recall]@10`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf

import numpy as np

from rectitude.arrays import Floats
from rectitude.metrics.registry import IN_UNITS, NO_LAW, Ratio, derived_metric, metric


@derived_metric(
    "F1 of the means",
    of=("precision", "recall"),
    formula="2PR / (P + R) of the mean precision P and the mean recall R; 0 if both are 0",
    reading="What F1 gives when it is computed from two published means.",
    use="Use it beside tables that report F1 of averages; f1 is the mean of the lists' F1.",
    cite="vanrijsbergen1979information",
)
def f1_of_means(precision: float, recall: float) -> float:
    """Harmonic mean of the mean precision and the mean recall."""
    both = precision + recall
    return 2 * precision * recall / both if both else 0.0


@derived_metric(
    "Harmonic mean rank",
    of=("mrr",),
    formula="1 / mrr; infinite where mrr is 0",
    reading="A mean reciprocal rank of 0.6767 is a harmonic mean rank of 1.48. The arithmetic mean "
    "of the ranks is larger unless all are equal.",
    use="Use it to read mrr as a rank. It leans to the best ranks: of the ranks 1 and 100 it is "
    "1.98; mean_rank is 50.5.",
    bounds=(1.0, inf),
    best="low",
    fixed=IN_UNITS,
)
def harmonic_mean_rank(mrr: float) -> float:
    """One over the mean reciprocal rank."""
    return 1 / mrr if mrr else inf


@derived_metric(
    "Geometric mean probability of the target",
    of=("cross_entropy",),
    formula="exp(-cross_entropy)",
    reading="A loss of 2.874 is a geometric mean probability of 0.056. The arithmetic mean, "
    "mean_probability, is larger unless all are equal.",
    use="Use it to read the loss as a probability. One target with a probability near 0 pulls it "
    "down far.",
    cutoff="none",
)
def geometric_mean_probability(cross_entropy: float) -> float:
    """Exponential of minus the cross-entropy."""
    return exp(-cross_entropy)


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
