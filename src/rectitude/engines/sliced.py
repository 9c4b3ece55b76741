"""What slices of an evaluation add up to. Their sums add exactly, as those of the whole do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rectitude.aggregate.evaluation import Keys
from rectitude.aggregate.state import State, state_by_user
from rectitude.aggregate.total import Total
from rectitude.arrays import Flags, Integers
from rectitude.data.ledger import Ledger
from rectitude.data.slicing import Axis, Of, Slicing
from rectitude.data.sources import Sources
from rectitude.engines.axes import held, slicing_of
from rectitude.engines.batches import Batches
from rectitude.engines.compute import Run, judging, total_of
from rectitude.engines.part import Part, part_of
from rectitude.errors import BadName, RectitudeError, UndefinedValue
from rectitude.judge.join import Verdict
from rectitude.profiles import Asked, Profile
from rectitude.threads import Once

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
class Cell:
    """The sums of one slice."""

    totals: Mapping[str, Total] = field(default_factory=dict)
    failures: Mapping[str, RectitudeError] = field(default_factory=dict)
    lists: int = 0
    relevant: int = 0
    kept: Batches = field(default_factory=Batches)

    def __add__(self, other: Cell) -> Cell:
        if not (self.lists and other.lists):
            return self if self.lists else other
        both = [name for name in self.totals if name in other.totals]
        return Cell(
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
    cells: Mapping[Key, Cell]


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


def _by_user(cell: Cell, names: Sequence[str]) -> Cell:
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
    empty = Cell()
    cells = {key: one.cells.get(key, empty) + other.cells.get(key, empty) for key in keys}
    return replace(one, cells=cells)


def _edges(sliced: Sliced) -> str:
    return "; ".join(", ".join(order) for order in sliced.orders if order) or sliced.of


def sums_of(
    slicings: Sequence[Sequence[Axis]], part: Part, sources: Sources, asking: Asking
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


def _of_lists(slicing: Slicing, part: Part, _: Sources, asking: Asking) -> dict[Key, Cell]:
    cells = {}
    for key, members in zip(slicing.keys, slicing.members, strict=True):
        cells[key] = Cell()
        if len(members):
            cells[key] = _cell(within(part, members, asking), len(members), asking)
    return cells


def _of_rows(slicing: Slicing, _: Part, sources: Sources, asking: Asking) -> dict[Key, Cell]:
    """Judged anew: ties and what is judged at all depend on the rows of the slice."""
    cells = {}
    for key, members in zip(slicing.keys, slicing.members, strict=True):
        cells[key] = Cell()
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


def _cell(part: Part, lists: int, asking: Asking) -> Cell:
    relevant = 0 if part.run is None else _relevant(part.run, asking.profile)
    kept = {name: part.values[name] for name in asking.kept if name in part.values}
    return Cell(part.totals, part.failures, lists, relevant, Batches.of(part.keys, kept))


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


def only(sources: Sources, rows: Flags) -> Sources:
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
