"""From judged lists to totals: every metric that was asked for, added up exactly.

Adding up every metric of an evaluation.

The values of many lists are computed for some of them at a time: what is computed on the way is
small then, and stays in the processor. Sums are exact, so that they are the same as those of all
lists at once.

What the functions of a metric are given: choices of switches, numbers and texts, tables, and
counts.

Groups of users, and attributes in the ledger: what each group has, and who has no attribute.

What metrics want of judged lists: places that are shown, and what else costs time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from rectitude.aggregate.sums import (
    UNDEFINED,
    ByGroup,
    Counted,
    State,
    Tally,
    Total,
    counted,
    overall,
    state_of,
    tally,
)
from rectitude.arrays import Flags, Floats, Integers, run_starts
from rectitude.convention import SWITCHES, Convention
from rectitude.data.columns import SEVERAL, normal
from rectitude.data.ledger import Ledger
from rectitude.errors import (
    BadName,
    DuplicateItems,
    MetricFailed,
    MissingNeed,
    NothingToEvaluate,
    RectitudeError,
    TiedItems,
    UndefinedValue,
)
from rectitude.judge.align import Aligned, Collision, bring_together
from rectitude.judge.attributes import Groups
from rectitude.judge.judge import Ties, Verdict, judge
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import CHOICES
from rectitude.metrics.names import Name
from rectitude.metrics.predicted import ByScore
from rectitude.metrics.registry import (
    Counts,
    Facts,
    Ratio,
    is_ours,
    require_in,
    taken,
    values_of,
)
from rectitude.parallel import Once, Task, thread_count, together
from rectitude.profiles import Asked, Profile


def given_to(asked: Asked, facts: Facts) -> dict[str, Any]:
    """The keyword arguments of a metric's function: choices, numbers, facts."""
    given = _choices(asked)
    if asked.metric.kind == "counts":  # others are for what counts
        given = taken(asked.metric.function, given)
    return {**given, "facts": facts} if asked.metric.wants_facts else given


def of_counts(asked: Asked, counts: Counts, facts: Facts) -> float:
    """The value that counts stand for; where it is 0/0, what the convention says that is worth."""
    try:
        return float(asked.metric.function(counts, **given_to(asked, facts)))
    except UndefinedValue:
        if asked.convention.undefined not in UNDEFINED:
            raise
        return UNDEFINED[asked.convention.undefined]


def taken_by(counts: Callable[..., Any], asked: Asked) -> dict[str, Any]:
    """The keyword arguments of what counts for a metric."""
    return taken(counts, _choices(asked))


def _choices(asked: Asked) -> dict[str, Any]:
    choices = {s: CHOICES[s][getattr(asked.convention, s)] for s in asked.metric.switches}
    return {**choices, **asked.numbers}


_NAMED = 12


def by_group(
    ratio: Ratio,
    flags: Flags,
    groups: Groups,
    convention: Convention,
    sides: Aligned,
    spread: bool,
) -> ByGroup:
    """The values of the lists that count, added up for each group that has any."""
    group, states = groups.number, dict[str, State]()
    counts = np.flatnonzero(flags & (group >= 0))
    order = counts[np.argsort(group[counts], kind="stable")]
    for which in np.split(order, run_starts(group[order])[1:]) if len(order) else ():
        mine = Ratio(ratio.above[which], ratio.below[which])
        weights = None if sides.weights is None else sides.weights[which]
        own = (np.ones(len(which), bool), convention, weights, sides.owners[which])
        state = tally(mine, *own, partial(_label, sides, which), spread).state
        states[str(groups.names[int(group[which[0]])])] = state
    return ByGroup(states)


def _label(sides: Aligned, which: Integers, number: int) -> str:
    return sides.label(int(which[number]))


def means_of(asked: Asked, total: ByGroup) -> dict[str, float]:
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


def tell_groups(ledger: Ledger, asked: Asked, means: Mapping[str, float], total: ByGroup) -> None:
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


def require_values(asked: Asked, ledger: Ledger) -> None:
    """An error if nothing has a value of an attribute that the metric looks at."""
    for what in ("item", "user"):
        for column in asked.numbers.values():
            found = ledger.entries.get(f"{what}s_without_{column}")
            if found is not None and found.count and found.count == found.of:
                raise MissingNeed(
                    f"column {column!r} of {what}s= has no value for any {what}.",
                    f"a value for some {what}s at least.",
                )


