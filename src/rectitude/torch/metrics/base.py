"""The base class of metrics written in torch.

A metric has accumulators (`add_state`), an `update` that adds a batch to them, and a `compute` that
returns its values by name. Batches are checked before they are added. Intermediate results that
several metrics use are computed once per batch (see `blocks`).
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
from rectitude.errors import BadArgument, MetricFailed, UndefinedValue, unknown_name
from rectitude.torch.metrics.blocks import Block, sharing
from rectitude.torch.metrics.checks import is_unwritten, require_batch, require_complete

_SERIAL = count()


class BaseMetric(Metric):
    """A metric without a cutoff.

    `update(preds, user_indices=, ground=, ...)` receives scores and grades, with one row per list
    and one column per item. A score of minus infinity masks an item: it is not in the list.
    `compute` returns a dict that holds one value per user, NaN for users without a value, or a
    single number.
    """

    full_state_update: bool | None = False
    requires: ClassVar[tuple[str, ...]] = ("ground", "user_indices")
    """the keywords that `update` requires"""
    blocks: ClassVar[tuple[Block, ...]] = ()
    """the blocks that `update` receives as keywords; with k=10, `top_k_indices` is passed as
    `top_10_indices`"""
    k: int | None = None
    num_users: int | None = None

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        members = vars(cls)
        unknown = [block for block in cls.blocks if block not in _BLOCKS]
        if unknown:
            raise unknown_name("block", unknown[0], _BLOCKS)
        if not any(map(is_unwritten, members.values())):  # otherwise a subclass completes it
            require_complete(cls)
        if "update" in members and not is_unwritten(members["update"]):
            cls.update = _wrap_update(members["update"])  # type: ignore[method-assign]

    def __new__(cls, *args: Any, **settings: Any) -> BaseMetric:
        """Create a metric that knows its number of users, even if its constructor ignores it."""
        self = super().__new__(cls)
        try:
            arguments = inspect.signature(cls.__init__).bind(self, *args, **settings).arguments
        except TypeError:  # the constructor raises the error; copying passes no arguments
            return self
        self.__dict__["num_users"] = {**settings, **arguments}.get("num_users")
        return self

    def __init__(self, dist_sync_on_step: bool = False, **settings: Any) -> None:
        super().__init__(dist_sync_on_step=dist_sync_on_step, **settings)
        # A MetricCollection merges metrics whose states are equal after the first batch, even if
        # they differ later. This state is different for every metric.
        self.add_state("serial", torch.tensor(next(_SERIAL)), dist_reduce_fx="max")

    @abstractmethod
    def update(self, preds: Tensor, *, user_indices: Tensor, ground: Tensor, **given: Any) -> None:
        """Add a batch."""

    @abstractmethod
    def compute(self) -> dict[str, Tensor]:
        """Return the values by name."""

    def require(self, preds: Tensor, ground: Tensor) -> None:
        """Raise an error if this kind of metric cannot use a batch; runs before it is added."""

    def forward(self, preds: Tensor, **given: Any) -> Any:
        """Add a batch and return the values of that batch alone."""
        with sharing(self.k or 0) as shared:
            require_batch(self, preds, given, shared)  # before torchmetrics changes the state
            return super().forward(preds, **given)

    def add_state(
        self,
        name: str,
        default: Tensor | list[Any],
        dist_reduce_fx: str | Callable[..., Any] | None = None,
        persistent: bool = False,
    ) -> None:
        """Add an accumulator and how to reduce it over processes. Floating-point accumulators use
        double precision."""
        if isinstance(default, Tensor) and default.is_floating_point():
            default = default.double()
        super().add_state(name, default, dist_reduce_fx, persistent)

    def _apply(self, fn: Callable[[Tensor], Tensor], exclude_state: Sequence[str] = "") -> Module:
        """Move to another device. Accumulators keep their precision, even if the model changes to
        half precision."""

        def move(state: Tensor) -> Tensor:
            converted = fn(state)
            return converted if converted.dtype == state.dtype else state.to(converted.device)

        return super()._apply(move, exclude_state)

    @property
    def name(self) -> str:
        """The name of the metric, which is that of its class."""
        return type(self).__name__

    def overall(self) -> dict[str, float]:
        """Return one number for each value of `compute`: the mean over users, ignoring NaN."""
        return {name: mean_of(value, name) for name, value in self.by_name().items()}

    def by_name(self) -> dict[str, Tensor]:
        """Return the result of `compute`; raise an error if it is not a dict of tensors."""
        values: object = self.compute()
        if not isinstance(values, dict) or not all(isinstance(v, Tensor) for v in values.values()):
            raise MetricFailed(
                f"compute of {self.name} returned an object of type {type(values).__name__}.",
                "a dict of tensors: {self.name: values}.",
            )
        return values

    @classmethod
    def binary_relevance(cls, target: Tensor) -> Tensor:
        """Return 1 where the grade is above 0, else 0."""
        with sharing() as shared:
            return shared.once("binary_relevance", (target,), lambda: _binary(target))

    @classmethod
    def discounted_relevance(cls, target: Tensor) -> Tensor:
        """Return 2^(grade + 1) - 1 where the grade is above 0, else 0: 3 for a grade of 1."""
        with sharing() as shared:
            return shared.once("discounted_relevance", (target,), lambda: _discount(target))

    @classmethod
    def valid_users(cls, target: Tensor) -> Tensor:
        """Return 1 for each row with a relevant item, else 0."""
        with sharing() as shared:
            return shared.once("valid_users", (target,), lambda: (target > 0).any(dim=1).double())

    @classmethod
    def top_k_values_indices(cls, preds: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the best k scores of each row and their columns; ties are in column order."""
        with sharing() as shared:
            best = shared.best(preds, k)
            return best.scores, best.columns

    @classmethod
    def top_k_relevance(cls, preds: Tensor, target: Tensor, k: int) -> Tensor:
        """Return the target at the best k columns of each row; 0 at masked columns."""
        with sharing() as shared:
            return shared.relevance(preds, target, k)


