"""Spark and Ray beside the evaluators that others have for Spark, on two cores.

    python benchmarks/engines.py --peers PY [--ours PY] [--users 100000] [--rounds 3]
                                 [--only NAME ...] [--folder benchmarks/_data/engines]

PY is the Python of an environment: ours has rectitude[spark,ray], that of the peers is made by
`python benchmarks/peers.py install spark-evaluators`. Lists of 100 items a user in random order and
10 truth items, in Parquet; from the paths to four metrics at 10. Every contestant has a process and
a session of its own, `local[2]`, and evaluates a hundredth of the users first: sessions, workers
and compiled code are warm then. Rounds take turns. Exits 1 if ours is not three times as fast as
the fastest peer, or if a value differs from MLlib's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from limits import Limit

K = 10
TIMES_FASTER = 3.0
Values = dict[str, float]
OURS = ("rectitude on Spark", "rectitude on Spark, rows", "rectitude on Ray", "rectitude alone")
"""rows: of a DataFrame that is more than its files, so that Spark hands them over one by one"""


def _session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "6g", "spark.sql.shuffle.partitions": "8",
    }  # fmt: skip
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def _read(session: Any, folder: Path) -> tuple[Any, Any]:
    lists, truth = (str(folder / f"{name}.parquet") for name in ("shuffled", "truth"))
    return session.read.parquet(lists), session.read.parquet(truth)


def rectitude_on(engine: str, given: str = "paths") -> Callable[[Path], Values]:
    """Evaluate with rectitude, under MLlib's convention."""
    import rectitude as rt

    session = _session() if engine == "spark" else None
    if engine == "ray":
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=40)
    names = [f"{name}@{K}" for name in ("ndcg", "recall", "precision", "map")]

    def evaluate(folder: Path) -> Values:
        lists, truth = (str(folder / f"{name}.parquet") for name in ("shuffled", "truth"))
        if given == "rows":
            rows, wanted = (table.filter("user >= 0") for table in _read(session, folder))
            found = rt.evaluate(rows, wanted, names, "spark-mllib")
        else:
            found = rt.evaluate(lists, truth, names, "spark-mllib", engine=engine, memory="64GB")
        return {name.partition("@")[0]: value for name, value in found.values().items()}

    return evaluate


def mllib() -> Callable[[Path], Values]:
    """RankingMetrics, over an RDD of lists and relevant items that is kept for all metrics."""
    from pyspark.mllib.evaluation import RankingMetrics
    from pyspark.sql import functions as f

    session = _session()

    def evaluate(folder: Path) -> Values:
        lists, truth = (
            session.read.parquet(str(folder / f"{n}.parquet")) for n in ("shuffled", "truth")
        )
        ranked = lists.groupBy("user").agg(
            f.expr(
                "transform(sort_array(collect_list(struct(score, item)), false), x -> x.item)"
            ).alias("items")
        )
        wanted = truth.groupBy("user").agg(f.collect_list("item").alias("wanted"))
        pairs = ranked.join(wanted, "user").select("items", "wanted").rdd.map(tuple).cache()
        metrics = RankingMetrics(pairs)
        found = {
            "ndcg": metrics.ndcgAt(K), "recall": metrics.recallAt(K),
            "precision": metrics.precisionAt(K), "map": metrics.meanAveragePrecisionAt(K),
        }  # fmt: skip
        pairs.unpersist()
        return found

    return evaluate


def recommenders() -> Callable[[Path], Values]:
    """SparkRankingEvaluation of Microsoft recommenders, which uses MLlib underneath."""
    from pyspark.sql.functions import lit
    from recommenders.evaluation.spark_evaluation import SparkRankingEvaluation

    session = _session()

    def evaluate(folder: Path) -> Values:
        lists, truth = (
            session.read.parquet(str(folder / f"{n}.parquet")) for n in ("shuffled", "truth")
        )
        found = SparkRankingEvaluation(
            truth.withColumn("rating", lit(1.0)), lists, k=K, col_user="user", col_item="item",
            col_rating="rating", col_prediction="score",
        )  # fmt: skip
        return {
            "ndcg": found.ndcg_at_k(), "recall": found.recall_at_k(),
            "precision": found.precision_at_k(), "map": found.map_at_k(),
        }  # fmt: skip

    return evaluate


