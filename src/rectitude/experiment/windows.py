"""Windows over time: a model is trained, tested on what comes next, then trained on that too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude import render
from rectitude.aggregate.evaluation import Evaluation
from rectitude.aggregate.sums import Sums
from rectitude.data.ids import members
from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log, open_log
from rectitude.errors import BadArgument, BadExtension, NothingToEvaluate, unknown_name
from rectitude.evaluation.evaluate import evaluate
from rectitude.models import Model, Predicted, fit_model, predict_split
from rectitude.models.matrix import order_of
from rectitude.models.predict import Seen
from rectitude.options import require_ratio, require_whole
from rectitude.preparing.order import by_time
from rectitude.splits.split import Split

Learning = Literal["refit", "update"]
"""Whether a model is retrained on all training data in every window, or updated with new rows."""
Empty = Literal["left_out", "zero"]
"""How a window without any counted user enters the mean of windows."""

Clock = Literal["log", "user"]
"""Whether a stream is ordered by time over the whole log, or by position in each user's history."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The evaluation of each window of time, and of all of them together."""

    evaluations: Mapping[str, Evaluation | None]
    """by window, in order; None if there was nothing to evaluate"""
    facts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """by window: rows trained on and tested, and how many users and items are new"""
    ledger: Ledger = field(default_factory=Ledger)
    """the ledgers of the model, added up over all windows"""
    empty: Empty = "left_out"

    @property
    def names(self) -> list[str]:
        """The metrics."""
        evaluations = [
            evaluation for evaluation in self.evaluations.values() if evaluation is not None
        ]
        return list(evaluations[0]) if evaluations else []

    def values(self, name: str) -> dict[str, float]:
        """Return the value of each window; an empty one has 0, or NaN if it is left out."""
        absent = 0.0 if self.empty == "zero" else math.nan
        return {w: absent if e is None else _value(e, name) for w, e in self.evaluations.items()}

    def macro(self, name: str) -> float:
        """Return the mean of the windows: each has equal weight, however many users it has."""
        values = [value for value in self.values(name).values() if not math.isnan(value)]
        return math.fsum(values) / len(values) if values else math.nan

    def micro(self, name: str) -> float:
        """Return the mean over all lists of all windows: users count once per window."""
        return _sum(self._states(name).values()).value

    def running(self, name: str) -> dict[str, float]:
        """Return, after each window, the mean over all lists so far: the prequential curve."""
        so_far, means = Sums(), {}
        for window, state in self._states(name).items():
            so_far = so_far + state
            means[window] = so_far.value
        return means

    def _states(self, name: str) -> dict[str, Sums]:
        states = {}
        for window, evaluation in self.evaluations.items():
            if evaluation is None:
                continue
            state = evaluation.result(name).state
            if state is None:
                raise BadArgument(
                    f"{name} is not a mean over lists.", "a metric with a value for each list.",
                    "use values() for each window, or macro() for their mean.",
                )  # fmt: skip
            states[window] = state
        return states

    def table(self) -> pl.DataFrame:
        """Return one row per window: its facts, such as new users and items, and metrics."""
        rows = []
        for window in self.evaluations:
            row: dict[str, Any] = {"window": window, **self.facts.get(window, {})}
            row |= {name: _value_or_none(self.values(name)[window]) for name in self.names}
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def summary(self) -> pl.DataFrame:
        """Return one row per metric: the mean of windows (macro) and over lists (micro)."""
        rows = []
        for name in self.names:
            has_micro = all(e is None or e.result(name).state for e in self.evaluations.values())
            micro = _value_or_none(self.micro(name)) if has_micro else None
            rows.append({"metric": name, "macro": _value_or_none(self.macro(name)), "micro": micro})
        return pl.DataFrame(rows, schema={"metric": pl.String, "macro": pl.Float64,
                                          "micro": pl.Float64})  # fmt: skip

    def __str__(self) -> str:
        shown = [_render_frame(frame) for frame in (self.table(), self.summary())]
        return "\n".join([*shown, str(self.ledger)])


def _render_frame(frame: pl.DataFrame) -> str:
    return render.Grid(frame.columns, [[*map(render.number, row)] for row in frame.rows()]).text()


def _value(evaluation: Evaluation, name: str) -> float:
    """Return a value; NaN if the metric failed in this window."""
    return math.nan if name in evaluation.failures else evaluation[name]


def _sum(states: Iterable[Sums]) -> Sums:
    return reduce(Sums.__add__, states, Sums())


