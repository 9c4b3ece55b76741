"""What slices of an evaluation add up to. Their sums add exactly, as those of the whole do.

Evaluations of slices: one for each part of the lists, or of the rows of the truth.

A slice by users or lists is a part of the lists. A slice by items, or by anything else that rows of
the truth have for themselves, is a part of these rows: its evaluation knows no other relevant items
and no other users. What a list holds of another slice counts as not relevant, and takes its place.

The numbers that the sums of slices stand for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Unpack

import numpy as np

from rectitude.aggregate.evaluation import Evaluation, Keys, Result
from rectitude.aggregate.slices import WHOLE, Number, Slices
from rectitude.aggregate.sums import State, Total, state_by_user
from rectitude.arrays import Flags, Integers
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs
from rectitude.errors import BadName, NothingToEvaluate, RectitudeError, UndefinedValue
from rectitude.evaluation.axes import (
    Axis,
    Of,
    Slicing,
    held,
    in_order,
    kept_columns,
    label,
    parse_slicing,
    require_axes,
    slicing_of,
)
from rectitude.evaluation.evaluate import Part, asked_of, computed, part_of, results_of
from rectitude.evaluation.inputs import Arguments, given_of, opened
from rectitude.evaluation.measure import Run, judging, total_of
from rectitude.evaluation.state import Batches
from rectitude.judge.judge import Verdict
from rectitude.metrics.registry import Facts
from rectitude.parallel import Once
from rectitude.profiles import Asked, Profile, profile_of

Key = tuple[str, ...]
"""The label of a slice on each axis."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What is computed of every slice."""

    asked: Sequence[Asked]
    profile: Profile
    wanted: Mapping[str, Asked]
    kept: Sequence[str] = ()
    """the metrics whose values per list are kept, because users are averaged at the end"""


@dataclass(frozen=True, slots=True)
class SliceSums:
    """The sums of one slice."""

    totals: Mapping[str, Total] = field(default_factory=dict)
    failures: Mapping[str, RectitudeError] = field(default_factory=dict)
    lists: int = 0
    relevant: int = 0
    kept: Batches = field(default_factory=Batches)

    def __add__(self, other: SliceSums) -> SliceSums:
        if not (self.lists and other.lists):
            return self if self.lists else other
        both = [name for name in self.totals if name in other.totals]
        return SliceSums(
            {name: self.totals[name] + other.totals[name] for name in both},
            {**other.failures, **self.failures},
            self.lists + other.lists,
            self.relevant + other.relevant,
            self.kept + other.kept,
        )


