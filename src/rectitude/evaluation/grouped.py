"""Lists that were grouped where they were counted: each different list arrives once, with how often
it occurs.

Metrics of ranks have the same value for lists whose judged items stand alike, so only the different
lists are judged and measured. What the ledger and the manifest say of all lists is counted from
these, and from a few numbers that came with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rectitude.arrays import Integers
from rectitude.data.ledger import Ledger
from rectitude.evaluation.account import identify, manifest_of
from rectitude.evaluation.batch import Batch, judge_aligned, lists_for_all
from rectitude.evaluation.counted import CountedBatch, align_counted, can_defer_judging
from rectitude.evaluation.measure import measure, sees_ranks_and_grades
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.state import State

Counts = dict[str, tuple[int, int | None]]
"""By the name of an entry of the ledger: how many, and of how many."""


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


@dataclass(frozen=True, slots=True, eq=False)
class GroupedLists:
    """The different lists of several batches."""

    different: CountedBatch
    rows: Integers
    """(different lists,) the lowest number of a row with such a list"""
    times: Integers
    """(different lists,) how often the list occurs"""
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
    ledger = _ledger_of_all(plan, batch, grouped)
    manifest = _manifest_of_all(plan, batch, grouped)
    measurement = measure(plan, replace(batch, times=grouped.times))
    return State(
        measurement.totals,
        measurement.failures,
        ledger,
        manifest,
        lists=int(grouped.times.sum()),
        batches=grouped.whole.batches,
    )


def _ledger_of_all(plan: Plan, batch: Batch, grouped: GroupedLists) -> Ledger:
    """Return the ledger of the different lists with the counts of all."""
    ledger = batch.full_ledger()
    counts = {**_count_rows(grouped), **_count_lists(plan, batch, grouped.times)}
    for name, (count, of) in counts.items():
        if name in ledger.entries:
            ledger.entries[name] = replace(ledger.entries[name], count=count, of=of)
    whole, name = grouped.whole, "recommended_unknown"
    if name in ledger.entries:
        of = whole.columns * int(grouped.times.sum())
        ledger.entries[name] = replace(ledger.entries[name], of=of)
    if whole.unknown:
        entry = ledger.entries["items_unknown"]
        ledger.entries["items_unknown"] = replace(entry, example=repr(whole.first_unknown))
    return ledger


def _count_rows(grouped: GroupedLists) -> Counts:
    """Count rows of the truth and scores, by the name of the entry, each with its total."""
    whole = grouped.whole
    return {
        "truth_rows": (whole.truth_rows, None),
        "truth_low_grades": (0, whole.truth_rows),
        "items_unknown": (whole.unknown, whole.truth_rows),
        "items_unscored": (0, whole.truth_rows),
        "truth_masked": (whole.masked, whole.truth_rows),
        "scores_seen": (whole.seen, None),
    }


def _count_lists(plan: Plan, batch: Batch, times: Integers) -> Counts:
    """Count lists, by the name of the entry, each with its total."""
    judged, ((_, ties),) = lists_for_all(plan, batch), batch.verdicts.values()
    handed, in_truth, ranked = judged.handed, judged.in_truth, judged.returned > 0
    deepest = max(plan.cutoffs, default=0)
    tied = np.zeros(judged.size, bool)
    tied[[] if ties is None else ties.lists] = True
    known = None if batch.aligned is None else batch.aligned.known_users
    unknown = in_truth & (False if known is None else ~known)
    counts = {
        "users_unknown": (unknown, in_truth),
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


def _manifest_of_all(plan: Plan, batch: Batch, grouped: GroupedLists) -> dict[str, Any]:
    """Return the manifest of the different lists with the sizes and fingerprints of all."""
    aligned, prints, whole = batch.aligned, dict[str, str](), grouped.whole
    if aligned is None:
        raise ValueError("lists are judged with their inputs")
    for task in identify(aligned, prints):
        task()
    of_all = zip(prints.items(), whole.prints, strict=True)
    marks = {side: f"{mark.partition(':')[0]}:{number:016x}" for (side, mark), number in of_all}
    manifest, lists = manifest_of(aligned, plan.profile, marks), int(grouped.times.sum())
    manifest["inputs"]["predictions"]["rows"] = manifest["lists"] = lists
    manifest["inputs"]["truth"]["rows"] = whole.truth_rows
    return manifest
