"""`Plan`: what is asked, under which convention, and what must be judged and measured for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from rectitude.convention import Convention
from rectitude.errors import BadName, RectitudeError
from rectitude.evaluation.inputs import Reach, require_settled
from rectitude.judge.judge import NEEDS, Judging
from rectitude.metrics.names import Name, parse_all
from rectitude.profiles import Asked, Profile

if TYPE_CHECKING:
    from rectitude.evaluation.axes import Axis

DEFAULT_METRICS = ("ndcg@10", "recall@10", "precision@10", "hit@10", "mrr", "map")
TARGET_METRICS = ("accuracy@{1,5,10}", "mrr", "ndcg@10", "weighted_f1", "cross_entropy")
APART = ("predicted", "scored")
"""Needs that change how lists are read, so that nothing is shared with metrics that have them."""


Slicings = Sequence[Sequence["Axis"]]


@dataclass(frozen=True)
class Plan:
    """The metrics that were asked for, and those that are measured for them.

    Derived metrics are measured by their parts. In batches, metrics of users are measured list by
    list, with their bounds under ties beside them; see `in_batches`.
    """

    profile: Profile
    asked: tuple[Asked, ...]
    measured: Mapping[str, Asked]
    intervals: bool = False
    slicings: Slicings = ()
    """the axes of every slicing"""

    @staticmethod
    def of(
        asked: Iterable[Asked],
        profile: Profile,
        intervals: bool = False,
        slicings: Slicings = (),
    ) -> Plan:
        """The plan for metrics as a profile resolved them."""
        every = tuple(asked)
        return Plan(profile, every, expand(every, profile), intervals, slicings)

    @property
    def convention(self) -> Convention:
        """The convention that metrics follow unless the profile says otherwise for one."""
        return self.profile.convention

    @property
    def spread(self) -> bool:
        """Whether sums of squares are needed, for intervals."""
        return self.intervals or bool(self.slicings)

    @cached_property
    def cutoffs(self) -> tuple[int, ...]:
        """The cutoffs of the metrics that were asked for, in their order."""
        return tuple(one.cutoff for one in self.asked if one.cutoff is not None)

    @property
    def last_cutoff(self) -> int | None:
        """The cutoff of the last metric that has one, where some frameworks end all lists."""
        return self.cutoffs[-1] if self.cutoffs else None

    @cached_property
    def shown_upto(self) -> Mapping[str, tuple[int, ...]]:
        """The cutoffs at which a metric is asked for that looks at the items shown."""
        found: dict[str, tuple[int, ...]] = {}
        for one in self.measured.values():
            if one.cutoff and "shown" in one.metric.requires:
                found[one.metric.name] = (*found.get(one.metric.name, ()), one.cutoff)
        return found

    @cached_property
    def judging(self) -> Judging:
        """The way of judging that serves most metrics: that of the profile, with everything that
        metrics need together."""
        wants = [
            own_judging(one)
            for one in self.measured.values()
            if "shown" not in one.metric.requires or one.cutoff
        ]
        shown = max((one.shown or 0 for one in wants), default=0) or None
        needs = {need for one in wants if not set(one.needs) & set(APART) for need in one.needs}
        return Judging.of(self.convention, shown, needs)

    @cached_property
    def reach(self) -> Reach:
        """How far the measured metrics look into dense scores."""
        return Reach.of(self.measured.values())

    @cached_property
    def ways(self) -> Mapping[Judging, Mapping[str, Asked]]:
        """Every way of judging that is needed, with the metrics that need it."""
        found: dict[Judging, dict[str, Asked]] = {}
        for name, asked in self.measured.items():
            try:
                way = self.judging_for(asked)
            except RectitudeError:  # said by whoever judges for the metric
                way = self.judging
            found.setdefault(way, {})[name] = asked
        return found

    def judging_for(self, asked: Asked) -> Judging:
        """How lists are judged for a metric: metrics that need anything beyond ranks share what all
        of them need."""
        own, all_of_them = own_judging(asked), self.judging
        if not (own.shown or own.needs) or set(own.needs) & set(APART):
            return own
        shown = max(own.shown or 0, all_of_them.shown or 0) or None
        return Judging.of(asked.convention, shown, {*own.needs, *all_of_them.needs})

    def unsettled(self, offered: bool) -> Mapping[str, RectitudeError]:
        """The metrics that want a choice for themselves that opening makes for all, and why that
        cannot be; `offered` says whether candidates were handed over."""
        if offered not in self._unsettled:
            found: dict[str, RectitudeError] = {}
            for name, asked in self.measured.items():
                try:
                    require_settled(asked, self.convention, offered)
                except RectitudeError as error:
                    found[name] = error
            self._unsettled[offered] = found
        return self._unsettled[offered]

    @cached_property
    def _unsettled(self) -> dict[bool, Mapping[str, RectitudeError]]:
        return {}

    @cached_property
    def demanding(self) -> Mapping[str, Asked]:
        """The measured metrics that need more than ranks, so that lists may not do for them."""
        return {n: one for n, one in self.measured.items() if _is_demanding(one)}

    @cached_property
    def exact_items(self) -> bool:
        """Whether item ids must have codes that sort as they do."""
        return any(one.convention.ties.startswith("item") for one in self.measured.values())

    @cached_property
    def apart(self) -> bool:
        """Whether batches must be measured one by one: a metric sees all of its lists at once or
        looks at tables that batches bring along, or there are slices."""
        metrics = [one.metric for one in self.measured.values()]
        together = all(m.at_once == "some lists" and not m.wants_facts for m in metrics)
        return bool(self.slicings) or not together

    def in_batches(self) -> Plan:
        """The plan for one batch of many: users are averaged once all of their lists are there."""
        measured = {name: by_list(one) for name, one in self.measured.items()}
        return replace(self, measured={**measured, **self.bounds})

    @cached_property
    def by_user(self) -> tuple[str, ...]:
        """The measured metrics that are averaged over users."""
        return tuple(n for n, one in self.measured.items() if one.convention.unit == "user")

    @cached_property
    def bounds(self) -> Mapping[str, Asked]:
        """Metrics of users with ties broken against and for them, by `bound_names`."""
        found: dict[str, Asked] = {}
        for name in self.by_user:
            asked = self.measured[name]
            settled = asked.convention.ties == "error" or asked.metric.kind == "counts"
            if not settled and "moving_up_helps" not in asked.metric.breaks:
                for rule, bound in bound_names(name).items():
                    convention = asked.convention.replace(unit="list", ties=rule)
                    found[bound] = replace(asked, convention=convention)
        return found


def bound_names(name: str) -> dict[str, str]:
    """The names under which a metric is measured with ties broken against and for it."""
    return {rule: f"{name}/{rule}" for rule in ("pessimistic", "optimistic")}


def by_list(asked: Asked) -> Asked:
    """The metric over lists, where it will be averaged over users once all batches are there."""
    if asked.convention.unit == "list":
        return asked
    return replace(asked, convention=asked.convention.replace(unit="list"))


def resolve(
    metrics: str | Iterable[str] | None, profile: Profile, usual: Sequence[str] = DEFAULT_METRICS
) -> list[Asked]:
    """The metrics that were asked for, or the usual ones, as a profile defines them."""
    return [profile.resolve(name) for name in parse_all(usual if metrics is None else metrics)]


def expand(asked: Iterable[Asked], profile: Profile) -> dict[str, Asked]:
    """What is measured for what was asked: derived metrics are replaced by their parts."""
    measured: dict[str, Asked] = {}
    for one in asked:
        if one.metric.kind == "derived":
            parts = parts_of(one, profile)
            measured |= {part_name(one, base): part for base, part in parts.items()}
        else:
            measured[str(one.name)] = one
    return measured


def part_name(asked: Asked, base: str) -> str:
    """The name under which a part of a derived metric is measured."""
    return f"{asked.name}/{base}"


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


def _is_demanding(asked: Asked) -> bool:
    metric, averaged = asked.metric, asked.convention.ties == "average"
    plain = metric.kind == "list" and not (metric.requires or metric.needs or asked.by)
    return not plain or (averaged and not metric.can_average)


def own_judging(asked: Asked) -> Judging:
    """How lists are judged for a metric alone."""
    required = {*asked.metric.requires, *(("people",) if asked.by else ())}
    return Judging.of(asked.convention, places_shown(asked), required & set(NEEDS))


def places_shown(asked: Asked) -> int | None:
    """How many places of each list a metric must see; None for none."""
    if "shown" not in asked.metric.requires:
        return None
    if asked.cutoff is None:
        raise BadName(
            f"{str(asked.name)!r} looks at the items in the first places.",
            f"a cutoff: {asked.name}@10.",
        )
    return asked.cutoff
