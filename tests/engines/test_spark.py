"""Spark gives the values, ledger, manifest and values per list of one evaluation in memory, bit by
bit, for any number of partitions, and for tasks that fail."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from engines.cases import METRICS, compare_roads, draw_case, draw_tables, outcome
from rectitude.errors import BadArgument, BadIds, BadTable, MissingExtra

pytestmark = [pytest.mark.java, pytest.mark.filterwarnings("ignore")]
Move = Callable[[pl.DataFrame], Any]


@pytest.fixture
def move(spark: Any) -> Move:
    """Make DataFrames of Spark, which are shuffled to seven partitions."""
    spark.conf.set("spark.sql.shuffle.partitions", "7")
    return lambda frame: spark.createDataFrame(frame.to_arrow())


@pytest.mark.parametrize(("parts", "seed"), [(1, 1), (7, 0), (7, 2), (7, 3), (200, 6)])
def test_spark_gives_what_memory_gives(spark: Any, move: Move, parts: int, seed: int) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", str(parts))
    frames, options = draw_case(seed)
    compare_roads(frames, move, **options)


def test_sessions_are_cut_by_user_so_that_users_can_be_averaged(move: Move) -> None:
    session = (pl.col("user") * 10 + pl.col("item") % 2).alias("session")
    tables = draw_tables(8)
    frames = {name: tables[name].with_columns(session) for name in ("predictions", "truth")}
    options = {"list_key": "session", "convention": {"unit": "user"}}
    compare_roads(frames, move, metrics=METRICS, **options)


def test_slices_and_several_conventions_in_one_call(move: Move) -> None:
    tables = draw_tables(9)
    people = pl.DataFrame({"user": range(63), "plan": ["free", "paid", "paid"] * 21})
    sides = [move(tables[name]) for name in ("predictions", "truth")]
    options = {"users": move(people), "slices": "plan", "convention": ["default", "ranx"]}
    both = [
        rt.evaluate(*sides, "ndcg@3", engine=engine, **options) for engine in ("local", "spark")
    ]
    for name in ("default", "ranx"):
        assert both[0][name].as_dict() == both[1][name].as_dict()


def test_a_task_that_fails_once_counts_once(move: Move, tmp_path: Path) -> None:
    """The worker that comes first ends in the middle of its part; Spark starts another one."""
    died, alive = tmp_path / "died", os.getpid()

    def end_once(lists: Any, k: int | None) -> Any:
        if os.getpid() != alive:
            try:
                os.close(os.open(died, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return rt.metrics.Ratio(lists.hits(k), lists.relevant)
            os._exit(1)
        return rt.metrics.Ratio(lists.hits(k), lists.relevant)

    rt.metric("ends once", formula="hits / relevant", reading="As recall.")(end_once)
    try:
        frames = {name: draw_tables(3)[name] for name in ("predictions", "truth")}
        compare_roads(frames, move, metrics=["end_once", *METRICS])
    finally:
        rt.METRICS.remove("end_once")
    assert died.exists()


def test_paths_are_read_by_spark(spark: Any, move: Move, tmp_path: Path) -> None:
    tables = draw_tables(4)
    for name, frame in tables.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    sides = [str(tmp_path / f"{name}.parquet") for name in ("predictions", "truth")]
    options = {"train": str(tmp_path / "train.parquet"), "items": tmp_path / "items.parquet"}
    stored, ledger, _, _, lists = outcome(*sides, METRICS, engine="spark", **options)
    expected, ledger_in_memory, _, _, lists_in_memory = outcome(*sides, METRICS, **options)
    assert (stored, lists) == (expected, lists_in_memory)
    assert ledger == ledger_in_memory


def test_names_of_tables_are_read_by_spark(spark: Any, move: Move) -> None:
    tables = draw_tables(4)
    for name in ("predictions", "truth"):
        move(tables[name]).createOrReplaceTempView(f"shop_{name}")
    value = rt.evaluate("shop_predictions", "shop_truth", "mrr", engine="spark")["mrr"]
    assert value == rt.evaluate(tables["predictions"], tables["truth"], "mrr")["mrr"]


def test_whole_lists_in_a_row_are_read_as_als_returns_them(spark: Any, move: Move) -> None:
    rows = [(1, [(5, 0.9), (6, 0.8)]), (2, [(6, 0.7)])]
    schema = "userId int, recommendations array<struct<itemId:int,rating:float>>"
    lists, truth = spark.createDataFrame(rows, schema), pl.DataFrame({"user": [1, 2], "item": 6})
    assert rt.evaluate(lists, move(truth), "mrr")["mrr"] == (1 / 2 + 1) / 2


def test_columns_are_named_as_for_any_frame(move: Move) -> None:
    tables = draw_tables(5)
    renamed = tables["predictions"].rename({"user": "who", "item": "what id", "score": "s"})
    lists = rt.Lists(move(renamed), user="who", item="what id", score="s")
    truth = move(tables["truth"])
    assert outcome(lists, truth, METRICS) == outcome(lists, truth, METRICS, engine="local")


def test_lists_without_an_order_are_refused(move: Move) -> None:
    tables = draw_tables(5)
    lists, truth = move(tables["predictions"].drop("score")), move(tables["truth"])
    with pytest.raises(BadTable, match="neither rank nor score"):
        rt.evaluate(lists, truth, "mrr")


def test_errors_of_workers_are_those_of_memory(move: Move) -> None:
    tables = draw_tables(5)
    lists, truth = tables["predictions"], tables["truth"]
    late = pl.DataFrame({"user": [None], "item": [1], "score": [1.0]}, schema=lists.schema)
    many = lists.select("user").unique().join(pl.DataFrame({"item": range(40)}), how="cross")
    many = many.with_columns(score=pl.lit(1.0))  # the late row is behind those looked at first
    with pytest.raises(BadIds, match="have no user"):
        rt.evaluate(move(pl.concat([many, late])), move(truth), "mrr")
    with pytest.raises(BadIds):
        rt.evaluate(move(lists), move(truth.cast({"user": pl.String})), "mrr")


def test_nothing_in_common_is_reported_as_in_memory(move: Move) -> None:
    tables = draw_tables(5)
    lists, truth = tables["predictions"], tables["truth"]
    for other in ("item", "user"):
        moved = truth.with_columns(pl.col(other) + 1000)
        compare_roads({"predictions": lists, "truth": moved}, move, metrics=METRICS)


def test_other_tables_must_be_those_of_spark(move: Move) -> None:
    tables = draw_tables(5)
    sides = [move(tables[name]) for name in ("predictions", "truth")]
    with pytest.raises(BadArgument, match="train is of type DataFrame"):
        rt.evaluate(*sides, "mrr", train=tables["train"])


def test_a_missing_package_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rectitude.evaluation.engines.find_spec", lambda package: None)
    with pytest.raises(MissingExtra, match=r"pip install 'rectitude\[spark\]'"):
        rt.evaluate("lists.parquet", "truth.parquet", "mrr", engine="spark")


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(BadArgument, match="'spark'"):
        rt.evaluate({"ann": ["a"]}, {"ann": ["a"]}, "mrr", engine="flink")


def test_a_worker_without_rectitude_is_told_which_python_to_set() -> None:
    from rectitude.engines.spark import _explain

    error = _explain(RuntimeError("ModuleNotFoundError: No module named 'rectitude'"))
    assert isinstance(error, MissingExtra)
    assert "PYSPARK_PYTHON" in str(error)
