"""Metrics: pure functions from judged lists to fractions or counts, and the registry that knows
them."""

from rectitude.metrics import (  # noqa: F401 (their metrics are entered)
    auc,
    browsing,
    catalogue,
    classes,
    counted,
    cumulated,
    depth,
    derived,
    exposure,
    hit_auc,
    interpolated,
    labels,
    novelty,
    partial_auc,
    pooled,
    popularity,
    prefixes,
    propensity,
    ranking,
    reciprocal,
    targets,
    variety,
)
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
