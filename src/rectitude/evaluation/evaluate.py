"""`evaluate`: the road from what was handed over to numbers. Inputs are opened, lists judged,
metrics measured, and the state that they add up to becomes an `Evaluation`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rectitude.aggregate.definition import definition, fingerprint
from rectitude.aggregate.evaluation import Evaluation, Keys, Result
from rectitude.aggregate.sums import Addend, ByGroup, Sums, Total, of_nobody, overall
from rectitude.arrays import Floats
from rectitude.convention import SWITCHES, Convention
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs
from rectitude.errors import MissingNeed, NothingToEvaluate, RectitudeError
from rectitude.evaluation.account import identify, manifest_of
from rectitude.evaluation.batch import Batch, judge_batch
from rectitude.evaluation.inputs import Arguments, given_of, opened
from rectitude.evaluation.measure import blamed, measure, value_of_counts
from rectitude.evaluation.plan import (
    DEFAULT_METRICS,
    TARGET_METRICS,
    Plan,
    Slicings,
    part_name,
    parts_of,
    resolve,
)
from rectitude.evaluation.state import KeptValues, State
from rectitude.metrics.registry import Facts
from rectitude.predictions.logits import Logits
from rectitude.profiles import Asked, profile_of

_NAMED = 12


def evaluate(  # noqa: PLR0913  one parameter per input
    predictions: object,
    truth: object,
    metrics: str | Iterable[str] | None = None,
    convention: object = None,
    *,
    train: object = None,
    items: object = None,
    users: object = None,
    candidates: object = None,
    ranking: object = None,
    list_key: str = "user",
    weights: object = None,
    columns: Mapping[str, str] | None = None,
    intervals: bool = False,
    slices: object = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Evaluate predictions against the truth.

    `predictions` are ranked lists in any tabular form (a path, a Polars, pandas or Arrow frame, a
    dict of lists, a sparse matrix), or dense: `Scores`, `Logits` or `Embeddings`. `truth` is a
    table; for logits, an array of targets. Wrap tables in `Lists` and `Interactions` to name
    columns. `convention` is a profile name, a `Convention`, or a dict of switches to change.
    `train` says what was seen, and is masked in dense scores; nothing but `candidates` competes, a
    table or a `Candidates` value; `ranking` is an order to use in place of the scores' own.
    `slices` are attributes to part by, such as "gender" or "activity:4", as
    `rectitude.evaluation.slices` has them. `progress` is called with the rows of dense scores that
    are done, and with all.

    >>> evaluate({"ann": ["a", "b", "c"]}, {"ann": ["b"]}, metrics="mrr")["mrr"]
    0.5
    """
    plan = plan_of(predictions, metrics, convention, intervals, slices)
    beside: Arguments = {
        "train": train, "items": items, "users": users, "candidates": candidates,
        "ranking": ranking, "list_key": list_key, "weights": weights, "columns": columns,
    }  # fmt: skip
    given = given_of(predictions, truth, beside, plan.profile.padding)
    given = replace(given, progress=progress, keep=columns_kept(plan))
    return evaluate_inputs(plan, opened(given, plan.reach, plan.convention))


def plan_of(
    predictions: object,
    metrics: str | Iterable[str] | None,
    convention: object,
    intervals: bool = False,
    slices: object = None,
) -> Plan:
    """The plan for metrics, or for the usual ones of such predictions."""
    profile, slicings = profile_of(convention), parse_slices(slices)
    usual = TARGET_METRICS if isinstance(predictions, Logits) else DEFAULT_METRICS
    return Plan.of(resolve(metrics, profile, usual), profile, intervals, slicings)


def parse_slices(slices: object) -> Slicings:
    """The axes of every slicing that was asked for."""
    if slices is None:
        return ()
    from rectitude.evaluation.axes import parse_slicings  # noqa: PLC0415  (for slices only)

    return tuple(parse_slicings(slices))


def columns_kept(plan: Plan) -> tuple[str, ...]:
    """The columns of predictions and truth that slices may go by."""
    if not plan.slicings:
        return ()
    from rectitude.evaluation.axes import kept_columns  # noqa: PLC0415  (for slices only)

    return kept_columns(plan.slicings)


