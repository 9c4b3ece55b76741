"""The values of many assignments: lists are judged once for each way of judging, the values of
lists computed once for each formula, and added up anew for each way of averaging.

Before that each choice is tried alone, and the lists compared, to see which can matter on these
inputs.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from rectitude.aggregate.sums import Addend, counted, tally
from rectitude.convention import SWITCHES, Convention
from rectitude.errors import RectitudeError
from rectitude.evaluation.batch import Batch, judged_for, require_closed_form, view_of
from rectitude.evaluation.evaluate import presented, value_of
from rectitude.evaluation.measure import blamed, ratio_of, total_of
from rectitude.evaluation.plan import parts_of
from rectitude.explanation.identify.assignments import JUDGING, Assignment, Flip, Space
from rectitude.explanation.trials import Trials, alone, thresholds
from rectitude.judge.judged import Judged
from rectitude.metrics import Ratio
from rectitude.parallel import together
from rectitude.profiles import Asked, Profile

_ALONE = ("negative_grades", "duplicate_truth", "unknown_users", "unknown_items", "duplicates")
"""switches that say what becomes of certain rows, and nothing where there are none"""
_MAKE_TIES = ("order", "score_precision", "seen", "candidates")


def space_of(trials: Trials, asked: Asked) -> Space:
    """What can be changed: the choices under which some list is judged otherwise, thresholds
    between the grades, and the end of lists at the cutoff."""
    base = _tolerant(asked.convention)
    lists = judged_alone(trials, replace(asked, convention=base))
    marks = _marks(trials, asked, base, signature(lists))
    live: dict[str, Sequence[Any]] = {name: _live(name, base, marks) for name in JUDGING}
    if any(live[name] for name in _MAKE_TIES):
        live["ties"] = [c for c in SWITCHES["ties"].choices if marks["ties", c] is not None]
    grades = thresholds(lists.truth.values)
    live["relevant_from"] = [None, *grades] if grades else ()
    live["list_end"] = ("none", "cutoff") if asked.cutoff is not None else ()
    equal = {flip: getattr(base, flip[0]) for flip in _equal(base, marks)}
    equal["list_end", "last_cutoff"] = "cutoff"  # there is no other cutoff than the metric's
    keys = trials.keys(asked)
    return Space(live, equal, unit_matters=len(keys.users) < len(keys.keys))


def judged_alone(trials: Trials, asked: Asked) -> Judged:
    """The lists as judged, not kept for others."""
    return judged_for(alone(asked), trials.batch(asked).afresh(), asked).judged


def signature(lists: Judged) -> bytes:
    """A hash of everything that metrics see of judged lists."""
    mark = hashlib.blake2b(digest_size=16)
    _add(mark, lists)
    return mark.digest()


def _add(mark: Any, value: object) -> None:
    if isinstance(value, np.ndarray):
        mark.update(f"{value.dtype}{value.shape}".encode())
        mark.update(np.ascontiguousarray(value).data)
    elif is_dataclass(value):
        for one in fields(value):
            if one.name not in ("kept", "relevant_from"):  # shared results; put on afterwards
                _add(mark, getattr(value, one.name))
    elif isinstance(value, tuple):
        for part in value:
            _add(mark, part)
    else:
        mark.update(repr(value).encode())


def _tolerant(convention: Convention) -> Convention:
    """The convention with the first choice that is no error wherever one stands."""
    changes = {
        name: next(choice for choice in SWITCHES[name].choices if choice != "error")
        for name in JUDGING
        if getattr(convention, name) == "error"
    }
    return convention.replace(**changes)


def _marks(trials: Trials, asked: Asked, base: Convention, own: bytes) -> dict[Flip, bytes | None]:
    """The lists under every single choice, as signatures; None where there is an error."""
    marks: dict[Flip, bytes | None] = {}
    for name in JUDGING:
        for choice in SWITCHES[name].choices:
            if choice == getattr(base, name):
                marks[name, choice] = own
                continue
            flipped = replace(asked, convention=base.replace(**{name: choice}))
            try:
                marks[name, choice] = signature(judged_alone(trials, flipped))
            except RectitudeError:
                marks[name, choice] = None
    return marks


def _live(name: str, base: Convention, marks: Mapping[Flip, bytes | None]) -> Sequence[str]:
    """The choices of a switch of which one makes a difference: those that do, and the one in
    force."""
    own = getattr(base, name)
    other = [
        choice
        for choice in SWITCHES[name].choices
        if choice != "error" and marks[name, choice] not in (None, marks[name, own])
    ]
    return [own, *other] if other else ()


def _equal(base: Convention, marks: Mapping[Flip, bytes | None]) -> list[Flip]:
    """The choices that cannot make a difference, whatever other switches say."""
    found: list[Flip] = []
    for name in _ALONE:
        own = marks[name, getattr(base, name)]
        choices = [c for c in SWITCHES[name].choices if marks[name, c] == own]
        moot = "error" in choices or "error" not in SWITCHES[name].choices
        if moot and not _live(name, base, marks):
            found += [(name, choice) for choice in choices]
    return found


Outcome = float | RectitudeError
Known = Addend | RectitudeError
TrialsOf = Callable[[Profile], Trials]
_MANY_LISTS = 20_000
_RATIOS_KEPT = 8
_AVERAGING = (
    "truth_needed", "list_needed", "without_relevant", "undefined", "unit", "average",
)  # fmt: skip


def values_of(found: Sequence[Assignment], trials: TrialsOf, space: Space) -> list[Outcome]:
    """The value of each assignment, exact as `evaluate` gives it, or why there is none."""
    ways: dict[Any, list[int]] = defaultdict(list)
    for number, one in enumerate(found):
        padding = one.profile.padding if space.padding_matters else None
        ways[padding, space.way(one.asked.convention)].append(number)
    outcomes: list[Outcome] = [float("nan")] * len(found)
    known: dict[Any, Known] = {}

    def sweep(numbers: Sequence[int]) -> None:
        sheets: dict[int, _Sheet] = {}
        for number in sorted(numbers, key=lambda n: repr(_formula(found[n].asked, space))):
            outcomes[number] = _outcome(found[number], trials, space, sheets, known)

    first, *rest = (partial(sweep, numbers) for numbers in ways.values())
    first()  # opens the inputs, which threads then share
    lists = len(trials(found[0].profile).keys(found[0].asked).keys)
    together(rest, lists > _MANY_LISTS)
    return outcomes


def _outcome(
    one: Assignment,
    trials: TrialsOf,
    space: Space,
    sheets: dict[int, _Sheet],
    known: dict[Any, Known],
) -> Outcome:
    """The value of an assignment; sheets are shared by those that were opened alike."""
    try:
        batch = trials(one.profile).batch(one.asked)
        sheet = sheets.setdefault(id(batch), _Sheet(batch, space, known))
        return sheet.value(one.asked, one.profile)
    except RectitudeError as error:
        return _bare(error)


def _bare(error: RectitudeError) -> RectitudeError:
    """An error that holds on to nothing of what was computed when it arose."""
    return type(error)(error.found, error.expected, error.advice)


@dataclass
class _Sheet:
    """Lists judged in one way, and what was last computed from them."""

    batch: Batch
    space: Space
    known: dict[Any, Known]
    judged: dict[Any, tuple[Judged, bytes]] = field(default_factory=dict)
    ratios: dict[Any, Ratio] = field(default_factory=dict)
    threshold: Any = ()

    def __post_init__(self) -> None:
        self.batch = self.batch.afresh()

    def value(self, asked: Asked, profile: Profile) -> float:
        """A metric under its convention, as it is shown."""
        facts = self.batch.facts
        if asked.metric.kind != "derived":
            return presented(value_of(asked, self._sum(asked), facts), asked.convention)
        parts = parts_of(asked, profile).items()
        values = {base: value_of(part, self._sum(part), facts) for base, part in parts}
        with blamed(asked):
            return presented(float(asked.metric.function(**values)), asked.convention)

    def _sum(self, asked: Asked) -> Addend:
        """What a metric adds up to, also where it was added up from equal lists before."""
        self.batch.facts.require(asked.metric)
        lists, mark = self._judged(asked)
        formula = _formula(asked, self.space)
        averaging = tuple(getattr(asked.convention, name) for name in _AVERAGING)
        key = (mark, formula, averaging)
        if key not in self.known:
            try:
                self.known[key] = self._added(asked, lists, (mark, formula, averaging[2]))
            except RectitudeError as error:
                self.known[key] = _bare(error)
        found = self.known[key]
        if isinstance(found, RectitudeError):
            raise _bare(found)
        return found

    def _judged(self, asked: Asked) -> tuple[Judged, bytes]:
        shown = asked.cutoff if "shown" in asked.metric.requires else None
        way = (self.space.way(asked.convention), asked.metric.requires, shown)
        if way not in self.judged:
            lists = judged_for(alone(asked), self.batch, asked).judged
            self.judged[way] = (lists, signature(lists))
        return self.judged[way]

    def _added(self, asked: Asked, judged: Judged, name: Any) -> Addend:
        threshold = _threshold(asked, self.space)
        if threshold != self.threshold:  # earlier views are not asked for again
            self.batch.views.clear()
            self.threshold = threshold
        plan = alone(asked)
        lists = view_of(plan, self.batch, asked, judged)
        require_closed_form(asked, lists)
        if asked.metric.kind == "counts" or asked.by:
            return total_of(plan, self.batch, asked, np.empty(self.batch.size)).sum
        if name not in self.ratios:
            ratio = ratio_of(asked, lists, self.batch.facts)
            while len(self.ratios) >= _RATIOS_KEPT:
                self.ratios.pop(next(iter(self.ratios)))
            self.ratios[name] = ratio
        flags = counted(lists, asked.convention, asked.cutoff)
        keys = self.batch.lists
        given = (asked.convention, keys.weights, keys.owners, self.batch.label)
        with blamed(asked):
            return tally(self.ratios[name], flags, *given).state


def _threshold(asked: Asked, space: Space) -> tuple[Any, ...]:
    end = space.settled("list_end", asked.convention.list_end)
    return asked.convention.relevant_from, end


def _formula(asked: Asked, space: Space) -> tuple[Any, ...]:
    """What the value of a list depends on, once it is judged."""
    metric = asked.metric
    numbers = tuple(sorted(asked.numbers.items()))
    choices = tuple(getattr(asked.convention, name) for name in metric.obeys)
    return (*_threshold(asked, space), metric.name, asked.name.at, asked.by, numbers, *choices)
