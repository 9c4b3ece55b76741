"""Tables that are cut into parts give the values, ledger and manifest of one evaluation in memory,
bit by bit, however they are cut, sorted and stored."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_every_metric_in_batches import SIZE, batch, every_metric, world

import rectitude as rt
from rectitude.errors import RectitudeError
from rectitude.evaluation import inputs

METRICS = ["ndcg@3", "recall@2", "mrr", "map", "precision@3", "hit@1"]
BEYOND = ["item_coverage@2", "distinct_items@2", "average_popularity@2", "gini@2"]
FOLDER_IS_REUSED = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(autouse=True)
def _tiny_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "LEAST_MEMORY", 1)


def write(frame: pl.DataFrame, path: Path) -> Path:
    write_file = frame.write_csv if path.suffix == ".csv" else frame.write_parquet
    write_file(path)
    return path


def outcome(*args: Any, **options: Any) -> object:
    """Everything that an evaluation says, or the class of its error."""
    try:
        evaluation = rt.evaluate(*args, **options)
    except RectitudeError as error:
        return type(error)
    failures = {name: type(error) for name, error in evaluation.failures.items()}
    values = evaluation.per_list().to_dicts() if evaluation.lists is not None else None
    slices = None if evaluation.slices is None else evaluation.slices.as_dict()
    stored = {
        name: (result.value, result.ties, result.interval)
        for name, result in evaluation.results.items()
    }
    return stored, evaluation.ledger.as_dict(), evaluation.manifest, failures, values, slices


@st.composite
def tables(draw: st.DrawFn) -> dict[str, pl.DataFrame]:
    users, items = st.integers(0, 9), st.integers(0, 12)
    scored = st.tuples(users, items, st.integers(0, 3))
    pairs = st.tuples(users, items)
    predictions = draw(st.lists(scored, min_size=1, max_size=60, unique_by=lambda row: row[:2]))
    truth = draw(st.lists(st.tuples(users, items), min_size=1, max_size=30, unique=True))
    train = draw(st.lists(pairs, min_size=1, max_size=30))
    return {
        "predictions": pl.DataFrame(predictions, ["user", "item", "score"], orient="row"),
        "truth": pl.DataFrame(truth, ["user", "item"], orient="row"),
        "train": pl.DataFrame(train, ["user", "item"], orient="row"),
        "items": pl.DataFrame({"item": range(13)}),
    }


@FOLDER_IS_REUSED
@given(
    frames=tables(),
    suffix=st.sampled_from([".parquet", ".csv"]),
    ordered=st.booleans(),
    memory=st.sampled_from([70, 500, 2500]),
    ties=st.sampled_from(["pessimistic", "optimistic", "average"]),
    with_train=st.sampled_from(["nothing", "train", "train and items"]),
)
def test_parts_give_what_memory_gives(
    tmp_path: Path,
    frames: dict[str, pl.DataFrame],
    suffix: str,
    ordered: bool,
    memory: int,
    ties: str,
    with_train: str,
) -> None:
    if ordered:
        frames["predictions"] = frames["predictions"].sort("user")
    paths = {name: write(frame, tmp_path / f"{name}{suffix}") for name, frame in frames.items()}
    more = {name: paths[name] for name in ("train", "items") if name in with_train}
    metrics = [*METRICS, *(BEYOND if "items" in more and ties != "average" else ())]
    options = {"convention": {"ties": ties, "undefined": "zero"}, "intervals": True, **more}
    both = [
        outcome(paths["predictions"], paths["truth"], metrics, memory=limit, **options)
        for limit in (None, memory)
    ]
    assert both[0] == both[1]


@FOLDER_IS_REUSED
@given(frames=tables(), memory=st.sampled_from([70, 500]), seed=st.integers(0, 9))
def test_the_order_of_rows_does_not_matter(
    tmp_path: Path, frames: dict[str, pl.DataFrame], memory: int, seed: int
) -> None:
    shuffled = {
        name: frame.sample(fraction=1, shuffle=True, seed=seed) for name, frame in frames.items()
    }
    both = []
    for tried in (frames, shuffled):
        paths = {name: write(frame, tmp_path / f"{name}.parquet") for name, frame in tried.items()}
        train = paths["train"]
        both.append(
            outcome(paths["predictions"], paths["truth"], METRICS, train=train, memory=memory)
        )
    assert both[0] == both[1]


@FOLDER_IS_REUSED
@given(frames=tables(), memory=st.sampled_from([70, 500]), keyed=st.booleans())
def test_sessions_are_cut_by_user_so_that_users_can_be_averaged(
    tmp_path: Path, frames: dict[str, pl.DataFrame], memory: int, keyed: bool
) -> None:
    session = (pl.col("user") * 10 + pl.col("item") % 2).alias("session")
    paths = {
        name: write(frames[name].with_columns(session), tmp_path / f"{name}.parquet")
        for name in ("predictions", "truth")
    }
    unit = {"unit": "user" if keyed else "list"}
    options: dict[str, Any] = {"list_key": "session", "convention": unit}
    both = [
        outcome(paths["predictions"], paths["truth"], METRICS, memory=limit, **options)
        for limit in (None, memory)
    ]
    assert both[0] == both[1]


@pytest.fixture(scope="module")
def of_the_world(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Files of a small world, with everything that any metric needs."""
    folder, given = tmp_path_factory.mktemp("world"), world(6)
    predictions, truth, tables = batch(given, np.arange(SIZE), "lists")
    frames = {"predictions": predictions.source, "truth": truth, **tables}
    return {name: write(frame, folder / f"{name}.parquet") for name, frame in frames.items()}


