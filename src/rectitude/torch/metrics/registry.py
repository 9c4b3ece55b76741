"""Metric classes by name: what is registered can be evaluated by its name, and `MetricSet` feeds
several classes at several cutoffs together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, Unpack, cast

from torch import Tensor
from torchmetrics import MetricCollection

from rectitude.errors import BadName, unknown_name
from rectitude.metrics.registry import METRICS, Told, metric
from rectitude.torch.metrics.base import BaseMetric
from rectitude.torch.metrics.blocks import sharing
from rectitude.torch.metrics.bridge import as_function, made
from rectitude.torch.metrics.checks import is_unwritten, require_batch, require_complete
from rectitude.torch.metrics.kinds import TopKMetric

Class = TypeVar("Class", bound=type[BaseMetric])


class ClassRegistry:
    """Metric classes by name, in upper or lower case."""

    def __init__(self) -> None:
        self._classes: dict[str, tuple[str, type[BaseMetric]]] = {}

    def register(
        self, name: str = "", /, *, title: str = "", **told: Unpack[Told]
    ) -> Callable[[Class], Class]:
        """Register a class, under its own name unless told: it then works in `evaluate`, on the
        command line and in reports, too.

        `title` and the other keywords are those of `rectitude.metric`. `reach="cutoff"` is for
        classes that never look below the first k places; rows are then that short.
        """
        if name != "" and not (isinstance(name, str) and name.isidentifier()):
            raise BadName(f"a metric cannot be named {name!r}.", "letters, digits and _.")

        def decorator(cls: Class) -> Class:
            self._add(cls, name or cls.__name__, title, told)
            return cls

        return decorator

    def get(self, name: str, *args: Any, **settings: Any) -> BaseMetric:
        """A metric of the class of that name, made with these arguments."""
        return self.get_class(name)(*args, **settings)

    def get_class(self, name: str) -> type[BaseMetric]:
        """The class of that name."""
        return self.found(name)[1]

    def found(self, name: str) -> tuple[str, type[BaseMetric]]:
        """A class, and its name as it was registered."""
        if name.casefold() not in self._classes:
            list(METRICS)  # classes of installed packages come with their metrics
        if name.casefold() not in self._classes:
            raise unknown_name("metric class", name, self.list_registered())
        return self._classes[name.casefold()]

    def list_registered(self) -> list[str]:
        """The names of all classes."""
        return sorted(name for name, _ in self._classes.values())

    def __contains__(self, name: str) -> bool:
        return name.casefold() in self._classes

    def remove(self, name: str) -> None:
        """Take a class out again."""
        spelled, _ = self.found(name)
        METRICS.remove(spelled)
        self._classes.pop(name.casefold())

    def _add(self, cls: type[BaseMetric], name: str, title: str, told: Told) -> None:
        if not (isinstance(cls, type) and issubclass(cls, BaseMetric)):
            raise BadName(f"{cls!r} cannot be registered.", "a class that inherits BaseMetric.")
        if any(map(is_unwritten, vars(cls).values())):
            raise BadName(f"metric class {cls.__name__} is not complete.", "all methods written.")
        require_complete(cls)
        self._require_free(cls, name)
        reach = told.get("reach", "list")
        facts: Told = {
            "cutoff": "optional" if issubclass(cls, TopKMetric) else "none",
            **told,
            "name": name,
            "reach": reach,
        }
        metric(title or name, **facts)(as_function(cls, name, reach))
        self._classes[name.casefold()] = (name, cls)

    def _require_free(self, cls: type[BaseMetric], name: str) -> None:
        """A name means one metric, in upper or lower case; the same class once more is no other."""
        known = self._classes.get(name.casefold())
        if known is not None:
            taken = _whose(known[1]) != _whose(cls) or known[0] != name
        else:
            taken = name.casefold() in (one.casefold() for one in METRICS)
        if taken:
            raise BadName(
                f"a metric named {name!r} exists already, in upper or lower case.",
                advice="choose another: @metric_registry.register('...').",
            )


def _whose(cls: type[BaseMetric]) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


metric_registry = ClassRegistry()


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
