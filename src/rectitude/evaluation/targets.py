"""Logits that were counted and added up where they are.

Every list has one target, whose standing decides all metrics of ranks. Different standings arrive
once, each with how often it occurs; classes are counted and losses added before they arrive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rectitude.aggregate.sums import Counted, Sums, Total
from rectitude.arrays import Integers, Ragged
from rectitude.data.dense import TopClasses
from rectitude.evaluation.batch import Batch, judge_aligned
from rectitude.evaluation.counted import CountedBatch, align_counted, can_defer_judging
from rectitude.evaluation.grouped import (
    Counts,
    Repeated,
    manifest_of_all,
    measure_repeated,
    with_counts,
)
from rectitude.evaluation.measure import sees_ranks_and_grades
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.state import State
from rectitude.exact import UNIT_BITS
from rectitude.judge.judge import Ties, Verdict
from rectitude.judge.judged import Extras, Judged, Single, is_relevant
from rectitude.judge.match import Matches, ranks
from rectitude.parallel import Once
from rectitude.profiles import Asked

Kind = Literal["ranks", "classes", "loss"]


@dataclass(frozen=True, slots=True, eq=False)
class CountedTargets:
    """What metrics, ledger and manifest need to know about the targets of several batches."""

    lists: int
    classes: int
    source_description: str
    counted_by: str | None
    batches: int
    standings: NDArray[np.int64]
    """(3, different standings) as of `CountedBatch`"""
    times: Integers
    """(different standings,) how often each occurs"""
    first_tied: int
    """the lowest number of a row whose target is tied"""
    hits: Mapping[int, Mapping[str, Integers]]
    """by the last rank that counts as a hit: targets, predictions and matches of each class"""
    loss: int | None
    """the sum of all losses, see `rectitude.exact`"""
    prints: tuple[int, int]
    """the fingerprints of predictions and truth, as numbers"""


def kinds_of(plan: Plan) -> Mapping[str, Kind] | None:
    """Return what each metric is computed from; None if a metric needs the lists themselves."""
    kinds = {name: _kind_of(asked) for name, asked in plan.measured.items()}
    apart = plan.spread or plan.by_user or not can_defer_judging(plan, "logits")
    return None if apart or None in kinds.values() else kinds  # type: ignore[return-value]


def _kind_of(asked: Asked) -> Kind | None:
    metric, convention = asked.metric, asked.convention
    if not is_relevant(np.ones(1), convention.relevant_from).all() or asked.by:
        return None
    if convention.list_needed == "hit" or convention.ties == "average":
        return None
    if metric.kind == "counts":
        of_classes = metric.counts is not None and metric.counts.__name__ == "count_classes"
        return "classes" if of_classes and asked.stat == "mean" else None
    if not sees_ranks_and_grades(asked):
        return None
    if metric.name == "cross_entropy":
        return "loss"
    return None if metric.requires and metric.name != "accuracy" else "ranks"


def cutoffs_of(plan: Plan, kinds: Mapping[str, Kind]) -> tuple[int, ...]:
    """Return the last ranks that count as hits in metrics of classes."""
    asked = [plan.measured[name] for name, kind in kinds.items() if kind == "classes"]
    return tuple(sorted({request.cutoff or 1 for request in asked}))


def measure_targets(plan: Plan, targets: CountedTargets) -> State:
    """Return the state of all lists."""
    kinds = kinds_of(plan) or {}
    batch = _judge_examples(plan, targets)
    ledger = with_counts(batch.full_ledger(), _count_all(plan, targets))
    manifest = manifest_of_all(plan, batch, targets.lists, targets.lists, targets.prints)
    asked = {name: plan.measured[name] for name, kind in kinds.items() if kind == "ranks"}
    verdict = _judge_standings(plan, targets)
    groups = (Repeated(verdict.judged, targets.times),)
    totals = measure_repeated(plan, asked, replace(batch, views=Once()), groups, verdict.ties)
    for name, kind in kinds.items():
        if kind == "classes":
            counts = targets.hits[plan.measured[name].cutoff or 1]
            totals[name] = Total(Counted(counts, targets.lists))
        elif kind == "loss":
            totals[name] = _total_loss(plan.measured[name], targets)
    return State(totals, {}, ledger, manifest, lists=targets.lists, batches=targets.batches)


def _total_loss(asked: Asked, targets: CountedTargets) -> Total:
    size = targets.lists
    sums = Sums(targets.loss or 0, size << UNIT_BITS, counted=size)
    return Total(sums, None if "moving_up_helps" in asked.metric.breaks else (sums, sums))


def _judge_examples(plan: Plan, targets: CountedTargets) -> Batch:
    """Judge one list of each sort, with and without ties, for the words of ledger and manifest."""
    tied = targets.standings[1] > 1
    chosen = np.array([np.argmax(flags) for flags in (~tied, tied) if flags.any()])
    size, nothing = len(chosen), np.zeros(len(chosen), np.int64)
    example = CountedBatch(
        (size, targets.classes),
        targets.source_description,
        Ragged(np.arange(size + 1), np.zeros(size, np.int32)),
        None,
        np.ones(size, bool),
        0,
        targets.standings[:, chosen].astype(np.int32),
        None,
        0,
        TopClasses(nothing, nothing, nothing, np.zeros(size)),
        targets.counted_by,
    )
    numbers = np.where(tied[chosen], targets.first_tied, 0)
    return judge_aligned(plan, align_counted([example], plan, numbers))


def _count_all(plan: Plan, targets: CountedTargets) -> Counts:
    """Count all lists, by the name of the entry, each with its total."""
    size, deepest = targets.lists, max(plan.cutoffs, default=0)
    tied = int(targets.times[targets.standings[1] > 1].sum())
    nothing = ("users_without_list", "users_without_relevant", "lists_not_in_truth", "lists_empty")
    return {
        "truth_rows": (size, None),
        "users_in_truth": (size, None),
        "users_with_list": (size, None),
        "truth_duplicates": (0, size),
        "items_unknown": (0, size),
        **dict.fromkeys(nothing, (0, size)),
        "lists_with_ties": (tied, size),
        "lists_short": (size if targets.classes < deepest else 0, size),
        "recommended_unknown": (0, size * targets.classes),
    }


def _judge_standings(plan: Plan, targets: CountedTargets) -> Verdict:
    """Judge a list for each standing."""
    above, level, before = targets.standings
    convention, numbers = plan.convention, np.arange(len(above))
    if convention.ties == "item_descending":
        before = level - 1 - before
    matches = Matches(numbers, numbers, np.zeros_like(numbers), above, level, before)
    ones = np.ones(len(above))

    def judge_under(rule: str) -> Judged:
        nothing = np.zeros_like(numbers)
        returned = np.full(len(above), targets.classes)
        return Judged(
            list=numbers,
            rank=ranks(matches, ones, rule, np.zeros_like),
            grade=ones,
            place=nothing,
            returned=returned,
            truth=Ragged(np.arange(len(above) + 1), ones),
            handed=ones.astype(bool),
            in_truth=ones.astype(bool),
            relevant_from=convention.relevant_from,
            extras=Extras(candidates=returned, single=Single(nothing, nothing, targets.classes)),
        )

    judged, tied = judge_under(convention.ties), np.flatnonzero(level > 1)
    if not len(tied):
        return Verdict(judged, None)
    own, worst, best = (
        judge_under(rule).only(tied) for rule in (convention.ties, "pessimistic", "optimistic")
    )
    return Verdict(judged, Ties(tied, own, worst, best))
