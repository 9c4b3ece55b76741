"""`compare`: is one model better than another, by how much, and is the difference significant?

The notes of a comparison warn about anything that limits how far its results can be trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, Unpack, get_args

import numpy as np

from rectitude.arrays import Floats
from rectitude.comparison.effects import (
    cohens_dz,
    components,
    detectable,
    equivalence,
    require_margin,
    superiority,
)
from rectitude.comparison.opening import ALL, EvaluationSettings, is_default, open_runs
from rectitude.comparison.pairing import (
    Allowed,
    Pair,
    Paired,
    Runs,
    Sample,
    find_shared_metrics,
    over_runs,
    pair_users,
    reported_means,
    require_comparable,
    require_shared_users,
)
from rectitude.comparison.poisson import Resamples, find_steps, hash_ids, resample
from rectitude.comparison.result import Comparison, Difference
from rectitude.comparison.significance import (
    ABSENT,
    ALIASES,
    MEANT,
    Correction,
    CorrectionAlias,
    Interval,
    Outcome,
    Test,
    TestAlias,
    all_flips,
    correct_p,
    interval,
    run_t,
    run_test,
    sign_flips,
    student_interval,
)
from rectitude.comparison.streamed import (
    ListValues,
    cut_list_values,
    find_list_values,
    open_list_values,
)
from rectitude.data.ledger import list_warnings
from rectitude.data.read import collect_rows
from rectitude.errors import BadArgument, NothingToEvaluate, UndefinedValue, unknown_name
from rectitude.evaluation.axes import name_axes, parse_slicing
from rectitude.evaluation.inputs import Arguments, Progress
from rectitude.evaluation.plan import answer_keywords
from rectitude.memory import SETTING, require_memory
from rectitude.metrics import METRICS, Metric
from rectitude.metrics.names import Names
from rectitude.render import number

__all__ = ["Comparison", "Difference", "compare"]
_FEW = 20
"""with fewer users, only large differences can be significant"""
_FEW_TO_DRAW = 100
"""with fewer users and mostly zero values, bootstrap intervals are too narrow: at 50 users, a 95%
interval covers the true mean 92% of the time"""


class CompareArguments(Arguments, total=False):
    """The arguments of `evaluate` that `compare` passes on."""

    intervals: bool
    progress: Progress | None


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
class _Subset:
    """Everything needed to compare the models on all users, or on one slice."""

    runs: Runs
    kinds: Mapping[str, Metric]
    pairs: Sequence[Pair]
    means: Mapping[tuple[str, str], Sample]
    """by metric and model: the users' values, if the reported number is their mean"""
    draw: Callable[[Floats, _Method], Resamples]
    """draws Poisson resamples of the differences and then of the means, rounded to given steps"""
    scales: Mapping[str, float]
    values: Mapping[str, Mapping[str, float]]
    deviations: Mapping[str, Mapping[str, float]]
    notes: Sequence[str]


@answer_keywords
def compare(  # noqa: PLR0913  one parameter per choice
    models: Mapping[str, object] | Sequence[object],
    truth: object = None,
    metrics: Names | None = None,
    convention: object = None,
    *,
    cutoffs: object = None,
    baseline: str | None = None,
    by: Any = None,
    test: Test | TestAlias = "t",
    correct: Correction | CorrectionAlias = "holm",
    interval: Interval = "t",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
    margin: float | None = None,
    allow: Collection[Allowed] = (),
    **given: Unpack[CompareArguments],
) -> Comparison:
    """Compare models user by user.

    `models` maps names to evaluations, to files or folders with stored evaluations, or to
    predictions. Predictions are first evaluated against the truth; all further arguments of
    `evaluate` are accepted for this. A list of any of these means several runs (seeds, folds) of
    one model. Each model is compared with the baseline, or every model with every other, on all
    users and, with `by`, on each slice. `correct` corrects the p-values of all these tests
    together. `margin` also tests whether models are equivalent within that difference. Models with
    different users, truths or conventions raise an error unless `allow` names the difference.

    >>> lists = {"good": {1: ["a"], 2: ["b"]}, "poor": {1: ["x", "a"], 2: ["x", "y", "b"]}}
    >>> compare(lists, {1: ["a"], 2: ["b"]}, "mrr").of("mrr", "poor").better
    0
    """
    tested, corrected = (ALIASES.get(name, name) for name in (test, correct))
    method = _Method(tested, corrected, interval, alpha, resamples, seed, margin)
    _require_method(method, allow)
    if truth is None and (in_parts := find_list_values(models)) is not None:
        _refuse_more({**given, "convention": convention, "cutoffs": cutoffs, "by": by})
        return _compare_in_parts(open_list_values(in_parts, metrics), baseline, method, allow)
    arguments = {name: collect_rows(value) for name, value in given.items()}
    making = EvaluationSettings(collect_rows(truth), metrics, convention, by, arguments, cutoffs)
    runs, notes = open_runs(models, making)
    _require_models([*runs[ALL]], baseline)
    subsets = _open_subsets(runs, notes, baseline, allow)
    return _compare_subsets(subsets, notes, baseline, method, by)


