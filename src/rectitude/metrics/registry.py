"""The registry: every metric, what it needs, and how to read and use it.

A metric is a function `(lists, k, *, switches and parameters) -> Ratio`. A keyword-only parameter
without a default is a switch of the convention: the registry passes the chosen function. One with a
default is a number or text of the metric itself, which a name can set (`rbp[persistence=0.5]`,
`category_diversity[by=genre]`). Two other kinds of metric have no value per list: a counts metric
is a function of whole numbers that add up over lists, and a derived metric is a function of other
metrics' values.
"""

from __future__ import annotations

import inspect
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
from rectitude.errors import BadExtension, BadName, MissingNeed, unknown_name
from rectitude.extensions import import_object, plugins_allowed
from rectitude.judge.judged import NEEDS_OF_LISTS, Judged, Need
from rectitude.metrics.aliases import by_family, family_of, unknown_metric
from rectitude.metrics.names import Name
from rectitude.render import Grid, Printable

Kind = Literal["list", "derived", "counts"]
Law = Literal["bounded", "perfect_is_best", "moving_up_helps"]
RELEVANCE_LAWS: tuple[Law, ...] = ("perfect_is_best", "moving_up_helps")
"""The laws that a metric breaks if it ignores relevance."""
IN_UNITS = {"scale": "fraction"}
"""The fixed switches of a metric with a unit of its own: it is never shown in percent."""
NEEDS = (
    "items", "size", "users", "train", "unseen", "choices",
    "met", "scores", "logits", "classes", "shown",
    "stock", "catalogue", "wanted", "people", "predicted", "chances", "scored", "parts",
    "subtopics",
)  # fmt: skip
Counts = Mapping[str, Integers]
"""Whole numbers by name. They add up over lists; the shorter of two arrays is padded with zeros."""
Counting = Callable[..., Counts]
"""What a metric counts: (lists, cutoff, which lists count, *, switches, parameters) -> counts."""
Breakdown = Callable[[Counts], pl.DataFrame]
"""What the value of counts is made of, as a table: by class, or by bin of probabilities."""
Averages = Literal["closed form", "none"]
Cutoff = Literal["optional", "needed", "none", "level"]
"""What may follow the @: an optional or a necessary cutoff, nothing, or the metric's parameter
`level`."""
Overall = Literal["mean", "sum", "exp of the mean"]
Reach = Literal["cutoff", "list"]
Sees = Literal["grades", "items"]
TieOrder = Literal["any", "across the cutoff", "none"]
AtOnce = Literal["some lists", "all lists"]


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """A value per list as a fraction. The treatment of 0/0 and the averaging come later."""

    above: Floats
    below: Floats

    @staticmethod
    def of(values: Floats) -> Ratio:
        """Return plain values as fractions, with a denominator of 1."""
        return Ratio(values, np.ones(len(values)))

    def where(self, defined: Flags) -> Ratio:
        """Return these fractions for the flagged lists, and 0/0 for the others."""
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
    """switches of other stages that are part of its definition and override the convention"""
    averages: Averages = "none"
    """how it computes its mean over all orders of tied items, for ties=average"""
    cutoff: Cutoff = "optional"
    overall: Overall = "mean"
    """how the values of lists become one number"""
    reach: Reach = "list"
    """how deep it looks if there is a cutoff: no deeper than the cutoff, or the whole list"""
    sees: Sees = "grades"
    """whether it tells items of the same grade apart; see `sees_items`"""
    tie_order: TieOrder = "any"
    """which order of equal scores can change it if it looks at the shown items"""
    at_once: AtOnce = "some lists"
    """how many lists it processes at a time: all, if work shared by lists takes the most time"""
    breakdown: Breakdown | None = None
    counts: Counting | None = None
    own_family: str = ""
    """the family that a metric of yours names for itself"""

    @property
    def family(self) -> str:
        """The family of metrics that it belongs to, such as ranking or diversity."""
        return self.own_family or family_of(self.name)

    @property
    def requires(self) -> tuple[str, ...]:
        """What it needs beyond ranks, including the needs of the metrics it is derived from."""
        if not self.of:
            return self.needs
        parts = (METRICS[name].requires for name in self.of)
        return tuple(dict.fromkeys([*self.needs, *(need for part in parts for need in part)]))

    @property
    def can_average(self) -> bool:
        """Whether it supports ties=average; a derived metric does if all its components do."""
        if self.of and self.kind == "derived":
            return all(METRICS[name].can_average for name in self.of)
        return self.averages == "closed form"

    @property
    def sees_items(self) -> bool:
        """Whether two items of the same score and grade can differ for it."""
        telling = {"shown", "wanted", "met", "subtopics"}
        return self.sees == "items" or bool(telling & {*self.requires})

    @property
    def obeys(self) -> tuple[str, ...]:
        """The metric switches that affect it, including those of the metrics it is derived from."""
        if not self.of:
            return self.switches
        parts = (METRICS[name].obeys for name in self.of)
        return tuple(dict.fromkeys([*self.switches, *(s for part in parts for s in part)]))

    @property
    def wants_facts(self) -> bool:
        """Whether the function takes the tables about items and users."""
        return "facts" in signature_of(self.function).parameters


