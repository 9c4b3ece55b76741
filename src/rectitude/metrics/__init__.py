"""Metrics: pure functions from judged lists to fractions or counts, and the registry that knows
them."""

from rectitude.metrics import auc, browsing, classes, derived, ranking, targets
from rectitude.metrics.registry import (
    METRICS,
    Counts,
    Metric,
    Ratio,
    count_metric,
    derived_metric,
    metric,
)

__all__ = [
    "METRICS",
    "Counts",
    "Metric",
    "Ratio",
    "auc",
    "browsing",
    "classes",
    "count_metric",
    "derived",
    "derived_metric",
    "metric",
    "ranking",
    "targets",
]
