"""Random tables, conventions and metrics that every engine evaluates as one machine does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import polars as pl
from hypothesis import strategies as st

import rectitude as rt
from rectitude.errors import RectitudeError

METRICS = ["ndcg@3", "recall@2", "mrr", "map", "precision@3", "hit@1"]
BEYOND = ["item_coverage@2", "distinct_items@2", "average_popularity@2", "gini@2"]
Frames = dict[str, pl.DataFrame]
Repeats = Literal["repeated", "distinct"]


def outcome(*args: Any, **options: Any) -> object:
    """Everything that an evaluation says, or the class of its error; of several conventions, what
    each says. `users_of_lists` are named beside the predictions."""
    users = options.pop("users_of_lists", None)
    args = args if users is None else (rt.Lists(args[0], users=users), *args[1:])
    try:
        found = rt.evaluate(*args, **options)
    except RectitudeError as error:
        return type(error)
    if isinstance(found, rt.Evaluations):
        return {name: _tell(evaluation) for name, evaluation in found.items()}
    return _tell(found)


def _tell(evaluation: rt.Evaluation) -> object:
    """All that an evaluation says; numbers in full as text, because NaN is not equal to itself."""
    failures = {name: type(error) for name, error in evaluation.failures.items()}
    has_values = any(result.values is not None for result in evaluation.results.values())
    values = evaluation.per_list().to_dicts() if has_values else []
    stored = {
        name: repr((result.value, result.ties, result.interval))
        for name, result in evaluation.results.items()
    }
    sliced = [] if evaluation.slices is None else evaluation.slices.to_polars().to_dicts()
    told = (evaluation.ledger.as_dict(), evaluation.manifest, failures)
    return stored, *told, [*map(repr, values)], [*map(repr, sliced)]


def draw_tables(
    seed: int, users: int = 60, items: int = 40, repeats: Repeats = "distinct"
) -> Frames:
    """Draw lists with ties, truth with grades, training data with unknown users and items, and
    further tables; lists and truth may have an item several times."""
    random = np.random.default_rng(seed)

    def draw(rows: int, names: int, repeats: Repeats = "distinct") -> pl.DataFrame:
        drawn = {"user": random.integers(0, names, rows), "item": random.integers(0, items, rows)}
        frame = pl.DataFrame(drawn)
        return frame if repeats == "repeated" else frame.unique(maintain_order=True)

    predictions, truth = draw(400, users, repeats), draw(150, users + 3, repeats)
    scores = pl.Series("score", random.integers(0, 5, predictions.height) / 4)
    grades = pl.Series("grade", random.integers(1, 4, truth.height))
    depth = pl.Series("depth", random.integers(0, 3, truth.height))
    known = np.arange(users + 5)
    weights = random.integers(1, 4, len(known)).astype(float)
    plans = ["free", "paid", "paid", None]
    return {
        "predictions": predictions.with_columns(scores),
        "truth": truth.with_columns(grades, depth),
        "train": draw(200, users - 5),
        "seen": draw(100, users),
        "items": pl.DataFrame({"item": np.arange(items)}),
        "weights": pl.DataFrame({"user": known, "weight": weights}),
        "users": pl.DataFrame({"user": known, "plan": [plans[n % 4] for n in known]}),
        "candidates": draw(900, users),
    }


METRICS_OF_ITEMS = [*BEYOND, "unseen_share@2", "train_coverage@2", "self_information@2"]
NEEDS = {
    "average_popularity@2": "train", "unseen_share@2": "train", "train_coverage@2": "train",
    "self_information@2": "train", "item_coverage@2": "items", "gini@2": "items",
}  # fmt: skip
"""the table that a metric needs"""
TABLES = ("train", "seen", "items", "weights", "users", "candidates")
CONVENTIONS: dict[str, st.SearchStrategy[Any]] = {
    "ties": st.sampled_from(
        ("pessimistic", "optimistic", "average", "item_ascending", "item_descending")
    ),
    "gain": st.sampled_from(("binary", "linear", "exp2")),
    "relevant_from": st.sampled_from((None, 2)),
    "truth_needed": st.sampled_from(("relevant", "judged", "none")),
    "list_needed": st.sampled_from(("none", "handed", "items", "hit")),
    "unknown_users": st.sampled_from(("keep", "drop")),
    "unknown_items": st.sampled_from(("keep", "drop")),
    "unjudged": st.sampled_from(("kept", "dropped")),
    "average": st.sampled_from(("macro", "micro")),
    "candidates": st.sampled_from(("given", "with_truth")),
    "undefined": st.sampled_from(("zero", "skip", "one")),
}
DUPLICATES = {
    "duplicates": st.sampled_from(("first", "counted", "one_hit")),
    "duplicate_truth": st.sampled_from(("once", "counted", "one_hit")),
}
"""switches for tables that repeat items"""


@st.composite
def cases(draw: st.DrawFn) -> tuple[Frames, dict[str, Any]]:
    """Tables with ties, unknown users and items, perhaps repeated items, and the metrics,
    conventions, slices and other options for them."""
    repeats: Repeats = draw(st.sampled_from(("distinct", "repeated")))
    frames = draw_tables(draw(st.integers(0, 10_000)), repeats=repeats)
    if draw(st.booleans()):
        frames = {name: _with_text_ids(frame) for name, frame in frames.items()}
    more = draw(st.lists(st.sampled_from(TABLES), max_size=4, unique=True))
    if "candidates" in more and draw(st.booleans()):
        frames["candidates"] = frames["candidates"].select("item").unique().sort("item")
    kept = {name: frames[name] for name in ("predictions", "truth", *TABLES) if name in frames}
    kept = {n: f for n, f in kept.items() if n in ("predictions", "truth") or n in more}
    switches = draw(st.fixed_dictionaries({}, optional=CONVENTIONS))
    switches = {"undefined": "zero", **switches}
    if repeats == "repeated":
        switches |= draw(st.fixed_dictionaries(DUPLICATES))
    names = [*METRICS, *METRICS_OF_ITEMS]
    possible = [name for name in names if NEEDS.get(name, "truth") in kept]
    metrics = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=5, unique=True))
    raises = repeats == "repeated"  # parts can come across another error first
    others = [] if raises else draw(st.sampled_from(([], [], ["recbole", "lenskit-2026"])))
    options: dict[str, Any] = {
        "metrics": metrics, "convention": [switches, *others] if others else switches,
        "intervals": draw(st.booleans()),
    }  # fmt: skip
    slicings = ["truth.depth", "truth.depth:2", *(["plan"] if "users" in more else [])]
    slicings += ["activity:0,2,5", "activity:2", "popularity:3", "known"] if "train" in more else []
    slices = draw(st.lists(st.sampled_from(slicings), max_size=2, unique=True))
    named = draw(st.none() | st.integers(0, 9))
    if named is not None:  # users with a list, of whom some have an empty one
        options["users_of_lists"] = frames["users"]["user"].sample(40, seed=named).to_list()
    return kept, {**options, **({"slices": slices} if slices else {})}


def _with_text_ids(frame: pl.DataFrame) -> pl.DataFrame:
    ids = [name for name in ("user", "item") if name in frame.columns]
    return frame.with_columns(pl.format(f"{name[0]}{{}}", name).alias(name) for name in ids)


def compare_roads(frames: Frames, move: Callable[[pl.DataFrame], Any], **options: Any) -> None:
    """Require that an engine says what is said of the same tables in memory."""
    tables = {name: move(frame) for name, frame in frames.items()}
    sides = (tables.pop("predictions"), tables.pop("truth"))
    moved = outcome(*sides, **tables, **options)
    assert moved == outcome(*sides, **tables, **options, engine="local")
