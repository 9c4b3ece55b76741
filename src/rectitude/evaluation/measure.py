"""Measuring: from judged lists to the exact totals of every metric in a plan.

Many lists are processed in blocks, so intermediate arrays are small and stay in the processor's
cache. Sums are exact, so the result is the same as for all lists at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from rectitude.aggregate.spread import Spread
from rectitude.aggregate.sums import (
    UNDEFINED,
    ByGroup,
    Counted,
    Sums,
    Tally,
    Total,
    counts_in_mean,
    state_of,
    tally,
)
from rectitude.arrays import Flags, Floats, Integers, run_starts
from rectitude.convention import Convention
from rectitude.errors import BadArgument, MetricFailed, RectitudeError, UndefinedValue
from rectitude.evaluation.batch import (
    Batch,
    error_of_ties,
    judge_for,
    require_measurable,
    view_of,
)
from rectitude.evaluation.plan import Plan
from rectitude.judge.attributes import Groups
from rectitude.judge.judge import Ties, Verdict
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import find_choice
from rectitude.metrics.predicted import ByScore
from rectitude.metrics.registry import (
    BadReturn,
    Counts,
    Facts,
    Ratio,
    call_metric,
    is_ours,
    require_in,
    take_arguments,
)
from rectitude.parallel import Once, Task, run_tasks, thread_count
from rectitude.profiles import Asked

_MANY_LISTS = 20_000
_LISTS_FOR_BLOCKS = 1 << 16  # with fewer lists, blocks do not pay off
_LISTS_PER_BLOCK = 1 << 17
_LISTS_PER_THREAD = 1 << 16  # with fewer, threads wait for each other more than they work
_LAST_BITS = 1e-12  # sums of the same numbers in another order may differ by this share


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """The totals of metrics, the values of lists, and the errors of metrics that failed."""

    totals: dict[str, Total] = field(default_factory=dict)
    values: dict[str, Floats] = field(default_factory=dict)
    failures: dict[str, RectitudeError] = field(default_factory=dict)


def measure(plan: Plan, batch: Batch, other_tasks: Sequence[Task] = ()) -> Measurement:
    """Measure every metric of a plan on several threads, and run `other_tasks` in parallel."""
    metrics = {name: asked for name, asked in plan.measured.items() if name not in batch.failures}
    valued = [name for name, asked in metrics.items() if has_values(asked)]
    room = dict(zip(valued, np.empty((len(valued), batch.size)), strict=True))
    measurement = Measurement(failures=dict(batch.failures))

    def measure_metric(name: str) -> None:
        try:
            measurement.totals[name] = total_of(plan, batch, metrics[name], room.get(name))
        except RectitudeError as error:
            measurement.failures[name] = error

    blocks = _Blocks(plan, batch, metrics)
    whole = [partial(measure_metric, name) for name in metrics if name not in blocks.asked]
    # alternate both kinds: threads that start with the same work would wait for each other
    pairs = zip_longest(whole, blocks.tasks(room))
    tasks = [*other_tasks, *(task for pair in pairs for task in pair if task is not None)]
    run_tasks(tasks, batch.size > _MANY_LISTS, _count_threads(batch.size))
    measurement.totals.update(blocks.totals(room))
    for name in metrics:
        if name not in measurement.totals and name not in measurement.failures:
            measure_metric(name)
    measurement.values.update(
        (name, list_values) for name, list_values in room.items() if name in measurement.totals
    )
    return measurement


class _Blocks:
    """The metrics of a plan that are measured in blocks of lists."""

    def __init__(self, plan: Plan, batch: Batch, wanted: Mapping[str, Asked]) -> None:
        self.plan, self.batch = plan, batch
        blocks = 4 * _count_threads(batch.size)
        self.step = max(min(_LISTS_PER_BLOCK, -(-batch.size // blocks)), 1)
        self.asked = {
            name: metric for name, metric in wanted.items() if _can_use_blocks(batch, metric)
        }
        self.verdicts = {
            name: judge_for(plan, batch, metric) for name, metric in self.asked.items()
        }
        self.states: dict[str, list[Sums]] = {name: [] for name in self.asked}

    def tasks(self, room: Mapping[str, Floats]) -> list[Task]:
        """Return the tasks, which can run in any order; the values of lists are written into
        `room`."""
        size = self.batch.size
        starts = range(0, size if self.asked else 0, self.step)
        return [partial(self._add, at, min(at + self.step, size), room) for at in starts]

    def _add(self, first: int, last: int, room: Mapping[str, Floats]) -> None:
        """Add up the values of the lists in one block. A metric that fails does not affect the
        others."""
        block, blocks = self.batch.block(first, last), Once()

        def take_block(judged: Judged) -> Judged:
            return blocks(id(judged), lambda: judged.block(first, last))

        for name, asked in self._in_turn(first):
            try:
                lists = view_of(self.plan, block, asked, take_block(self.verdicts[name].judged))
                tallied = tally_of(block, asked, lists, self.plan.spread, room[name][first:last])
                self.states[name].append(tallied.state)
            except RectitudeError:  # reported when it is measured for all lists
                self.asked.pop(name, None)

    def _in_turn(self, first: int) -> list[tuple[str, Asked]]:
        """Return the metrics, starting with a different one in each thread: some results are
        computed once for all lists, and threads that start with the same metric would wait for
        them."""
        asked, threads = [*self.asked.items()], _count_threads(self.batch.size)
        begin = len(asked) * (first // self.step % threads) // threads
        return asked[begin:] + asked[:begin]

    def totals(self, room: Mapping[str, Floats]) -> dict[str, Total]:
        """Return the totals of the metrics that did not fail in any block."""
        totals: dict[str, Total] = {}

        def settle(name: str, asked: Asked) -> None:
            tallied = Tally(sum(self.states[name], Sums()), room[name])
            totals[name] = _with_bounds(self.plan, self.batch, asked, self.verdicts[name], tallied)

        tasks = [partial(settle, name, asked) for name, asked in self.asked.items()]
        run_tasks(tasks, most=_count_threads(self.batch.size))
        return totals


def _count_threads(lists: int) -> int:
    """Return on how many threads it pays to measure some lists."""
    return max(1, min(thread_count(), lists // _LISTS_PER_THREAD))


def _can_use_blocks(batch: Batch, asked: Asked) -> bool:
    """Return whether a metric can be measured in blocks: it is built in, has a value for each list,
    and the values of lists do not depend on each other."""
    convention = asked.convention
    alone = convention.unit != "user" and convention.ties != "error"  # ties are turned around
    independent = alone and asked.metric.at_once == "some lists"
    built_in = is_ours(asked.metric.function)
    return batch.size >= _LISTS_FOR_BLOCKS and has_values(asked) and built_in and independent


def counts_alike(plan: Plan, batch: Batch) -> bool:
    """Return whether every metric of a plan is the plain mean of values that are the same for lists
    whose judged items stand alike."""
    judged_once = len(batch.verdicts) == 1 and batch.lists.weights is None
    if not judged_once or plan.spread or plan.by_user or plan.metrics_beyond_ranks:
        return False
    return all(map(sees_ranks_and_grades, plan.measured.values()))


def sees_ranks_and_grades(asked: Asked) -> bool:
    """Return whether a metric is the plain mean of values that are the same for lists whose judged
    items stand alike."""
    metric, convention = asked.metric, asked.convention
    plain_mean = has_values(asked) and convention.average == "macro" and convention.unit == "list"
    alone = metric.at_once == "some lists" and not metric.wants_facts and is_ours(metric.function)
    by_place = "discount_by" in metric.obeys and convention.discount_by == "place"
    return plain_mean and alone and not metric.sees_items and not by_place


def has_values(asked: Asked) -> bool:
    """Return whether a metric has a value for every list, of which it is the mean."""
    return asked.metric.kind != "counts" and not asked.by and asked.stat == "mean"


def total_of(plan: Plan, batch: Batch, asked: Asked, room: Floats | None = None) -> Total:
    """Return the total of a metric; the values of the lists are written into `room` if it is
    given."""
    require_measurable(plan, batch, asked)
    verdict = judge_for(plan, batch, asked)
    _require_same_when_turned(plan, batch, asked, verdict)
    lists = view_of(plan, batch, asked, verdict.judged)
    if asked.metric.kind == "counts":
        return Total(counts_of(asked, lists))
    if asked.by:
        return Total(_by_group(batch, asked, lists, plan.spread))
    tallied = tally_of(batch, asked, lists, plan.spread, room)
    if asked.stat != "mean":
        return Total(_spread_of(batch, asked, tallied))
    return _with_bounds(plan, batch, asked, verdict, tallied)


def _spread_of(batch: Batch, asked: Asked, tallied: Tally) -> Spread:
    """Return the values of the lists that count, for a statistic other than the mean."""
    if batch.lists.weights is not None:
        raise BadArgument(
            f"{str(asked.name)!r} asks for a statistic of the values of lists, and weights= is "
            "given.",
            "a mean, or no weights.",
            "leave out weights=, or leave stat= out of the name.",
        )
    values, state = tallied.values, tallied.state
    return Spread.of(values[np.isfinite(values)], state.skipped, state.nan)


def _require_same_when_turned(plan: Plan, batch: Batch, asked: Asked, verdict: Verdict) -> None:
    """Raise an error if ties are not allowed, and the value differs if they are turned around.

    Metrics of shown items were checked when the lists were judged.
    """
    ties = verdict.ties
    if asked.convention.ties != "error" or ties is None or "shown" in asked.metric.requires:
        return
    one, other = (view_of(plan, batch, asked, lists) for lists in (ties.own, ties.best))
    changed = ties.lists[_find_changed(asked, one, other, batch.facts)]
    if len(changed):
        raise error_of_ties(asked, len(changed), batch.size, batch.label(changed[0]))


def _find_changed(asked: Asked, one: Judged, other: Judged, facts: Facts) -> Integers:
    """Return the lists whose value differs; of counts, which have none, all lists or no list."""
    if asked.metric.kind == "counts":
        counts = [counts_of(asked, lists).counts for lists in (one, other)]
        same = all(np.array_equal(values, counts[1][name]) for name, values in counts[0].items())
        return np.arange(0 if same else one.size)
    left, right = (ratio_of(asked, lists, facts) for lists in (one, other))
    counted = [counts_in_mean(lists, asked.convention, asked.cutoff) for lists in (one, other)]
    pairs = ((left.above, right.above), (left.below, right.below))
    same_ratio = np.logical_and(*(np.isclose(a, b, _LAST_BITS, 0.0) for a, b in pairs))
    return np.flatnonzero(~same_ratio & (counted[0] | counted[1]))


def _with_bounds(plan: Plan, batch: Batch, asked: Asked, verdict: Verdict, tallied: Tally) -> Total:
    """Return the sums of all lists, with the sums for other ways to break ties if they are
    wanted."""
    return Total(
        tallied.state, _bounds(plan, batch, asked, verdict, tallied) if batch.bounds else None
    )


def tally_of(
    batch: Batch,
    asked: Asked,
    lists: Judged,
    spread: bool = False,
    room: Floats | None = None,
    subset: Integers | None = None,
) -> Tally:
    """Add up the values of lists; `subset` gives their numbers if they are a subset."""
    weights, owners, times = batch.lists.weights, batch.lists.owners, batch.times
    if subset is not None:
        weights, owners = None if weights is None else weights[subset], owners[subset]
        times = None if times is None else times[subset]
    ratio = ratio_of(asked, lists, batch.facts)
    with blame_metric(asked):
        flags = counts_in_mean(lists, asked.convention, asked.cutoff)
        return tally(
            ratio, flags, asked.convention, weights, owners, batch.label, spread, room, times
        )


def ratio_of(asked: Asked, lists: Judged, facts: Facts) -> Ratio:
    """Return the value of each list as a fraction."""
    with blame_metric(asked):
        require_in(lists, asked.metric)
        arguments = arguments_for(asked, facts)
        ratio = call_metric(asked.metric.function, lists, asked.cutoff, **arguments)
        all_lists = asked.convention.without_relevant == "computed"
        return ratio if all_lists else ratio.where(lists.relevant > 0)


def _bounds(
    plan: Plan, batch: Batch, asked: Asked, verdict: Verdict, tallied: Tally
) -> tuple[Sums, Sums] | None:
    """Return the sums with all ties broken against, and in favour of, the relevant items; None if
    they are not defined."""
    if "moving_up_helps" in asked.metric.breaks:
        return None
    ties = verdict.ties
    if ties is None or asked.convention.ties == "error":
        return tallied.state, tallied.state

    def sums_over(lists: Judged) -> Sums:
        return tally_of(batch, asked, view_of(plan, batch, asked, lists), subset=ties.lists).state

    try:
        judged = _sums_from_values(batch, asked, ties, tallied) or sums_over(ties.own)
        worst, best = (
            judged if lists is ties.own else sums_over(lists) for lists in (ties.worst, ties.best)
        )
    except RectitudeError:  # a value is undefined for one of them
        return None
    rest = tallied.state - judged
    return rest + worst, rest + best


def _sums_from_values(batch: Batch, asked: Asked, ties: Ties, tallied: Tally) -> Sums | None:
    """Return the sums over the lists with ties as they were judged, if their values are enough to
    compute them."""
    convention, state = asked.convention, tallied.state
    plain = convention.average == "macro" and convention.unit == "list"
    if plain and batch.lists.weights is None and not (state.skipped or state.nan):
        values = tallied.values[ties.lists]
        return state_of(values[np.isfinite(values)])
    return None


def counts_of(asked: Asked, lists: Judged) -> Counted:
    """Count for a counts metric in the lists that count."""
    counts = asked.metric.counts
    if counts is None:
        raise MetricFailed(
            f"the counts metric {str(asked.name)!r} has no counts function.",
            "a metric of kind 'counts' with a function that counts.",
        )
    with blame_metric(asked):
        require_in(lists, asked.metric)
        flags = counts_in_mean(lists, asked.convention, asked.cutoff)
        ids = None if lists.extras.stock is None else lists.stock.ids
        counted = counts(lists, asked.cutoff, flags, **take_arguments(counts, _choices(asked)))
        return Counted(
            counted, int(flags.sum()), counted.scores if isinstance(counted, ByScore) else ids
        )


def value_of_counts(asked: Asked, counts: Counts, facts: Facts) -> float:
    """Return the value of counts; for 0/0, the value that the convention gives."""
    try:
        return float(asked.metric.function(counts, **arguments_for(asked, facts)))
    except UndefinedValue:
        if asked.convention.undefined not in UNDEFINED:
            raise
        return UNDEFINED[asked.convention.undefined]


def arguments_for(asked: Asked, facts: Facts) -> dict[str, Any]:
    """Return the keyword arguments of a metric's function: choices of switches, numbers and
    facts."""
    arguments = _choices(asked)
    if asked.metric.kind == "counts":  # the rest is for its counts function
        arguments = take_arguments(asked.metric.function, arguments)
    return {**arguments, "facts": facts} if asked.metric.wants_facts else arguments


def _choices(asked: Asked) -> dict[str, Any]:
    choices = {s: find_choice(s, getattr(asked.convention, s)) for s in asked.metric.switches}
    return {**choices, **asked.numbers}


def _by_group(batch: Batch, asked: Asked, lists: Judged, spread: bool) -> ByGroup:
    """Add up the values of the lists that count, for each group of users with such a list."""
    number, names = lists.people.groups(asked.by)
    groups = Groups(number[lists.owner], names)
    flags = counts_in_mean(lists, asked.convention, asked.cutoff)
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
        group_ratio = Ratio(ratio.above[which], ratio.below[which])
        weights = None if batch.lists.weights is None else batch.lists.weights[which]
        options = (np.ones(len(which), bool), convention, weights, batch.lists.owners[which])
        state = tally(group_ratio, *options, _label_subset(batch, which), spread).state
        states[str(groups.names[int(group[which[0]])])] = state
    return ByGroup(states)


def _label_subset(batch: Batch, which: Integers) -> Callable[[int], str]:
    return lambda number: batch.label(int(which[number]))


@contextmanager
def blame_metric(asked: Asked) -> Iterator[None]:
    """Turn any exception of a metric into an error with its name, so the other metrics can
    continue."""
    try:
        yield
    except RectitudeError:
        raise
    except Exception as error:
        raised = "" if isinstance(error, BadReturn) else f"raised {type(error).__name__}: "
        raise MetricFailed(
            f"the function of {str(asked.name)!r} {raised}{error}.",
            advice="the other metrics were computed; fix the function of this metric.",
        ) from error
