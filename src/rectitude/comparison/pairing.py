"""Which values belong together: those of the same users, truth and definitions, run by run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Evaluation
from rectitude.arrays import Floats
from rectitude.comparison.improvement import differing, other_truth
from rectitude.data.ids import kind_of
from rectitude.errors import BadIds, BadName, MissingNeed, NothingToEvaluate, UndefinedValue

Runs = Mapping[str, Sequence[Evaluation]]
"""The evaluations of each model, one for each seed or fold."""
Allowed = Literal["users", "truth", "convention"]
_ADVICE = {
    "users": "compare the users that both have by allow=['users'] (--allow users).",
    "truth": "allow=['truth'] (--allow truth) compares all the same.",
    "convention": "evaluate all under one convention, or say allow=['convention'] "
    "(--allow convention).",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """The values of one metric for the users that two models have, means over runs."""

    metric: str
    model: str
    baseline: str
    one: Floats
    """(users,) of the model"""
    other: Floats
    """(users,) of the baseline"""
    by_run: Floats
    """(users, runs) the differences; NaN where a user is not in a run"""

    @property
    def difference(self) -> Floats:
        """(users,) the differences of the means."""
        return self.one - self.other


def shared_metrics(runs: Runs) -> tuple[list[str], list[str]]:
    """The metrics that every evaluation has for every user, and notes on the others."""
    every = [one for evaluations in runs.values() for one in evaluations]
    names = dict.fromkeys(name for one in every for name in [*one.results, *one.failures])
    usable, notes = [], []
    for name in names:
        having = [one for one in every if name in one.results]
        if len(having) < len(every):
            notes.append(f"{name} is left out: {'; '.join(_lacking(runs, name))}.")
        elif any(one.results[name].values is None for one in having):
            _require_values(runs)
            notes.append(f"{name} is left out: it has no values per user.")
        else:
            usable.append(name)
    if not usable:
        told = " ".join(notes) or "the evaluations hold no numbers."
        raise NothingToEvaluate(told, "a metric with values per user in every evaluation.")
    return usable, notes


def _lacking(runs: Runs, name: str) -> list[str]:
    """Which models lack a metric, and why if it failed."""
    reasons: dict[str, list[str]] = {}
    for model, evaluations in runs.items():
        failed = next((one.failures[name] for one in evaluations if name in one.failures), None)
        if failed is not None:
            reasons.setdefault(failed.found.splitlines()[0].rstrip("."), []).append(model)
        elif any(name not in one.results for one in evaluations):
            reasons.setdefault("", []).append(model)
    return [
        f"it failed in {', '.join(models)}: {why}" if why else f"not in {', '.join(models)}"
        for why, models in reasons.items()
    ]


def _require_values(runs: Runs) -> None:
    """The error of a model whose evaluation came without values per list."""
    for model, evaluations in runs.items():
        for one in evaluations:
            try:
                one.per_list()
            except MissingNeed as error:
                told = f"{model}: {error.found}"
                raise MissingNeed(told, error.expected, error.advice) from error


def require_comparable(
    values: Floats, runs: Runs, metrics: Sequence[str], allow: Collection[Allowed]
) -> list[str]:
    """What differs in definitions, truths and users, for those who allow it; else an error that
    says all of it."""
    found: dict[Allowed, list[str]] = {
        "convention": [*_other_definitions(runs, metrics)],
        "truth": [*_other_truths(runs)],
        "users": [*_other_users(values, runs, metrics)],
    }
    refused = [kind for kind, told in found.items() if told and kind not in allow]
    if refused:
        lines = [line for kind in refused for line in _some(found[kind])]
        raise BadName(
            f"what is compared is not the same: {'; '.join(lines)}.",
            f"the same {' and '.join(refused)} in all.",
            " ".join(_ADVICE[kind] for kind in refused),
        )
    return [f"{line}." for told in found.values() for line in told]


def _some(lines: Sequence[str], most: int = 5) -> list[str]:
    more = len(lines) - most
    return [*lines[:most], *([f"and {more} more"] if more > 0 else [])]


def _other_definitions(runs: Runs, metrics: Sequence[str]) -> Iterator[str]:
    (first, evaluations), *_ = runs.items()
    for name in metrics:
        usual = evaluations[0].results[name]
        for model, others in runs.items():
            apart = next((d for one in others if (d := differing(usual, one.results[name]))), None)
            if apart:
                yield f"{name} of {first} and of {model} differ in {', '.join(apart)}"


def _other_truths(runs: Runs) -> Iterator[str]:
    (first, evaluations), *rest = runs.items()
    for model, others in rest:
        pairs = zip(evaluations, others, strict=True)
        apart = sum(other_truth(one, two) for one, two in pairs)
        if apart:
            where = "" if len(others) == 1 else f" in {apart} of {len(others)} runs"
            yield f"{first} and {model} have different truths{where}"


def cube(runs: Runs, metrics: Sequence[str]) -> Floats:
    """The values by model, run, user and metric; NaN where a user does not count."""
    found = [one.per_user() for evaluations in runs.values() for one in evaluations]
    every, seeds = _with_same_ids(runs, found), len(next(iter(runs.values())))
    frames = [every[first : first + seeds] for first in range(0, len(every), seeds)]
    users = pl.concat([frame["user"] for frame in every]).unique(maintain_order=True)
    values = np.empty((len(frames), len(frames[0]), len(users), len(metrics)))
    for model, of_model in enumerate(frames):
        for run, frame in enumerate(of_model):
            values[model, run] = _values(users, frame, metrics)
    _require_finite(values, runs, metrics)
    return values


def _require_finite(values: Floats, runs: Runs, metrics: Sequence[str]) -> None:
    where = np.argwhere(np.isinf(values))
    if len(where):
        model, _, _, column = where[0].tolist()
        raise UndefinedValue(
            f"{len(where):,} values are infinite, the first of {metrics[column]} of "
            f"{[*runs][model]}.",
            "finite values of every user.",
        )


def _with_same_ids(runs: Runs, frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Values per user with users of one type; integers of all widths are one."""
    kinds = {str(frame["user"].dtype): kind_of(frame["user"]) for frame in frames}
    if len(kinds) == 1:
        return frames
    if {*kinds.values()} != {"integer"}:
        raise BadIds(
            f"users of {', '.join(runs)} are of types {', '.join(sorted(kinds))}.",
            "users of one type in all evaluations.",
            "ids in files without types are integers where all of them are, else text: hand over"
            " all users as text, or in Parquet.",
        )
    wide = pl.Int128 if {"UInt64", "Int128", "UInt128"} & {*kinds} else pl.Int64
    return [frame.with_columns(pl.col("user").cast(wide)) for frame in frames]