def account_for_attributes(verdicts: Iterable[Verdict], ledger: Ledger) -> None:
    """Count the items and users without a value of the attributes that metrics looked at."""
    for known in (verdict.judged.extras for verdict in verdicts):
        if known.stock is not None:
            known.stock.attributes.account(ledger, known.stock.ids)
        if known.people is not None:
            known.people.attributes.account(ledger, known.people.ids, known.owner)


COUNTED = ("unseen", "met", "stock", "wanted", "people", "predicted", "scored")
"""What lists are judged anew for, as it costs time that most metrics need not spend."""
OWN = ("predicted", "scored")
"""What changes how lists are read, so that nothing is shared with metrics that need it."""


def shared_by(asked: Iterable[Asked]) -> tuple[int | None, tuple[str, ...]]:
    """The most places that metrics want to see, and what they need, see `Run.shared`."""
    wants = [wanted_by(one) for one in asked if "shown" not in one.metric.requires or one.cutoff]
    needs = {need for _, some in wants if not set(some) & set(OWN) for need in some}
    return max((k or 0 for k, _ in wants), default=0) or None, tuple(
        need for need in COUNTED if need in needs
    )


def cutoffs_of(asked: Iterable[Asked]) -> dict[str, tuple[int, ...]]:
    """The cutoffs at which metrics are asked for that look at the items shown."""
    found: dict[str, tuple[int, ...]] = {}
    for one in asked:
        if one.cutoff and "shown" in one.metric.requires:
            found[one.metric.name] = (*found.get(one.metric.name, ()), one.cutoff)
    return found


def wanted_by(asked: Asked) -> tuple[int | None, tuple[str, ...]]:
    """How many places a metric must see, and what else it needs of the judging."""
    required = (*asked.metric.requires, *(("people",) if asked.by else ()))
    return shown_by(asked), tuple(need for need in COUNTED if need in required)


def shown_by(asked: Asked) -> int | None:
    """How many places of each list a metric must see; None for none."""
    if "shown" not in asked.metric.requires:
        return None
    if asked.cutoff is None:
        raise BadName(
            f"{str(asked.name)!r} looks at the items in the first places.",
            f"a cutoff: {asked.name}@10.",
        )
    return asked.cutoff


_JUDGING = [s.name for s in SWITCHES.values() if s.stage in ("truth", "order", "judge")]
_JUDGING = [name for name in _JUDGING if name not in ("relevant_from", "list_end", "candidates")]


class Run(NamedTuple):
    """What the metrics of one evaluation share."""

    sides: Aligned
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
    sides: Aligned,
    convention: Convention,
    ledger: Ledger,
    shown: int | None = None,
    needs: tuple[str, ...] = (),
) -> tuple[Aligned, Verdict]:
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
        ids = None if lists.extras.stock is None else lists.stock.ids
        own = taken_by(counts, asked)
        made = counts(lists, asked.cutoff, flags, **own)
        return Counted(made, int(flags.sum()), made.scores if isinstance(made, ByScore) else ids)


def _by_group(run: Run, asked: Asked, lists: Judged, spread: bool) -> ByGroup:
    """The values of lists, added up for each group of users."""
    number, names = lists.people.groups(asked.by)
    groups = Groups(number[lists.owner], names)
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


_MANY_LISTS = 20_000
_PARTED = 1 << 16  # lists
_LISTS = 1 << 17


class Added(NamedTuple):
    """What metrics add up to, the values of lists, and why some could not be computed."""

    totals: dict[str, Total]
    values: dict[str, Floats]
    failures: dict[str, RectitudeError]


