"""`evaluate`: open the inputs, judge the lists, measure the metrics, and return an `Evaluation`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np
import polars  # noqa: F401  (first, as deep inside other imports it takes longer)

from rectitude.aggregate.evaluation import Evaluation, Keys, Result
from rectitude.aggregate.spread import Spread
from rectitude.aggregate.sums import (
    Addend,
    ByGroup,
    Counted,
    Sums,
    Total,
    overall,
    value_without_hits,
)
from rectitude.arrays import Floats
from rectitude.convention import SWITCHES, Convention
from rectitude.data.ledger import Ledger
from rectitude.data.read import reads_alone
from rectitude.data.table import Inputs
from rectitude.errors import MissingNeed, NothingToEvaluate, RectitudeError
from rectitude.evaluation.account import (
    account_for_grades,
    identify,
    manifest_of,
    range_of_grades,
    require_grades,
)
from rectitude.evaluation.batch import Batch, judge_aligned
from rectitude.evaluation.inputs import (
    Arguments,
    Progress,
    RawInputs,
    gather_arguments,
    may_exceed,
    memory_for,
    open_inputs,
    with_progress,
)
from rectitude.evaluation.measure import blame_metric, measure, value_of_counts
from rectitude.evaluation.plan import (
    DEFAULT_METRICS,
    TARGET_METRICS,
    Plan,
    Slicings,
    answer_keywords,
    part_name,
    parts_of,
    resolve,
)
from rectitude.evaluation.state import KeptValues, State
from rectitude.judge.align import Aligned, align_inputs
from rectitude.judge.judged import is_relevant
from rectitude.metrics.aliases import for_classes
from rectitude.metrics.names import Names
from rectitude.metrics.registry import Facts
from rectitude.predictions.logits import Logits
from rectitude.profiles import Asked, Profile, profile_of

if TYPE_CHECKING:
    from rectitude.aggregate.evaluations import Evaluations

_MOST_GROUPS_SHOWN = 12
_REPEATS = ("truth_duplicates", "lists_with_duplicates")
"""entries that say of how many only if they counted any; states know it all the same, because other
parts of the lists may have some"""
EvaluatePlans = Callable[[Sequence[Plan]], Sequence[Evaluation | RectitudeError]]
"""Evaluates several plans in one pass; returns an error for a plan that cannot be evaluated."""
OneConvention = str | PathLike[str] | Convention | Profile | Mapping[str, Any] | None


class EvaluateArguments(Arguments, total=False):
    """The keyword arguments of `evaluate`."""

    cutoffs: object
    intervals: bool
    slices: object
    per_list: str | PathLike[str] | None
    unreadable: Literal["error", "left_out"]
    memory: str | int | None
    engine: str | None
    progress: Progress | None


@overload
def evaluate(
    predictions: object,
    truth: object,
    metrics: Names | None = None,
    convention: OneConvention = None,
    **options: Unpack[EvaluateArguments],
) -> Evaluation: ...
@overload
def evaluate(
    predictions: object,
    truth: object,
    metrics: Names | None = None,
    *,
    convention: list[Any] | tuple[Any, ...],
    **options: Unpack[EvaluateArguments],
) -> Evaluations: ...
@overload
def evaluate(
    predictions: object,
    truth: object,
    metrics: Names | None,
    convention: list[Any] | tuple[Any, ...],
    **options: Unpack[EvaluateArguments],
) -> Evaluations: ...
@answer_keywords
@with_progress
def evaluate(  # noqa: PLR0913  one parameter per input
    predictions: object,
    truth: object,
    metrics: Names | None = None,
    convention: object = None,
    *,
    cutoffs: object = None,
    train: object = None,
    seen: object = None,
    items: object = None,
    users: object = None,
    candidates: object = None,
    ranking: object = None,
    list_key: str = "user",
    weights: object = None,
    columns: Mapping[str, str] | None = None,
    intervals: bool = False,
    slices: object = None,
    per_list: str | PathLike[str] | None = None,
    unreadable: Literal["error", "left_out"] = "error",
    memory: str | int | None = None,
    engine: str | None = None,
    progress: Progress | None = None,
) -> Evaluation | Evaluations:
    """Evaluate predictions against the truth (the test set).

    `predictions` are ranked lists in any tabular form (a path, a frame, a dict of lists, a sparse
    matrix), or dense: `Scores`, `Logits`, `Embeddings`, or an array of scores. `truth` is a table;
    with scores it may be a matrix, with logits an array of targets. Wrap tables in `Lists` and
    `Interactions` to name their columns. `metrics` are names such as "ndcg@10", or names without a
    cutoff with `cutoffs=[5, 10]`. `convention` is the name of a profile, a `Convention`, or a
    dict of switches to change; a list of these returns `Evaluations`, one for each.

    `train` is the training data; its items are masked in dense scores, unless `seen` is given.
    With `candidates`, a table or a `Candidates` value, only these items are ranked. `ranking` is an
    order that replaces the order of the scores. `slices` are attributes to slice by, such as
    "gender" or "activity:4". Files that need more than `memory`, such as "8GB" (by default a
    quarter of the machine's memory), are evaluated part by part. With `per_list`, the values of
    every list are written to that .parquet or .csv file, or to a folder of Parquet files, and are
    not held in memory; their rows are in no particular order. With `unreadable="left_out"`, damaged
    or missing files of a table in many files are left out and counted in the ledger.

    DataFrames of Spark are evaluated by its workers; `engine="spark"` lets Spark read paths.
    `progress=True` shows a bar; a function is called with the number of rows that are done and the
    total.

    >>> evaluate({"ann": ["a", "b", "c"]}, {"ann": ["b"]}, metrics="mrr")["mrr"]
    0.5
    """
    options: Arguments = {
        "train": train, "seen": seen, "items": items, "users": users, "candidates": candidates,
        "ranking": ranking, "list_key": list_key, "weights": weights, "columns": columns,
    }  # fmt: skip
    if memory is not None:
        memory_for(memory)  # whichever way the tables are read
    given = replace(gather_arguments(predictions, truth, options), progress=progress)
    if unreadable != "error":
        from rectitude.evaluation.unreadable import leave_out_unreadable  # noqa: PLC0415  (if asked)

        given = leave_out_unreadable(given, unreadable, engine)
    target = None if per_list is None else _require_target(per_list, convention)
    ask = partial(
        plan_of, predictions, intervals=intervals, slices=slices, cutoffs=cutoffs, per_list=target
    )
    evaluate_given = partial(_evaluate_under, convention, metrics, ask)
    if engine is not None or reads_alone(predictions):
        from rectitude.evaluation.engines import find_engine, open_engine  # noqa: PLC0415  (for engines only)

        if (moved_by := find_engine(given, engine)) is not None:
            with open_engine(moved_by, given, parse_slices(slices)) as evaluate_plans:
                return evaluate_given(given, evaluate_plans)
    return _evaluate_within(memory, slices, given, evaluate_given)


def _evaluate_within(
    memory: str | int | None,
    slices: object,
    given: RawInputs,
    evaluate_given: Callable[..., Evaluation | Evaluations],
) -> Evaluation | Evaluations:
    """Evaluate tables in memory, or part by part if they would take too much of it."""
    if not may_exceed(given, memory):
        return evaluate_given(given)
    from rectitude.evaluation.partitions import cut_tables  # noqa: PLC0415  (for large files only)

    with cut_tables(given, memory_for(memory), slices) as parts:
        return evaluate_given(given, None if parts is None else parts.evaluate_plans)


def _evaluate_under(
    convention: object,
    metrics: Names | None,
    ask: Callable[..., Plan],
    given: RawInputs,
    evaluate_plans: EvaluatePlans | None = None,
) -> Evaluation | Evaluations:
    """Evaluate under one convention or several; `evaluate_plans` evaluates plans in its own way,
    without opening the inputs here."""
    if isinstance(convention, list | tuple):
        from rectitude.evaluation.conventions import evaluate_conventions  # noqa: PLC0415  (several)

        return evaluate_conventions(convention, metrics, given, ask, evaluate_plans)
    plan = ask(metrics, convention)
    if plan.per_list is not None:
        from rectitude.evaluation.written import evaluate_to_file  # noqa: PLC0415  (for files only)

        return evaluate_to_file(plan, partial(_evaluate_plan, given, evaluate_plans))
    return _evaluate_plan(given, evaluate_plans, plan)


def _evaluate_plan(
    given: RawInputs, evaluate_plans: EvaluatePlans | None, plan: Plan
) -> Evaluation:
    if evaluate_plans is not None:
        (found,) = evaluate_plans([plan])
        if isinstance(found, RectitudeError):
            raise found
        return found
    inputs = open_for(plan, given)
    require_slices(plan, inputs)
    return evaluate_aligned(plan, align_inputs(inputs, plan.exact_items))


def _require_target(per_list: object, convention: object) -> Path:
    """Return where values per list are to be written."""
    from rectitude.evaluation.written import require_target  # noqa: PLC0415  (for files only)

    return require_target(per_list, convention)


def open_for(plan: Plan, given: RawInputs) -> Inputs:
    """Open the inputs as the metrics and the convention of a plan need them."""
    given = replace(given, padding=plan.profile.padding, keep=columns_kept(plan))
    inputs = open_inputs(given, plan.reach, plan.convention)
    require_grades(plan.asked, plan.profile, inputs.truth)
    return inputs


def plan_of(
    predictions: object,
    metrics: Names | None,
    convention: object,
    intervals: bool = False,
    slices: object = None,
    cutoffs: object = None,
    per_list: Path | None = None,
) -> Plan:
    """Return the plan for metrics, or for the default metrics of such predictions."""
    profile, slicings = profile_of(convention), parse_slices(slices)
    defaults = TARGET_METRICS if isinstance(predictions, Logits) else DEFAULT_METRICS
    asked = resolve(metrics, profile, defaults, cutoffs)
    return replace(Plan.of(asked, profile, intervals, slicings), per_list=per_list)


def parse_slices(slices: object) -> Slicings:
    """Return the axes of every requested slicing."""
    if slices is None:
        return ()
    from rectitude.evaluation.axes import parse_slicings  # noqa: PLC0415  (for slices only)

    return tuple(parse_slicings(slices))


def columns_kept(plan: Plan) -> tuple[str, ...]:
    """Return the columns of predictions and truth that slices may need."""
    return columns_for(plan.slicings)


def columns_for(slicings: Slicings) -> tuple[str, ...]:
    """Return the columns of predictions and truth that these slicings may need."""
    if not slicings:
        return ()
    from rectitude.evaluation.axes import columns_of_axes  # noqa: PLC0415  (for slices only)

    return columns_of_axes(slicings)


def require_slices(plan: Plan, inputs: Inputs) -> None:
    """Raise an error if the inputs lack an attribute that slices are made by."""
    if plan.slicings:
        from rectitude.evaluation.axes import require_axes  # noqa: PLC0415  (for slices only)

        require_axes(plan.slicings, inputs)


def evaluate_aligned(plan: Plan, aligned: Aligned) -> Evaluation:
    """Evaluate inputs that are already in common codes."""
    batch = judge_aligned(plan, aligned)
    state = measure_whole(plan, batch, aligned.sources)
    values = dict(state.kept.held[0]) if state.kept.held else {}
    return evaluation_of(plan, state, batch.facts, values, batch.lists)


def measure_whole(plan: Plan, batch: Batch, inputs: Inputs) -> State:
    """Return the state of a batch with the values of all its lists; input fingerprints are computed
    in parallel."""
    fingerprints: dict[str, str] = {}
    aligned = batch.aligned
    tasks = [] if aligned is None else identify(aligned, fingerprints)
    measurement = measure(plan, batch, tasks)
    state = State(
        measurement.totals,
        measurement.failures,
        batch.full_ledger(),
        {} if aligned is None else manifest_of(aligned, plan.profile, fingerprints),
        KeptValues.of(batch.lists, measurement.values),
        lists=batch.size,
        batches=1,
    )
    if not plan.slicings:
        return state
    from rectitude.evaluation.slices import measure_slices, relevant_in, slice_batch  # noqa: PLC0415  (for slices only)

    slices = measure_slices(plan, slice_batch(plan, batch, inputs), measurement.failures)
    return replace(state, slices=slices, relevant=relevant_in(plan, batch))


def evaluation_of(
    plan: Plan,
    state: State,
    facts: Facts,
    values: Mapping[str, Floats],
    lists: Keys | None,
) -> Evaluation:
    """Return the evaluation for a state."""
    state = replace(state, ledger=state.ledger.without_of(_REPEATS))
    manifest = {**state.manifest, **_report_names(plan, state)}
    results, failures = results_of(plan, state, facts, values)
    account_for_grades(plan.asked, state.manifest, state.ledger)
    sliced = None
    if state.slices:
        from rectitude.evaluation.slices import numbers_of  # noqa: PLC0415  (for slices only)

        sliced = numbers_of(plan, state, facts)
    return Evaluation(results, state.ledger, manifest, failures, lists, sliced)


def _report_names(plan: Plan, state: State) -> dict[str, Any]:
    """Record which metric a name of another framework is, for the manifest, too. Warn about metrics
    of lists that are easily taken for metrics of classes."""
    typed = {str(asked.typed): str(asked.name) for asked in plan.asked if asked.typed is not None}
    if typed:
        pairs = [f"{other} is {ours}" for other, ours in typed.items()]
        state.ledger.note("names", ", ".join(pairs))
    has_classes = "classes" in state.manifest.get("inputs", {}).get("predictions", {})
    for asked in plan.asked if has_classes else ():
        other = for_classes(asked.metric.name) if asked.name.at is None else ""
        if other:
            about = (
                f"metric of ranked lists on logits: {asked.name} takes all classes as one list; "
                f"for predicted classes, ask for {other}"
            )
            state.ledger.count(f"{asked.name}_of_lists", 1, about, weight="warning")
    return {"names": typed} if typed else {}


def results_of(
    plan: Plan, state: State, facts: Facts, values: Mapping[str, Floats]
) -> tuple[dict[str, Result], dict[str, RectitudeError]]:
    """Return the numbers for the totals of a state, and the errors of metrics that could not be
    computed."""
    results: dict[str, Result] = {}
    failures: dict[str, RectitudeError] = {}
    for asked in plan.asked:
        name = str(asked.name)
        try:
            _require_values(asked, state.ledger)
            results[name] = _result(plan, asked, state, facts, values.get(name))
        except RectitudeError as error:
            failures[name] = error
    return results, failures


def _result(plan: Plan, asked: Asked, state: State, facts: Facts, values: Floats | None) -> Result:
    convention, sums, interval, ties = asked.convention, None, None, None
    lists: int | None = None
    breakdown = None
    if asked.metric.kind == "derived":
        value = _derive(plan, asked, state, facts)
    else:
        total = _total_or_failure(state, str(asked.name))
        if not total.sum.lists and value_without_hits(convention) is None:
            _require_relevant_grade(asked, state.manifest)
        value, lists = value_of(asked, total.sum, facts), total.sum.lists
        if isinstance(total.sum, Sums):
            sums, ties, lists = total.sum, _tie_bounds(total, asked), total.sum.counted
            interval = _interval(sums, asked) if plan.intervals else None
        elif isinstance(total.sum, Counted) and asked.metric.breakdown is not None:
            breakdown = asked.metric.breakdown(total.sum.counts)
    return Result(
        asked.name, present_value(value, convention), asked.metric.name,
        *plan.describe(asked), convention.as_dict(), asked.numbers, sums, interval, ties, values,
        lists, breakdown,
    )  # fmt: skip


def _total_or_failure(state: State, name: str) -> Total:
    if name in state.failures:
        raise state.failures[name]
    return state.totals[name]


def value_of(asked: Asked, total: Addend, facts: Facts) -> Any:
    """Return the number for sums or counts; for sums by group, the number of each group."""
    convention = asked.convention
    if not total.lists and value_without_hits(convention) is None:
        raise NothingToEvaluate(
            f"no list counts for {str(asked.name)!r}.",
            f"at least one list that fulfils truth_needed={convention.truth_needed!r} and "
            f"list_needed={convention.list_needed!r}.",
        )
    if isinstance(total, Sums):
        return overall(total, convention, asked.metric.overall)
    if isinstance(total, ByGroup):
        return _means_of_groups(asked, total)
    if isinstance(total, Spread):
        return total.statistic(asked.stat)
    with blame_metric(asked):
        return value_of_counts(asked, total.counts, facts)


def _require_relevant_grade(asked: Asked, manifest: Mapping[str, Any]) -> None:
    """Raise an error if no grade of the truth is relevant for a metric."""
    grades, threshold = range_of_grades(manifest), asked.convention.relevant_from
    if grades is None or is_relevant(np.array(grades[1]), threshold):
        return
    needed = f"of {threshold:g} or more" if isinstance(threshold, float) else "above 0"
    raise NothingToEvaluate(
        f"no item of the truth has a grade {needed} (highest: {grades[1]:g}), so nothing is "
        f"relevant for {str(asked.name)!r}.",
        "at least one relevant item.",
        "set relevant_from= to a grade that occurs in the truth.",
    )


def _derive(plan: Plan, asked: Asked, state: State, facts: Facts) -> float:
    values = {}
    for base, component in parts_of(asked, plan.profile).items():
        total = _total_or_failure(state, part_name(asked, base)).sum
        values[base] = value_of(component, total, facts)
        if isinstance(total, ByGroup):
            _report_groups(state.ledger, asked, values[base], total)
    with blame_metric(asked):
        return float(asked.metric.function(**values))


def _tie_bounds(total: Total, asked: Asked) -> tuple[float, float] | None:
    """Return the value with all ties broken against, and in favour of, the relevant items; None
    unless both exist and differ."""
    if total.bounds is None:
        return None
    convention, how = asked.convention, asked.metric.overall
    try:
        worst, best = (present_value(overall(s, convention, how), convention) for s in total.bounds)
    except RectitudeError:  # for one bound, no list counts or a value is undefined
        return None
    return (worst, best) if worst < best or worst > best else None


def present_value(value: float, convention: Convention) -> float:
    """Return a mean as the convention presents it: in percent, rounded, or in float32."""
    presented = value * 100 if convention.scale == "percent" else value
    if convention.decimals is not None:
        presented = round(presented, int(convention.decimals))
    return float(np.float32(presented)) if convention.scale == "float32" else presented


def _interval(state: Sums, asked: Asked) -> tuple[float, float] | None:
    """Return the 95% confidence interval of a mean by Student's t, clipped to the metric's bounds
    if these apply."""
    how = asked.metric.overall
    part_weighted = asked.convention.weighting == "average" and state.skipped > 0
    if not np.isfinite(state.error) or how == "sum" or part_weighted:
        return None
    from scipy.special import stdtrit

    reach = float(stdtrit(state.counted - 1, 0.975)) * state.error
    switches = asked.metric.switches
    default_choices = all(getattr(asked.convention, s) == SWITCHES[s].default for s in switches)
    bounds = asked.metric.bounds if default_choices else (-np.inf, np.inf)
    limits = np.array([state.value - reach, state.value + reach])
    limits = np.exp(limits) if how == "exp of the mean" else limits
    low, high = np.clip(limits, *bounds).tolist()
    return present_value(low, asked.convention), present_value(high, asked.convention)


def _means_of_groups(asked: Asked, total: ByGroup) -> dict[str, float]:
    """Return the value of each group that has one. Raise an error if there are fewer than two."""
    convention, how = asked.convention, asked.metric.overall
    means = {
        name: overall(state, convention, how)
        for name, state in total.states.items()
        if state.counted or state.nan
    }
    if len(means) < 2:
        groups = f"only 1 group of {asked.by!r}: {next(iter(means))!r}" if means else "no group"
        raise NothingToEvaluate(
            f"{str(asked.name)!r} has a value for {groups}.",
            "values for at least two groups.",
            f"check the column {asked.by!r} of users=.",
        )
    return means


def _report_groups(
    ledger: Ledger, asked: Asked, means: Mapping[str, float], total: ByGroup
) -> None:
    """Record the mean and size of each group, and warn about groups with one value."""
    sizes = {name: total.states[name].counted for name in means}
    unit = f"{asked.convention.unit}s"
    descriptions = [f"{name} {mean:.4f} ({sizes[name]:,} {unit})" for name, mean in means.items()]
    more = (
        f", ... ({len(descriptions)} groups in total)"
        if len(descriptions) > _MOST_GROUPS_SHOWN
        else ""
    )
    ledger.note(str(asked.name), f"{', '.join(descriptions[:_MOST_GROUPS_SHOWN])}{more}")
    single = [name for name, size in sizes.items() if size == 1]
    about = f"groups of {asked.numbers['by']!r} have only one value: their mean is unreliable"
    name = f"groups_of_one_{asked.numbers['by']}"
    ledger.count(name, len(single), about, len(sizes), single[0] if single else "", "warning")


def _require_values(asked: Asked, ledger: Ledger) -> None:
    """Raise an error if no item, or no user, has a value of an attribute that the metric needs."""
    for kind in ("item", "user"):
        for column in asked.numbers.values():
            entry = ledger.entries.get(f"{kind}s_without_{column}")
            if entry is not None and entry.count and entry.count == entry.of:
                raise MissingNeed(
                    f"column {column!r} of {kind}s= has no value for any {kind}.",
                    f"a value for at least one {kind}.",
                )
