"""The configuration of an experiment: its tables, their keys, and what each key means.

The docstrings below the keys become descriptions in the JSON schema, which editors show.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rectitude.comparison.significance import Correction, Interval, Test

Learning = Literal["refit", "update"]
Role = Literal["user", "item", "grade", "timestamp", "weight"]
NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}$"
WORDS_OF_NAME = "a name of at most 64 letters, digits and the characters _ . + -"
Name = Annotated[str, Field(pattern=NAME)]
"""a name that can also be used as a file name"""
STREAM = "prequential"
"""The splitting method that tests on the next rows, trains on them, and continues."""


class DataTable(BaseModel):
    """A table with a fixed set of keys; any other key is an error."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


class OpenTable(DataTable):
    """A table that accepts parameters in addition to its fixed keys."""

    model_config = ConfigDict(extra="allow")

    @property
    def parameters(self) -> dict[str, Any]:
        """The keys that are not fixed keys of the table."""
        return dict(self.model_extra or {})


class ShopTable(DataTable):
    """Synthetic purchases in a shop over one year."""

    rows: int = Field(default=20_000, ge=100)
    """the number of purchases"""
    seed: int = 7
    """the seed that generates the shop"""


class Data(DataTable):
    """Where the interactions come from: a file, or a synthetic shop."""

    path: str = ""
    """a file of interactions in any format, relative to this file; $NAME is replaced by the
    environment variable NAME"""
    shop: ShopTable | None = None
    """a synthetic shop instead of a file"""
    format: str = ""
    """the format of the file; detected by default"""
    columns: dict[Role, str] = {}
    """names of columns that are not recognised: { user = "visitor" }"""
    items: str = ""
    """a file with the catalogue and attributes of items"""
    users: str = ""
    """a file with attributes of users"""


class AuditTable(DataTable):
    """Whether to audit the split before models are trained."""

    mode: Literal["report", "stop", "off"] = "report"
    """report: add findings to the results; stop: end the run at a serious finding; off: no audit"""


class SplitBy(OpenTable):
    """How interactions are split; further keys are parameters of the splitting method."""

    how: str = ""
    """the splitting method; leave_last by default"""
    protocol: str = ""
    """a framework whose splitting method and parameter names are used instead"""
    parts: str = ""
    """a folder with an existing split, instead of [data]"""
    validation: int | float | dict[str, Any] | None = None
    """a split of the training data for tuning: a share or a number of rows, or a table such as
    { how = "leave_last", n = 1 }"""
    unknown: dict[Literal["users", "items", "seen", "known", "least"], Any] = {}
    """what to do with users and items that are not in the training data: { users = "drop" }"""


class CandidatesTable(OpenTable):
    """The candidate items that models rank; further keys are settings of the kind."""

    kind: str = ""
    """full, train_items, sampled, or a framework's sampler; by default every item a model knows"""


class SearchRange(DataTable):
    """A range of numbers to search."""

    low: int | float
    """the smallest number; only whole numbers are tried if low, high and step are whole"""
    high: int | float
    """the largest number"""
    step: int | float | None = None
    """the distance between the numbers tried; without it, any number in the range"""
    scale: Literal["linear", "log"] = "linear"
    """log: sample as often between 1 and 10 as between 10 and 100"""

    @model_validator(mode="after")
    def _check_range(self) -> SearchRange:
        if not self.low < self.high:
            raise ValueError(f"a range with low below high, not {self.low} to {self.high}")
        if max(abs(self.low), abs(self.high)) == math.inf:
            raise ValueError(f"a range of finite numbers, not {self.low} to {self.high}")
        if self.step is not None and not 0 < self.step <= self.high - self.low:
            raise ValueError(f"a step above 0 that fits into the range, not {self.step}")
        if self.scale == "log" and (self.low <= 0 or self.step is not None):
            raise ValueError("a range with low above 0 and no step, because scale is log")
        return self


class Tuning(DataTable):
    """A search for the parameters with the best metric on the validation part."""

    trials: int = Field(default=20, ge=1)
    """the number of trials per split"""
    metric: str = "ndcg@10"
    """the metric to optimise"""
    sampler: Literal["tpe", "random"] = "tpe"
    """how trials are chosen: tpe learns from earlier trials, random does not"""
    space: dict[str, list[Any] | SearchRange] = Field(min_length=1)
    """parameter -> a list of choices, or { low = 1, high = 100, scale = "log" }"""


