"""Compare a published value with your own: are they the same quantity at all?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rectitude.convention import SWITCHES
from rectitude.errors import BadArgument
from rectitude.explanation.reported import Reported, read_reported
from rectitude.profiles import Asked

_NEAR = 0.05
_PRECISE = 5e-4  # with fewer than three decimals, many values match by accident
Standing = Literal["same", "comparable", "void", "doubtful", "open"]


@dataclass(frozen=True, slots=True)
class ReferenceCheck:
    """How a published value compares with the value under the convention in force."""

    given: str
    """the value as it was given"""
    value: float
    """the value as a fraction"""
    tolerance: float
    """half a unit of the last printed decimal"""
    standing: Standing
    """same: equals the value in force to the printed decimals; comparable: known to be the same
    quantity; void: another quantity; doubtful: close to another quantity; open: unknown"""
    fits: tuple[str, ...]
    """the quantities that equal it to the printed decimals"""
    nearest: str
    nearest_value: float
    differs: Mapping[str, tuple[object, object]]
    """the switches in which the published value's convention differs from the one in force"""
    theirs: float | None
    """the value of these predictions under the published value's convention, if it is known"""


def compare_with(
    reference: float | str,
    quantities: Mapping[str, tuple[str, float]],
    differs: Mapping[str, tuple[object, object]] | None = None,
    own: float | None = None,
) -> ReferenceCheck:
    """Compare a published value with every quantity (name -> description and value).

    `differs` has the switches in which the published value's convention differs, or is None if that
    convention is unknown; `own` is the value that this convention gives for these lists.
    """
    printed = _read(reference)
    value, tolerance = printed.middle, (printed.high - printed.low) / 2
    fits = [name for name, (_, number) in quantities.items() if printed.fits(number)]
    nearest = min(quantities, key=lambda name: abs(quantities[name][1] - value))
    in_force = quantities["in_force"][1] if "in_force" in quantities else None
    same = own is not None and in_force is not None and abs(own - in_force) <= tolerance
    standing: Standing = "open"
    if differs is not None:
        standing = "comparable" if same or not differs else "void"
    elif "in_force" in fits:
        standing = "same"
    elif fits and tolerance <= _PRECISE:
        standing = "void"
    elif in_force != quantities[nearest][1] and _near(value, quantities[nearest][1]):
        standing = "doubtful"
    return ReferenceCheck(
        str(reference), value, tolerance, standing, tuple(fits), nearest, quantities[nearest][1],
        differs or {}, own,
    )  # fmt: skip


def _near(value: float, other: float) -> bool:
    """Return whether two values are so close that they may be the same quantity."""
    return abs(value - other) <= _NEAR * other


def _read(reference: float | str) -> Reported:
    """Return the value as a fraction, with its printed precision; above 1 it is read as percent."""
    text = str(reference).strip()
    try:
        printed = read_reported(text, None, None)
        if printed.middle > 1 and not text.endswith("%"):
            printed = read_reported(f"{text}%", None, None)
    except BadArgument:
        printed = Reported(text, -1.0, -1.0)
    if not 0 <= printed.middle <= 1:
        raise BadArgument(
            f"the reference is {text!r}.",
            "a value of NDCG from 0 to 1, or in percent, such as 0.09185 or 9.185%.",
        )
    return printed


def differing(asked: Asked, published: Asked) -> dict[str, tuple[object, object]]:
    """Return the switches that differ and can change the metric, with both choices."""
    only_printed = ("scale", "decimals")
    pairs = asked.convention.differences(published.convention)
    obeyed = {*asked.metric.obeys, *published.metric.obeys}
    return {
        switch: pair
        for switch, pair in pairs.items()
        if switch not in only_printed and (SWITCHES[switch].stage != "metrics" or switch in obeyed)
    }
