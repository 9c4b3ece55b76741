"""Lists that were grouped where they were counted: each different list arrives once, with how often
it occurs.

Metrics of ranks have the same value for lists whose judged items stand alike, so only the different
lists are judged and measured. What the ledger and the manifest say of all lists is counted from
these, and from a few numbers that came with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.aggregate.sums import RepeatedValues, Total, counts_in_mean, sum_repeated
from rectitude.arrays import Flags, Integers, Ragged
from rectitude.data.ledger import Ledger
from rectitude.evaluation.account import identify, manifest_of
from rectitude.evaluation.batch import Batch, judge_aligned, lists_for_all, view_of
from rectitude.evaluation.counted import CountedBatch, align_counted, can_defer_judging
from rectitude.evaluation.measure import ratio_of, sees_ranks_and_grades
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.state import State
from rectitude.judge.judge import Ties
from rectitude.judge.judged import Extras, Judged, join
from rectitude.parallel import Once, run_tasks
from rectitude.profiles import Asked

Counts = dict[str, tuple[int, int | None]]
"""By the name of an entry of the ledger: how many, and of how many."""


_LISTS_PER_BLOCK = 1 << 13
"""so that the values of all metrics stay in the processor's cache"""

_MOST_THREADS = 2
"""Between short loops over arrays, threads take turns: more of them only wait for each other."""


class AllLists(NamedTuple):
    """What the different lists alone do not tell about all lists."""

    batches: int
    truth_rows: int
    masked: int
    """truth rows whose item is in the user's training data"""
    seen: int
    """scores of items in the user's training data"""
    unknown: int
    """truth rows with an item that is not in the training data"""
    first_unknown: int
    """the smallest such item"""
    columns: int
    prints: tuple[int, int]
    """the fingerprints of predictions and truth, as numbers"""


class UntiedLists(NamedTuple):
    """Different lists without tied items: nothing is left to decide about their ranks."""

    above: NDArray[np.int32]
    """(lists, any) how many columns have a higher score than each ranked item, ascending; -1 for an
    item that is not ranked"""
    relevant: Integers
    """(lists,) how many items the truth has"""
    returned: Integers
    """(lists,) how many columns are ranked, up to the deepest rank that a metric looks at"""
    known: Flags
    """(lists,) whether the user is in the training data"""
    times: Integers
    """(lists,) how often the list occurs"""


@dataclass(frozen=True, slots=True, eq=False)
class GroupedLists:
    """The different lists of several batches."""

    different: CountedBatch
    """those with ties, and an example of every sort of list that the ledger counts"""
    rows: Integers
    """(different lists,) the lowest number of a row with such a list"""
    times: Integers
    """(different lists,) how often the list occurs; 0 for examples"""
    untied: UntiedLists
    whole: AllLists


def may_group(plan: Plan) -> bool:
    """Return whether only different lists need to be judged and measured: every metric is the plain
    mean of values that depend on ranks up to a cutoff."""
    metrics = plan.measured.values()
    return (
        plan.reach.depth is not None
        and can_defer_judging(plan, "scores")
        and not (plan.spread or plan.by_user or plan.metrics_beyond_ranks)
        and all(map(sees_ranks_and_grades, metrics))
        and all(asked.convention.ties != "average" for asked in metrics)  # sees the last tied rank
    )


def measure_grouped(plan: Plan, grouped: GroupedLists) -> State:
    """Return the state of all lists."""
    aligned = align_counted([grouped.different], plan, grouped.rows)
    batch = judge_aligned(plan, aligned)
    (verdict,) = batch.verdicts.values()
    untied, whole = _judge_untied(plan, grouped.untied), grouped.whole
    lists = int(grouped.times.sum() + grouped.untied.times.sum())
    ledger = _ledger_of_all(plan, batch, untied, grouped)
    manifest = manifest_of_all(plan, batch, lists, whole.truth_rows, whole.prints)
    times = grouped.untied.times
    if untied.size <= _LISTS_PER_BLOCK:
        both = (Repeated(untied, times), Repeated(verdict.judged, grouped.times))
        totals = measure_repeated(plan, plan.measured, batch, both, verdict.ties)
    else:
        few = (Repeated(verdict.judged, grouped.times),)
        totals = measure_repeated(plan, plan.measured, batch, few, verdict.ties)
        for part in _measure_blocks(plan, batch, Repeated(untied, times)):
            totals = {name: total + part[name] for name, total in totals.items()}
    return State(totals, {}, ledger, manifest, lists=lists, batches=whole.batches)


