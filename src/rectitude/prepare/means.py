"""Which numbers are at least the mean of their group: exact, whatever finite numbers they are.

Numbers are cut into digits to so small a base that float64 adds and compares them exactly. A row
whose first digits are clearly above or below those of the mean is decided by them; lower digits are
looked at for groups in which some row is not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Flags, Floats
from rectitude.data.codes import counts, looked_up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Groups = NDArray[np.uint32]

_BITS = 50
"""Of a digit and of the rows of a group together. A digit times the rows, less the sum of all
digits, is then below 2^51; with what higher digits left over, 2^52 at most, floats hold it."""
_EDGE = 2.0**52


def at_least_mean(values: Floats, groups: Groups, size: int) -> Flags:
    """Which finite numbers are at least the mean of all numbers of their group.

    `ahead` is how far a number times the rows of its group lies ahead of the sum, in units of the
    last digit; what lower digits can change of that is below twice the rows.
    """
    sizes = counts(groups, size).astype(np.float64)
    rows_bits = int(sizes.max(initial=1.0)).bit_length()
    decided = 2.0 ** (rows_bits + 1)
    reaches, rows = np.ones(len(values), bool), np.arange(len(values))
    left, ahead, unit = values, np.zeros(len(values)), 2048
    while left.any():
        lower = min(unit, _exponent(left)) - (_BITS - rows_bits)
        digits = np.ldexp(left, -lower)
        np.trunc(digits, out=digits)
        left = left - np.ldexp(digits, lower)
        np.clip(np.ldexp(ahead, min(unit - lower, 64), out=ahead), -_EDGE, _EDGE, out=ahead)
        ahead += _ahead(digits, groups, sizes)
        unit = lower
        reaches[rows] = ahead >= 0
        kept = _open(np.abs(ahead) < decided, groups, size)
        rows, groups, left, ahead = rows[kept], groups[kept], left[kept], ahead[kept]
    return reaches


def _exponent(values: Floats) -> int:
    """The power of two that all of these numbers stay below."""
    return math.frexp(max(float(values.max()), -float(values.min())))[1]


def _ahead(digits: Floats, groups: Groups, sizes: Floats) -> Floats:
    """Each digit times the rows of its group, less the sum of the group's digits, in its place."""
    sums = np.bincount(groups, weights=digits, minlength=len(sizes))
    digits *= looked_up(sizes, groups)
    digits -= looked_up(sums, groups)
    return digits


def _open(undecided: Flags, groups: Groups, size: int) -> NDArray[np.int64]:
    """All rows of the groups that have an undecided row: the sum goes over all of them."""
    among = np.zeros(size, bool)
    among[groups[undecided]] = True
    return np.flatnonzero(looked_up(among, groups))
