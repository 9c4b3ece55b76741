"""How the worth of an item falls with its rank: one function for each choice of `discount`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rectitude.arrays import Floats, Integers


def log(ranks: Integers, base: float) -> Floats:
    """One over the logarithm of the rank plus 1."""
    return _by_rank(ranks, lambda r: _log(r + 1, base))


def log_from_second(ranks: Integers, base: float) -> Floats:
    """One over the logarithm of the rank, from the second rank on."""
    return _by_rank(ranks, lambda r: np.maximum(1.0, _log(r, base)))


def _log(values: Floats, base: float) -> Floats:
    return np.log2(values) if base == 2 else np.log(values) / np.log(base)


def _by_rank(ranks: Integers, below: Callable[[Floats], Floats]) -> Floats:
    """Weights looked up in a table, so that a rank has the same bits wherever it occurs."""
    deepest = int(ranks.max(initial=0))
    table = np.concatenate(([0.0], 1.0 / below(np.arange(1.0, deepest + 1))))
    return table[ranks]
