"""What is Spark's own: partitions of shuffles, names of tables, lists as ALS returns them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings

import rectitude as rt
from engines.cases import Frames, cases, compare_roads, draw_tables
from engines.conftest import SPARK
from rectitude.engines.spark import USUAL_PARTS
from rectitude.errors import MissingExtra, UnreadableFile

pytestmark = [*SPARK, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def conf(spark: Any) -> Iterator[Any]:
    """The session's settings, which are put back."""
    names = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")
    before = {name: spark.conf.get(name) for name in names}
    yield spark.conf
    for name, setting in before.items():
        spark.conf.set(name, setting)


@pytest.mark.parametrize("parts", [1, USUAL_PARTS])
@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases())
def test_any_number_of_partitions_gives_what_memory_gives(
    spark: Any, conf: Any, parts: int, case: tuple[Frames, dict[str, Any]]
) -> None:
    if parts == USUAL_PARTS:
        conf.unset("spark.sql.shuffle.partitions")  # as in a session that nobody has set up
    else:
        conf.set("spark.sql.shuffle.partitions", str(parts))
    conf.set("spark.sql.adaptive.enabled", "false")  # would join the small ones
    frames, options = case
    compare_roads(frames, lambda frame: spark.createDataFrame(frame.to_arrow()), **options)


@pytest.mark.parametrize(
    ("name", "found"), [("", "empty"), ("*.nope", "PATH_NOT_FOUND"), ("lists", "b.parquet")]
)
def test_what_spark_cannot_read_is_named(spark: Any, tmp_path: Path, name: str, found: str) -> None:
    (tmp_path / "lists").mkdir()
    lists = pl.DataFrame({"user": [1], "item": [1], "score": [1.0]})
    lists.write_parquet(tmp_path / "lists" / "a.parquet")
    (tmp_path / "lists" / "b.parquet").write_bytes(b"PAR1 and nothing else")
    path = str(tmp_path / name) if name == "lists" else name
    with pytest.raises(UnreadableFile, match=f"Spark cannot read .*{found}"):
        rt.evaluate(path, spark.createDataFrame(lists.to_arrow()), "mrr", engine="spark")


def test_names_of_tables_are_read_by_spark(spark: Any) -> None:
    tables = draw_tables(4)
    for name in ("predictions", "truth"):
        table = spark.createDataFrame(tables[name].to_arrow())
        table.createOrReplaceTempView(f"shop_{name}")
    value = rt.evaluate("shop_predictions", "shop_truth", "mrr", engine="spark")["mrr"]
    assert value == rt.evaluate(tables["predictions"], tables["truth"], "mrr")["mrr"]


def test_whole_lists_in_a_row_are_read_as_als_returns_them(spark: Any) -> None:
    rows = [(1, [(5, 0.9), (6, 0.8)]), (2, [(6, 0.7)])]
    schema = "userId int, recommendations array<struct<itemId:int,rating:float>>"
    lists, truth = spark.createDataFrame(rows, schema), pl.DataFrame({"user": [1, 2], "item": 6})
    truth = spark.createDataFrame(truth.to_arrow())
    assert rt.evaluate(lists, truth, "mrr")["mrr"] == (1 / 2 + 1) / 2


def test_a_worker_without_rectitude_is_told_which_python_to_set() -> None:
    from rectitude.engines.spark import _explain

    error = _explain(RuntimeError("ModuleNotFoundError: No module named 'rectitude'"))
    assert isinstance(error, MissingExtra)
    assert "PYSPARK_PYTHON" in str(error)