def _values(users: pl.Series, frame: pl.DataFrame, metrics: Sequence[str]) -> Floats:
    if len(users) != frame.height or not frame["user"].equals(users):
        wanted = pl.DataFrame({"user": users})
        frame = wanted.join(frame, on="user", how="left", maintain_order="left")
    return np.column_stack([frame[name].fill_null(np.nan).to_numpy() for name in metrics])


def _other_users(values: Floats, runs: Runs, metrics: Sequence[str]) -> Iterator[str]:
    """Which models count other users than the first."""
    there = ~np.isnan(values)
    first, *rest = runs
    for place, model in enumerate(rest, 1):
        only = (there[0] & ~there[place]).any(axis=0), (there[place] & ~there[0]).any(axis=0)
        mine, theirs = (side.sum(axis=0) for side in only)
        for column in np.flatnonzero(mine + theirs).tolist():
            only_mine, only_theirs = mine[column], theirs[column]
            who = "user" if only_mine == 1 else "users"
            apart = f"{only_mine:,} {who} only in {first}, {only_theirs:,} only in {model}"
            yield f"{metrics[column]} has {apart}"


def over_runs(runs: Runs, model: str, metric: str) -> tuple[float, float]:
    """The mean and the standard deviation of a number over the runs of a model."""
    values = np.array([one.results[metric].value for one in runs[model]])
    if not np.isfinite(values).all():
        return float(values.sum()), np.nan
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0


def users_means(
    values: Floats,
    numbers: Mapping[str, Mapping[str, tuple[float, float]]],
    scales: Mapping[str, float],
) -> dict[tuple[str, str], Floats]:
    """(users,) the means over runs by metric and model, where their own mean is the number."""
    found = {}
    for column, (metric, of) in enumerate(numbers.items()):
        for place, (model, (number, _)) in enumerate(of.items()):
            means = _means(values[place, :, :, column])
            near = len(means) > 1 and abs(scales[metric] * means.mean() - number)
            if len(means) > 1 and near <= 1e-6 * scales[metric]:
                found[metric, model] = means
    return found


def _means(values: Floats) -> Floats:
    """The means of (runs, users) over the runs that each user is in, of users that are in any."""
    there = ~np.isnan(values)
    kept = there.any(axis=0)
    found: Floats = np.where(there, values, 0.0).sum(axis=0)[kept] / there.sum(axis=0)[kept]
    return found


def pairs(
    values: Floats, models: Sequence[str], metrics: Sequence[str], baseline: str | None
) -> list[Pair]:
    """Each model against the baseline, or against every other before it, for each metric."""
    if baseline is None:
        wanted = [(two, one) for one, two in combinations(models, 2)]
    else:
        wanted = [(model, baseline) for model in models if model != baseline]
    return [
        _pair(values[..., column], models, (metric, *names))
        for column, metric in enumerate(metrics)
        for names in wanted
    ]


def _pair(values: Floats, models: Sequence[str], named: tuple[str, str, str]) -> Pair:
    metric, model, baseline = named
    one, other = values[models.index(model)], values[models.index(baseline)]
    there = ~(np.isnan(one) | np.isnan(other))
    kept = there.any(axis=0)
    if not kept.any():
        raise NothingToEvaluate(
            f"{model} and {baseline} have no user in common for {metric}.",
            "lists of the same users.",
        )
    if kept.sum() < 2:
        raise NothingToEvaluate(
            f"there is one user to compare by {metric}.", "at least two that both models have."
        )
    times = there.sum(axis=0)[kept]
    mine, theirs = (np.where(there, side, 0.0).sum(axis=0)[kept] / times for side in (one, other))
    equal = np.abs(mine - theirs) <= 1e-12 * np.abs(mine)  # means over runs carry rounding
    by_run = np.where(there, one - other, np.nan)[:, kept].T
    return Pair(metric, model, baseline, mine, np.where(equal, mine, theirs), by_run)
