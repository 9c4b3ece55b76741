"""Measuring: from judged lists to totals, every metric of a plan, added up exactly.

The values of many lists are computed for some of them at a time: what is computed on the way is
small then, and stays in the processor. Sums are exact, so that they are the same as those of all
lists at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from rectitude.aggregate.sums import (
    UNDEFINED,
    ByGroup,
    Counted,
    Sums,
    Tally,
    Total,
    counted,
    state_of,
    tally,
)
from rectitude.arrays import Flags, Floats, Integers, run_starts
from rectitude.convention import Convention
from rectitude.errors import MetricFailed, RectitudeError, UndefinedValue
from rectitude.evaluation.batch import Batch, judged_for, require_measurable, view_of
from rectitude.evaluation.plan import Plan
from rectitude.judge.attributes import Groups
from rectitude.judge.judge import Ties, Verdict
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import CHOICES
from rectitude.metrics.predicted import ByScore
from rectitude.metrics.registry import (
    Counts,
    Facts,
    Ratio,
    is_ours,
    require_in,
    taken,
    values_of,
)
from rectitude.parallel import Once, Task, thread_count, together
from rectitude.profiles import Asked

_MANY_LISTS = 20_000
_PARTED = 1 << 16  # lists
_LISTS = 1 << 17


@dataclass(frozen=True, slots=True)
class Measurement:
    """What metrics add up to, the values of lists, and why some metrics have none."""

    totals: dict[str, Total] = field(default_factory=dict)
    values: dict[str, Floats] = field(default_factory=dict)
    failures: dict[str, RectitudeError] = field(default_factory=dict)


def measure(plan: Plan, batch: Batch, beside: Sequence[Task] = ()) -> Measurement:
    """Measure every metric of a plan, on several threads; other tasks are done beside."""
    wanted = {name: one for name, one in plan.measured.items() if name not in batch.failures}
    valued = [name for name, one in wanted.items() if has_values(one)]
    room = dict(zip(valued, np.empty((len(valued), batch.size)), strict=True))
    found = Measurement(failures=dict(batch.failures))

    def measure_one(name: str) -> None:
        try:
            found.totals[name] = total_of(plan, batch, wanted[name], room.get(name))
        except RectitudeError as error:
            found.failures[name] = error

    blocks = _Blocks(plan, batch, wanted)
    whole = [partial(measure_one, name) for name in wanted if name not in blocks.asked]
    # in turn: threads that begin with the same would wait for what both of them need
    pairs = zip_longest(whole, blocks.tasks(room))
    tasks = [*beside, *(task for pair in pairs for task in pair if task is not None)]
    together(tasks, batch.size > _MANY_LISTS)
    found.totals.update(blocks.totals(room))
    for name in wanted:
        if name not in found.totals and name not in found.failures:
            measure_one(name)
    found.values.update((name, own) for name, own in room.items() if name in found.totals)
    return found


class _Blocks:
    """The metrics of a plan that are measured block by block."""

    def __init__(self, plan: Plan, batch: Batch, wanted: Mapping[str, Asked]) -> None:
        self.plan, self.batch = plan, batch
        self.step = max(min(_LISTS, -(-batch.size // (4 * thread_count()))), 1)
        self.asked = {name: one for name, one in wanted.items() if _in_blocks(batch, one)}
        self.verdicts = {name: judged_for(plan, batch, one) for name, one in self.asked.items()}
        self.states: dict[str, list[Sums]] = {name: [] for name in self.asked}

    def tasks(self, room: Mapping[str, Floats]) -> list[Task]:
        """What there is to be done, in any order; the values of lists go into `room`."""
        size = self.batch.size
        starts = range(0, size if self.asked else 0, self.step)
        return [partial(self._add, at, min(at + self.step, size), room) for at in starts]

    def _add(self, first: int, last: int, room: Mapping[str, Floats]) -> None:
        """Add up the values of the lists of a block; of a metric that fails, those of no other."""
        block, parts = self.batch.block(first, last), Once()

        def part(judged: Judged) -> Judged:
            return parts(id(judged), lambda: judged.block(first, last))

        for name, one in self._in_turn(first):
            try:
                lists = view_of(self.plan, block, one, part(self.verdicts[name].judged))
                done = tally_of(block, one, lists, self.plan.spread, room[name][first:last])
                self.states[name].append(done.state)
            except RectitudeError:  # said when it is computed for all lists
                self.asked.pop(name, None)

    def _in_turn(self, first: int) -> list[tuple[str, Asked]]:
        """The metrics from one on that others do not begin with: what is computed once for all
        lists is computed by one thread, and others would wait for it."""
        asked, threads = [*self.asked.items()], thread_count()
        begin = len(asked) * (first // self.step % threads) // threads
        return asked[begin:] + asked[:begin]

    def totals(self, room: Mapping[str, Floats]) -> dict[str, Total]:
        """What metrics add up to that failed nowhere."""
        found: dict[str, Total] = {}

        def settle(name: str, one: Asked) -> None:
            done = Tally(sum(self.states[name], Sums()), room[name])
            found[name] = _with_bounds(self.plan, self.batch, one, self.verdicts[name], done)

        together([partial(settle, name, one) for name, one in self.asked.items()])
        return found


def _in_blocks(batch: Batch, asked: Asked) -> bool:
    """Whether a metric is measured in blocks: it has values for lists, looks at one list at a time
    as ours do, and its lists have nothing to do with one another."""
    alone = asked.convention.unit != "user" and asked.metric.at_once == "some lists"
    ours = is_ours(asked.metric.function)
    return batch.size >= _PARTED and has_values(asked) and ours and alone


def has_values(asked: Asked) -> bool:
    """Whether a metric has a value for every list."""
    return asked.metric.kind != "counts" and not asked.by


def total_of(plan: Plan, batch: Batch, asked: Asked, room: Floats | None = None) -> Total:
    """What a metric adds up to; the values of the lists go into `room`, if it has some."""
    require_measurable(plan, batch, asked)
    verdict = judged_for(plan, batch, asked)
    lists = view_of(plan, batch, asked, verdict.judged)
    if asked.metric.kind == "counts":
        return Total(counts_of(asked, lists))
    if asked.by:
        return Total(_by_group(batch, asked, lists, plan.spread))
    done = tally_of(batch, asked, lists, plan.spread, room)
    return _with_bounds(plan, batch, asked, verdict, done)


def _with_bounds(plan: Plan, batch: Batch, asked: Asked, verdict: Verdict, done: Tally) -> Total:
    """What all lists add up to, and what that would be were ties broken otherwise."""
    return Total(done.state, _bounds(plan, batch, asked, verdict, done) if batch.bounds else None)


def tally_of(
    batch: Batch,
    asked: Asked,
    lists: Judged,
    spread: bool = False,
    room: Floats | None = None,
    among: Integers | None = None,
) -> Tally:
    """The values of lists, added up; `among` are their numbers if they are some of all."""
    weights, owners = batch.lists.weights, batch.lists.owners
    if among is not None:
        weights, owners = None if weights is None else weights[among], owners[among]
    ratio = ratio_of(asked, lists, batch.facts)
    with blamed(asked):
        flags = counted(lists, asked.convention, asked.cutoff)
        return tally(ratio, flags, asked.convention, weights, owners, batch.label, spread, room)


def ratio_of(asked: Asked, lists: Judged, facts: Facts) -> Ratio:
    """The value of each list as a fraction."""
    with blamed(asked):
        require_in(lists, asked.metric)
        given = given_to(asked, facts)
        ratio = values_of(asked.metric.function, lists, asked.cutoff, **given)
        whole = asked.convention.without_relevant == "computed"
        return ratio if whole else ratio.where(lists.relevant > 0)


def _bounds(
    plan: Plan, batch: Batch, asked: Asked, verdict: Verdict, done: Tally
) -> tuple[Sums, Sums] | None:
    """The sums with all ties broken against and for the lists; None where they say nothing."""
    if "moving_up_helps" in asked.metric.breaks:
        return None
    ties = verdict.ties
    if ties is None:
        return done.state, done.state

    def among(lists: Judged) -> Sums:
        return tally_of(batch, asked, view_of(plan, batch, asked, lists), among=ties.lists).state

    try:
        own = _own(batch, asked, ties, done) or among(ties.own)
        worst, best = (
            own if lists is ties.own else among(lists) for lists in (ties.worst, ties.best)
        )
    except RectitudeError:  # under one of them a value is undefined
        return None
    rest = done.state - own
    return rest + worst, rest + best


def _own(batch: Batch, asked: Asked, ties: Ties, done: Tally) -> Sums | None:
    """The sums of the lists with ties as judged, where their values say it all."""
    convention, state = asked.convention, done.state
    plain = convention.average == "macro" and convention.unit == "list"
    if plain and batch.lists.weights is None and not (state.skipped or state.nan):
        values = done.values[ties.lists]
        return state_of(values[np.isfinite(values)])
    return None


def counts_of(asked: Asked, lists: Judged) -> Counted:
    """What a counts metric counts in the lists that count."""
    counts = asked.metric.counts
    if counts is None:
        raise MetricFailed(f"metric {str(asked.name)!r} says not what it counts.")
    with blamed(asked):
        require_in(lists, asked.metric)
        flags = counted(lists, asked.convention, asked.cutoff)
        ids = None if lists.extras.stock is None else lists.stock.ids
        made = counts(lists, asked.cutoff, flags, **taken(counts, _choices(asked)))
        return Counted(made, int(flags.sum()), made.scores if isinstance(made, ByScore) else ids)


def value_of_counts(asked: Asked, counts: Counts, facts: Facts) -> float:
    """The value that counts stand for; where it is 0/0, what the convention says that is worth."""
    try:
        return float(asked.metric.function(counts, **given_to(asked, facts)))
    except UndefinedValue:
        if asked.convention.undefined not in UNDEFINED:
            raise
        return UNDEFINED[asked.convention.undefined]


def given_to(asked: Asked, facts: Facts) -> dict[str, Any]:
    """The keyword arguments of a metric's function: choices of switches, numbers, facts."""
    given = _choices(asked)
    if asked.metric.kind == "counts":  # others are for what counts
        given = taken(asked.metric.function, given)
    return {**given, "facts": facts} if asked.metric.wants_facts else given