def _binary(target: Tensor) -> Tensor:
    return (target > 0).double()


def _discount(target: Tensor) -> Tensor:
    return torch.where(target > 0, 2 ** (target.double() + 1) - 1, 0.0)


def _wrap_update(update: Callable[..., None]) -> Callable[..., None]:
    """Return an update that refuses bad batches, receives its blocks, and shares its results.

    Keywords that it does not take belong to other metrics of the same batch and are left out.
    """
    parameters = inspect.signature(update).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())

    @wraps(update)
    def run(self: BaseMetric, preds: Tensor, *args: Any, **given: Any) -> None:
        if args:
            raise BadArgument(f"{self.name}.update was given {1 + len(args)} positional tensors.",
                          "preds alone, and the others as user_indices= and ground=.")  # fmt: skip
        with sharing(self.k or 0) as shared:
            require_batch(self, preds, given, shared)
            given |= _compute_blocks(self, preds, given)
            update(self, preds, **{n: v for n, v in given.items() if takes_all or n in parameters})

    return run


def _compute_blocks(
    metric: BaseMetric, preds: Tensor, given: Mapping[str, Any]
) -> dict[str, Tensor]:
    """Return the blocks that a metric asks for, by keyword, except those that it was given."""
    names = {name.replace("_k_", f"_{metric.k}_"): name for name in metric.blocks}
    return {
        keyword: _BLOCKS[name](metric, preds, given["ground"])
        for keyword, name in names.items()
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
    """Return the exact mean of the values that are not NaN; NaN if there are none. A single number
    is its own mean."""
    numbers = values.detach().double().cpu().reshape(-1).numpy()
    defined = numbers[~np.isnan(numbers)]
    if np.isinf(defined).any():
        raise UndefinedValue(
            f"{int(np.isinf(defined).sum())} of {len(numbers)} values of {name} are infinite.",
            "finite values, or NaN for users without a value.",
        )
    return state_of(defined).value if len(defined) else math.nan
