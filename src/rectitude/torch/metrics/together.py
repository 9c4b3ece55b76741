"""`MetricSet`: several metrics at several cutoffs, fed together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from torch import Tensor
from torchmetrics import MetricCollection

from rectitude.errors import BadName
from rectitude.torch.metrics.base import BaseMetric
from rectitude.torch.metrics.blocks import sharing
from rectitude.torch.metrics.bridge import made
from rectitude.torch.metrics.checks import require_batch
from rectitude.torch.metrics.kinds import TopKMetric
from rectitude.torch.metrics.registry import metric_registry


class MetricSet(MetricCollection):
    """Metrics by name or class, each at every cutoff, which share what they compute of a batch.

    `common` is handed to every constructor that takes it: `num_users`, `num_items`, and whatever
    the metrics need. A metric without cutoff is there once.
    """

    def __init__(
        self,
        metrics: str | type[BaseMetric] | Iterable[str | type[BaseMetric]],
        cutoffs: Sequence[int] = (),
        **common: Any,
    ) -> None:
        members: dict[str, BaseMetric] = {}
        for one in [metrics] if isinstance(metrics, str | type) else metrics:
            name, cls = metric_registry.found(one) if isinstance(one, str) else (one.__name__, one)
            members |= _members(cls, name, cutoffs, common)
        if not members:
            raise BadName("no metric was asked for.", "at least one metric and cutoff.")
        # Members are told apart by MetricCollection only if their states are.
        super().__init__(dict(members), compute_groups=False)
        self.names = list(members)
        self.largest = max(cutoffs, default=0)
        self.computed: Counter[str] = Counter()
        """how often each block was computed, over all batches"""

    def update(self, preds: Tensor, **given: Any) -> None:  # type: ignore[override]
        """Add a batch to all metrics, or to none if any refuses it."""
        with self._sharing(preds, given):
            for one in self.members.values():
                one.update(preds, **given)

    def forward(self, preds: Tensor, **given: Any) -> dict[str, Tensor]:
        """Add a batch, and return what every metric computes of that batch alone."""
        found: dict[str, Tensor] = {}
        with self._sharing(preds, given):
            for name, one in self.members.items():
                found |= _named(self._shown(name), one, one(preds, **given))
        return found

    @contextmanager
    def _sharing(self, preds: Tensor, given: Mapping[str, Any]) -> Iterator[None]:
        with sharing(self.largest) as shared:
            for one in self.members.values():
                require_batch(one, preds, given, shared)
            yield
        self.computed += shared.computed

    def _shown(self, name: str) -> str:
        """A name with what `clone(prefix=...)` put around it."""
        return f"{self.prefix or ''}{name}{self.postfix or ''}"

    @property
    def members(self) -> dict[str, BaseMetric]:
        """The metrics by name and cutoff."""
        return {name: cast(BaseMetric, self[name]) for name in self.names}

    def compute(self) -> dict[str, Tensor]:
        """What every metric computes, by name and cutoff."""
        found: dict[str, Tensor] = {}
        for name, one in self.members.items():
            found |= _named(self._shown(name), one, one.by_name())
        return found

    def overall(self) -> dict[str, float]:
        """One number for each: the mean over users, without NaN."""
        found: dict[str, float] = {}
        for name, one in self.members.items():
            found |= _named(self._shown(name), one, one.overall())
        return found


def _members(
    cls: type[BaseMetric], name: str, cutoffs: Sequence[int], common: dict[str, Any]
) -> dict[str, BaseMetric]:
    if not issubclass(cls, TopKMetric):
        return {name: made(cls, common)}
    if not cutoffs:
        raise BadName(f"{name} looks at the first places.", "cutoffs, such as (5, 10).")
    return {f"{name}@{k}": made(cls, {**common, "k": k}) for k in cutoffs}


def _named(name: str, metric: BaseMetric, found: dict[str, Any]) -> dict[str, Any]:
    """Values under the metric's name; where there are several, each under its own below that."""
    if set(found) == {metric.name}:
        return {name: found[metric.name]}
    return {f"{name}/{part}": value for part, value in found.items()}
