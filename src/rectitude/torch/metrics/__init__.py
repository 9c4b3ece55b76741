"""Metrics written as torch classes: accumulators, an `update` for batches, and a `compute`.

    from rectitude.torch.metrics import UserAverageTopKMetric, metric_registry

    @metric_registry.register("FirstHalf")
    class FirstHalf(UserAverageTopKMetric):
        def compute_scores(self, preds, target, top_k_rel, **given):
            return top_k_rel[:, : self.k // 2].any(dim=1)

A registered class works in `evaluate`, on the command line and in reports as `FirstHalf@10`.

Modules: classes inherit from `base` and `kinds`; `blocks` holds what they compute together, and
`checks` refuses incomplete classes and bad batches. `registry` gives classes names and updates
several of them together. `bridge` lets `evaluate` use a class: it converts judged lists to tensors.
"""

from __future__ import annotations

from rectitude.errors import MissingExtra

try:
    from rectitude.torch.metrics.base import BaseMetric
    from rectitude.torch.metrics.blocks import Block, Blocks, sharing
    from rectitude.torch.metrics.kinds import RatingMetric, TopKMetric, UserAverageTopKMetric
    from rectitude.torch.metrics.registry import ClassRegistry, MetricSet, metric_registry
except ModuleNotFoundError as error:
    raise MissingExtra(
        f"rectitude.torch.metrics needs {error.name}, which is not installed.",
        advice="pip install 'rectitude[torch]'",
    ) from error

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
