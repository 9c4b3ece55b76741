"""A class of a metric as a metric of `rectitude`: judged lists in, a value per list out.

Each list is a user of its own here. What is relevant, how ties are broken, which lists count and
how they are averaged is settled before and after by the convention, as for every other metric.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, Literal

import numpy as np
from torch import Tensor

from rectitude.arrays import Floats
from rectitude.errors import BadName, MetricFailed, MissingNeed
from rectitude.judge.judged import Judged
from rectitude.metrics.registry import Ratio
from rectitude.torch.metrics.base import BaseMetric
from rectitude.torch.metrics.blocks import sharing
from rectitude.torch.metrics.kinds import RatingMetric
from rectitude.torch.metrics.making import made, numbers_of, require_cutoff, typed
from rectitude.torch.metrics.rows import Rows, blocks_of, places_of

Reach = Literal["cutoff", "list"]


def as_function(cls: type[BaseMetric], name: str, reach: Reach) -> Callable[..., Ratio]:
    """The function of judged lists that a class stands for."""

    def function(lists: Judged, k: int | None, **numbers: float) -> Ratio:
        require_cutoff(cls, k, name)
        _require_ranks(cls, name)
        return _ratio(_values(cls, lists, k, reach, typed(cls, numbers)))

    update_wrapper(function, cls, updated=())
    function.__signature__ = _signature(function, numbers_of(cls))  # type: ignore[attr-defined]
    return function


def _signature(function: Callable[..., Any], numbers: Mapping[str, float]) -> inspect.Signature:
    """Lists, cutoff, and the numbers of the class, which a name can set."""
    own = list(inspect.signature(function, follow_wrapped=False).parameters.values())[:2]
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
        for name, value in numbers.items()
    ]
    return inspect.Signature([*own, *named])


def _values(
    cls: type[BaseMetric], lists: Judged, k: int | None, reach: Reach, numbers: Mapping[str, float]
) -> Floats:
    """(lists,) the values, NaN where the class gives none."""
    places = max(k or 0, 1)
    if reach == "list" or k is None:
        places = max(places, places_of(lists))
    values = np.full(lists.size, np.nan)
    for here, rows in blocks_of(lists, places):
        values[here] = _of_block(cls, rows, {"k": k, **numbers})
    return values


def _of_block(cls: type[BaseMetric], rows: Rows, given: Mapping[str, Any]) -> Floats:
    size, width = rows.preds.shape
    # A user more than there are: torchmetrics makes a plain number of the values of a single one.
    metric = made(cls, {**given, "num_users": size + 1, "num_items": width})
    metric._to_sync = False  # each process evaluates its own lists
    with sharing() as shared:
        rows.known(shared)
        metric.update(rows.preds, user_indices=rows.lists, ground=rows.ground)
    return _per_list(cls, metric.compute(), size)


def _per_list(cls: type[BaseMetric], found: object, size: int) -> Floats:
    """The one value per list that a class returned."""
    values = list(found.values()) if isinstance(found, Mapping) else [found]
    if len(values) != 1 or not isinstance(values[0], Tensor):
        raise MetricFailed(
            f"compute of {cls.__name__} returned {type(found).__name__} of {len(values)} values.",
            "a dict with one tensor: {self.name: values}.",
        )
    if values[0].shape != (size + 1,):
        raise MetricFailed(
            f"compute of {cls.__name__} returned the shape {tuple(values[0].shape)} for "
            f"num_users={size + 1}.",
            "a value for each user.",
            "a metric of all users at once works in a loop of your own: MetricSet.",
        )
    array: Floats = values[0][:size].double().numpy()
    return array


def _ratio(values: Floats) -> Ratio:
    """Values over 1; 0/0 for lists without one."""
    there = ~np.isnan(values)
    return Ratio(np.where(there, values, 0.0), there.astype(np.float64))


def _require_ranks(cls: type[BaseMetric], name: str) -> None:
    """Refuse a metric of predicted ratings: judged lists have ranks only."""
    if issubclass(cls, RatingMetric):
        raise MissingNeed(
            f"metric {name!r} needs predicted ratings, and judged lists have ranks.",
            advice="update it with the scores themselves: rectitude.torch.metrics.MetricSet.",
        )


def require_name(name: str) -> None:
    """An error if a name cannot be asked for."""
    if not (isinstance(name, str) and name.isidentifier()):
        raise BadName(f"a metric cannot be named {name!r}.", "letters, digits and _.")
