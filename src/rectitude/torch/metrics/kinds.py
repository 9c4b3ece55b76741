"""Base classes for metrics with a cutoff, for means over users, and for errors of ratings."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import torch
from torch import Tensor

from rectitude.errors import BadArgument, BadExtension, BadScores
from rectitude.torch.metrics.base import BaseMetric, mean_of
from rectitude.torch.metrics.blocks import sharing
from rectitude.torch.metrics.checks import unwritten

Unit = Literal["user", "list"]


class TopKMetric(BaseMetric):
    """A metric of the first k ranks."""

    k: int

    def __init__(self, k: int, dist_sync_on_step: bool = False, **settings: Any) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise BadArgument(
                f"{type(self).__name__} was given k={k!r}.", "a whole number of at least 1."
            )
        super().__init__(dist_sync_on_step, **settings)
        self.k = k

    @abstractmethod
    def update(self, preds: Tensor, *, user_indices: Tensor, ground: Tensor, **given: Any) -> None:
        """Add a batch."""


class UserAverageTopKMetric(TopKMetric):
    """A metric with a value per list, averaged over users. Subclasses write `compute_scores`.

    Lists without relevant items have no value, and neither have lists whose value is NaN. A user
    may occur in several batches, or several times in one, as in contextual models: `compute`
    returns the mean of their lists. `unit` says what `overall` averages: each user counts once
    ("user"), or each list counts once ("list").
    """

    scores: Tensor
    user_interactions: Tensor

    def __init__(
        self,
        k: int,
        num_users: int,
        *,
        unit: Unit = "user",
        dist_sync_on_step: bool = False,
        **settings: Any,
    ) -> None:
        if unit not in ("user", "list"):
            raise BadArgument(f"unit is {unit!r}.", "'user' or 'list'.")
        super().__init__(k, dist_sync_on_step, **settings)
        self.unit = unit
        self.add_state("scores", torch.zeros(num_users), dist_reduce_fx="sum")
        self.add_state("user_interactions", torch.zeros(num_users), dist_reduce_fx="sum")

    @unwritten
    def compute_scores(
        self, preds: Tensor, target: Tensor, top_k_rel: Tensor, **given: Any
    ) -> Tensor:
        """Return the value of each row from binary relevance: of all columns, and of the best k."""
        raise NotImplementedError

    def update(self, preds: Tensor, *, user_indices: Tensor, ground: Tensor, **given: Any) -> None:
        """Add the values of the rows to those of their users."""
        target = self.binary_relevance(ground)
        top = self.top_k_relevance(preds, target, self.k)
        values = self.compute_scores(preds, target, top, ground=ground, **given)
        _require_value_per_row(self, values, preds)
        valid = (self.valid_users(target) > 0) & ~values.isnan()
        self.scores.index_add_(0, user_indices, torch.where(valid, values.double(), 0.0))
        self.user_interactions.index_add_(0, user_indices, valid.double())

    update.calls = "compute_scores"  # type: ignore[attr-defined]

    def compute(self) -> dict[str, Tensor]:
        """Return the mean over each user's lists; NaN for users without a list that counts."""
        return {self.name: self.scores / self.user_interactions}

    def overall(self) -> dict[str, float]:
        """Return the mean over users, or over lists if `unit` is "list"."""
        if self.unit == "user":
            return super().overall()
        name, values = next(iter(self.compute().items()))
        with self.sync_context(should_sync=self._to_sync, should_unsync=self._should_unsync):
            lists = self.user_interactions
            return {name: mean_of((values * lists).nansum() / lists.sum(), name)}


class RatingMetric(BaseMetric):
    """The mean error of predicted ratings per user. Subclasses write `element_error`.

    Only items with a grade above 0 are rated; predictions for other items are ignored.
    """

    error_sum: Tensor
    total_count: Tensor

    def __init__(self, num_users: int, dist_sync_on_step: bool = False, **settings: Any) -> None:
        super().__init__(dist_sync_on_step, **settings)
        self.add_state("error_sum", torch.zeros(num_users), dist_reduce_fx="sum")
        self.add_state("total_count", torch.zeros(num_users), dist_reduce_fx="sum")

    @unwritten
    def element_error(self, preds: Tensor, target: Tensor) -> Tensor:
        """Return the error of each predicted rating."""
        raise NotImplementedError

    def require(self, preds: Tensor, ground: Tensor) -> None:
        """Raise an error if a rated item is masked."""
        with sharing() as shared:
            masked = shared.once(
                "masked_ratings", (preds, ground), lambda: int(preds[ground > 0].isinf().sum())
            )
        if masked:
            raise BadScores(
                f"{self.name} was given {masked} rated items with an infinite score.",
                "a predicted rating for every rated item.",
                "do not mask rated items.",
            )

    def update(self, preds: Tensor, *, user_indices: Tensor, ground: Tensor, **given: Any) -> None:
        """Add the errors of rated items to those of their users."""
        del given  # blocks of other metrics
        rated = ground > 0
        errors = self.element_error(preds.double(), ground.double())
        errors = torch.where(rated, errors, 0.0)  # errors of masked items may be infinite
        self.error_sum.index_add_(0, user_indices, errors.sum(dim=1))
        self.total_count.index_add_(0, user_indices, rated.sum(dim=1).double())

    update.calls = "element_error"  # type: ignore[attr-defined]

    def compute(self) -> dict[str, Tensor]:
        """Return the mean error of each user; NaN for users without ratings."""
        return {self.name: self.error_sum / self.total_count}


def _require_value_per_row(metric: TopKMetric, values: object, preds: Tensor) -> None:
    if not isinstance(values, Tensor) or values.shape != preds.shape[:1]:
        found = (
            f"the shape {tuple(values.shape)}"
            if isinstance(values, Tensor)
            else f"an object of type {type(values).__name__}"
        )
        raise BadExtension(
            f"compute_scores of {metric.name} returned {found}.",
            f"a tensor with one value for each of {preds.shape[0]} rows.",
        )
