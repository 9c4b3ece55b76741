"""Corrections for many tests at once, as p-values to hold against alpha."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from rectitude.arrays import Floats
from rectitude.errors import UndefinedValue, unknown_name

Correction = Literal["none", "bonferroni", "holm", "benjamini_hochberg", "benjamini_yekutieli"]


def corrected(p: Floats, how: str) -> Floats:
    """The p-values of one family of tests, corrected."""
    if how not in CORRECTIONS:
        raise unknown_name("correction", how, CORRECTIONS)
    if not ((p >= 0) & (p <= 1)).all():
        raise UndefinedValue("a p-value is undefined or not between 0 and 1.", "p-values.")
    return CORRECTIONS[how](p) if len(p) else p


def _bonferroni(p: Floats) -> Floats:
    return np.minimum(p * len(p), 1.0)


def _holm(p: Floats) -> Floats:
    """Step down: the smallest p times all tests, the next times one less; never less than the one
    before."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty_like(p)
    found[order] = np.minimum(stepped, 1.0)
    return found


def _false_discoveries(p: Floats, method: str) -> Floats:
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, method=method), dtype=np.float64)


CORRECTIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "none": lambda p: p,
    "bonferroni": _bonferroni,
    "holm": _holm,
    "benjamini_hochberg": lambda p: _false_discoveries(p, "bh"),
    "benjamini_yekutieli": lambda p: _false_discoveries(p, "by"),
}
