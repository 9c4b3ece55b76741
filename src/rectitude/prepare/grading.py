"""Steps that go by grades: ratings of at least a number, of at least a mean, or in a range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rectitude.arrays import Flags
from rectitude.data.blocks import compared
from rectitude.data.codes import codes, counts, looked_up
from rectitude.data.log import ROW, Log, chosen
from rectitude.data.values import EXACT
from rectitude.errors import BadName, BadTable
from rectitude.prepare.means import at_least_mean

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Groups = NDArray[np.uint32]

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


def _sums(values: NDArray[np.int64], groups: Groups, size: int) -> NDArray[np.int64]:
    """The exact sum of each group; floats add whole numbers exactly, and faster, up to 2^53."""
    if float(np.abs(values).max(initial=0)) * len(values) < EXACT:
        return np.bincount(groups, weights=values, minlength=size).astype(np.int64)
    sums = np.zeros(size, np.int64)
    np.add.at(sums, groups, values)
    return sums


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
