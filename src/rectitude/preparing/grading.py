"""Steps that filter by grade: at least a number, at least a mean, or within a range.

Whether a grade is at least the mean is decided exactly. Grades without a short decimal form are
split into digits of a base so small that float64 adds and compares them exactly. If the leading
digits are clearly above or below the mean, they decide; lower digits are computed only for groups
with an undecided row.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats
from rectitude.data.ids import codes, counts, look_up
from rectitude.data.log import ROW, Log, choose_rows
from rectitude.data.values import EXACT, compare_values
from rectitude.errors import BadArgument, BadTable

Groups = NDArray[np.uint32]
_BITS = 50
"""Bits of a digit plus bits of the number of rows of a group. A digit times the rows, minus the
sum of all digits, is then below 2^51; with the carry of higher digits at most 2^52: exact."""
_EDGE = 2.0**52
_DECIMALS = (1, 10, 100, 1000, 10_000)


def threshold(log: Log, *, at: float | Literal["global_mean", "user_mean"]) -> Log:
    """Keep rows whose grade is at least a number, the mean of all grades, or the user's mean."""
    log.require("grade", "a threshold")
    require_grades(log)
    grades = log.frame["grade"]
    if isinstance(at, str):
        groups, size = np.zeros(len(grades), np.uint32), 1
        if at == "user_mean":
            groups, size = codes(log.frame["user"])
        return choose_rows(log, _reaches_mean(grades, groups, size))
    if not np.isfinite(at):
        raise BadArgument(f"at is {at}.", "a finite number, 'global_mean' or 'user_mean'.")
    return choose_rows(log, compare_values(grades, np.greater_equal, at))


def grade_range(
    log: Log,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
) -> Log:
    """Keep rows whose grade is within all given bounds."""
    log.require("grade", "grade_range")
    require_grades(log)
    grades, bounds = log.frame["grade"], (at_least, above, at_most, below)
    if all(bound is None for bound in bounds):
        raise BadArgument("grade_range has no bound.", "at_least, above, at_most or below.")
    kept = grades.is_not_null()
    for bound, holds in zip(bounds, (grades.ge, grades.gt, grades.le, grades.lt), strict=True):
        kept = kept if bound is None else kept & holds(bound)
    return choose_rows(log, kept)


def _reaches_mean(grades: pl.Series, groups: Groups, size: int) -> Flags:
    """Flag grades that are at least the mean of their group, exactly: rounded sums would depend on
    row order, and could put a user's equal grades below their own mean."""
    values = grades.to_numpy()
    whole = _whole(values)
    if whole is None:
        return at_least_mean(values, groups, size)
    sums = _sums(whole, groups, size)
    # The smallest integer that is not below the mean.
    least = -(-sums // np.maximum(counts(groups, size), 1))
    reaches: Flags = whole >= look_up(least, groups)
    return reaches


def _whole(grades: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Scale grades with few decimals to integers, so that 3.3 is exactly the mean of 3.2 and 3.4;
    None if they have more decimals or their sum does not fit."""
    highest = max(float(np.abs(grades).max(initial=0.0)), 1e-300)
    room = 2.0**62 / (highest * max(len(grades), 1))
    for ten in _DECIMALS:
        if ten > room or (ten > 1 and highest * ten > EXACT):
            break
        whole = np.round(grades * ten)
        if np.array_equal(whole / ten, grades):
            return whole.astype(np.int64)
    return None


def _sums(values: NDArray[np.int64], groups: Groups, size: int) -> NDArray[np.int64]:
    """Sum each group exactly; up to 2^53, float sums of integers are exact and faster."""
    if float(np.abs(values).max(initial=0)) * len(values) < EXACT:
        return np.bincount(groups, weights=values, minlength=size).astype(np.int64)
    sums = np.zeros(size, np.int64)
    np.add.at(sums, groups, values)
    return sums


def at_least_mean(values: Floats, groups: Groups, size: int) -> Flags:
    """Flag the numbers that are at least the mean of their group.

    `ahead` is a number times the rows of its group minus the sum of the group, in units of the last
    digit; lower digits can change it by less than twice the rows.
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
    """Return the exponent of a power of two above all of these numbers."""
    return math.frexp(max(float(values.max()), -float(values.min())))[1]


def _ahead(digits: Floats, groups: Groups, sizes: Floats) -> Floats:
    """Replace each digit by digit times rows minus the sum of the digits of its group."""
    sums = np.bincount(groups, weights=digits, minlength=len(sizes))
    digits *= look_up(sizes, groups)
    digits -= look_up(sums, groups)
    return digits


def _open(undecided: Flags, groups: Groups, size: int) -> NDArray[np.int64]:
    """Return all rows of the groups with an undecided row."""
    among = np.zeros(size, bool)
    among[groups[undecided]] = True
    return np.flatnonzero(look_up(among, groups))


def require_grades(log: Log) -> None:
    """Raise an error if a grade is missing, NaN or infinite."""
    grades = log.frame["grade"]
    if not grades.null_count() and grades.is_finite().all():
        return
    missing = grades.is_null() | grades.is_nan().fill_null(value=True)
    raise (
        _refuse(log, missing) if missing.any() else _refuse(log, grades.is_infinite(), "finite ")
    )


def _refuse(log: Log, wrong: pl.Series, kind: str = "") -> BadTable:
    row = log.frame.filter(wrong)[ROW].min()
    return BadTable(
        f"{log.source}: {int(wrong.sum()):,} of {len(wrong):,} rows have no {kind}grade (first: row"
        f" {int(row) + 1}).",  # type: ignore[arg-type]
        f"a {kind}grade in every row.",
        "fill them in, or remove these rows.",
    )
