"""`trace`: compute one metric for one list step by step, as you would check it by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from rectitude.aggregate.definition import choice_in_words, formula
from rectitude.aggregate.sums import UNDEFINED, counts_in_mean
from rectitude.errors import BadName
from rectitude.evaluation.batch import Batch, judge_for, require_closed_form, view_of
from rectitude.evaluation.inputs import Arguments, Reach, gather_arguments, open_inputs
from rectitude.evaluation.measure import (
    counts_of,
    ratio_of,
)
from rectitude.evaluation.plan import Plan
from rectitude.explanation.trace.alone import Alone, alone, number_of
from rectitude.explanation.trace.lines import ideal_lines, lines_of, lines_of_truth
from rectitude.explanation.trace.result import Trace
from rectitude.explanation.trials import one_name
from rectitude.judge.align import align_inputs
from rectitude.judge.judged import Judged
from rectitude.profiles import Asked, profile_of


def trace(
    predictions: object,
    truth: object,
    metric: str,
    user: object,
    convention: object = None,
    **inputs: Unpack[Arguments],
) -> Trace:
    """Show how the value of one list comes about: the list of a user, or of a key with `list_key`.

    The arguments are those of `evaluate`. The value is the one in `Evaluation.per_list`.

    >>> trace({"ann": ["a", "b"]}, {"ann": ["b"]}, "mrr", "ann").value
    0.5
    """
    profile = profile_of(convention)
    asked = profile.resolve(one_name(metric))
    _require_lists(asked)
    arguments = gather_arguments(predictions, truth, inputs, profile.padding)
    sources = open_inputs(arguments, Reach.of([asked]), profile.convention)
    sides = align_inputs(sources, exact_items=True)
    single = alone(sides, number_of(sides, user))
    return _trace_list(Plan.of([asked], profile), Batch.of(single.sides), single, profile.label)


def _require_lists(asked: Asked) -> None:
    if asked.metric.kind == "derived":
        at = "" if asked.name.at is None else f"@{asked.name.at}"
        raise BadName(
            f"{str(asked.name)!r} is computed from means over all lists, so no list has a value.",
            "a metric that it is computed from: "
            f"{', '.join(f'{base}{at}' for base in asked.metric.of)}.",
            "trace these metrics one by one.",
        )


def _trace_list(plan: Plan, batch: Batch, single: Alone, label: str) -> Trace:
    asked = plan.asked[0]
    batch.facts.require(asked.metric)
    k, metric = asked.cutoff, asked.metric
    judged = view_of(plan, batch, asked, judge_for(plan, batch, asked).judged)
    require_closed_form(asked, judged)
    traced = judged.only(np.array([single.number]))
    counts = bool(counts_in_mean(traced, asked.convention, k)[0])
    value: dict[str, Any] = {}
    if metric.kind == "counts":
        value = {"counted": _counts(asked, traced)}
    else:
        ratio = ratio_of(asked, judged, batch.facts)
        fraction = (float(ratio.above[single.number]), float(ratio.below[single.number]))
        value = dict(zip(("above", "below"), fraction, strict=True))
        value["value"] = _value(asked, *fraction) if counts else None
    wanted = lines_of_truth(single, asked, traced)
    return Trace(
        user=single.key,
        metric=str(asked.name),
        title=f"{metric.title}. {metric.about}",
        formula=formula(asked),
        profile=label,
        cutoff=k,
        lines=lines_of(batch.facts, asked, single, traced, wanted),
        wanted=wanted,
        returned=int(traced.returned[0]),
        relevant=int(traced.relevant[0]),
        reachable=int(traced.reachable(k)[0]),
        hits=float(traced.hits(k)[0]),
        counts=counts,
        reasons=_reasons(asked, traced),
        ideal=ideal_lines(batch.facts, asked, traced),
        choices={s: choice_in_words(s, asked.convention) for s in metric.obeys},
        numbers=dict(asked.numbers),
        **value,
    )


def _value(asked: Asked, above: float, below: float) -> float | None:
    """Return the fraction; for 0/0 what the convention says, or None if it is undefined."""
    if below:
        return above / below
    if asked.convention.average == "micro":
        return None
    substitute = UNDEFINED.get(asked.convention.undefined)
    return None if substitute is None or np.isnan(substitute) else substitute


def _counts(asked: Asked, traced: Judged) -> dict[str, dict[int, int]]:
    return {
        name: {int(index): int(counts[index]) for index in np.flatnonzero(counts)}
        for name, counts in counts_of(asked, traced).counts.items()
    }


def _reasons(asked: Asked, traced: Judged) -> tuple[str, ...]:
    """Return what the convention requires of a list, and whether this list meets it."""
    convention, k = asked.convention, asked.cutoff
    only_this = {
        "truth_needed": convention.replace(list_needed="none"),
        "list_needed": convention.replace(truth_needed="none"),
    }
    reasons = []
    for switch, relaxed in only_this.items():
        met = counts_in_mean(replace(traced), relaxed, k)[0]
        required = choice_in_words(switch, convention)
        reasons.append(f"{switch}: {required}: {'yes' if met else 'no'}")
    return tuple(reasons)
