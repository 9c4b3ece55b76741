"""What metrics want of judged lists: places that are shown, and what else costs time."""

from __future__ import annotations

from collections.abc import Iterable

from rectitude.errors import BadName
from rectitude.profiles import Asked

COUNTED = ("unseen", "met", "stock", "wanted", "people", "predicted", "scored")
"""What lists are judged anew for, as it costs time that most metrics need not spend."""
OWN = ("predicted", "scored")
"""What changes how lists are read, so that nothing is shared with metrics that need it."""


def shared_by(asked: Iterable[Asked]) -> tuple[int | None, tuple[str, ...]]:
    """The most places that metrics want to see, and what they need, see `Run.shared`."""
    wants = [wanted_by(one) for one in asked if "shown" not in one.metric.requires or one.cutoff]
    needs = {need for _, some in wants if not set(some) & set(OWN) for need in some}
    return max((k or 0 for k, _ in wants), default=0) or None, tuple(
        need for need in COUNTED if need in needs
    )


def cutoffs_of(asked: Iterable[Asked]) -> dict[str, tuple[int, ...]]:
    """The cutoffs at which metrics are asked for that look at the items shown."""
    found: dict[str, tuple[int, ...]] = {}
    for one in asked:
        if one.cutoff and "shown" in one.metric.requires:
            found[one.metric.name] = (*found.get(one.metric.name, ()), one.cutoff)
    return found


def wanted_by(asked: Asked) -> tuple[int | None, tuple[str, ...]]:
    """How many places a metric must see, and what else it needs of the judging."""
    required = (*asked.metric.requires, *(("people",) if asked.by else ()))
    return shown_by(asked), tuple(need for need in COUNTED if need in required)


def shown_by(asked: Asked) -> int | None:
    """How many places of each list a metric must see; None for none."""
    if "shown" not in asked.metric.requires:
        return None
    if asked.cutoff is None:
        raise BadName(
            f"{str(asked.name)!r} looks at the items in the first places.",
            f"a cutoff: {asked.name}@10.",
        )
    return asked.cutoff
