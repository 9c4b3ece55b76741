"""What one metric adds up to, exactly and in any order: values of lists (`Sums`), by group of users
(`ByGroup`), or whole numbers (`Counted`); and which lists count.

A `Total` also holds what the sums would be with every tie broken otherwise. Sums divide once, at
the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, added, totals
from rectitude.convention import Convention
from rectitude.errors import NothingToEvaluate, UndefinedValue
from rectitude.exact import UNIT_BITS, quotient, total
from rectitude.judge.items import united
from rectitude.judge.judged import Judged
from rectitude.metrics import Ratio
from rectitude.metrics.registry import Overall


@dataclass(frozen=True, slots=True)
class Sums:
    """Exact sums in units of 2**-1074, and how many lists or users they are over.

    The value is `above / below`: the sum of the values over their number or weight (macro), or of
    numerators over denominators (micro). The squares, added up where intervals were asked for, give
    the spread around it.
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
        sums = (getattr(self, f.name) + getattr(other, f.name) for f in fields(Sums))
        return Sums(*sums)

    def __sub__(self, other: Sums) -> Sums:
        """Without lists that are in this state."""
        sums = (getattr(self, f.name) - getattr(other, f.name) for f in fields(Sums))
        return Sums(*sums)

    @property
    def lists(self) -> int:
        """How many lists count, those without a value among them."""
        return self.counted + self.skipped + self.nan

    @property
    def value(self) -> float:
        """The number this state stands for; NaN if a list was undefined or there was none."""
        return math.nan if self.nan else quotient(self.above, self.below)

    @property
    def error(self) -> float:
        """The standard error of the value, from the spread of the lists (users) around it.

        For a ratio of sums this is the usual first-order error of a ratio; for a plain mean the two
        agree.
        """
        if self.counted < 2 or self.below == 0 or self.below_squared == 0 or self.nan:
            return math.nan
        a, b, n = self.above, self.below, self.counted
        spread = self.above_squared * b * b - 2 * a * b * self.product + a * a * self.below_squared
        # The squares are rounded before they are added, so that the spread may fall below 0.
        variance = max(spread, 0) / (b * b << UNIT_BITS) * n / (n - 1)
        return math.sqrt(variance) / (b / (1 << UNIT_BITS))

    def as_dict(self) -> dict[str, Any]:
        """The state for JSON: integers as hexadecimal text, which no reader rounds."""
        return {f.name: hex(getattr(self, f.name)) for f in fields(Sums)}

    @staticmethod
    def from_dict(stored: dict[str, str]) -> Sums:
        """A state as `as_dict` wrote it."""
        return Sums(**{name: int(value, 16) for name, value in stored.items()})


class Tally(NamedTuple):
    """The state of one metric, and the value of each list (NaN where it does not count)."""

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
) -> Tally:
    """Add up a fraction per list as the convention says; squares too where the spread is wanted.

    The values go into `room` if there is some: one large array costs less than many small ones.
    """
    everyone = bool(counts.all())
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.divide(ratio.above, ratio.below, out=room)  # nothing but 0 is over 0
    if not everyone:
        values[~counts] = np.nan
    if convention.average == "micro":
        weight = np.ones(len(counts)) if weights is None else weights
        above, below = (ratio.above * weight)[counts], (ratio.below * weight)[counts]
        return Tally(_add(above, below, spread), values)
    rest = Sums()
    if not ratio.below.all() and (undefined := counts & (ratio.below == 0)).any():
        values[undefined] = _worth(undefined, convention, label)
        missing = int(undefined.sum())
        if convention.undefined in ("nan", "skip"):
            counts, everyone = counts & ~undefined, False
            rest = Sums(**{"nan" if convention.undefined == "nan" else "skipped": missing})
    mean = values if everyone else values[counts]
    chosen = None if weights is None else weights[counts]
    if convention.unit == "user":
        mean, chosen = _by_user(mean, chosen, owners[counts]), None
    return Tally(_mean(mean, chosen, spread) + rest, values)


def _worth(undefined: Flags, convention: Convention, label: Callable[[int], str]) -> float:
    """What a list counts whose value is 0/0."""
    if convention.undefined != "error":
        return UNDEFINED.get(convention.undefined, math.nan)
    count, first = int(undefined.sum()), label(int(np.flatnonzero(undefined)[0]))
    raise UndefinedValue(
        f"the value of {count} of {len(undefined)} lists is 0/0 (first: list {first}).",
        "a defined value for every list that counts.",
        "set undefined='zero', 'one', 'skip' or 'nan'.",
    )


UNDEFINED = {"nan": math.nan, "zero": 0.0, "one": 1.0}
"""What 0/0 is worth, where it is worth something."""


def of_nobody(convention: Convention) -> float | None:
    """The mean over the lists with a hit where nothing was hit, which is 0/0; None if no list
    counts for any other reason, because then something is wrong."""
    return UNDEFINED.get(convention.undefined) if convention.list_needed == "hit" else None


def settled(state: Sums, convention: Convention) -> float:
    """The value of a state, also where the sums of all lists are 0/0."""
    if state.below or state.nan:
        return state.value
    worth = of_nobody(convention)
    if not (state.counted or state.skipped) and worth is not None:
        return worth
    if convention.undefined == "skip" or not state.counted:
        raise NothingToEvaluate(
            "every list that counts is undefined, and undefined='skip' leaves it out.",
            "at least one list with a value.",
        )
    if convention.undefined == "error" or convention.average == "macro":
        what = "weights" if convention.average == "macro" else "denominators"
        raise UndefinedValue(
            f"the {what} of all {state.counted} lists add up to 0.",
            "something to divide by.",
            "set undefined='zero', 'one' or 'nan'." if what == "denominators" else "",
        )
    return UNDEFINED[convention.undefined]