def replay() -> Callable[[Path], Values]:
    """OfflineMetrics of RePlay on DataFrames of Spark."""
    from replay.metrics import MAP, NDCG, OfflineMetrics, Precision, Recall

    session = _session()
    metrics = [NDCG(K), Recall(K), Precision(K), MAP(K)]

    def evaluate(folder: Path) -> Values:
        lists, truth = (
            session.read.parquet(str(folder / f"{n}.parquet")) for n in ("shuffled", "truth")
        )
        measure = OfflineMetrics(
            metrics, query_column="user", item_column="item", rating_column="score"
        )
        found = measure(lists, truth)
        return {name.partition("@")[0].lower(): value for name, value in found.items()}

    return evaluate


CONTESTANTS: Mapping[str, Callable[[], Callable[[Path], Values]]] = {
    "rectitude on Spark": lambda: rectitude_on("spark"),
    "rectitude on Spark, rows": lambda: rectitude_on("spark", "rows"),
    "rectitude on Ray": lambda: rectitude_on("ray"),
    "rectitude alone": lambda: rectitude_on("local"),
    "MLlib": mllib,
    "recommenders": recommenders,
    "RePlay": replay,
}


def run_one(name: str, folder: Path) -> dict[str, Any]:
    """Evaluate in this process, after a small evaluation; return the seconds and the values."""
    evaluate = CONTESTANTS[name]()
    evaluate(folder.parent / "warm")
    start, before = time.perf_counter(), cpu_seconds(os.getpid())
    values = evaluate(folder)
    seconds, cpu = time.perf_counter() - start, cpu_seconds(os.getpid()) - before
    return {"seconds": seconds, "cpu": cpu, "values": values}


def cpu_seconds(root: int) -> float:
    """The processor time of a process and its descendants so far, which other work on the machine
    changes less than the time that passes."""
    times, parents = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(") ")[2].split()
        except OSError:  # ended meanwhile
            continue
        number = int(stat.parent.name)
        parents[number], times[number] = int(fields[1]), sum(map(int, fields[11:15]))
    found = {root}
    while more := {n for n, parent in parents.items() if parent in found} - found:
        found |= more
    return sum(times[number] for number in found) / os.sysconf("SC_CLK_TCK")


def run(name: str, python: str, folder: Path) -> dict[str, Any]:
    """Evaluate in a process of its own."""
    command = [python, __file__, "--one", name, "--folder", str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=3600)
    if done.returncode:
        return {"seconds": None, "values": {}, "error": done.stderr.strip()[-300:]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="engines beside evaluators for Spark")
    parser.add_argument("--ours", default=sys.executable)
    parser.add_argument("--peers", default="")
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, default=[*CONTESTANTS])
    default = Path(__file__).resolve().parent / "_data" / "engines"
    parser.add_argument("--folder", type=Path, default=default)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(run_one(arguments.one, arguments.folder)))
        return 0
    from scale import make

    folder = arguments.folder / str(arguments.users)
    make(folder, arguments.users)
    make(arguments.folder / "warm", max(arguments.users // 100, 100))
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in arguments.only}
    for number in range(arguments.rounds):
        for name in arguments.only:
            python = arguments.ours if name in OURS else arguments.peers or arguments.ours
            found[name].append(run(name, python, folder))
            print(number + 1, name, found[name][-1], flush=True)
    return report(found)


def _values(found: Mapping[str, list[dict[str, Any]]], name: str) -> Values:
    """The values of a contestant; none if it did not run."""
    values: Iterator[Values] = (one["values"] for one in found.get(name, []))
    return next(filter(None, values), {})


def report(found: Mapping[str, list[dict[str, Any]]]) -> int:
    """Print the medians and the limits; return 1 if one is missed."""
    medians = {}
    for name, rounds in found.items():
        seconds = [one["seconds"] for one in rounds if one["seconds"] is not None]
        if seconds:
            medians[name] = statistics.median(seconds)
            cpu = statistics.median(one["cpu"] for one in rounds if one["seconds"] is not None)
            spread = f"{min(seconds):.1f} to {max(seconds):.1f}"
            print(f"{name}: {medians[name]:.1f} s ({spread}), {cpu:.1f} s of the processors")
    peers = [seconds for name, seconds in medians.items() if name not in OURS]
    limits = []
    if peers and OURS[0] in medians:
        ratio = min(peers) / medians[OURS[0]]
        limits.append(Limit("fastest peer over Spark", ratio, TIMES_FASTER, True, "x"))
    theirs, ours = _values(found, "MLlib"), _values(found, OURS[0])
    if theirs and ours:
        off = max(abs(ours[name] - theirs[name]) for name in theirs)
        limits.append(Limit("largest difference from MLlib's values", off, 1e-9))
    print(*limits, sep="\n")
    return 1 if any(limit.missed for limit in limits) else 0


if __name__ == "__main__":
    sys.exit(main())
