"""Metric classes and batches that the tests of the class interface share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rectitude.torch.metrics import RatingMetric, TopKMetric, UserAverageTopKMetric


class GuidePrecision(TopKMetric):
    """Precision@K of WarpRec's guide, with its errors fixed."""

    hits: Tensor
    users: Tensor

    def __init__(
        self, k: int, num_users: int, *args: Any, dist_sync_on_step: bool = False, **kwargs: Any
    ):
        super().__init__(k, dist_sync_on_step)
        self.add_state("hits", default=torch.zeros(num_users), dist_reduce_fx="sum")
        self.add_state("users", default=torch.zeros(num_users), dist_reduce_fx="sum")

    def update(self, preds: Tensor, user_indices: Tensor, **kwargs: Any) -> None:
        target = kwargs.get("ground", torch.zeros_like(preds))
        target = self.binary_relevance(target)
        top_k_rel = self.top_k_relevance(preds, target, self.k)
        hits = top_k_rel.sum(dim=1) / self.k
        self.hits.index_add_(0, user_indices, hits)
        users = self.valid_users(target)
        self.users.index_add_(0, user_indices, users)

    def compute(self) -> dict[str, Tensor]:
        scores = self.hits / self.users
        scores[self.users == 0] = float("nan")
        return {self.name: scores}


class Found(UserAverageTopKMetric):
    """Recall, computed in single precision as in WarpRec's own metrics."""

    def compute_scores(self, preds: Any, target: Any, top_k_rel: Any, **given: Any) -> Tensor:
        return top_k_rel.sum(dim=1) / target.sum(dim=1).clamp(min=1)


class ByKeyword(TopKMetric):
    """A metric that takes blocks as keywords and remembers what it received."""

    blocks = (
        "binary_relevance", "discounted_relevance", "valid_users", "top_k_indices", "top_k_values",
        "top_k_binary_relevance", "top_k_discounted_relevance",
    )  # fmt: skip
    handed: dict[str, Tensor]

    def update(self, preds: Tensor, **kwargs: Any) -> None:
        # WarpRec's way: the default is computed although it is not needed
        kwargs.get("binary_relevance", self.binary_relevance(kwargs["ground"]))
        self.__dict__["handed"] = kwargs

    def compute(self) -> dict[str, Tensor]:
        return {self.name: torch.tensor(0.0)}


class AbsoluteError(RatingMetric):
    def element_error(self, preds: Tensor, target: Tensor) -> Tensor:
        return (preds - target).abs()


class Batch(NamedTuple):
    """Scores, grades, and the users of the rows."""

    preds: Tensor
    ground: Tensor
    user_indices: Tensor

    def add_to(self, metric: Any, rows: Any = slice(None)) -> None:
        metric.update(
            self.preds[rows], user_indices=self.user_indices[rows], ground=self.ground[rows]
        )


def batch(users: int = 60, items: int = 40, *, levels: int = 8, seed: int = 0) -> Batch:
    """Scores with many ties, grades from 0 to 3, and some users without relevant items."""
    random = np.random.default_rng(seed)
    scores = random.integers(0, levels, (users, items)).astype(np.float64)
    grades = random.integers(1, 4, (users, items)) * (random.random((users, items)) < 0.06)
    grades[::7] = 0
    return Batch(torch.from_numpy(scores), torch.from_numpy(grades).double(), torch.arange(users))


def truth_of(source: Batch) -> dict[str, Any]:
    """Return the same grades as a table."""
    rows, columns = source.ground.numpy().nonzero()
    return {"user": rows, "item": columns, "rating": source.ground.numpy()[rows, columns]}
