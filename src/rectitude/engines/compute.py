"""From judged lists to totals: every metric that was asked for, added up exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from rectitude.aggregate.by_group import ByGroup
from rectitude.aggregate.counts import Counted
from rectitude.aggregate.population import counted
from rectitude.aggregate.state import State, Tally, state_of, tally
from rectitude.aggregate.total import Total
from rectitude.arrays import Floats, Integers
from rectitude.convention import SWITCHES, Convention
from rectitude.data.aliases import SEVERAL, normal
from rectitude.data.attributes import Groups
from rectitude.data.ledger import Ledger
from rectitude.data.pairs import ByScore
from rectitude.engines.given import given_to, taken_by
from rectitude.engines.groups import by_group
from rectitude.engines.wanting import COUNTED, OWN, shown_by, wanted_by
from rectitude.errors import BadName, DuplicateItems, MetricFailed, RectitudeError, TiedItems
from rectitude.judge.join import Ties, Verdict, judge
from rectitude.judge.judged import Judged
from rectitude.judge.sides import Collision, Sides, bring_together
from rectitude.metrics.facts import Facts
from rectitude.metrics.names import Name
from rectitude.metrics.needs import needed, require_in
from rectitude.metrics.registry import Ratio, values_of
from rectitude.profiles import Asked, Profile
from rectitude.threads import Once

_JUDGING = [s.name for s in SWITCHES.values() if s.stage in ("truth", "order", "judge")]
_JUDGING = [name for name in _JUDGING if name not in ("relevant_from", "list_end", "candidates")]


class Run(NamedTuple):
    """What the metrics of one evaluation share."""

    sides: Sides
    facts: Facts
    last_cutoff: int | None
    verdicts: dict[tuple[Any, ...], Verdict]
    views: Once
    tie_bounds: bool = True
    """whether the worst and the best that ties allow are wanted, too"""
    shared: tuple[int | None, tuple[str, ...]] = (None, ())
    """how many places are shown, and what else is needed, by all metrics together"""
    cutoffs: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    """at which a metric is asked for, where it looks at the items shown"""


def judging(
    convention: Convention, shown: int | None = None, needs: tuple[str, ...] = ()
) -> tuple[Any, ...]:
    """What the judging of lists depends on: switches, how many places are shown, and what else
    metrics need."""
    return (shown, needs, *(getattr(convention, switch) for switch in _JUDGING))


def verdict_of(run: Run, asked: Asked) -> Verdict:
    """The lists judged as a metric wants them; metrics that want the same share them, and those
    that want anything beyond ranks share what all of them want."""
    shown, needs = own = wanted_by(asked)
    if (shown or needs) and not set(needs) & set(OWN):
        most, others = run.shared
        shown = max(shown or 0, most or 0) or None
        needs = tuple(need for need in COUNTED if need in needs or need in others)
    try:
        return _judged_for(run, asked, shown, needs)
    except RectitudeError:  # perhaps of what others need
        return _judged_for(run, asked, *own)


def _judged_for(run: Run, asked: Asked, shown: int | None, needs: tuple[str, ...]) -> Verdict:
    wanted = judging(asked.convention, shown, needs)
    if wanted not in run.verdicts:
        given = (asked.convention, Ledger(), shown, needs)
        _, run.verdicts[wanted] = judged_by_ids(run.sides, *given)
    return run.verdicts[wanted]


def judged_by_ids(
    sides: Sides,
    convention: Convention,
    ledger: Ledger,
    shown: int | None = None,
    needs: tuple[str, ...] = (),
) -> tuple[Sides, Verdict]:
    """The verdict, and the sides that it is on: brought together anew where hashes collide."""
    try:
        return sides, judge(sides, convention, ledger, shown, needs)
    except Collision:
        exact = bring_together(sides.sources, exact_items=True)
        return exact, judge(exact, convention, ledger, shown, needs)
    except DuplicateItems as error:
        raise _of_several(error, sides.sources.predictions.left) from None


def _of_several(error: DuplicateItems, left: Sequence[str]) -> DuplicateItems:
    """The error, with the column that may be the reason: lists of several models in one table."""
    apart = [name for name in left if normal(name) in SEVERAL]
    if not apart:
        return error
    advice = f"if the column {apart[0]!r} tells them apart, evaluate the rows of each value alone."
    return DuplicateItems(error.found, error.expected, f"{advice}\n  else {error.advice}")


def parts_of(asked: Asked, profile: Profile) -> dict[str, Asked]:
    """The metrics that a derived one is made of, under its own convention."""
    changed = profile.convention.differences(asked.convention)
    of, by = {base: base for base in asked.metric.of}, ""
    if asked.metric.kind == "derived" and "by" in asked.numbers:  # the means of groups
        of, by = {"means": str(asked.numbers["of"])}, str(asked.numbers["by"])
    parts = {}
    for key, base in of.items():
        part = profile.resolve(Name(base, at=asked.name.at))
        if by and part.metric.kind != "list":
            raise BadName(
                f"{str(asked.name)!r} is of {base!r}, which has no value for each list.",
                "a metric that is a mean over lists, such as ndcg.",
            )
        convention = part.convention.replace(**{s: new for s, (_, new) in changed.items()})
        parts[key] = replace(part, convention=convention, by=by)
    return parts


def has_values(asked: Asked) -> bool:
    """Whether a metric has a value for every list."""
    return asked.metric.kind != "counts" and not asked.by


def total_of(run: Run, asked: Asked, spread: bool, room: Floats | None = None) -> Total:
    """What a metric adds up to; the values of the lists go into `room`, if it has some."""
    run.facts.require(asked.metric)
    verdict = verdict_of(run, asked)
    lists = view_of(run, asked, verdict.judged)
    require_closed_form(asked, lists)
    if asked.metric.kind == "counts":
        _require_no_weights(run, asked)
        return Total(counts_of(asked, lists))
    if asked.by:
        return Total(_by_group(run, asked, lists, spread))
    return settled_total(run, asked, verdict, tally_of(run, asked, lists, spread, room))


def settled_total(run: Run, asked: Asked, verdict: Verdict, done: Tally) -> Total:
    """What all lists add up to, and what that would be were ties broken otherwise."""
    return Total(done.state, _bounds(run, asked, verdict, done) if run.tie_bounds else None)


def view_of(run: Run, asked: Asked, lists: Judged) -> Judged:
    """The lists under the metric's threshold, ended where the convention ends them."""
    convention = asked.convention
    ends = {"none": None, "cutoff": asked.cutoff, "last_cutoff": run.last_cutoff}
    end, places = ends[convention.list_end], shown_by(asked)
    key = (id(lists), convention.relevant_from, end)

    def seen() -> Judged:
        view = lists.at_threshold(convention.relevant_from)
        return view if end is None else view.ended(end)

    view = run.views(key, seen)
    if places is None:
        return view
    others = run.cutoffs.get(asked.metric.name, ())
    return run.views((*key, places, others), lambda: view.showing(places, others))


