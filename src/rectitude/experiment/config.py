"""What an experiment's file says, as a value: its tables, their keys, and what each key means.

The sentences below the keys are the descriptions of the JSON schema, which editors show.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rectitude.comparison.significance import Correction, Interval, Test

Learning = Literal["refit", "update"]
Role = Literal["user", "item", "grade", "timestamp", "weight"]
NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}$"
WORDS_OF_NAME = "a name of letters, digits and _ . + -, at most 64 of them"
Name = Annotated[str, Field(pattern=NAME)]
"""a name that is a file's name too"""
STREAM = "prequential"
"""The way of splitting that tests on the next rows, learns from them, and goes on."""


class DataTable(BaseModel):
    """A table whose keys are known: any other is a mistake."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


class OpenTable(DataTable):
    """A table that holds parameters beside its own keys."""

    model_config = ConfigDict(extra="allow")

    @property
    def parameters(self) -> dict[str, Any]:
        """The keys that are not the table's own."""
        return dict(self.model_extra or {})


class ShopTable(DataTable):
    """Made-up purchases of a year in a shop."""

    rows: int = Field(default=20_000, ge=100)
    """how many purchases"""
    seed: int = 7
    """which shop"""


class Data(DataTable):
    """Where the interactions are: a file, or a made-up shop."""

    path: str = ""
    """a file of interactions in any format; relative to this file; $NAME is put in from the
    environment"""
    shop: ShopTable | None = None
    """a made-up shop in place of a file"""
    format: str = ""
    """the format of the file, in place of what its content suggests"""
    columns: dict[Role, str] = {}
    """columns with unusual names: { user = "visitor" }"""
    items: str = ""
    """a file with the catalogue and facts about items"""
    users: str = ""
    """a file with facts about users"""


class AuditTable(DataTable):
    """Whether the split is checked before models are fitted."""

    mode: Literal["report", "stop", "off"] = "report"
    """report: findings go into the results; stop: a serious one ends the run; off: no audit"""


class SplitBy(OpenTable):
    """How interactions are split; further keys are the parameters of the way of splitting."""

    how: str = ""
    """a way of splitting; leave_last by default"""
    protocol: str = ""
    """a framework whose way and words are used instead"""
    parts: str = ""
    """a folder with a split that is there already; then nothing is read as data"""
    validation: float | dict[str, Any] | None = None
    """a split of train to tune models by: a share, or { how = "leave_last", n = 1 }"""
    unknown: dict[Literal["users", "items", "seen", "known", "least"], Any] = {}
    """what happens to unknown users and items: { users = "drop" }"""


class CandidatesTable(OpenTable):
    """Which items compete; further keys are settings of the kind."""

    kind: str = ""
    """full, train_items, sampled, or a framework's sampler; all that a model knows by default"""


class SearchRange(DataTable):
    """Numbers from low to high."""

    low: int | float
    """where they begin; numbers are whole if low, high and step are written so"""
    high: int | float
    """where they end"""
    step: int | float | None = None
    """only low and multiples of this above it"""
    scale: Literal["linear", "log"] = "linear"
    """log: as often between 1 and 10 as between 10 and 100"""

    @model_validator(mode="after")
    def _sound(self) -> SearchRange:
        if not self.low < self.high:
            raise ValueError(f"a range with low below high, not {self.low} to {self.high}")
        if self.scale == "log" and (self.low <= 0 or self.step is not None):
            raise ValueError("a range above 0 and without step, for the scale log")
        return self


class Tuning(DataTable):
    """A search for parameters by the validation part."""

    trials: int = Field(default=20, ge=1)
    """how many settings are tried, in each split"""
    metric: str = "ndcg@10"
    """what decides"""
    sampler: Literal["tpe", "random"] = "tpe"
    """how settings are chosen: with regard to those before, or at random"""
    space: dict[str, list[Any] | SearchRange] = Field(min_length=1)
    """parameter -> a list of choices, or { low = 1, high = 100, scale = "log" }"""