def _require_method(method: _Method, allow: Collection[str]) -> None:
    options = {"test": Test, "correct": Correction, "interval": Interval}
    for name, choices in options.items():
        if getattr(method, name) not in get_args(choices):
            chosen = getattr(method, name)
            typed = str(chosen).lower()
            reason, meant = ABSENT.get(typed, ""), repr(MEANT[typed]) if typed in MEANT else ""
            raise unknown_name(name, chosen, get_args(choices), "compare", reason, meant)
    for kind in allow:
        if kind not in get_args(Allowed):
            raise unknown_name("allowed difference", kind, get_args(Allowed), where="compare")
    if not 0 < method.alpha < 0.5:
        raise BadArgument(f"alpha is {method.alpha}.", "a number between 0 and 0.5, such as 0.05.")
    if method.resamples < 100:
        raise BadArgument(f"resamples is {method.resamples}.", "a whole number of at least 100.")
    require_memory(16 * method.resamples, f"a sample of {method.resamples:,} means")
    if method.seed < 0:
        raise BadArgument(f"seed is {method.seed}.", "a whole number of at least 0.")
    require_margin(method.margin)


def _open_subsets(
    runs_by_slice: Mapping[str, Runs],
    notes: list[str],
    baseline: str | None,
    allow: Collection[Allowed],
) -> dict[str, _Subset]:
    """Return all users and each slice that can be compared, and add a note on every other slice."""
    subsets = {}
    for label, runs in runs_by_slice.items():
        try:
            subsets[label] = _open_subset(runs, baseline, allow)
        except (NothingToEvaluate, UndefinedValue) as error:
            if label == ALL:
                raise
            notes.append(f"slice {label} is left out: {error.found}")
    return subsets


def _open_subset(runs: Runs, baseline: str | None, allow: Collection[Allowed]) -> _Subset:
    """Pair the values of the models, or raise an error if they cannot be compared."""
    names, notes = find_shared_metrics(runs)
    paired = pair_users(runs, names, baseline)
    notes += require_comparable(paired.other_users, runs, names, allow)
    return _build_subset(runs, notes, paired, lambda: [paired])


def _build_subset(
    runs: Runs, notes: list[str], paired: Paired, parts: Callable[[], Iterable[Paired]]
) -> _Subset:
    """Return what is compared; `parts` are together all users, with their values."""
    for pair in paired.pairs:
        require_shared_users(pair)
    first = next(iter(runs.values()))[0].results
    names = list(dict.fromkeys(pair.metric for pair in paired.pairs))
    scales = {n: 100.0 if first[n].convention.get("scale") == "percent" else 1.0 for n in names}
    numbers = {name: {model: over_runs(runs, model, name) for model in runs} for name in names}
    means = reported_means(paired.means, numbers, scales)
    return _Subset(
        runs=runs, kinds={name: METRICS[first[name].metric] for name in names}, pairs=paired.pairs,
        means=means, draw=partial(_draw, parts, [*means]), scales=scales,
        values={name: {m: pair[0] for m, pair in row.items()} for name, row in numbers.items()},
        deviations={name: {m: pair[1] for m, pair in row.items()} for name, row in numbers.items()},
        notes=notes,
    )  # fmt: skip


