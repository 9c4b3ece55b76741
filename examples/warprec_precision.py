"""Precision@K as WarpRec's guide writes a metric: accumulators, update, compute. It equals ours.

python examples/warprec_precision.py
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

import rectitude as rt
from rectitude.torch.metrics import MetricSet, TopKMetric, metric_registry


@metric_registry.register("MyPrecision", title="Precision, as a class", reach="cutoff")
class MyPrecision(TopKMetric):
    """The share of the top k that is relevant."""

    hits: Tensor
    users: Tensor

    def __init__(self, k: int, num_users: int, dist_sync_on_step: bool = False) -> None:
        super().__init__(k, dist_sync_on_step)
        self.add_state("hits", default=torch.zeros(num_users), dist_reduce_fx="sum")
        self.add_state("users", default=torch.zeros(num_users), dist_reduce_fx="sum")

    def update(self, preds: Tensor, *, user_indices: Tensor, ground: Tensor, **_: Any) -> None:
        target = self.binary_relevance(ground)
        hits = self.top_k_relevance(preds, target, self.k).sum(dim=1) / self.k
        self.hits.index_add_(0, user_indices, hits)
        self.users.index_add_(0, user_indices, self.valid_users(target))

    def compute(self) -> dict[str, Tensor]:
        return {self.name: self.hits / self.users}  # 0/0 is NaN: nothing to find


random = np.random.default_rng(0)
scores, relevant = random.random((1_000, 200)), random.random((1_000, 200)) < 0.01
truth = {"user": relevant.nonzero()[0], "item": relevant.nonzero()[1]}
names = ["precision@{5,10}", "MyPrecision@{5,10}"]
print(rt.evaluate(rt.Scores(scores), truth, names).table())

loop = MetricSet(["MyPrecision"], cutoffs=(5, 10), num_users=1_000)
for rows in torch.arange(1_000).split(256):  # the batches of a training loop
    grades = torch.from_numpy(relevant)[rows].double()
    loop.update(torch.from_numpy(scores)[rows], user_indices=rows, ground=grades)
print(loop.overall(), dict(loop.computed))
