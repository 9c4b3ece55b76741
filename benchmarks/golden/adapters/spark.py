"""Spark MLlib: `RankingMetrics` of (list, truth) pairs, one for each user that has a list.

Java 17 or later is needed. One session serves all inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import pyspark
from pyspark.mllib.evaluation import RankingMetrics
from pyspark.sql import SparkSession

from golden.fixtures import Case, Fixture

FRAMEWORK = "Spark MLlib"
CUTOFFS = (1, 3, 5, 10)
AT_K = {
    "precision": "precisionAt",
    "recall": "recallAt",
    "ndcg": "ndcgAt",
    "map": "meanAveragePrecisionAt",
}


def version() -> str:
    """The release that is installed."""
    return str(pyspark.__version__)


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate; there are no scores and no ranks, only the order of a list."""
    if fixture.kind in ("gaps", "repeated-ranks", "reference", "ties"):
        return
    truth = {
        user: [item for (item,) in rows] for user, rows in fixture.grouped("truth", "item").items()
    }
    pairs = [(items, truth.get(user, [])) for user, items in fixture.ranked().items()]
    metrics = RankingMetrics(_session().sparkContext.parallelize(pairs, 1))
    case = Case("spark-mllib", fixture, "lists", CUTOFFS)
    case.add("map", "meanAveragePrecision", lambda: metrics.meanAveragePrecision)
    for k in CUTOFFS:
        for name, method in AT_K.items():
            case.add(f"{name}@{k}", f"{method}({k})", partial(getattr(metrics, method), k))
    yield case


@cache
def _session() -> Any:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
