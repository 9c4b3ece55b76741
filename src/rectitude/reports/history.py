"""`History`: the evaluations of a training run, epoch by epoch, as a table and as a chart."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import index
from typing import Any, Literal, NoReturn, SupportsFloat, SupportsIndex

import polars as pl

from rectitude.aggregate.evaluation import Evaluation, from_dict
from rectitude.errors import (
    BadName,
    NothingToEvaluate,
    UndefinedValue,
    UnknownName,
    UnreadableFile,
    unknown_name,
)
from rectitude.metrics import METRICS
from rectitude.metrics.names import parse
from rectitude.render import Grid, number
from rectitude.reports import smgcn
from rectitude.reports.charts import Chart, Point, panel, stacked, standalone
from rectitude.reports.smgcn import Format
from rectitude.storage import read_stored, require_format, write_text

FORMAT = "rectitude.history"
FORMAT_VERSION = 1
_SHARED = ("metric", "definition", "fingerprint", "numbers", "convention")
"""What results of the same name share from epoch to epoch: a file holds it once."""
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
        wanted = _one_name(name)
        found = self.losses.get(name)
        if wanted in self.evaluation.results:
            found = self.evaluation.results[wanted].value
        return None if found is None or math.isnan(found) else found

    def best(self, name: str) -> Literal["high", "low"]:
        """Which values of this name are better; losses are best if low."""
        found = self.evaluation.results.get(_one_name(name))
        return "low" if found is None else METRICS[found.metric].best


class History:
    """The evaluations of a training run, epoch by epoch.

    `add` after each evaluation, `stop` to end the run when nothing gets better, `best` for the best
    epoch. `metric` is what they look at unless told; the first number of the first evaluation if
    it is not given. Numbers are kept, values per list are not.

    >>> from rectitude import History, evaluate
    >>> history = History("mrr")
    >>> for epoch, ranked in enumerate([["a", "b"], ["b", "a"], ["a", "b"]]):
    ...     _ = history.add(epoch, evaluate({"ann": ranked}, {"ann": ["b"]}, ["mrr"]), losses=0.5)
    >>> history.best().number, history.stop(patience=1), history.stop(patience=2)
    (1, True, False)
    """

    def __init__(self, metric: str = "") -> None:
        self.metric = metric
        self._epochs: list[Epoch] = []
        self._defined: dict[str, tuple[str, int]] = {}

    def __len__(self) -> int:
        return len(self._epochs)

    def __iter__(self) -> Iterator[Epoch]:
        return iter(self._epochs)

    def __getitem__(self, index: int) -> Epoch:
        return self._epochs[index]

    def add(
        self,
        epoch: int,
        evaluation: Evaluation,
        losses: SupportsFloat | Losses | None = None,
        seconds: SupportsFloat | Iterable[float] | None = None,
    ) -> Epoch:
        """Add what an evaluation found after an epoch.

        `losses` are numbers by name, or one number; `seconds` how long training and evaluating
        took. Epochs come in order, and a number means the same in all of them: another definition
        under the same name is refused, and nothing is added then.
        """
        place, held = len(self), _numbers_only(evaluation)
        found = Epoch(place, _as_number(epoch), held, _as_losses(losses), _as_seconds(seconds))
        self._check(found)
        for name, result in held.results.items():
            self._defined.setdefault(name, (result.fingerprint, found.number))
        self._epochs.append(found)
        return found

    def _check(self, new: Epoch) -> None:
        if self._epochs and new.number <= self._epochs[-1].number:
            raise BadName(
                f"epoch {new.number} comes after epoch {self._epochs[-1].number}.",
                "epochs in order, each once.",
            )
        taken = {"epoch": "the number of the epoch"}
        taken |= dict.fromkeys([*self._defined, *new.evaluation.results], "a metric")
        for name in {name for epoch in (*self._epochs, new) for name in epoch.losses} & {*taken}:
            raise BadName(f"{name!r} is a loss and {taken[name]}.", "a name for each.")
        for name, result in new.evaluation.results.items():
            known, first = self._defined.get(name, (result.fingerprint, new.number))
            if known != result.fingerprint:
                raise BadName(
                    f"{name} is defined otherwise in epoch {new.number} than in epoch {first}.",
                    "one definition, so that epochs can be compared.",
                    "evaluate all epochs under one convention; evaluation.definition(...) tells.",
                )

    def best(self, metric: str = "") -> Epoch:
        """The epoch with the best value of a metric (or the lowest loss), the first of equals."""
        found = self._best(metric)
        return self._nowhere(self._name(metric)) if found is None else found

    def _best(self, metric: str = "") -> Epoch | None:
        name = self._name(metric)
        values = [(epoch.value(name), epoch) for epoch in self._epochs]
        there = [(value, epoch) for value, epoch in values if value is not None]
        if not there:
            return None
        sign = 1 if there[0][1].best(name) == "high" else -1
        return max(there, key=lambda pair: sign * pair[0])[1]

    def _marked(self) -> Epoch | None:
        """The best epoch to show; none if its metric came from a package that is not here."""
        try:
            return self._best() if self._epochs else None
        except UnknownName:
            return None

    def stop(self, patience: int = 10, metric: str = "") -> bool:
        """Whether the last `patience` evaluations brought nothing better than the best before."""
        if not isinstance(patience, int) or patience < 1:
            raise BadName(f"patience is {patience!r}.", "a whole number from 1 on.")
        if not self._epochs:
            return False
        best = self._best(metric)
        if best is None and (len(self) > patience or not self._has(self._name(metric))):
            self._nowhere(self._name(metric))  # a wrong name is told after the first epoch
        return best is not None and len(self) - 1 - best.index >= patience

    def _name(self, metric: str) -> str:
        if not self._epochs:
            raise NothingToEvaluate("the history has no epoch.", "an evaluation added before.")
        return metric or self.metric or next(iter(self._epochs[0].evaluation.results), "")

    def _has(self, name: str) -> bool:
        """Whether any epoch knows this name, be it without a value."""
        losses, metrics = _names_of(self._epochs)
        failed = [name for epoch in self._epochs for name in epoch.evaluation.failures]
        return name in losses or _one_name(name) in (*metrics, *failed)

    def _nowhere(self, name: str) -> NoReturn:
        """Say why no epoch has a value of this name."""
        losses, metrics = _names_of(self._epochs)
        for epoch in self._epochs:
            if _one_name(name) in epoch.evaluation.failures:
                raise epoch.evaluation.failures[_one_name(name)]
        if self._has(name):
            raise UndefinedValue(f"{name} is undefined in all {len(self):,} epochs.")
        raise unknown_name("metric or loss", name, [*metrics, *losses], where="this history")

    def curves(self) -> pl.DataFrame:
        """One row per evaluated epoch: its number, losses and metrics; null where there is none."""
        losses, metrics = _names_of(self._epochs)
        numbers = pl.Series([epoch.number for epoch in self], dtype=pl.Int64)
        columns: dict[str, Any] = {"epoch": numbers}
        for name in [*losses, *metrics]:
            columns[name] = pl.Series([epoch.value(name) for epoch in self], dtype=pl.Float64)
        return pl.DataFrame(columns)

    def plot(self, *metrics: str, path: str | os.PathLike[str] | None = None) -> Chart:
        """A chart of all metrics and losses, or of those named, the best epoch marked.

        Notebooks show it, and `svg` is the picture. With `path` it is written there as one HTML
        file that needs nothing else.
        """
        for name in metrics:
            if all(epoch.value(name) is None for epoch in self._epochs):
                self._nowhere(name)
        drawn = _chart(self._epochs, metrics, self._marked())
        if path is not None:
            write_text(path, drawn.html("Training history"))
        return drawn

    def line(self, format: Format = "smgcn", index: int = -1) -> str:  # noqa: A002
        """What SMGCN's training prints after an epoch: losses, metrics at the first and the last
        cutoff. `format` says which of its scripts; `smgcn-f1` has F1 in the place of NDCG."""
        self._name("")
        return smgcn.epoch_line(self._epochs[index], smgcn.style_of(format))

    def best_line(
        self,
        format: Format = "smgcn",  # noqa: A002
        metric: str = "",
        seconds: float | None = None,
    ) -> str:
        """What SMGCN's training prints at the end: the best epoch by its index among those
        evaluated, and its metrics at all cutoffs.

        The script's own choice is recall or precision at the first cutoff; `metric` chooses
        otherwise. `seconds` is how long all took, by default the sum of what was added.
        """
        style = smgcn.style_of(format)
        self._name("")
        name = metric or smgcn.chosen_by(self._epochs[0].evaluation, style)
        recorded = math.fsum(part for epoch in self._epochs for part in epoch.seconds or ())
        return smgcn.best_line(self.best(name), style, recorded if seconds is None else seconds)

    def record(
        self,
        settings: Mapping[str, object],
        format: Format = "smgcn",  # noqa: A002
        metric: str = "",
        seconds: float | None = None,
        time: str = "",
    ) -> str:
        """What SMGCN's training appends to its file of results: settings, and the best epoch."""
        style, when = smgcn.style_of(format), time or f"{datetime.now():%Y-%m-%d %H:%M:%S}"
        best = self.best_line(format, metric, seconds)
        return smgcn.record(best, style, settings, when)

    def as_dict(self) -> dict[str, Any]:
        """The history for JSON."""
        definitions: list[dict[str, Any]] = []
        epochs = [_stored(epoch, definitions) for epoch in self._epochs]
        head = {"format": FORMAT, "version": FORMAT_VERSION, "metric": self.metric}
        return {**head, "definitions": definitions, "epochs": epochs}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the history as JSON, whole or not at all."""
        write_text(path, json.dumps(self.as_dict(), allow_nan=False))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> History:
        """A history that `save` wrote."""
        where = os.fspath(path)
        held = read_stored(path, "history", "a JSON file written by History.save.")
        held = require_format(held, where, "history", FORMAT_VERSION)
        history = History(held.get("metric", ""))
        try:
            for epoch in held["epochs"]:
                evaluation = from_dict(_whole(epoch["evaluation"], held["definitions"]), where)
                history.add(epoch["epoch"], evaluation, epoch["losses"], epoch["seconds"])
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise UnreadableFile(f"{where} is damaged: {error!r}.", "a whole history.") from error
        return history

    def __str__(self) -> str:
        table = self.curves()
        rows = [[*map(number, row)] for row in table.rows()]
        best = self._marked()
        said = "" if best is None else f"\nbest {self._name('')}: epoch {best.number}"
        return Grid(table.columns, rows).text() + said

    __repr__ = __str__


def _names_of(epochs: Sequence[Epoch]) -> tuple[list[str], list[str]]:
    """The losses and the metrics of any of the epochs, each once, in order."""
    losses = dict.fromkeys(name for epoch in epochs for name in epoch.losses)
    metrics = dict.fromkeys(name for epoch in epochs for name in epoch.evaluation.results)
    return [*losses], [*metrics]


def _one_name(text: str) -> str:
    """The name of a number as evaluations write it; any other text, such as a loss, as it is."""
    try:
        names = parse(text)
    except BadName:
        return text
    return str(names[0]) if len(names) == 1 else text


def _numbers_only(evaluation: object) -> Evaluation:
    """The evaluation without its values per list, so that many of them can be held."""
    if not isinstance(evaluation, Evaluation):
        raise BadName(f"a {type(evaluation).__name__} was added.", "an Evaluation.")
    results = {name: replace(one, values=None) for name, one in evaluation.results.items()}
    return replace(evaluation, results=results, lists=None)


def _as_number(epoch: SupportsIndex) -> int:
    """The number of an epoch."""
    try:
        return index(epoch)
    except TypeError as error:
        raise BadName(f"the epoch is {epoch!r}.", "a whole number.") from error


def _as_losses(given: SupportsFloat | Losses | None) -> dict[str, float]:
    """Losses by name; a single one is called 'loss'."""
    if given is None:
        return {}
    named = given if isinstance(given, Mapping) else {"loss": given}
    try:
        return {str(name): _as_float(value) for name, value in named.items()}
    except (TypeError, ValueError) as error:
        raise BadName(f"losses are {given!r}.", "a number, or numbers by name.") from error


def _as_float(value: SupportsFloat) -> float:
    """A number; a tensor that a gradient is wanted of warns unless it is asked for its item."""
    return float(value.item() if hasattr(value, "item") else value)


def _as_seconds(given: SupportsFloat | Iterable[float] | None) -> tuple[float, float] | None:
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


def _chart(epochs: Sequence[Epoch], names: Sequence[str], best: Epoch | None) -> Chart:
    """A chart: metrics above, losses below if there are any, the best epoch marked."""
    losses, metrics = _names_of(epochs)
    asked = [_one_name(name) for name in names] or [*metrics, *losses]
    panels = [[name for name in asked if name in panel] for panel in (metrics, losses)]
    places = {float(one.number): str(one.number) for one in epochs}
    marked = None if best is None else float(best.number)
    drawn = [
        panel({name: _points(epochs, name) for name in shown}, "epoch", places, False, marked)
        for shown in panels
        if shown
    ]
    return Chart(standalone(stacked(drawn, f"{', '.join(asked)} by epoch")))


def _points(epochs: Sequence[Epoch], name: str) -> list[Point]:
    """The values of a metric or loss that can be drawn."""
    values = [(one.number, one.value(name)) for one in epochs]
    return [
        Point(float(epoch), value, label=f"epoch {epoch}")
        for epoch, value in values
        if value is not None and math.isfinite(value)
    ]


def _stored(epoch: Epoch, definitions: list[dict[str, Any]]) -> dict[str, Any]:
    """An epoch for JSON; what its results share with those before is in `definitions`."""
    evaluation = epoch.evaluation.as_dict()
    for result in evaluation["results"].values():
        shared = {key: result.pop(key) for key in _SHARED}
        if shared not in definitions:
            definitions.append(shared)
        result["defined"] = definitions.index(shared)
    losses = {n: loss if math.isfinite(loss) else str(loss) for n, loss in epoch.losses.items()}
    return {
        "epoch": epoch.number,
        "losses": losses,
        "seconds": epoch.seconds,
        "evaluation": evaluation,
    }


def _whole(evaluation: Mapping[str, Any], definitions: list[dict[str, Any]]) -> dict[str, Any]:
    """An evaluation as `Evaluation.as_dict` gives it."""
    results = {
        name: {**{k: v for k, v in one.items() if k != "defined"}, **definitions[one["defined"]]}
        for name, one in evaluation["results"].items()
    }
    return {**evaluation, "results": results}
