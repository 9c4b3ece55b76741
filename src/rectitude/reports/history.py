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
    BadArgument,
    BadName,
    NotComparable,
    NothingToEvaluate,
    UndefinedValue,
    UnknownName,
    UnreadableFile,
    unknown_name,
)
from rectitude.metrics import METRICS
from rectitude.metrics.names import parse
from rectitude.render import Chart, Grid, Printable, number
from rectitude.reports import smgcn
from rectitude.reports.charts import Point, panel, stack_panels, standalone
from rectitude.reports.smgcn import Format
from rectitude.storage import read_stored, require_format, require_suffix, write_text

FORMAT = "rectitude.history"
FORMAT_VERSION = 1
_SHARED = ("metric", "definition", "fingerprint", "numbers", "convention")
"""What results of the same name share in all epochs; a file stores it once."""
Losses = Mapping[str, SupportsFloat]


@dataclass(frozen=True, slots=True, repr=False)
class Epoch:
    """The evaluation after one epoch; `index` is its position among the evaluated epochs."""

    index: int
    number: int
    evaluation: Evaluation
    losses: Mapping[str, float]
    seconds: tuple[float, float] | None = None
    """how long training and evaluation took"""

    def __repr__(self) -> str:
        values = {**self.losses, **self.evaluation.values()}
        return f"Epoch {self.number}: " + ", ".join(f"{n} {v:.5g}" for n, v in values.items())

    def value(self, name: str) -> float | None:
        """Return the metric or loss of this name; None if it is missing, failed or undefined."""
        metric = _normalise_name(name)
        value = self.losses.get(name)
        if metric in self.evaluation.results:
            value = self.evaluation.results[metric].value
        return None if value is None or math.isnan(value) else value

    def best(self, name: str) -> Literal["high", "low"]:
        """Return whether high or low values of this name are better; losses are better if low."""
        result = self.evaluation.results.get(_normalise_name(name))
        return "low" if result is None else METRICS[result.metric].best


