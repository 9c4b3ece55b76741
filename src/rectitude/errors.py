"""What can go wrong, and how it is said.

    RectitudeError
    +-- UnknownName          an unknown switch, choice, metric, profile or option (KeyError)
    +-- BadName              a metric name or cutoff that cannot be read          (ValueError)
    +-- UnreadableFile       missing, empty, truncated or not text                (OSError)
    +-- UnwritableFile       a result that cannot be written                      (OSError)
    +-- BadTable             columns missing, ambiguous or of the wrong kind      (ValueError)
    +-- BadIds               ids missing, or of different types on the two sides  (TypeError)
    +-- BadLists             lists that cannot be evaluated as they are           (ValueError)
    |   +-- BadScores        scores NaN, infinite or missing
    |   +-- DuplicateItems   an item twice in one list
    |   +-- TiedItems        equal scores, where the convention forbids them
    +-- BadTruth             truth that cannot be evaluated as it is              (ValueError)
    |   +-- DuplicateTruth   the same pair twice
    |   +-- BadGrades        grades a metric or convention forbids
    +-- UnknownIds           users or items not met in training                   (LookupError)
    +-- NothingToEvaluate    empty truth, empty predictions, no common user       (ValueError)
    +-- MissingNeed          a metric lacks something it needs                    (ValueError)
    +-- UndefinedValue       0/0, where the convention forbids it                 (ArithmeticError)
    +-- MetricFailed         a metric raised; the others still returned           (RuntimeError)

A message has up to three parts, one line each: what was found, what was expected, what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RectitudeError(Exception):
    """An error that says what was found, what was expected and what to do."""

    def __init__(self, found: str, expected: str = "", advice: str = "") -> None:
        self.found = found
        self.expected = expected
        self.advice = advice
        lines = [found]
        if expected:
            lines.append(f"expected {expected}")
        if advice:
            lines.append(advice)
        self.message = "\n  ".join(lines)
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[type[RectitudeError], tuple[str, str, str]]:
        return type(self), (self.found, self.expected, self.advice)


class UnknownName(RectitudeError, KeyError):
    """A switch, choice, metric, profile or option that does not exist."""


class BadName(RectitudeError, ValueError):
    """A metric name or cutoff that cannot be read."""


class UnreadableFile(RectitudeError, OSError):
    """A file that is missing, empty, truncated or not what its name says."""


class UnwritableFile(RectitudeError, OSError):
    """A result that cannot be written where it should go."""


class BadTable(RectitudeError, ValueError):
    """A table whose columns are missing, ambiguous or of the wrong kind."""


class BadIds(RectitudeError, TypeError):
    """Ids that are missing, or of different types on the two sides."""


class BadLists(RectitudeError, ValueError):
    """Lists that cannot be evaluated as they are."""


class BadScores(BadLists):
    """Scores that are NaN, infinite or missing."""


class DuplicateItems(BadLists):
    """An item twice in one list."""


class TiedItems(BadLists):
    """Equal scores, where the convention forbids them."""


class BadTruth(RectitudeError, ValueError):
    """Truth that cannot be evaluated as it is."""


class DuplicateTruth(BadTruth):
    """The same list and item twice in the truth."""


class BadGrades(BadTruth):
    """Grades that a metric or the convention forbids."""


class UnknownIds(RectitudeError, LookupError):
    """Users or items that were not met in training, where the convention forbids them."""


class NothingToEvaluate(RectitudeError, ValueError):
    """Empty truth, empty predictions, or no user common to both."""


class MissingNeed(RectitudeError, ValueError):
    """A metric lacks something it needs."""


class UndefinedValue(RectitudeError, ArithmeticError):
    """A value of 0/0, where the convention forbids it."""


class MetricFailed(RectitudeError, RuntimeError):
    """A metric raised; the others still returned."""


class MissingExtra(RectitudeError, ImportError):
    """An optional package is not installed."""


def unknown_name(
    kind: str, name: str, known: Iterable[str], where: str = "", note: str = ""
) -> UnknownName:
    """The error for a name that does not exist, with the nearest ones that do."""
    names = sorted(known)
    shown = ", ".join(names[:40]) + (", ..." if len(names) > 40 else "")
    found = f"{where or 'rectitude'} has no {kind} {name!r}."
    lines = [f"known: {shown}"] if shown else []
    if nearest(name, names):
        lines.append(f"did you mean {nearest(name, names)}?")
    return UnknownName(found, "", "\n  ".join([*lines, note] if note else lines))


def nearest(name: str, known: Iterable[str]) -> str:
    """The closest known names, quoted and joined by 'or'; empty if none is close."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.6)
    return " or ".join(repr(by_lower[match]) for match in close)