class Entrant(OpenTable):
    """A model; further keys are its parameters."""

    model: str = ""
    """a built-in model; by default the name of this table"""
    python: str = ""
    """the import path of a class or function, package.module:Object; its code is executed"""
    predictions: str = ""
    """a file with ranked lists instead of a model; {split} is replaced by the name of the split"""
    format: str = ""
    """the format of that file; detected by default"""
    learning: Learning = "refit"
    """in a series of splits over time: retrain on all training data each time (refit), or call
    update() with the new rows (update)"""
    tune: Tuning | None = None
    """a search for parameters"""


class MeasuredTable(DataTable):
    """Which metrics are computed, and how."""

    metrics: str | list[str] | dict[str, int | list[int]] = [
        "ndcg@10", "recall@10", "precision@10", "hit@10", "mrr", "map",
    ]  # fmt: skip
    """metrics by name and cutoff, or { ndcg = [5, 10] }; module:Object is a metric of your own,
    whose code is executed; modules next to this file are found"""
    cutoffs: int | list[int] | None = None
    """the cutoffs of metrics that are named without one"""
    convention: str | dict[str, Any] = "default"
    """a profile, or switches to change: { profile = "recbole", ties = "optimistic" }"""
    depth: int | None = Field(default=None, ge=1)
    """the length of each list; by default the largest cutoff, or 100 if a metric has no
    cutoff"""
    seen: Literal["removed", "kept"] = "removed"
    """whether users can be recommended items that they have in the training data"""
    slices: list[str | list[str]] = ["known", "activity:3", "popularity:3"]
    """groups of users or items with separate metrics, such as gender or price:10,50"""

    @field_validator("metrics", mode="before")
    @classmethod
    def _name_own_metrics(cls, metrics: Any) -> Any:
        """Return metrics of your own, { python = "module:Metric@5" }, by their import paths."""
        if isinstance(metrics, dict) and [*metrics] == ["python"]:
            metrics = [metrics]
        if not isinstance(metrics, list):
            return metrics
        named = [m["python"] if isinstance(m, dict) and [*m] == ["python"] else m for m in metrics]
        if not all(isinstance(name, str) for name in named):
            raise ValueError("names such as 'ndcg@10', or 'module:Metric@5' for one of your own")
        return named


class Compared(DataTable):
    """How models are compared."""

    baseline: str = ""
    """the model that all others are compared with; by default all pairs are compared"""
    test: Test = "t"
    """the significance test"""
    correct: Correction = "holm"
    """how p-values are corrected for multiple tests"""
    interval: Interval = "t"
    """how confidence intervals are computed"""
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    """the significance level: a corrected p below it is significant"""
    resamples: int = Field(default=10_000, ge=100)
    """the number of bootstrap resamples or sign flips"""
    margin: float | None = None
    """also test whether models are equivalent within this difference"""


class Explained(DataTable):
    """How the results of the models change under other conventions."""

    mode: Literal["report", "off"] = "report"
    """off: do not compute this"""
    metric: str = ""
    """the metric to explain; by default the first metric under [evaluate]"""
    against: str = ""
    """explain how the best model's value differs between the convention and this profile; by
    default the profile with the largest difference"""


class Page(DataTable):
    """The HTML report."""

    mode: Literal["write", "off"] = "write"
    """off: do not write a report"""
    title: str = ""
    """the title; the name of the experiment by default"""


class Tracking(DataTable):
    """Logging to MLflow."""

    uri: str = ""
    """the tracking URI; the default of MLflow if not set"""
    experiment: str = ""
    """the name of the MLflow experiment; the name of this experiment by default"""


class Experiment(DataTable):
    """An experiment: data, split, models and metrics."""

    name: Name | None = None
    """the name of the experiment; the name of its file by default"""
    about: str = ""
    """a description for the report"""
    seed: int | list[int] = 0
    """the random seed; a list repeats the experiment for each seed"""
    folder: str = ""
    """the output folder; by default runs/<name> next to this file"""
    data: Data = Data()
    """where the interactions come from"""
    prepare: str | list[dict[str, Any]] = []
    """steps that prepare the interactions, or the file of a recipe"""
    audit: AuditTable = AuditTable()
    """whether to audit the split"""
    split: SplitBy = SplitBy()
    """how interactions are split"""
    candidates: CandidatesTable = CandidatesTable()
    """the candidate items that models rank"""
    models: dict[Name, Entrant] = Field(min_length=1)
    """the models, by name"""
    evaluate: MeasuredTable = MeasuredTable()
    """which metrics are computed"""
    compare: Compared = Compared()
    """how models are compared"""
    explain: Explained = Explained()
    """how the results change under other conventions"""
    report: Page = Page()
    """the HTML report"""
    mlflow: Tracking | None = None
    """logging to MLflow"""

    @property
    def seeds(self) -> list[int]:
        """The seeds without duplicates."""
        return list(dict.fromkeys(self.seed if isinstance(self.seed, list) else [self.seed])) or [0]
