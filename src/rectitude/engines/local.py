"""Evaluation on one machine: read, bring together, judge, compute, add up."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, get_args

import numpy as np

from rectitude._version import __version__
from rectitude.aggregate.definition import definition, fingerprint
from rectitude.aggregate.evaluation import Evaluation, Keys, Result
from rectitude.aggregate.population import counted
from rectitude.aggregate.state import State, Tally, settled, tally
from rectitude.arrays import Floats, together
from rectitude.convention import SWITCHES, Convention
from rectitude.data.ledger import Ledger
from rectitude.data.read import read
from rectitude.data.sources import Sources
from rectitude.data.table import Table, What
from rectitude.engines.fingerprint import fingerprint as content
from rectitude.errors import MetricFailed, NothingToEvaluate, RectitudeError
from rectitude.judge.account import account
from rectitude.judge.join import Verdict, judge
from rectitude.judge.judged import Judged
from rectitude.judge.sides import Collision, Sides, bring_together
from rectitude.metrics.choices import CHOICES
from rectitude.metrics.facts import Facts
from rectitude.metrics.names import Name, parse_all
from rectitude.metrics.registry import values_of
from rectitude.profiles import Asked, Profile, profile_of

DEFAULT_METRICS = ("ndcg@10", "recall@10", "precision@10", "hit@10", "mrr", "map")
_JUDGING = [s.name for s in SWITCHES.values() if s.stage in ("truth", "order", "judge")]
_JUDGING.remove("relevant_from")
_MANY_LISTS = 20_000


def evaluate(
    predictions: object,
    truth: object,
    metrics: str | Iterable[str] = DEFAULT_METRICS,
    convention: object = None,
    *,
    train: object = None,
    items: object = None,
    users: object = None,
    list_key: str = "user",
    weights: object = None,
    columns: Mapping[str, str] | None = None,
    intervals: bool = False,
) -> Evaluation:
    """Evaluate ranked lists against the truth.

    `predictions` and `truth` are tables in any form: a path, a Polars, pandas or Arrow frame, a
    dict of lists, a sparse matrix; wrap them in `Lists` and `Interactions` to name columns.
    `convention` is a profile name, a `Convention`, or a dict of switches to change.

    >>> evaluate({"ann": ["a", "b", "c"]}, {"ann": ["b"]}, metrics="mrr")["mrr"]
    0.5
    """
    profile = profile_of(convention)
    asked = [profile.resolve(name) for name in parse_all(metrics)]

    given = {
        "predictions": predictions, "truth": truth, "train": train, "items": items, "users": users,
        "weights": weights,
    }  # fmt: skip
    tables: dict[str, Table] = {}

    def load(what: What) -> None:
        tables[what] = read(given[what], what, hints=columns, list_key=list_key)

    wanted = [w for w in get_args(What) if given[w] is not None or w in ("predictions", "truth")]
    together([partial(load, what) for what in wanted])
    seen = {name for table in tables.values() for name in table.columns.values()}
    unseen = {role: name for role, name in (columns or {}).items() if name not in seen}
    for what in wanted if unseen else ():
        read(given[what], what, columns=unseen, list_key=list_key)  # says which names there are
    return evaluate_sources(Sources(**tables, key=list_key), asked, profile, intervals)


def evaluate_sources(
    sources: Sources, asked: list[Asked], profile: Profile, intervals: bool = False
) -> Evaluation:
    """Evaluate tables that are read already."""
    ledger = Ledger()
    exact = any(a.convention.ties.startswith("item") for a in asked)
    sides, verdict = _judged(sources, profile.convention, ledger, exact)
    depths = [a.cutoff for a in asked if a.cutoff is not None]
    account(sides, verdict.judged, max(depths, default=None), ledger)
    run = _Run(sides, _facts(sources), {_judging(profile.convention): verdict}, {})
    results: dict[str, Result] = {}
    failures: dict[str, RectitudeError] = {}

    room = np.empty((len(asked), len(sides.keys)))

    def compute(one: Asked, own: Floats) -> None:
        try:
            results[str(one.name)] = _result(run, one, profile, intervals, own)
        except RectitudeError as error:
            failures[str(one.name)] = error

    prints: dict[str, str] = {}

    def identify(side: str) -> None:
        prints[side] = content(sides, side)

    tasks: list[Callable[[], None]] = [partial(identify, side) for side in ("predictions", "truth")]
    tasks += [partial(compute, one, own) for one, own in zip(asked, room, strict=True)]
    together(tasks, len(sides.keys) > _MANY_LISTS)
    names = [str(one.name) for one in asked]
    results = {name: results[name] for name in names if name in results}
    failures = {name: failures[name] for name in names if name in failures}
    keys = Keys(sides.keys, sides.owners, sides.users, sides.by_user, sides.weights)
    return Evaluation(results, ledger, _manifest(sides, profile, prints), failures, keys)


class _Run(NamedTuple):
    """What the metrics of one evaluation share."""

    sides: Sides
    facts: Facts
    verdicts: dict[tuple[Any, ...], Verdict]
    views: dict[tuple[Any, ...], Judged]


def _judged(
    sources: Sources, convention: Convention, ledger: Ledger, exact: bool
) -> tuple[Sides, Verdict]:
    try:
        sides = bring_together(sources, exact)
        return sides, judge(sides, convention, ledger)
    except Collision:
        sides = bring_together(sources, exact_items=True)
        return sides, judge(sides, convention, ledger)


def _judging(convention: Convention) -> tuple[Any, ...]:
    return tuple(getattr(convention, switch) for switch in _JUDGING)


def _verdict(run: _Run, convention: Convention) -> Verdict:
    """The lists judged as this metric wants them; metrics that want the same share them."""
    wanted = _judging(convention)
    if wanted not in run.verdicts:
        try:
            run.verdicts[wanted] = judge(run.sides, convention, Ledger())
        except Collision:
            exact = bring_together(run.sides.sources, exact_items=True)
            run.verdicts[wanted] = judge(exact, convention, Ledger())
    return run.verdicts[wanted]


def _result(run: _Run, asked: Asked, profile: Profile, intervals: bool, room: Floats) -> Result:
    if asked.metric.kind == "derived":
        return _derived(run, asked, profile)
    run.facts.require(asked.metric)
    verdict = _verdict(run, asked.convention)
    done = _tally(run, asked, verdict.judged, intervals, room)
    value = presented(settled(done.state, asked.convention), asked.convention)
    bounded = verdict.optimistic is not None and "moving_up_helps" not in asked.metric.breaks
    ties = _bounds(run, asked, verdict) if bounded else None
    return Result(
        asked.name, value, asked.metric.name, definition(asked), fingerprint(asked),
        asked.convention.as_dict(), asked.numbers, done.state,
        _interval(done.state, asked) if intervals else None, ties, done.values,
    )  # fmt: skip


def _bounds(run: _Run, asked: Asked, verdict: Verdict) -> tuple[float, float] | None:
    """The value with all ties broken against and for the lists, where both exist and differ."""
    extremes = [lists for lists in (verdict.pessimistic, verdict.optimistic) if lists is not None]
    try:
        states = [_tally(run, asked, lists).state for lists in extremes]
        worst, best = (presented(settled(s, asked.convention), asked.convention) for s in states)
    except RectitudeError:  # under one of them no list counts, or a value is undefined
        return None
    return (worst, best) if worst < best or worst > best else None


def _tally(
    run: _Run, asked: Asked, lists: Judged, spread: bool = False, room: Floats | None = None
) -> Tally:
    convention, k = asked.convention, asked.cutoff
    view = run.views.setdefault(
        (id(lists), convention.relevant_from), lists.at_threshold(convention.relevant_from)
    )
    given: dict[str, Any] = {s: CHOICES[s][getattr(convention, s)] for s in asked.metric.switches}
    given |= asked.numbers
    if asked.metric.wants_facts:
        given["facts"] = run.facts
    counts = counted(view, convention, k)
    if not counts.any():
        raise NothingToEvaluate(
            f"no list counts for {str(asked.name)!r}.",
            f"lists that have what truth_needed={convention.truth_needed!r} and "
            f"list_needed={convention.list_needed!r} ask for.",
        )
    sides = run.sides
    with _blamed(asked):
        ratio = values_of(asked.metric.function, view, k, **given)
        return tally(
            ratio, counts, convention, sides.weights, sides.owners, sides.label, spread, room
        )


@contextmanager
def _blamed(asked: Asked) -> Iterator[None]:
    """Whatever a metric raises is told under its name, so that the others can go on."""
    try:
        yield
    except RectitudeError:
        raise
    except Exception as error:
        raise MetricFailed(
            f"metric {str(asked.name)!r} failed: {type(error).__name__}: {error}.",
            advice="the other metrics were computed; mend this one's function.",
        ) from error


def _derived(run: _Run, asked: Asked, profile: Profile) -> Result:
    changed = profile.convention.differences(asked.convention)
    parts = {}
    for base in asked.metric.of:
        part = profile.resolve(Name(base, at=asked.name.at))
        convention = part.convention.replace(**{s: new for s, (_, new) in changed.items()})
        part = replace(part, convention=convention)
        state = _tally(run, part, _verdict(run, convention).judged).state
        parts[base] = settled(state, convention)
    with _blamed(asked):
        found = float(asked.metric.function(**parts))
    value = presented(found, asked.convention)
    return Result(
        asked.name, value, asked.metric.name, definition(asked), fingerprint(asked),
        asked.convention.as_dict(), asked.numbers,
    )  # fmt: skip


def presented(value: float, convention: Convention) -> float:
    """A mean as the convention shows it: in percent, rounded."""
    shown = value * 100 if convention.scale == "percent" else value
    return shown if convention.decimals is None else round(shown, int(convention.decimals))


def _interval(state: State, asked: Asked) -> tuple[float, float] | None:
    """The 95% interval of a mean by Student's t, inside the metric's bounds where these hold."""
    if not np.isfinite(state.error):
        return None
    from scipy.special import stdtrit

    reach = float(stdtrit(state.counted - 1, 0.975)) * state.error
    switches = asked.metric.switches
    usual = all(getattr(asked.convention, s) == SWITCHES[s].default for s in switches)
    bounds = asked.metric.bounds if usual else (-np.inf, np.inf)
    low, high = np.clip([state.value - reach, state.value + reach], *bounds).tolist()
    return presented(low, asked.convention), presented(high, asked.convention)


def _facts(sources: Sources) -> Facts:
    tables = (sources.items, sources.users, sources.train)
    return Facts(*(None if table is None else table.frame for table in tables))


def _manifest(sides: Sides, profile: Profile, prints: Mapping[str, str]) -> dict[str, Any]:
    import polars as pl

    inputs = {
        side: {"source": table.source, "rows": table.frame.height, "columns": dict(table.columns)}
        for side, table in sides.sources.given().items()
    }
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
