"""The values of many assignments: lists are judged once for each way of judging, the values of
lists computed once for each formula, and added up anew for each way of averaging."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from rectitude.aggregate.population import counted
from rectitude.aggregate.state import tally
from rectitude.aggregate.total import Sum
from rectitude.engines.compute import (
    Run,
    blamed,
    parts_of,
    ratio_of,
    require_closed_form,
    total_of,
    verdict_of,
    view_of,
)
from rectitude.engines.part import presented, value_of
from rectitude.errors import RectitudeError
from rectitude.explanation.identify.assignments import Assignment, Space
from rectitude.explanation.identify.live import signature
from rectitude.explanation.trials import Trials
from rectitude.judge.judged import Judged
from rectitude.metrics import Ratio
from rectitude.profiles import Asked, Profile
from rectitude.threads import Once, together

Outcome = float | RectitudeError
Known = Sum | RectitudeError
TrialsOf = Callable[[Profile], Trials]
_MANY_LISTS = 20_000
_RATIOS_KEPT = 8
_AVERAGING = (
    "truth_needed", "list_needed", "without_relevant", "undefined", "unit", "average",
)  # fmt: skip


def values_of(found: Sequence[Assignment], trials: TrialsOf, space: Space) -> list[Outcome]:
    """The value of each assignment, exact as `evaluate` gives it, or why there is none."""
    ways: dict[Any, list[int]] = defaultdict(list)
    for number, one in enumerate(found):
        padding = one.profile.padding if space.padding_matters else None
        ways[padding, space.way(one.asked.convention)].append(number)
    outcomes: list[Outcome] = [float("nan")] * len(found)
    known: dict[Any, Known] = {}

    def sweep(numbers: Sequence[int]) -> None:
        sheets: dict[int, _Sheet] = {}
        for number in sorted(numbers, key=lambda n: repr(_formula(found[n].asked, space))):
            outcomes[number] = _outcome(found[number], trials, space, sheets, known)

    first, *rest = (partial(sweep, numbers) for numbers in ways.values())
    first()  # opens the inputs, which threads then share
    lists = len(trials(found[0].profile).keys(found[0].asked).keys)
    together(rest, lists > _MANY_LISTS)
    return outcomes


def _outcome(
    one: Assignment,
    trials: TrialsOf,
    space: Space,
    sheets: dict[int, _Sheet],
    known: dict[Any, Known],
) -> Outcome:
    """The value of an assignment; sheets are shared by those that were opened alike."""
    try:
        run = trials(one.profile).run(one.asked)
        sheet = sheets.setdefault(id(run.sides), _Sheet(run, space, known))
        return sheet.value(one.asked, one.profile)
    except RectitudeError as error:
        return _bare(error)


def _bare(error: RectitudeError) -> RectitudeError:
    """An error that holds on to nothing of what was computed when it arose."""
    return type(error)(error.found, error.expected, error.advice)


@dataclass
class _Sheet:
    """Lists judged in one way, and what was last computed from them."""

    run: Run
    space: Space
    known: dict[Any, Known]
    judged: dict[Any, tuple[Judged, bytes]] = field(default_factory=dict)
    ratios: dict[Any, Ratio] = field(default_factory=dict)
    threshold: Any = ()

    def __post_init__(self) -> None:
        self.run = self.run._replace(verdicts={}, views=Once())

    def value(self, asked: Asked, profile: Profile) -> float:
        """A metric under its convention, as it is shown."""
        facts = self.run.facts
        if asked.metric.kind != "derived":
            return presented(value_of(asked, self._sum(asked), facts), asked.convention)
        parts = parts_of(asked, profile).items()
        values = {base: value_of(part, self._sum(part), facts) for base, part in parts}
        with blamed(asked):
            return presented(float(asked.metric.function(**values)), asked.convention)

    def _sum(self, asked: Asked) -> Sum:
        """What a metric adds up to, also where it was added up from equal lists before."""
        self.run.facts.require(asked.metric)
        lists, mark = self._judged(asked)
        formula = _formula(asked, self.space)
        averaging = tuple(getattr(asked.convention, name) for name in _AVERAGING)
        key = (mark, formula, averaging)
        if key not in self.known:
            try:
                self.known[key] = self._added(asked, lists, (mark, formula, averaging[2]))
            except RectitudeError as error:
                self.known[key] = _bare(error)
        found = self.known[key]
        if isinstance(found, RectitudeError):
            raise _bare(found)
        return found

    def _judged(self, asked: Asked) -> tuple[Judged, bytes]:
        shown = asked.cutoff if "shown" in asked.metric.requires else None
        way = (self.space.way(asked.convention), asked.metric.requires, shown)
        if way not in self.judged:
            lists = verdict_of(self.run, asked).judged
            self.judged[way] = (lists, signature(lists))
        return self.judged[way]

    def _added(self, asked: Asked, judged: Judged, name: Any) -> Sum:
        threshold = _threshold(asked, self.space)
        if threshold != self.threshold:  # earlier views are not asked for again
            self.run.views.clear()
            self.threshold = threshold
        lists = view_of(self.run, asked, judged)
        require_closed_form(asked, lists)
        if asked.metric.kind == "counts" or asked.by:
            return total_of(self.run, asked, False, np.empty(len(lists.relevant))).sum
        if name not in self.ratios:
            ratio = ratio_of(self.run, asked, lists)
            while len(self.ratios) >= _RATIOS_KEPT:
                self.ratios.pop(next(iter(self.ratios)))
            self.ratios[name] = ratio
        flags = counted(lists, asked.convention, asked.cutoff)
        sides = self.run.sides
        given = (asked.convention, sides.weights, sides.owners, sides.label)
        with blamed(asked):
            return tally(self.ratios[name], flags, *given).state


def _threshold(asked: Asked, space: Space) -> tuple[Any, ...]:
    end = space.settled("list_end", asked.convention.list_end)
    return asked.convention.relevant_from, end


def _formula(asked: Asked, space: Space) -> tuple[Any, ...]:
    """What the value of a list depends on, once it is judged."""
    metric = asked.metric
    numbers = tuple(sorted(asked.numbers.items()))
    choices = tuple(getattr(asked.convention, name) for name in metric.obeys)
    return (*_threshold(asked, space), metric.name, asked.name.at, asked.by, numbers, *choices)
