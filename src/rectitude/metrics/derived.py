"""Metrics of metrics: functions of the values of others at the same cutoff."""

from __future__ import annotations

from math import exp, inf

from rectitude.metrics.registry import derived_metric


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
    fixed={"scale": "fraction"},
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