def _draw(
    parts: Callable[[], Iterable[Paired]],
    shown: Sequence[tuple[str, str]],
    steps: Floats,
    method: _Method,
) -> Resamples:
    """Draw Poisson resamples of the values of every part, and add them up."""
    drawn = (
        resample(hash_ids(part.users, method.seed), part.columns(shown), steps, method.resamples)
        for part in parts()
        if part.users is not None
    )
    return reduce(add, drawn)


def _refuse_more(given: Mapping[str, object]) -> None:
    """Raise an error for arguments that values per list in files cannot follow."""
    for name, value in given.items():
        if value is not None and not is_default(name, value):
            raise BadArgument(
                f"{name} was given, but values per list are read from files.",
                f"no {name}, or predictions and truth.",
            )


def _compare_in_parts(
    tables: Sequence[ListValues],
    baseline: str | None,
    method: _Method,
    allow: Collection[Allowed],
) -> Comparison:
    """Compare values per list that are read from files, part by part."""
    names = [table.name for table in tables]
    _require_models(names, baseline)
    with cut_list_values(tables) as streams:
        if streams.count > 1:
            _require_sums(method)
        metrics, notes = find_shared_metrics(streams.runs)
        paired = streams.add_up(metrics, baseline)
        notes += require_comparable(paired.other_users, streams.runs, metrics, allow)
        warnings = list_warnings({name: [runs[0].ledger] for name, runs in streams.runs.items()})
        subset = _build_subset(
            streams.with_numbers(metrics), [*notes, *streams.notes], paired,
            lambda: [paired] if streams.count == 1 else streams.parts(metrics, baseline),
        )  # fmt: skip
        return _compare_subsets({ALL: subset}, warnings, baseline, method, None)


def _require_models(names: Collection[str], baseline: str | None) -> None:
    if len(names) < 2:
        raise NothingToEvaluate(f"models to compare: {len(names)}.", "at least two.")
    if baseline is not None and baseline not in names:
        raise unknown_name("model", baseline, names, where="this comparison")


def _require_sums(method: _Method) -> None:
    """Raise an error for a test or interval that needs the values of all users at once."""
    choices = {"test": (method.test, ("t",)), "interval": (method.interval, ("t", "poisson"))}
    for option, (chosen, possible) in choices.items():
        if chosen not in possible:
            raise BadArgument(
                f"{option}={chosen!r} needs all values in memory, and they are too many for it.",
                f"{option}={' or '.join(map(repr, possible))}, which are computed part by part.",
                f"or allow more memory in the environment: {SETTING}=SIZE.",
            )


def _compare_subsets(
    subsets: Mapping[str, _Subset],
    notes: Sequence[str],
    baseline: str | None,
    method: _Method,
    by: object,
) -> Comparison:
    """Compare the models on all users and on each slice; all tests are corrected together."""
    pairs = [pair for subset in subsets.values() for pair in subset.pairs]
    kinds = [subset.kinds[pair.metric] for subset in subsets.values() for pair in subset.pairs]
    ends = {label: _compute_intervals(subset, method) for label, subset in subsets.items()}
    of_pairs = [one for label in subsets for one in ends[label][: len(subsets[label].pairs)]]
    differences = iter(_compute_differences(pairs, kinds, of_pairs, method))
    comparisons: dict[str, Comparison] = {}
    for label, subset in subsets.items():
        cautions = _list_cautions(subset, len(pairs), method)
        subset_notes = [*subset.notes, *(notes if label == ALL else ()), *cautions]
        earlier = comparisons[ALL].notes if label != ALL else ()
        comparisons[label] = replace(
            _build_comparison(subset, [next(differences) for _ in subset.pairs], baseline, method),
            slice="" if label == ALL else _name_slice(label, by),
            tests=len(pairs),
            notes=tuple(note for note in subset_notes if note not in earlier),
            intervals=_group_intervals(subset, iter(ends[label][len(subset.pairs) :])),
        )
    whole = comparisons.pop(ALL)
    return replace(whole, slices=comparisons)


def _name_slice(label: str, by: object) -> str:
    """Return the label of a slice preceded by its axis; a slice called "all" has that already."""
    slicing = by if isinstance(by, str) else name_axes(parse_slicing(by))
    return f"{slicing}: {label.removeprefix(f'{slicing}: ')}"


