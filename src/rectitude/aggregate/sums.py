"""Exact sums of one metric, in any order: values of lists (`Sums`), sums by group of users
(`ByGroup`), or counts (`Counted`); and which lists count.

A `Total` also holds the sums with every tie broken for or against the relevant items. Sums are
divided only once, at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import add, attrgetter, sub
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl

from rectitude.aggregate.spread import Spread
from rectitude.arrays import Flags, Floats, Integers, add_counts, sum_by_group
from rectitude.convention import Convention
from rectitude.errors import NothingToEvaluate, UndefinedValue
from rectitude.exact import UNIT_BITS, quotient, total, total_repeated, totals_repeated
from rectitude.judge.items import merge_items
from rectitude.judge.judged import Judged
from rectitude.metrics import Ratio
from rectitude.metrics.registry import Overall


@dataclass(frozen=True, slots=True)
class Sums:
    """Exact sums in units of 2**-1074, and the number of lists or users that they cover.

    The value is `above / below`: the sum of the values over their number or weight (macro), or the
    sum of numerators over the sum of denominators (micro). The squares are added up if intervals
    were requested; they give the standard error.
    """

    above: int = 0
    below: int = 0
    above_squared: int = 0
    below_squared: int = 0
    product: int = 0
    counted: int = 0
    skipped: int = 0
    nan: int = 0

    def __add__(self, other: Sums) -> Sums:
        return Sums(*map(add, _numbers_of(self), _numbers_of(other)))

    def __sub__(self, other: Sums) -> Sums:
        """Remove the sums of lists that are included in this state."""
        return Sums(*map(sub, _numbers_of(self), _numbers_of(other)))

    @property
    def lists(self) -> int:
        """How many lists count, including those without a value."""
        return self.counted + self.skipped + self.nan

    @property
    def value(self) -> float:
        """The number that the sums give; NaN if a list was undefined or no list counts."""
        return math.nan if self.nan else quotient(self.above, self.below)

    @property
    def error(self) -> float:
        """The standard error of the value, from the spread of the lists (or users) around it.

        For a ratio of sums, this is the usual first-order error of a ratio. For a plain mean, both
        are the same.
        """
        if self.counted < 2 or self.below == 0 or self.below_squared == 0 or self.nan:
            return math.nan
        a, b, n = self.above, self.below, self.counted
        spread = self.above_squared * b * b - 2 * a * b * self.product + a * a * self.below_squared
        # The squares are rounded before they are added, so the spread can be slightly below 0.
        variance = max(spread, 0) / (b * b << UNIT_BITS) * n / (n - 1)
        return math.sqrt(variance) / (b / (1 << UNIT_BITS))

    def as_dict(self) -> dict[str, Any]:
        """Return the sums for JSON: integers as hexadecimal text, which no reader rounds."""
        return {f.name: hex(getattr(self, f.name)) for f in fields(Sums)}

    @staticmethod
    def from_dict(stored: dict[str, str]) -> Sums:
        """Return sums from the output of `as_dict`."""
        return Sums(**{name: int(value, 16) for name, value in stored.items()})


_numbers_of = attrgetter(*(f.name for f in fields(Sums)))


class Tally(NamedTuple):
    """The sums of one metric, and the value of each list (NaN if it does not count)."""

    state: Sums
    values: Floats


def tally(
    ratio: Ratio,
    counts: Flags,
    convention: Convention,
    weights: Floats | None,
    owners: Integers,
    label: Callable[[int], str] = str,
    spread: bool = False,
    room: Floats | None = None,
    times: Integers | None = None,
) -> Tally:
    """Add up one fraction per list under a convention, with the squares if `spread` is set.

    The values are written into `room` if it is given: one large array costs less than many small
    ones. `times` says how often each list occurs, for a plain mean over lists.
    """
    weights = None if convention.weighting == "none" else weights
    all_count = bool(counts.all())
    with np.errstate(divide="ignore", invalid="ignore"):  # only 0 is ever divided by 0
        values = np.divide(ratio.above, ratio.below, out=room)
    if not all_count:
        values[~counts] = np.nan
    if convention.average == "micro":
        weight = np.ones(len(counts)) if weights is None else weights
        above, below = (ratio.above * weight)[counts], (ratio.below * weight)[counts]
        return Tally(_add(above, below, spread), values)
    left_out = Sums()
    if not ratio.below.all() and (undefined := counts & (ratio.below == 0)).any():
        values[undefined] = _value_of_undefined(undefined, convention, label)
        left_out = _leave_out(undefined, convention, weights, times)
        if left_out.lists:
            counts, all_count = counts & ~undefined, False
    if weights is not None and convention.weighting == "defined":
        above = np.where(ratio.below == 0, values, values * weights)[counts]
        return Tally(_add(above, weights[counts], spread) + left_out, values)
    counted = values if all_count else values[counts]
    if times is not None:
        return Tally(_mean_of_repeated(counted, times[counts]) + left_out, values)
    counted_weights = None if weights is None else weights[counts]
    if convention.unit == "user":
        counted, counted_weights = _by_user(counted, counted_weights, owners[counts]), None
    return Tally(_mean(counted, counted_weights, spread) + left_out, values)


class RepeatedValues(NamedTuple):
    """The values of lists that occur several times, and which of them count in a plain mean."""

    values: Floats
    """0 for a list that does not count"""
    counts: Flags
    apart: Flags
    """whether the undefined value of a list is NaN or left out"""

    @staticmethod
    def of(ratio: Ratio, counts: Flags, convention: Convention) -> RepeatedValues:
        """Return the values that `tally` gives these lists."""
        if ratio.below.all():
            values = np.divide(ratio.above, ratio.below, out=np.zeros(len(counts)), where=counts)
            return RepeatedValues(values, counts, np.zeros_like(counts))
        undefined, apart = counts & (ratio.below == 0), np.zeros_like(counts)
        with np.errstate(divide="ignore", invalid="ignore"):  # only 0 is ever divided by 0
            values = np.divide(ratio.above, ratio.below)
        if undefined.any():
            values[undefined] = _value_of_undefined(undefined, convention, str)
            apart = undefined if convention.undefined in ("nan", "skip") else apart
        used = counts & ~apart
        values[~used] = 0.0
        return RepeatedValues(values, used, apart)


def sum_repeated(
    parts: Sequence[RepeatedValues],
    conventions: Sequence[Convention],
    lists: Integers | slice,
    times: Integers,
) -> list[Sums]:
    """Return the sums of several metrics over some lists, which occur so many times."""
    aboves = totals_repeated(np.stack([part.values[lists] for part in parts]), times)
    numbers = [int(times[part.counts[lists]].sum()) for part in parts]
    left_out = [int(times[part.apart[lists]].sum()) for part in parts]
    return [
        Sums(above, number << UNIT_BITS, counted=number)
        + {"nan": Sums(nan=left), "skip": Sums(skipped=left)}.get(convention.undefined, Sums())
        for above, number, left, convention in zip(
            aboves, numbers, left_out, conventions, strict=True
        )
    ]


def _leave_out(
    undefined: Flags, convention: Convention, weights: Floats | None, times: Integers | None
) -> Sums:
    """Return the number of lists with 0/0 that the sums do not include."""
    count = int(undefined.sum() if times is None else times[undefined].sum())
    if convention.undefined == "nan":
        return Sums(nan=count)
    apart = weights is not None and convention.weighting == "average"
    return Sums(skipped=count if apart or convention.undefined == "skip" else 0)


def _value_of_undefined(
    undefined: Flags, convention: Convention, label: Callable[[int], str]
) -> float:
    """Return the value of a list whose fraction is 0/0."""
    if convention.undefined != "error":
        return UNDEFINED.get(convention.undefined, math.nan)
    count, first = int(undefined.sum()), label(int(np.flatnonzero(undefined)[0]))
    raise UndefinedValue(
        f"the value of {count} of {len(undefined)} lists is 0/0 (first: list {first}).",
        "a defined value for every list that counts, because undefined='error'.",
        "set undefined='zero', 'one', 'skip' or 'nan'.",
    )


UNDEFINED = {"nan": math.nan, "zero": 0.0, "one": 1.0}
"""The value of 0/0 for each choice that gives it one."""


def value_without_hits(convention: Convention) -> float | None:
    """Return the mean over the lists with a hit if there is no hit at all, which is 0/0; None if no
    list counts for another reason, because that is an error."""
    return UNDEFINED.get(convention.undefined) if convention.list_needed == "hit" else None


def settle(state: Sums, convention: Convention) -> float:
    """Return the value of a state, even if its sums are 0/0."""
    if state.skipped and convention.weighting == "average" and convention.undefined in UNDEFINED:
        return _mean_with_average_weights(state, UNDEFINED[convention.undefined])
    if state.below or state.nan:
        return state.value
    value = value_without_hits(convention)
    if not (state.counted or state.skipped) and value is not None:
        return value
    if convention.undefined == "skip" or not state.counted:
        raise NothingToEvaluate(
            "every list that counts is undefined, and undefined='skip' leaves out undefined lists.",
            "at least one list with a value.",
        )
    if convention.undefined == "error" or convention.average == "macro":
        what = "weights" if convention.average == "macro" else "denominators"
        raise UndefinedValue(
            f"the {what} of all {state.counted} lists add up to 0.",
            "a sum above 0, to divide by.",
            "set undefined='zero', 'one' or 'nan'." if what == "denominators" else "",
        )
    return UNDEFINED[convention.undefined]


def _mean_with_average_weights(state: Sums, undefined: float) -> float:
    """Return the mean in which each list with 0/0 has the average weight of the others; the
    weighted mean of the others therefore counts once for each of them."""
    mean = state.value if state.below else 0.0
    return (mean * state.counted + undefined * state.skipped) / (state.counted + state.skipped)


def overall(state: Sums, convention: Convention, how: Overall) -> float:
    """Combine the values of all lists into one number."""
    if how == "sum":
        return math.nan if state.nan else quotient(state.above, 1 << UNIT_BITS)
    mean = settle(state, convention)
    return math.exp(mean) if how == "exp of the mean" and state.below else mean


def state_by_user(values: Floats, weights: Floats | None, owners: Integers, spread: bool) -> Sums:
    """Return the sums of a mean over users, each with the mean of their lists."""
    return _mean(_by_user(values, weights, owners), None, spread)


def state_of(values: Floats) -> Sums:
    """Return the sums of a plain mean of values."""
    return _mean(values, None, spread=False)


def _mean(values: Floats, weights: Floats | None, spread: bool) -> Sums:
    if weights is not None:
        return _add(values * weights, weights, spread)
    above, number = total(values), len(values) << UNIT_BITS
    if not spread:
        return Sums(above, number, counted=len(values))
    return Sums(above, number, total(values * values), number, above, counted=len(values))


def _mean_of_repeated(values: Floats, times: Integers) -> Sums:
    """Return the sums of a plain mean of values that occur several times."""
    number = int(times.sum())
    return Sums(total_repeated(values, times), number << UNIT_BITS, counted=number)


def _add(above: Floats, below: Floats, spread: bool) -> Sums:
    if not spread:
        return Sums(total(above), total(below), counted=len(above))
    squares = (total(above * above), total(below * below), total(above * below))
    return Sums(total(above), total(below), *squares, counted=len(above))


def _by_user(values: Floats, weights: Floats | None, owners: Integers) -> Floats:
    """Return the (weighted) mean over the lists of each user who has any."""
    weights = np.ones(len(values)) if weights is None else weights
    below = total_by_user(owners, weights)
    above = total_by_user(owners, values * weights)
    return above[below > 0] / below[below > 0]


def total_by_user(owners: Integers, values: Floats, users: int = 0) -> Floats:
    """Return the sum per user. Values are added in ascending order, so the order of the lists has
    no effect."""
    order = np.lexsort((values, owners))
    return sum_by_group(owners[order], max(users, int(owners.max(initial=-1)) + 1), values[order])


@dataclass(frozen=True, slots=True, eq=False)
class ByGroup:
    """Exact sums by the name of the group. A group may be on one side of an addition only."""

    states: Mapping[str, Sums]

    def __add__(self, other: ByGroup) -> ByGroup:
        names = sorted({*self.states, *other.states})
        sides = (self.states, other.states)
        return ByGroup({n: sides[0].get(n, Sums()) + sides[1].get(n, Sums()) for n in names})

    @property
    def lists(self) -> int:
        """How many lists count."""
        return sum(state.lists for state in self.states.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the sums for JSON."""
        return {name: state.as_dict() for name, state in self.states.items()}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> ByGroup:
        """Return sums from the output of `as_dict`."""
        return ByGroup({name: Sums.from_dict(state) for name, state in stored.items()})


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Counts by name, and the number of lists that they cover."""

    counts: Mapping[str, Integers]
    lists: int = 0
    ids: pl.Series | None = None
    """the items that are counted, sorted; None if the counts are not by item"""

    def __add__(self, other: Counted) -> Counted:
        ids, where = merge_items(self.ids, other.ids)
        names = dict.fromkeys([*self.counts, *other.counts])
        both = {
            name: [side.counts.get(name, np.zeros(0, int)) for side in (self, other)]
            for name in names
        }
        sums = {name: add_counts(left, right, where) for name, (left, right) in both.items()}
        return Counted(sums, self.lists + other.lists, ids)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts for JSON."""
        ids = None if self.ids is None else self.ids.to_list()
        counts = {n: c.tolist() for n, c in self.counts.items()}
        return {"lists": self.lists, "counts": counts, "ids": ids}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Counted:
        """Return counts from the output of `as_dict`."""
        counts = {name: np.array(c, np.int64) for name, c in stored["counts"].items()}
        ids = stored.get("ids")
        return Counted(counts, int(stored["lists"]), None if ids is None else pl.Series("id", ids))


