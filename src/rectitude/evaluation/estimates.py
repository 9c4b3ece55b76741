"""What metrics of a full ranking were likely to be, from predictions for sampled candidates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

import numpy as np

from rectitude.arrays import Integers, running, totals
from rectitude.candidates.estimators import Estimate, Method, Over, estimate
from rectitude.candidates.value import Candidates, stored
from rectitude.data.ledger import Ledger
from rectitude.errors import BadName, MissingNeed
from rectitude.evaluation.evaluate import plan_of
from rectitude.evaluation.inputs import Arguments, Reach, given_of, opened
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
    """Metrics over all items with their standard errors, by name, where `candidates` are a sample.

    The other arguments are those of `evaluate`. Every positive is looked at alone among the
    negatives of its user; equal scores stand before it, and a positive without a score stands last.
    """
    plan = plan_of(predictions, metrics, convention)
    candidates = _sample(stored(inputs.get("candidates")))
    given = given_of(predictions, truth, {**inputs, "candidates": candidates}, plan.profile.padding)
    aligned = align_inputs(opened(given, Reach.of(plan.asked), plan.convention), exact_items=True)
    worst = plan.convention.replace(ties="pessimistic")
    aligned, verdict = judge(aligned, Judging.of(worst), Ledger())
    lists = verdict.judged.at_threshold(worst.relevant_from)
    negatives = candidates.settings["count"]
    ranks, owner = _ranks(lists, negatives)
    items = round(candidates.settings["items_left"]) + 1
    return {
        str(one.name): estimate(
            ranks, str(one.name), negatives=negatives, items=items, method=method,
            users=aligned.owners[owner], over=over,
        )
        for one in plan.asked
    }  # fmt: skip


def _sample(candidates: object) -> Candidates:
    """Candidates from which a full ranking can be told, or an error that says why not."""
    if not isinstance(candidates, Candidates) or "items_left" not in candidates.settings:
        raise BadName("the candidates are no sample.", "candidates that `sampled` drew, or a file.")
    made = candidates.settings
    reasons = {
        "drawn by popularity": made["weight"] == "popularity" and made["exponent"] != 0,
        "drawn with replacement": made["replacement"] == "with",
        "drawn for each positive": candidates.linked,
    }
    for reason in [reason for reason, holds in reasons.items() if holds]:
        raise BadName(
            f"the candidates were {reason}.",
            "a uniform sample of distinct items for each user.",
            "for what else can be told, see rectitude.candidates.estimators.",
        )
    return candidates


def _ranks(lists: Judged, negatives: int) -> tuple[Integers, Integers]:
    """The rank of each positive among the negatives of its list, and which list it is of."""
    hit = lists.hit
    rank, owner = lists.rank[hit], lists.list[hit]
    rank = rank - running(np.ones(len(rank), bool), owner) + 1
    found = totals(owner, lists.size).astype(np.int64)
    ranked = lists.in_truth & lists.handed
    short = ranked & (lists.returned - found != negatives)
    if short.any():
        raise MissingNeed(
            f"{int(short.sum()):,} of {int(ranked.sum()):,} lists do not rank {negatives:,} "
            "negatives, so that ranks among all are unknown.",
            "lists that hold every candidate of their user, the same number for each.",
            "score all candidates, or hand over rt.Scores.",
        )
    lost = np.repeat(np.arange(lists.size), lists.relevant.astype(np.int64) - found)
    last = np.full(len(lost), negatives + 1)
    return np.concatenate((rank, last)), np.concatenate((owner, lost))
