"""How many values would fit a printed one by chance, so that a match is no numerology."""

from __future__ import annotations

import math

import numpy as np

from rectitude.arrays import Floats


def fitting_by_chance(values: Floats, low: float, high: float) -> float | None:
    """How many of some distinct values would lie from `low` to `high` if nothing had put them
    there; None where fewer than two lie outside.

    The interval itself is left out, as a true match would count for chance. The m values nearest
    to it, m the root of how many there are, say how dense values are around it: m - 1 of them in
    the stretch up to the m-th, which for values scattered at random is right on average. So many
    for each unit of length, times the width of the interval, would fall into it.
    """
    width, middle = high - low, low + (high - low) / 2
    distance = np.sort(np.abs(values[(values < low) | (values > high)] - middle))
    if len(distance) < 2:
        return None
    near = max(2, round(math.sqrt(len(distance))))
    stretch = max(2 * float(distance[near - 1]) - width, 1e-9 * width)
    return (near - 1) * width / stretch if width else 0.0


def in_words(expected: float) -> str:
    """How many that is."""
    if expected < 0.01:
        return f"{expected:.1g}"
    return f"{expected:.2f}" if expected < 10 else f"{expected:,.0f}"
