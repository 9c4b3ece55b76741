"""Steps that go by grades: ratings of at least a number, of at least a mean, or in a range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rectitude.data.blocks import compared
from rectitude.data.codes import codes, counts, looked_up
from rectitude.data.log import ROW, Log, chosen
from rectitude.data.values import EXACT
from rectitude.errors import BadName, BadTable

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

_DECIMALS = (1, 10, 100, 1000, 10_000)


def threshold(log: Log, *, at: float | Literal["global_mean", "user_mean"]) -> Log:
    """Rows whose grade is at least a number, the mean of all grades, or the mean of their user."""

    log.require("grade", "a threshold")
    _require_grades(log)
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
    _require_grades(log)
    grades, bounds = log.frame["grade"], (at_least, above, at_most, below)
    if all(bound is None for bound in bounds):
        raise BadName("grade_range has no bound.", "at_least, above, at_most or below.")
    kept = grades.is_not_null()
    for bound, holds in zip(bounds, (grades.ge, grades.gt, grades.le, grades.lt), strict=True):
        kept = kept if bound is None else kept & holds(bound)
    return chosen(log, kept)


def _reaches_mean(grades: pl.Series, groups: NDArray[np.uint32], size: int) -> NDArray[np.bool_]:
    """Whether grades are at least the mean of their group, in whole numbers: sums of floats would
    depend on the order of rows, and put a user's equal grades below their own mean."""
    values = _whole(grades.to_numpy())
    sums = _sums(values, groups, size)
    # The smallest whole number not below the mean.
    least = -(-sums // np.maximum(counts(groups, size), 1))
    reaches: NDArray[np.bool_] = values >= looked_up(least, groups)
    return reaches


def _sums(values: NDArray[np.int64], groups: NDArray[np.uint32], size: int) -> NDArray[np.int64]:
    """The exact sum of each group; floats add whole numbers exactly, and faster, up to 2^53."""
    if float(np.abs(values).max(initial=0)) * len(values) < EXACT:
        return np.bincount(groups, weights=values, minlength=size).astype(np.int64)
    sums = np.zeros(size, np.int64)
    np.add.at(sums, groups, values)
    return sums


def _whole(grades: NDArray[np.float64]) -> NDArray[np.int64]:
    """Grades as whole numbers of a unit: of a decimal place if all are so written, else of a
    fraction small enough for their sum to fit."""
    highest = max(float(np.abs(grades).max(initial=0.0)), 1e-300)
    room = 2.0**62 / (highest * max(len(grades), 1))
    for ten in _DECIMALS:
        whole = np.round(grades * ten)
        if ten <= room and np.array_equal(whole / ten, grades):
            return whole.astype(np.int64)
    unit = 2.0 ** float(np.floor(np.log2(room)))
    parts: NDArray[np.int64] = np.round(grades * unit).astype(np.int64)
    return parts


def _require_grades(log: Log) -> None:
    grades = log.frame["grade"]
    if grades.null_count() or grades.is_nan().any():
        wrong = grades.is_null() | grades.is_nan()
        count = int(wrong.sum())
        row = log.frame.filter(wrong)[ROW].min()
        raise BadTable(
            f"{log.source}: {count:,} of {len(wrong):,} rows have no grade (first: row"
            f" {int(row) + 1}).",  # type: ignore[arg-type]
            "a grade in every row.",
            "fill them in, or remove these rows.",
        )
