"""Windows over a timeline: a model learns, is tested on what comes next, and learns from that."""

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
from rectitude.errors import BadName, NothingToEvaluate, unknown_name
from rectitude.evaluation.evaluate import evaluate
from rectitude.models import Model, Predicted, learnt_from, predicted
from rectitude.models.matrix import order_of
from rectitude.models.predict import Seen
from rectitude.options import require_ratio, require_whole
from rectitude.prepare.order import by_time
from rectitude.splits.split import Split

Learning = Literal["refit", "update"]
"""Whether a model learns anew from all of train in every window, or from the rows that are new."""
Empty = Literal["left_out", "zero"]
"""What a window in which nobody counts is worth in the mean of windows."""

Clock = Literal["log", "user"]
"""Whether the rows of a stream go by the time of the log, or by their place in each user's own."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The evaluation of each window of time, and of all of them together."""

    evaluations: Mapping[str, Evaluation | None]
    """by window, in order; None where there was nothing to evaluate"""
    facts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """by window: how much was learnt from and tested, and whom and what the model had never met"""
    ledger: Ledger = field(default_factory=Ledger)
    """what models met, over all windows"""
    empty: Empty = "left_out"

    @property
    def names(self) -> list[str]:
        """The metrics."""
        found = [one for one in self.evaluations.values() if one is not None]
        return list(found[0]) if found else []

    def values(self, name: str) -> dict[str, float]:
        """The value of each window; of an empty one what it is worth, NaN if it is left out."""
        absent = 0.0 if self.empty == "zero" else math.nan
        return {w: absent if e is None else _value(e, name) for w, e in self.evaluations.items()}

    def macro(self, name: str) -> float:
        """The mean of the windows: each counts alike, however many users it has."""
        values = [value for value in self.values(name).values() if not math.isnan(value)]
        return math.fsum(values) / len(values) if values else math.nan

    def micro(self, name: str) -> float:
        """The mean over all lists of all windows: a user counts in every window he is in."""
        return _sum(self._states(name).values()).value

    def running(self, name: str) -> dict[str, float]:
        """After each window, the mean over all lists so far: the prequential curve."""
        so_far, found = Sums(), {}
        for window, state in self._states(name).items():
            so_far = so_far + state
            found[window] = so_far.value
        return found

    def _states(self, name: str) -> dict[str, Sums]:
        states = {}
        for window, evaluation in self.evaluations.items():
            if evaluation is None:
                continue
            state = evaluation.result(name).state
            if state is None:
                raise BadName(
                    f"{name} is no mean over lists.", "a metric that has a value for each list.",
                    "look at the values of the windows, or at their mean: values, macro.",
                )  # fmt: skip
            states[window] = state
        return states

    def table(self) -> pl.DataFrame:
        """One row per window: what was learnt and tested, who was new, and the metrics."""
        rows = []
        for window in self.evaluations:
            own: dict[str, Any] = {"window": window, **self.facts.get(window, {})}
            own |= {name: _shown(self.values(name)[window]) for name in self.names}
            rows.append(own)
        return pl.DataFrame(rows, infer_schema_length=None)

    def summary(self) -> pl.DataFrame:
        """One row per metric: the mean of windows, and the mean over all lists."""
        rows = []
        for name in self.names:
            has = all(e is None or e.result(name).state for e in self.evaluations.values())
            micro = _shown(self.micro(name)) if has else None
            rows.append({"metric": name, "macro": _shown(self.macro(name)), "micro": micro})
        return pl.DataFrame(rows, schema={"metric": pl.String, "macro": pl.Float64,
                                          "micro": pl.Float64})  # fmt: skip

    def __str__(self) -> str:
        shown = [_text(frame) for frame in (self.table(), self.summary())]
        return "\n".join([*shown, str(self.ledger)])


def _text(frame: pl.DataFrame) -> str:
    return render.Grid(frame.columns, [[*map(render.number, row)] for row in frame.rows()]).text()


def _value(evaluation: Evaluation, name: str) -> float:
    """A value; NaN where the metric failed in this window."""
    return math.nan if name in evaluation.failures else evaluation[name]


def _sum(states: Iterable[Sums]) -> Sums:
    return reduce(Sums.__add__, states, Sums())