def _build_comparison(
    subset: _Subset, differences: Sequence[Difference], baseline: str | None, method: _Method
) -> Comparison:
    run_count = len(next(iter(subset.runs.values())))
    return Comparison(
        values=subset.values, deviations=subset.deviations if run_count > 1 else {}, intervals={},
        best={name: kind.best for name, kind in subset.kinds.items()},
        differences=tuple(differences),
        baseline=baseline, test=method.test, correction=method.correct, tests=len(differences),
        interval=method.interval, alpha=method.alpha, resamples=method.resamples, seed=method.seed,
        runs=run_count, margin=method.margin,
    )  # fmt: skip


def _group_intervals(
    subset: _Subset, ends: Iterator[Floats]
) -> dict[str, dict[str, tuple[float, float]]]:
    """Return the confidence intervals of the models' numbers by metric and model."""
    intervals: dict[str, dict[str, tuple[float, float]]] = {metric: {} for metric in subset.values}
    for metric, model in subset.means:
        low, high = (subset.scales[metric] * float(end) for end in next(ends))
        intervals[metric][model] = low, high
    return intervals


def _compute_differences(
    pairs: Sequence[Pair], kinds: Sequence[Metric], ends: Sequence[Floats], method: _Method
) -> list[Difference]:
    """Describe the difference of each pair, with p-values corrected together."""
    outcomes = _test_pairs(pairs, method)
    p = correct_p(np.array([outcome.p for outcome in outcomes]), method.correct)
    rows = zip(pairs, outcomes, p.tolist(), ends, kinds, strict=True)
    differences = [_describe_difference(*row, method.alpha) for row in rows]
    if method.margin is None:
        return differences
    equivalences = np.array([equivalence(pair.difference.moments, method.margin) for pair in pairs])
    corrected = correct_p(equivalences, method.correct).tolist()
    return [replace(row, equivalence=p) for row, p in zip(differences, corrected, strict=True)]


def _describe_difference(
    pair: Pair, outcome: Outcome, p: float, ends: Floats, kind: Metric, alpha: float
) -> Difference:
    moments, sizes, base = pair.difference.moments, pair.magnitudes, pair.baseline_mean
    counts = (sizes.gains, sizes.losses)
    better, worse = counts if kind.best == "high" else counts[::-1]
    no_runs = pair.by_run is None or np.isnan(pair.by_run).any()
    return Difference(
        metric=pair.metric, model=pair.model, baseline=pair.baseline, users=pair.users,
        unit="fraction" if kind.bounds == (0.0, 1.0) else "",
        difference=moments.mean, low=float(ends[0]), high=float(ends[1]),
        relative=100 * moments.mean / abs(base) if base else None,
        statistic=None if np.isnan(outcome.statistic) else outcome.statistic, p=outcome.p,
        corrected=p, deviation=moments.deviation, effect=cohens_dz(moments),
        rank_biserial=sizes.rank_biserial, superiority=superiority(better, worse, pair.users),
        better=better, worse=worse,
        detectable=detectable(moments.deviation, pair.users, alpha),
        spread=None if no_runs or pair.by_run is None else components(pair.by_run),
    )  # fmt: skip


def _test_pairs(pairs: Sequence[Pair], method: _Method) -> list[Outcome]:
    """Test each pair; sign flips test all pairs with the same number of users at once."""
    if method.test == "t":
        return [run_t(pair.difference.moments) for pair in pairs]
    if method.test != "sign_flip":
        return [run_test(method.test, *pair.sides) for pair in pairs if pair.sides is not None]
    columns = [pair.difference.values for pair in pairs]
    p_values = _apply_by_length(columns, lambda d: sign_flips(d, method.resamples, method.seed))
    return [Outcome(np.nan, float(p)) for p in p_values]


