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
    graded = _with_relevance(fixture)
    for k in CUTOFFS:
        case.add(f"ndcg[graded]@{k}", f"ndcgAt({k}) of triples", partial(graded.ndcgAt, k))
    yield case


def _with_relevance(fixture: Fixture) -> Any:
    """Return the metrics of triples of a list, a truth and its relevance values.

    PySpark drops the values, so that the class is made in the Java machine, as Scala does.
    """
    context = _session().sparkContext
    java, gateway = context._jvm, context._gateway
    truth = fixture.grouped("truth", "item", "grade")
    triples = java.java.util.ArrayList()
    for user, items in fixture.ranked().items():
        rows = truth.get(user, [])
        listed, judged = ([*items], [item for item, _ in rows])
        arrays = []
        for values in (listed, judged):
            array = gateway.new_array(java.java.lang.Object, len(values))
            for place, value in enumerate(values):
                array[place] = value
            arrays.append(array)
        grades = gateway.new_array(java.double, len(rows))
        for place, (_, grade) in enumerate(rows):
            grades[place] = float(grade)
        triples.add(java.scala.Tuple3(*arrays, grades))
    kind = java.java.lang.Class.forName("java.lang.Object")
    tag = java.scala.reflect.ClassTag.apply(kind)
    rows = context._jsc.parallelize(triples).rdd()
    return java.org.apache.spark.mllib.evaluation.RankingMetrics(rows, tag)


@cache
def _session() -> Any:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
