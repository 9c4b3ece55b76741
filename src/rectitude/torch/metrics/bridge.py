"""A class of a metric as a metric of `rectitude`: judged lists in, a value per list out.

Each list is a user of its own here. What is relevant, how ties are broken, which lists count and
how they are averaged is settled before and after by the convention, as for every other metric.

After judging there are ranks, not scores. A list becomes a row of tensors with a column for each
place, best first, whose score falls from place to place, and after them a column for each judged
item that stands in none. Places without an item and items without a place are masked by a score of
minus infinity. A block of rows is made at a time.
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
from rectitude.errors import BadGrades, BadName, DuplicateTruth, MetricFailed, MissingNeed
from rectitude.judge.judged import Judged
from rectitude.metrics.registry import Ratio
from rectitude.torch.metrics.base import BaseMetric
from rectitude.torch.metrics.blocks import Best, Blocks, sharing
from rectitude.torch.metrics.checks import BatchFacts
from rectitude.torch.metrics.kinds import RatingMetric, TopKMetric

Reach = Literal["cutoff", "list"]
CELLS = 1 << 21
"""how many scores a block of rows holds at most, unless a single row has more"""
_SHARED = ("k", "num_users", "num_items")
"""what every metric may ask for"""


def as_function(cls: type[BaseMetric], name: str, reach: Reach) -> Callable[..., Ratio]:
    """The function of judged lists that a class stands for."""

    def function(lists: Judged, k: int | None, **numbers: float) -> Ratio:
        _require_cutoff(cls, k, name)
        _require_ranks(cls, name)
        return _ratio(_values(cls, lists, k, reach, _typed(cls, numbers)))

    update_wrapper(function, cls, updated=())
    function.__signature__ = _signature(function, _numbers_of(cls))  # type: ignore[attr-defined]
    return function


def _signature(function: Callable[..., Any], numbers: Mapping[str, float]) -> inspect.Signature:
    """Lists, cutoff, and the numbers of the class, which a name can set."""
    own = list(inspect.signature(function, follow_wrapped=False).parameters.values())[:2]
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
        for name, value in numbers.items()
    ]
    return inspect.Signature([*own, *named])


def _require_cutoff(cls: type[BaseMetric], k: int | None, name: str) -> None:
    """An error if a metric of the first k places was asked for without a cutoff."""
    if k is None and issubclass(cls, TopKMetric):
        raise BadName(f"{name!r} looks at the first places.", f"a cutoff: {name}@10.")


def _require_ranks(cls: type[BaseMetric], name: str) -> None:
    """Refuse a metric of predicted ratings: judged lists have ranks only."""
    if issubclass(cls, RatingMetric):
        raise MissingNeed(
            f"metric {name!r} needs predicted ratings, and judged lists have ranks.",
            advice="update it with the scores themselves: rectitude.torch.metrics.MetricSet.",
        )


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


def _of_block(cls: type[BaseMetric], rows: TensorRows, given: Mapping[str, Any]) -> Floats:
    size, width = rows.preds.shape
    # A user more than there are: torchmetrics makes a plain number of the values of a single one.
    metric = made(cls, {**given, "num_users": size + 1, "num_items": width})
    metric._to_sync = False  # each process evaluates its own lists
    with sharing() as shared:
        rows.known(shared, given["k"])
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


def made(cls: type[BaseMetric], given: Mapping[str, Any]) -> BaseMetric:
    """A metric of a class, handed what its constructor takes of what there is."""
    takes = _parameters(cls)
    everything = any(one.kind is one.VAR_KEYWORD for one in takes.values())
    chosen = {n: v for n, v in given.items() if n in takes or (everything and n not in _SHARED)}
    missing = [
        name
        for name, one in takes.items()
        if one.default is one.empty and name not in chosen and one.kind is not one.VAR_KEYWORD
    ]
    if missing:
        raise MissingNeed(
            f"metric class {cls.__name__} needs {', '.join(missing)}.",
            f"nothing beyond {', '.join(sorted(given))}.",
            "give the parameter a default, or make the metric yourself.",
        )
    return cls(**chosen)


def _typed(cls: type[BaseMetric], numbers: Mapping[str, float]) -> dict[str, float]:
    """Numbers as the constructor wants them: whole ones where its defaults are whole."""
    takes = _parameters(cls)
    for name, value in numbers.items():
        if isinstance(takes[name].default, int) and not float(value).is_integer():
            raise BadName(f"{name} of {cls.__name__} cannot be {value:g}.", "a whole number.")
    return {name: type(takes[name].default)(value) for name, value in numbers.items()}


def _numbers_of(cls: type[BaseMetric]) -> dict[str, float]:
    """The constructor's own numbers: parameters with a number as their default."""
    return {
        name: float(one.default)
        for name, one in _parameters(cls).items()
        if isinstance(one.default, int | float)
        and not isinstance(one.default, bool)
        and name not in _SHARED
    }


