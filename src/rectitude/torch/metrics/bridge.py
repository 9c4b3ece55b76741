"""Use a metric class as a metric of `rectitude`: judged lists in, a value per list out.

Each list is treated as a user of its own. The convention decides, before and after, what is
relevant, how ties are broken, which lists count and how they are averaged, as for every metric.

After judging there are ranks but no scores. A list becomes a row of tensors. Its first columns are
its ranks, best first, with scores that decrease from rank to rank. Columns for judged items without
a rank follow. Ranks without an item and items without a rank are masked by a score of minus
infinity. Rows are made in blocks to limit memory.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import update_wrapper
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rectitude.arrays import Floats, Integers
from rectitude.errors import (
    BadArgument,
    BadGrades,
    BadName,
    DuplicateTruth,
    MetricFailed,
    MissingNeed,
)
from rectitude.judge.judged import Judged
from rectitude.metrics.registry import Ratio
from rectitude.torch.metrics.base import BaseMetric
from rectitude.torch.metrics.blocks import Best, Blocks, sharing
from rectitude.torch.metrics.checks import BatchFacts
from rectitude.torch.metrics.kinds import RatingMetric, TopKMetric

Reach = Literal["cutoff", "list"]
CELLS = 1 << 21
"""how many scores a block of rows holds at most; a single row may exceed it"""
_SHARED = ("k", "num_users", "num_items")
"""the arguments that are passed to every constructor that takes them"""


def as_function(cls: type[BaseMetric], name: str, reach: Reach) -> Callable[..., Ratio]:
    """Return a class as a function of judged lists."""

    def function(lists: Judged, k: int | None, **numbers: float) -> Ratio:
        _require_cutoff(cls, k, name)
        _require_ranks(cls, name)
        return _as_ratio(_compute_values(cls, lists, k, reach, _cast_numbers(cls, numbers)))

    update_wrapper(function, cls, updated=())
    function.__signature__ = _make_signature(function, _numbers_of(cls))  # type: ignore[attr-defined]
    return function


def _make_signature(
    function: Callable[..., Any], numbers: Mapping[str, float]
) -> inspect.Signature:
    """Return a signature of lists, cutoff, and the numbers of the class, which a name can set."""
    parameters = list(inspect.signature(function, follow_wrapped=False).parameters.values())[:2]
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
        for name, value in numbers.items()
    ]
    return inspect.Signature([*parameters, *named])


def _require_cutoff(cls: type[BaseMetric], k: int | None, name: str) -> None:
    """Raise an error if a metric of the first k ranks has no cutoff."""
    if k is None and issubclass(cls, TopKMetric):
        raise BadName(f"{name!r} has no cutoff.", f"the cutoff in the name, such as {name}@10.")


def _require_ranks(cls: type[BaseMetric], name: str) -> None:
    """Refuse a metric of predicted ratings, because judged lists only have ranks."""
    if issubclass(cls, RatingMetric):
        raise MissingNeed(
            f"metric {name!r} needs predicted ratings, but judged lists only have ranks.",
            advice="update it with the scores directly: rectitude.torch.metrics.MetricSet.",
        )


def _compute_values(
    cls: type[BaseMetric], lists: Judged, k: int | None, reach: Reach, numbers: Mapping[str, float]
) -> Floats:
    """Return (lists,) the values, NaN where the class has none."""
    ranks = max(k or 0, 1)
    if reach == "list" or k is None:
        ranks = max(ranks, longest_list(lists))
    values = np.full(lists.size, np.nan)
    for here, rows in blocks_of(lists, ranks):
        values[here] = _compute_block(cls, rows, {"k": k, **numbers})
    return values


def _compute_block(cls: type[BaseMetric], rows: TensorRows, arguments: Mapping[str, Any]) -> Floats:
    size, width = rows.preds.shape
    # One user more than needed: torchmetrics turns the value of a single user into a plain number.
    metric = make_metric(cls, {**arguments, "num_users": size + 1, "num_items": width})
    metric._to_sync = False  # each process evaluates its own lists
    with sharing() as shared:
        rows.keep_known_blocks(shared, arguments["k"])
        metric.update(rows.preds, user_indices=rows.lists, ground=rows.ground)
    return _read_values(cls, metric.compute(), size)


def _read_values(cls: type[BaseMetric], result: object, size: int) -> Floats:
    """Return the value per list from the result of `compute`."""
    values = list(result.values()) if isinstance(result, Mapping) else [result]
    if len(values) != 1 or not isinstance(values[0], Tensor):
        raise MetricFailed(
            f"compute of {cls.__name__} returned {len(values)} values in an object of type "
            f"{type(result).__name__}.",
            "a dict with one tensor: {self.name: values}.",
        )
    if values[0].shape != (size + 1,):
        raise MetricFailed(
            f"compute of {cls.__name__} returned the shape {tuple(values[0].shape)} for "
            f"num_users={size + 1}.",
            "one value per user.",
            "use MetricSet in your own loop for a metric over all users at once.",
        )
    array: Floats = values[0][:size].double().numpy()
    return array


def _as_ratio(values: Floats) -> Ratio:
    """Return values divided by 1; 0/0 for lists without a value."""
    defined = ~np.isnan(values)
    return Ratio(np.where(defined, values, 0.0), defined.astype(np.float64))


def make_metric(cls: type[BaseMetric], available: Mapping[str, Any]) -> BaseMetric:
    """Construct a metric with those of the available arguments that its constructor takes."""
    takes = _parameters(cls)
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes.values())
    chosen = {n: v for n, v in available.items() if n in takes or (takes_all and n not in _SHARED)}
    missing = [
        name
        for name, parameter in takes.items()
        if parameter.default is parameter.empty
        and name not in chosen
        and parameter.kind is not parameter.VAR_KEYWORD
    ]
    if missing:
        raise MissingNeed(
            f"metric class {cls.__name__} needs {', '.join(missing)}.",
            f"no required arguments other than {', '.join(sorted(available))}.",
            "give the parameter a default, or construct the metric yourself.",
        )
    return cls(**chosen)


def _cast_numbers(cls: type[BaseMetric], numbers: Mapping[str, float]) -> dict[str, float]:
    """Return numbers of the constructor's types: integers for defaults that are integers."""
    takes = _parameters(cls)
    for name, value in numbers.items():
        if isinstance(takes[name].default, int) and not float(value).is_integer():
            raise BadArgument(f"{name} of {cls.__name__} is {value:g}.", "a whole number.")
    return {name: type(takes[name].default)(value) for name, value in numbers.items()}


