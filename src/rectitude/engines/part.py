"""A part of an evaluation: the totals of some lists, and the numbers that totals stand for.

`evaluate` makes one part; `Evaluator` adds many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rectitude.aggregate.by_group import ByGroup
from rectitude.aggregate.definition import definition, fingerprint
from rectitude.aggregate.evaluation import Keys, Result
from rectitude.aggregate.state import State, of_nobody, overall
from rectitude.aggregate.total import Sum, Total
from rectitude.arrays import Floats
from rectitude.convention import SWITCHES, Convention
from rectitude.data.ledger import Ledger
from rectitude.data.pairs import tell_unpredicted
from rectitude.data.sources import Sources
from rectitude.engines.account import account
from rectitude.engines.adding import added_up
from rectitude.engines.compute import (
    Run,
    blamed,
    judging,
    parts_of,
    verdict_of,
)
from rectitude.engines.fingerprint import fingerprint as content
from rectitude.engines.given import of_counts
from rectitude.engines.groups import (
    account_for_attributes,
    means_of,
    require_values,
    tell_groups,
)
from rectitude.engines.judging import judged_for_all
from rectitude.engines.manifest import manifest_of
from rectitude.engines.unknown import require_settled
from rectitude.engines.wanting import cutoffs_of, shared_by
from rectitude.errors import NothingToEvaluate, RectitudeError
from rectitude.judge.sides import Sides, bring_together
from rectitude.metrics.facts import Facts
from rectitude.profiles import Asked, Profile
from rectitude.threads import Once

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
    sources: Sources,
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


def _identify(prints: dict[str, str], sides: Sides, side: str) -> None:
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


def facts_of(sources: Sources) -> Facts:
    """What is known of items and users."""
    tables = (sources.items, sources.users, sources.train)
    return Facts(*(None if table is None else table.frame for table in tables))
