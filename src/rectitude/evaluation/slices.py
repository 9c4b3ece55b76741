"""Slices: the state of each part of the lists, or of the rows of the truth.

A slice by users or lists is a part of the lists. A slice by items, or by anything else that rows of
the truth have for themselves, is a part of these rows: its evaluation knows no other relevant items
and no other users. What a list holds of another slice counts as not relevant, and takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    held,
    in_order,
    kept_columns,
    label,
    parse_slicing,
    require_axes,
    slicing_of,
)
from rectitude.evaluation.batch import Batch, judge_batch, judged_for_all
from rectitude.evaluation.evaluate import evaluation_of, measure_whole, plan_of, results_of
from rectitude.evaluation.inputs import Arguments, given_of, opened
from rectitude.evaluation.measure import measure
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.state import KeptValues, Key, SlicedStates, State
from rectitude.judge.align import Aligned
from rectitude.metrics.registry import Facts


class SlicedBatches(NamedTuple):
    """The lists of every slice of one slicing; None for a slice that has none."""

    of: Of
    orders: tuple[Key | None, ...]
    batches: Mapping[Key, Batch | None]


def slice_batch(plan: Plan, batch: Batch, inputs: Inputs) -> dict[str, SlicedBatches]:
    """The lists of all slices; those of rows of the truth are judged anew, as ties and what is
    judged at all depend on the rows."""
    sliced = {}
    for axes in plan.slicings:
        slicing = slicing_of(axes, inputs, _aligned(batch))
        batches: dict[Key, Batch | None] = {}
        for key, members in zip(slicing.keys, slicing.members, strict=True):
            batches[key] = None
            if len(members) and slicing.of == "lists":
                batches[key] = batch.only(members)
            elif len(members):
                rows = _of_rows(inputs, _flags(members, inputs))
                batches[key] = judge_batch(plan, replace(rows, left="some"))
        sliced[slicing.name] = SlicedBatches(slicing.of, slicing.orders, batches)
    return sliced


def _aligned(batch: Batch) -> Aligned:
    if batch.aligned is None:
        raise NothingToEvaluate("there is nothing to be parted.")
    return batch.aligned


def _flags(rows: Integers, inputs: Inputs) -> Flags:
    flags = np.zeros(inputs.truth.frame.height, bool)
    flags[rows] = True
    return flags


def _of_rows(sources: Inputs, rows: Flags) -> Inputs:
    """The same evaluation of some rows of the truth and of the users they belong to."""
    truth = replace(sources.truth, frame=sources.truth.frame.filter(rows))
    users, key = sources.users, "list" if sources.key == "user" else "user"
    if key in truth.frame.columns and users is None:
        ids = truth.frame[key].alias("list").to_frame()
        users = replace(truth, frame=ids, columns={"list": ""}, handed=None)
    elif key in truth.frame.columns and users is not None:
        chosen = held((users, "list"), (truth, key), "user")
        users = replace(users, frame=users.frame.filter(chosen))
    return replace(sources, truth=truth, users=users)


def measure_slices(
    plan: Plan,
    sliced: Mapping[str, SlicedBatches],
    failures: Mapping[str, RectitudeError],
    keep: Sequence[str] = (),
) -> dict[str, SlicedStates]:
    """The states of all slices. What fails for all lists fails for some of them, unless a value is
    undefined; the values of lists are kept of the metrics in `keep`."""
    broken = {n: e for n, e in failures.items() if not isinstance(e, UndefinedValue)}
    found = {}
    for name, one in sliced.items():
        states = {
            key: State() if batch is None else _state(plan, batch, one.of, broken, keep)
            for key, batch in one.batches.items()
        }
        found[name] = SlicedStates(one.of, one.orders, states)
    return found


def _state(
    plan: Plan,
    batch: Batch,
    of: Of,
    broken: Mapping[str, RectitudeError],
    keep: Sequence[str],
) -> State:
    lists = batch.size
    if of == "rows":  # those of which the truth has a row
        lists = int(judged_for_all(plan, batch).in_truth.sum())
    else:
        batch = replace(batch, failures={**broken})
    found = measure(plan, replace(batch, bounds=False))
    kept = {name: found.values[name] for name in keep if name in found.values}
    return State(
        found.totals,
        found.failures,
        kept=KeptValues.of(batch.lists, kept),
        lists=lists,
        relevant=relevant_in(plan, batch),
        batches=1,
    )


def relevant_in(plan: Plan, batch: Batch) -> int:
    """Relevant rows of the truth, as the convention has it."""
    judged = judged_for_all(plan, batch)
    return int(judged.at_threshold(plan.convention.relevant_from).relevant.sum())


def numbers_of(plan: Plan, whole: State, facts: Facts) -> Slices:
    """Every metric of all lists and of every slice."""
    plan = replace(plan, intervals=True)
    place = Number(by=WHOLE, slice=WHOLE, metric="", value=None, share=1.0)
    numbers = [*_numbers(place, whole, plan, facts)]
    for by, sliced in whole.slices.items():
        for key in in_order(sliced.states, sliced.orders):
            state = sliced.states[key]
            place = Number(
                by=by, slice=label(key), metric="", value=None, of=sliced.of,
                share=_share(state, sliced, whole),
            )  # fmt: skip
            numbers += _numbers(place, state, plan, facts)
    return Slices(tuple(numbers), tuple(_notes(whole)))


def _share(state: State, sliced: SlicedStates, whole: State) -> float | None:
    part, everything = state.lists, whole.lists
    if sliced.of == "rows":
        part, everything = state.relevant, whole.relevant
    return part / everything if everything else None


def _notes(whole: State) -> Iterator[str]:
    of_rows = [by for by, sliced in whole.slices.items() if sliced.of == "rows"]
    if of_rows:
        yield (
            f"- {', '.join(of_rows)}: parts of the relevant rows; what a list holds of another "
            "slice takes its place and counts as not relevant."
        )
    for by, sliced in whole.slices.items():
        what, everything = ("relevant", whole.relevant) if by in of_rows else ("lists", whole.lists)
        if sum(getattr(state, what) for state in sliced.states.values()) > everything:
            told = "row" if by in of_rows else "list"
            yield f"- {by}: a {told} stands in every slice that it has a value of."


def _numbers(place: Number, state: State, plan: Plan, facts: Facts) -> Iterator[Number]:
    place = replace(place, lists=state.lists, relevant=state.relevant)
    results: Mapping[str, Result] = {}
    nobody = NothingToEvaluate("no list is in this slice.")
    failures: Mapping[str, RectitudeError] = {str(one.name): nobody for one in plan.asked}
    if state.lists:
        results, failures = results_of(plan, replace(state, ledger=Ledger()), facts, {})
    for name in [str(one.name) for one in plan.asked]:
        if name in failures:
            yield replace(place, metric=name, reason=failures[name].found)
            continue
        yield _number(replace(place, metric=name), results[name])


def _number(place: Number, result: Result) -> Number:
    if not math.isfinite(result.value):
        told = "is undefined for some list" if math.isnan(result.value) else "is infinite"
        return replace(place, counted=result.counted, reason=f"{result.name} {told}.")
    low, high = result.interval or (None, None)
    if low == high:  # equal values say nothing of their spread
        low, high = None, None
    return replace(place, value=result.value, counted=result.counted, low=low, high=high)


def slices(
    predictions: object,
    truth: object,
    metrics: str | Iterable[str] | None = None,
    convention: object = None,
    *,
    by: object = "known",
    intervals: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **inputs: Unpack[Arguments],
) -> dict[str, Evaluation]:
    """The evaluation of all lists, and one of every slice that has any, by name.

    `by` is a column of `users=`, `items=`, the truth or the predictions, or one of these: "known"
    (what `train=` holds: warm, unknown user, unknown item, both), "activity" (rows of train of the
    user), "popularity" (rows of train with the item), "time" (of the rows of the truth). Numbers
    are cut into parts of equal size ("activity:4") or at edges ("price:10,50,100"); several of them
    are crossed (["gender", "activity:2"]). The other arguments are those of `evaluate`. How much
    each slice has, and why one could not be evaluated, stands in the ledger of "all".

    >>> lists, truth = {1: ["a"], 2: ["x", "b"]}, {1: ["a"], 2: ["b"]}
    >>> found = slices(lists, truth, "mrr", by="sex", users={"user": [1, 2], "sex": ["f", "m"]})
    >>> {name: one["mrr"] for name, one in found.items()}
    {'all': 0.75, 'f': 1.0, 'm': 0.5}
    """
    axes = parse_slicing(by)
    plan = plan_of(predictions, metrics, convention, intervals)
    given = given_of(predictions, truth, inputs, plan.profile.padding)
    given = replace(given, progress=progress, keep=kept_columns([axes]))
    tables = opened(given, plan.reach, plan.convention)
    require_axes([axes], tables)
    return _evaluations(plan, axes, tables)


def _evaluations(plan: Plan, axes: Sequence[Axis], tables: Inputs) -> dict[str, Evaluation]:
    batch = judge_batch(plan, tables)
    state = measure_whole(plan, batch, tables)
    found = {"all": _evaluation(plan, state, batch)}
    slicing = slicing_of(axes, tables, _aligned(batch))
    ledger, of_lists = state.ledger, slicing.of == "lists"
    _account(slicing, batch.size if of_lists else tables.truth.frame.height, ledger)
    for name, members in zip(slicing.labels, slicing.members, strict=True):
        if not len(members):
            continue
        try:
            mine, some = _slice(plan, slicing, members, batch, state, tables)
        except NothingToEvaluate as error:
            ledger.note(name, f"not evaluated: {error.found}")
            continue
        own = f"{slicing.name}: {name}" if name == "all" else name
        found[own] = _evaluation(plan, some, mine)
    return found


def _slice(
    plan: Plan,
    slicing: Slicing,
    members: Integers,
    batch: Batch,
    whole: State,
    tables: Inputs,
) -> tuple[Batch, State]:
    """The lists of a slice, and their state."""
    if slicing.of == "rows":
        rows = _of_rows(tables, _flags(members, tables))
        mine = judge_batch(plan, rows)
        return mine, measure_whole(plan, mine, rows)
    broken = {n: e for n, e in whole.failures.items() if not isinstance(e, UndefinedValue)}
    mine = replace(batch.only(members), failures=broken)
    found = measure(plan, mine)
    manifest = {**whole.manifest, "lists": len(members)}
    kept = KeptValues.of(mine.lists, found.values)
    return mine, State(found.totals, found.failures, manifest=manifest, kept=kept, batches=1)


def _evaluation(plan: Plan, state: State, batch: Batch) -> Evaluation:
    values = dict(state.kept.held[0]) if state.kept.held else {}
    return evaluation_of(plan, state, batch.facts, values, batch.lists)


def _account(slicing: Slicing, size: int, ledger: Ledger) -> None:
    what = "lists" if slicing.of == "lists" else "rows of the truth"
    for name, members in zip(slicing.labels, slicing.members, strict=True):
        about = f"{what} are in the slice {name!r}"
        ledger.count(f"slice_{name.replace(' ', '_')}", len(members), about, of=size)
