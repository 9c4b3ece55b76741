"""Numbers that were asked for: whole ones, and those within a range, or an error that says so."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np

from rectitude.errors import BadName


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
