"""Preparing twenty million interactions, against plain Polars and RePlay on the same work.

    python benchmarks/prepare.py                          # every step, three rounds
    python benchmarks/prepare.py --rows 1000000 --rounds 1 --steps k_core

Each measurement is a fresh process that reads `_data/log-<rows>.parquet` (written from a fixed
seed), runs the step once on an eighth of it (imports, compilation), and is then timed on all of it.
Contestants must leave as many rows as we do. Ratios are formed within a round; the median is shown,
with the seconds of processor time beside it: a busy machine changes those least.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import ProcessFailed, note, python_of, run_json
from peers import PEERS

DATA = Path(__file__).resolve().parent / "_data"
CORE = 5
STEPS: dict[str, dict[str, Any]] = {
    "k_core": {"users": CORE, "items": CORE},
    "n_filter": {"users": CORE, "items": CORE},
    "deduplicate": {},
    "latest": {"n": CORE},
    "threshold": {"at": "user_mean"},
}


def table(rows: int) -> Path:
    """Interactions with skewed popularity and activity, as a Parquet file."""
    path = DATA / f"log-{rows}.parquet"
    if path.exists():
        return path
    import numpy as np
    import polars as pl

    random = np.random.default_rng(11)
    users = (random.pareto(1.2, rows) * 2000).astype(np.int64) % (rows // 40)
    items = (random.pareto(1.0, rows) * 500).astype(np.int64) % (rows // 150)
    columns = {
        "user": users,
        "item": items,
        "grade": random.integers(1, 6, rows).astype(np.float64),
        "timestamp": random.integers(1_500_000_000, 1_600_000_000, rows),
    }
    DATA.mkdir(exist_ok=True)
    pl.DataFrame(columns).write_parquet(path)
    return path


def ours(step: str) -> Callable[[Any], int]:
    """A step of a recipe, with its account."""
    from rectitude.prepare import prepare

    return lambda frame: prepare(frame, [{"step": step, **STEPS[step]}]).frame.height


def polars(step: str) -> Callable[[Any], int]:
    """The same as one would write it in Polars."""
    import polars as pl

    def one_pass(frame: Any) -> Any:
        enough = [pl.len().over(side) >= CORE for side in ("user", "item")]
        return frame.filter(enough[0] & enough[1])

    def core(frame: Any) -> Any:
        while (left := one_pass(frame)).height < frame.height:
            frame = left
        return frame

    ways: dict[str, Callable[[Any], Any]] = {
        "k_core": core,
        "n_filter": one_pass,
        "deduplicate": lambda f: f.sort("timestamp").unique(["user", "item"], keep="last"),
        "latest": lambda f: f.sort("timestamp").group_by("user").tail(CORE),
        "threshold": lambda f: f.filter(pl.col("grade") >= pl.col("grade").mean().over("user")),
    }
    return lambda frame: int(ways[step](frame).height)


def replay(step: str) -> Callable[[Any], int]:
    """RePlay's filters, where it has one for the step."""
    from replay.preprocessing import filters

    sides = {"query_column": "user", "item_column": "item"}
    if step == "k_core":
        least = {"min_inter_per_user": CORE, "min_inter_per_item": CORE}
        way = filters.InteractionEntriesFilter(**sides, **least)
    elif step == "latest":
        names = {"query_column": "user", "timestamp_column": "timestamp"}
        way = filters.NumInteractionsFilter(CORE, first=False, item_column="item", **names)
    else:
        raise NotImplementedError(step)
    return lambda frame: int(way.transform(frame).height)


CONTESTANTS = {"rectitude": ours, "polars": polars, "replay": replay}
PEER_STEPS = {"replay": ("k_core", "latest")}


def work(name: str, step: str, path: str) -> None:
    """Time one step in this process and print a line of JSON."""
    import polars as pl

    frame = pl.read_parquet(path)
    run = CONTESTANTS[name](step)
    run(frame.head(max(frame.height // 8, 1)))
    begin, busy = time.perf_counter(), time.process_time()
    left = run(frame)
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "busy": busy, "left": left, "megabytes": peak}))


def round_of(step: str, path: Path) -> dict[str, dict[str, Any]]:
    """Every contestant once."""
    found = {}
    for name in CONTESTANTS:
        absent = name in PEERS and not (PEERS[name].installed and step in PEER_STEPS[name])
        if absent:
            continue
        python = python_of(name if name in PEERS else None)
        try:
            found[name] = run_json(["prepare.py", "--work", name, step, str(path)], python)
        except ProcessFailed as error:
            note(f"{name}, {step}: {error}")
    return found


def report(step: str, rounds: list[dict[str, dict[str, Any]]]) -> None:
    """Seconds, how many times ours, rows left and peak memory of each contestant."""
    for name in rounds[0]:
        done = [one for one in rounds if name in one and "rectitude" in one]
        seconds = statistics.median(one[name]["seconds"] for one in done)
        ratio = statistics.median(
            one[name]["seconds"] / one["rectitude"]["seconds"] for one in done
        )
        busy = statistics.median(one[name]["busy"] for one in done)
        last = done[-1][name]
        print(
            f"{step:12} {name:10} {seconds:8.2f} s {ratio:6.2f}x {busy:8.2f} s busy"
            f" {last['left']:>12,} rows {last['megabytes']:>8,.0f} MB"
        )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(*options.work)
        return 0
    path = table(options.rows)
    for step in options.steps:
        report(step, [round_of(step, path) for _ in range(options.rounds)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
