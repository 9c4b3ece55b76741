"""A published value beside the numbers of one's own: is it the same quantity at all?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rectitude.convention import SWITCHES
from rectitude.errors import BadName
from rectitude.explanation.reported import Reported, reported
from rectitude.profiles import Asked

_NEAR = 0.05
_PRECISE = 5e-4  # with fewer than three decimals printed, much fits by accident
Standing = Literal["same", "comparable", "void", "doubtful", "open"]


@dataclass(frozen=True, slots=True)
class ReferenceCheck:
    """What a published value says beside the number in force."""

    given: str
    """as it was handed over"""
    value: float
    """as a fraction"""
    tolerance: float
    """half a unit of the last decimal that is printed"""
    standing: Standing
    """same: the number in force to the printed decimals; comparable: known to be the same quantity;
    void: another quantity; doubtful: near to another quantity; open: nothing says which it is"""
    fits: tuple[str, ...]
    """the quantities that equal it to the printed decimals"""
    nearest: str
    nearest_value: float
    differs: Mapping[str, tuple[object, object]]
    """switches in which the convention of the published value differs from the one in force"""
    theirs: float | None
    """these predictions under the convention of the published value, if that is known"""


def compared_with(
    reference: float | str,
    quantities: Mapping[str, tuple[str, float]],
    differs: Mapping[str, tuple[object, object]] | None = None,
    own: float | None = None,
) -> ReferenceCheck:
    """Compare a published value with every quantity; `quantities` hold words and values by name.

    `differs` are the switches in which the convention of the published value is another, None if
    that convention is not known; `own` is the value that it gives here.
    """
    printed = _read(reference)
    value, tolerance = printed.middle, (printed.high - printed.low) / 2
    fits = [name for name, (_, one) in quantities.items() if printed.fits(one)]
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
    """Whether two values of different models might be one quantity."""
    return abs(value - other) <= _NEAR * other


def _read(reference: float | str) -> Reported:
    """The value as a fraction, to the decimals printed; above 1 it is taken as percent."""
    text = str(reference).strip()
    try:
        found = reported(text, None, None)
        if found.middle > 1 and not text.endswith("%"):
            found = reported(f"{text}%", None, None)
    except BadName:
        found = Reported(text, -1.0, -1.0)
    if not 0 <= found.middle <= 1:
        raise BadName(f"the reference is {text!r}.", "a number such as 0.09185, or 9.185%.")
    return found


def differing(asked: Asked, theirs: Asked) -> dict[str, tuple[object, object]]:
    """The switches that can change the metric and are set otherwise, with both choices."""
    shown = ("scale", "decimals")
    pairs = asked.convention.differences(theirs.convention)
    matters = {*asked.metric.obeys, *theirs.metric.obeys}
    return {
        switch: pair
        for switch, pair in pairs.items()
        if switch not in shown and (SWITCHES[switch].stage != "metrics" or switch in matters)
    }
