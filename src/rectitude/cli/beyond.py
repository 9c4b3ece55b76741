"""What `rectitude evaluate` adds to numbers on request: marks of small slices, and estimates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from rectitude.errors import BadName, RectitudeError

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.candidates.estimators import Estimate

_NOT_ESTIMATED = ("metrics", "intervals", "slices")


def marked(evaluations: Mapping[str, Evaluation], smallest: int) -> dict[str, Evaluation]:
    """The evaluations with slices marked that have fewer lists or relevant rows than this."""
    if smallest < 0:
        raise BadName(f"--smallest-slice is {smallest}.", "a number of lists.")
    return {
        label: one
        if one.slices is None
        else replace(one, slices=one.slices.readable_from(smallest, smallest))
        for label, one in evaluations.items()
    }


def with_estimates(
    evaluation: Evaluation, predictions: Any, truth: Any, given: Mapping[str, Any]
) -> Evaluation:
    """The evaluation with what its metrics are likely to be over all items in its manifest."""
    from rectitude.engines.estimated import estimates

    names = [name for name in evaluation if _has_estimator(name)]
    rest = {name: given[name] for name in given if name not in _NOT_ESTIMATED}
    found = estimates(predictions, truth, names, **rest)
    told = {name: _stored(found[name]) if name in found else None for name in evaluation}
    return replace(evaluation, manifest={**evaluation.manifest, "estimates": told})


def _has_estimator(metric: str) -> bool:
    from rectitude.candidates.estimators import formula

    try:
        formula(metric)
    except RectitudeError:
        return False
    return True


def _stored(estimate: Estimate) -> dict[str, Any]:
    facts = asdict(estimate)
    unknown = [name for name, fact in facts.items() if isinstance(fact, float) and math.isnan(fact)]
    return {**facts, **dict.fromkeys(unknown)}


def estimated(evaluations: Mapping[str, Evaluation]) -> str:
    """The estimates in words, run by run."""
    lines = ["", "over all items, estimated from the sample:"]
    for label, one in evaluations.items():
        lines += [f"{label}:"] if len(evaluations) > 1 else []
        lines += [f"  {_line(name, told)}" for name, told in one.manifest["estimates"].items()]
    return "\n".join(lines) + "\n"


def _line(name: str, told: Mapping[str, Any] | None) -> str:
    if told is None:
        return f"{name}: no estimator for this metric"
    error = "unknown" if told["standard_error"] is None else f"{told['standard_error']:.4f}"
    return f"{name} = {told['value']:.4f} +- {error} ({told['method']})"