def evaluate_inputs(plan: Plan, inputs: Inputs) -> Evaluation:
    """The evaluation of inputs that are open already."""
    if plan.slicings:
        from rectitude.evaluation.axes import require_axes  # noqa: PLC0415  (for slices only)

        require_axes(plan.slicings, inputs)
    batch = judge_batch(plan, inputs)
    state = measure_whole(plan, batch, inputs)
    values = dict(state.kept.held[0]) if state.kept.held else {}
    return evaluation_of(plan, state, batch.facts, values, batch.lists)


def measure_whole(plan: Plan, batch: Batch, inputs: Inputs) -> State:
    """The state of a batch, with the values of all its lists; inputs are identified meanwhile."""
    prints: dict[str, str] = {}
    aligned = batch.aligned
    beside = [] if aligned is None else identify(aligned, prints)
    found = measure(plan, batch, beside)
    state = State(
        found.totals,
        found.failures,
        batch.full_ledger(),
        {} if aligned is None else manifest_of(aligned, plan.profile, prints),
        KeptValues.of(batch.lists, found.values),
        lists=batch.size,
        batches=1,
    )
    if not plan.slicings:
        return state
    from rectitude.evaluation.slices import measure_slices, relevant_in, slice_batch  # noqa: PLC0415  (for slices only)

    slices = measure_slices(plan, slice_batch(plan, batch, inputs), found.failures)
    return replace(state, slices=slices, relevant=relevant_in(plan, batch))


def evaluation_of(
    plan: Plan,
    state: State,
    facts: Facts,
    values: Mapping[str, Floats],
    lists: Keys | None,
) -> Evaluation:
    """The numbers that a state stands for."""
    results, failures = results_of(plan, state, facts, values)
    sliced = None
    if state.slices:
        from rectitude.evaluation.slices import numbers_of  # noqa: PLC0415  (for slices only)

        sliced = numbers_of(plan, state, facts)
    return Evaluation(results, state.ledger, state.manifest, failures, lists, sliced)


def results_of(
    plan: Plan, state: State, facts: Facts, values: Mapping[str, Floats]
) -> tuple[dict[str, Result], dict[str, RectitudeError]]:
    """The numbers that totals stand for, and why some could not be computed."""
    results: dict[str, Result] = {}
    failures: dict[str, RectitudeError] = {}
    for one in plan.asked:
        name = str(one.name)
        try:
            _require_values(one, state.ledger)
            results[name] = _result(plan, one, state, facts, values.get(name))
        except RectitudeError as error:
            failures[name] = error
    return results, failures


def _result(plan: Plan, asked: Asked, state: State, facts: Facts, values: Floats | None) -> Result:
    convention, sums, interval, ties = asked.convention, None, None, None
    lists: int | None = None
    if asked.metric.kind == "derived":
        value = _derived(plan, asked, state, facts)
    else:
        total = _total(state, str(asked.name))
        value, lists = value_of(asked, total.sum, facts), total.sum.lists
        if isinstance(total.sum, Sums):
            sums, ties, lists = total.sum, _tie_bounds(total, asked), total.sum.counted
            interval = _interval(sums, asked) if plan.intervals else None
    return Result(
        asked.name, presented(value, convention), asked.metric.name, definition(asked),
        fingerprint(asked), convention.as_dict(), asked.numbers, sums, interval, ties, values,
        lists,
    )  # fmt: skip


def _total(state: State, name: str) -> Total:
    if name in state.failures:
        raise state.failures[name]
    return state.totals[name]


def value_of(asked: Asked, total: Addend, facts: Facts) -> Any:
    """The number that sums or counts stand for; for sums by group, that of each group."""
    convention = asked.convention
    if not total.lists and of_nobody(convention) is None:
        raise NothingToEvaluate(
            f"no list counts for {str(asked.name)!r}.",
            f"lists that have what truth_needed={convention.truth_needed!r} and "
            f"list_needed={convention.list_needed!r} ask for.",
        )
    if isinstance(total, Sums):
        return overall(total, convention, asked.metric.overall)
    if isinstance(total, ByGroup):
        return _means_of_groups(asked, total)
    with blamed(asked):
        return value_of_counts(asked, total.counts, facts)