class Entrant(OpenTable):
    """A model; further keys are its parameters."""

    model: str = ""
    """a model that ships with rectitude; by default the name of this table"""
    python: str = ""
    """a class or function by its import path, package.module:Object: executes that code"""
    predictions: str = ""
    """a file with ranked lists instead of a model; {split} stands for the name of the split"""
    format: str = ""
    """the format of that file, in place of what its content suggests"""
    learning: Learning = "refit"
    """of a series of splits along time: learn anew from all of train each time, or with update()
    from the rows that are new"""
    tune: Tuning | None = None
    """a search for parameters"""


class MeasuredTable(DataTable):
    """What is computed of the lists."""

    metrics: str | list[str] = ["ndcg@10", "recall@10", "precision@10", "hit@10", "mrr", "map"]
    """metrics by name and cutoff"""
    convention: str | dict[str, Any] = "default"
    """a profile, or switches to change: { profile = "recbole", ties = "optimistic" }"""
    depth: int | None = Field(default=None, ge=1)
    """how many items each list holds; by default the largest cutoff, and 100 if a metric has
    none"""
    seen: Literal["removed", "kept"] = "removed"
    """whether items that a user has in train can be recommended to him"""
    slices: list[str | list[str]] = ["known", "activity:3", "popularity:3"]
    """groups of users or items whose numbers are shown apart, such as gender or price:10,50"""


class Compared(DataTable):
    """How models are compared."""

    baseline: str = ""
    """the model that others are compared with; every other by default"""
    test: Test = "t"
    """how differences are tested"""
    correct: Correction = "holm"
    """how p-values are corrected for many tests"""
    interval: Interval = "t"
    """how intervals of differences are made"""
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    """what a corrected p must be below"""
    resamples: int = Field(default=10_000, ge=100)
    """how many draws or flips, where there are any"""
    margin: float | None = None
    """models are equivalent within this difference"""


class Explained(DataTable):
    """What becomes of the models under other conventions."""

    mode: Literal["report", "off"] = "report"
    """off: nothing of it is computed"""
    metric: str = ""
    """the metric that is looked at; the first of those evaluated by default"""
    against: str = ""
    """the profile between which and the convention the gap of the best model is explained; the one
    with the widest gap by default"""


class Page(DataTable):
    """The HTML report."""

    mode: Literal["write", "off"] = "write"
    """off: no report"""
    title: str = ""
    """what stands above it; the name of the experiment by default"""


class Tracking(DataTable):
    """A log in MLflow."""

    uri: str = ""
    """the tracking store; as MLflow itself finds it by default"""
    experiment: str = ""
    """the experiment there; the name of this one by default"""


class Experiment(DataTable):
    """An experiment: data, split, models, metrics."""

    name: Name | None = None
    """what it is called; the name of its file by default"""
    about: str = ""
    """a sentence for the report"""
    seed: int | list[int] = 0
    """for all that is random; several repeat the experiment for each"""
    folder: str = ""
    """where everything is written; runs/<name> beside this file by default"""
    data: Data = Data()
    """where the interactions are"""
    prepare: str | list[dict[str, Any]] = []
    """steps that prepare the interactions, or a recipe's file"""
    audit: AuditTable = AuditTable()
    """whether the split is checked"""
    split: SplitBy = SplitBy()
    """how interactions are split"""
    candidates: CandidatesTable = CandidatesTable()
    """which items compete"""
    models: dict[Name, Entrant] = Field(min_length=1)
    """what is compared, by name"""
    evaluate: MeasuredTable = MeasuredTable()
    """what is computed of the lists"""
    compare: Compared = Compared()
    """how models are compared"""
    explain: Explained = Explained()
    """what becomes of the models under other conventions"""
    report: Page = Page()
    """the HTML report"""
    mlflow: Tracking | None = None
    """a log in MLflow"""

    @property
    def seeds(self) -> list[int]:
        """The seeds, each once."""
        return list(dict.fromkeys(self.seed if isinstance(self.seed, list) else [self.seed])) or [0]
