"""Slices: the state of each subset of the lists, or of the rows of the truth.

A slice by users or lists is a subset of the lists. A slice by items, or by any other attribute of
the rows of the truth, is a subset of these rows: it is evaluated as if there were no other relevant
items and no other users. Items of other slices keep their ranks in a list and count as not
relevant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Unpack

import numpy as np

from rectitude.aggregate.evaluation import Evaluation, Result
from rectitude.aggregate.slices import WHOLE, Number, Slices
from rectitude.arrays import Flags, Integers
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs
from rectitude.errors import NothingToEvaluate, RectitudeError, UndefinedValue
from rectitude.evaluation.axes import (
    Axis,
    Of,
    Slicing,
    columns_of_axes,
    in_order,
    is_in,
    label,
    parse_slicing,
    require_axes,
    slicing_of,
)
from rectitude.evaluation.batch import Batch, judge_batch, lists_for_all
from rectitude.evaluation.evaluate import evaluation_of, measure_whole, plan_of, results_of
from rectitude.evaluation.inputs import Arguments, gather_arguments, open_inputs
from rectitude.evaluation.measure import measure
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.state import KeptValues, Key, SlicedStates, State
from rectitude.judge.align import Aligned
from rectitude.metrics.names import Names
from rectitude.metrics.registry import Facts


class SlicedBatches(NamedTuple):
    """The lists of every slice of one slicing; None for a slice without lists."""

    of: Of
    orders: tuple[Key | None, ...]
    batches: Mapping[Key, Batch | None]


def slice_batch(plan: Plan, batch: Batch, inputs: Inputs) -> dict[str, SlicedBatches]:
    """Return the lists of all slices. Slices of rows of the truth are judged again, because ties
    and judged items depend on the rows."""
    sliced = {}
    for axes in plan.slicings:
        slicing = slicing_of(axes, inputs, _require_aligned(batch))
        batches: dict[Key, Batch | None] = {}
        for key, members in zip(slicing.keys, slicing.members, strict=True):
            batches[key] = None
            if len(members) and slicing.of == "lists":
                batches[key] = batch.only(members)
            elif len(members):
                rows = _select_rows(inputs, _flag_rows(members, inputs))
                batches[key] = judge_batch(plan, replace(rows, left="some"))
        sliced[slicing.name] = SlicedBatches(slicing.of, slicing.orders, batches)
    return sliced


def _require_aligned(batch: Batch) -> Aligned:
    if batch.aligned is None:
        raise NothingToEvaluate("there are no lists to slice.", "lists of one batch.")
    return batch.aligned


def _flag_rows(rows: Integers, inputs: Inputs) -> Flags:
    flags = np.zeros(inputs.truth.frame.height, bool)
    flags[rows] = True
    return flags


def _select_rows(sources: Inputs, rows: Flags) -> Inputs:
    """Return the inputs with some rows of the truth and only the users of these rows."""
    truth = replace(sources.truth, frame=sources.truth.frame.filter(rows))
    users, key = sources.users, "list" if sources.key == "user" else "user"
    if key in truth.frame.columns and users is None:
        ids = truth.frame[key].alias("list").to_frame()
        users = replace(truth, frame=ids, columns={"list": ""}, handed=None)
    elif key in truth.frame.columns and users is not None:
        chosen = is_in((users, "list"), (truth, key), "user")
        users = replace(users, frame=users.frame.filter(chosen))
    return replace(sources, truth=truth, users=users)


def measure_slices(
    plan: Plan,
    sliced: Mapping[str, SlicedBatches],
    failures: Mapping[str, RectitudeError],
    keep: Sequence[str] = (),
) -> dict[str, SlicedStates]:
    """Return the states of all slices. A metric that fails for all lists fails in every slice,
    unless its value is undefined. The values of lists are kept for the metrics in `keep`."""
    broken = {n: e for n, e in failures.items() if not isinstance(e, UndefinedValue)}
    states_by_slicing = {}
    for name, batches in sliced.items():
        states = {
            key: State() if batch is None else _measure_slice(plan, batch, batches.of, broken, keep)
            for key, batch in batches.batches.items()
        }
        states_by_slicing[name] = SlicedStates(batches.of, batches.orders, states)
    return states_by_slicing


def _measure_slice(
    plan: Plan,
    batch: Batch,
    of: Of,
    broken: Mapping[str, RectitudeError],
    keep: Sequence[str],
) -> State:
    lists = batch.size
    if of == "rows":  # only lists with a row in the truth
        lists = int(lists_for_all(plan, batch).in_truth.sum())
    else:
        batch = replace(batch, failures={**broken})
    measurement = measure(plan, replace(batch, bounds=False))
    kept = {name: measurement.values[name] for name in keep if name in measurement.values}
    return State(
        measurement.totals,
        measurement.failures,
        kept=KeptValues.of(batch.lists, kept),
        lists=lists,
        relevant=relevant_in(plan, batch),
        batches=1,
    )


def relevant_in(plan: Plan, batch: Batch) -> int:
    """Return the number of relevant rows of the truth under the convention."""
    judged = lists_for_all(plan, batch)
    return int(judged.at_threshold(plan.convention.relevant_from).relevant.sum())


def numbers_of(plan: Plan, whole: State, facts: Facts) -> Slices:
    """Return every metric over all lists and in every slice."""
    plan = replace(plan, intervals=True)
    template = Number(by=WHOLE, slice=WHOLE, metric="", value=None, share=1.0)
    numbers = [*_slice_numbers(template, whole, plan, facts)]
    for by, sliced in whole.slices.items():
        for key in in_order(sliced.states, sliced.orders):
            state = sliced.states[key]
            template = Number(
                by=by, slice=label(key), metric="", value=None, of=sliced.of,
                share=_share_of(state, sliced, whole),
            )  # fmt: skip
            numbers += _slice_numbers(template, state, plan, facts)
    return Slices(tuple(numbers), tuple(_notes(whole)))


def _share_of(state: State, sliced: SlicedStates, whole: State) -> float | None:
    size, total = state.lists, whole.lists
    if sliced.of == "rows":
        size, total = state.relevant, whole.relevant
    return size / total if total else None


def _notes(whole: State) -> Iterator[str]:
    of_rows = [by for by, sliced in whole.slices.items() if sliced.of == "rows"]
    if of_rows:
        yield (
            f"- {', '.join(of_rows)}: slices of the relevant rows. Items of other slices keep "
            "their ranks and count as not relevant."
        )
    for by, sliced in whole.slices.items():
        size, everything = ("relevant", whole.relevant) if by in of_rows else ("lists", whole.lists)
        if sum(getattr(state, size) for state in sliced.states.values()) > everything:
            unit = "row" if by in of_rows else "list"
            yield f"- {by}: a {unit} with several values is in several slices."


def _slice_numbers(template: Number, state: State, plan: Plan, facts: Facts) -> Iterator[Number]:
    template = replace(template, lists=state.lists, relevant=state.relevant)
    results: Mapping[str, Result] = {}
    no_lists = NothingToEvaluate("this slice has no lists.")
    failures: Mapping[str, RectitudeError] = {str(asked.name): no_lists for asked in plan.asked}
    if state.lists:
        results, failures = results_of(plan, replace(state, ledger=Ledger()), facts, {})
    for name in [str(asked.name) for asked in plan.asked]:
        if name in failures:
            yield replace(template, metric=name, reason=failures[name].found)
            continue
        yield _fill_number(replace(template, metric=name), results[name])


def _fill_number(template: Number, result: Result) -> Number:
    if not math.isfinite(result.value):
        problem = (
            "is undefined for at least one list" if math.isnan(result.value) else "is infinite"
        )
        return replace(template, counted=result.counted, reason=f"{result.name} {problem}.")
    low, high = result.interval or (None, None)
    if low == high:  # equal values give no information about their spread
        low, high = None, None
    return replace(template, value=result.value, counted=result.counted, low=low, high=high)


def slices(
    predictions: object,
    truth: object,
    metrics: Names | None = None,
    convention: object = None,
    *,
    cutoffs: object = None,
    by: object = "known",
    intervals: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **inputs: Unpack[Arguments],
) -> dict[str, Evaluation]:
    """Evaluate all lists and every slice that has any lists; return the evaluations by name.

    `by` is a column of `users=`, `items=`, the truth or the predictions, or one of these: "known"
    (whether user and item are in `train=`: warm, unknown user, unknown item, both), "activity"
    (training rows of the user), "popularity" (training rows of the item), "time" (of the rows of
    the truth). Numbers are cut into slices of equal size ("activity:4") or at edges
    ("price:10,50,100"). Several attributes are crossed (["gender", "activity:2"]). The other
    arguments are those of `evaluate`. The ledger of "all" shows the size of each slice, and why a
    slice could not be evaluated.

    >>> lists, truth = {1: ["a"], 2: ["x", "b"]}, {1: ["a"], 2: ["b"]}
    >>> sliced = slices(lists, truth, "mrr", by="sex", users={"user": [1, 2], "sex": ["f", "m"]})
    >>> {name: evaluation["mrr"] for name, evaluation in sliced.items()}
    {'all': 0.75, 'f': 1.0, 'm': 0.5}
    """
    axes = parse_slicing(by)
    plan = plan_of(predictions, metrics, convention, intervals, cutoffs=cutoffs)
    given = gather_arguments(predictions, truth, inputs, plan.profile.padding)
    given = replace(given, progress=progress, keep=columns_of_axes([axes]))
    tables = open_inputs(given, plan.reach, plan.convention)
    require_axes([axes], tables)
    return _evaluations(plan, axes, tables)


def _evaluations(plan: Plan, axes: Sequence[Axis], tables: Inputs) -> dict[str, Evaluation]:
    batch = judge_batch(plan, tables)
    state = measure_whole(plan, batch, tables)
    evaluations = {"all": _make_evaluation(plan, state, batch)}
    slicing = slicing_of(axes, tables, _require_aligned(batch))
    ledger, of_lists = evaluations["all"].ledger, slicing.of == "lists"
    _count_slices(slicing, batch.size if of_lists else tables.truth.frame.height, ledger)
    for name, members in zip(slicing.labels, slicing.members, strict=True):
        if not len(members):
            continue
        try:
            sliced, slice_state = _evaluate_slice(plan, slicing, members, batch, state, tables)
        except NothingToEvaluate as error:
            ledger.note(name, f"the slice was not evaluated: {error.found}")
            continue
        key = f"{slicing.name}: {name}" if name == "all" else name
        evaluations[key] = _make_evaluation(plan, slice_state, sliced)
    return evaluations


def _evaluate_slice(
    plan: Plan,
    slicing: Slicing,
    members: Integers,
    batch: Batch,
    whole: State,
    tables: Inputs,
) -> tuple[Batch, State]:
    """Return the lists of a slice, and their state."""
    if slicing.of == "rows":
        rows = _select_rows(tables, _flag_rows(members, tables))
        sliced = judge_batch(plan, rows)
        return sliced, measure_whole(plan, sliced, rows)
    broken = {n: e for n, e in whole.failures.items() if not isinstance(e, UndefinedValue)}
    sliced = replace(batch.only(members), failures=broken)
    measurement = measure(plan, sliced)
    manifest = {**whole.manifest, "lists": len(members)}
    kept = KeptValues.of(sliced.lists, measurement.values)
    return sliced, State(
        measurement.totals, measurement.failures, manifest=manifest, kept=kept, batches=1
    )


def _make_evaluation(plan: Plan, state: State, batch: Batch) -> Evaluation:
    values = dict(state.kept.held[0]) if state.kept.held else {}
    return evaluation_of(plan, state, batch.facts, values, batch.lists)


def _count_slices(slicing: Slicing, size: int, ledger: Ledger) -> None:
    what = "lists" if slicing.of == "lists" else "rows of the truth"
    for name, members in zip(slicing.labels, slicing.members, strict=True):
        about = f"{what} are in the slice {name!r}"
        ledger.count(f"slice_{name.replace(' ', '_')}", len(members), about, of=size)