def _choices(asked: Asked) -> dict[str, Any]:
    choices = {s: CHOICES[s][getattr(asked.convention, s)] for s in asked.metric.switches}
    return {**choices, **asked.numbers}


def _by_group(batch: Batch, asked: Asked, lists: Judged, spread: bool) -> ByGroup:
    """The values of the lists that count, added up for each group of users that has any."""
    number, names = lists.people.groups(asked.by)
    groups = Groups(number[lists.owner], names)
    flags = counted(lists, asked.convention, asked.cutoff)
    ratio = ratio_of(asked, lists, batch.facts)
    return _sums_by_group(ratio, flags, groups, asked.convention, batch, spread)


def _sums_by_group(
    ratio: Ratio,
    flags: Flags,
    groups: Groups,
    convention: Convention,
    batch: Batch,
    spread: bool,
) -> ByGroup:
    group, states = groups.number, dict[str, Sums]()
    counts = np.flatnonzero(flags & (group >= 0))
    order = counts[np.argsort(group[counts], kind="stable")]
    for which in np.split(order, run_starts(group[order])[1:]) if len(order) else ():
        mine = Ratio(ratio.above[which], ratio.below[which])
        weights = None if batch.lists.weights is None else batch.lists.weights[which]
        own = (np.ones(len(which), bool), convention, weights, batch.lists.owners[which])
        state = tally(mine, *own, _label_among(batch, which), spread).state
        states[str(groups.names[int(group[which[0]])])] = state
    return ByGroup(states)


def _label_among(batch: Batch, which: Integers) -> Callable[[int], str]:
    return lambda number: batch.label(int(which[number]))


@contextmanager
def blamed(asked: Asked) -> Iterator[None]:
    """Whatever a metric raises is told under its name, so that the others can go on."""
    try:
        yield
    except RectitudeError:
        raise
    except Exception as error:
        raise MetricFailed(
            f"metric {str(asked.name)!r} failed: {type(error).__name__}: {error}.",
            advice="the other metrics were computed; mend this one's function.",
        ) from error
