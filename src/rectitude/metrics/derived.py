"""Metrics of metrics: functions of the values of others at the same cutoff."""

from __future__ import annotations

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
