"""The same predictions under many conventions: opened once, judged once for each way of judging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rectitude.aggregate.evaluation import Keys, Result
from rectitude.arrays import Floats
from rectitude.data.ledger import Ledger
from rectitude.engines.compute import Run, has_values, total_of, verdict_of, view_of
from rectitude.engines.opening import Given, opened
from rectitude.engines.part import Part, computed, facts_of, results_of
from rectitude.engines.unknown import settled_when_opened
from rectitude.judge.judged import Judged
from rectitude.judge.sides import bring_together
from rectitude.predictions.dense import Embeddings, Scores
from rectitude.profiles import Asked, Profile
from rectitude.threads import Once

VERDICTS_KEPT = 12
"""judged lists take room; few are enough where conventions come in the order of their judging"""


def close(one: float | Floats, other: float | Floats) -> Any:
    """Whether values are equal but for the rounding of floating-point numbers; NaN equals NaN."""
    return np.isclose(one, other, rtol=1e-14, atol=1e-15, equal_nan=True)


@dataclass
class Opened:
    """Inputs that are opened once for every item that a profile holds to be padding."""

    given: Given
    deepest: Sequence[Asked]
    by_padding: dict[Any, Trials] = field(default_factory=dict)

    def trials(self, profile: Profile) -> Trials:
        """The inputs as a profile sees them."""
        padding = profile.padding if takes_padding(self.given.inputs["predictions"]) else None
        if padding not in self.by_padding:
            self.by_padding[padding] = Trials(replace(self.given, padding=padding), self.deepest)
        return self.by_padding[padding]


def takes_padding(predictions: object) -> bool:
    """Whether a profile's padding item is left out of these predictions."""
    return isinstance(predictions, Scores | Embeddings) and predictions.padding is None


@dataclass
class Trials:
    """Predictions and truth, held ready to be evaluated under one convention after the other.

    `deepest` are the metrics that will be tried, under any of the conventions: they say how deep
    dense scores are looked into.
    """

    given: Given
    deepest: Sequence[Asked]
    runs: dict[Any, Run] = field(default_factory=dict)

    def result(self, asked: Asked, profile: Profile | None = None) -> Result:
        """A metric under its convention; an error of `rectitude.errors` where it has no value.

        The profile says what the parts of a derived metric are, if not what their names say.
        """
        profile = profile or Profile(name="trial", convention=asked.convention)
        run = self.run(asked)
        wanted = computed([asked], profile)
        room = np.empty((len(wanted), len(run.sides.keys)))
        totals = {
            name: total_of(run, one, False, own)
            for (name, one), own in zip(wanted.items(), room, strict=True)
        }
        values = {
            name: own
            for (name, one), own in zip(wanted.items(), room, strict=True)
            if has_values(one)
        }
        part = Part(totals, values, {}, Ledger(), self.keys(asked), {}, run.facts)
        results, failures = results_of([asked], profile, part, intervals=False)
        for error in failures.values():
            raise error
        return results[str(asked.name)]

    def judged(self, asked: Asked) -> Judged:
        """The lists as a metric sees them under its convention."""
        run = self.run(asked)
        return view_of(run, asked, verdict_of(run, asked).judged)

    def keys(self, asked: Asked) -> Keys:
        """The lists behind the values."""
        sides = self.run(asked).sides
        return Keys(sides.keys, sides.owners, sides.users, sides.by_user, sides.weights)

    def forget(self) -> None:
        """Drop judged lists where many are held."""
        for run in self.runs.values():
            if len(run.verdicts) > VERDICTS_KEPT:
                run.verdicts.clear()
                run.views.clear()

    def run(self, asked: Asked) -> Run:
        """What metrics share that were opened alike; few choices are made while opening."""
        convention = asked.convention
        offered = self.given.inputs.get("candidates") is not None
        key = tuple(settled_when_opened(convention, offered).values())
        if key not in self.runs:
            sources = opened(self.given, self.deepest, convention)
            sides = bring_together(sources, exact_items=True)
            facts = facts_of(sources)
            self.runs[key] = Run(sides, facts, asked.cutoff, {}, Once(), tie_bounds=False)
        return self.runs[key]._replace(last_cutoff=asked.cutoff)
