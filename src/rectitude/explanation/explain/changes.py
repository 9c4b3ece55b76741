"""A difference in words: what it is about, and what the choice of each side means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rectitude.convention import SWITCHES
from rectitude.explanation.explain.game import Player
from rectitude.metrics import METRICS

_ABOUT = {
    "formula": "What the name stands for.",
    "number": "A number of the metric.",
    "padding": "The item that is never recommended from dense scores.",
    "predictions": "Which predictions are evaluated.",
}


@dataclass(frozen=True, slots=True)
class Change:
    """Something that differs, with the sentence about it and about each choice."""

    name: str
    first: Any
    second: Any
    about: str
    first_means: str = ""
    second_means: str = ""

    def said(self, which: str) -> str:
        """The choice of the first or the second, with what it means."""
        value, means = getattr(self, which), getattr(self, f"{which}_means")
        return f"{shown(value)} ({means})" if means else shown(value)


def change_of(player: Player) -> Change:
    """A player in words."""
    if player.kind == "switch":
        return switch_change(player.name, player.first, player.second)
    if player.kind == "formula":
        return formula_change(player.first, player.second)
    return Change(player.name, player.first, player.second, _ABOUT[player.kind])


def switch_change(name: str, first: Any, second: Any) -> Change:
    """Two choices of a switch in words."""
    switch = SWITCHES[name]
    means = (switch.choices.get(value, "") for value in (first, second))
    return Change(name, first, second, switch.about, *means)


def formula_change(first: str, second: str) -> Change:
    """Two metrics behind one name in words."""
    means = (_formula(first), _formula(second))
    return Change("formula", first, second, _ABOUT["formula"], *means)


def number_change(name: str, first: float | str | None, second: float | str | None) -> Change:
    """Two values of a metric's own number or text, in words."""
    return Change(name, first, second, _ABOUT["number"])


def shown(value: object) -> str:
    """A choice as people write it."""
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _formula(metric: str) -> str:
    return METRICS[metric].title if metric in METRICS else ""
