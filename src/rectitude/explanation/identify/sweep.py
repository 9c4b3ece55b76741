"""Compute the values of many assignments efficiently.

Lists are judged once for each way of judging, their values are computed once for each formula, and
only the averaging is repeated. Before that, each choice is tried alone and the judged lists are
compared, to see which choices can matter on these inputs.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from rectitude.aggregate.sums import Addend, counts_in_mean, tally
from rectitude.convention import SWITCHES, Convention
from rectitude.errors import RectitudeError
from rectitude.evaluation.batch import Batch, judge_for, require_closed_form, view_of
from rectitude.evaluation.evaluate import present_value, value_of
from rectitude.evaluation.measure import blame_metric, ratio_of, total_of
from rectitude.evaluation.plan import parts_of
from rectitude.explanation.identify.assignments import JUDGING, Assignment, Flip, Space
from rectitude.explanation.trials import Trials, alone, thresholds
from rectitude.judge.judged import Judged
from rectitude.metrics import Ratio
from rectitude.parallel import run_tasks
from rectitude.profiles import Asked, Profile

_ALONE = ("negative_grades", "duplicate_truth", "unknown_users", "unknown_items", "duplicates")
"""Switches that decide how certain rows are treated; without such rows they have no effect."""
_MAKE_TIES = ("order", "score_precision", "seen", "candidates")


def space_of(trials: Trials, asked: Asked) -> Space:
    """Return what can be changed.

    These are the choices that change how some list is judged, thresholds between the grades, and
    the end of lists at the cutoff.
    """
    base = _tolerant(asked.convention)
    lists = judge_alone(trials, replace(asked, convention=base))
    marks = _marks(trials, asked, base, signature(lists))
    live: dict[str, Sequence[Any]] = {name: _live(name, base, marks) for name in JUDGING}
    if any(live[name] for name in _MAKE_TIES):
        live["ties"] = [c for c in SWITCHES["ties"].choices if marks["ties", c] is not None]
    grades = thresholds(lists.truth.values)
    live["relevant_from"] = [None, *grades] if grades else ()
    live["list_end"] = ("none", "cutoff") if asked.cutoff is not None else ()
    equal = {flip: getattr(base, flip[0]) for flip in _equal(base, marks)}
    equal["list_end", "last_cutoff"] = "cutoff"  # the metric's cutoff is the only one
    keys = trials.keys(asked)
    return Space(
        live,
        equal,
        unit_matters=len(keys.users) < len(keys.keys),
        weights_matter=keys.weights is not None,
    )


def judge_alone(trials: Trials, asked: Asked) -> Judged:
    """Judge the lists without keeping the result."""
    return judge_for(alone(asked), trials.batch(asked).afresh(), asked).judged


def signature(lists: Judged) -> bytes:
    """Return a hash of everything that metrics see of judged lists."""
    digest = hashlib.blake2b(digest_size=16)
    _add_to_hash(digest, lists)
    return digest.digest()


def _add_to_hash(digest: Any, value: object) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif is_dataclass(value):
        for attribute in fields(value):
            if attribute.name not in ("kept", "relevant_from"):  # a cache; applied afterwards
                _add_to_hash(digest, getattr(value, attribute.name))
    elif isinstance(value, tuple):
        for part in value:
            _add_to_hash(digest, part)
    else:
        digest.update(repr(value).encode())


def _tolerant(convention: Convention) -> Convention:
    """Return the convention with every "error" replaced by the first other choice."""
    changes = {
        name: next(choice for choice in SWITCHES[name].choices if choice != "error")
        for name in JUDGING
        if getattr(convention, name) == "error"
    }
    return convention.replace(**changes)


def _marks(
    trials: Trials, asked: Asked, base: Convention, base_mark: bytes
) -> dict[Flip, bytes | None]:
    """Return the signature of the lists under every single choice; None if it raises an error."""
    marks: dict[Flip, bytes | None] = {}
    for name in JUDGING:
        for choice in SWITCHES[name].choices:
            if choice == getattr(base, name):
                marks[name, choice] = base_mark
                continue
            flipped = replace(asked, convention=base.replace(**{name: choice}))
            try:
                marks[name, choice] = signature(judge_alone(trials, flipped))
            except RectitudeError:
                marks[name, choice] = None
    return marks


def _live(name: str, base: Convention, marks: Mapping[Flip, bytes | None]) -> Sequence[str]:
    """Return the current choice of a switch and those that change some list; empty if none does."""
    current = getattr(base, name)
    effective = [
        choice
        for choice in SWITCHES[name].choices
        if choice != "error" and marks[name, choice] not in (None, marks[name, current])
    ]
    return [current, *effective] if effective else ()


def _equal(base: Convention, marks: Mapping[Flip, bytes | None]) -> list[Flip]:
    """Return the choices that cannot have an effect under any choice of the other switches."""
    flips: list[Flip] = []
    for name in _ALONE:
        base_mark = marks[name, getattr(base, name)]
        choices = [c for c in SWITCHES[name].choices if marks[name, c] == base_mark]
        no_such_rows = "error" in choices or "error" not in SWITCHES[name].choices
        if no_such_rows and not _live(name, base, marks):
            flips += [(name, choice) for choice in choices]
    return flips


Outcome = float | RectitudeError
Known = Addend | RectitudeError
TrialsOf = Callable[[Profile], Trials]
_MANY_LISTS = 20_000
_RATIOS_KEPT = 8
_AVERAGING = (
    "truth_needed", "list_needed", "without_relevant", "undefined", "unit", "average",
    "weighting",
)  # fmt: skip


def values_of(assignments: Sequence[Assignment], trials: TrialsOf, space: Space) -> list[Outcome]:
    """Return the value of each assignment, exactly as `evaluate` gives it, or its error."""
    ways: dict[Any, list[int]] = defaultdict(list)
    for number, assignment in enumerate(assignments):
        padding = assignment.profile.padding if space.padding_matters else None
        ways[padding, space.way(assignment.asked.convention)].append(number)
    outcomes: list[Outcome] = [float("nan")] * len(assignments)
    known: dict[Any, Known] = {}

    def sweep(numbers: Sequence[int]) -> None:
        sheets: dict[int, _Sheet] = {}
        for number in sorted(numbers, key=lambda n: repr(_formula(assignments[n].asked, space))):
            outcomes[number] = _outcome(assignments[number], trials, space, sheets, known)

    first, *rest = (partial(sweep, numbers) for numbers in ways.values())
    first()  # opens the inputs, which threads then share
    start = assignments[0]
    lists = len(trials(start.profile).keys(start.asked).keys)
    run_tasks(rest, lists > _MANY_LISTS)
    return outcomes


def _outcome(
    assignment: Assignment,
    trials: TrialsOf,
    space: Space,
    sheets: dict[int, _Sheet],
    known: dict[Any, Known],
) -> Outcome:
    """Return the value of an assignment; those with the same batch share a sheet."""
    try:
        batch = trials(assignment.profile).batch(assignment.asked)
        sheet = sheets.setdefault(id(batch), _Sheet(batch, space, known))
        return sheet.value(assignment.asked, assignment.profile)
    except RectitudeError as error:
        return _detach(error)


def _detach(error: RectitudeError) -> RectitudeError:
    """Copy an error without its traceback, which would keep arrays in memory."""
    return type(error)(error.found, error.expected, error.advice)


@dataclass
class _Sheet:
    """Lists judged in one way, and the latest results computed from them."""

    batch: Batch
    space: Space
    known: dict[Any, Known]
    judged: dict[Any, tuple[Judged, bytes]] = field(default_factory=dict)
    ratios: dict[Any, Ratio] = field(default_factory=dict)
    threshold: Any = ()

    def __post_init__(self) -> None:
        self.batch = self.batch.afresh()

    def value(self, asked: Asked, profile: Profile) -> float:
        """Return a metric under its convention, scaled and rounded for display."""
        facts = self.batch.facts
        if asked.metric.kind != "derived":
            return present_value(value_of(asked, self._sum(asked), facts), asked.convention)
        parts = parts_of(asked, profile).items()
        values = {base: value_of(part, self._sum(part), facts) for base, part in parts}
        with blame_metric(asked):
            return present_value(float(asked.metric.function(**values)), asked.convention)

    def _sum(self, asked: Asked) -> Addend:
        """Return the sum of a metric; equal judged lists share it."""
        self.batch.facts.require(asked.metric)
        lists, mark = self._judge(asked)
        formula = _formula(asked, self.space)
        averaging = tuple(getattr(asked.convention, name) for name in _AVERAGING)
        key = (mark, formula, averaging)
        if key not in self.known:
            try:
                self.known[key] = self._add(asked, lists, (mark, formula, averaging[2]))
            except RectitudeError as error:
                self.known[key] = _detach(error)
        total = self.known[key]
        if isinstance(total, RectitudeError):
            raise _detach(total)
        return total

    def _judge(self, asked: Asked) -> tuple[Judged, bytes]:
        shown = asked.cutoff if "shown" in asked.metric.requires else None
        way = (self.space.way(asked.convention), asked.metric.requires, shown)
        if way not in self.judged:
            lists = judge_for(alone(asked), self.batch, asked).judged
            self.judged[way] = (lists, signature(lists))
        return self.judged[way]

    def _add(self, asked: Asked, judged: Judged, name: Any) -> Addend:
        threshold = _threshold(asked, self.space)
        if threshold != self.threshold:  # earlier views are not needed again
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
        flags = counts_in_mean(lists, asked.convention, asked.cutoff)
        keys = self.batch.lists
        averaging = (asked.convention, keys.weights, keys.owners, self.batch.label)
        with blame_metric(asked):
            return tally(self.ratios[name], flags, *averaging).state


def _threshold(asked: Asked, space: Space) -> tuple[Any, ...]:
    end = space.settle("list_end", asked.convention.list_end)
    return asked.convention.relevant_from, end


def _formula(asked: Asked, space: Space) -> tuple[Any, ...]:
    """Return everything that the value of a judged list depends on."""
    metric = asked.metric
    numbers = tuple(sorted(asked.numbers.items()))
    choices = tuple(getattr(asked.convention, name) for name in metric.obeys)
    return (*_threshold(asked, space), metric.name, asked.name.at, asked.by, numbers, *choices)
