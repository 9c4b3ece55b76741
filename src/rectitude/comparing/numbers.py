"""Numbers of a comparison as people write them: never a bare NaN, never minus zero."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rectitude.comparing.result import Difference


def written(value: float, form: str) -> str:
    """A number in a format; in words where it is none, and never minus zero."""
    if not math.isfinite(value):
        return "undefined" if math.isnan(value) else "infinite" if value > 0 else "-infinite"
    told = form.format(value)
    return told if any(digit in told for digit in "123456789") else form.format(0.0)


def shown(value: float) -> str:
    """The number of a model."""
    return written(value, "{:.4f}")


def change(one: Difference, value: float) -> str:
    """A change: of shares in percentage points, of other metrics in their own unit."""
    return written(100 * value, "{:+.2f} pp") if one.unit == "pp" else written(value, "{:+.4f}")


def percent(value: float | None) -> str:
    """A relative change; there is none from 0."""
    return "" if value is None else written(value, "{:+.1f}%")


def chance(p: float) -> str:
    """A p-value: small ones are not told from each other."""
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"