def _compute_intervals(subset: _Subset, method: _Method) -> list[Any]:
    """Return the confidence intervals of the differences, and then of the means."""
    samples = [*(pair.difference for pair in subset.pairs), *subset.means.values()]
    moments = [sample.moments for sample in samples]
    if method.interval == "t":
        return [student_interval(one, method.alpha) for one in moments]
    if method.interval == "poisson":
        steps = find_steps(moments)
        return subset.draw(steps, method).intervals(steps, method.alpha)
    how: Any = method.interval
    return _apply_by_length(
        [sample.values for sample in samples],
        lambda d: interval(d, how, method.alpha, method.resamples, method.seed),
    )


def _apply_by_length(columns: Sequence[Floats], function: Callable[[Floats], Floats]) -> list[Any]:
    """Apply a function to columns, with one call for all columns of the same length."""
    results: dict[int, Any] = {}
    lengths = [len(column) for column in columns]
    for length in dict.fromkeys(lengths):
        positions = [position for position, size in enumerate(lengths) if size == length]
        chosen = np.column_stack([columns[position] for position in positions])
        results |= dict(zip(positions, function(chosen), strict=True))
    return [results[position] for position in range(len(columns))]


def _list_cautions(subset: _Subset, tests: int, method: _Method) -> list[str]:
    """Return warnings that a reader needs before trusting the differences."""
    return [
        *_note_same_models(subset.pairs),
        *_note_single_differences(subset, method.test),
        *_note_too_few(subset.pairs, tests, method),
    ]


def _note_same_models(pairs: Sequence[Pair]) -> list[str]:
    """Return a note on each pair of models with equal values for every user and metric."""
    changed: dict[tuple[str, str], bool] = {}
    for pair in pairs:
        names = pair.model, pair.baseline
        changed[names] = changed.get(names, False) or pair.changed > 0
    return [
        f"{model} and {baseline} have the same values for every user: are they the same model?"
        for (model, baseline), any_changed in changed.items()
        if not any_changed
    ]


def _note_single_differences(subset: _Subset, test: str) -> list[str]:
    """Return notes on differences without variance, and on numbers that are not means of users."""
    notes = []
    for pair in subset.pairs:
        subject = f"{pair.metric} of {pair.model} and {pair.baseline}"
        mean = pair.difference.moments.mean
        if mean and pair.difference.moments.is_constant:
            p = "; t is undefined, so p comes from sign flips" if test == "t" else ""
            notes.append(f"{subject}: the difference is the same for all users{p}.")
        values, scale = subset.values[pair.metric], subset.scales[pair.metric]
        gap = values[pair.model] - values[pair.baseline]
        if not abs(scale * mean - gap) <= 1e-6 * scale:
            notes.append(
                f"{subject}: the reported numbers differ by {number(gap)}, but the test uses the "
                f"mean difference of the users compared, {scale * mean:.4f}."
            )
    return notes


def _note_too_few(pairs: Sequence[Pair], tests: int, method: _Method) -> list[str]:
    """Return notes on too few users or resamples."""
    test, resamples = method.test, method.resamples
    users = min(pair.users for pair in pairs)
    notes = (
        [f"with {users} users, only large differences can be significant."] if users < _FEW else []
    )
    if method.interval != "t" and users < _FEW_TO_DRAW:
        notes.append(
            f"bootstrap intervals of only {users} users tend to be too narrow; t is safer."
        )
    smallest = min(_smallest_p(pair, test, resamples) for pair in pairs)
    if smallest >= method.alpha:
        count = max(pair.changed for pair in pairs) if test == "wilcoxon" else users
        unit = "users with a difference" if test == "wilcoxon" else "users"
        notes.append(
            f"{test} cannot give a p-value below {smallest:.4f} ({unit}: {count}): no difference "
            "can be significant."
        )
    elif tests * smallest >= method.alpha and test == "sign_flip":
        notes.append(
            f"{resamples:,} sign flips cannot give a p-value below {smallest:.4f}, which may be "
            f"too large for {tests} tests: increase resamples."
        )
    return notes


def _smallest_p(pair: Pair, test: str, resamples: int) -> float:
    """Return the smallest p-value that the test can give with this many users."""
    if test == "wilcoxon":
        return min(1.0, 2.0 ** (1 - pair.changed))
    if test != "sign_flip":
        return 0.0
    users = pair.users
    return 2.0 ** (1 - users) if all_flips(users, resamples) else 1 / (resamples + 1)
