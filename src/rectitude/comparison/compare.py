"""`compare`: is one model better than another, by how much, and could it be chance?

The notes of a comparison say what a reader should know before trusting it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack, get_args

import numpy as np

from rectitude.arrays import Floats
from rectitude.comparison.effects import (
    cohens_dz,
    components,
    detectable,
    equivalence,
    rank_biserial,
    require_margin,
    superiority,
)
from rectitude.comparison.opening import ALL, Making, runs_of
from rectitude.comparison.pairing import (
    Allowed,
    Pair,
    Runs,
    cube,
    over_runs,
    pairs,
    require_comparable,
    shared_metrics,
    users_means,
)
from rectitude.comparison.result import Comparison, Difference
from rectitude.comparison.significance import (
    Correction,
    Interval,
    Outcome,
    Test,
    all_flips,
    constant,
    corrected,
    interval,
    require_values,
    sign_flips,
    tested,
)
from rectitude.errors import BadName, NothingToEvaluate, UndefinedValue, unknown_name
from rectitude.evaluation.axes import named, parse_slicing
from rectitude.evaluation.inputs import Arguments
from rectitude.metrics import METRICS, Metric
from rectitude.render import number

__all__ = ["Comparison", "Difference", "compare"]
_FEW = 20
"""fewer users show little"""
_FEW_TO_DRAW = 100
"""bootstrap intervals of fewer are too narrow where most values are 0: 95% ones of 50 hold 92%"""


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


@dataclass(frozen=True, slots=True)
class _Part:
    """What is compared of all users, or of one slice."""

    runs: Runs
    kinds: Mapping[str, Metric]
    pairs: Sequence[Pair]
    users: Mapping[tuple[str, str], Floats]
    """the users' means of each metric and model whose number is their mean"""
    scales: Mapping[str, float]
    values: Mapping[str, Mapping[str, float]]
    deviations: Mapping[str, Mapping[str, float]]
    notes: Sequence[str]


def compare(
    models: Mapping[str, object] | Sequence[object],
    truth: object = None,
    metrics: str | Iterable[str] | None = None,
    convention: object = None,
    *,
    baseline: str | None = None,
    by: Any = None,
    test: Test = "t",
    correct: Correction = "holm",
    interval: Interval = "t",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
    margin: float | None = None,
    allow: Collection[Allowed] = (),
    **given: Unpack[Arguments],
) -> Comparison:
    """Compare models user by user.

    `models` are evaluations by name, files and folders that hold stored ones, or predictions, which
    are evaluated against the truth first with whatever `evaluate` takes; a list of any of these
    stands for several runs (seeds, folds) of one model. Each model is compared with the baseline,
    or with every other, on all users and, with `by`, on each slice; `correct` regards all of these
    tests together. `margin` asks whether models are equivalent within that difference. Other users,
    truths or conventions are refused unless `allow` names them.

    >>> lists = {"good": {1: ["a"], 2: ["b"]}, "poor": {1: ["x", "a"], 2: ["x", "y", "b"]}}
    >>> compare(lists, {1: ["a"], 2: ["b"]}, "mrr").of("mrr", "poor").better
    0
    """
    method = _Method(test, correct, interval, alpha, resamples, seed, margin)
    _require_method(method, allow)
    making = Making(truth, metrics, convention, by, given)
    every, notes = runs_of(models, making)
    known = every[ALL]
    if baseline is not None and baseline not in known:
        raise unknown_name("model", baseline, known, where="this comparison")
    parts = _parts(every, notes, baseline, allow)
    return _compared(parts, notes, baseline, method, by)


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
    if method.seed < 0:
        raise BadName(f"the seed is {method.seed}.", "a whole number from 0.")
    require_margin(method.margin)


def _parts(
    every: Mapping[str, Runs], notes: list[str], baseline: str | None, allow: Collection[Allowed]
) -> dict[str, _Part]:
    """All users, and the slices that can be compared; a note on each of the others."""
    parts = {}
    for label, runs in every.items():
        try:
            parts[label] = _part(runs, baseline, allow)
        except (NothingToEvaluate, UndefinedValue) as error:
            if label == ALL:
                raise
            notes.append(f"slice {label} is left out: {error.found}")
    return parts


