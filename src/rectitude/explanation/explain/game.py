"""The game behind an explanation: its players are what differs between two ends, and a coalition of
them is valued by the metric with those taken from the second end and all others from the first."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from rectitude.aggregate.evaluation import Keys, Result
from rectitude.arrays import Floats
from rectitude.convention import SWITCHES
from rectitude.errors import RectitudeError
from rectitude.evaluation.inputs import Given
from rectitude.evaluation.plan import expand, parts_of
from rectitude.explanation.trials import End, Opened, Trials, takes_padding
from rectitude.judge.judge import Judging
from rectitude.metrics import Metric
from rectitude.profiles import Asked, Profile

Kind = Literal["switch", "number", "formula", "padding", "predictions"]
Coalition = Set[str]
"""The names of the players whose value is that of the second end."""


@dataclass(frozen=True, slots=True)
class Player:
    """Something that differs between the two ends."""

    name: str
    kind: Kind
    first: Any
    second: Any


@dataclass
class Game:
    """Two ends, and the inputs on which they are compared; the second may have its own
    predictions."""

    first: End
    second: End
    given: Given
    other: object = None
    opened: dict[bool, Opened] = field(default_factory=dict)

    @cached_property
    def players(self) -> tuple[Player, ...]:
        """What differs and can matter: switches, numbers of the metric, and more."""
        return (*self._switches(), *self._rest())

    def result(self, coalition: Coalition) -> Result:
        """The metric under a coalition; an error of `rectitude.errors` where it has no value."""
        asked, profile = self._asked(coalition)
        return self.trial(coalition).result(asked, profile)

    def values(self, coalition: Coalition) -> dict[str, Floats]:
        """The value of each list under a coalition; for a derived metric, those of its parts."""
        asked, profile = self._asked(coalition)
        trial = self.trial(coalition)
        parts = {str(asked.name): asked}
        if asked.metric.kind == "derived":
            parts = {n: replace(one, by="") for n, one in parts_of(asked, profile).items()}
        found = {name: trial.result(part).values for name, part in parts.items()}
        counts = {name for name, part in parts.items() if part.metric.kind == "counts"}
        return {n: own for n, own in found.items() if own is not None and n not in counts}

    def keys(self, coalition: Coalition) -> Keys:
        """The lists behind the values."""
        return self.trial(coalition).keys(self._asked(coalition)[0])

    def predicted(self, coalition: Coalition) -> set[Any]:
        """The keys of the lists that were predicted."""
        asked, _ = self._asked(coalition)
        handed = self.trial(coalition).judged(asked).handed
        return set(self.keys(coalition).keys.filter(handed).to_list())

    def judging(self, coalition: Coalition) -> tuple[str, ...]:
        """What the judging under a coalition depends on: coalitions alike in it come together."""
        try:
            asked, _ = self._asked(coalition)
        except RectitudeError:  # switches that contradict each other
            return ()
        side = (str("predictions" in coalition), str("padding" in coalition))
        return (
            *side,
            asked.convention.candidates,
            *map(str, Judging.of(asked.convention).switches),
        )

    def trial(self, coalition: Coalition) -> Trials:
        """The inputs that a coalition is evaluated on."""
        other = "predictions" in coalition
        if other not in self.opened:
            changed = {"predictions": self.other} if other else {}
            given = replace(self.given, inputs={**self.given.inputs, **changed})
            self.opened[other] = Opened(given, list(self._deepest()))
        end = self.second if "padding" in coalition else self.first
        trials = self.opened[other].trials(end.profile)
        trials.forget()
        return trials

    def _asked(self, coalition: Coalition) -> tuple[Asked, Profile]:
        asked = _mixed(self.first.asked, self.second.asked, coalition)
        ours, theirs = (self._parts(end, asked.metric) for end in (self.first, self.second))
        metrics = {name: _entry(_mixed(ours[name], theirs[name], coalition)) for name in ours}
        return asked, Profile(name="trial", convention=asked.convention, metrics=metrics)

    def _parts(self, end: End, metric: Metric) -> Mapping[str, Asked]:
        return parts_of(replace(end.asked, metric=metric), end.profile)

    def _pairs(self) -> Iterator[tuple[Asked, Asked]]:
        """The metric under both ends, and the parts it is made of."""
        first, second = self.first.asked.metric, self.second.asked.metric
        yield self.first.asked, self.second.asked
        for metric in (first, second) if first is not second else (first,):
            try:
                ours, theirs = (self._parts(end, metric) for end in (self.first, self.second))
            except RectitudeError:  # one end knows no such part: it is said when it is evaluated
                continue
            yield from ((ours[name], theirs[name]) for name in ours)

    def _switches(self) -> Iterator[Player]:
        found: dict[str, tuple[Any, Any]] = {}
        for ours, theirs in self._pairs():
            obeyed = {*ours.metric.obeys, *theirs.metric.obeys}
            for name, pair in ours.convention.differences(theirs.convention).items():
                if SWITCHES[name].stage != "metrics" or name in obeyed:
                    found.setdefault(name, pair)
        return (Player(name, "switch", *found[name]) for name in SWITCHES if name in found)

    def _rest(self) -> Iterator[Player]:
        numbers: dict[str, tuple[float | str, float | str]] = {}
        formulas: list[tuple[str, str]] = []
        for ours, theirs in self._pairs():
            if ours.metric is not theirs.metric:
                formulas.append((ours.metric.name, theirs.metric.name))
                continue
            pairs = ((name, (value, theirs.numbers[name])) for name, value in ours.numbers.items())
            numbers |= {name: pair for name, pair in pairs if pair[0] != pair[1]}
        yield from (Player("formula", "formula", *names) for names in formulas[:1])
        yield from (Player(name, "number", *pair) for name, pair in numbers.items())
        paddings = (self.first.profile.padding, self.second.profile.padding)
        both = (self.given.inputs["predictions"], self.other)
        if paddings[0] != paddings[1] and any(map(takes_padding, both)):
            yield Player("padding", "padding", *paddings)
        if self.other is not None:
            yield Player("predictions", "predictions", *map(_source, both, ("first", "second")))

    def _deepest(self) -> Iterator[Asked]:
        """Every metric that may be tried, under both conventions: they say how deep to look."""
        switches = frozenset(p.name for p in self.players if p.kind == "switch")
        for coalition in (frozenset[str](), switches):
            for formula in (frozenset[str](), frozenset({"formula"})):
                asked, profile = self._asked(coalition | formula)
                yield from expand([asked], profile).values()


def _source(predictions: object, which: str) -> str:
    """A name for predictions: their file, if they come from one."""
    source = getattr(predictions, "source", predictions)
    return os.fspath(source) if isinstance(source, str | os.PathLike) else which


def _mixed(first: Asked, second: Asked, coalition: Coalition) -> Asked:
    """The first with what the coalition takes from the second."""
    chosen = {s: getattr(second.convention, s) for s in SWITCHES if s in coalition}
    convention = first.convention.replace(**chosen)
    if first.metric is not second.metric:  # each has numbers of its own
        own = second if "formula" in coalition else first
        return Asked(first.name, own.metric, convention, own.numbers)
    numbers = {
        name: second.numbers[name] if name in coalition else value
        for name, value in first.numbers.items()
    }
    return Asked(first.name, first.metric, convention, numbers)


def _entry(part: Asked) -> dict[str, Any]:
    """A part as a profile would describe it."""
    metric = part.metric
    switches = {
        name: value
        for name, value in part.convention.as_dict().items()
        if SWITCHES[name].stage != "metrics" or name in metric.obeys
    }
    return {"metric": metric.name, **part.numbers, **switches}