def _numbers_of(cls: type[BaseMetric]) -> dict[str, float]:
    """Return the constructor's parameters that have a number as their default."""
    return {
        name: float(parameter.default)
        for name, parameter in _parameters(cls).items()
        if isinstance(parameter.default, int | float)
        and not isinstance(parameter.default, bool)
        and name not in _SHARED
    }


def _parameters(cls: type[BaseMetric]) -> dict[str, inspect.Parameter]:
    """Return the parameters of the constructor that can be passed by name."""
    return {
        name: parameter
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.kind is not parameter.VAR_POSITIONAL
    }


class TensorRows(NamedTuple):
    """Some lists as rows of tensors."""

    preds: Tensor
    ground: Tensor
    lists: Tensor
    """(rows,) their numbers within the block, from 0"""
    ranks: int
    """how many columns are ranks, in order"""

    def keep_known_blocks(self, blocks: Blocks, k: int | None) -> None:
        """Store blocks that are known without computation: the best columns are the first ones."""
        depth = self.ranks if k is None else min(k, self.ranks)
        columns = torch.arange(depth).expand(len(self.preds), -1)
        scores = self.preds[:, :depth]
        blocks.largest = depth
        blocks.keep(f"top_{depth}", (self.preds,), Best(columns, scores, scores > -torch.inf))
        facts = BatchFacts(nan=0, infinite=0, lowest=0, highest=len(self.preds) - 1)
        blocks.keep("checks", (self.preds, self.ground, self.lists), facts)


def blocks_of(lists: Judged, ranks: int) -> Iterator[tuple[slice, TensorRows]]:
    """Return the lists in blocks and the slice of each; items below `ranks` count as unranked."""
    _require_representable(lists)
    rest = _find_unranked(lists, ranks)
    spare = np.bincount(rest.list, minlength=lists.size)
    width = ranks + int(spare.max(initial=0))
    step = max(1, CELLS // max(width, 1))
    for first in range(0, lists.size, step):
        here = slice(first, min(first + step, lists.size))
        yield here, _make_rows(lists, rest, here, ranks, ranks + int(spare[here].max(initial=0)))


def longest_list(lists: Judged) -> int:
    """Return the number of ranks of the longest list."""
    return int(max(lists.returned.max(initial=0), lists.rank.max(initial=0)))


class _Unranked(NamedTuple):
    """Judged items without a rank, by list, as rows of the truth."""

    list: Integers
    row: Integers
    nth: Integers
    """how many unranked items of the same list come before"""


def _find_unranked(lists: Judged, ranks: int) -> _Unranked:
    inside = lists.rank <= ranks
    ranked = np.zeros(len(lists.truth.values), bool)
    ranked[lists.truth.offsets[lists.list[inside]] + lists.place[inside]] = True
    row = np.flatnonzero(~ranked)
    owner = lists.truth.rows()[row]
    return _Unranked(owner, row, np.arange(len(row)) - np.searchsorted(owner, owner))


def _make_rows(lists: Judged, rest: _Unranked, here: slice, ranks: int, width: int) -> TensorRows:
    size = here.stop - here.start
    preds = np.full((size, width), -np.inf)
    returned = lists.returned[here, None] > np.arange(ranks)
    preds[:, :ranks] = np.where(returned, np.arange(ranks, 0, -1.0), -np.inf)
    ground = np.zeros((size, width))
    first, last = np.searchsorted(lists.list, (here.start, here.stop))
    row, rank = lists.list[first:last] - here.start, lists.rank[first:last] - 1
    inside = rank < ranks
    ground[row[inside], rank[inside]] = _relevant_grades(lists, lists.grade[first:last])[inside]
    first, last = np.searchsorted(rest.list, (here.start, here.stop))
    row, column = rest.list[first:last] - here.start, ranks + rest.nth[first:last]
    ground[row, column] = _relevant_grades(lists, lists.truth.values[rest.row[first:last]])
    return TensorRows(torch.from_numpy(preds), torch.from_numpy(ground), torch.arange(size), ranks)


def _relevant_grades(lists: Judged, grades: Floats) -> Floats:
    """Return the grades of relevant items and 0 for others: above 0 means relevant in a tensor."""
    return np.where(lists.is_relevant(grades), grades, 0.0)


def _require_representable(lists: Judged) -> None:
    """Refuse lists that rows of tensors cannot represent."""
    grades = lists.truth.values
    lost = lists.is_relevant(grades) & (grades <= 0)
    if lost.any():
        raise BadGrades(
            f"{int(lost.sum())} relevant items have a grade of 0 or below.",
            "grades above 0 for relevant items, because metric classes recognise them by that.",
            "choose relevant_from above 0.",
        )
    same = (np.diff(lists.list) == 0) & (np.diff(lists.rank) == 0)
    if same.any():
        raise DuplicateTruth(
            f"{int(same.sum())} items of lists occur twice in the truth.",
            "each item once, because a tensor has one grade per item.",
            "set duplicate_truth='once'.",
        )
