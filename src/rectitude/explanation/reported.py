"""`Reported`: a value as it was printed, and the numbers that round to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Real

from rectitude.errors import BadArgument

_MOST_DECIMALS = 30


@dataclass(frozen=True, slots=True)
class Reported:
    """A printed value: any number from `low` to `high` may have been printed like this."""

    text: str
    low: float
    high: float

    @property
    def middle(self) -> float:
        """The middle of the interval."""
        return self.low + (self.high - self.low) / 2

    def fits(self, value: float) -> bool:
        """Return whether a number lies in the interval, ends included."""
        return self.low <= value <= self.high


def read_reported(value: object, decimals: int | None, tolerance: float | None) -> Reported:
    """Return the interval of numbers that a printed value may stand for.

    Its width comes from the decimals in the text, from `decimals`, or from `tolerance`. The
    tolerance is a fraction even if the value is printed in percent.

    >>> read_reported("6.12%", None, None)
    Reported(text='6.12%', low=0.06115, high=0.06125)
    """
    if decimals is not None and tolerance is not None:
        raise BadArgument(
            "decimals= and tolerance= were both given.", "at most one of them.", "leave one out."
        )
    text, number, printed = _read(value)
    if tolerance is not None:
        half = _check_tolerance(tolerance)
        exact = Fraction(float(number))  # a tolerance of 0 means exactly this float64
        return Reported(text, float(exact - half), float(exact + half))
    places = printed
    if decimals is not None:
        places = _check_decimals(decimals) + 2 * text.endswith("%")
    if places is None:
        raise BadArgument(
            f"the value {text} is a number, which does not say how many decimals were printed.",
            "text such as '0.0612', or a number together with decimals= or tolerance=.",
            "pass the value as text, as it was printed.",
        )
    half = Fraction(1, 2) / 10**places if places >= 0 else Fraction(10**-places, 2)
    return Reported(text, float(number - half), float(number + half))


def _read(value: object) -> tuple[str, Fraction, int | None]:
    """Return the value as text and as a number, and the decimals in the text (None for numbers)."""
    if isinstance(value, str):
        return _read_text(value.strip())
    if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
        return repr(float(value)), Fraction(float(value)), None
    raise BadArgument(
        f"the reported value is {value!r}.", "a finite number, or text such as '0.0612'."
    )


def _read_text(text: str) -> tuple[str, Fraction, int]:
    bare = text.removesuffix("%").rstrip()
    try:
        number = Decimal(bare)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise BadArgument(
            f"the value {text!r} is not a finite number.", "text such as '0.0612' or '6.12%'."
        )
    if bare != text:
        number = number.scaleb(-2)
    places = -int(number.as_tuple().exponent)
    if abs(places) > _MOST_DECIMALS:
        raise BadArgument(
            f"the value {text!r} has {places} decimals.", f"at most {_MOST_DECIMALS}."
        )
    return text, Fraction(number), places


def _check_tolerance(tolerance: float) -> Fraction:
    real = isinstance(tolerance, Real) and not isinstance(tolerance, bool)
    if not real or not math.isfinite(tolerance) or tolerance < 0:
        raise BadArgument(f"tolerance is {tolerance!r}.", "a finite number of at least 0.")
    return Fraction(float(tolerance))


def _check_decimals(decimals: int) -> int:
    whole = isinstance(decimals, int) and not isinstance(decimals, bool)
    if not whole or not 0 <= decimals <= _MOST_DECIMALS:
        raise BadArgument(
            f"decimals is {decimals!r}.", f"a whole number from 0 to {_MOST_DECIMALS}."
        )
    return decimals
