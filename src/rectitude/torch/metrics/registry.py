"""Metric classes by name. `evaluate` finds a registered class by its name, and `MetricSet` updates
several classes at several cutoffs together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, Unpack, cast

from torch import Tensor
from torchmetrics import MetricCollection

from rectitude.errors import BadArgument, BadExtension, BadName, unknown_name
from rectitude.metrics.registry import METRICS, MetricDetails, metric
from rectitude.torch.metrics.base import BaseMetric
from rectitude.torch.metrics.blocks import sharing
from rectitude.torch.metrics.bridge import as_function, make_metric
from rectitude.torch.metrics.checks import is_unwritten, require_batch, require_complete
from rectitude.torch.metrics.kinds import TopKMetric

Class = TypeVar("Class", bound=type[BaseMetric])


class ClassRegistry:
    """Metric classes by name; upper and lower case are the same."""

    def __init__(self) -> None:
        self._classes: dict[str, tuple[str, type[BaseMetric]]] = {}

    def register(
        self, name: str = "", /, *, title: str = "", **facts: Unpack[MetricDetails]
    ) -> Callable[[Class], Class]:
        """Register a class under a name, by default its own. It then also works in `evaluate`, on
        the command line and in reports.

        `title` and the other keywords are those of `rectitude.metric`. Use `reach="cutoff"` for
        classes that only use the first k ranks: the rows of tensors are then shorter.
        """
        if name != "" and not (isinstance(name, str) and name.isidentifier()):
            raise BadName(
                f"the name of a metric is {name!r}.", "a name of letters, digits and underscores."
            )

        def decorator(cls: Class) -> Class:
            self._add(cls, name or cls.__name__, title, facts)
            return cls

        return decorator

    def get(self, name: str, *args: Any, **settings: Any) -> BaseMetric:
        """Return a metric of the class with that name, constructed with these arguments."""
        return self.get_class(name)(*args, **settings)

    def get_class(self, name: str) -> type[BaseMetric]:
        """Return the class with that name."""
        return self.find(name)[1]

    def find(self, name: str) -> tuple[str, type[BaseMetric]]:
        """Return a class, and its name as it was registered."""
        if name.casefold() not in self._classes:
            list(METRICS)  # loading the metrics of installed packages registers their classes
        if name.casefold() not in self._classes:
            raise unknown_name("metric class", name, self.list_registered())
        return self._classes[name.casefold()]

    def list_registered(self) -> list[str]:
        """Return the names of all classes."""
        return sorted(name for name, _ in self._classes.values())

    def __contains__(self, name: str) -> bool:
        return name.casefold() in self._classes

    def remove(self, name: str) -> None:
        """Remove a class."""
        registered, _ = self.find(name)
        METRICS.remove(registered)
        self._classes.pop(name.casefold())

    def _add(self, cls: type[BaseMetric], name: str, title: str, facts: MetricDetails) -> None:
        if not (isinstance(cls, type) and issubclass(cls, BaseMetric)):
            raise BadExtension(
                f"{cls!r} is not a metric class.", "a class that inherits from BaseMetric."
            )
        if any(map(is_unwritten, vars(cls).values())):
            raise BadExtension(
                f"metric class {cls.__name__} still has abstract methods.",
                "a class that implements all methods.",
            )
        require_complete(cls)
        self._require_free(cls, name)
        reach = facts.get("reach", "list")
        registered: MetricDetails = {
            "cutoff": "needed" if issubclass(cls, TopKMetric) else "none",
            **facts,
            "name": name,
            "reach": reach,
        }
        metric(title or name, **registered)(as_function(cls, name, reach))
        self._classes[name.casefold()] = (name, cls)

    def _require_free(self, cls: type[BaseMetric], name: str) -> None:
        """Refuse a name that another metric has, in any case; registering a class again is fine."""
        registered = self._classes.get(name.casefold())
        if registered is not None:
            taken = _identity(registered[1]) != _identity(cls) or registered[0] != name
        else:
            taken = name.casefold() in (metric_name.casefold() for metric_name in METRICS)
        if taken:
            raise BadName(
                f"a metric named {name!r} exists already; upper and lower case are the same.",
                "a name of its own, because evaluate finds the class by its name.",
                f"register it under another name: @metric_registry.register('My{name}'). In a loop "
                f"of your own, no name is needed: MetricSet({cls.__name__}, cutoffs=(10,)).",
            )


def _identity(cls: type[BaseMetric]) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


metric_registry = ClassRegistry()


def _adapt(target: object) -> bool:
    """Register a metric class that is named by its import path."""
    if not (isinstance(target, type) and issubclass(target, BaseMetric)):
        return False
    metric_registry.register()(target)
    return True


METRICS.adapters.append(_adapt)


class MetricSet(MetricCollection):
    """Metrics by name or class at every cutoff, which share intermediate results of a batch.

    `common` holds arguments such as `num_users` and `num_items`; each constructor receives those
    that it takes. A metric without a cutoff occurs once.
    """

    def __init__(
        self,
        metrics: str | type[BaseMetric] | Iterable[str | type[BaseMetric]],
        cutoffs: Sequence[int] = (),
        **common: Any,
    ) -> None:
        members: dict[str, BaseMetric] = {}
        for entry in [metrics] if isinstance(metrics, str | type) else metrics:
            name, cls = (
                metric_registry.find(entry) if isinstance(entry, str) else (entry.__name__, entry)
            )
            members |= _make_members(cls, name, cutoffs, common)
        if not members:
            raise BadArgument("metrics is empty.", "at least one metric.")
        # Without this, MetricCollection may merge members whose states are equal.
        super().__init__(dict(members), compute_groups=False)
        self.names = list(members)
        self.largest = max(cutoffs, default=0)
        self.computed: Counter[str] = Counter()
        """how often each block was computed, over all batches"""

    def update(self, preds: Tensor, **given: Any) -> None:  # type: ignore[override]
        """Add a batch to all metrics, or to none of them if one refuses it."""
        with self._share_blocks(preds, given):
            for member in self.members.values():
                member.update(preds, **given)

    def forward(self, preds: Tensor, **given: Any) -> dict[str, Tensor]:
        """Add a batch, and return the values of that batch alone."""
        values: dict[str, Tensor] = {}
        with self._share_blocks(preds, given):
            for name, member in self.members.items():
                values |= _name_values(self._full_name(name), member, member(preds, **given))
        return values

    @contextmanager
    def _share_blocks(self, preds: Tensor, given: Mapping[str, Any]) -> Iterator[None]:
        with sharing(self.largest) as shared:
            for member in self.members.values():
                require_batch(member, preds, given, shared)
            yield
        self.computed += shared.computed

    def _full_name(self, name: str) -> str:
        """Return a name with the prefix and postfix of `clone(prefix=...)`."""
        return f"{self.prefix or ''}{name}{self.postfix or ''}"

    @property
    def members(self) -> dict[str, BaseMetric]:
        """The metrics by name and cutoff."""
        return {name: cast(BaseMetric, self[name]) for name in self.names}

    def compute(self) -> dict[str, Tensor]:
        """Return the values of every metric, by name and cutoff."""
        values: dict[str, Tensor] = {}
        for name, member in self.members.items():
            values |= _name_values(self._full_name(name), member, member.by_name())
        return values

    def overall(self) -> dict[str, float]:
        """Return one number for each metric: the mean over users, ignoring NaN."""
        values: dict[str, float] = {}
        for name, member in self.members.items():
            values |= _name_values(self._full_name(name), member, member.overall())
        return values


def _make_members(
    cls: type[BaseMetric], name: str, cutoffs: Sequence[int], common: dict[str, Any]
) -> dict[str, BaseMetric]:
    if not issubclass(cls, TopKMetric):
        return {name: make_metric(cls, common)}
    if not cutoffs:
        raise BadArgument(f"{name} has no cutoff.", "cutoffs, such as cutoffs=(5, 10).")
    return {f"{name}@{k}": make_metric(cls, {**common, "k": k}) for k in cutoffs}


def _name_values(name: str, metric: BaseMetric, values: dict[str, Any]) -> dict[str, Any]:
    """Return values under the metric's name; several values have their own names below it."""
    if set(values) == {metric.name}:
        return {name: values[metric.name]}
    return {f"{name}/{key}": value for key, value in values.items()}
