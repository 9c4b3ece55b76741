"""`Content`: everything that a report shows, as plain values that go into the page as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rectitude.aggregate.evaluation import Evaluation, Result
from rectitude.aggregate.slices import WHOLE
from rectitude.comparison.result import Comparison
from rectitude.errors import BadName
from rectitude.metrics import METRICS

FORMAT, FORMAT_VERSION = "rectitude.report", 1
TRACEBACK = "Traceback (most recent call last):"
"""How the part of a failure begins that only its maker needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One number of one model."""

    value: float | None
    low: float | None = None
    high: float | None = None
    """the ends of its interval"""
    deviation: float | None = None
    """over runs or folds, where there are several"""
    counted: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """One number of one model in one slice."""

    by: str
    slice: str
    model: str
    metric: str
    value: float | None
    low: float | None = None
    high: float | None = None
    lists: int | None = None
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The numbers of all models in one window of time."""

    label: str
    values: Mapping[str, Mapping[str, float | None]]
    """by metric and model"""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """how many users and items were met, and how many of them were unknown"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportStage:
    """What a stage of preparing and splitting left, and what it dropped."""

    label: str
    rows: int
    dropped: int = 0
    users: int | None = None
    items: int | None = None
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a report shows; a part that is empty is left out of the page."""

    title: str
    values: Mapping[str, Mapping[str, Value]]
    """by metric and model"""
    best: Mapping[str, str]
    """which values of each metric are better: high or low"""
    definitions: Mapping[str, str]
    """what each number means, by metric"""
    about: str = ""
    """a sentence under the title"""
    main: str = ""
    """the metric by which models are judged first; the first one unless given"""
    conventions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """the switches in force, by metric"""
    comparison: Mapping[str, Any] | None = None
    """a comparison as it writes itself"""
    slices: Sequence[Slice] = ()
    windows: Sequence[Window] = ()
    audit: Mapping[str, Any] | None = None
    flow: Sequence[ReportStage] = ()
    ledgers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """by model: ledgers as they write themselves"""
    robustness: Mapping[str, Any] | None = None
    """the order of models under other conventions, as `robustness` writes itself"""
    explanation: Mapping[str, Any] | None = None
    failures: Mapping[str, str] = field(default_factory=dict)
    """models or metrics that failed, and why"""
    details: Mapping[str, Any] = field(default_factory=dict)
    """how the numbers were made: versions, settings, seeds, trials"""
    reproduce: str = ""
    """the commands that make the same numbers again"""
    part: str = ""
    """the split that slices, flow, ledgers and other conventions are of, where there are several"""
    side_by_side: Sequence[str] = ()
    """the runs, where several are shown together"""

    @property
    def models(self) -> list[str]:
        """The models, in the order in which they came."""
        return list(dict.fromkeys(model for of in self.values.values() for model in of))

    def as_dict(self) -> dict[str, Any]:
        """The content for JSON."""
        return {"format": FORMAT, "version": FORMAT_VERSION, **asdict(self)}


def content_of(results: object, title: str = "") -> Content:
    """What evaluations or a comparison have to show."""
    if isinstance(results, Content):
        return results
    if isinstance(results, Evaluation):
        return _of_evaluations({"model": results}, title or "Evaluation")
    if isinstance(results, Comparison):
        return content_of_comparison(results.as_dict(), title)
    known = isinstance(results, Mapping) and all(
        isinstance(one, Evaluation) for one in results.values()
    )
    if known and results:
        return _of_evaluations(results, title or "Evaluation")  # type: ignore[arg-type]
    raise BadName(
        f"a report was asked for of {type(results).__name__}.",
        "an Evaluation, evaluations by name, a Comparison, or the folder of a run.",
    )


def _of_evaluations(models: Mapping[str, Evaluation], title: str) -> Content:
    names = dict.fromkeys(name for one in models.values() for name in one.results)
    values = {
        name: {m: value_of(one.results[name]) for m, one in models.items() if name in one.results}
        for name in names
    }
    found = {name: _first(models, name) for name in names}
    failures = {
        f"{model}, {name}": str(error)
        for model, one in models.items()
        for name, error in one.failures.items()
    }
    return Content(
        title=title,
        values=values,
        best={name: METRICS[result.metric].best for name, result in found.items()},
        definitions={name: result.definition for name, result in found.items()},
        conventions={name: dict(result.convention) for name, result in found.items()},
        slices=[
            part
            for model, one in models.items()
            if one.slices is not None
            for part in slices_of(model, one.slices.as_dict())
        ],
        ledgers={model: one.ledger.as_dict() for model, one in models.items()},
        failures=failures,
        details={model: dict(one.manifest) for model, one in models.items()},
    )


def slices_of(model: str, stored: Mapping[str, Any] | None) -> list[Slice]:
    """The numbers of a model's slices, from what an evaluation stores of them."""
    if stored is None:
        return []
    small = f"fewer than {stored['least_lists']} lists or {stored['least_relevant']} relevant rows"
    return [
        Slice(
            by=one["by"], slice=one["slice"], model=model, metric=one["metric"],
            value=one["value"], low=one["low"], high=one["high"], lists=one["lists"],
            warning=small if one["too_small"] else "",
        )
        for one in stored["numbers"]
        if one["by"] != WHOLE
    ]  # fmt: skip


def value_of(result: Result) -> Value:
    """A number as the page shows it."""
    low, high = result.interval or (None, None)
    value = result.value if result.value == result.value else None
    return Value(value=value, low=low, high=high, counted=result.counted)


def _first(models: Mapping[str, Evaluation], name: str) -> Result:
    return next(one.results[name] for one in models.values() if name in one.results)


def content_of_comparison(stored: Mapping[str, Any], title: str = "") -> Content:
    """What a comparison has to show, as it writes itself."""
    deviations = stored["deviations"]
    values = {
        name: {
            model: Value(value=value, deviation=deviations.get(name, {}).get(model))
            for model, value in of.items()
        }
        for name, of in stored["values"].items()
    }
    title = title or "Comparison"
    return Content(
        title=title, values=values, best=stored["best"], definitions={}, comparison=stored
    )