def _judge_untied(plan: Plan, lists: UntiedLists) -> Judged:
    """Return untied lists as judged; their ranks are the same under every rule."""
    number, place = np.nonzero(lists.above >= 0)
    offsets = np.append(0, np.cumsum(lists.relevant))
    return Judged(
        list=number,
        rank=lists.above[number, place].astype(np.int64) + 1,
        grade=np.ones(len(number)),
        place=place,
        returned=lists.returned,
        truth=Ragged(offsets, np.ones(int(offsets[-1]))),
        handed=np.ones(len(lists.above), bool),
        in_truth=lists.relevant > 0,
        relevant_from=plan.convention.relevant_from,
        extras=Extras(candidates=lists.returned),
    )


def _measure_blocks(plan: Plan, batch: Batch, lists: Repeated) -> list[dict[str, Total]]:
    """Return the totals of blocks of untied lists, measured on several threads."""
    totals: dict[int, dict[str, Total]] = {}

    def work(first: int) -> None:
        last = min(first + _LISTS_PER_BLOCK, lists.judged.size)
        block = Repeated(lists.judged.block(first, last), lists.times[first:last])
        shared = replace(batch, views=Once())
        totals[first] = measure_repeated(plan, plan.measured, shared, (block,), None)

    starts = range(0, lists.judged.size, _LISTS_PER_BLOCK)
    run_tasks([partial(work, first) for first in starts], most=_MOST_THREADS)
    return [totals[first] for first in sorted(totals)]


class Repeated(NamedTuple):
    """Judged lists, and how often each occurs."""

    judged: Judged
    times: Integers


def measure_repeated(
    plan: Plan,
    asked: Mapping[str, Asked],
    batch: Batch,
    groups: Sequence[Repeated],
    ties: Ties | None,
) -> dict[str, Total]:
    """Return the totals of metrics of ranks. Ties are about the last group: these lists are
    measured beside all others as they are judged, at worst and at best."""
    if not asked:
        return {}
    sides = [] if ties is None else [ties.worst, ties.best]
    joined = join([*(group.judged for group in groups), *sides])
    times = np.concatenate([group.times for group in groups])
    parts = []
    for metric in asked.values():
        lists = view_of(plan, batch, metric, joined)
        flags = counts_in_mean(lists, metric.convention, metric.cutoff)
        ratio = ratio_of(metric, lists, batch.facts)
        parts.append(RepeatedValues.of(ratio, flags, metric.convention))
    add_up = partial(sum_repeated, parts, [metric.convention for metric in asked.values()])
    sums, size = [add_up(slice(len(times)), times)], len(times)
    if ties is not None:
        tied, number = ties.lists + size - groups[-1].judged.size, len(ties.lists)
        ends = (tied, slice(size, size + number), slice(size + number, None))
        sums += [add_up(end, times[tied]) for end in ends]
    totals = {}
    for (name, metric), every, *turned in zip(asked.items(), *sums, strict=True):
        own, worst, best = turned or (every, every, every)
        bounds = every - own + worst, every - own + best
        fixed = "moving_up_helps" in metric.metric.breaks
        totals[name] = Total(every, None if fixed else bounds)
    return totals