def _derived(plan: Plan, asked: Asked, state: State, facts: Facts) -> float:
    values = {}
    for base, one in parts_of(asked, plan.profile).items():
        total = _total(state, part_name(asked, base)).sum
        values[base] = value_of(one, total, facts)
        if isinstance(total, ByGroup):
            _tell_groups(state.ledger, asked, values[base], total)
    with blamed(asked):
        return float(asked.metric.function(**values))


def _tie_bounds(total: Total, asked: Asked) -> tuple[float, float] | None:
    """The value with all ties broken against and for the lists, where both exist and differ."""
    if total.bounds is None:
        return None
    convention, how = asked.convention, asked.metric.overall
    try:
        worst, best = (presented(overall(s, convention, how), convention) for s in total.bounds)
    except RectitudeError:  # under one of them no list counts, or a value is undefined
        return None
    return (worst, best) if worst < best or worst > best else None


def presented(value: float, convention: Convention) -> float:
    """A mean as the convention shows it: in percent, rounded, in float32."""
    shown = value * 100 if convention.scale == "percent" else value
    if convention.decimals is not None:
        shown = round(shown, int(convention.decimals))
    return float(np.float32(shown)) if convention.scale == "float32" else shown


def _interval(state: Sums, asked: Asked) -> tuple[float, float] | None:
    """The 95% interval of a mean by Student's t, inside the metric's bounds where these hold."""
    how = asked.metric.overall
    if not np.isfinite(state.error) or how == "sum":
        return None
    from scipy.special import stdtrit

    reach = float(stdtrit(state.counted - 1, 0.975)) * state.error
    switches = asked.metric.switches
    usual = all(getattr(asked.convention, s) == SWITCHES[s].default for s in switches)
    bounds = asked.metric.bounds if usual else (-np.inf, np.inf)
    ends = np.array([state.value - reach, state.value + reach])
    ends = np.exp(ends) if how == "exp of the mean" else ends
    low, high = np.clip(ends, *bounds).tolist()
    return presented(low, asked.convention), presented(high, asked.convention)


def _means_of_groups(asked: Asked, total: ByGroup) -> dict[str, float]:
    """The value of each group that has one; an error where there are not two of them."""
    convention, how = asked.convention, asked.metric.overall
    means = {
        name: overall(state, convention, how)
        for name, state in total.states.items()
        if state.counted or state.nan
    }
    if len(means) < 2:
        found = f"1 group of {asked.by!r}: {next(iter(means))!r}" if means else "no group"
        raise NothingToEvaluate(
            f"{str(asked.name)!r} has a value for {found}.",
            "lists of at least two groups.",
            f"check the column {asked.by!r} of users=.",
        )
    return means


def _tell_groups(ledger: Ledger, asked: Asked, means: Mapping[str, float], total: ByGroup) -> None:
    """Write down the mean and the size of each group, and warn of groups of one."""
    sizes = {name: total.states[name].counted for name in means}
    unit = f"{asked.convention.unit}s"
    words = [f"{name} {mean:.4f} ({sizes[name]:,} {unit})" for name, mean in means.items()]
    more = f", ... ({len(words)} groups in all)" if len(words) > _NAMED else ""
    ledger.note(str(asked.name), f"{', '.join(words[:_NAMED])}{more}")
    single = [name for name, size in sizes.items() if size == 1]
    about = f"groups of {asked.numbers['by']!r} have one value: their mean is no mean"
    name = f"groups_of_one_{asked.numbers['by']}"
    ledger.count(name, len(single), about, len(sizes), single[0] if single else "", "warning")


def _require_values(asked: Asked, ledger: Ledger) -> None:
    """An error if nothing has a value of an attribute that the metric looks at."""
    for what in ("item", "user"):
        for column in asked.numbers.values():
            found = ledger.entries.get(f"{what}s_without_{column}")
            if found is not None and found.count and found.count == found.of:
                raise MissingNeed(
                    f"column {column!r} of {what}s= has no value for any {what}.",
                    f"a value for some {what}s at least.",
                )