class Registry(Printable, Mapping[str, Metric]):
    """Metrics by name; read-only from outside, the decorators add to it."""

    def __init__(self) -> None:
        self._metrics: dict[str, Metric] = {}
        self._plugins_loaded = False
        self.adapters: list[Callable[[object], bool]] = []
        """functions that register objects of other kinds, such as metric classes on tensors, and
        return whether they did"""

    def __getitem__(self, name: str) -> Metric:
        if name not in self:
            titles = {key: metric.title for key, metric in self._metrics.items()}
            raise unknown_metric(Name(name), titles)
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

    def __repr__(self) -> str:
        return f"{len(self)} metrics; METRICS['ndcg'] is one of them, print(METRICS) shows all"

    def _shown(self) -> Iterator[Grid]:
        rows = [[metric.name, metric.title, metric.best] for metric in self.values()]
        yield Grid(["metric", "title", "best"], rows, left=(0, 1, 2))

    def add(self, metric: Metric) -> None:
        """Add a metric; a different function under an existing name is an error.

        The same function again, as when a notebook cell runs twice, replaces the first one.
        """
        if not is_ours(metric.function):
            _load_others()
        existing = self._metrics.get(metric.name)
        if existing is not None and _identify(existing.function) != _identify(metric.function):
            raise BadName(
                f"a metric named {metric.name!r} exists already ({existing.title}).",
                "a name that is not in use.",
                "choose another name with @metric(..., name='...').",
            )
        self._metrics[metric.name] = metric

    def take(self, path: str) -> str:
        """Register the metric at an import path, if it is not registered, and return its name."""
        target = import_object(path, "a metric that ships with rectitude")
        registered = self._name_of(target)
        if registered:
            return registered
        if not any(adapt(target) for adapt in self.adapters):
            _require_function(path, target)
            metric(target.__name__, bounds=(-np.inf, np.inf))(target)  # it does not say more
        return self._name_of(target)

    def _name_of(self, target: object) -> str:
        """Return the name of the metric that a function or class defines; empty if it is none."""
        for name, known in self._metrics.items():
            if target in (known.function, getattr(known.function, "__wrapped__", None)):
                return name
        return ""

    def remove(self, name: str) -> None:
        """Remove a metric."""
        self._metrics.pop(self[name].name)

    def _load_plugins(self) -> None:
        """Load metrics of other packages (entry points `rectitude.metrics`).

        They are skipped where plugins are off.
        """
        if self._plugins_loaded or plugins_allowed() == "off":
            return
        self._plugins_loaded = True
        for entry in metadata.entry_points(group="rectitude.metrics"):
            try:
                entry.load()
            except Exception as error:
                package = getattr(getattr(entry, "dist", None), "name", entry.value)
                warnings.warn(
                    f"the metrics of package {package!r} failed to load: {error!r}", stacklevel=2
                )