def _ledger_of_all(plan: Plan, batch: Batch, untied: Judged, grouped: GroupedLists) -> Ledger:
    """Return the ledger of the different lists with the counts of all."""
    few = _count_lists(plan, batch, grouped.times)
    many = _count_untied(plan, untied, grouped.untied)
    counts: Counts = {
        name: (count + many[name][0], None if of is None else of + (many[name][1] or 0))
        for name, (count, of) in few.items()
    }
    counts |= _count_rows(grouped)
    ledger = with_counts(batch.full_ledger(), counts)
    whole, name = grouped.whole, "recommended_unknown"
    if name in ledger.entries:
        of = whole.columns * int(grouped.times.sum() + grouped.untied.times.sum())
        ledger.entries[name] = replace(ledger.entries[name], of=of)
    if whole.unknown:
        entry = ledger.entries["items_unknown"]
        ledger.entries["items_unknown"] = replace(entry, example=repr(whole.first_unknown))
    return ledger


def with_counts(ledger: Ledger, counts: Counts) -> Ledger:
    """Return a ledger with other counts for its entries."""
    for name, (count, of) in counts.items():
        if name in ledger.entries:
            ledger.entries[name] = replace(ledger.entries[name], count=count, of=of)
    return ledger


def _count_rows(grouped: GroupedLists) -> Counts:
    """Count rows of the truth and scores, by the name of the entry, each with its total."""
    whole = grouped.whole
    return {
        "truth_rows": (whole.truth_rows, None),
        "truth_duplicates": (0, whole.truth_rows),
        "truth_low_grades": (0, whole.truth_rows),
        "items_unknown": (whole.unknown, whole.truth_rows),
        "items_unscored": (0, whole.truth_rows),
        "truth_masked": (whole.masked, whole.truth_rows),
        "scores_seen": (whole.seen, None),
    }


def _count_lists(plan: Plan, batch: Batch, times: Integers) -> Counts:
    """Count lists with ties, by the name of the entry, each with its total."""
    judged, ((_, ties),) = lists_for_all(plan, batch), batch.verdicts.values()
    tied = np.zeros(judged.size, bool)
    tied[[] if ties is None else ties.lists] = True
    known = None if batch.aligned is None else batch.aligned.known_users
    return _count_sorts(plan, judged, tied, np.ones_like(tied) if known is None else known, times)


def _count_untied(plan: Plan, judged: Judged, lists: UntiedLists) -> Counts:
    """Count lists without ties, as `_count_lists`."""
    return _count_sorts(plan, judged, np.zeros(judged.size, bool), lists.known, lists.times)


def _count_sorts(plan: Plan, judged: Judged, tied: Flags, known: Flags, times: Integers) -> Counts:
    handed, in_truth, ranked = judged.handed, judged.in_truth, judged.returned > 0
    deepest = max(plan.cutoffs, default=0)
    counts = {
        "users_unknown": (in_truth & ~known, in_truth),
        "lists_with_ties": (tied, ranked),
        "users_in_truth": (in_truth, None),
        "users_with_list": (in_truth & handed, None),
        "users_without_list": (in_truth & ~handed, in_truth),
        "users_without_relevant": (in_truth & (judged.relevant == 0), in_truth),
        "lists_not_in_truth": (handed & ~in_truth, handed),
        "lists_empty": (handed & ~ranked, handed),
        "lists_short": (handed & ranked & (judged.returned < deepest), handed),
        "without_any_hit": (handed & in_truth, handed & in_truth),
    }
    return {
        name: (int(times[flags].sum()), None if of is None else int(times[of].sum()))
        for name, (flags, of) in counts.items()
    }


def manifest_of_all(
    plan: Plan, batch: Batch, lists: int, truth_rows: int, numbers: tuple[int, int]
) -> dict[str, Any]:
    """Return the manifest of some lists with the sizes and fingerprints of all."""
    aligned, prints = batch.aligned, dict[str, str]()
    if aligned is None:
        raise ValueError("lists are judged with their inputs")
    for task in identify(aligned, prints):
        task()
    of_all = zip(prints.items(), numbers, strict=True)
    marks = {side: f"{mark.partition(':')[0]}:{number:016x}" for (side, mark), number in of_all}
    manifest = manifest_of(aligned, plan.profile, marks)
    manifest["inputs"]["predictions"]["rows"] = manifest["lists"] = lists
    manifest["inputs"]["truth"]["rows"] = truth_rows
    return manifest