def _value_or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def run_windows(
    model: Model,
    splits: Iterable[Split],
    metrics: str | Iterable[str] | None = None,
    convention: object = None,
    *,
    k: int = 10,
    learning: Learning = "refit",
    seen: Seen = "removed",
    empty: Empty = "left_out",
    items: object = None,
    progress: Callable[[str], None] | None = None,
) -> Windows:
    """Evaluate a model over a series of splits: in each, it is trained, recommends k items to each
    user of the truth, and is evaluated.

    `splits` come from `rt.split(log, "windows", ...)` or `prequential`. "refit" retrains on all
    training data each time; "update" calls the model's update method with the new rows. `items` is
    the catalogue, as in `evaluate`. `progress` is called with the name of each finished window.
    """
    if learning not in ("refit", "update"):
        raise unknown_name("learning", str(learning), ("refit", "update"))
    names = [metrics] if isinstance(metrics, str) else None if metrics is None else list(metrics)
    arguments = {"metrics": names, "convention": convention, "items": items}
    evaluations: dict[str, Evaluation | None] = {}
    facts: dict[str, Mapping[str, int]] = {}
    ledger, before = Ledger(), None
    for number, split in enumerate(splits, 1):
        name = split.name or f"window-{number}"
        model, before = _train(model, split, before, learning), split.train
        predicted = predict_split(model, split, k, seen=seen)
        evaluations[name], facts[name] = (
            _evaluate_window(predicted, split, name, arguments),
            facts_of(split),
        )
        predicted.ledger.entries.pop("rows_learnt_from", None)  # the facts contain it
        ledger = ledger + predicted.ledger
        if progress is not None:
            progress(name)
    if not evaluations:
        raise NothingToEvaluate("there are no windows.", "a series with at least one split.")
    missing, about = list(evaluations.values()).count(None), "windows have no user to count"
    ledger.count("windows_empty", missing, about, len(evaluations), weight="notice")
    return Windows(evaluations, facts, ledger, empty)


def _evaluate_window(
    predicted: Predicted, split: Split, name: str, arguments: Mapping[str, Any]
) -> Evaluation | None:
    """Evaluate a window; None if no user counts, for example under a convention that drops unknown
    users."""
    _require_lists(predicted, name)
    evaluation: Evaluation
    try:
        evaluation = evaluate(predicted.table, split.truth, train=split.train, **arguments)
    except NothingToEvaluate:
        return None
    return evaluation


def _require_lists(predicted: Predicted, name: str) -> None:
    """Raise an error if a model makes no lists at all: this must not look like an empty window."""
    if predicted.table.is_empty():
        raise NothingToEvaluate(
            f"{name}: the model recommended nothing to any of {len(predicted.users):,} users.",
            "a list for at least one user in every window.",
            "use longer windows, or a model that can recommend to unknown users.",
        )


def _train(model: Model, split: Split, before: Log | None, learning: Learning) -> Model:
    """Train or update the model for a window."""
    if learning == "refit" or before is None:
        return fit_model(model, split.train)
    return update_model(getattr(model, "name", type(model).__name__), model, split.train, before)


def update_model(name: str, model: Model, train: Log, before: Log) -> Model:
    """Update a model with the rows of `train` that are not in `before`."""
    update = getattr(model, "update", None)
    if not callable(update):
        raise BadExtension(
            f"{name} has no method update.",
            "a model with a method update(rows).",
            "to retrain the model in every window, use learning = 'refit'.",
        )
    new_rows = train.with_frame(train.frame.filter(~members(train.frame[ROW], before.frame[ROW])))
    updated = None if new_rows.frame.is_empty() else update(new_rows)
    return updated if isinstance(updated, Model) else model


def facts_of(split: Split) -> dict[str, int]:
    """Count the training and test rows of a window, its users and items, and how many are new."""
    truth, train = split.truth.frame, split.train.frame
    users, items = truth["user"].unique(), truth["item"].unique()
    return {
        "train_rows": train.height,
        "truth_rows": truth.height,
        "users": len(users),
        "new_users": int((~members(users, train["user"])).sum()),
        "items": len(items),
        "new_items": int((~members(items, train["item"])).sum()),
    }


def prequential(
    source: object,
    *,
    start: float = 0.2,
    every: int = 1000,
    steps: int | None = None,
    clock: Clock = "log",
) -> Iterator[Split]:
    """Split a log as a stream: test on the next rows, train on them, continue.

    The first share of the rows (`start`) is only used for training; after that, `every` rows are
    tested at a time, and the last step tests the rest. Rows are ordered by time, rows with equal
    times by their content; rows without times keep their order. With `clock` "user", the first
    rows of all users come first, then the second rows, and so on: for logs in which only the order
    within each user is known. `every=1` tests one interaction at a time.
    """
    log = open_log(source)
    require_ratio(start, "start")
    require_whole(every, "every")
    order = order_of(log)
    position = by_time(log, "all" if clock == "log" else "user", order=order).before
    stream = log.frame[np.argsort(position, kind="stable")]
    first = max(1, round(start * stream.height))
    bounds = range(first, stream.height, every)
    for number, low in enumerate(bounds[:steps], 1):
        train, truth = stream[:low], stream[low : low + every]
        yield Split(log.with_frame(train), log.with_frame(truth), name=f"step-{number}")
