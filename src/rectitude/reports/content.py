"""`Content`: everything that a report shows, as plain values that the page embeds as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rectitude.aggregate.evaluation import Evaluation, Result
from rectitude.aggregate.slices import WHOLE
from rectitude.comparison.result import Comparison
from rectitude.errors import BadArgument
from rectitude.metrics import METRICS

FORMAT, FORMAT_VERSION = "rectitude.report", 1
BIN = "share_correct"
"""a column that only breakdowns by probability have"""
TRACEBACK = "Traceback (most recent call last):"
"""The first line of the traceback in the text of a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One metric of one model."""

    value: float | None
    low: float | None = None
    high: float | None = None
    """the ends of its confidence interval"""
    deviation: float | None = None
    """standard deviation over runs or folds, if there are several"""
    counted: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """One metric of one model in one slice."""

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
    """The metrics of all models in one time window."""

    label: str
    values: Mapping[str, Mapping[str, float | None]]
    """by metric and model"""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """how many rows, users and items its truth has"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportStage:
    """How many rows a stage of preparing or splitting kept and dropped."""

    label: str
    rows: int
    dropped: int = 0
    users: int | None = None
    items: int | None = None
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """What the stages of a model took, or the stages that all models share."""

    model: str
    """empty for shared stages"""
    stages: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int | None = None
    energy_kwh: float | None = None


def usage_of(stored: Mapping[str, Any]) -> list[ModelUsage]:
    """Return what each model took, from the content of resources.json: its tuning, its training
    with the making of its lists, and its evaluation, over all splits."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for record in stored["stages"]:
        kind, _, rest = record["stage"].partition("/")
        model = rest.partition("/")[0] if kind in ("tune", "models", "evaluate") else ""
        groups.setdefault(model, []).append(record)
    return [_add_usage(model, records) for model, records in groups.items()]


def _add_usage(model: str, records: Sequence[Mapping[str, Any]]) -> ModelUsage:
    kinds = dict.fromkeys(record["stage"].partition("/")[0] for record in records)
    peaks = [record["peak_bytes"] for record in records if record["peak_bytes"] is not None]
    energy = [record["energy_kwh"] for record in records if record["energy_kwh"] is not None]
    return ModelUsage(
        model=model, stages=", ".join(kinds),
        seconds=sum(record["seconds"] for record in records),
        cpu_seconds=sum(record["cpu_seconds"] for record in records),
        peak_bytes=max(peaks, default=None), energy_kwh=sum(energy) if energy else None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a report shows; the page leaves out empty sections."""

    title: str
    values: Mapping[str, Mapping[str, Value]]
    """by metric and model"""
    best: Mapping[str, str]
    """whether high or low values are better, by metric"""
    definitions: Mapping[str, str]
    """the definition of each number, by metric"""
    about: str = ""
    """a sentence under the title"""
    main: str = ""
    """the main metric; by default the first one"""
    conventions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """the switches in force, by metric"""
    comparison: Mapping[str, Any] | None = None
    """the result of `Comparison.as_dict`"""
    slices: Sequence[Slice] = ()
    windows: Sequence[Window] = ()
    calibration: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]] = field(
        default_factory=dict
    )
    """how often predictions of each probability are correct: bins, by metric and model"""
    audit: Mapping[str, Any] | None = None
    flow: Sequence[ReportStage] = ()
    ledgers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """the result of `Ledger.as_dict`, by model"""
    robustness: Mapping[str, Any] | None = None
    """the order of models under other conventions: the result of `Robustness.as_dict`"""
    explanation: Mapping[str, Any] | None = None
    failures: Mapping[str, str] = field(default_factory=dict)
    """models or metrics that failed, and why"""
    details: Mapping[str, Any] = field(default_factory=dict)
    """how the numbers were computed: versions, settings, seeds, trials"""
    reproduce: str = ""
    """the commands that reproduce the numbers"""
    part: str = ""
    """if there are several splits, the one behind slices, flow, ledgers and other conventions"""
    resources: Sequence[ModelUsage] = ()
    """what each model took, if it was measured; the page of a run itself leaves it out, because it
    differs from run to run"""
    side_by_side: Sequence[str] = ()
    """the names of the runs, if several are shown together"""

    @property
    def models(self) -> list[str]:
        """The models, in their original order."""
        return list(dict.fromkeys(model for row in self.values.values() for model in row))

    def as_dict(self) -> dict[str, Any]:
        """Return the content as a dictionary for JSON."""
        return {"format": FORMAT, "version": FORMAT_VERSION, **asdict(self)}


