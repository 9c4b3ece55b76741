"""The first pass over tables that are evaluated part by part: where slices begin, which depends on
the values of all parts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.data.table import Inputs
from rectitude.errors import BadArgument
from rectitude.evaluation.axes import (
    MOST_VALUES,
    Axis,
    depends_on_all,
    find_edges,
    require_axes,
    table_of,
    values_to_cut,
    with_parts,
)
from rectitude.evaluation.plan import Plan, Slicings
from rectitude.evaluation.state import SlicedStates

Load = Callable[[Sequence[str]], Iterator[Inputs]]
"""Yields the inputs of every part, with the rows of these tables."""


@dataclass
class _Values:
    """The values of an axis in all parts, each once, and how often they occur."""

    values: Floats = field(default_factory=lambda: np.empty(0))
    counts: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    dated: bool = False

    def add(self, values: Floats, dated: bool, counts: Integers | None = None) -> None:
        """Add the values of a part."""
        both = np.concatenate([self.values, values])
        weights = np.ones(len(values), np.int64) if counts is None else counts
        self.values, number = np.unique(both, return_inverse=True)
        sums = np.bincount(number.reshape(-1), np.concatenate([self.counts, weights]))
        self.counts, self.dated = sums.astype(np.int64), self.dated or dated


def settle_slices(plan: Plan, first: Inputs, load: Load, whole: Collection[str]) -> Plan:
    """Return the plan with the edges of slices that depend on all parts. `first` are inputs without
    most of their rows, which have all columns; of the tables in `whole`, every part has all
    rows."""
    require_axes(plan.slicings, first)
    axes = {axis for axes in plan.slicings for axis in axes if depends_on_all(axis)}
    tables = {axis: table_of(axis, first) for axis in axes}
    cut = {axis: _Values() for axis in axes if tables[axis] not in whole}
    for axis in [axis for axis in cut if axis.name == "popularity"]:
        items = first.known_rows
        if items is not None:
            cut[axis].add(items.astype(np.float64), dated=False)
    by_part = [axis for axis in cut if not (axis.name == "popularity" and len(cut[axis].values))]
    for inputs in load([tables[axis] for axis in by_part]) if by_part else ():
        for axis in by_part:
            cut[axis].add(*values_to_cut(axis, inputs))
    found = {axis: _with_edges(axis, values) for axis, values in cut.items()}
    slicings = tuple(tuple(found.get(axis, axis) for axis in axes) for axes in plan.slicings)
    return replace(plan, slicings=slicings)


def _with_edges(axis: Axis, values: _Values) -> Axis:
    edges = find_edges(with_parts(axis), values.values, values.dated, values.counts)
    return replace(axis, found=tuple(edges.tolist()))


def require_few_values(slicings: Slicings, slices: Mapping[str, SlicedStates]) -> None:
    """Raise an error if an axis has too many values for a slice of each. A part may have few of
    them."""
    for axes, sliced in zip(slicings, slices.values(), strict=True):
        for number, axis in enumerate(axes):
            many = len({key[number] for key in sliced.states})
            if sliced.orders[number] is None and many > MOST_VALUES:
                raise BadArgument(
                    f"{axis.name!r} has at least {many:,} different values.",
                    f"at most {MOST_VALUES}.",
                    f"if they are numbers, cut them into groups: {axis.name}:4 or"
                    f" {axis.name}:10,50,100.",
                )