class History(Printable):
    """The evaluations of a training run, epoch by epoch.

    Call `add` after each evaluation, `stop` to end training when the metric no longer improves, and
    `best` for the best epoch. `stop` and `best` use `metric` by default; if it is not given, they
    use the first number of the first evaluation. The history keeps the numbers, but not the values
    per list.

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
        """Add the evaluation after an epoch.

        `losses` are numbers by name, or one number; `seconds` is how long training and evaluation
        took. Epochs must be added in order, and a metric must have the same definition in all of
        them. If a check fails, nothing is added.
        """
        position, numbers = len(self), _drop_values(evaluation)
        new = Epoch(position, _as_number(epoch), numbers, _as_losses(losses), _as_seconds(seconds))
        self._check(new)
        for name, result in numbers.results.items():
            self._defined.setdefault(name, (result.fingerprint, new.number))
        self._epochs.append(new)
        return new

    def _check(self, new: Epoch) -> None:
        if self._epochs and new.number <= self._epochs[-1].number:
            raise BadArgument(
                f"epoch {new.number} was added after epoch {self._epochs[-1].number}.",
                "epochs in increasing order, each once.",
            )
        taken = {"epoch": "the number of the epoch"}
        taken |= dict.fromkeys([*self._defined, *new.evaluation.results], "a metric")
        for name in {name for epoch in (*self._epochs, new) for name in epoch.losses} & {*taken}:
            raise NotComparable(
                f"{name!r} is a loss and {taken[name]}.", "different names.", "rename the loss."
            )
        for name, result in new.evaluation.results.items():
            fingerprint, first = self._defined.get(name, (result.fingerprint, new.number))
            if fingerprint != result.fingerprint:
                raise NotComparable(
                    f"{name} is defined differently in epochs {first} and {new.number}.",
                    "the same definition in all epochs.",
                    "evaluate all epochs under one convention; see evaluation.definition(...).",
                )

    def best(self, metric: str = "") -> Epoch:
        """Return the epoch with the best metric or the lowest loss; the first of equal ones."""
        best = self._best(metric)
        return self._raise_missing(self._name(metric)) if best is None else best

    def _best(self, metric: str = "") -> Epoch | None:
        name = self._name(metric)
        values = [(epoch.value(name), epoch) for epoch in self._epochs]
        defined = [(value, epoch) for value, epoch in values if value is not None]
        if not defined:
            return None
        sign = 1 if defined[0][1].best(name) == "high" else -1
        return max(defined, key=lambda pair: sign * pair[0])[1]

    def _best_to_mark(self) -> Epoch | None:
        """Return the best epoch; None if its metric is from a package that is not installed."""
        try:
            return self._best() if self._epochs else None
        except UnknownName:
            return None

    def stop(self, patience: int = 10, metric: str = "") -> bool:
        """Return whether the last `patience` evaluations did not improve on the best one before."""
        if not isinstance(patience, int) or patience < 1:
            raise BadArgument(f"patience is {patience!r}.", "a whole number of at least 1.")
        if not self._epochs:
            return False
        best = self._best(metric)
        if best is None and (len(self) > patience or not self._has(self._name(metric))):
            self._raise_missing(self._name(metric))  # reports a wrong name after the first epoch
        return best is not None and len(self) - 1 - best.index >= patience

    def _name(self, metric: str) -> str:
        if not self._epochs:
            raise NothingToEvaluate(
                "the history has no epochs.", "at least one evaluation: history.add(...)."
            )
        return metric or self.metric or next(iter(self._epochs[0].evaluation.results), "")

    def _has(self, name: str) -> bool:
        """Return whether any epoch has this name, even without a value."""
        losses, metrics = _names_of(self._epochs)
        failed = [name for epoch in self._epochs for name in epoch.evaluation.failures]
        return name in losses or _normalise_name(name) in (*metrics, *failed)

    def _raise_missing(self, name: str) -> NoReturn:
        """Raise an error that says why no epoch has a value of this name."""
        losses, metrics = _names_of(self._epochs)
        for epoch in self._epochs:
            if _normalise_name(name) in epoch.evaluation.failures:
                raise epoch.evaluation.failures[_normalise_name(name)]
        if self._has(name):
            raise UndefinedValue(f"{name} is undefined in all {len(self):,} epochs.")
        raise unknown_name("metric or loss", name, [*metrics, *losses], where="this history")

    def curves(self) -> pl.DataFrame:
        """Return one row per evaluated epoch: its number, losses and metrics; null if missing."""
        losses, metrics = _names_of(self._epochs)
        numbers = pl.Series([epoch.number for epoch in self], dtype=pl.Int64)
        columns: dict[str, Any] = {"epoch": numbers}
        for name in [*losses, *metrics]:
            columns[name] = pl.Series([epoch.value(name) for epoch in self], dtype=pl.Float64)
        return pl.DataFrame(columns)

    def plot(self, *metrics: str, path: str | os.PathLike[str] | None = None) -> Chart:
        """Draw all metrics and losses, or those named, with the best epoch marked.

        Notebooks display the chart, and `svg` is the picture. With `path`, the chart is also
        written as one self-contained HTML file.
        """
        for name in metrics:
            if all(epoch.value(name) is None for epoch in self._epochs):
                self._raise_missing(name)
        drawn = _draw_chart(self._epochs, metrics, self._best_to_mark())
        if path is not None:
            write_text(path, drawn.html("Training history"))
        return drawn

    def line(self, format: Format = "smgcn", index: int = -1) -> str:  # noqa: A002
        """Return what SMGCN's training prints after an epoch: losses, and metrics at the first and
        the last cutoff. `format` is one of its scripts; `smgcn-f1` prints F1 instead of NDCG."""
        self._name("")
        return smgcn.epoch_line(self._epochs[index], smgcn.style_of(format))

    def best_line(
        self,
        format: Format = "smgcn",  # noqa: A002
        metric: str = "",
        seconds: float | None = None,
    ) -> str:
        """Return what SMGCN's training prints at the end: the index of the best epoch among the
        evaluated ones, and its metrics at all cutoffs.

        The scripts choose the best epoch by recall or precision at the first cutoff; `metric`
        overrides that. `seconds` is the total time, by default the sum over all epochs.
        """
        style = smgcn.style_of(format)
        self._name("")
        name = metric or smgcn.selection_metric(self._epochs[0].evaluation, style)
        recorded = math.fsum(part for epoch in self._epochs for part in epoch.seconds or ())
        return smgcn.best_line(self.best(name), style, recorded if seconds is None else seconds)

    def record(
        self,
        settings: Mapping[str, object] | None = None,
        format: Format = "smgcn",  # noqa: A002
        metric: str = "",
        seconds: float | None = None,
        time: str = "",
    ) -> str:
        """Return what SMGCN's training appends to its result file: settings, and the best epoch."""
        if not isinstance(settings, Mapping | None):
            named = f" or record(format={settings!r})" if str(settings) in smgcn.STYLES else ""
            raise BadArgument(
                f"settings is {settings!r}.",
                "the settings of the training by name, such as {'lr': 0.01}.",
                f"for example: record({{'lr': 0.01}}, format='smgcn-f1'){named}.",
            )
        style, when = smgcn.style_of(format), time or f"{datetime.now():%Y-%m-%d %H:%M:%S}"
        best = self.best_line(format, metric, seconds)
        return smgcn.record(best, style, settings or {}, when)

    def as_dict(self) -> dict[str, Any]:
        """Return the history as a dictionary for JSON."""
        definitions: list[dict[str, Any]] = []
        epochs = [_store_epoch(epoch, definitions) for epoch in self._epochs]
        head = {"format": FORMAT, "version": FORMAT_VERSION, "metric": self.metric}
        return {**head, "definitions": definitions, "epochs": epochs}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the history as JSON, completely or not at all."""
        require_suffix(path, "history", (".json",), "history.curves() is a table to write.")
        write_text(path, json.dumps(self.as_dict(), allow_nan=False))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> History:
        """Read a history that `save` wrote."""
        name = os.fspath(path)
        stored = read_stored(path, "history", "a JSON file written by History.save.")
        stored = require_format(stored, name, "history", FORMAT_VERSION)
        history = History(stored.get("metric", ""))
        try:
            for epoch in stored["epochs"]:
                whole = _restore_definitions(epoch["evaluation"], stored["definitions"])
                evaluation = from_dict(whole, name)
                history.add(epoch["epoch"], evaluation, epoch["losses"], epoch["seconds"])
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise UnreadableFile(
                f"{name} is damaged: {error}.", "a complete history, written by History.save."
            ) from error
        return history

    def _shown(self) -> Iterator[str | Grid]:
        table = self.curves()
        yield Grid(table.columns, [[*map(number, row)] for row in table.rows()])
        best = self._best_to_mark()
        if best is not None:
            yield f"best {self._name('')}: epoch {best.number}"


def _names_of(epochs: Sequence[Epoch]) -> tuple[list[str], list[str]]:
    """Return the losses and the metrics of all epochs, each once, in order."""
    losses = dict.fromkeys(name for epoch in epochs for name in epoch.losses)
    metrics = dict.fromkeys(name for epoch in epochs for name in epoch.evaluation.results)
    return [*losses], [*metrics]


def _normalise_name(text: str) -> str:
    """Return the name of a metric as evaluations write it; other texts, such as losses, as is."""
    try:
        names = parse(text)
    except BadName:
        return text
    return str(names[0]) if len(names) == 1 else text


def _drop_values(evaluation: object) -> Evaluation:
    """Return the evaluation without its values per list, to save memory."""
    if not isinstance(evaluation, Evaluation):
        raise BadArgument(f"evaluation is of type {type(evaluation).__name__}.", "an Evaluation.")
    results = {name: replace(result, values=None) for name, result in evaluation.results.items()}
    return replace(evaluation, results=results, lists=None)


def _as_number(epoch: SupportsIndex) -> int:
    """Return the number of an epoch as an int."""
    try:
        return index(epoch)
    except TypeError as error:
        raise BadArgument(f"epoch is {epoch!r}.", "a whole number.") from error


def _as_losses(losses: SupportsFloat | Losses | None) -> dict[str, float]:
    """Return losses by name; a single one is called 'loss'."""
    if losses is None:
        return {}
    named = losses if isinstance(losses, Mapping) else {"loss": losses}
    try:
        return {str(name): _as_float(value) for name, value in named.items()}
    except (TypeError, ValueError) as error:
        raise BadArgument(f"losses is {losses!r}.", "a number, or numbers by name.") from error


def _as_float(value: SupportsFloat) -> float:
    """Return a float; `item` avoids the warning of tensors that require a gradient."""
    return float(value.item() if hasattr(value, "item") else value)


def _as_seconds(seconds: SupportsFloat | Iterable[float] | None) -> tuple[float, float] | None:
    """Return how long training and evaluation took; a single number is the training time."""
    if seconds is None:
        return None
    try:
        times = [*map(float, seconds)] if isinstance(seconds, Iterable) else [float(seconds), 0.0]
    except (TypeError, ValueError):
        times = []
    if len(times) != 2 or not all(math.isfinite(time) and time >= 0 for time in times):
        raise BadArgument(
            f"seconds is {seconds!r}.", "the seconds of training, or of training and evaluation."
        )
    return times[0], times[1]


def _draw_chart(epochs: Sequence[Epoch], names: Sequence[str], best: Epoch | None) -> Chart:
    """Draw metrics above and losses, if any, below, with the best epoch marked."""
    losses, metrics = _names_of(epochs)
    shown = [_normalise_name(name) for name in names] or [*metrics, *losses]
    panels = [[name for name in shown if name in group] for group in (metrics, losses)]
    positions = {float(epoch.number): str(epoch.number) for epoch in epochs}
    marked = None if best is None else float(best.number)
    drawn = [
        panel({name: _points(epochs, name) for name in group}, "epoch", positions, False, marked)
        for group in panels
        if group
    ]
    return Chart(standalone(stack_panels(drawn, f"{', '.join(shown)} by epoch")))


def _points(epochs: Sequence[Epoch], name: str) -> list[Point]:
    """Return the finite values of a metric or loss as points."""
    values = [(epoch.number, epoch.value(name)) for epoch in epochs]
    return [
        Point(float(number), value, label=f"epoch {number}")
        for number, value in values
        if value is not None and math.isfinite(value)
    ]


def _store_epoch(epoch: Epoch, definitions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an epoch for JSON; what epochs share moves to `definitions`."""
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


def _restore_definitions(
    evaluation: Mapping[str, Any], definitions: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return an evaluation as `Evaluation.as_dict` gives it."""
    results = {
        name: {
            **{key: value for key, value in result.items() if key != "defined"},
            **definitions[result["defined"]],
        }
        for name, result in evaluation["results"].items()
    }
    return {**evaluation, "results": results}