def _require_function(path: str, target: object) -> None:
    if not isinstance(target, FunctionType):
        raise BadExtension(
            f"{path} is {'a class' if isinstance(target, type) else 'an object'} of type "
            f"{type(target).__name__}, which is no metric.",
            "a function of judged lists and a cutoff, or a class that inherits from BaseMetric.",
            "see 'A metric in ten lines' in CONTRIBUTING.md.",
        )


_OTHERS = (
    "auc", "browsing", "calibration", "compatibility", "counts", "cwl", "derived", "diversity",
    "exposure", "fairness", "judgements", "levels", "peers", "popularity", "ratings",
    "serendipity", "subtopics",
)  # fmt: skip
"""The modules with the less common metrics. Importing them takes a while, so the registry loads
them only when it is asked for a name that it does not have yet."""


def _load_others() -> None:
    for name in _OTHERS:
        import_module(f"rectitude.metrics.{name}")


def _identify(function: Callable[..., Any]) -> tuple[str, str, object]:
    nameless = function.__code__ if "<lambda>" in function.__qualname__ else None
    return function.__module__, function.__qualname__, nameless


METRICS = Registry()


class MetricDetails(TypedDict, total=False):
    """The optional arguments of the decorators."""

    name: str
    """the metric's name; by default the name of the function"""
    family: str
    """the family to list it under, such as "diversity"; by default, "own" """
    formula: str
    """may have switch names in braces, which are replaced by the choice in force"""
    reading: str
    use: str
    cite: str
    bounds: tuple[float, float]
    """hold, like the laws, under the default choices of the switches; by default 0 and 1"""
    best: Literal["high", "low"]
    breaks: tuple[Law, ...]
    """the laws that do not hold for this metric; all others are tested"""
    needs: tuple[str, ...]
    fixed: Mapping[str, Any]
    averages: Averages
    """"closed form" for a function that uses `lists.last` and returns the mean over all orders of
    tied items"""
    cutoff: Cutoff
    overall: Overall
    at_once: AtOnce
    sees: Sees
    """"items" for a function that uses `lists.place`, the order of the truth"""
    tie_order: TieOrder
    """for a function that uses `lists.shown`: "across the cutoff" if the order of the shown items
    does not matter, only which ones they are; ties=error and ties=average depend on it"""
    reach: Reach
    """"cutoff" for a function that never looks below the cutoff: this saves work on dense scores"""


def metric(
    title: str, **details: Unpack[MetricDetails]
) -> Callable[[Callable[..., Ratio]], Callable[..., Ratio]]:
    """Register a function as a metric for `evaluate`, the command line and reports.

    Keyword arguments describe it, see `rectitude.metrics.registry.MetricDetails`: `name`,
    `family`, `formula`, `reading`, `use`, `cite`, `bounds`, `best`, `needs`, `breaks`, `fixed`,
    `averages`, `cutoff`, `overall`, `reach`, `sees`, `tie_order`.
    """
    if not isinstance(title, str):
        raise BadExtension(
            f"@metric was put on {getattr(title, '__name__', title)!r} without parentheses.",
            "a title in parentheses.",
            "write @rt.metric('First hit'), for example.",
        )

    def register(function: Callable[..., Ratio]) -> Callable[..., Ratio]:
        _register(function, title, "list", details)
        return function

    return register


def count_metric(
    title: str,
    *,
    counts: Counting,
    breakdown: Breakdown | None = None,
    **details: Unpack[MetricDetails],
) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Register a function of counts as a metric.

    `counts` counts something in some of the lists. The function gets the sum over all lists, so the
    value does not depend on the batches. Both may have switches and parameters. `breakdown` makes a
    table of the same sum, for people who want to see what the value is made of.
    """

    def register(function: Callable[..., float]) -> Callable[..., float]:
        _register(function, title, "counts", details, counts=counts, breakdown=breakdown)
        return function

    return register


def derived_metric(
    title: str, *, of: tuple[str, ...], **details: Unpack[MetricDetails]
) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Register a function of other metrics' values as a metric, at the same cutoff.

    With an empty `of`, it is a function of the means of groups of users instead. It then takes the
    texts `of`, the name of a metric, and `by`, the column of users= with the group.
    """

    def register(function: Callable[..., float]) -> Callable[..., float]:
        _register(function, title, "derived", {"breaks": ("moving_up_helps",), **details}, of=of)
        return function

    return register


