"""Files larger than memory: time and memory part by part, against one evaluation in memory.

    python benchmarks/scale.py [--users 1000 10000 100000 1000000] [--memory 1GB] [--rounds 3]
                               [--folder benchmarks/_data/scale]

Lists of 100 items a user, as Parquet sorted by user and in random order, and 10 truth items a user.
Every evaluation runs in a process of its own; its memory is the peak above the interpreter with
everything imported. The CPU seconds are compared with the cost model below, which docs/scale.md
works through; they depend less on what else the machine does than the time. Exits 1 if a limit is
missed or a value has other bits.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from harness import resident
from limits import Limit

LENGTH, RELEVANT, ITEMS = 100, 10, 1_000_000
BLOCK = 50_000
"""users that are drawn at a time"""
BUCKETS = 64
"""pieces that rows are spread over before each is shuffled"""
METRICS = ["ndcg@10", "recall@20", "map", "mrr", "precision@10", "hit@10"]
ORDERS = ("sorted", "shuffled")
ABOVE = 1.5
"""times `memory` that an evaluation may take"""
FIXED = 0.4
"""the cost model: CPU seconds of an evaluation, whatever its size"""
CPU_SECONDS = {"sorted": 0.037, "shuffled": 0.17}
"""the cost model: further CPU seconds for a million rows of predictions, part by part"""
MODEL = 1.5
"""times the CPU seconds of the model that an evaluation may take, from 1 M rows on"""
SLOWER = {"sorted": 1.5, "shuffled": 3.0}
GROWTH = 1.3
"""times the seconds a row that the largest size may take, against every smaller one from 1 M rows
on: the fixed cost of an evaluation flatters the comparison with the smallest"""


def make(folder: Path, users: int) -> None:
    """Write lists and truth; nothing is held as a whole."""
    if (folder / "truth.parquet").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    pl.concat(_draw_truth(users)).write_parquet(folder / "truth.parquet.part")
    lists = pl.concat([frame.lazy() for frame in _draw_lists(users)])
    lists.sink_parquet(folder / "sorted.parquet")
    _shuffle(folder)
    (folder / "truth.parquet.part").rename(folder / "truth.parquet")


def _draw_lists(users: int) -> Iterator[pl.DataFrame]:
    for first in range(0, users, BLOCK):
        random = np.random.default_rng((1, first))
        count = min(BLOCK, users - first)
        start, step = random.integers(0, ITEMS, count), 2 * random.integers(0, 5000, count) + 7
        items = (start[:, None] + step[:, None] * np.arange(LENGTH)) % ITEMS
        yield pl.DataFrame(
            {
                "user": np.repeat(np.arange(first, first + count), LENGTH),
                "item": items.reshape(-1),
                "score": random.random(count * LENGTH, dtype=np.float32),
            }
        )


def _draw_truth(users: int) -> Iterator[pl.DataFrame]:
    for lists in _draw_lists(users):
        chosen = pl.int_range(pl.len()) % LENGTH
        hits = lists.filter(chosen % (LENGTH // RELEVANT) == 3).select("user", "item")
        missed = pl.when(pl.col("user") % 3 == 0).then("item").otherwise(pl.col("item") + ITEMS)
        yield hits.with_columns(missed.alias("item"))


def _shuffle(folder: Path) -> None:
    """Write the rows in random order: spread over pieces, then each piece is shuffled."""
    source = pl.scan_parquet(folder / "sorted.parquet")
    rows = int(source.select(pl.len()).collect().item())
    random = np.random.default_rng(2)
    pieces: list[list[pl.DataFrame]] = [[] for _ in range(BUCKETS)]
    for first in range(0, rows, BLOCK * LENGTH):
        block = source.slice(first, BLOCK * LENGTH).collect()
        bucket = pl.Series("bucket", random.integers(0, BUCKETS, block.height))
        for (number,), part in (
            block.with_columns(bucket)
            .partition_by("bucket", as_dict=True, include_key=False)
            .items()
        ):
            pieces[int(number)].append(part)
    mixed = [pl.concat(parts).sample(fraction=1, shuffle=True, seed=3) for parts in pieces]
    pl.concat(mixed).write_parquet(folder / "shuffled.parquet")


def evaluate(folder: Path, order: str, memory: str | None) -> dict[str, Any]:
    """Evaluate in this process: seconds, peak memory above the imports, values."""
    import rectitude as rt

    small = folder.parent / "warm"
    make(small, 100)
    for limit in (None, "1MB"):  # imports and compiled kernels
        rt.evaluate(small / f"{order}.parquet", small / "truth.parquet", METRICS, memory=limit)
    before, busy = _peak(), time.process_time()
    start = time.perf_counter()
    found = rt.evaluate(
        folder / f"{order}.parquet", folder / "truth.parquet", METRICS, memory=memory
    )
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    return {"seconds": seconds, "cpu": busy, "bytes": _peak() - before, "values": dict(found)}


def _peak() -> float:
    """The most memory that this process has held, in bytes."""
    return resident("VmHWM") * 1e6


def run(folder: Path, order: str, memory: str | None) -> dict[str, Any]:
    """Evaluate in a process of its own."""
    command = [sys.executable, __file__, "--one", str(folder), order, memory or ""]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measure(folder: Path, memory: str, rounds: int) -> dict[tuple[str, str], dict[str, Any]]:
    """Medians of every order, in memory and part by part, which take turns."""
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(rounds):
        for order in ORDERS:
            for way, limit in (("memory", "1TB"), ("parts", memory)):
                cells.setdefault((order, way), []).append(run(folder, order, limit))
    return {
        cell: {
            "seconds": statistics.median(one["seconds"] for one in found),
            "cpu": statistics.median(one["cpu"] for one in found),
            "bytes": max(one["bytes"] for one in found),
            "values": found[0]["values"],
        }
        for cell, found in cells.items()
    }


def limits_of(
    found: dict[tuple[str, str], dict[str, Any]], memory: str, rows: int
) -> Iterator[Limit]:
    """The limits on one size."""
    from rectitude.memory import parse_size

    size = parse_size(memory, "--memory")
    for order in ORDERS:
        whole, parts = found[order, "memory"], found[order, "parts"]
        ratio = parts["seconds"] / whole["seconds"]
        yield Limit(f"{order}: time over one evaluation in memory", ratio, SLOWER[order], unit="x")
        yield Limit(
            f"{order}: peak over memory=", parts["bytes"] / size, ABOVE, unit="x",
            note=f"{parts['bytes'] / 1e9:.2f} GB; in memory {whole['bytes'] / 1e9:.2f} GB",
        )  # fmt: skip
        if rows >= 1_000_000:
            model = FIXED + CPU_SECONDS[order] * rows / 1e6
            yield Limit(
                f"{order}: CPU seconds over the model", parts["cpu"] / model, MODEL, unit="x",
                note=f"{parts['cpu']:.1f} s; in memory {whole['cpu']:.1f} s",
            )  # fmt: skip
        other = sum(whole["values"][name] != parts["values"][name] for name in METRICS)
        yield Limit(f"{order}: values with other bits", other, 0)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="files larger than memory")
    parser.add_argument("--users", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--rounds", type=int, default=3)
    default = Path(__file__).resolve().parent / "_data" / "scale"
    parser.add_argument("--folder", type=Path, default=default)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        folder, order, memory = arguments.one
        print(json.dumps(evaluate(Path(folder), order, memory or None)))
        return 0
    limits: list[Limit] = []
    per_row = {}
    for users in arguments.users:
        folder = arguments.folder / str(users)
        make(folder, users)
        found = measure(folder, arguments.memory, arguments.rounds)
        print(f"{users * LENGTH:,} rows, memory {arguments.memory}")
        for (order, way), cell in found.items():
            per_row[order, way, users] = cell["seconds"] / (users * LENGTH)
            times = f"{cell['seconds']:.2f} s, {cell['cpu']:.2f} s CPU"
            print(f"  {order}, {way}: {times}, {cell['bytes'] / 1e9:.2f} GB")
        of_size = list(limits_of(found, arguments.memory, users * LENGTH))
        print(*(f"  {limit}" for limit in of_size), sep="\n", flush=True)
        limits += of_size
    large = [users for users in arguments.users if users * LENGTH >= 1_000_000]
    for order, users in itertools.product(ORDERS, large[:-1]):
        growth = per_row[order, "parts", large[-1]] / per_row[order, "parts", users]
        name = f"{order}: time a row, {large[-1] * LENGTH:,} rows over {users * LENGTH:,}"
        limits.append(Limit(name, growth, GROWTH, unit="x"))
        print(limits[-1])
    return 1 if any(limit.missed for limit in limits) else 0


if __name__ == "__main__":
    sys.exit(main())
