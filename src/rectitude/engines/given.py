"""What the functions of a metric are given: choices of switches, numbers and texts, tables, and
counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rectitude.aggregate.state import UNDEFINED
from rectitude.errors import UndefinedValue
from rectitude.metrics.choices import CHOICES
from rectitude.metrics.facts import Facts
from rectitude.metrics.registry import Counts
from rectitude.metrics.signature import taken
from rectitude.profiles import Asked


def given_to(asked: Asked, facts: Facts) -> dict[str, Any]:
    """The keyword arguments of a metric's function: choices, numbers, facts."""
    given = _choices(asked)
    if asked.metric.kind == "counts":  # others are for what counts
        given = taken(asked.metric.function, given)
    return {**given, "facts": facts} if asked.metric.wants_facts else given


def of_counts(asked: Asked, counts: Counts, facts: Facts) -> float:
    """The value that counts stand for; where it is 0/0, what the convention says that is worth."""
    try:
        return float(asked.metric.function(counts, **given_to(asked, facts)))
    except UndefinedValue:
        if asked.convention.undefined not in UNDEFINED:
            raise
        return UNDEFINED[asked.convention.undefined]


def taken_by(counts: Callable[..., Any], asked: Asked) -> dict[str, Any]:
    """The keyword arguments of what counts for a metric."""
    return taken(counts, _choices(asked))


def _choices(asked: Asked) -> dict[str, Any]:
    choices = {s: CHOICES[s][getattr(asked.convention, s)] for s in asked.metric.switches}
    return {**choices, **asked.numbers}
