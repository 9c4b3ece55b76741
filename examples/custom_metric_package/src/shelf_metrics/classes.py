"""A metric as a class on tensors."""

from typing import Any

import torch
from torch import Tensor

from rectitude.torch.metrics import UserAverageTopKMetric, metric_registry


@metric_registry.register(
    "ShelfHits",
    title="Shelves with a hit",
    formula="shelves of {width} places with anything relevant, over the shelves in the top {k}",
    reading="0.3 means that three shelves in ten have something for the user.",
    breaks=("perfect_is_best", "moving_up_helps"),  # two hits on one shelf are worth one
    reach="cutoff",
)
class ShelfHits(UserAverageTopKMetric):
    """The share of shelves that have anything relevant."""

    def __init__(self, k: int, num_users: int, *, width: int = 5, **settings: Any) -> None:
        super().__init__(k, num_users, **settings)
        self.width = width

    def compute_scores(
        self, preds: Tensor, target: Tensor, top_k_rel: Tensor, **given: Any
    ) -> Tensor:
        shelves = [shelf.any(dim=1) for shelf in top_k_rel.split(self.width, dim=1)]
        return torch.stack(shelves, dim=1).double().mean(dim=1)
