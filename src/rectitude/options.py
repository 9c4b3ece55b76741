"""Whether a value has the type that a step or a way of splitting asks for, and that type in
words.

Numbers that were asked for: whole ones, and those within a range, or an error that says so.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from datetime import date, datetime
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from rectitude.errors import BadName, nearest

_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    datetime: "a date",
    date: "a date",
    Mapping: "a table such as {'how': 'leave_last', 'n': 1}",
    object: "any value",
}


def require_fitting(value: object, kind: Any, name: str) -> None:
    """An error, with the nearest choice, if a value has not the type of an annotation."""
    if not fits(value, kind):
        guess = nearest(str(value), choices(kind))
        raise BadName(
            f"{name} is {value!r}.",
            f"{in_words(kind)}.",
            f"did you mean {guess}?" if guess else "",
        )


def fits(value: object, kind: Any) -> bool:
    """Whether a value has the type of an annotation: Literals, numbers, texts, dates, unions."""
    if _is_union(kind):
        return any(fits(value, one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return isinstance(value, str | int) and value in get_args(kind)
    if isinstance(value, bool):
        return kind in (bool, object)
    plain = get_origin(kind) or kind
    return isinstance(value, {int: Integral, float: Real}.get(plain, plain))


def in_words(kind: Any) -> str:
    """A type as an error names it."""
    if _is_union(kind):
        parts = [in_words(one) for one in get_args(kind) if one is not types.NoneType]
        return " or ".join(dict.fromkeys(parts))
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    return _WORDS[get_origin(kind) or kind]


def choices(kind: Any) -> list[str]:
    """The texts that a type allows, if it allows only some."""
    if _is_union(kind):
        return [choice for one in get_args(kind) for choice in choices(one)]
    return list(get_args(kind)) if get_origin(kind) is Literal else []


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def require_whole(number: object, name: str, least: int = 1) -> None:
    """A count that makes sense."""
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not whole or int(number) < least:  # type: ignore[call-overload]
        raise BadName(f"{name} is {number!r}.", f"a whole number of at least {least}.")


def require_between(number: object, name: str, low: float, high: float) -> None:
    """A number that is not below one end of a range, nor above the other."""
    real = isinstance(number, Real) and not isinstance(number, bool)
    value = float(number) if real else math.nan  # type: ignore[arg-type]
    if not low <= value <= high:  # nor is NaN
        raise BadName(f"{name} is {number!r}.", f"a number from {low:g} to {high:g}.")
