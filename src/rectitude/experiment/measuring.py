"""The numbers of a model with those of slices: one that cannot be cut costs no other number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rectitude.aggregate.evaluation import Evaluation
from rectitude.engines.local import evaluate
from rectitude.errors import RectitudeError

By = str | Sequence[str]


def measured(lists: object, truth: object, slices: Sequence[By], **given: Any) -> Evaluation:
    """An evaluation with its slices. Those that there cannot be, such as three groups of users who
    are all alike, are left out, and the ledger says why."""
    try:
        return evaluate(lists, truth, slices=slices or None, **given)
    except RectitudeError:
        if not slices:
            raise
    evaluate(lists, truth, **given)  # what is no matter of slices is told as it is
    why = {str(one): _obstacle(lists, truth, one, given) for one in slices}
    kept = [one for one in slices if not why[str(one)]]
    found = evaluate(lists, truth, slices=kept or None, **given)
    reasons = "; ".join(f"{one}: {reason}" for one, reason in why.items() if reason)
    found.ledger.count(
        "slices_left_out", len(slices) - len(kept), "slicings could not be made: left out",
        len(slices), reasons, "warning",
    )  # fmt: skip
    return found


def _obstacle(lists: object, truth: object, by: By, given: dict[str, Any]) -> str:
    """Why one slicing cannot be made; nothing if it can."""
    try:
        evaluate(lists, truth, slices=[by], **given)
    except RectitudeError as error:
        return error.found
    return ""