Addend = Sums | Counted | ByGroup | Spread


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """Exact sums or counts, which can be added. `bounds` are the sums with all ties broken against,
    and in favour of, the relevant items; None if a metric has none."""

    sum: Addend
    bounds: tuple[Sums, Sums] | None = None

    def __add__(self, other: Total) -> Total:
        bounds = None
        if self.bounds is not None and other.bounds is not None:
            (worst, best), (low, high) = self.bounds, other.bounds
            bounds = (worst + low, best + high)
        return Total(self.sum + cast("Any", other.sum), bounds)  # both are of the same type


def counts_in_mean(lists: Judged, convention: Convention, k: int | None) -> Flags:
    """Return whether each list counts in the mean under a convention, (lists,)."""
    needed = (convention.truth_needed, convention.list_needed)
    depth = k if convention.list_needed == "hit" else None
    return lists.once(
        ("counted", *needed, depth),
        lambda: _with_truth(lists, needed[0]) & _with_list(lists, needed[1], k),
    )


def _with_truth(lists: Judged, needed: str) -> Flags:
    return {
        "relevant": lists.relevant > 0,
        "judged": lists.in_truth,
        "judged_or_listed": lists.in_truth | (lists.returned > 0),
        "none": lists.handed | lists.in_truth,
    }[needed]


def _with_list(lists: Judged, needed: str, k: int | None) -> Flags:
    if needed == "hit":
        return lists.hits(k) > 0
    return {"none": np.ones(lists.size, bool), "handed": lists.handed, "items": lists.returned > 0}[
        needed
    ]
