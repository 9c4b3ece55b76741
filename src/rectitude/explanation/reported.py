"""`Reported`: a value as it was printed, and which numbers print like it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Real

from rectitude.errors import BadName

_MOST_DECIMALS = 30


@dataclass(frozen=True, slots=True)
class Reported:
    """A printed value: every number from `low` to `high` could have been meant."""

    text: str
    low: float
    high: float

    @property
    def middle(self) -> float:
        """The value as a number."""
        return self.low + (self.high - self.low) / 2

    def fits(self, value: float) -> bool:
        """Whether a number could have been printed so; both ends of the interval could."""
        return self.low <= value <= self.high


def reported(value: object, decimals: int | None, tolerance: float | None) -> Reported:
    """What a printed value says: to the decimals it shows or `decimals` says, or as near as the
    tolerance, which is a fraction also where the value is printed in percent.

    >>> reported("6.12%", None, None)
    Reported(text='6.12%', low=0.06115, high=0.06125)
    """
    if decimals is not None and tolerance is not None:
        raise BadName("decimals= and tolerance= were given.", "one of them.")
    text, number, shown = _read(value)
    if tolerance is not None:
        half = _tolerance(tolerance)
        exact = Fraction(float(number))  # a tolerance of 0 asks for this very float64
        return Reported(text, float(exact - half), float(exact + half))
    places = shown if decimals is None else _decimals(decimals) + 2 * text.endswith("%")
    if places is None:
        raise BadName(
            f"the value {text} is a number, which does not say how many decimals were printed.",
            "text such as '0.0612', or decimals= or tolerance= with it.",
        )
    half = Fraction(1, 2) / 10**places if places >= 0 else Fraction(10**-places, 2)
    return Reported(text, float(number - half), float(number + half))


def _read(value: object) -> tuple[str, Fraction, int | None]:
    """The value as text and as a number, and the decimals that text shows."""
    if isinstance(value, str):
        return _read_text(value.strip())
    if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
        return repr(float(value)), Fraction(float(value)), None
    raise BadName(f"the value is {value!r}.", "a finite number, or text such as '0.0612'.")


def _read_text(text: str) -> tuple[str, Fraction, int]:
    bare = text.removesuffix("%").rstrip()
    try:
        number = Decimal(bare)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise BadName(f"the value {text!r} is no finite number.", "text such as '0.0612'.")
    if bare != text:
        number = number.scaleb(-2)
    places = -int(number.as_tuple().exponent)
    if abs(places) > _MOST_DECIMALS:
        raise BadName(f"the value {text!r} has {places} decimals.", f"at most {_MOST_DECIMALS}.")
    return text, Fraction(number), places


def _tolerance(given: float) -> Fraction:
    real = isinstance(given, Real) and not isinstance(given, bool)
    if not real or not math.isfinite(given) or given < 0:
        raise BadName(f"tolerance is {given!r}.", "a finite number of at least 0.")
    return Fraction(float(given))


def _decimals(given: int) -> int:
    whole = isinstance(given, int) and not isinstance(given, bool)
    if not whole or not 0 <= given <= _MOST_DECIMALS:
        raise BadName(f"decimals is {given!r}.", f"a whole number from 0 to {_MOST_DECIMALS}.")
    return given
