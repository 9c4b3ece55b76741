"""Match the values of models: same users, same truth, same definitions, run by run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Evaluation
from rectitude.arrays import Floats, Integers
from rectitude.comparison.improvement import find_differences, has_other_truth
from rectitude.comparison.moments import Magnitudes, Moments
from rectitude.data.ids import kind_of
from rectitude.errors import BadIds, MissingNeed, NotComparable, NothingToEvaluate, UndefinedValue
from rectitude.exact import UNIT_BITS, quotient, total
from rectitude.parallel import require_polars

Runs = Mapping[str, Sequence[Evaluation]]
"""The evaluations of each model, one for each seed or fold."""
Allowed = Literal["users", "truth", "convention"]
_ADVICE = {
    "users": "to compare only the users in both, set allow=['users'] (--allow users).",
    "truth": "to compare anyway, set allow=['truth'] (--allow truth).",
    "convention": "evaluate all models under one convention, or set allow=['convention'] "
    "(--allow convention).",
}


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Numbers of users: their sums, and the numbers themselves if they are in memory."""

    moments: Moments
    column: Floats | None = None
    """(users,) by user, of all users in any model; NaN if a user has none"""

    @staticmethod
    def of(column: Floats) -> Sample:
        """Return the sample of a column."""
        return Sample(Moments.of(column[~np.isnan(column)]), column)

    def __add__(self, other: Sample) -> Sample:
        """Return the sums over both."""
        return Sample(self.moments + other.moments)

    @property
    def values(self) -> Floats:
        """The numbers of the users who have one."""
        if self.column is None:
            raise ValueError("these numbers were added up and not kept")
        return self.column[~np.isnan(self.column)]


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The values of one metric for the users that two models share, as means over runs."""

    metric: str
    model: str
    baseline: str
    difference: Sample
    magnitudes: Magnitudes
    """the differences by their size"""
    baseline_total: int
    """the exact sum of the baseline's values"""
    sides: tuple[Floats, Floats] | None = None
    """(users,) the values of the model, and of the baseline; None if only sums were kept"""
    by_run: Floats | None = None
    """(users, runs) the differences; NaN if a user is not in a run"""

    def __add__(self, other: Pair) -> Pair:
        """Return the sums over the users of both."""
        return Pair(
            self.metric, self.model, self.baseline, self.difference + other.difference,
            self.magnitudes + other.magnitudes, self.baseline_total + other.baseline_total,
        )  # fmt: skip

    @property
    def users(self) -> int:
        """How many users both models share."""
        return self.difference.moments.users

    @property
    def baseline_mean(self) -> float:
        """The mean of the baseline over these users."""
        return quotient(self.baseline_total, self.users << UNIT_BITS)

    @property
    def changed(self) -> int:
        """How many users have a difference."""
        return self.magnitudes.gains + self.magnitudes.losses


def find_shared_metrics(runs: Runs) -> tuple[list[str], list[str]]:
    """Return the metrics that every evaluation has per user, and notes on the others."""
    all_evaluations = [evaluation for evaluations in runs.values() for evaluation in evaluations]
    names = dict.fromkeys(
        name
        for evaluation in all_evaluations
        for name in [*evaluation.results, *evaluation.failures]
    )
    usable, notes = [], []
    for name in names:
        having = [evaluation for evaluation in all_evaluations if name in evaluation.results]
        if len(having) < len(all_evaluations):
            notes.append(f"{name} is left out: {'; '.join(_explain_missing(runs, name))}.")
        elif any(evaluation.results[name].values is None for evaluation in having):
            _require_values(runs)
            notes.append(f"{name} is left out: it has no values per user.")
        else:
            usable.append(name)
    if not usable:
        reason = " ".join(notes) or "the evaluations contain no results."
        raise NothingToEvaluate(reason, "a metric with values per user in every evaluation.")
    return usable, notes


def _explain_missing(runs: Runs, name: str) -> list[str]:
    """Say which models lack a metric, and why if it failed."""
    reasons: dict[str, list[str]] = {}
    for model, evaluations in runs.items():
        failure = next(
            (
                evaluation.failures[name]
                for evaluation in evaluations
                if name in evaluation.failures
            ),
            None,
        )
        if failure is not None:
            reasons.setdefault(failure.found.splitlines()[0].rstrip("."), []).append(model)
        elif any(name not in evaluation.results for evaluation in evaluations):
            reasons.setdefault("", []).append(model)
    return [
        f"it failed for {', '.join(models)}: {reason}"
        if reason
        else f"missing in {', '.join(models)}"
        for reason, models in reasons.items()
    ]


def _require_values(runs: Runs) -> None:
    """Raise an error if the evaluation of a model has no values per list."""
    for model, evaluations in runs.items():
        for evaluation in evaluations:
            try:
                evaluation.per_list()
            except MissingNeed as error:
                message = f"{model}: {error.found}"
                raise MissingNeed(message, error.expected, error.advice) from error


