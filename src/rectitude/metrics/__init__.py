"""Metrics: pure functions from judged lists to fractions, and the registry that knows them."""

from rectitude.metrics import browsing, derived, ranking
from rectitude.metrics.registry import METRICS, Metric, Ratio, derived_metric, metric

__all__ = [
    "METRICS",
    "Metric",
    "Ratio",
    "browsing",
    "derived",
    "derived_metric",
    "metric",
    "ranking",
]