def _require_no_weights(run: Run, asked: Asked) -> None:
    if run.sides.weights is not None:
        raise BadName(
            f"{str(asked.name)!r} counts whole lists, and weights= was given.",
            "no weights, or a metric that is a mean over lists.",
        )


def counts_of(asked: Asked, lists: Judged) -> Counted:
    """What a counts metric counts in the lists that count."""
    counts = asked.metric.counts
    if counts is None:
        raise MetricFailed(f"metric {str(asked.name)!r} says not what it counts.")
    with blamed(asked):
        require_in(lists, asked.metric)
        flags = counted(lists, asked.convention, asked.cutoff)
        ids = None if lists.stock is None else lists.stock.ids
        own = taken_by(counts, asked)
        made = counts(lists, asked.cutoff, flags, **own)
        return Counted(made, int(flags.sum()), made.scores if isinstance(made, ByScore) else ids)


def _by_group(run: Run, asked: Asked, lists: Judged, spread: bool) -> ByGroup:
    """The values of lists, added up for each group of users."""
    number, names = needed(lists.people, "people").groups(asked.by)
    groups = Groups(number[needed(lists.owner, "people")], names)
    flags = counted(lists, asked.convention, asked.cutoff)
    return by_group(ratio_of(run, asked, lists), flags, groups, asked.convention, run.sides, spread)


def tally_of(
    run: Run,
    asked: Asked,
    lists: Judged,
    spread: bool = False,
    room: Floats | None = None,
    among: Integers | None = None,
) -> Tally:
    """The values of lists, added up; `among` are their numbers if they are some of all."""
    sides = run.sides
    weights, owners = sides.weights, sides.owners
    if among is not None:
        weights, owners = None if weights is None else weights[among], owners[among]
    ratio = ratio_of(run, asked, lists)
    with blamed(asked):
        flags = counted(lists, asked.convention, asked.cutoff)
        return tally(ratio, flags, asked.convention, weights, owners, sides.label, spread, room)


def ratio_of(run: Run, asked: Asked, lists: Judged) -> Ratio:
    """The value of each list as a fraction."""
    with blamed(asked):
        require_in(lists, asked.metric)
        given = given_to(asked, run.facts)
        ratio = values_of(asked.metric.function, lists, asked.cutoff, **given)
        whole = asked.convention.without_relevant == "computed"
        return ratio if whole else ratio.where(lists.relevant > 0)


def _bounds(run: Run, asked: Asked, verdict: Verdict, done: Tally) -> tuple[State, State] | None:
    """The sums with all ties broken against and for the lists; None where they say nothing."""
    if "moving_up_helps" in asked.metric.breaks:
        return None
    ties = verdict.ties
    if ties is None:
        return done.state, done.state
    try:
        own = _own(run, asked, ties, done)
        worst, best = (
            own if lists is ties.own else _among(run, asked, lists, ties)
            for lists in (ties.worst, ties.best)
        )
    except RectitudeError:  # under one of them a value is undefined
        return None
    rest = done.state - own
    return rest + worst, rest + best


def _own(run: Run, asked: Asked, ties: Ties, done: Tally) -> State:
    """The sums of the lists with ties as judged, from their values where these say it all."""
    convention, state = asked.convention, done.state
    plain = convention.average == "macro" and convention.unit == "list"
    if plain and run.sides.weights is None and not (state.skipped or state.nan):
        values = done.values[ties.lists]
        return state_of(values[np.isfinite(values)])
    return _among(run, asked, ties.own, ties)


def _among(run: Run, asked: Asked, lists: Judged, ties: Ties) -> State:
    return tally_of(run, asked, view_of(run, asked, lists), among=ties.lists).state


def require_closed_form(asked: Asked, lists: Judged) -> None:
    """An error if ties are to be averaged, there are some, and the metric has no mean over them."""
    if asked.convention.ties != "average" or asked.metric.can_average:
        return
    tied = lists.last is not None and (lists.last > lists.rank).any()
    if tied:
        raise TiedItems(
            f"{str(asked.name)!r} has no closed form under ties='average', and there are ties.",
            "distinct scores, or a metric such as ndcg, recall or auc.",
            "set ties='pessimistic' or another rule.",
        )


@contextmanager
def blamed(asked: Asked) -> Iterator[None]:
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