def _part(runs: Runs, baseline: str | None, allow: Collection[Allowed]) -> _Part:
    """Values that belong together, or an error that says why they do not."""
    names, notes = shared_metrics(runs)
    values = cube(runs, names)
    notes += require_comparable(values, runs, names, allow)
    paired = pairs(values, [*runs], names, baseline)
    for one in paired:
        require_values(one.one, one.other)
    first = next(iter(runs.values()))[0].results
    scales = {n: 100.0 if first[n].convention.get("scale") == "percent" else 1.0 for n in names}
    numbers = {name: {model: over_runs(runs, model, name) for model in runs} for name in names}
    return _Part(
        runs=runs, kinds={name: METRICS[first[name].metric] for name in names}, pairs=paired,
        users=users_means(values, numbers, scales), scales=scales,
        values={name: {m: one[0] for m, one in of.items()} for name, of in numbers.items()},
        deviations={name: {m: one[1] for m, one in of.items()} for name, of in numbers.items()},
        notes=notes,
    )  # fmt: skip


def _compared(
    parts: Mapping[str, _Part],
    notes: Sequence[str],
    baseline: str | None,
    method: _Method,
    by: object,
) -> Comparison:
    """The comparison of all users, with those of slices; all tests are one family."""
    paired = [pair for part in parts.values() for pair in part.pairs]
    kinds = [part.kinds[pair.metric] for part in parts.values() for pair in part.pairs]
    means = [users for part in parts.values() for users in part.users.values()]
    ends = _intervals([*(pair.difference for pair in paired), *means], method)
    found = iter(_differences(paired, kinds, ends[: len(paired)], method))
    rest = iter(ends[len(paired) :])
    made: dict[str, Comparison] = {}
    for label, part in parts.items():
        own = [*part.notes, *(notes if label == ALL else ()), *_cautions(part, len(paired), method)]
        known = made[ALL].notes if label != ALL else ()
        made[label] = replace(
            _comparison(part, [next(found) for _ in part.pairs], baseline, method),
            slice="" if label == ALL else _slice_name(label, by),
            tests=len(paired),
            notes=tuple(note for note in own if note not in known),
            intervals=_by_metric(part, rest),
        )
    whole = made.pop(ALL)
    return replace(whole, slices=made)


def _slice_name(label: str, by: object) -> str:
    """The slice with what it is a slice by, which a slice called "all" has already."""
    slicing = by if isinstance(by, str) else named(parse_slicing(by))
    return f"{slicing}: {label.removeprefix(f'{slicing}: ')}"


def _comparison(
    part: _Part, found: Sequence[Difference], baseline: str | None, method: _Method
) -> Comparison:
    many = len(next(iter(part.runs.values())))
    return Comparison(
        values=part.values, deviations=part.deviations if many > 1 else {}, intervals={},
        best={name: kind.best for name, kind in part.kinds.items()}, differences=tuple(found),
        baseline=baseline, test=method.test, correction=method.correct, tests=len(found),
        interval=method.interval, alpha=method.alpha, resamples=method.resamples, seed=method.seed,
        runs=many, margin=method.margin,
    )  # fmt: skip


def _by_metric(part: _Part, ends: Iterator[Floats]) -> dict[str, dict[str, tuple[float, float]]]:
    """The intervals of the models' numbers, taken in the order of the users' means."""
    found: dict[str, dict[str, tuple[float, float]]] = {metric: {} for metric in part.values}
    for metric, model in part.users:
        low, high = (part.scales[metric] * float(end) for end in next(ends))
        found[metric][model] = low, high
    return found


def _differences(
    paired: Sequence[Pair], kinds: Sequence[Metric], ends: Sequence[Floats], method: _Method
) -> list[Difference]:
    """Everything about each pair; p-values are corrected together."""
    outcomes = _tested(paired, method)
    p = corrected(np.array([one.p for one in outcomes]), method.correct)
    rows = zip(paired, outcomes, p.tolist(), ends, kinds, strict=True)
    found = [_difference(*row, method.alpha) for row in rows]
    if method.margin is None:
        return found
    apart = np.array([equivalence(one.difference, method.margin) for one in paired])
    margins = corrected(apart, method.correct).tolist()
    return [replace(one, equivalence=p) for one, p in zip(found, margins, strict=True)]


def _difference(
    pair: Pair, outcome: Outcome, p: float, ends: Floats, kind: Metric, alpha: float
) -> Difference:
    difference, base = pair.difference, float(pair.other.mean())
    mean = float(difference.mean())
    good = difference if kind.best == "high" else -difference
    deviation = 0.0 if constant(difference) else float(difference.std(ddof=1))
    spread = None if np.isnan(pair.by_run).any() else components(pair.by_run)
    return Difference(
        metric=pair.metric, model=pair.model, baseline=pair.baseline, users=len(difference),
        unit="pp" if kind.bounds == (0.0, 1.0) else "",
        difference=mean, low=float(ends[0]), high=float(ends[1]),
        relative=100 * mean / abs(base) if base else None,
        statistic=None if np.isnan(outcome.statistic) else outcome.statistic, p=outcome.p,
        corrected=p, deviation=deviation, effect=cohens_dz(difference),
        rank_biserial=rank_biserial(difference), superiority=superiority(good),
        better=int((good > 0).sum()), worse=int((good < 0).sum()),
        detectable=detectable(deviation, len(difference), alpha),
        spread=spread,
    )  # fmt: skip


