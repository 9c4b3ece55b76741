"""A Spark session and a cluster of Ray for all tests of a process, with two cores each."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging import WARNING, getLogger
from typing import Any

import polars as pl
import pytest

Move = Callable[[pl.DataFrame], Any]
"""makes a table of an engine"""
SPARK = [pytest.mark.java, pytest.mark.xdist_group("spark")]
RAY = pytest.mark.xdist_group("ray")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="missing: pip install 'rectitude[spark]'")
    if shutil.which("java") is None:
        pytest.skip("missing: java (apt-get install openjdk-17-jre-headless)")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about versions of pandas
        builder = SparkSession.builder.master("local[2,3]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.memory", "1g")
        session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        session.conf.set("spark.sql.shuffle.partitions", "7")
        yield session
        session.stop()


@contextmanager
def ray_of(workers: int) -> Iterator[Any]:
    """Start Ray with so many workers."""
    ray = pytest.importorskip("ray", reason="missing: pip install 'rectitude[ray]'")
    ray.init(
        num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
        object_store_memory=100 * 2**20,
    )  # fmt: skip
    getLogger("ray.data").setLevel(WARNING)  # a failing test would show thousands of lines
    try:
        yield ray
    finally:
        ray.shutdown()


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ray_of(2) as started:
            yield started


@pytest.fixture(
    scope="module",
    params=[pytest.param("spark", marks=SPARK), pytest.param("ray", marks=RAY)],
)
def engine(request: pytest.FixtureRequest) -> str:
    """The name of an engine, which runs."""
    request.getfixturevalue(request.param)
    return str(request.param)


@pytest.fixture(scope="module")
def move(engine: str, request: pytest.FixtureRequest) -> Move:
    """Make tables of the engine, which are divided into some parts."""
    if engine == "spark":
        session = request.getfixturevalue("spark")
        return lambda frame: session.createDataFrame(frame.to_arrow())
    import ray.data

    return lambda frame: ray.data.from_arrow([frame[:7].to_arrow(), frame[7:].to_arrow()])
