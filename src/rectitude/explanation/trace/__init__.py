"""`trace`: one list and one metric, step by step, as a person would check it by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from rectitude.aggregate.definition import choice_in_words, formula
from rectitude.aggregate.sums import UNDEFINED, counted
from rectitude.errors import BadName
from rectitude.evaluation.batch import Batch, judged_for, require_closed_form, view_of
from rectitude.evaluation.inputs import Arguments, Reach, given_of, opened
from rectitude.evaluation.measure import (
    counts_of,
    ratio_of,
)
from rectitude.evaluation.plan import Plan
from rectitude.explanation.trace.alone import Alone, alone, number_of
from rectitude.explanation.trace.lines import ideal_lines, lines_of, wanted_of
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
    """Follow one metric through one list: the list of a user, or with `list_key` that of a key.

    The arguments are those of `evaluate`, and so is the value: that of `Evaluation.per_list`.

    >>> trace({"ann": ["a", "b"]}, {"ann": ["b"]}, "mrr", "ann").value
    0.5
    """
    profile = profile_of(convention)
    asked = profile.resolve(one_name(metric))
    _require_lists(asked)
    given = given_of(predictions, truth, inputs, profile.padding)
    sources = opened(given, Reach.of([asked]), profile.convention)
    sides = align_inputs(sources, exact_items=True)
    one = alone(sides, number_of(sides, user))
    return _traced(Plan.of([asked], profile), Batch.of(one.sides), one, profile.label)


def _require_lists(asked: Asked) -> None:
    if asked.metric.kind == "derived":
        at = "" if asked.name.at is None else f"@{asked.name.at}"
        raise BadName(
            f"{str(asked.name)!r} is made of the values over all lists; no list has one.",
            f"one of its parts: {', '.join(f'{base}{at}' for base in asked.metric.of)}.",
        )


def _traced(plan: Plan, batch: Batch, one: Alone, label: str) -> Trace:
    asked = plan.asked[0]
    batch.facts.require(asked.metric)
    k, metric = asked.cutoff, asked.metric
    judged = view_of(plan, batch, asked, judged_for(plan, batch, asked).judged)
    require_closed_form(asked, judged)
    mine = judged.only(np.array([one.number]))
    enters = bool(counted(mine, asked.convention, k)[0])
    value: dict[str, Any] = {}
    if metric.kind == "counts":
        value = {"counted": _counts(asked, mine)}
    else:
        ratio = ratio_of(asked, judged, batch.facts)
        fraction = (float(ratio.above[one.number]), float(ratio.below[one.number]))
        value = dict(zip(("above", "below"), fraction, strict=True))
        value["value"] = _value(asked, *fraction) if enters else None
    wanted = wanted_of(one, asked, mine)
    return Trace(
        user=one.key,
        metric=str(asked.name),
        title=f"{metric.title}. {metric.about}",
        formula=formula(asked),
        profile=label,
        cutoff=k,
        lines=lines_of(batch.facts, asked, one, mine, wanted),
        wanted=wanted,
        returned=int(mine.returned[0]),
        relevant=int(mine.relevant[0]),
        reachable=int(mine.reachable(k)[0]),
        hits=float(mine.hits(k)[0]),
        counts=enters,
        reasons=_reasons(asked, mine),
        ideal=ideal_lines(batch.facts, asked, mine),
        choices={s: choice_in_words(s, asked.convention) for s in metric.obeys},
        numbers=dict(asked.numbers),
        **value,
    )


def _value(asked: Asked, above: float, below: float) -> float | None:
    """The fraction; what 0/0 is worth under the convention, None for nothing."""
    if below:
        return above / below
    if asked.convention.average == "micro":
        return None
    worth = UNDEFINED.get(asked.convention.undefined)
    return None if worth is None or np.isnan(worth) else worth


def _counts(asked: Asked, mine: Judged) -> dict[str, dict[int, int]]:
    found = counts_of(asked, mine).counts
    return {
        name: {int(place): int(counts[place]) for place in np.flatnonzero(counts)}
        for name, counts in found.items()
    }


def _reasons(asked: Asked, mine: Judged) -> tuple[str, ...]:
    """What the convention asks of a list, and whether this one has it."""
    convention, k = asked.convention, asked.cutoff
    without = {
        "truth_needed": convention.replace(list_needed="none"),
        "list_needed": convention.replace(truth_needed="none"),
    }
    said = []
    for switch, rest in without.items():
        there = counted(replace(mine), rest, k)[0]
        said.append(f"{switch}: {choice_in_words(switch, convention)}: {'yes' if there else 'no'}")
    return tuple(said)