def added_up(
    run: Run, wanted: Mapping[str, Asked], spread: bool, beside: Sequence[Task] = ()
) -> Added:
    """Add up metrics, on several threads; other tasks are done beside."""
    valued = [name for name, one in wanted.items() if has_values(one)]
    room = dict(zip(valued, np.empty((len(valued), len(run.sides.keys))), strict=True))
    found = Added({}, {}, {})

    def compute(name: str) -> None:
        try:
            found.totals[name] = total_of(run, wanted[name], spread, room.get(name))
        except RectitudeError as error:
            found.failures[name] = error

    blocks = _Blocks(run, wanted, spread)
    whole = [partial(compute, name) for name in wanted if name not in blocks.asked]
    # in turn: threads that begin with the same would wait for what both of them need
    pairs = zip_longest(whole, blocks.tasks(room))
    tasks = [*beside, *(task for pair in pairs for task in pair if task is not None)]
    together(tasks, len(run.sides.keys) > _MANY_LISTS)
    found.totals.update(blocks.totals(room))
    for name in wanted:
        if name not in found.totals and name not in found.failures:
            compute(name)
    found.values.update((name, own) for name, own in room.items() if name in found.totals)
    return found


class _Blocks:
    """The metrics of an evaluation that are computed block by block."""

    def __init__(self, run: Run, wanted: Mapping[str, Asked], spread: bool) -> None:
        self.run, self.spread = run, spread
        self.step = max(min(_LISTS, -(-len(run.sides.keys) // (4 * thread_count()))), 1)
        self.asked = {name: one for name, one in wanted.items() if _in_blocks(run, one)}
        self.verdicts: dict[str, Verdict] = {}
        for name, one in [*self.asked.items()]:
            try:
                run.facts.require(one.metric)
                self.verdicts[name] = verdict_of(run, one)
                if one.convention.ties == "average":  # no block is to begin what another refuses
                    require_closed_form(one, view_of(run, one, self.verdicts[name].judged))
            except RectitudeError:  # said when it is computed for all lists
                del self.asked[name]
        self.states: dict[str, list[State]] = {name: [] for name in self.asked}

    def tasks(self, room: Mapping[str, Floats]) -> list[Task]:
        """What there is to be done, in any order; the values of lists go into `room`."""
        size = len(self.run.sides.keys)
        starts = range(0, size if self.asked else 0, self.step)
        return [partial(self._add, at, min(at + self.step, size), room) for at in starts]

    def _add(self, first: int, last: int, room: Mapping[str, Floats]) -> None:
        """Add up the values of the lists of a block; of a metric that fails, those of no other."""
        run, parts = _cut(self.run, first, last), Once()

        def part(judged: Judged) -> Judged:
            return parts(id(judged), lambda: judged.block(first, last))

        for name, one in self._in_turn(first):
            try:
                lists = view_of(run, one, part(self.verdicts[name].judged))
                done = tally_of(run, one, lists, self.spread, room[name][first:last])
                self.states[name].append(done.state)
            except RectitudeError:  # said when it is computed for all lists
                self.asked.pop(name, None)

    def _in_turn(self, first: int) -> list[tuple[str, Asked]]:
        """The metrics from one on that others do not begin with: what is computed once for all
        lists is computed by one thread, and others would wait for it."""
        asked, threads = [*self.asked.items()], thread_count()
        begin = len(asked) * (first // self.step % threads) // threads
        return asked[begin:] + asked[:begin]

    def totals(self, room: Mapping[str, Floats]) -> dict[str, Total]:
        """What metrics add up to that failed nowhere."""
        found: dict[str, Total] = {}

        def settle(name: str, one: Asked) -> None:
            done = Tally(sum(self.states[name], State()), room[name])
            found[name] = settled_total(self.run, one, self.verdicts[name], done)

        together([partial(settle, name, one) for name, one in self.asked.items()])
        return found


def _in_blocks(run: Run, asked: Asked) -> bool:
    """Whether a metric is computed in blocks: it has values for lists, looks at one list at a time
    as ours do, and its lists have nothing to do with one another."""
    alone = asked.convention.unit != "user" and asked.metric.at_once == "some lists"
    ours = is_ours(asked.metric.function)
    return len(run.sides.keys) >= _PARTED and has_values(asked) and ours and alone


def _cut(run: Run, first: int, last: int) -> Run:
    """The same of some lists alone."""
    sides = run.sides
    some = replace(
        sides,
        keys=sides.keys.slice(first, last - first),
        owners=sides.owners[first:last],
        weights=None if sides.weights is None else sides.weights[first:last],
    )
    return run._replace(sides=some, verdicts={}, views=Once())
