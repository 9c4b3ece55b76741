"""The registry: every metric, what it needs, and what people should know about it.

A metric is a function `(lists, k, *, switches and parameters) -> Ratio`. Its keyword-only
parameters say which switches of the convention it obeys: one without a default is a switch, and the
registry passes the chosen function; one with a default is the metric's own number, which a name can
set (`rbp[persistence=0.5]`).
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rectitude.arrays import Floats
from rectitude.convention import SWITCHES
from rectitude.errors import BadName, unknown_name
from rectitude.judge.judged import Judged

Kind = Literal["list", "derived"]
Law = Literal["bounded", "perfect_is_best", "moving_up_helps"]
LAWS: tuple[Law, ...] = ("bounded", "perfect_is_best", "moving_up_helps")
NEEDS = ("items", "users", "train")


@dataclass(frozen=True, slots=True)
class Ratio:
    """A value per list as a fraction; what 0/0 is worth and how lists are averaged is decided
    later."""

    above: Floats
    below: Floats

    @staticmethod
    def of(values: Floats) -> Ratio:
        """Values that are not fractions of anything: over 1."""
        return Ratio(values, np.ones(len(values)))


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric and the facts about it."""

    name: str
    title: str
    function: Callable[..., Any]
    kind: Kind
    about: str
    formula: str
    reading: str
    use: str
    cite: str
    bounds: tuple[float, float]
    best: Literal["high", "low"]
    breaks: tuple[Law, ...] = ()
    needs: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    parameters: Mapping[str, float] = field(default_factory=dict)

    @property
    def obeys(self) -> tuple[str, ...]:
        """The metric switches that change it: its own, and those of its parts if it is derived."""
        parts = (METRICS[name].obeys for name in self.of)
        return tuple(dict.fromkeys([*self.switches, *(s for part in parts for s in part)]))

    @property
    def wants_facts(self) -> bool:
        """Whether the function takes the tables about items and users."""
        code = self.function.__code__
        return "facts" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


class Registry(Mapping[str, Metric]):
    """Metrics by name; read-only from outside, filled by the decorators."""

    def __init__(self) -> None:
        self._metrics: dict[str, Metric] = {}
        self._plugins_loaded = False

    def __getitem__(self, name: str) -> Metric:
        if name not in self._metrics:
            self._load_plugins()
        if name not in self._metrics:
            raise unknown_name("metric", name, self._metrics)
        return self._metrics[name]

    def __contains__(self, name: object) -> bool:
        if name not in self._metrics:
            self._load_plugins()
        return name in self._metrics

    def __iter__(self) -> Iterator[str]:
        self._load_plugins()
        return iter(sorted(self._metrics))

    def __len__(self) -> int:
        self._load_plugins()
        return len(self._metrics)

    def add(self, metric: Metric) -> None:
        """Enter a metric. A name means one thing: another function under it is refused.

        The same function again, as when a notebook cell runs twice, replaces the first.
        """
        known = self._metrics.get(metric.name)
        if known is not None and _whose(known.function) != _whose(metric.function):
            raise BadName(
                f"a metric named {metric.name!r} exists already ({known.title}).",
                advice="choose another name with @metric(..., name='...').",
            )
        self._metrics[metric.name] = metric

    def remove(self, name: str) -> None:
        """Take a metric out again."""
        self._metrics.pop(self[name].name)

    def _load_plugins(self) -> None:
        """Metrics of installed packages (entry points `rectitude.metrics`);
        `RECTITUDE_PLUGINS=off` skips."""
        if self._plugins_loaded or os.environ.get("RECTITUDE_PLUGINS", "") == "off":
            return
        self._plugins_loaded = True
        from importlib.metadata import entry_points

        for entry in entry_points(group="rectitude.metrics"):
            try:
                entry.load()
            except Exception as error:
                warnings.warn(f"metrics of {entry.value} failed: {error!r}", stacklevel=2)


def _whose(function: Callable[..., Any]) -> tuple[str, str, object]:
    nameless = function.__code__ if "<lambda>" in function.__qualname__ else None
    return function.__module__, function.__qualname__, nameless


