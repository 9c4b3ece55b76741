"""Metrics: pure functions from judged lists to fractions or counts, and the registry that knows
them.

The most usual ones are entered here, all others when the registry is asked for what it does not
know yet.
"""

from rectitude.metrics import classes, ranking, targets  # noqa: F401 (their metrics are entered)
from rectitude.metrics.registry import (
    METRICS,
    Counts,
    Metric,
    Ratio,
    count_metric,
    derived_metric,
    metric,
)

__all__ = ["METRICS", "Counts", "Metric", "Ratio", "count_metric", "derived_metric", "metric"]