def _tested(paired: Sequence[Pair], method: _Method) -> list[Outcome]:
    """The test of each pair; a sign flip is one of all pairs of as many users."""
    if method.test != "sign_flip":
        return [tested(method.test, one.one, one.other) for one in paired]
    columns = [one.difference for one in paired]
    found = _by_length(columns, lambda d: sign_flips(d, method.resamples, method.seed))
    return [Outcome(np.nan, float(p)) for p in found]


def _intervals(columns: Sequence[Floats], method: _Method) -> list[Floats]:
    how: Any = method.interval
    return _by_length(
        columns, lambda d: interval(d, how, method.alpha, method.resamples, method.seed)
    )


def _by_length(columns: Sequence[Floats], function: Callable[[Floats], Floats]) -> list[Any]:
    """A function of columns, called once for all that are as long."""
    found: dict[int, Any] = {}
    lengths = [len(one) for one in columns]
    for length in dict.fromkeys(lengths):
        places = [place for place, size in enumerate(lengths) if size == length]
        chosen = np.column_stack([columns[place] for place in places])
        found |= dict(zip(places, function(chosen), strict=True))
    return [found[place] for place in range(len(columns))]


def _cautions(part: _Part, tests: int, method: _Method) -> list[str]:
    """What a reader should know before trusting the differences."""
    return [
        *_same_models(part.pairs),
        *_single_differences(part, method.test),
        *_too_few(part.pairs, tests, method),
    ]


def _same_models(paired: Sequence[Pair]) -> list[str]:
    """Models that differ for no user, in no metric."""
    moved: dict[tuple[str, str], bool] = {}
    for one in paired:
        names = one.model, one.baseline
        moved[names] = moved.get(names, False) or bool(one.difference.any())
    return [
        f"{model} and {baseline} have the same values for every user: are they the same model?"
        for (model, baseline), any_moved in moved.items()
        if not any_moved
    ]


def _single_differences(part: _Part, test: str) -> list[str]:
    """Differences without spread, and numbers that are no means of users."""
    notes = []
    for one in part.pairs:
        told = f"{one.metric} of {one.model} and {one.baseline}"
        mean = float(one.difference.mean())
        if mean and constant(one.difference):
            p = ": t has nothing to divide by, and p is that of sign flips" if test == "t" else ""
            notes.append(f"{told}: all users differ by the same{p}.")
        values, scale = part.values[one.metric], part.scales[one.metric]
        apart = values[one.model] - values[one.baseline]
        if not abs(scale * mean - apart) <= 1e-6 * scale:
            notes.append(
                f"{told}: their numbers differ by {number(apart)}, and by {scale * mean:.4f} in "
                "the mean of the users compared, which is tested."
            )
    return notes


def _too_few(paired: Sequence[Pair], tests: int, method: _Method) -> list[str]:
    """Where so few users or draws cannot say much."""
    test, resamples = method.test, method.resamples
    users = min(len(one.one) for one in paired)
    notes = [f"{users} users are few: a difference must be large to show."] if users < _FEW else []
    if method.interval != "t" and users < _FEW_TO_DRAW:
        notes.append(f"intervals by bootstrap of {users} users tend to be too narrow; t is safer.")
    least = min(_least(one, test, resamples) for one in paired)
    if least >= method.alpha:
        many = max(_moved(one) for one in paired) if test == "wilcoxon" else users
        who = "users that differ" if test == "wilcoxon" else "users"
        notes.append(
            f"{test} of {many} {who} cannot have a p below {least:.4f}: nothing can be apart."
        )
    elif tests * least >= method.alpha and test == "sign_flip":
        notes.append(
            f"{resamples:,} flips cannot have a p below {least:.4f}, which may not be small enough "
            f"for {tests} tests: more resamples can."
        )
    return notes


def _least(one: Pair, test: str, resamples: int) -> float:
    """The smallest p that a test of so many users can have."""
    if test == "wilcoxon":
        return min(1.0, 2.0 ** (1 - _moved(one)))
    if test != "sign_flip":
        return 0.0
    users = len(one.one)
    return 2.0 ** (1 - users) if all_flips(users, resamples) else 1 / (resamples + 1)


def _moved(one: Pair) -> int:
    """How many users differ."""
    return int(np.count_nonzero(one.difference))
