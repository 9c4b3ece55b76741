"""Everything that can go wrong, and how rectitude says so.

    RectitudeError
    +-- UnknownName          a metric, switch, profile or option that does not exist  (KeyError)
    +-- BadName              a metric, cutoff or slice that cannot be parsed          (ValueError)
    +-- BadArgument          an argument out of range, or two that exclude each other (ValueError)
    +-- BadSetting           a wrong setting in an experiment, recipe or profile      (ValueError)
    +-- BadExtension         a model, metric or check of your own that cannot be used (TypeError)
    +-- NotComparable        results that differ in definition, truth or shape        (ValueError)
    +-- UnreadableFile       missing, empty, truncated or not text                    (OSError)
    +-- UnwritableFile       a result that cannot be written                          (OSError)
    +-- TooLarge             an input or result that would take too much memory       (MemoryError)
    +-- BadTable             columns missing, ambiguous or of the wrong type          (ValueError)
    +-- BadIds               ids missing, or of different types on the two sides      (TypeError)
    +-- BadLists             lists that cannot be evaluated as they are               (ValueError)
    |   +-- BadScores        scores that are NaN, infinite or missing
    |   +-- DuplicateItems   an item twice in one list
    |   +-- TiedItems        equal scores where the convention forbids ties
    +-- BadTruth             truth that cannot be evaluated as it is                  (ValueError)
    |   +-- DuplicateTruth   the same user and item twice
    |   +-- BadGrades        grades that a metric or the convention forbids
    +-- UnknownIds           users or items that are not in the training data         (LookupError)
    +-- NothingToEvaluate    empty truth, empty predictions, no user in common        (ValueError)
    +-- MissingNeed          a metric lacks an input that it needs                    (ValueError)
    +-- UndefinedValue       0/0 where the convention forbids it              (ArithmeticError)
    +-- MetricFailed         a metric raised; the others still returned values        (RuntimeError)
    +-- MissingExtra         an optional package that is not installed                (ImportError)
    +-- ForkedProcess        a fork in which Polars has no threads                    (RuntimeError)

A message has up to three parts, one per line: what was found, what was expected, what to do.
Control characters in it, from file names or data, are shown as `\\x1b`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_HIDDEN = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
"""Characters that control a terminal, change the direction of text, or break a line: the C0 and C1
sets, the marks of bidirectional text, and halves of characters, which cannot be printed at all."""


def make_visible(text: str, keep: str = "\n\t") -> str:
    r"""Return a text in which control characters are spelled out, so that nothing in data or file
    names controls the terminal of the reader.

    >>> print(make_visible("\x1b[31mred"))
    \x1b[31mred
    """
    return re.sub(_HIDDEN, lambda found: found[0] if found[0] in keep else _spell(found[0]), text)


def _spell(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_WORD, _TEXT = 300, 4_000
"""Characters that are shown: of a word, and of a part of a message."""


class RectitudeError(Exception):
    """An error that says what was found, what was expected and what to do."""

    def __init__(self, found: str, expected: str = "", advice: str = "") -> None:
        found, expected, advice = map(shorten, (found, expected, advice))
        self.found = found
        self.expected = expected
        self.advice = advice
        lines = [found]
        if expected:
            lines.append(f"expected {expected}")
        if advice:
            lines.append(advice)
        self.message = make_visible("\n  ".join(lines))
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[type[RectitudeError], tuple[str, str, str]]:
        return type(self), (self.found, self.expected, self.advice)


class UnknownName(RectitudeError, KeyError):
    """A metric, switch, profile or option that does not exist."""


class BadName(RectitudeError, ValueError):
    """A metric, cutoff or slice that cannot be parsed."""


class BadArgument(RectitudeError, ValueError):
    """An argument that is out of range, of the wrong kind, or excluded by another one."""


class BadSetting(RectitudeError, ValueError):
    """A setting in the file of an experiment, recipe or profile that is wrong or missing."""


class BadExtension(RectitudeError, TypeError):
    """A model, metric or check of your own that cannot be used."""


class NotComparable(RectitudeError, ValueError):
    """Results that cannot be added or compared: they differ in definition, truth or shape."""


class UnreadableFile(RectitudeError, OSError):
    """A file that is missing, empty, truncated or not what its name says."""


class UnwritableFile(RectitudeError, OSError):
    """A result that cannot be written where it should go."""


class TooLarge(RectitudeError, MemoryError):
    """An input or a result that would take more memory than it may."""


class BadTable(RectitudeError, ValueError):
    """A table whose columns are missing, ambiguous or of the wrong type."""


class BadIds(RectitudeError, TypeError):
    """Ids that are missing, or of different types on the two sides."""


class BadLists(RectitudeError, ValueError):
    """Lists that cannot be evaluated as they are."""


class BadScores(BadLists):
    """Scores that are NaN, infinite or missing."""


class DuplicateItems(BadLists):
    """An item twice in one list."""


class TiedItems(BadLists):
    """Equal scores where the convention forbids ties."""


class BadTruth(RectitudeError, ValueError):
    """Truth that cannot be evaluated as it is."""


class DuplicateTruth(BadTruth):
    """The same user and item twice in the truth."""


class BadGrades(BadTruth):
    """Grades that a metric or the convention forbids."""


class UnknownIds(RectitudeError, LookupError):
    """Users or items that are not in the training data, where the convention forbids them."""


class NothingToEvaluate(RectitudeError, ValueError):
    """Empty truth, empty predictions, or no user in common."""


class MissingNeed(RectitudeError, ValueError):
    """A metric lacks an input that it needs."""


class UndefinedValue(RectitudeError, ArithmeticError):
    """A value of 0/0 where the convention forbids it."""


class MetricFailed(RectitudeError, RuntimeError):
    """A metric raised; the others still returned values."""


class MissingExtra(RectitudeError, ImportError):
    """An optional package is not installed."""


class ForkedProcess(RectitudeError, RuntimeError):
    """A process that was forked after Polars had started its threads."""


def unknown_name(
    kind: str, name: str, known: Iterable[str], where: str = "", note: str = "", meant: str = ""
) -> UnknownName:
    """The error for a name that does not exist, with the names that were meant, in quotes, or else
    the nearest ones."""
    names = sorted(known)
    shown = ", ".join(names[:40]) + (", ..." if len(names) > 40 else "")
    found = f"{where or 'rectitude'} has no {kind} {name!r}."
    lines = [f"known: {shown}"] if shown else []
    meant = meant or nearest(name, names)
    if meant:
        lines.append(f"did you mean {meant}?")
    return UnknownName(found, "", "\n  ".join([*lines, note] if note else lines))


def nearest(name: str, known: Iterable[str]) -> str:
    """The closest known names, quoted and joined by 'or'; empty if none is close."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.6)
    return " or ".join(repr(by_lower[match]) for match in close)


def shorten(text: str) -> str:
    """Cut words that no one can read, such as a field of megabytes, and a text that never ends."""
    readable = cut_words(text)
    return readable if len(readable) <= _TEXT else f"{readable[:_TEXT]}..."


def cut_words(text: str) -> str:
    """Cut words that no one can read."""
    if len(text) <= _WORD:
        return text
    words = (word if len(word) <= _WORD else f"{word[:_WORD]}..." for word in text.split(" "))
    return " ".join(words)
