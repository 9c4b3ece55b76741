"""The cooperative game behind an explanation.

Its players are the differences between two ends. The value of a coalition is the metric with the
players of the coalition taken from the second end, and all others from the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from rectitude.aggregate.evaluation import Keys, Result
from rectitude.arrays import Floats
from rectitude.convention import SWITCHES
from rectitude.data.ledger import Ledger
from rectitude.errors import RectitudeError
from rectitude.evaluation.inputs import RawInputs
from rectitude.evaluation.plan import expand, parts_of
from rectitude.explanation.trials import End, Opened, Trials, takes_padding
from rectitude.judge.judge import Judging
from rectitude.metrics import Metric
from rectitude.profiles import Asked, Profile

Kind = Literal["switch", "number", "formula", "padding", "predictions"]
Coalition = Set[str]
"""The names of the players that are taken from the second end."""


@dataclass(frozen=True, slots=True)
class Player:
    """A difference between the two ends."""

    name: str
    kind: Kind
    first: Any
    second: Any


@dataclass
class Game:
    """Two ends and the inputs on which they are compared; the second may have other predictions."""

    first: End
    second: End
    given: RawInputs
    other: object = None
    opened: dict[bool, Opened] = field(default_factory=dict)

    @cached_property
    def players(self) -> tuple[Player, ...]:
        """The differences that can matter: switches, metric parameters, and others."""
        return (*self._switch_players(), *self._other_players())

    def result(self, coalition: Coalition) -> Result:
        """Return the metric under a coalition; raise a `RectitudeError` if it has no value."""
        asked, profile = self._asked(coalition)
        return self.trial(coalition).result(asked, profile)

    def values(self, coalition: Coalition) -> dict[str, Floats]:
        """Return the values of all lists under a coalition.

        For a derived metric, these are the values of the metrics it is computed from.
        """
        asked, profile = self._asked(coalition)
        trial = self.trial(coalition)
        parts = {str(asked.name): asked}
        if asked.metric.kind == "derived":
            parts = {n: replace(part, by="") for n, part in parts_of(asked, profile).items()}
        arrays = {name: trial.result(part).values for name, part in parts.items()}
        counts = {name for name, part in parts.items() if part.metric.kind == "counts"}
        return {n: array for n, array in arrays.items() if array is not None and n not in counts}

    def keys(self, coalition: Coalition) -> Keys:
        """Return the keys of the lists that have the values."""
        return self.trial(coalition).keys(self._asked(coalition)[0])

    def ledger(self, coalition: Coalition) -> Ledger:
        """Return the ledger of the evaluation under a coalition."""
        return self.trial(coalition).ledger(self._asked(coalition)[0])

    def predicted(self, coalition: Coalition) -> set[Any]:
        """Return the keys of the lists that were predicted."""
        asked, _ = self._asked(coalition)
        handed = self.trial(coalition).judged(asked).handed
        return set(self.keys(coalition).keys.filter(handed).to_list())

    def judging(self, coalition: Coalition) -> tuple[str, ...]:
        """Return a sort key that puts coalitions with the same judging next to each other."""
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
        """Return the inputs on which a coalition is evaluated."""
        uses_other = "predictions" in coalition
        if uses_other not in self.opened:
            changed = {"predictions": self.other} if uses_other else {}
            arguments = replace(self.given, inputs={**self.given.inputs, **changed})
            self.opened[uses_other] = Opened(arguments, list(self._deepest()))
        end = self.second if "padding" in coalition else self.first
        trials = self.opened[uses_other].trials(end.profile)
        trials.forget()
        return trials

    def _asked(self, coalition: Coalition) -> tuple[Asked, Profile]:
        asked = _mix(self.first.asked, self.second.asked, coalition)
        first, second = (self._parts(end, asked.metric) for end in (self.first, self.second))
        metrics = {name: _entry(_mix(first[name], second[name], coalition)) for name in first}
        return asked, Profile(name="trial", convention=asked.convention, metrics=metrics)

    def _parts(self, end: End, metric: Metric) -> Mapping[str, Asked]:
        return parts_of(replace(end.asked, metric=metric), end.profile)

    def _pairs(self) -> Iterator[tuple[Asked, Asked]]:
        """Yield the metric under both ends, then the metrics that it is computed from."""
        first, second = self.first.asked.metric, self.second.asked.metric
        yield self.first.asked, self.second.asked
        for metric in (first, second) if first is not second else (first,):
            try:
                before, after = (self._parts(end, metric) for end in (self.first, self.second))
            except RectitudeError:  # one end lacks such a metric: evaluating it raises the error
                continue
            yield from ((before[name], after[name]) for name in before)

    def _switch_players(self) -> Iterator[Player]:
        choices: dict[str, tuple[Any, Any]] = {}
        for first, second in self._pairs():
            obeyed = {*first.metric.obeys, *second.metric.obeys}
            for name, pair in first.convention.differences(second.convention).items():
                if SWITCHES[name].stage != "metrics" or name in obeyed:
                    choices.setdefault(name, pair)
        return (Player(name, "switch", *choices[name]) for name in SWITCHES if name in choices)

    def _other_players(self) -> Iterator[Player]:
        numbers: dict[str, tuple[float | str, float | str]] = {}
        formulas: list[tuple[str, str]] = []
        for first, second in self._pairs():
            if first.metric is not second.metric:
                formulas.append((first.metric.name, second.metric.name))
                continue
            pairs = ((name, (value, second.numbers[name])) for name, value in first.numbers.items())
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
        """Yield every metric that may be tried: they decide how many items of scores are read."""
        switches = frozenset(p.name for p in self.players if p.kind == "switch")
        for coalition in (frozenset[str](), switches):
            for formula in (frozenset[str](), frozenset({"formula"})):
                asked, profile = self._asked(coalition | formula)
                yield from expand([asked], profile).values()


def _source(predictions: object, which: str) -> str:
    """Return a name for predictions: their file, if they come from one."""
    source = getattr(predictions, "source", predictions)
    return os.fspath(source) if isinstance(source, str | os.PathLike) else which


def _mix(first: Asked, second: Asked, coalition: Coalition) -> Asked:
    """Return the first metric with everything that the coalition takes from the second."""
    taken = {s: getattr(second.convention, s) for s in SWITCHES if s in coalition}
    convention = first.convention.replace(**taken)
    if first.metric is not second.metric:  # each has parameters of its own
        chosen_metric = second if "formula" in coalition else first
        return Asked(first.name, chosen_metric.metric, convention, chosen_metric.numbers)
    numbers = {
        name: second.numbers[name] if name in coalition else value
        for name, value in first.numbers.items()
    }
    return Asked(first.name, first.metric, convention, numbers)


def _entry(part: Asked) -> dict[str, Any]:
    """Return a metric as a profile would describe it."""
    metric = part.metric
    switches = {
        name: value
        for name, value in part.convention.as_dict().items()
        if SWITCHES[name].stage != "metrics" or name in metric.obeys
    }
    return {"metric": metric.name, **part.numbers, **switches}
