"""`compare`: is one model better than another, by how much, and could it be chance?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack, get_args

import numpy as np

from rectitude.aggregate.evaluation import Evaluation, Result
from rectitude.arrays import Floats
from rectitude.comparing import effects
from rectitude.comparing.correction import Correction, corrected
from rectitude.comparing.intervals import Interval, interval
from rectitude.comparing.pairing import (
    Allowed,
    Pair,
    Runs,
    cube,
    pairs,
    require_comparable,
    require_same_users,
    shared_metrics,
)
from rectitude.comparing.result import Comparison, Difference
from rectitude.comparing.runs import components
from rectitude.comparing.significance import TESTS, Outcome, Test, constant, sign_flips
from rectitude.engines.local import evaluate
from rectitude.engines.opening import Inputs
from rectitude.errors import BadName, MissingNeed, NothingToEvaluate, unknown_name
from rectitude.metrics import METRICS, Metric
from rectitude.tables import number

__all__ = ["Comparison", "Difference", "compare"]


@dataclass(frozen=True, slots=True)
class _Method:
    """How differences are tested."""

    test: str
    correct: str
    interval: str
    alpha: float
    resamples: int
    seed: int
    margin: float | None


def compare(
    models: Mapping[str, object] | Sequence[object],
    truth: object = None,
    metrics: str | Iterable[str] | None = None,
    convention: object = None,
    *,
    baseline: str | None = None,
    test: Test = "t",
    correct: Correction = "holm",
    interval: Interval = "t",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
    margin: float | None = None,
    allow: Collection[Allowed] = (),
    **given: Unpack[Inputs],
) -> Comparison:
    """Compare models user by user.

    `models` are evaluations by name, or predictions, which are evaluated against the truth first
    with whatever `evaluate` takes; a list of either stands for several runs (seeds, folds) of one
    model. Each model is compared with the baseline, or with every other, and `correct` regards all
    of these tests together. `margin` asks whether models are equivalent within that difference.
    Other users, truths or conventions are refused unless `allow` names them.

    >>> lists = {"good": {1: ["a"], 2: ["b"]}, "poor": {1: ["x", "a"], 2: ["x", "y", "b"]}}
    >>> compare(lists, {1: ["a"], 2: ["b"]}, "mrr").of("mrr", "poor").better
    0
    """
    method = _Method(test, correct, interval, alpha, resamples, seed, margin)
    _require_method(method, allow)
    runs = _runs(models, lambda one: evaluate(one, truth, metrics, convention, **given), truth)
    if baseline is not None and baseline not in runs:
        raise unknown_name("model", baseline, runs, where="this comparison")
    return _compared(runs, baseline, method, allow)


def _compared(
    runs: Runs, baseline: str | None, method: _Method, allow: Collection[Allowed]
) -> Comparison:
    names, notes = shared_metrics(runs)
    notes += require_comparable(runs, names, allow)
    values = cube(runs, names)
    notes += require_same_users(values, runs, names, allow)
    paired = pairs(values, [*runs], names, baseline)
    notes += _cautions(paired, runs)
    kinds = {name: METRICS[_result(runs, name).metric] for name in names}
    found = _differences(paired, kinds, method)
    means = {name: {m: _over_runs(runs, m, name)[0] for m in runs} for name in names}
    spreads = {name: {m: _over_runs(runs, m, name)[1] for m in runs} for name in names}
    many = len(next(iter(runs.values())))
    return Comparison(
        values=means, deviations=spreads if many > 1 else {}, differences=tuple(found),
        best={name: kind.best for name, kind in kinds.items()}, baseline=baseline,
        test=method.test, correction=method.correct, interval=method.interval, alpha=method.alpha,
        resamples=method.resamples, seed=method.seed, margin=method.margin, runs=many,
        notes=tuple(notes),
    )  # fmt: skip


def _require_method(method: _Method, allow: Collection[str]) -> None:
    known = {"test": Test, "correct": Correction, "interval": Interval}
    for name, choices in known.items():
        if getattr(method, name) not in get_args(choices):
            raise unknown_name(name, getattr(method, name), get_args(choices), where="compare")
    for kind in allow:
        if kind not in get_args(Allowed):
            raise unknown_name("thing to allow", kind, get_args(Allowed), where="compare")
    if not 0 < method.alpha < 0.5:
        raise BadName(f"alpha is {method.alpha}.", "a share such as 0.05.")
    if method.resamples < 100:
        raise BadName(f"there are {method.resamples} resamples.", "at least 100.")


def _runs(models: Any, evaluated: Callable[[object], Evaluation], truth: object) -> Runs:
    """The evaluations of each model, as many for each."""
    if not isinstance(models, Mapping):
        models = {str(place): one for place, one in enumerate(models, 1)}
    runs = {}
    for name, given in models.items():
        every = list(given) if isinstance(given, list | tuple) else [given]
        if truth is None and not all(isinstance(one, Evaluation) for one in every):
            raise MissingNeed(
                f"{name} is no evaluation, and there is no truth to evaluate it by.",
                "evaluations, or predictions with truth=.",
            )
        runs[str(name)] = [one if isinstance(one, Evaluation) else evaluated(one) for one in every]
    counts = {name: len(of) for name, of in runs.items()}
    if len(runs) < 2:
        raise NothingToEvaluate(f"there is {len(runs)} model.", "at least two to compare.")
    if len(set(counts.values())) > 1 or not min(counts.values()):
        told = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise BadName(f"models have different numbers of runs: {told}.", "as many runs of each.")
    return runs


def _over_runs(runs: Runs, model: str, metric: str) -> tuple[float, float]:
    """The mean and the standard deviation of a number over the runs of a model."""
    values = np.array([one.results[metric].value for one in runs[model]])
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _cautions(paired: Sequence[Pair], runs: Runs) -> list[str]:
    """What a reader should know of single differences."""
    notes = []
    for one in paired:
        told = f"{one.metric} of {one.model} and {one.baseline}"
        mean = float(one.difference.mean())
        if mean and constant(one.difference):
            notes.append(f"{told}: all users differ by the same; t says nothing, sign_flip does.")
        scale = 100 if _result(runs, one.metric).convention.get("scale") == "percent" else 1
        apart, _ = _over_runs(runs, one.model, one.metric)
        apart -= _over_runs(runs, one.baseline, one.metric)[0]
        if not abs(scale * mean - apart) <= 1e-6 * scale:
            notes.append(
                f"{told}: their numbers differ by {number(apart)}, and by {scale * mean:.4f} in "
                "the mean of the users compared, which is tested."
            )
    return notes


def _result(runs: Runs, metric: str) -> Result:
    return next(iter(runs.values()))[0].results[metric]


def _differences(
    paired: Sequence[Pair], kinds: Mapping[str, Metric], method: _Method
) -> list[Difference]:
    """Everything about each pair; p-values are corrected together."""
    outcomes, ends = _tested(paired, method), _intervals(paired, method)
    p = corrected(np.array([one.p for one in outcomes]), method.correct)
    rows = zip(paired, outcomes, p.tolist(), ends, strict=True)
    found = [_difference(*row, kinds[row[0].metric], method.alpha) for row in rows]
    if method.margin is None:
        return found
    apart = np.array([effects.equivalence(one.difference, method.margin) for one in paired])
    margins = corrected(apart, method.correct).tolist()
    return [replace(one, equivalence=p) for one, p in zip(found, margins, strict=True)]


def _difference(
    pair: Pair, outcome: Outcome, p: float, ends: Floats, kind: Metric, alpha: float
) -> Difference:
    difference, base = pair.difference, float(pair.other.mean())
    mean = float(difference.mean())
    good = difference if kind.best == "high" else -difference
    spread = None if np.isnan(pair.by_run).any() else components(pair.by_run)
    return Difference(
        metric=pair.metric, model=pair.model, baseline=pair.baseline, users=len(difference),
        unit="pp" if kind.bounds == (0.0, 1.0) else "",
        difference=mean, low=float(ends[0]), high=float(ends[1]),
        relative=100 * mean / abs(base) if base else None,
        statistic=None if np.isnan(outcome.statistic) else outcome.statistic, p=outcome.p,
        corrected=p, effect=effects.cohens_dz(difference),
        rank_biserial=effects.rank_biserial(difference), superiority=effects.superiority(good),
        better=int((good > 0).sum()), worse=int((good < 0).sum()),
        detectable=effects.detectable(float(difference.std(ddof=1)), len(difference), alpha),
        spread=spread,
    )  # fmt: skip


def _tested(paired: Sequence[Pair], method: _Method) -> list[Outcome]:
    """The test of each pair; a sign flip is one of all pairs of as many users."""
    if method.test != "sign_flip":
        return [TESTS[method.test](one.one, one.other) for one in paired]
    found = _by_length(paired, lambda d: sign_flips(d, method.resamples, method.seed))
    return [Outcome(np.nan, float(p)) for p in found]


def _intervals(paired: Sequence[Pair], method: _Method) -> list[Floats]:
    how: Any = method.interval
    return _by_length(
        paired, lambda d: interval(d, how, method.alpha, method.resamples, method.seed)
    )


def _by_length(paired: Sequence[Pair], function: Callable[[Floats], Floats]) -> list[Any]:
    """A function of columns of differences, called once for all pairs of as many users."""
    found: dict[int, Any] = {}
    lengths = [len(one.one) for one in paired]
    for length in dict.fromkeys(lengths):
        places = [place for place, size in enumerate(lengths) if size == length]
        columns = np.column_stack([paired[place].difference for place in places])
        found |= dict(zip(places, function(columns), strict=True))
    return [found[place] for place in range(len(paired))]