@dataclass(frozen=True, slots=True)
class Sliced:
    """The sums of the slices of one slicing."""

    of: Of
    orders: tuple[Key | None, ...]
    """(axes,) all labels where they come from edges, else None"""
    cells: Mapping[Key, SliceSums]


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums of all slices by the name of their slicing, and how much there is of everything."""

    sliced: Mapping[str, Sliced] = field(default_factory=dict)
    lists: int = 0
    relevant: int = 0

    def __add__(self, other: Sums) -> Sums:
        if not (self.sliced and other.sliced):
            return self if self.sliced else other
        both = {name: _added(name, one, other.sliced[name]) for name, one in self.sliced.items()}
        return Sums(both, self.lists + other.lists, self.relevant + other.relevant)


def settled(sums: Sums, names: Sequence[str]) -> Sums:
    """The sums with the means of users in place of those of lists, from the values kept of
    these."""
    if not names:
        return sums
    by_user = {
        by: replace(one, cells={key: _by_user(cell, names) for key, cell in one.cells.items()})
        for by, one in sums.sliced.items()
    }
    return replace(sums, sliced=by_user)


def _by_user(cell: SliceSums, names: Sequence[str]) -> SliceSums:
    totals = dict(cell.totals)
    for name in [name for name in cell.kept.names() if name in names and name in totals]:
        rest = totals[name].sum
        if isinstance(rest, State):
            state = state_by_user(*cell.kept.by_user(name), spread=True)
            totals[name] = Total(replace(state, skipped=rest.skipped, nan=rest.nan))
    return replace(cell, totals=totals)


def _added(name: str, one: Sliced, other: Sliced) -> Sliced:
    if (one.of, one.orders) != (other.of, other.orders):
        raise BadName(
            f"the slices {name!r} are cut differently in two batches: {_edges(one)} and "
            f"{_edges(other)}.",
            "the same edges in every batch.",
            "hand the same tables to every batch, or name the edges: price:10,50,100.",
        )
    keys = dict.fromkeys([*one.cells, *other.cells])
    empty = SliceSums()
    cells = {key: one.cells.get(key, empty) + other.cells.get(key, empty) for key in keys}
    return replace(one, cells=cells)


def _edges(sliced: Sliced) -> str:
    return "; ".join(", ".join(order) for order in sliced.orders if order) or sliced.of


def sums_of(
    slicings: Sequence[Sequence[Axis]], part: Part, sources: Inputs, asking: Asking
) -> Sums:
    """The sums of all slices of what was evaluated as `part`."""
    if not slicings or part.run is None:
        return Sums()
    sliced = {}
    for axes in slicings:
        slicing = slicing_of(axes, sources, part.run.sides)
        cells = _of_rows if slicing.of == "rows" else _of_lists
        sliced[slicing.name] = Sliced(
            slicing.of, slicing.orders, cells(slicing, part, sources, asking)
        )
    return Sums(sliced, len(part.run.sides.keys), _relevant(part.run, asking.profile))


def _of_lists(slicing: Slicing, part: Part, _: Inputs, asking: Asking) -> dict[Key, SliceSums]:
    cells = {}
    for key, members in zip(slicing.keys, slicing.members, strict=True):
        cells[key] = SliceSums()
        if len(members):
            cells[key] = _cell(within(part, members, asking), len(members), asking)
    return cells


def _of_rows(slicing: Slicing, _: Part, sources: Inputs, asking: Asking) -> dict[Key, SliceSums]:
    """Judged anew: ties and what is judged at all depend on the rows of the slice."""
    cells = {}
    for key, members in zip(slicing.keys, slicing.members, strict=True):
        cells[key] = SliceSums()
        if len(members):
            rows = np.zeros(sources.truth.frame.height, bool)
            rows[members] = True
            mine = replace(only(sources, rows), left="some")
            part = part_of(mine, asking.asked, asking.profile, asking.wanted, spread=True)
            cells[key] = _cell(part, _told(part, asking.profile), asking)
    return cells


def _told(part: Part, profile: Profile) -> int:
    """How many lists the truth has a row of."""
    if part.run is None:
        return 0
    judged = part.run.verdicts[judging(profile.convention)].judged
    return int(judged.in_truth.sum())


def _cell(part: Part, lists: int, asking: Asking) -> SliceSums:
    relevant = 0 if part.run is None else _relevant(part.run, asking.profile)
    kept = {name: part.values[name] for name in asking.kept if name in part.values}
    return SliceSums(part.totals, part.failures, lists, relevant, Batches.of(part.keys, kept))


def _relevant(run: Run, profile: Profile) -> int:
    """Relevant rows of the truth, as the convention has it."""
    judged = run.verdicts[judging(profile.convention)].judged
    return int(judged.at_threshold(profile.convention.relevant_from).relevant.sum())


def within(part: Part, lists: Integers, asking: Asking) -> Part:
    """The part of an evaluation that is about some of its lists; nothing is judged again."""
    if part.run is None or part.keys is None:
        raise BadName("there are no lists to be parted.", "a part that was judged.")
    run = _within(part.run, lists)
    totals: dict[str, Total] = {}
    failures = {n: e for n, e in part.failures.items() if not isinstance(e, UndefinedValue)}
    values = {}
    for name in [name for name in asking.wanted if name not in failures]:
        room = np.empty(len(lists))
        try:
            totals[name] = total_of(run, asking.wanted[name], True, room)
        except RectitudeError as error:
            failures[name] = error
            continue
        if isinstance(totals[name].sum, State):
            values[name] = room
    sides = run.sides
    users, owners = np.unique(sides.owners, return_inverse=True)
    keys = Keys(sides.keys, owners, sides.users.gather(users), sides.by_user, sides.weights)
    manifest = {**part.manifest, "lists": len(lists)}
    return Part(totals, values, failures, Ledger(), keys, manifest, part.facts, run)


def _within(run: Run, lists: Integers) -> Run:
    """The same judged lists, as far as they are among some."""
    sides = run.sides
    some = replace(
        sides,
        keys=sides.keys.gather(lists),
        owners=sides.owners[lists],
        weights=None if sides.weights is None else sides.weights[lists],
    )
    verdicts = {key: Verdict(one.judged.only(lists), None) for key, one in run.verdicts.items()}
    return run._replace(sides=some, verdicts=verdicts, views=Once(), tie_bounds=False)


def only(sources: Inputs, rows: Flags) -> Inputs:
    """The same evaluation of some rows of the truth and of the users they belong to."""
    truth = replace(sources.truth, frame=sources.truth.frame.filter(rows))
    users, key = sources.users, "list" if sources.key == "user" else "user"
    if key in truth.frame.columns and users is None:
        ids = truth.frame[key].alias("list").to_frame()
        users = replace(truth, frame=ids, columns={"list": ""}, handed=None)
    elif key in truth.frame.columns and users is not None:
        chosen = held((users, "list"), (truth, key), "user")
        users = replace(users, frame=users.frame.filter(chosen))
    return replace(sources, truth=truth, users=users)


def slices(
    predictions: object,
    truth: object,
    metrics: str | Iterable[str] | None = None,
    convention: object = None,
    *,
    by: object = "known",
    intervals: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **inputs: Unpack[Arguments],
) -> dict[str, Evaluation]:
    """The evaluation of all lists, and one of every slice that has any, by name.

    `by` is a column of `users=`, `items=`, the truth or the predictions, or one of these: "known"
    (what `train=` holds: warm, unknown user, unknown item, both), "activity" (rows of train of the
    user), "popularity" (rows of train with the item), "time" (of the rows of the truth). Numbers
    are cut into parts of equal size ("activity:4") or at edges ("price:10,50,100"); several of them
    are crossed (["gender", "activity:2"]). The other arguments are those of `evaluate`. How much
    each slice has, and why one could not be evaluated, stands in the ledger of "all".

    >>> lists, truth = {1: ["a"], 2: ["x", "b"]}, {1: ["a"], 2: ["b"]}
    >>> found = slices(lists, truth, "mrr", by="sex", users={"user": [1, 2], "sex": ["f", "m"]})
    >>> {name: one["mrr"] for name, one in found.items()}
    {'all': 0.75, 'f': 1.0, 'm': 0.5}
    """
    axes = parse_slicing(by)
    profile = profile_of(convention)
    asked = asked_of(metrics, profile, predictions)
    given = given_of(predictions, truth, inputs, profile.padding)
    given = replace(given, progress=progress, keep=kept_columns([axes]))
    asking = Asking(asked, profile, computed(asked, profile))
    sources = opened(given, list(asking.wanted.values()), profile.convention)
    return _evaluations(axes, sources, asking, intervals)


def _evaluations(
    axes: Sequence[Axis], sources: Inputs, asking: Asking, intervals: bool
) -> dict[str, Evaluation]:
    require_axes([axes], sources)
    part = part_of(sources, asking.asked, asking.profile, asking.wanted, intervals)
    if part.run is None:
        raise NothingToEvaluate("there is nothing to be parted.")
    slicing = slicing_of(axes, sources, part.run.sides)
    found = {"all": _evaluation(part, asking, intervals)}
    ledger = found["all"].ledger
    _account(slicing, _size(slicing, part, sources), ledger)
    for name, members in zip(slicing.labels, slicing.members, strict=True):
        if not len(members):
            continue
        try:
            mine = _part(slicing, members, part, sources, asking, intervals)
        except NothingToEvaluate as error:
            ledger.note(name, f"not evaluated: {error.found}")
            continue
        own = f"{slicing.name}: {name}" if name == "all" else name
        found[own] = _evaluation(mine, asking, intervals)
    return found


def _evaluation(part: Part, asking: Asking, intervals: bool) -> Evaluation:
    results, failures = results_of(asking.asked, asking.profile, part, intervals)
    return Evaluation(results, part.ledger, part.manifest, failures, part.keys)


def _part(
    slicing: Slicing,
    members: Integers,
    part: Part,
    sources: Inputs,
    asking: Asking,
    intervals: bool,
) -> Part:
    if slicing.of == "lists":
        return within(part, members, asking)
    rows = np.zeros(sources.truth.frame.height, bool)
    rows[members] = True
    return part_of(only(sources, rows), asking.asked, asking.profile, asking.wanted, intervals)


def _size(slicing: Slicing, part: Part, sources: Inputs) -> int:
    """How many lists, or rows of the truth, are parted."""
    lists = 0 if part.keys is None else len(part.keys.keys)
    return lists if slicing.of == "lists" else sources.truth.frame.height


def _account(slicing: Slicing, size: int, ledger: Ledger) -> None:
    what = "lists" if slicing.of == "lists" else "rows of the truth"
    for name, members in zip(slicing.labels, slicing.members, strict=True):
        about = f"{what} are in the slice {name!r}"
        ledger.count(f"slice_{name.replace(' ', '_')}", len(members), about, of=size)


def slices_of(sums: Sums, whole: Part, asked: Sequence[Asked], profile: Profile) -> Slices | None:
    """Every metric of all lists and of every slice; None where no slices were asked for."""
    if not sums.sliced:
        return None
    everything = SliceSums(whole.totals, whole.failures, sums.lists, sums.relevant)
    place = Number(by=WHOLE, slice=WHOLE, metric="", value=None, share=1.0)
    numbers = [*_numbers(place, everything, asked, profile, whole.facts)]
    for by, sliced in sums.sliced.items():
        for key in in_order(sliced.cells, sliced.orders):
            cell = sliced.cells[key]
            share = _share(cell, sliced, sums)
            place = Number(
                by=by, slice=label(key), metric="", value=None, of=sliced.of, share=share
            )
            numbers += _numbers(place, cell, asked, profile, whole.facts)
    return Slices(tuple(numbers), tuple(_notes(sums)))


def _share(cell: SliceSums, sliced: Sliced, sums: Sums) -> float | None:
    part, everything = cell.lists, sums.lists
    if sliced.of == "rows":
        part, everything = cell.relevant, sums.relevant
    return part / everything if everything else None


def _notes(sums: Sums) -> Iterator[str]:
    of_rows = [by for by, sliced in sums.sliced.items() if sliced.of == "rows"]
    if of_rows:
        yield (
            f"- {', '.join(of_rows)}: parts of the relevant rows; what a list holds of another "
            "slice takes its place and counts as not relevant."
        )
    for by, sliced in sums.sliced.items():
        what, everything = ("relevant", sums.relevant) if by in of_rows else ("lists", sums.lists)
        if sum(getattr(cell, what) for cell in sliced.cells.values()) > everything:
            told = "row" if by in of_rows else "list"
            yield f"- {by}: a {told} stands in every slice that it has a value of."


def _numbers(
    place: Number, cell: SliceSums, asked: Sequence[Asked], profile: Profile, facts: Facts
) -> Iterator[Number]:
    place = replace(place, lists=cell.lists, relevant=cell.relevant)
    results, failures = _results(cell, asked, profile, facts)
    for name in [str(one.name) for one in asked]:
        if name in failures:
            yield replace(place, metric=name, reason=failures[name].found)
            continue
        yield _number(replace(place, metric=name), results[name])


def _number(place: Number, result: Result) -> Number:
    if not math.isfinite(result.value):
        told = "is undefined for some list" if math.isnan(result.value) else "is infinite"
        return replace(place, counted=result.counted, reason=f"{result.name} {told}.")
    low, high = result.interval or (None, None)
    if low == high:  # equal values say nothing of their spread
        low, high = None, None
    return replace(place, value=result.value, counted=result.counted, low=low, high=high)


def _results(
    cell: SliceSums, asked: Sequence[Asked], profile: Profile, facts: Facts
) -> tuple[Mapping[str, Result], Mapping[str, RectitudeError]]:
    if not cell.lists:
        nobody = NothingToEvaluate("no list is in this slice.")
        return {}, {str(one.name): nobody for one in asked}
    part = Part(cell.totals, {}, cell.failures, Ledger(), None, {}, facts)
    return results_of(asked, profile, part, intervals=True)
