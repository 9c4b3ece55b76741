"""Metrics: pure functions from judged lists to fractions or counts, and their registry.

The most common metrics are registered on import. The registry loads the others when it is first
asked for a name that it does not have yet.
"""

from rectitude.metrics import classes, ranking, targets  # noqa: F401 (registers their metrics)
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