def _register(
    function: Callable[..., Any], title: str, kind: Kind, details: MetricDetails, **computed: Any
) -> None:
    facts: dict[str, Any] = {**details}
    name = facts.pop("name", "") or function.__name__
    facts["own_family"] = facts.pop("family", "")
    for need in details.get("needs", ()):
        if need not in NEEDS:
            raise unknown_name("need", need, NEEDS, where=f"metric {name!r}")
    for switch in details.get("fixed", {}):
        require_switch(switch)
    if not computed.get("of"):  # else its parameters are other metrics
        computed["switches"], computed["parameters"] = find_keywords(
            function, computed.get("counts")
        )
    if is_ours(function):  # tests check this for our metrics; custom ones may look deeper
        facts.setdefault("reach", "cutoff")
        facts.setdefault("tie_order", "across the cutoff")
    METRICS.add(Metric(name, title, function, kind, first_paragraph(function), **facts, **computed))


def find_keywords(
    function: Callable[..., Any], counts: Callable[..., Any] | None = None
) -> tuple[tuple[str, ...], dict[str, float | str]]:
    """Return the switches, and the numbers and texts, among the keyword-only parameters of a
    metric.

    These are the parameters of its function and of its counting function.
    """
    switches: list[str] = []
    numbers: dict[str, float | str] = {}
    counting = {} if counts is None else inspect.signature(counts).parameters
    for name, parameter in {**counting, **inspect.signature(function).parameters}.items():
        if parameter.kind is not parameter.KEYWORD_ONLY or name == "facts":
            continue
        if parameter.default is not parameter.empty:
            default = parameter.default
            if not isinstance(default, str | int | float):
                raise BadExtension(
                    f"the keyword {name!r} of metric {function.__name__!r} has the default "
                    f"{default!r}.",
                    "a number or text, which a name can set, as in rbp[persistence=0.5].",
                )
            numbers[name] = default if isinstance(default, str) else float(default)
            continue
        if name not in SWITCHES or SWITCHES[name].stage != "metrics":
            switch_names = [s.name for s in SWITCHES.values() if s.stage == "metrics"]
            raise unknown_name(
                "switch", name, switch_names, where=f"metric {function.__name__!r}",
                note="a keyword-only parameter without a default is a switch; give it a default to "
                "make it a parameter of the metric.",
            )  # fmt: skip
        switches.append(name)
    return tuple(switches), numbers