@pytest.mark.parametrize("without", ["nothing", "items"])
@pytest.mark.parametrize("name", every_metric("lists"))
def test_every_metric_alone_has_the_bits_of_memory(
    name: str, without: str, of_the_world: dict[str, Any]
) -> None:
    """Alone, because training data and users are cut unless one of the metrics needs all of
    them."""
    inputs = {side: path for side, path in of_the_world.items() if side != without}
    files = inputs.pop("predictions"), inputs.pop("truth")
    options: dict[str, Any] = {"convention": {"undefined": "zero"}, **inputs}
    both = [outcome(*files, name, memory=limit, **options) for limit in (None, 6000)]
    assert both[0] == both[1]


KINDS: dict[str, Callable[[int], object]] = {
    "whole": int,
    "negative": lambda n: n - 5,
    "text": lambda n: f"u{n}",
    "whole as text": str,
    "one is text": lambda n: "x" if n == 7 else str(n),
    "one has a zero": lambda n: f"{n:02}" if n == 3 else str(n),
    "some beyond 63 bits": lambda n: str(2**63 + n) if n % 4 == 0 else str(n),
    "negative and beyond 63 bits": lambda n: str(2**63 + n) if n % 4 == 0 else str(n - 5),
    "hashes": lambda n: f"{'cab'[n % 3] * 70}{n}",
    "words of no value": lambda n: ("nan", "None", "NULL", "null")[n % 4] + str(n // 4),
    "fractions": lambda n: n + 0.5,
    "dates": lambda n: date(2020, 1, 1 + n),
}


@settings(FOLDER_IS_REUSED, max_examples=100)
@given(
    frames=tables(),
    kinds=st.tuples(*[st.sampled_from([*KINDS])] * 2),
    others=st.sampled_from(["the same", "whole as text"]),
    suffixes=st.tuples(*[st.sampled_from([".csv", ".parquet"])] * 3),
    memory=st.sampled_from([70, 500]),
    trained=st.booleans(),
)
def test_ids_of_any_kind_are_the_same_ids_in_parts(
    tmp_path: Path,
    frames: dict[str, pl.DataFrame],
    kinds: tuple[str, str],
    others: str,
    suffixes: tuple[str, ...],
    memory: int,
    trained: bool,
) -> None:
    """Whether text in a file is read as integers depends on all rows of all tables, and decides how
    ids are sorted, matched and shown."""
    paths = {}
    for name, suffix in zip(("predictions", "truth", "train"), suffixes, strict=True):
        own = kinds if name == "predictions" or others == "the same" else (others, others)
        ids = [
            pl.Series(column, [KINDS[kind](n) for n in frames[name][column]])
            for column, kind in zip(("user", "item"), own, strict=True)
        ]
        paths[name] = write(frames[name].with_columns(ids), tmp_path / f"{name}{suffix}")
    given = paths["predictions"], paths["truth"], METRICS
    options = {"train": paths["train"]} if trained else {}
    convention = {"ties": "item_ascending"}
    both = [
        outcome(*given, convention=convention, memory=limit, **options) for limit in (None, memory)
    ]
    assert both[0] == both[1]


SLICINGS = [
    "activity", "popularity:3", "known", "time:2", "time:1970-01-01T00:00:04,", "age:2", "sex",
    "price:3", "colour", "truth.depth:2", "page:2", ["activity:2", "colour"], "time", "hour:2,4",
    "activity:1,3",
]  # fmt: skip


@st.composite
def attributes(draw: st.DrawFn) -> dict[str, pl.DataFrame]:
    frames = draw(tables())
    numbers = st.one_of(st.none(), st.integers(0, 6))

    def column(name: str, frame: pl.DataFrame) -> pl.Series:
        values = st.lists(numbers, min_size=frame.height, max_size=frame.height)
        return pl.Series(name, draw(values), pl.Int64)

    truth = frames["truth"]
    hours = column("hour", truth)
    frames["truth"] = truth.with_columns(
        pl.lit(1).alias("grade"),
        hours.fill_null(0).alias("timestamp"),
        column("depth", truth),
        hours,
    )
    people = pl.DataFrame({"user": range(10)})
    frames["users"] = people.with_columns(column("age", people), column("sex", people) % 2)
    items = frames["items"]
    frames["items"] = items.with_columns(column("price", items), column("colour", items) % 3)
    page = (pl.col("user") * 7 % 5).alias("page")
    frames["predictions"] = frames["predictions"].with_columns(page)
    return frames


@settings(FOLDER_IS_REUSED, max_examples=25)
@given(
    frames=attributes(),
    slicings=st.lists(st.sampled_from(SLICINGS), min_size=1, max_size=3, unique_by=str),
    suffix=st.sampled_from([".parquet", ".csv"]),
    memory=st.sampled_from([300, 1500]),
    ordered=st.booleans(),
)
def test_slices_of_parts_are_those_of_memory(
    tmp_path: Path, frames: dict[str, pl.DataFrame], slicings: list[Any], suffix: str, memory: int,
    ordered: bool,
) -> None:  # fmt: skip
    if ordered:
        frames["predictions"] = frames["predictions"].sort("user")
    paths = {name: write(frame, tmp_path / f"{name}{suffix}") for name, frame in frames.items()}
    given = paths.pop("predictions"), paths.pop("truth"), ["ndcg@3", "mrr"]
    both = [outcome(*given, slices=slicings, memory=limit, **paths) for limit in (None, memory)]
    is_error = [isinstance(found, type) for found in both]  # several errors come in another order
    assert both[0] == both[1] or all(is_error)
