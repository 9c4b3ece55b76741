"""One evaluated epoch of a training run: its numbers, losses and times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from operator import index
from typing import Literal, SupportsFloat, SupportsIndex

from rectitude.aggregate.evaluation import Evaluation
from rectitude.errors import BadName
from rectitude.metrics import METRICS
from rectitude.metrics.names import parse

Losses = Mapping[str, SupportsFloat]


@dataclass(frozen=True, slots=True, repr=False)
class Epoch:
    """What was found after an epoch; `index` is its place among those that were evaluated."""

    index: int
    number: int
    evaluation: Evaluation
    losses: Mapping[str, float]
    seconds: tuple[float, float] | None = None
    """how long training and evaluating took"""

    def __repr__(self) -> str:
        values = {**self.losses, **self.evaluation.values()}
        return f"Epoch {self.number}: " + ", ".join(f"{n} {v:.5g}" for n, v in values.items())

    def value(self, name: str) -> float | None:
        """The number or loss of this name; None if it is not there, failed or is undefined."""
        wanted = one_name(name)
        found = self.losses.get(name)
        if wanted in self.evaluation.results:
            found = self.evaluation.results[wanted].value
        return None if found is None or math.isnan(found) else found

    def best(self, name: str) -> Literal["high", "low"]:
        """Which values of this name are better; losses are best if low."""
        found = self.evaluation.results.get(one_name(name))
        return "low" if found is None else METRICS[found.metric].best


def one_name(text: str) -> str:
    """The name of a number as evaluations write it; any other text, such as a loss, as it is."""
    try:
        names = parse(text)
    except BadName:
        return text
    return str(names[0]) if len(names) == 1 else text


def numbers_only(evaluation: object) -> Evaluation:
    """The evaluation without its values per list, so that many of them can be held."""
    if not isinstance(evaluation, Evaluation):
        raise BadName(f"a {type(evaluation).__name__} was added.", "an Evaluation.")
    results = {name: replace(one, values=None) for name, one in evaluation.results.items()}
    return replace(evaluation, results=results, lists=None)


def as_number(epoch: SupportsIndex) -> int:
    """The number of an epoch."""
    try:
        return index(epoch)
    except TypeError as error:
        raise BadName(f"the epoch is {epoch!r}.", "a whole number.") from error


def as_losses(given: SupportsFloat | Losses | None) -> dict[str, float]:
    """Losses by name; a single one is called 'loss'."""
    if given is None:
        return {}
    named = given if isinstance(given, Mapping) else {"loss": given}
    try:
        return {str(name): _plain(value) for name, value in named.items()}
    except (TypeError, ValueError) as error:
        raise BadName(f"losses are {given!r}.", "a number, or numbers by name.") from error


def _plain(value: SupportsFloat) -> float:
    """A number; a tensor that a gradient is wanted of warns unless it is asked for its item."""
    return float(value.item() if hasattr(value, "item") else value)


def as_seconds(given: SupportsFloat | Iterable[float] | None) -> tuple[float, float] | None:
    """How long training and evaluating took; a single number is the training."""
    if given is None:
        return None
    try:
        parts = [*map(float, given)] if isinstance(given, Iterable) else [float(given), 0.0]
    except (TypeError, ValueError):
        parts = []
    if len(parts) != 2 or not all(math.isfinite(part) and part >= 0 for part in parts):
        raise BadName(f"seconds are {given!r}.", "those of training, and those of evaluating.")
    return parts[0], parts[1]