def first_paragraph(function: Callable[..., Any]) -> str:
    """Return the first paragraph of the docstring, on one line."""
    return (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")


def is_ours(function: Callable[..., Any]) -> bool:
    """Return whether a function is from this library; wrappers copy the module name, but do not
    count."""
    return function.__module__.startswith("rectitude.") and not hasattr(function, "__wrapped__")


_signature = lru_cache(inspect.signature)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function; cached if possible, because reading it takes a while."""
    return (_signature if isinstance(function, FunctionType) else inspect.signature)(function)


def take_arguments(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments that a function accepts."""
    code = function.__code__
    accepted = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {name: value for name, value in arguments.items() if name in accepted}


def format_parameter(value: float | str) -> str:
    """Return a metric's number or text as people read it."""
    return value if isinstance(value, str) else f"{value:g}"


class BadReturn(TypeError):
    """A metric returned something else than one ratio per list."""


def call_metric(
    function: Callable[..., Any], lists: Judged, k: int | None, **arguments: Any
) -> Ratio:
    """Call a metric and check its result."""
    ratio = function(lists, k, **arguments)
    if not isinstance(ratio, Ratio):
        raise BadReturn(
            f"returned a {type(ratio).__name__}; expected a rectitude.metrics.Ratio, such as "
            "Ratio.of(values) with one value per list"
        )
    above = np.asarray(ratio.above, np.float64)
    below = np.asarray(ratio.below, np.float64)
    if above.shape != (lists.size,) or below.shape != (lists.size,):
        raise BadReturn(
            f"returned shapes {above.shape} and {below.shape}, expected one number per list: "
            f"({lists.size},)"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(above.sum() + below.sum())  # NaN and infinity survive a sum
    if suspicious and not (np.isfinite(above).all() and np.isfinite(below).all()):
        raise BadReturn("returned NaN or infinity; for an undefined value, return Ratio(0, 0)")
    if not below.all() and above[below == 0].any():
        raise BadReturn("returned a nonzero numerator over a denominator of 0")
    return Ratio(above, below)


def group_by_family(metrics: Iterable[Metric]) -> dict[str, list[Metric]]:
    """Return metrics by family: our families first, and the most used metrics of each."""
    by_name = {metric.name: metric for metric in metrics}
    grouped: dict[str, list[Metric]] = {}
    for names in by_family(by_name).values():
        for name in names:
            grouped.setdefault(by_name[name].family, []).append(by_name[name])
    return grouped


def require_choice(what: str, value: str, choices: Iterable[str]) -> None:
    """Raise an error if a text parameter of a metric is not one of its choices."""
    if value not in choices:
        raise unknown_name("choice", value, choices, where=f"parameter {what!r}")


_BEYOND_RANKS = NEEDS_OF_LISTS | {
    "parts": Need(
        "the names of its component metrics",
        "write them in brackets: hypervolume[precision,recall]@10.",
        lambda _: None,
    )
}


def require_in(lists: Judged, metric: Metric) -> None:
    """Raise an error if the metric needs something that these lists do not have."""
    for need in (_BEYOND_RANKS[name] for name in metric.requires if name in _BEYOND_RANKS):
        if need.find(lists.extras) is None:
            raise need.missing(f"metric {metric.name!r}")


_INPUTS = {
    "items": "items=", "size": "items= or scores",
    "users": "users=", "train": "train=", "met": "train=",
    "unseen": "train= or items=",
    "choices": "items= or scores", "catalogue": "items= or scores", "scores": "scores",
    "predicted": "predicted scores", "scored": "predicted scores", "classes": "classes",
    "logits": "logits", "chances": "logits", "parts": "names of metrics",
    "subtopics": "a truth with subtopics",
}  # fmt: skip


def describe_inputs(metric: Metric) -> str:
    """Return in words what a metric needs besides lists and truth."""
    words = [_INPUTS[need] for need in metric.requires if need in _INPUTS]
    return ", ".join(dict.fromkeys(words)) or "lists"


@dataclass(frozen=True, eq=False)
class Facts:
    """Tables of items and users, and the training data; None for those that were not provided."""

    items: pl.DataFrame | None = None
    users: pl.DataFrame | None = None
    train: pl.DataFrame | None = None
    width: int | None = None
    """the number of items, if scores or a matrix have a column for each"""

    @property
    def size(self) -> int | None:
        """The number of items in the catalogue, or else of columns; None if unknown."""
        return self.width if self.items is None else int(self.items["item"].n_unique())

    @property
    def catalogue(self) -> int:
        """The number of items in the catalogue, or else of columns; 0 if unknown."""
        return self.size or 0

    @property
    def interactions(self) -> int:
        """The number of rows of the training data."""
        return 0 if self.train is None else self.train.height

    @cached_property
    def trained(self) -> int:
        """The number of users in the training data."""
        return 0 if self.train is None else int(self.train["list"].n_unique())

    def require(self, metric: Metric) -> None:
        """Raise an error if the metric needs a table that was not provided."""
        descriptions = {
            "items": "a table of the catalogue",
            "size": "the number of items",
            "users": "a table of the users",
            "train": "the training data",
        }
        for need in metric.needs:
            option = "items" if need == "size" else need
            if need in descriptions and getattr(self, need) is None:
                raise MissingNeed(
                    f"metric {metric.name!r} needs {descriptions[need]}, but none was provided.",
                    advice=f"pass {option}= to evaluate, or --{option} on the command line.",
                )
