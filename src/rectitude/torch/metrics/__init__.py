"""Metrics written as torch classes: accumulators, an `update` for batches, a `compute`.

    from rectitude.torch.metrics import UserAverageTopKMetric, metric_registry

    @metric_registry.register("FirstHalf")
    class FirstHalf(UserAverageTopKMetric):
        def compute_scores(self, preds, target, top_k_rel, **given):
            return top_k_rel[:, : self.k // 2].any(dim=1)

A registered class works in `evaluate`, on the command line and in reports as `FirstHalf@10`.
"""

from __future__ import annotations

from rectitude.torch.metrics import extra  # noqa: F401  first: it says what to install
from rectitude.torch.metrics.base import BaseMetric
from rectitude.torch.metrics.blocks import Block, Blocks, sharing
from rectitude.torch.metrics.kinds import RatingMetric, TopKMetric, UserAverageTopKMetric
from rectitude.torch.metrics.registry import ClassRegistry, metric_registry
from rectitude.torch.metrics.together import MetricSet

__all__ = [
    "BaseMetric",
    "Block",
    "Blocks",
    "ClassRegistry",
    "MetricSet",
    "RatingMetric",
    "TopKMetric",
    "UserAverageTopKMetric",
    "metric_registry",
    "sharing",
]
