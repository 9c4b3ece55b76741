"""Estimates of metrics over all items, from predictions for sampled candidates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

import numpy as np

from rectitude.arrays import Integers, running_count, sum_by_group
from rectitude.candidate_sets.estimators import Estimate, Method, Over, estimate
from rectitude.candidate_sets.value import Candidates, load_stored
from rectitude.data.ledger import Ledger
from rectitude.errors import BadArgument, MissingNeed
from rectitude.evaluation.evaluate import plan_of
from rectitude.evaluation.inputs import Arguments, Reach, gather_arguments, open_inputs
from rectitude.judge.align import align_inputs
from rectitude.judge.judge import Judging, judge
from rectitude.judge.judged import Judged


def estimates(
    predictions: object,
    truth: object,
    metrics: str | Iterable[str] | None = None,
    convention: object = None,
    *,
    method: Method = "bias_variance",
    over: Over = "users",
    **inputs: Unpack[Arguments],
) -> dict[str, Estimate]:
    """Estimate metrics over all items from a sample of `candidates`; return estimates with standard
    errors, by name.

    The other arguments are those of `evaluate`. Each positive is ranked alone among the negatives
    of its user. Negatives with the same score rank above it, and a positive without a score ranks
    last.
    """
    plan = plan_of(predictions, metrics, convention)
    candidates = _require_uniform_sample(load_stored(inputs.get("candidates")))
    given = gather_arguments(
        predictions, truth, {**inputs, "candidates": candidates}, plan.profile.padding
    )
    aligned = align_inputs(
        open_inputs(given, Reach.of(plan.asked), plan.convention), exact_items=True
    )
    worst = plan.convention.replace(ties="pessimistic")
    aligned, verdict = judge(aligned, Judging.of(worst), Ledger())
    lists = verdict.judged.at_threshold(worst.relevant_from)
    negatives = candidates.settings["count"]
    ranks, owner = _ranks(lists, negatives)
    items = round(candidates.settings["items_left"]) + 1
    return {
        str(asked.name): estimate(
            ranks, str(asked.name), negatives=negatives, items=items, method=method,
            users=aligned.owners[owner], over=over,
        )
        for asked in plan.asked
    }  # fmt: skip


def _require_uniform_sample(candidates: object) -> Candidates:
    """Return candidates that allow estimates over all items. Raise an error for any other
    candidates."""
    if not isinstance(candidates, Candidates) or "items_left" not in candidates.settings:
        raise BadArgument(
            "the candidates are not a sample.", "candidates from `sampled`, or a file with them."
        )
    settings = candidates.settings
    reasons = {
        "drawn by popularity": settings["weight"] == "popularity" and settings["exponent"] != 0,
        "drawn with replacement": settings["replacement"] == "with",
        "drawn for each positive": candidates.linked,
    }
    for reason in [reason for reason, holds in reasons.items() if holds]:
        raise BadArgument(
            f"the candidates were {reason}.",
            "a uniform sample of distinct items for each user.",
            "rectitude.candidate_sets.estimators describes what can be estimated.",
        )
    return candidates


def _ranks(lists: Judged, negatives: int) -> tuple[Integers, Integers]:
    """Return the rank of each positive among the negatives of its list, and the number of that
    list."""
    hit = lists.hit
    rank, owner = lists.rank[hit], lists.list[hit]
    rank = rank - running_count(np.ones(len(rank), bool), owner) + 1
    hits = sum_by_group(owner, lists.size).astype(np.int64)
    ranked = lists.in_truth & lists.handed
    short = ranked & (lists.returned - hits != negatives)
    if short.any():
        raise MissingNeed(
            f"{int(short.sum()):,} of {int(ranked.sum()):,} lists do not rank {negatives:,} "
            "negatives, so the ranks among all candidates are unknown.",
            "lists with all candidates of their user, the same number for each user.",
            "score all candidates, or pass rt.Scores.",
        )
    missed = np.repeat(np.arange(lists.size), lists.relevant.astype(np.int64) - hits)
    last = np.full(len(missed), negatives + 1)
    return np.concatenate((rank, last)), np.concatenate((owner, missed))