METRICS = Registry()


def metric(
    title: str,
    *,
    name: str = "",
    formula: str = "",
    reading: str = "",
    use: str = "",
    bounds: tuple[float, float] = (0.0, 1.0),
    best: Literal["high", "low"] = "high",
    cite: str = "",
    needs: tuple[str, ...] = (),
    breaks: tuple[Law, ...] = (),
) -> Callable[[Callable[..., Ratio]], Callable[..., Ratio]]:
    """Make a function a metric: it then works in `evaluate`, on the command line and in reports.

    `bounds` and the laws hold under the default choices of the switches. `formula` may hold switch
    names in braces, which `Evaluation.definition` replaces by the choice in force. `breaks` names
    the laws that do not hold for this metric; all others are tested.
    """

    def register(function: Callable[..., Ratio]) -> Callable[..., Ratio]:
        switches, numbers = _keywords(function)
        _check_needs(needs, function.__name__)
        own = {"needs": needs, "breaks": breaks, "switches": switches, "parameters": numbers}
        texts = {"formula": formula, "reading": reading, "use": use, "cite": cite}
        _enter(function, title, "list", name=name, bounds=bounds, best=best, **own, **texts)
        return function

    return register


def derived_metric(
    title: str,
    *,
    of: tuple[str, ...],
    formula: str = "",
    reading: str = "",
    use: str = "",
    bounds: tuple[float, float] = (0.0, 1.0),
    best: Literal["high", "low"] = "high",
    cite: str = "",
) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Make a function of other metrics' values a metric, at the same cutoff as those."""

    def register(function: Callable[..., float]) -> Callable[..., float]:
        texts = {"formula": formula, "reading": reading, "use": use, "cite": cite}
        breaks = ("moving_up_helps",)
        _enter(function, title, "derived", of=of, bounds=bounds, best=best, breaks=breaks, **texts)
        return function

    return register


def _enter(
    function: Callable[..., Any], title: str, kind: Kind, name: str = "", **facts: Any
) -> None:
    named = name or function.__name__
    METRICS.add(Metric(named, title, function, kind, about=_about(function), **facts))


def _about(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")


def _keywords(function: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, float]]:
    """The switches and the own numbers among the keyword-only parameters."""
    switches, numbers = [], {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.KEYWORD_ONLY or name == "facts":
            continue
        if parameter.default is not parameter.empty:
            numbers[name] = float(parameter.default)
            continue
        if name not in SWITCHES or SWITCHES[name].stage != "metrics":
            known = [s.name for s in SWITCHES.values() if s.stage == "metrics"]
            raise unknown_name(
                "switch", name, known, where=f"metric {function.__name__!r}",
                note="a keyword-only parameter is a switch; give it a default to make it a number.",
            )  # fmt: skip
        switches.append(name)
    return tuple(switches), numbers


def _check_needs(needs: tuple[str, ...], name: str) -> None:
    for need in needs:
        if need not in NEEDS:
            raise unknown_name("need", need, NEEDS, where=f"metric {name!r}")


def values_of(function: Callable[..., Any], lists: Judged, k: int | None, **given: Any) -> Ratio:
    """Call a metric and check what it returns."""
    ratio = function(lists, k, **given)
    if not isinstance(ratio, Ratio):
        raise TypeError(f"returned {type(ratio).__name__}, expected rectitude.metrics.Ratio")
    above = np.asarray(ratio.above, np.float64)
    below = np.asarray(ratio.below, np.float64)
    if above.shape != (lists.size,) or below.shape != (lists.size,):
        raise TypeError(
            f"returned shapes {above.shape} and {below.shape}, expected one number per list: "
            f"({lists.size},)"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(above.sum() + below.sum())  # NaN and infinity survive a sum
    if suspicious and not (np.isfinite(above).all() and np.isfinite(below).all()):
        raise TypeError("returned NaN or infinity; leave 0/0 as a ratio with 0 below")
    if not below.all() and above[below == 0].any():
        raise TypeError("returned something over 0")
    return Ratio(above, below)
