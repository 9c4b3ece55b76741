"""Steps that go by grades: ratings of at least a number, of at least a mean, or in a range.

Whether a grade is at least a mean is decided exactly. Grades that are no whole numbers of a decimal
place are cut into digits to so small a base that float64 adds and compares them exactly. A row
whose first digits are clearly above or below those of the mean is decided by them; lower digits are
looked at for groups in which some row is not.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats
from rectitude.data.ids import codes, counts, looked_up
from rectitude.data.log import ROW, Log, chosen
from rectitude.data.values import EXACT, compared
from rectitude.errors import BadName, BadTable

Groups = NDArray[np.uint32]
_BITS = 50
"""Of a digit and of the rows of a group together. A digit times the rows, less the sum of all
digits, is then below 2^51; with what higher digits left over, 2^52 at most, floats hold it."""
_EDGE = 2.0**52
_DECIMALS = (1, 10, 100, 1000, 10_000)


def threshold(log: Log, *, at: float | Literal["global_mean", "user_mean"]) -> Log:
    """Rows whose grade is at least a number, the mean of all grades, or the mean of their user."""
    log.require("grade", "a threshold")
    require_grades(log)
    grades = log.frame["grade"]
    if isinstance(at, str):
        groups, size = np.zeros(len(grades), np.uint32), 1
        if at == "user_mean":
            groups, size = codes(log.frame["user"])
        return chosen(log, _reaches_mean(grades, groups, size))
    if not np.isfinite(at):
        raise BadName(f"at is {at}.", "a number, global_mean or user_mean.")
    return chosen(log, compared(grades, np.greater_equal, at))


def grade_range(
    log: Log,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
) -> Log:
    """Rows whose grade lies within all bounds that are given."""
    log.require("grade", "grade_range")
    require_grades(log)
    grades, bounds = log.frame["grade"], (at_least, above, at_most, below)
    if all(bound is None for bound in bounds):
        raise BadName("grade_range has no bound.", "at_least, above, at_most or below.")
    kept = grades.is_not_null()
    for bound, holds in zip(bounds, (grades.ge, grades.gt, grades.le, grades.lt), strict=True):
        kept = kept if bound is None else kept & holds(bound)
    return chosen(log, kept)


def _reaches_mean(grades: pl.Series, groups: Groups, size: int) -> Flags:
    """Whether grades are at least the mean of their group, exactly: rounded sums would depend on
    the order of rows, and put a user's equal grades below their own mean."""
    values = grades.to_numpy()
    whole = _whole(values)
    if whole is None:
        return at_least_mean(values, groups, size)
    sums = _sums(whole, groups, size)
    # The smallest whole number not below the mean.
    least = -(-sums // np.maximum(counts(groups, size), 1))
    reaches: Flags = whole >= looked_up(least, groups)
    return reaches


def _whole(grades: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Grades as whole numbers of a decimal place if all are so written and their sum fits, so that
    3.3 is the mean of 3.2 and 3.4; else None."""
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
    """The exact sum of each group; floats add whole numbers exactly, and faster, up to 2^53."""
    if float(np.abs(values).max(initial=0)) * len(values) < EXACT:
        return np.bincount(groups, weights=values, minlength=size).astype(np.int64)
    sums = np.zeros(size, np.int64)
    np.add.at(sums, groups, values)
    return sums


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


def require_grades(log: Log) -> None:
    """An error if a grade is missing, or no finite number: it has no place among the others."""
    grades = log.frame["grade"]
    if not grades.null_count() and grades.is_finite().all():
        return
    missing = grades.is_null() | grades.is_nan().fill_null(value=True)
    raise (
        _refused(log, missing) if missing.any() else _refused(log, grades.is_infinite(), "finite ")
    )


def _refused(log: Log, wrong: pl.Series, kind: str = "") -> BadTable:
    row = log.frame.filter(wrong)[ROW].min()
    return BadTable(
        f"{log.source}: {int(wrong.sum()):,} of {len(wrong):,} rows have no {kind}grade (first: row"
        f" {int(row) + 1}).",  # type: ignore[arg-type]
        f"a {kind}grade in every row.",
        "fill them in, or remove these rows.",
    )