def require_comparable(
    other_users: Integers, runs: Runs, metrics: Sequence[str], allow: Collection[Allowed]
) -> list[str]:
    """Return notes on differing definitions, truths and users, or raise an error if `allow` does
    not permit one of these differences."""
    differences: dict[Allowed, list[str]] = {
        "convention": [*_find_other_definitions(runs, metrics)],
        "truth": [*_find_other_truths(runs)],
        "users": [*_find_other_users(other_users, [*runs], metrics)],
    }
    refused = [kind for kind, lines in differences.items() if lines and kind not in allow]
    if refused:
        messages = [line for kind in refused for line in _shorten(differences[kind])]
        raise NotComparable(
            f"the models cannot be compared: {'; '.join(messages)}.",
            f"the same {' and '.join(refused)} for all models.",
            " ".join(_ADVICE[kind] for kind in refused),
        )
    return [f"{line}." for lines in differences.values() for line in lines]


def _shorten(lines: Sequence[str], most: int = 5) -> list[str]:
    more = len(lines) - most
    return [*lines[:most], *([f"and {more} more"] if more > 0 else [])]


def _find_other_definitions(runs: Runs, metrics: Sequence[str]) -> Iterator[str]:
    (first, evaluations), *_ = runs.items()
    for name in metrics:
        reference = evaluations[0].results[name]
        for model, others in runs.items():
            changes = next(
                (
                    changed
                    for evaluation in others
                    if (changed := find_differences(reference, evaluation.results[name]))
                ),
                None,
            )
            if changes:
                yield f"{name} of {first} and of {model} differ in {', '.join(changes)}"


def _find_other_truths(runs: Runs) -> Iterator[str]:
    (first, evaluations), *rest = runs.items()
    for model, others in rest:
        pairs = zip(evaluations, others, strict=True)
        count = sum(has_other_truth(left, right) for left, right in pairs)
        if count:
            where = "" if len(others) == 1 else f" in {count} of {len(others)} runs"
            yield f"{first} and {model} have different truths{where}"


def cube(runs: Runs, metrics: Sequence[str]) -> tuple[pl.Series, Floats]:
    """Return the users, and the values by model, run, user and metric; NaN if a user is not
    counted."""
    require_polars()
    per_user = [evaluation.per_user() for group in runs.values() for evaluation in group]
    tables, seeds = _unify_ids(runs, per_user), len(next(iter(runs.values())))
    frames = [tables[first : first + seeds] for first in range(0, len(tables), seeds)]
    users = pl.concat([frame["user"] for frame in tables]).unique(maintain_order=True)
    values = np.empty((len(frames), len(frames[0]), len(users), len(metrics)))
    for model, model_frames in enumerate(frames):
        for run, frame in enumerate(model_frames):
            values[model, run] = _align_values(users, frame, metrics)
    _require_finite(values, runs, metrics)
    return users, values


_LARGEST = 1e145
"""the largest value whose square, and that of a difference, can be added up"""


def _require_finite(values: Floats, runs: Runs, metrics: Sequence[str]) -> None:
    wrong = np.argwhere(np.abs(values) > _LARGEST)
    if len(wrong):
        model, _, _, column = first = wrong[0].tolist()
        about = "infinite" if np.isinf(values[*first]) else f"above {_LARGEST:g}"
        raise UndefinedValue(
            f"{len(wrong):,} values are {about}; the first is {metrics[column]} of "
            f"{[*runs][model]}.",
            "a finite value for every user, whose square is finite, too.",
        )


