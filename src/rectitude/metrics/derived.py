"""Metrics computed from the values of other metrics at the same cutoff.

Metrics that combine several others list their components in brackets, optionally with a reference
point: `hypervolume[precision,recall]@10`, `euc_distance[recall,ndcg=0.8]@10`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf

import numpy as np

from rectitude.arrays import Floats
from rectitude.metrics.registry import IN_UNITS, RELEVANCE_LAWS, Ratio, derived_metric, metric


@derived_metric(
    "F1 of the means",
    of=("precision", "recall"),
    formula="2PR / (P + R) of the mean precision P and the mean recall R; 0 if both are 0",
    reading="The F1 that you get from two published means.",
    use="Use it to compare with tables that report the F1 of averages; f1 is the mean of the F1 of "
    "each list.",
    cite="vanrijsbergen1979information",
)
def f1_of_means(precision: float, recall: float) -> float:
    """Harmonic mean of the mean precision and the mean recall."""
    both = precision + recall
    return 2 * precision * recall / both if both else 0.0


@derived_metric(
    "Harmonic mean rank",
    of=("mrr",),
    formula="1 / mrr; infinite if mrr is 0",
    reading="A mean reciprocal rank of 0.6767 is a harmonic mean rank of 1.48. The arithmetic mean "
    "of the ranks is larger, unless all ranks are equal.",
    use="Use it to express mrr as a rank. The best ranks dominate it: for ranks 1 and 100 it is "
    "1.98, while mean_rank is 50.5.",
    bounds=(1.0, inf),
    best="low",
    fixed=IN_UNITS,
)
def harmonic_mean_rank(mrr: float) -> float:
    """1 / mean reciprocal rank."""
    return 1 / mrr if mrr else inf


@derived_metric(
    "Geometric mean probability of the target",
    of=("cross_entropy",),
    formula="exp(-cross_entropy)",
    reading="A loss of 2.874 is a geometric mean probability of 0.056. The arithmetic mean, "
    "mean_probability, is larger, unless all probabilities are equal.",
    use="Use it to express the loss as a probability. One target with a probability near 0 pulls "
    "it far down.",
    cutoff="none",
)
def geometric_mean_probability(cross_entropy: float) -> float:
    """Exponential of minus the cross-entropy."""
    return exp(-cross_entropy)


@metric(
    "Hypervolume",
    formula="product over the components of max(0, how much better the list's value is than the "
    "component's reference point); a component without its own point uses its {reference} value",
    reading="For precision and recall, a value of 0.06 may be 0.2 * 0.3. It is 0 as soon as one "
    "component is not better than its reference point, however good the others are.",
    use="Use it to combine several goals, such as accuracy and novelty, into one number, if the "
    "components have similar scales. It is the volume of a single list, not of a Pareto front of "
    "models.",
    cite="zitzler1999multiobjective",
    bounds=(0.0, np.inf),
    breaks=RELEVANCE_LAWS,
    needs=("parts",),
)
def hypervolume(better: Sequence[Floats], *, reference: str = "worst") -> Ratio:
    """Volume between a list's values of several metrics and a point that all should exceed."""
    return Ratio.of(np.prod(np.maximum(better, 0.0), axis=0))


@metric(
    "Euclidean distance to the ideal",
    formula="square root of the sum over the components of (the list's value - the component's "
    "reference point)^2; a component without its own point uses its {reference} value",
    reading="0 if all components are ideal; sqrt(2) = 1.41 if two components between 0 and 1 are "
    "both as bad as possible.",
    use="Use it like hypervolume, when a single component close to 0 should not determine the "
    "value.",
    cite="zeleny1973compromise",
    bounds=(0.0, np.inf),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=("parts",),
)
def euc_distance(better: Sequence[Floats], *, reference: str = "best") -> Ratio:
    """Distance between a list's values of several metrics and their ideal values."""
    return Ratio.of(np.sqrt(np.square(better).sum(axis=0)))
