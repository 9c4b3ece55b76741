"""Evaluating from embeddings: time against the matrix product alone, and bounded memory.

    python benchmarks/embeddings.py [--users 20000 | --users 1000000] [--rounds 3] [--json FILE]

Prints one line per limit; exits 1 if a limit is missed. The limit on memory is stated for a
million users, which take fifty times as long.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from arrays import EMBEDDED_ITEMS, EMBEDDINGS, RELEVANT, VECTOR, ensure, load_embeddings
from contestants import METRICS
from harness import Cell, Ratio, Result, Series, resident, run_json, run_rounds
from limits import Limit

MEGABYTES = 2_000.0
CALLS = 10  # the least a wait of minutes should tell of itself
WARMING = 256  # users


def evaluation(size: str) -> Result:
    """Seconds and peak memory of a process that evaluates all users, and calls for progress."""
    import rectitude as rt

    users, items, pairs = load_embeddings(size)
    shape = (len(users), len(items))
    truth = pairs.matrix(shape)
    warm = rt.Embeddings(users[:WARMING], items)
    rt.evaluate(warm, truth[:WARMING], metrics=list(METRICS))
    calls: list[int] = []

    def progress(done: int, total: int) -> None:
        calls.append(done)

    everyone = rt.Embeddings(users, items)
    begin = time.perf_counter()
    found = rt.evaluate(everyone, truth, metrics=list(METRICS), progress=progress)
    seconds = time.perf_counter() - begin
    values = {name: float(found[name]) for name in METRICS}
    return {
        "seconds": [seconds],
        "values": values,
        "peak": resident("VmHWM"),
        "calls": len(calls),
        "told": calls[-1],
    }


def product(size: str) -> Result:
    """Seconds of the products alone, in the blocks that the evaluation goes through."""
    import rectitude as rt

    users, items, _ = load_embeddings(size)
    for _ in rt.Embeddings(users[:WARMING], items).open().blocks():
        pass
    dense = rt.Embeddings(users, items).open()
    begin = time.perf_counter()
    for _ in dense.blocks():
        pass
    return {"seconds": [time.perf_counter() - begin], "values": {}}


CONTESTANTS: dict[str, Callable[[str], Result]] = {"evaluation": evaluation, "product": product}


def main() -> int:
    """Command line."""
    arguments = parse()
    size = str(arguments.users)
    ensure("embeddings", size)
    ours, alone = Cell("evaluation", size), Cell("product", size)
    results, failed = run_rounds([[ours, alone]], arguments.rounds, measure)
    print(
        f"{arguments.users:,} users x {EMBEDDED_ITEMS:,} items from vectors of {VECTOR} (float32), "
        f"{RELEVANT} relevant items a user; {len(METRICS)} values."
    )
    for cell, reason in failed.items():
        print(f"{cell} failed: {reason}")
    limits = [] if failed else limits_of(results[ours], results[alone], arguments.users)
    print(*limits, sep="\n")
    if arguments.json:
        kept = {str(cell): found for cell, found in results.items()}
        lines = [asdict(limit) | {"missed": limit.missed} for limit in limits]
        Path(arguments.json).write_text(json.dumps({"cells": kept, "limits": lines}, indent=1))
    return int(bool(failed) or any(limit.missed for limit in limits))


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description="time the evaluation of embeddings")
    sizes = list(EMBEDDINGS.values())
    parser.add_argument("--users", type=int, choices=sizes, default=sizes[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", metavar="FILE", help="also write every measurement there")
    return parser.parse_args()


def measure(cell: Cell) -> Result:
    """Run one contestant in a process of its own."""
    return run_json(["embeddings.py", "--process", cell.contestant, cell.variant])


def limits_of(evaluated: list[Result], products: list[Result], users: int) -> list[Limit]:
    """Memory and progress are held to limits; time is reported against the product."""
    ours, alone = Series.of(evaluated), Series.of(products)
    ratio = Ratio.of(ours.medians, alone.medians)
    about = (
        f"{ours.median:.2f} s / {alone.median:.2f} s; rounds {ratio.least:.2f} to {ratio.most:.2f}"
    )
    peak = max(result["peak"] for result in evaluated)
    told = min(result["calls"] if result["told"] == users else 0 for result in evaluated)
    return [
        Limit("time over the matrix product alone", ratio.median, unit="x", note=about),
        Limit("peak memory, everything included", peak, MEGABYTES, unit=" MB"),
        Limit("calls for progress, the last for all users", told, CALLS, at_least=True),
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--process"]:
        print(json.dumps(CONTESTANTS[sys.argv[2]](sys.argv[3])))
    else:
        sys.exit(main())