def _shown(value: float) -> float | None:
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
    """A model over a series of splits: it learns, recommends k items to each user of the truth, is
    evaluated, and goes on to the next.

    `splits` come from `rt.split(log, "windows", ...)` or `prequential`. "refit" learns from all of
    train each time; "update" hands the model the rows that came since, for models that can.
    `items` is the catalogue, as `evaluate` takes it; `progress` is told the name of each window
    that is done.
    """
    if learning not in ("refit", "update"):
        raise unknown_name("learning", str(learning), ("refit", "update"))
    asked = [metrics] if isinstance(metrics, str) else None if metrics is None else list(metrics)
    given = {"metrics": asked, "convention": convention, "items": items}
    evaluations: dict[str, Evaluation | None] = {}
    facts: dict[str, Mapping[str, int]] = {}
    ledger, before = Ledger(), None
    for number, split in enumerate(splits, 1):
        name = split.name or f"window-{number}"
        model, before = _learnt(model, split, before, learning), split.train
        found = predicted(model, split, k, seen=seen)
        evaluations[name], facts[name] = _evaluated(found, split, name, given), facts_of(split)
        found.ledger.entries.pop("rows_learnt_from", None)  # it stands in the facts
        ledger = ledger + found.ledger
        if progress is not None:
            progress(name)
    if not evaluations:
        raise NothingToEvaluate("there are no windows.", "a series of splits.")
    missing, about = list(evaluations.values()).count(None), "windows have nobody who counts"
    ledger.count("windows_empty", missing, about, len(evaluations), weight="notice")
    return Windows(evaluations, facts, ledger, empty)


def _evaluated(
    found: Predicted, split: Split, name: str, given: Mapping[str, Any]
) -> Evaluation | None:
    """The evaluation of a window; None if nobody counts, such as under a convention that drops
    users who are unknown."""
    _require_lists(found, name)
    try:
        return evaluate(found.table, split.truth, train=split.train, **given)
    except NothingToEvaluate:
        return None


def _require_lists(found: Predicted, name: str) -> None:
    """Lists for somebody: a window full of misses must not pass for one without users."""
    if found.table.is_empty():
        raise NothingToEvaluate(
            f"{name}: the model recommended nothing to any of {len(found.users):,} users.",
            "a list for some user of every window.",
            "take longer windows, or a model that has something for unknown users.",
        )


def _learnt(model: Model, split: Split, before: Log | None, learning: Learning) -> Model:
    """The model after what it has to learn for a window."""
    if learning == "refit" or before is None:
        return learnt_from(model, split.train)
    return updated(getattr(model, "name", type(model).__name__), model, split.train, before)


def updated(name: str, model: Model, train: Log, before: Log) -> Model:
    """A model after the rows of train that came since those before."""
    update = getattr(model, "update", None)
    if not callable(update):
        raise BadName(
            f"{name} has no method update.",
            "a model that can learn from further rows.",
            "use learning = 'refit'.",
        )
    fresh = train.with_frame(train.frame.filter(~members(train.frame[ROW], before.frame[ROW])))
    found = None if fresh.frame.is_empty() else update(fresh)
    return found if isinstance(found, Model) else model


def facts_of(split: Split) -> dict[str, int]:
    """How much a window learns from and tests, and what of it train had never met."""
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
    """A log as a stream: test on the next rows, learn from them, go on.

    The first share of the rows (`start`) is learnt from without a test; then `every` rows are
    tested at a time, in the last step what is left. Rows go by time, those of equal time by their
    content, or as they stand if they have no times. `clock` "user" takes the first rows of all
    users, then the second ones: for logs whose order is one of each user by himself. `every=1`
    tests each event by itself.
    """
    log = open_log(source)
    require_ratio(start, "start")
    require_whole(every, "every")
    order = order_of(log)
    place = by_time(log, "all" if clock == "log" else "user", order=order).before
    stream = log.frame[np.argsort(place, kind="stable")]
    first = max(1, round(start * stream.height))
    bounds = range(first, stream.height, every)
    for number, low in enumerate(bounds[:steps], 1):
        train, truth = stream[:low], stream[low : low + every]
        yield Split(log.with_frame(train), log.with_frame(truth), name=f"step-{number}")
