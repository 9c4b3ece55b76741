"""The classes that a metric written in torch begins from.

A metric has accumulators (`add_state`), an `update` that adds a batch to them, and a `compute` that
returns its values by name. Batches are checked before they are added, and what metrics have in
common is computed once per batch (see `blocks`).
"""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import count
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import Module
from torchmetrics import Metric

from rectitude.aggregate.sums import state_of
from rectitude.errors import BadName, MetricFailed, UndefinedValue, unknown_name
from rectitude.torch.metrics.blocks import Block, sharing
from rectitude.torch.metrics.checks import is_unwritten, require_batch, require_complete

_SERIAL = count()


class BaseMetric(Metric):
    """A metric that depends on no cutoff.

    `update(preds, user_indices=, ground=, ...)` is handed scores and grades, a row for each list
    and a column for each item; an item with a score of minus infinity is masked and in no list.
    `compute` returns a dict: a value for each user, NaN for those without any, or one number.
    """

    full_state_update: bool | None = False
    requires: ClassVar[tuple[str, ...]] = ("ground", "user_indices")
    """the keywords that `update` cannot do without"""
    blocks: ClassVar[tuple[Block, ...]] = ()
    """the blocks that `update` is handed as keywords: `top_k_indices` arrives as `top_10_indices`
    if k is 10"""
    k: int | None = None
    num_users: int | None = None

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        own = vars(cls)
        unknown = [block for block in cls.blocks if block not in _BLOCKS]
        if unknown:
            raise unknown_name("block", unknown[0], _BLOCKS)
        if not any(map(is_unwritten, own.values())):  # else it is for others to complete
            require_complete(cls)
        if "update" in own and not is_unwritten(own["update"]):
            cls.update = _checked(own["update"])  # type: ignore[method-assign]

    def __new__(cls, *args: Any, **settings: Any) -> BaseMetric:
        """A metric that knows its number of users, whatever its constructor does with it."""
        self = super().__new__(cls)
        try:
            given = inspect.signature(cls.__init__).bind(self, *args, **settings).arguments
        except TypeError:  # the constructor will say what is wrong; a copy is made without it
            return self
        self.__dict__["num_users"] = {**settings, **given}.get("num_users")
        return self

    def __init__(self, dist_sync_on_step: bool = False, **settings: Any) -> None:
        super().__init__(dist_sync_on_step=dist_sync_on_step, **settings)
        # A MetricCollection takes metrics of equal states for one and the same metric, even if they
        # are equal only in the first batch. This state is never equal.
        self.add_state("serial", torch.tensor(next(_SERIAL)), dist_reduce_fx="max")

    @abstractmethod
    def update(self, preds: Tensor, *, user_indices: Tensor, ground: Tensor, **given: Any) -> None:
        """Add a batch."""

    @abstractmethod
    def compute(self) -> dict[str, Tensor]:
        """The values by name."""

    def require(self, preds: Tensor, ground: Tensor) -> None:
        """An error if metrics of this kind cannot take a batch; asked before anything is added."""

    def forward(self, preds: Tensor, **given: Any) -> Any:
        """Add a batch and return the values of that batch alone."""
        with sharing(self.k or 0) as shared:
            require_batch(self, preds, given, shared)  # before torchmetrics puts the state aside
            return super().forward(preds, **given)

    def add_state(
        self,
        name: str,
        default: Tensor | list[Any],
        dist_reduce_fx: str | Callable[..., Any] | None = None,
        persistent: bool = False,
    ) -> None:
        """Add an accumulator, and how those of several processes become one. Floating-point numbers
        are kept in double precision."""
        if isinstance(default, Tensor) and default.is_floating_point():
            default = default.double()
        super().add_state(name, default, dist_reduce_fx, persistent)

    def _apply(self, fn: Callable[[Tensor], Tensor], exclude_state: Sequence[str] = "") -> Module:
        """Move to another device; accumulators of a model that is turned to half precision keep
        their own."""

        def moved(one: Tensor) -> Tensor:
            other = fn(one)
            return other if other.dtype == one.dtype else one.to(other.device)

        return super()._apply(moved, exclude_state)

    @property
    def name(self) -> str:
        """The name of the metric: that of the class."""
        return type(self).__name__

    def overall(self) -> dict[str, float]:
        """One number for each value of `compute`: the mean over users, without NaN."""
        return {name: mean_of(value, name) for name, value in self.by_name().items()}

    def by_name(self) -> dict[str, Tensor]:
        """What `compute` returned, if it is what it should be."""
        found: object = self.compute()
        if not isinstance(found, dict) or not all(isinstance(v, Tensor) for v in found.values()):
            raise MetricFailed(
                f"compute of {self.name} returned {type(found).__name__}.",
                "a dict of tensors: {self.name: values}.",
            )
        return found

    @classmethod
    def binary_relevance(cls, target: Tensor) -> Tensor:
        """1 where the grade is above 0, else 0."""
        with sharing() as shared:
            return shared.once("binary_relevance", (target,), lambda: _binary(target))

    @classmethod
    def discounted_relevance(cls, target: Tensor) -> Tensor:
        """2^(grade + 1) - 1 where the grade is above 0, else 0: a grade of 1 is worth 3."""
        with sharing() as shared:
            return shared.once("discounted_relevance", (target,), lambda: _discounted(target))

    @classmethod
    def valid_users(cls, target: Tensor) -> Tensor:
        """1 for each row that has anything relevant, else 0."""
        with sharing() as shared:
            return shared.once("valid_users", (target,), lambda: (target > 0).any(dim=1).double())

    @classmethod
    def top_k_values_indices(cls, preds: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The best k scores of each row and their columns; equal scores in the order of columns."""
        with sharing() as shared:
            best = shared.best(preds, k)
            return best.scores, best.columns

    @classmethod
    def top_k_relevance(cls, preds: Tensor, target: Tensor, k: int) -> Tensor:
        """What the target says of the best k columns of each row; 0 for masked ones."""
        with sharing() as shared:
            return shared.relevance(preds, target, k)


def _binary(target: Tensor) -> Tensor:
    return (target > 0).double()


def _discounted(target: Tensor) -> Tensor:
    return torch.where(target > 0, 2 ** (target.double() + 1) - 1, 0.0)


def _checked(update: Callable[..., None]) -> Callable[..., None]:
    """An update that refuses a bad batch, is handed its blocks, and shares what it computes.

    Keywords that it does not take are those of other metrics fed with it, and left out.
    """
    takes = inspect.signature(update).parameters
    everything = any(one.kind is one.VAR_KEYWORD for one in takes.values())

    @wraps(update)
    def run(self: BaseMetric, preds: Tensor, *args: Any, **given: Any) -> None:
        if args:
            raise BadName(f"{self.name}.update was given {1 + len(args)} tensors.",
                          "preds, and the others as user_indices=, ground=.")  # fmt: skip
        with sharing(self.k or 0) as shared:
            require_batch(self, preds, given, shared)
            given |= _blocks(self, preds, given)
            update(self, preds, **{n: v for n, v in given.items() if everything or n in takes})

    return run


def _blocks(metric: BaseMetric, preds: Tensor, given: Mapping[str, Any]) -> dict[str, Tensor]:
    """The blocks that a metric asks for, by their keywords, but for those that it was given."""
    named = {name.replace("_k_", f"_{metric.k}_"): name for name in metric.blocks}
    return {
        keyword: _BLOCKS[name](metric, preds, given["ground"])
        for keyword, name in named.items()
        if keyword not in given
    }


_BLOCKS: dict[Block, Callable[[BaseMetric, Tensor, Tensor], Tensor]] = {
    "binary_relevance": lambda m, _, ground: m.binary_relevance(ground),
    "discounted_relevance": lambda m, _, ground: m.discounted_relevance(ground),
    "valid_users": lambda m, _, ground: m.valid_users(m.binary_relevance(ground)),
    "top_k_indices": lambda m, preds, _: m.top_k_values_indices(preds, m.k or 0)[1],
    "top_k_values": lambda m, preds, _: m.top_k_values_indices(preds, m.k or 0)[0],
    "top_k_binary_relevance": lambda m, preds, ground: m.top_k_relevance(
        preds, m.binary_relevance(ground), m.k or 0
    ),
    "top_k_discounted_relevance": lambda m, preds, ground: m.top_k_relevance(
        preds, m.discounted_relevance(ground), m.k or 0
    ),
}


def mean_of(values: Tensor, name: str) -> float:
    """The mean without NaN, exact as in all evaluations; NaN where nothing else is there. A single
    number is its own mean."""
    found = values.detach().double().cpu().reshape(-1).numpy()
    there = found[~np.isnan(found)]
    if np.isinf(there).any():
        raise UndefinedValue(
            f"{int(np.isinf(there).sum())} of {len(found)} values of {name} are infinite.",
            "finite values, or NaN where there is none.",
        )
    return state_of(there).value if len(there) else math.nan
