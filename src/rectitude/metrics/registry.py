"""The registry: every metric, what it needs, and what people should know about it.

A metric is a function `(lists, k, *, switches and parameters) -> Ratio`. Its keyword-only
parameters say which switches of the convention it obeys: one without a default is a switch, and the
registry passes the chosen function; one with a default is the metric's own number or text, which a
name can set (`rbp[persistence=0.5]`, `category_diversity[by=genre]`). Two other kinds do without a
value per list: a counts metric is a function of whole numbers that add up over lists, a derived
metric one of other metrics' values.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import import_module, metadata
from types import FunctionType
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers
from rectitude.convention import SWITCHES, require_switch
from rectitude.errors import BadName, MissingNeed, unknown_name
from rectitude.judge.judged import NEEDS_OF_LISTS, Judged, Need

Kind = Literal["list", "derived", "counts"]
Law = Literal["bounded", "perfect_is_best", "moving_up_helps"]
NO_LAW: tuple[Law, ...] = ("perfect_is_best", "moving_up_helps")
"""What a metric breaks that does not look at relevance."""
IN_UNITS = {"scale": "fraction"}
"""What is fixed for a metric that is no share of anything, of which there could be percent."""
NEEDS = (
    "items", "users", "train", "unseen", "met", "scores", "logits", "classes", "shown",
    "stock", "catalogue", "wanted", "people", "predicted", "chances", "scored", "parts",
)  # fmt: skip
Counts = Mapping[str, Integers]
"""Whole numbers by name. They add up over lists; the shorter of two is filled up with zeros."""
Counting = Callable[..., Counts]
"""What a metric counts: (lists, cutoff, which lists count, *, own numbers and texts) -> counts."""
Averages = Literal["closed form", "none"]
Cutoff = Literal["optional", "none", "level"]
"""What stands after the @: a cutoff or nothing, nothing, or the metric's number `level`."""
Overall = Literal["mean", "sum", "exp of the mean"]
Reach = Literal["cutoff", "list"]
AtOnce = Literal["some lists", "all lists"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A value per list as a fraction; what 0/0 is worth, and how lists count, is decided later."""

    above: Floats
    below: Floats

    @staticmethod
    def of(values: Floats) -> Ratio:
        """Values that are not fractions of anything: over 1."""
        return Ratio(values, np.ones(len(values)))

    def where(self, defined: Flags) -> Ratio:
        """These fractions for some lists, and 0/0 for the others."""
        return Ratio(np.where(defined, self.above, 0.0), np.where(defined, self.below, 0.0))


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric and the facts about it."""

    name: str
    title: str
    function: Callable[..., Any]
    kind: Kind
    about: str
    formula: str = ""
    reading: str = ""
    use: str = ""
    cite: str = ""
    bounds: tuple[float, float] = (0.0, 1.0)
    best: Literal["high", "low"] = "high"
    breaks: tuple[Law, ...] = ()
    needs: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    parameters: Mapping[str, float | str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """switches of other stages that belong to its definition, whatever the convention says"""
    averages: Averages = "none"
    """how its mean over all orders of tied items is found, where the convention wants that mean"""
    cutoff: Cutoff = "optional"
    overall: Overall = "mean"
    """how the values of lists become one number"""
    reach: Reach = "list"
    """how far down it looks where there is a cutoff: no further than that, or through the list"""
    at_once: AtOnce = "some lists"
    """of how many it is computed: of all where what lists share takes the most time"""
    counts: Counting | None = None

    @property
    def requires(self) -> tuple[str, ...]:
        """What it needs beyond ranks: itself, and its parts if it is derived."""
        parts = (METRICS[name].requires for name in self.of)
        return tuple(dict.fromkeys([*self.needs, *(need for part in parts for need in part)]))

    @property
    def can_average(self) -> bool:
        """Whether it has a value where ties are averaged: itself, or all its parts."""
        if self.of and self.kind == "derived":
            return all(METRICS[name].can_average for name in self.of)
        return self.averages == "closed form"

    @property
    def obeys(self) -> tuple[str, ...]:
        """The metric switches that change it: its own, and those of its parts if it is derived."""
        parts = (METRICS[name].obeys for name in self.of)
        return tuple(dict.fromkeys([*self.switches, *(s for part in parts for s in part)]))

    @property
    def wants_facts(self) -> bool:
        """Whether the function takes the tables about items and users."""
        return "facts" in signature_of(self.function).parameters


class Registry(Mapping[str, Metric]):
    """Metrics by name; read-only from outside, filled by the decorators."""

    def __init__(self) -> None:
        self._metrics: dict[str, Metric] = {}
        self._plugins_loaded = False

    def __getitem__(self, name: str) -> Metric:
        if name not in self:
            raise unknown_name("metric", name, self._metrics)
        return self._metrics[name]

    def __contains__(self, name: object) -> bool:
        for load in (_load_others, self._load_plugins):
            if name not in self._metrics:
                load()
        return name in self._metrics

    def __iter__(self) -> Iterator[str]:
        _load_others()
        self._load_plugins()
        return iter(sorted(self._metrics))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def add(self, metric: Metric) -> None:
        """Enter a metric. A name means one thing: another function under it is refused. The same
        one again, as when a notebook cell runs twice, replaces the first."""
        if not is_ours(metric.function):
            _load_others()
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
        """Metrics of packages (entry points `rectitude.metrics`); `RECTITUDE_PLUGINS=off` skips."""
        if self._plugins_loaded or os.environ.get("RECTITUDE_PLUGINS", "") == "off":
            return
        self._plugins_loaded = True
        for entry in metadata.entry_points(group="rectitude.metrics"):
            try:
                entry.load()
            except Exception as error:
                package = getattr(getattr(entry, "dist", None), "name", entry.value)
                warnings.warn(f"metrics of package {package!r} failed: {error!r}", stacklevel=2)


_OTHERS = (
    "auc", "browsing", "calibration", "counts", "derived", "diversity", "exposure", "fairness",
    "judgements", "levels", "peers", "popularity", "ratings", "serendipity",
)  # fmt: skip
"""The modules with all metrics but the most usual. Importing them takes a while, so that it waits
until the registry is asked for what it does not know yet."""


def _load_others() -> None:
    for name in _OTHERS:
        import_module(f"rectitude.metrics.{name}")


def _whose(function: Callable[..., Any]) -> tuple[str, str, object]:
    nameless = function.__code__ if "<lambda>" in function.__qualname__ else None
    return function.__module__, function.__qualname__, nameless


METRICS = Registry()


class Told(TypedDict, total=False):
    """What the decorators may be told of a metric, beyond its title."""

    name: str
    """if not the function's"""
    formula: str
    """may hold switch names in braces, which are filled with the choice in force"""
    reading: str
    use: str
    cite: str
    bounds: tuple[float, float]
    """hold, like the laws, under the default choices of the switches; 0 and 1 unless told"""
    best: Literal["high", "low"]
    breaks: tuple[Law, ...]
    """the laws that do not hold for this metric; all others are tested"""
    needs: tuple[str, ...]
    fixed: Mapping[str, Any]
    averages: Averages
    """"closed form" for a function that looks at `lists.last` and returns the mean over all orders
    of equals"""
    cutoff: Cutoff
    overall: Overall
    at_once: AtOnce
    reach: Reach
    """"cutoff" for a function that never looks below it: dense scores are then searched less
    deep"""


def metric(
    title: str, **told: Unpack[Told]
) -> Callable[[Callable[..., Ratio]], Callable[..., Ratio]]:
    """Make a function a metric: it then works in `evaluate`, on the command line and in reports.

    Keywords say more about it, see `rectitude.metrics.registry.Told`: `name`, `formula`, `reading`,
    `use`, `cite`, `bounds`, `best`, `needs`, `breaks`, `fixed`, `averages`, `cutoff`, `overall`,
    `reach`.
    """

    def register(function: Callable[..., Ratio]) -> Callable[..., Ratio]:
        _enter(function, title, "list", told)
        return function

    return register


def count_metric(
    title: str, *, counts: Counting, **told: Unpack[Told]
) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Make a function of counts a metric. `counts` says what is counted in some lists; the function
    sees the sum of that over all lists, so that any batches give the same value. Both may have
    switches and parameters."""

    def register(function: Callable[..., float]) -> Callable[..., float]:
        _enter(function, title, "counts", told, counts=counts)
        return function

    return register


def derived_metric(
    title: str, *, of: tuple[str, ...], **told: Unpack[Told]
) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Make a function of other metrics' values a metric, at the same cutoff as those.

    Of no metric in particular, it is a function of the means of groups of users, and takes the
    texts `of`, a metric, and `by`, the column of users that holds the group.
    """

    def register(function: Callable[..., float]) -> Callable[..., float]:
        _enter(function, title, "derived", {"breaks": ("moving_up_helps",), **told}, of=of)
        return function

    return register


def _enter(function: Callable[..., Any], title: str, kind: Kind, told: Told, **own: Any) -> None:
    facts: dict[str, Any] = {**told}
    name = facts.pop("name", "") or function.__name__
    for need in told.get("needs", ()):
        if need not in NEEDS:
            raise unknown_name("need", need, NEEDS, where=f"metric {name!r}")
    for switch in told.get("fixed", {}):
        require_switch(switch)
    if not own.get("of"):  # the parameters of those are other metrics
        own["switches"], own["parameters"] = keywords(function, own.get("counts"))
    if is_ours(function):  # tested to look no deeper; others may
        facts.setdefault("reach", "cutoff")
    METRICS.add(Metric(name, title, function, kind, about(function), **facts, **own))


def keywords(
    function: Callable[..., Any], counts: Callable[..., Any] | None = None
) -> tuple[tuple[str, ...], dict[str, float | str]]:
    """The switches, and the own numbers and texts, among the keyword-only parameters of a metric's
    function and of what counts for it."""
    switches: list[str] = []
    numbers: dict[str, float | str] = {}
    counting = {} if counts is None else inspect.signature(counts).parameters
    for name, parameter in {**counting, **inspect.signature(function).parameters}.items():
        if parameter.kind is not parameter.KEYWORD_ONLY or name == "facts":
            continue
        if parameter.default is not parameter.empty:
            given = parameter.default
            numbers[name] = given if isinstance(given, str) else float(given)
            continue
        if name not in SWITCHES or SWITCHES[name].stage != "metrics":
            known = [s.name for s in SWITCHES.values() if s.stage == "metrics"]
            raise unknown_name(
                "switch", name, known, where=f"metric {function.__name__!r}",
                note="a keyword-only parameter is a switch; give it a default to make it a number.",
            )  # fmt: skip
        switches.append(name)
    return tuple(switches), numbers


def about(function: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, on one line."""
    return (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")


def is_ours(function: Callable[..., Any]) -> bool:
    """Whether a function is one of this library; what wraps one says that it is, and is not."""
    return function.__module__.startswith("rectitude.") and not hasattr(function, "__wrapped__")


_signature = lru_cache(inspect.signature)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a function, read once where possible: it takes a while."""
    return (_signature if isinstance(function, FunctionType) else inspect.signature)(function)


def taken(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What a function takes of the keyword arguments for a metric."""
    code = function.__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {name: value for name, value in given.items() if name in own}


def written(value: float | str) -> str:
    """A metric's own number or text, as people read it."""
    return value if isinstance(value, str) else f"{value:g}"


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


def require_choice(what: str, given: str, known: Iterable[str]) -> None:
    """An error if a metric's own text is none of its choices."""
    if given not in known:
        raise unknown_name("choice", given, known, where=f"parameter {what!r}")


_BEYOND_RANKS = NEEDS_OF_LISTS | {
    "parts": Need(
        "the names of the metrics that it is made of",
        "write them in brackets: hypervolume[precision,recall]@10.",
        lambda _: None,
    )
}


def require_in(lists: Judged, metric: Metric) -> None:
    """An error if the metric needs something that these lists do not have."""
    for need in (_BEYOND_RANKS[name] for name in metric.requires if name in _BEYOND_RANKS):
        if need.find(lists.extras) is None:
            raise need.missing(f"metric {metric.name!r}")


_HANDED = {
    "items": "items=", "users": "users=", "train": "train=", "met": "train=",
    "unseen": "train= or items=", "catalogue": "items= or scores", "scores": "scores",
    "predicted": "predicted scores", "scored": "predicted scores", "classes": "classes",
    "logits": "logits", "chances": "logits", "parts": "names of metrics",
}  # fmt: skip


def handed_over(metric: Metric) -> str:
    """What has to be handed over for a metric beside lists and truth, in words."""
    words = [_HANDED[need] for need in metric.requires if need in _HANDED]
    return ", ".join(dict.fromkeys(words)) or "lists"


@dataclass(frozen=True)
class Facts:
    """Tables about items and users, and what was seen in training; None where nothing was handed
    over."""

    items: pl.DataFrame | None = None
    users: pl.DataFrame | None = None
    train: pl.DataFrame | None = None

    @property
    def catalogue(self) -> int:
        """How many items the catalogue holds."""
        return 0 if self.items is None else int(self.items["item"].n_unique())

    @property
    def interactions(self) -> int:
        """How many rows train has."""
        return 0 if self.train is None else self.train.height

    @cached_property
    def trained(self) -> int:
        """How many users there are in train."""
        return 0 if self.train is None else int(self.train["list"].n_unique())

    def require(self, metric: Metric) -> None:
        """An error if the metric needs a table that is not there."""
        wants = {
            "items": "a table of the catalogue",
            "users": "a table of the users",
            "train": "the training interactions",
        }
        for need in metric.needs:
            if need in wants and getattr(self, need) is None:
                raise MissingNeed(
                    f"metric {metric.name!r} needs {wants[need]}, and none was given.",
                    advice=f"pass {need}= to evaluate, or --{need} on the command line.",
                )
