"""Evaluation on one machine: open, judge, compute, add up.

A part of an evaluation: the totals of some lists, and the numbers that totals stand for.

`evaluate` makes one part; `Evaluator` adds many.

Judging once for all metrics of an evaluation.

The manifest of an evaluation: what went in, and what computed it.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from rectitude._version import __version__
from rectitude.aggregate.definition import definition, fingerprint
from rectitude.aggregate.evaluation import Evaluation, Keys, Result
from rectitude.aggregate.sums import ByGroup, State, Sum, Total, of_nobody, overall
from rectitude.arrays import Floats
from rectitude.convention import SWITCHES, Convention
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs
from rectitude.errors import NothingToEvaluate, RectitudeError
from rectitude.evaluation.account import account
from rectitude.evaluation.axes import Axis, kept_columns
from rectitude.evaluation.axes import parse_slicings as parse_slices
from rectitude.evaluation.fingerprint import fingerprint as content
from rectitude.evaluation.inputs import Given, opened, require_settled
from rectitude.evaluation.measure import (
    Run,
    account_for_attributes,
    added_up,
    blamed,
    cutoffs_of,
    judged_by_ids,
    judging,
    means_of,
    of_counts,
    parts_of,
    require_values,
    shared_by,
    tell_groups,
    verdict_of,
)
from rectitude.judge.align import Aligned, bring_together
from rectitude.judge.judge import Verdict
from rectitude.metrics.names import parse_all
from rectitude.metrics.predicted import tell_unpredicted
from rectitude.metrics.registry import Facts
from rectitude.parallel import Once
from rectitude.predictions.logits import Logits
from rectitude.profiles import Asked, Profile, profile_of


def judged_for_all(
    sides: Aligned, convention: Convention, shared: tuple[int | None, tuple[str, ...]]
) -> tuple[Aligned, dict[tuple[Any, ...], Verdict], Ledger]:
    """The lists judged once for all metrics; where what some of them need cannot be had, without
    it, so that the others are computed."""
    ledger = Ledger()
    try:
        sides, verdict = judged_by_ids(sides, convention, ledger, *shared)
    except RectitudeError:
        ledger = Ledger()
        sides, verdict = judged_by_ids(sides, convention, ledger)
    known = {judging(convention): verdict}
    if verdict.judged.stock is not None:
        known[judging(convention, *shared)] = verdict
    return sides, known, ledger


def manifest_of(sides: Aligned, profile: Profile, prints: Mapping[str, str]) -> dict[str, Any]:
    """The tables with their rows, columns and fingerprints, the profile, and the versions."""
    inputs: dict[str, dict[str, Any]] = {
        side: {"source": table.source, "rows": table.frame.height, "columns": dict(table.columns)}
        for side, table in sides.sources.given().items()
    }
    for side, table in sides.sources.given().items():
        inputs[side] |= {"format": table.recognised} if table.recognised else {}
    dense = sides.sources.dense
    if dense is not None and dense.kind == "logits":
        inputs["predictions"]["classes"] = dense.columns
    if sides.sources.offered is not None:
        inputs["candidates"] = {**sides.sources.offered}
    for side, mark in prints.items():
        inputs[side]["fingerprint"] = mark
    return {
        "rectitude": __version__,
        "profile": profile.label,
        "profile_versions": list(profile.versions),
        "inputs": inputs,
        "lists": len(sides.keys),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "polars": pl.__version__,
    }


_JUDGED = ("predictions", "truth")


@dataclass(frozen=True)
class Part:
    """The totals of every metric over some lists, by name; those of a derived one by its parts."""

    totals: Mapping[str, Total]
    values: Mapping[str, Floats]
    failures: Mapping[str, RectitudeError]
    ledger: Ledger
    keys: Keys | None
    manifest: Mapping[str, Any]
    facts: Facts
    run: Run | None = None
    """the judged lists, for whoever looks at some of them"""


def computed(asked: Sequence[Asked], profile: Profile) -> dict[str, Asked]:
    """What is computed for what was asked: derived metrics are replaced by their parts."""
    wanted: dict[str, Asked] = {}
    for one in asked:
        if one.metric.kind == "derived":
            parts = parts_of(one, profile)
            wanted |= {part_name(one, base): part for base, part in parts.items()}
        else:
            wanted[str(one.name)] = one
    return wanted


def part_name(asked: Asked, base: str) -> str:
    """The name under which a part of a derived metric is added up."""
    return f"{asked.name}/{base}"


def part_of(
    sources: Inputs,
    asked: Sequence[Asked],
    profile: Profile,
    wanted: Mapping[str, Asked],
    spread: bool = False,
) -> Part:
    """Judge the lists and add up every wanted metric (see `computed`)."""
    offered, shared = sources.offered is not None, shared_by(wanted.values())
    exact = any(one.convention.ties.startswith("item") for one in wanted.values())
    brought = bring_together(sources, exact)
    sides, verdicts, ledger = judged_for_all(brought, profile.convention, shared)
    cutoffs = [one.cutoff for one in asked if one.cutoff is not None]
    first = verdicts[judging(profile.convention)]
    account(sides, first.judged, max(cutoffs, default=None), ledger)
    last = cutoffs[-1] if cutoffs else None
    seen = cutoffs_of(wanted.values())
    run = Run(sides, facts_of(sources), last, verdicts, Once(), shared=shared, cutoffs=seen)
    _judge_first(run, wanted, ledger)
    failures: dict[str, RectitudeError] = {}
    if sources.dense is not None or offered:
        failures = _unsettled(wanted, profile.convention, offered)
    prints: dict[str, str] = {}
    sound = {name: one for name, one in wanted.items() if name not in failures}
    found = added_up(run, sound, spread, [partial(_identify, prints, sides, s) for s in _JUDGED])
    account_for_attributes(run.verdicts.values(), ledger)
    keys = Keys(sides.keys, sides.owners, sides.users, sides.by_user, sides.weights)
    manifest = manifest_of(sides, profile, prints)
    told, failures = ledger + sources.ledger, failures | found.failures
    return Part(found.totals, found.values, failures, told, keys, manifest, run.facts, run)


def _unsettled(
    wanted: Mapping[str, Asked], convention: Convention, offered: bool
) -> dict[str, RectitudeError]:
    """Metrics whose switches differ from those that lists were made with, and why that fails."""
    failures: dict[str, RectitudeError] = {}
    for name, one in wanted.items():
        try:
            require_settled(one, convention, offered)
        except RectitudeError as error:
            failures[name] = error
    return failures


def _identify(prints: dict[str, str], sides: Aligned, side: str) -> None:
    prints[side] = content(sides, side)


def _judge_first(run: Run, wanted: Mapping[str, Asked], ledger: Ledger) -> None:
    """Judge once for every set of switches before metrics share the verdicts among threads."""
    for one in wanted.values():
        try:
            judged = verdict_of(run, one).judged
        except RectitudeError:  # said again when the metric is computed
            continue
        if "predicted" in one.metric.requires:
            tell_unpredicted(ledger, judged.list, judged.truth.lengths, run.sides.label)


def results_of(
    asked: Sequence[Asked], profile: Profile, part: Part, intervals: bool
) -> tuple[dict[str, Result], dict[str, RectitudeError]]:
    """The numbers that totals stand for, and why some could not be computed."""
    results: dict[str, Result] = {}
    failures: dict[str, RectitudeError] = {}
    for one in asked:
        name = str(one.name)
        try:
            require_values(one, part.ledger)
            results[name] = _result(one, profile, part, intervals)
        except RectitudeError as error:
            failures[name] = error
    return results, failures


def _result(asked: Asked, profile: Profile, part: Part, intervals: bool) -> Result:
    name, convention = str(asked.name), asked.convention
    state, interval, ties, lists = None, None, None, None
    if asked.metric.kind == "derived":
        value = _derived(asked, profile, part)
    else:
        total = _total(part, name)
        value = value_of(asked, total.sum, part.facts)
        if isinstance(total.sum, State):
            state, ties, lists = total.sum, _tie_bounds(total, asked), total.sum.counted
            interval = _interval(state, asked) if intervals else None
        else:
            lists = total.sum.lists
    return Result(
        asked.name, presented(value, convention), asked.metric.name, definition(asked),
        fingerprint(asked), convention.as_dict(), asked.numbers, state, interval, ties,
        part.values.get(name), lists,
    )  # fmt: skip


def _total(part: Part, name: str) -> Total:
    if name in part.failures:
        raise part.failures[name]
    return part.totals[name]


def value_of(asked: Asked, total: Sum, facts: Facts) -> Any:
    """The number that sums or counts stand for; for sums by group, that of each group."""
    convention = asked.convention
    if not total.lists and of_nobody(convention) is None:
        raise NothingToEvaluate(
            f"no list counts for {str(asked.name)!r}.",
            f"lists that have what truth_needed={convention.truth_needed!r} and "
            f"list_needed={convention.list_needed!r} ask for.",
        )
    if isinstance(total, State):
        return overall(total, convention, asked.metric.overall)
    if isinstance(total, ByGroup):
        return means_of(asked, total)
    with blamed(asked):
        return of_counts(asked, total.counts, facts)


def _derived(asked: Asked, profile: Profile, part: Part) -> float:
    values = {}
    for base, one in parts_of(asked, profile).items():
        total = _total(part, part_name(asked, base)).sum
        values[base] = value_of(one, total, part.facts)
        if isinstance(total, ByGroup):
            tell_groups(part.ledger, asked, values[base], total)
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


def _interval(state: State, asked: Asked) -> tuple[float, float] | None:
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


def facts_of(sources: Inputs) -> Facts:
    """What is known of items and users."""
    tables = (sources.items, sources.users, sources.train)
    return Facts(*(None if table is None else table.frame for table in tables))


DEFAULT_METRICS = ("ndcg@10", "recall@10", "precision@10", "hit@10", "mrr", "map")
TARGET_METRICS = ("accuracy@{1,5,10}", "mrr", "ndcg@10", "weighted_f1", "cross_entropy")


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
    `slices` are attributes to part by, such as "gender" or "activity:4", as `engines.slices` has
    them. `progress` is called with the rows of dense scores that are done, and with all.

    >>> evaluate({"ann": ["a", "b", "c"]}, {"ann": ["b"]}, metrics="mrr")["mrr"]
    0.5
    """
    profile, slicings = profile_of(convention), parse_slices(slices)
    asked = asked_of(metrics, profile, predictions)
    given = Given(
        {
            "predictions": predictions, "truth": truth, "train": train, "items": items,
            "users": users, "weights": weights, "candidates": candidates,
        },
        ranking, list_key, columns, progress, profile.padding, kept_columns(slicings),
    )  # fmt: skip
    sources = opened(given, list(computed(asked, profile).values()), profile.convention)
    return evaluation_of(sources, asked, profile, intervals, slicings)


def evaluation_of(
    sources: Inputs,
    asked: Sequence[Asked],
    profile: Profile,
    intervals: bool,
    slicings: Sequence[Sequence[Axis]] = (),
) -> Evaluation:
    """The evaluation of what is open already."""
    if slicings:
        from rectitude.evaluation.axes import require_axes

        require_axes(slicings, sources)
    wanted = computed(asked, profile)
    part = part_of(sources, asked, profile, wanted, intervals or bool(slicings))
    results, failures = results_of(asked, profile, part, intervals)
    parted = None
    if slicings:
        from rectitude.evaluation.slices import Asking, slices_of, sums_of

        sums = sums_of(slicings, part, sources, Asking(asked, profile, wanted))
        parted = slices_of(sums, part, asked, profile)
    return Evaluation(results, part.ledger, part.manifest, failures, part.keys, parted)


def asked_of(
    metrics: str | Iterable[str] | None, profile: Profile, predictions: object
) -> list[Asked]:
    """The metrics that were asked for, or the usual ones of such predictions."""
    usual = TARGET_METRICS if isinstance(predictions, Logits) else DEFAULT_METRICS
    return [profile.resolve(name) for name in parse_all(usual if metrics is None else metrics)]
