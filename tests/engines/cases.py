"""Random tables, conventions and metrics that every engine evaluates as one machine does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import rectitude as rt
from rectitude.errors import RectitudeError

METRICS = ["ndcg@3", "recall@2", "mrr", "map", "precision@3", "hit@1"]
BEYOND = ["item_coverage@2", "distinct_items@2", "average_popularity@2", "gini@2"]
Frames = dict[str, pl.DataFrame]


def outcome(*args: Any, **options: Any) -> object:
    """Everything that an evaluation says, or the class of its error; of several conventions, what
    each says."""
    try:
        found = rt.evaluate(*args, **options)
    except RectitudeError as error:
        return type(error)
    if isinstance(found, rt.Evaluations):
        return {name: _tell(evaluation) for name, evaluation in found.items()}
    return _tell(found)


def _tell(evaluation: rt.Evaluation) -> object:
    failures = {name: type(error) for name, error in evaluation.failures.items()}
    values = evaluation.per_list().to_dicts() if evaluation.lists is not None else None
    stored = {
        name: (result.value, result.ties, result.interval)
        for name, result in evaluation.results.items()
    }
    sliced = None if evaluation.slices is None else evaluation.slices.to_polars().to_dicts()
    return stored, evaluation.ledger.as_dict(), evaluation.manifest, failures, values, sliced


def draw_tables(seed: int, users: int = 60, items: int = 40) -> Frames:
    """Draw lists with ties, truth with grades, training data with unknown users and items, and
    further tables."""
    random = np.random.default_rng(seed)

    def draw(rows: int, names: int) -> pl.DataFrame:
        drawn = {"user": random.integers(0, names, rows), "item": random.integers(0, items, rows)}
        return pl.DataFrame(drawn).unique(maintain_order=True)

    predictions, truth = draw(400, users), draw(150, users + 3)
    scores = pl.Series("score", random.integers(0, 5, predictions.height) / 4)
    grades = pl.Series("grade", random.integers(1, 4, truth.height))
    known = np.arange(users + 5)
    weights = random.integers(1, 4, len(known)).astype(float)
    plans = ["free", "paid", "paid", None]
    return {
        "predictions": predictions.with_columns(scores),
        "truth": truth.with_columns(grades),
        "train": draw(200, users - 5),
        "seen": draw(100, users),
        "items": pl.DataFrame({"item": np.arange(items)}),
        "weights": pl.DataFrame({"user": known, "weight": weights}),
        "users": pl.DataFrame({"user": known, "plan": [plans[n % 4] for n in known]}),
        "candidates": draw(900, users),
    }


WITH = [
    (), ("train",), ("train", "items"), ("train", "weights"), ("candidates", "train"),
    ("train", "seen"), ("users", "train"), ("users",),
]  # fmt: skip
"""the tables that are given besides predictions and truth"""


def draw_case(seed: int) -> tuple[Frames, dict[str, Any]]:
    """Draw tables, and the metrics, conventions and other options for them."""
    random, frames = np.random.default_rng([seed, 1]), draw_tables(seed)
    ties = random.choice(["pessimistic", "optimistic", "average", "item_ascending"])
    more = WITH[seed % len(WITH)]
    names = [*METRICS, *(BEYOND if "items" in more and ties != "average" else ())]
    if seed % 2:
        text = pl.format("u{}", "user").alias("user")
        frames = {n: f.with_columns(text) if "user" in f.columns else f for n, f in frames.items()}
    kept = {name: frames[name] for name in ("predictions", "truth", *more)}
    convention = {
        "ties": str(ties),
        "undefined": str(random.choice(["zero", "skip"])),
        "gain": str(random.choice(["binary", "linear", "exp2"])),
    }
    options: dict[str, Any] = {"metrics": names, "convention": convention, "intervals": True}
    if "users" in more:
        options["slices"] = ["plan", *(["activity:0,2,5"] if "train" in more else [])]
    if seed % 3 == 0:
        options["convention"] = [convention, "ranx", "lenskit-2026"]
    return kept, options


def compare_roads(frames: Frames, move: Callable[[pl.DataFrame], Any], **options: Any) -> None:
    """Require that an engine says what is said of the same tables in memory."""
    tables = {name: move(frame) for name, frame in frames.items()}
    sides = (tables.pop("predictions"), tables.pop("truth"))
    moved = outcome(*sides, **tables, **options)
    assert moved == outcome(*sides, **tables, **options, engine="local")
