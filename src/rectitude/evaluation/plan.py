"""`Plan`: the requested metrics, their convention, and what must be judged and measured for
them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar, get_args, get_type_hints

from rectitude.aggregate.definition import definition, fingerprint
from rectitude.convention import SWITCHES, Convention
from rectitude.errors import BadArgument, BadName, RectitudeError, UnknownName, unknown_name
from rectitude.evaluation.inputs import Reach, require_settled
from rectitude.judge.judge import NEEDS, Judging
from rectitude.judge.judged import WHOLE_LIST
from rectitude.metrics.names import Name, Names, parse_all, read_cutoffs
from rectitude.profiles import Asked, Profile

if TYPE_CHECKING:
    from rectitude.evaluation.axes import Axis

DEFAULT_METRICS = ("ndcg@10", "recall@10", "precision@10", "hit@10", "mrr", "map")
TARGET_METRICS = ("accuracy@{1,5,10}", "mrr", "ndcg@10", "weighted_f1", "cross_entropy")
APART = ("predicted", "scored")
"""Needs that change how lists are read, so metrics with them share nothing with other metrics."""


HINTS = {
    **dict.fromkeys(
        ("k", "topk", "top_k", "cutoff"),
        "cutoffs are part of a metric's name, such as 'ndcg@10', or go to cutoffs=[10].",
    ),
    **dict.fromkeys(("profile", "framework"), "the profile of a framework is a convention."),
    **dict.fromkeys(("y_true", "qrels", "ground_truth", "test_set"), "it is called truth=."),
    **dict.fromkeys(("y_pred", "run", "recs", "y_score"), "it is called predictions=."),
}
"""What to write instead of keywords that people try."""
Given = ParamSpec("Given")
Returned = TypeVar("Returned")
Slicings = Sequence[Sequence["Axis"]]


@dataclass(frozen=True)
class Plan:
    """The requested metrics, and the metrics that are measured to compute them.

    A derived metric is computed from other metrics, which are measured instead. In batches, means
    over users are measured list by list, together with their bounds under ties; see `in_batches`.
    """

    profile: Profile
    asked: tuple[Asked, ...]
    measured: Mapping[str, Asked]
    intervals: bool = False
    slicings: Slicings = ()
    """the axes of every way to slice"""
    per_list: Path | None = None
    """where values per list are written; None if they are held"""

    @staticmethod
    def of(
        asked: Iterable[Asked],
        profile: Profile,
        intervals: bool = False,
        slicings: Slicings = (),
    ) -> Plan:
        """Return the plan for metrics that a profile has resolved."""
        metrics = tuple(asked)
        return Plan(profile, metrics, expand(metrics, profile), intervals, slicings)

    @property
    def convention(self) -> Convention:
        """The convention of all metrics, unless the profile has another one for a metric."""
        return self.profile.convention

    @property
    def spread(self) -> bool:
        """Whether sums of squares are needed, for intervals."""
        return self.intervals or bool(self.slicings)

    @cached_property
    def cutoffs(self) -> tuple[int, ...]:
        """The cutoffs of the requested metrics, in their order."""
        return tuple(asked.cutoff for asked in self.asked if asked.cutoff is not None)

    @property
    def last_cutoff(self) -> int | None:
        """The cutoff of the last metric that has one; some frameworks truncate all lists there."""
        return self.cutoffs[-1] if self.cutoffs else None

    @cached_property
    def shown_upto(self) -> Mapping[str, tuple[int, ...]]:
        """The cutoffs of each metric that looks at the recommended items."""
        cutoffs: dict[str, tuple[int, ...]] = {}
        for asked in self.measured.values():
            if asked.cutoff and "shown" in asked.metric.requires:
                cutoffs[asked.metric.name] = (*cutoffs.get(asked.metric.name, ()), asked.cutoff)
        return cutoffs

    @cached_property
    def judging(self) -> Judging:
        """The way of judging that most metrics share: the convention of the profile, with
        everything that the metrics need."""
        ways = [
            own_judging(asked)
            for asked in self.measured.values()
            if "shown" not in asked.metric.requires or asked.cutoff
        ]
        shown = max((way.shown or 0 for way in ways), default=0) or None
        needs = {need for way in ways if not set(way.needs) & set(APART) for need in way.needs}
        return Judging.of(self.convention, shown, needs)

    @cached_property
    def reach(self) -> Reach:
        """How far the measured metrics look into dense scores."""
        return Reach.of(self.measured.values())

    @cached_property
    def ways(self) -> Mapping[Judging, Mapping[str, Asked]]:
        """Every way of judging that is needed, with the metrics that need it."""
        metrics_by_way: dict[Judging, dict[str, Asked]] = {}
        for name, asked in self.measured.items():
            try:
                way = self.judging_for(asked)
            except RectitudeError:  # reported when lists are judged for the metric
                way = self.judging
            metrics_by_way.setdefault(way, {})[name] = asked
        return metrics_by_way

    def judging_for(self, asked: Asked) -> Judging:
        """Return how lists are judged for a metric. Metrics that need more than ranks share one way
        with all their needs."""
        if id(asked) not in self._judgings:  # the metric is kept, so no other can get its id
            self._judgings[id(asked)] = (asked, self._find_judging(asked))
        return self._judgings[id(asked)][1]

    @cached_property
    def _judgings(self) -> dict[int, tuple[Asked, Judging]]:
        return {}

    def _find_judging(self, asked: Asked) -> Judging:
        alone, shared = own_judging(asked), self.judging
        if not (alone.shown or alone.needs) or set(alone.needs) & set(APART):
            return alone
        shown = max(alone.shown or 0, shared.shown or 0) or None
        return Judging.of(asked.convention, shown, {*alone.needs, *shared.needs})

    def find_conflicts(self, offered: bool) -> Mapping[str, RectitudeError]:
        """Return the errors of metrics that set their own value for a choice that is made once at
        opening; `offered` says whether candidates were given."""
        if offered not in self._conflicts:
            errors: dict[str, RectitudeError] = {}
            for name, asked in self.measured.items():
                try:
                    require_settled(asked, self.convention, offered)
                except RectitudeError as error:
                    errors[name] = error
            self._conflicts[offered] = errors
        return self._conflicts[offered]

    @cached_property
    def _conflicts(self) -> dict[bool, Mapping[str, RectitudeError]]:
        return {}

    def describe(self, asked: Asked) -> tuple[str, str]:
        """Return the definition of a requested metric in words, and its fingerprint."""
        name = str(asked.name)
        if name not in self._descriptions:
            self._descriptions[name] = (definition(asked), fingerprint(asked))
        return self._descriptions[name]

    @cached_property
    def _descriptions(self) -> dict[str, tuple[str, str]]:
        return {}

    @cached_property
    def metrics_beyond_ranks(self) -> Mapping[str, Asked]:
        """The measured metrics that need more than ranks, so they may not work with every list."""
        return {n: asked for n, asked in self.measured.items() if _needs_more_than_ranks(asked)}

    @cached_property
    def exact_items(self) -> bool:
        """Whether item codes must sort in the same order as item ids."""
        return any(asked.convention.sorts_ties_by_id for asked in self.measured.values())

    @cached_property
    def batches_one_by_one(self) -> bool:
        """Whether batches must be measured one by one: a metric needs all lists of a batch at once
        or tables that come with the batch, or there are slices."""
        metrics = [asked.metric for asked in self.measured.values()]
        joinable = all(m.at_once == "some lists" and not m.wants_facts for m in metrics)
        return bool(self.slicings) or not joinable

    def in_batches(self) -> Plan:
        """Return the plan for one of many batches: users are averaged when all their lists have
        arrived."""
        measured = {name: by_list(asked) for name, asked in self.measured.items()}
        return replace(self, measured={**measured, **self.bounds})

    @cached_property
    def by_user(self) -> tuple[str, ...]:
        """The measured metrics that are averaged over users."""
        return tuple(n for n, asked in self.measured.items() if asked.convention.unit == "user")

    @cached_property
    def bounds(self) -> Mapping[str, Asked]:
        """Metrics averaged over users, with ties broken against and in favour of the relevant
        items, by `bound_names`."""
        bounds: dict[str, Asked] = {}
        for name in self.by_user:
            asked = self.measured[name]
            settled = asked.convention.ties == "error" or asked.metric.kind == "counts"
            if not settled and "moving_up_helps" not in asked.metric.breaks:
                for rule, bound in bound_names(name).items():
                    convention = asked.convention.replace(unit="list", ties=rule)
                    bounds[bound] = replace(asked, convention=convention)
        return bounds


def bound_names(name: str) -> dict[str, str]:
    """Return the names under which a metric is measured with ties broken against and in favour of
    the relevant items."""
    return {rule: f"{name}/{rule}" for rule in ("pessimistic", "optimistic")}


def by_list(asked: Asked) -> Asked:
    """Return the metric as a mean over lists, to be averaged over users after the last batch."""
    if asked.convention.unit == "list":
        return asked
    return replace(asked, convention=asked.convention.replace(unit="list"))


def answer_keywords(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """Answer keywords that a function does not take with a hint or with the nearest keyword."""
    known, label = signature(function).parameters, function.__qualname__.partition(".")[0]

    @wraps(function)
    def call(*args: Given.args, **keywords: Given.kwargs) -> Returned:
        for name in keywords:
            if name in known or name in (names := _list_keywords(function)):
                continue
            hint = _hint_at(name, keywords)
            if hint:
                raise UnknownName(f"{label} has no argument {name!r}.", "", hint)
            raise unknown_name("argument", name, names, label)
        return function(*args, **keywords)

    return call


def _hint_at(name: str, keywords: Mapping[str, object]) -> str:
    """Return what to write instead of a keyword; empty if nothing is known about it."""
    if name not in SWITCHES:
        return HINTS.get(name, "")
    start = keywords.get("convention")
    profile = {"profile": start} if isinstance(start, str) else {}
    return f"a switch of the convention: convention={ {**profile, name: keywords[name]} }."


def _list_keywords(function: Callable[..., object]) -> list[str]:
    """Return the keywords of a function, with those that it takes as a typed dict."""
    names = []
    for name, parameter in signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            names += get_args(get_type_hints(function)[name])[0].__annotations__
        elif name != "self":
            names.append(name)
    return names


def resolve(
    metrics: Names | None,
    profile: Profile,
    usual: Sequence[str] = DEFAULT_METRICS,
    cutoffs: object = None,
) -> list[Asked]:
    """Return the requested metrics, or the default ones, as a profile defines them.

    `cutoffs` are for names without a cutoff. Default metrics that have a cutoff get these instead.
    """
    names, numbers = parse_all(usual if metrics is None else metrics), read_cutoffs(cutoffs)
    asked: dict[str, Asked] = {}
    for name in names:
        for request in _resolve_at(name, profile, numbers, metrics is None):
            asked.setdefault(str(request.name), request)
    if numbers and not any(request.cutoff in numbers for request in asked.values()):
        raise BadArgument(
            f"cutoffs is {list(numbers)}, but no metric takes them: {', '.join(asked)}.",
            "at least one name without a cutoff, such as 'ndcg'.",
        )
    return list(asked.values())


def _resolve_at(
    name: Name, profile: Profile, cutoffs: Sequence[int], is_default: bool
) -> list[Asked]:
    """Return a metric at each of the cutoffs, or as it is if they are not for it."""
    asked = profile.resolve(name)
    for_it = (asked.name.at is not None) if is_default else (asked.name.at is None)
    if not cutoffs or not for_it or asked.metric.cutoff not in ("optional", "needed"):
        return [asked]
    return [profile.resolve(replace(name, at=str(cutoff))) for cutoff in cutoffs]


def expand(asked: Iterable[Asked], profile: Profile) -> dict[str, Asked]:
    """Return the metrics to measure: derived metrics are replaced by the metrics that they are
    computed from."""
    measured: dict[str, Asked] = {}
    for request in asked:
        if request.metric.kind == "derived":
            components = parts_of(request, profile)
            measured |= {
                part_name(request, base): component for base, component in components.items()
            }
        else:
            measured[str(request.name)] = request
    return measured


def part_name(asked: Asked, base: str) -> str:
    """Return the name under which a metric is measured for a derived metric."""
    return f"{asked.name}/{base}"


def parts_of(asked: Asked, profile: Profile) -> dict[str, Asked]:
    """Return the metrics that a derived metric is computed from, under its convention."""
    changed = profile.convention.differences(asked.convention)
    of, by = {base: base for base in asked.metric.of}, ""
    if asked.metric.kind == "derived" and "by" in asked.numbers:  # from the means of groups
        of, by = {"means": str(asked.numbers["of"])}, str(asked.numbers["by"])
    components = {}
    for key, base in of.items():
        component = profile.resolve(Name(base, at=asked.name.at))
        if by and component.metric.kind != "list":
            raise BadName(
                f"{str(asked.name)!r} is computed from {base!r}, which has no value per list.",
                "a metric that is a mean over lists, such as ndcg.",
            )
        convention = component.convention.replace(**{s: new for s, (_, new) in changed.items()})
        components[key] = replace(component, convention=convention, by=by)
    return components


def _needs_more_than_ranks(asked: Asked) -> bool:
    metric, averaged = asked.metric, asked.convention.ties == "average"
    plain = metric.kind == "list" and not (metric.requires or metric.needs or asked.by)
    return not plain or (averaged and not metric.can_average)


def own_judging(asked: Asked) -> Judging:
    """Return how lists are judged for a metric alone."""
    required = {*asked.metric.requires, *(("people",) if asked.by else ())}
    return Judging.of(asked.convention, ranks_shown(asked), required & set(NEEDS))


def ranks_shown(asked: Asked) -> int | None:
    """Return how many ranks of each list a metric must see; None if it looks at no items."""
    if "shown" not in asked.metric.requires:
        return None
    if asked.cutoff is None and asked.metric.cutoff == "needed":
        raise BadName(
            f"{str(asked.name)!r} has no cutoff, but the metric divides by it or compares with "
            "that many items.",
            f"a cutoff: {asked.name}@10.",
        )
    return asked.cutoff or WHOLE_LIST