def _unify_ids(runs: Runs, frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Return values per user with ids of one type; integers of different widths are unified."""
    kinds = {str(frame["user"].dtype): kind_of(frame["user"]) for frame in frames}
    if len(kinds) == 1:
        return frames
    if {*kinds.values()} != {"integer"}:
        raise BadIds(
            f"user ids of {', '.join(runs)} have different types: {', '.join(sorted(kinds))}.",
            "user ids of one type in all evaluations.",
            "in files without types, ids are integers if all of them look like integers, else text:"
            " provide all ids as text, or use Parquet.",
        )
    wide = pl.Int128 if {"UInt64", "Int128", "UInt128"} & {*kinds} else pl.Int64
    return [frame.with_columns(pl.col("user").cast(wide)) for frame in frames]


def _align_values(users: pl.Series, frame: pl.DataFrame, metrics: Sequence[str]) -> Floats:
    if len(users) != frame.height or not frame["user"].equals(users):
        order = pl.DataFrame({"user": users})
        frame = order.join(frame, on="user", how="left", maintain_order="left")
    return np.column_stack([frame[name].fill_null(np.nan).to_numpy() for name in metrics])


def count_other_users(values: Floats) -> Integers:
    """Return for each model but the first and each metric how many users count only in the first
    model, and how many only in this one: (models, 2, metrics)."""
    present = ~np.isnan(values)
    counts = [
        [(present[0] & ~one).any(axis=0).sum(axis=0), (one & ~present[0]).any(axis=0).sum(axis=0)]
        for one in present[1:]
    ]
    return np.array(counts)


def _find_other_users(
    counts: Integers, models: Sequence[str], metrics: Sequence[str]
) -> Iterator[str]:
    """Yield how the users of each model differ from those of the first."""
    first, *rest = models
    for model, (missing, extra) in zip(rest, counts, strict=True):
        for column in np.flatnonzero(missing + extra).tolist():
            only_first, only_model = missing[column], extra[column]
            unit = "user" if only_first == 1 else "users"
            words = f"{only_first:,} {unit} only in {first}, {only_model:,} only in {model}"
            yield f"{metrics[column]} has {words}"


def over_runs(runs: Runs, model: str, metric: str) -> tuple[float, float]:
    """Return the mean and the standard deviation of a metric over the runs of a model."""
    values = np.array([evaluation.results[metric].value for evaluation in runs[model]])
    if not np.isfinite(values).all():
        return float(values.sum()), np.nan
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0


def reported_means(
    samples: Mapping[tuple[str, str], Sample],
    numbers: Mapping[str, Mapping[str, tuple[float, float]]],
    scales: Mapping[str, float],
) -> dict[tuple[str, str], Sample]:
    """Return the samples, by metric and model, whose mean is the reported number."""
    result = {}
    for (metric, model), sample in samples.items():
        moments, (number, _) = sample.moments, numbers[metric][model]
        gap = moments.users > 1 and abs(scales[metric] * moments.mean - number)
        if moments.users > 1 and gap <= 1e-6 * scales[metric]:
            result[metric, model] = sample
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """Everything that is compared, for all users or for some of them; parts are added with +."""

    pairs: Sequence[Pair]
    means: Mapping[tuple[str, str], Sample]
    """the users' means over runs, by metric and model"""
    other_users: Integers
    """see `count_other_users`"""
    users: pl.Series | None = None
    """the users behind the columns; None if only sums were kept"""

    def __add__(self, other: Paired) -> Paired:
        pairs = [one + more for one, more in zip(self.pairs, other.pairs, strict=True)]
        means = {name: sample + other.means[name] for name, sample in self.means.items()}
        return Paired(pairs, means, self.other_users + other.other_users)

    def columns(self, shown: Iterable[tuple[str, str]]) -> Floats:
        """Return the differences of all pairs, then the means of some metrics and models."""
        samples = [*(pair.difference for pair in self.pairs), *(self.means[name] for name in shown)]
        return np.array([sample.column for sample in samples])


def pair_users(runs: Runs, metrics: Sequence[str], baseline: str | None) -> Paired:
    """Pair the models' values user by user."""
    users, values = cube(runs, metrics)
    return Paired(
        pairs(values, [*runs], metrics, baseline),
        users_means(values, [*runs], metrics),
        count_other_users(values),
        users,
    )


def users_means(
    values: Floats, models: Sequence[str], metrics: Sequence[str]
) -> dict[tuple[str, str], Sample]:
    """Return the users' means over runs, by metric and model."""
    return {
        (metric, model): Sample.of(_average_runs(values[position, :, :, column]))
        for column, metric in enumerate(metrics)
        for position, model in enumerate(models)
    }


def _average_runs(values: Floats) -> Floats:
    """Average (runs, users) over the runs that each user is in; NaN for users who are in none."""
    present = ~np.isnan(values)
    times = present.sum(axis=0)
    sums = np.where(present, values, 0.0).sum(axis=0)
    means: Floats = np.where(times > 0, sums / np.maximum(times, 1), np.nan)
    return means


def pairs(
    values: Floats, models: Sequence[str], metrics: Sequence[str], baseline: str | None
) -> list[Pair]:
    """Pair each model with the baseline, or with every model before it, for each metric."""
    if baseline is None:
        named = [(second, first) for first, second in combinations(models, 2)]
    else:
        named = [(model, baseline) for model in models if model != baseline]
    return [
        _build_pair(values[..., column], models, (metric, *names))
        for column, metric in enumerate(metrics)
        for names in named
    ]


def _build_pair(values: Floats, models: Sequence[str], names: tuple[str, str, str]) -> Pair:
    metric, model, baseline = names
    first, second = values[models.index(model)], values[models.index(baseline)]
    shared = ~(np.isnan(first) | np.isnan(second))
    kept = shared.any(axis=0)
    runs = np.maximum(shared.sum(axis=0), 1)
    means, base = (np.where(shared, side, 0.0).sum(axis=0) / runs for side in (first, second))
    equal = np.abs(means - base) <= 1e-12 * np.abs(means)  # means over runs have rounding errors
    means = np.where(equal, base, means)
    difference = np.where(kept, means - base, np.nan)
    sides = means[kept], base[kept]
    by_run = np.where(shared, first - second, np.nan)[:, kept].T
    return Pair(
        metric, model, baseline, Sample.of(difference), Magnitudes.of(difference[kept]),
        total(sides[1]), sides, by_run,
    )  # fmt: skip


def require_shared_users(pair: Pair) -> None:
    """Raise an error if two models share fewer than two users."""
    if pair.users < 2:
        count = "one user" if pair.users else "no user"
        raise NothingToEvaluate(
            f"{pair.model} and {pair.baseline} have {count} in common for {pair.metric}.",
            "at least two users in both models.",
        )
