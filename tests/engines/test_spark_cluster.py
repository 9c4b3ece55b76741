"""Executors of Spark in processes of their own: one that is lost, and tasks that run twice because
the first attempt is slow, change nothing and are counted once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engines.conftest import SPARK

pytestmark = SPARK

CLUSTER = """
import os, signal, sys, time, warnings
from pathlib import Path

warnings.simplefilter("ignore")
import pyspark
from pyspark.sql import SparkSession

os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
os.environ["PYSPARK_PYTHON"] = sys.executable
settings = {
    "ui.enabled": "false", "ui.showConsoleProgress": "false", "driver.memory": "1g",
    "executor.memory": "512m", "sql.shuffle.partitions": "4", "sql.adaptive.enabled": "false",
    "executorEnv.PYTHONPATH": os.environ["PYTHONPATH"], "speculation": "true",
    "speculation.interval": "50ms", "speculation.quantile": "0.25",
    "speculation.multiplier": "1.1", "speculation.minTaskRuntime": "50ms",
}
builder = SparkSession.builder.master("local-cluster[2,1,1024]")
for name, value in settings.items():
    builder = builder.config(f"spark.{name}", value)
session = builder.getOrCreate()
session.sparkContext.setLogLevel("OFF")

import polars as pl
import rectitude as rt
from engines.cases import METRICS, draw_tables, outcome

driver, folder = os.getpid(), Path(sys.argv[1])


def is_first(name):
    if os.getpid() == driver:
        return False
    try:
        os.close(os.open(folder / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def lose_executor(lists, k):
    if is_first("lost"):
        daemon = os.getppid()  # of the Python workers; its own parent is the executor
        executor = Path(f"/proc/{daemon}/stat").read_text().rpartition(") ")[2].split()[1]
        os.kill(int(executor), signal.SIGKILL)
        time.sleep(30)
    return rt.metrics.Ratio(lists.hits(k), lists.relevant)


def dawdle(lists, k):
    if is_first("slow"):
        time.sleep(20)
    if os.getpid() != driver:
        (folder / f"attempt-{os.getpid()}-{time.time_ns()}").touch()
    return rt.metrics.Ratio(lists.hits(k), lists.relevant)


for function in (lose_executor, dawdle):
    rt.metric(function.__name__, formula="hits / relevant", reading="As recall.")(function)
tables = {name: draw_tables(3)[name] for name in ("predictions", "truth")}
moved = [session.createDataFrame(table.to_arrow()) for table in tables.values()]
for name in ("dawdle", "lose_executor"):
    metrics = [name, *METRICS]
    assert outcome(*moved, metrics) == outcome(*moved, metrics, engine="local"), name
written = rt.evaluate(*moved, METRICS, per_list=folder / "values")
held = rt.evaluate(*tables.values(), METRICS).per_list()
found = pl.read_parquet(folder / "values" / "*.parquet").sort("user")
assert found.equals(held.select(found.columns))
session.stop()
"""


@pytest.mark.usefixtures("spark")  # skips without Java
def test_a_lost_executor_and_speculative_tasks_change_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", CLUSTER, str(tmp_path)],
        check=False, capture_output=True, text=True, timeout=300, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert {"lost", "slow"} <= {path.name for path in tmp_path.iterdir()}