def content_of(results: object, title: str = "") -> Content:
    """Return the content of a report on evaluations or a comparison."""
    if isinstance(results, Content):
        return results
    if isinstance(results, Evaluation):
        return _content_of_evaluations({"model": results}, title or "Evaluation")
    if isinstance(results, Comparison):
        return content_of_comparison(results.as_dict(), title)
    by_name = isinstance(results, Mapping) and all(
        isinstance(evaluation, Evaluation) for evaluation in results.values()
    )
    if by_name and results:
        return _content_of_evaluations(results, title or "Evaluation")  # type: ignore[arg-type]
    raise BadArgument(
        f"results is of type {type(results).__name__}.",
        "an Evaluation, evaluations by name, a Comparison, or the folder of a run.",
    )


def _content_of_evaluations(models: Mapping[str, Evaluation], title: str) -> Content:
    names = dict.fromkeys(name for run in models.values() for name in run.results)
    values = {
        name: {m: value_of(run.results[name]) for m, run in models.items() if name in run.results}
        for name in names
    }
    first = {name: _first_result(models, name) for name in names}
    failures = {
        f"{model}, {name}": str(error)
        for model, run in models.items()
        for name, error in run.failures.items()
    }
    return Content(
        title=title,
        values=values,
        best={name: METRICS[result.metric].best for name, result in first.items()},
        definitions={name: result.definition for name, result in first.items()},
        conventions={name: dict(result.convention) for name, result in first.items()},
        slices=[
            row
            for model, run in models.items()
            if run.slices is not None
            for row in slices_of(model, run.slices.as_dict())
        ],
        calibration=calibration_of(
            {model: _breakdowns_by_bin(run.results) for model, run in models.items()}
        ),
        ledgers={model: run.ledger.as_dict() for model, run in models.items()},
        failures=failures,
        details={model: dict(run.manifest) for model, run in models.items()},
    )


def _breakdowns_by_bin(results: Mapping[str, Result]) -> dict[str, Any]:
    """Return the breakdowns by probability, by metric, as columns."""
    tables = {name: result.breakdown for name, result in results.items()}
    return {
        name: table.to_dict(as_series=False)
        for name, table in tables.items()
        if table is not None and BIN in table.columns
    }


def calibration_of(
    models: Mapping[str, Mapping[str, Mapping[str, Sequence[Any]]]],
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the bins that have rows, by metric and model, from the breakdowns of each model.

    Metrics with the same bins share them, under the name of the first.
    """
    bins: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for model, breakdowns in models.items():
        for metric, columns in breakdowns.items():
            if BIN in columns:
                lines = zip(*columns.values(), strict=True)
                rows = [dict(zip(columns, line, strict=True)) for line in lines]
                used = [row for row in rows if row["rows"]]
                bins.setdefault(metric, {})[model] = used
    first = [next(name for name in bins if bins[name] == bins[metric]) for metric in bins]
    return {metric: bins[metric] for metric in dict.fromkeys(first)}


def slices_of(model: str, stored: Mapping[str, Any] | None) -> list[Slice]:
    """Return the values of a model on slices, from what an evaluation stores."""
    if stored is None:
        return []
    small = f"fewer than {stored['least_lists']} lists or {stored['least_relevant']} relevant rows"
    return [
        Slice(
            by=row["by"], slice=row["slice"], model=model, metric=row["metric"],
            value=row["value"], low=row["low"], high=row["high"], lists=row["lists"],
            warning=small if row["too_small"] else "",
        )
        for row in stored["numbers"]
        if row["by"] != WHOLE
    ]  # fmt: skip


def value_of(result: Result) -> Value:
    """Return a result as the page shows it."""
    low, high = result.interval or (None, None)
    value = result.value if result.value == result.value else None
    return Value(value=value, low=low, high=high, counted=result.counted)


def _first_result(models: Mapping[str, Evaluation], name: str) -> Result:
    return next(run.results[name] for run in models.values() if name in run.results)


def content_of_comparison(stored: Mapping[str, Any], title: str = "") -> Content:
    """Return the content of a report on a stored comparison."""
    deviations = stored["deviations"]
    values = {
        name: {
            model: Value(value=value, deviation=deviations.get(name, {}).get(model))
            for model, value in row.items()
        }
        for name, row in stored["values"].items()
    }
    title = title or "Comparison"
    return Content(
        title=title, values=values, best=stored["best"], definitions={}, comparison=stored
    )