def overall(state: Sums, convention: Convention, how: Overall) -> float:
    """The one number that the values of all lists make."""
    if how == "sum":
        return math.nan if state.nan else quotient(state.above, 1 << UNIT_BITS)
    mean = settled(state, convention)
    return math.exp(mean) if how == "exp of the mean" and state.below else mean


def state_by_user(values: Floats, weights: Floats | None, owners: Integers, spread: bool) -> Sums:
    """The state of a mean over users, each with the mean of his lists."""
    return _mean(_by_user(values, weights, owners), None, spread)


def state_of(values: Floats) -> Sums:
    """The state of a plain mean of values."""
    return _mean(values, None, spread=False)


def _mean(values: Floats, weights: Floats | None, spread: bool) -> Sums:
    if weights is not None:
        return _add(values * weights, weights, spread)
    above, ones = total(values), len(values) << UNIT_BITS
    if not spread:
        return Sums(above, ones, counted=len(values))
    return Sums(above, ones, total(values * values), ones, above, counted=len(values))


def _add(above: Floats, below: Floats, spread: bool) -> Sums:
    if not spread:
        return Sums(total(above), total(below), counted=len(above))
    squares = (total(above * above), total(below * below), total(above * below))
    return Sums(total(above), total(below), *squares, counted=len(above))


def _by_user(values: Floats, weights: Floats | None, owners: Integers) -> Floats:
    """The (weighted) mean of the lists of each user who has any."""
    weights = np.ones(len(values)) if weights is None else weights
    below = sorted_totals(owners, weights)
    above = sorted_totals(owners, values * weights)
    return above[below > 0] / below[below > 0]


def sorted_totals(owners: Integers, values: Floats, users: int = 0) -> Floats:
    """Sums per user, added in the order of the values, so that no order of lists shows in them."""
    order = np.lexsort((values, owners))
    return totals(owners[order], max(users, int(owners.max(initial=-1)) + 1), values[order])


@dataclass(frozen=True, slots=True)
class ByGroup:
    """Exact sums by the name of the group; those of a group that only one side has are its own."""

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
        """The sums for JSON."""
        return {name: state.as_dict() for name, state in self.states.items()}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> ByGroup:
        """Sums as `as_dict` wrote them."""
        return ByGroup({name: Sums.from_dict(state) for name, state in stored.items()})


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Counts by name, and how many lists they are over."""

    counts: Mapping[str, Integers]
    lists: int = 0
    ids: pl.Series | None = None
    """the items that are counted, sorted; None where places in the counts stand for themselves"""

    def __add__(self, other: Counted) -> Counted:
        ids, where = united(self.ids, other.ids)
        names = dict.fromkeys([*self.counts, *other.counts])
        both = {
            name: [s.counts.get(name, np.zeros(0, int)) for s in (self, other)] for name in names
        }
        sums = {name: added(mine, theirs, where) for name, (mine, theirs) in both.items()}
        return Counted(sums, self.lists + other.lists, ids)

    def as_dict(self) -> dict[str, Any]:
        """The counts for JSON."""
        ids = None if self.ids is None else self.ids.to_list()
        counts = {n: c.tolist() for n, c in self.counts.items()}
        return {"lists": self.lists, "counts": counts, "ids": ids}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Counted:
        """Counts as `as_dict` wrote them."""
        counts = {name: np.array(c, np.int64) for name, c in stored["counts"].items()}
        ids = stored.get("ids")
        return Counted(counts, int(stored["lists"]), None if ids is None else pl.Series("id", ids))


Addend = Sums | Counted | ByGroup


@dataclass(frozen=True, slots=True)
class Total:
    """Exact sums or counts, which add; `bounds` are the sums with all ties broken against and for
    the relevant items, None where a metric has none."""

    sum: Addend
    bounds: tuple[Sums, Sums] | None = None

    def __add__(self, other: Total) -> Total:
        bounds = None
        if self.bounds is not None and other.bounds is not None:
            (worst, best), (low, high) = self.bounds, other.bounds
            bounds = (worst + low, best + high)
        return Total(self.sum + cast("Any", other.sum), bounds)  # both are of one kind


def counted(lists: Judged, convention: Convention, k: int | None) -> Flags:
    """(lists,) whether a list enters the mean under a convention."""
    wanted = (convention.truth_needed, convention.list_needed)
    depth = k if convention.list_needed == "hit" else None
    return lists.once(
        ("counted", *wanted, depth),
        lambda: _with_truth(lists, wanted[0]) & _with_list(lists, wanted[1], k),
    )


def _with_truth(lists: Judged, needed: str) -> Flags:
    if needed == "relevant":
        return lists.relevant > 0
    return lists.in_truth if needed == "judged" else lists.handed | lists.in_truth


def _with_list(lists: Judged, needed: str, k: int | None) -> Flags:
    if needed == "hit":
        return lists.hits(k) > 0
    return {"none": np.ones(lists.size, bool), "handed": lists.handed, "items": lists.returned > 0}[
        needed
    ]