def _parameters(cls: type[BaseMetric]) -> dict[str, inspect.Parameter]:
    """The parameters of the constructor that can be given by name."""
    return {
        name: one
        for name, one in inspect.signature(cls).parameters.items()
        if one.kind is not one.VAR_POSITIONAL
    }


class TensorRows(NamedTuple):
    """Some lists as rows."""

    preds: Tensor
    ground: Tensor
    lists: Tensor
    """(rows,) their numbers within the block, from 0"""
    places: int
    """columns that are places, in order"""

    def known(self, blocks: Blocks, k: int | None) -> None:
        """Tell what needs no search: the best columns are the first ones, and all is sound."""
        depth = self.places if k is None else min(k, self.places)
        columns = torch.arange(depth).expand(len(self.preds), -1)
        scores = self.preds[:, :depth]
        blocks.largest = depth
        blocks.keep(f"top_{depth}", (self.preds,), Best(columns, scores, scores > -torch.inf))
        sound = BatchFacts(nan=0, infinite=0, lowest=0, highest=len(self.preds) - 1)
        blocks.keep("checks", (self.preds, self.ground, self.lists), sound)


def blocks_of(lists: Judged, places: int) -> Iterator[tuple[slice, TensorRows]]:
    """The lists in blocks, and where each block is; items below the places count as not ranked."""
    _require_plain(lists)
    rest = _outside(lists, places)
    spare = np.bincount(rest.list, minlength=lists.size)
    width = places + int(spare.max(initial=0))
    step = max(1, CELLS // max(width, 1))
    for first in range(0, lists.size, step):
        here = slice(first, min(first + step, lists.size))
        yield here, _rows(lists, rest, here, places, places + int(spare[here].max(initial=0)))


def places_of(lists: Judged) -> int:
    """How many places the longest list has."""
    return int(max(lists.returned.max(initial=0), lists.rank.max(initial=0)))


class _Outside(NamedTuple):
    """Judged items that stand in no place, by list: their rows in the truth."""

    list: Integers
    row: Integers
    nth: Integers
    """how many of the list come before"""


def _outside(lists: Judged, places: int) -> _Outside:
    inside = lists.rank <= places
    placed = np.zeros(len(lists.truth.values), bool)
    placed[lists.truth.offsets[lists.list[inside]] + lists.place[inside]] = True
    row = np.flatnonzero(~placed)
    owner = lists.truth.rows()[row]
    return _Outside(owner, row, np.arange(len(row)) - np.searchsorted(owner, owner))


def _rows(lists: Judged, rest: _Outside, here: slice, places: int, width: int) -> TensorRows:
    size = here.stop - here.start
    preds = np.full((size, width), -np.inf)
    returned = lists.returned[here, None] > np.arange(places)
    preds[:, :places] = np.where(returned, np.arange(places, 0, -1.0), -np.inf)
    ground = np.zeros((size, width))
    first, last = np.searchsorted(lists.list, (here.start, here.stop))
    own, rank = lists.list[first:last] - here.start, lists.rank[first:last] - 1
    inside = rank < places
    ground[own[inside], rank[inside]] = _relevant(lists, lists.grade[first:last])[inside]
    first, last = np.searchsorted(rest.list, (here.start, here.stop))
    own, column = rest.list[first:last] - here.start, places + rest.nth[first:last]
    ground[own, column] = _relevant(lists, lists.truth.values[rest.row[first:last]])
    return TensorRows(torch.from_numpy(preds), torch.from_numpy(ground), torch.arange(size), places)


def _relevant(lists: Judged, grades: Floats) -> Floats:
    """The grades of relevant items, 0 for the others: what is above 0 is relevant in a tensor."""
    return np.where(lists.is_relevant(grades), grades, 0.0)


def _require_plain(lists: Judged) -> None:
    """Refuse lists that rows cannot hold."""
    grades = lists.truth.values
    lost = lists.is_relevant(grades) & (grades <= 0)
    if lost.any():
        raise BadGrades(
            f"{int(lost.sum())} relevant items have a grade of 0 or below.",
            "grades above 0 for relevant items, as metrics on tensors tell them by that.",
            "choose relevant_from above 0.",
        )
    same = (np.diff(lists.list) == 0) & (np.diff(lists.rank) == 0)
    if same.any():
        raise DuplicateTruth(
            f"{int(same.sum())} places hold an item that the truth counts twice.",
            "each item once, as a tensor has one grade for it.",
            "set duplicate_truth='once'.",
        )
