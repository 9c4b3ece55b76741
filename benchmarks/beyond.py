"""Beyond accuracy: what coverage, popularity, diversity and fairness cost beside accuracy alone.

    python benchmarks/beyond.py [--lists 1000000] [--rounds 3] [--json FILE]

Lists of 20 over 100,000 items, in frames in memory, with train (10 rows a user), truth (5), a
catalogue with categories and groups, and users with groups. Every contestant is the same call with
other metrics, at the cutoffs 10 and 20, in a process of its own; they take turns. A process
evaluates three times, and the median is compared; the first time, in which it also gets its memory
from the system, is told beside. Prints one line per limit; exits 1 if a limit is missed. The limits
are stated for a million lists.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness import Cell, Ratio, Result, Series, resident, run_json, run_rounds
from limits import Limit

ITEMS, PLACES, RELEVANT, MET, VECTOR, CATEGORIES, GROUPS = 100_000, 20, 5, 10, 64, 20, 4
WARMING = 150_000  # lists: enough that kernels are used, and so compiled
TIMES, REPEATS = 3.0, 3
ACCURACY = ("precision", "recall", "f1", "hit", "mrr", "map", "ndcg")
BEYOND = (
    "distinct_items", "item_coverage", "train_coverage", "gini", "entropy",
    "average_popularity", "popularity_rank", "long_tail_share", "least_popular_share",
    "inverse_user_frequency", "self_information", "surprisal", "epc", "efd", "serendipity",
    "unexpectedness", "unseen_share", "category_diversity", "category_coverage",
    "calibration_kl", "calibration_js", "calibration_hellinger",
    "reo", "pop_reo", "rsp", "pop_rsp", "bias_disparity_bd",
)  # fmt: skip
CONTESTANTS: Mapping[str, tuple[str, ...]] = {
    "accuracy": ACCURACY,
    "beyond": (*ACCURACY, *BEYOND),
    "diversity": (*ACCURACY, "ild"),
    "calibration": (*ACCURACY, "calibration_js"),
    "history": (*ACCURACY, "history_serendipity"),
}


def inputs(lists: int, vectors: bool) -> dict[str, Any]:
    """Seeded tables: popular items are more often shown, wanted and met."""
    import numpy as np
    import polars as pl

    random = np.random.default_rng(7)

    def drawn(size: int) -> Any:
        return (ITEMS * random.random(size) ** 3).astype(np.int64)

    def pairs(each: int) -> Any:
        user = np.repeat(np.arange(lists), each)
        return pl.DataFrame({"user": user, "item": drawn(lists * each)}).unique(keep="first")

    start = drawn(lists)[:, None]
    step = 1 + drawn(lists)[:, None] % (ITEMS // PLACES - 1)
    item = (start + np.arange(PLACES) * step) % ITEMS
    user, rank = np.divmod(np.arange(lists * PLACES), PLACES)
    catalogue: dict[str, Any] = {
        "item": np.arange(ITEMS),
        "category": random.integers(0, CATEGORIES, ITEMS),
        "group": random.integers(0, GROUPS, ITEMS),
    }
    users = {"user": np.arange(lists), "group": random.integers(0, GROUPS, lists)}
    if vectors:
        catalogue["embedding"] = random.normal(size=(ITEMS, VECTOR))
    return {
        "predictions": pl.DataFrame({"user": user, "item": item.reshape(-1), "rank": rank + 1}),
        "truth": pairs(RELEVANT).sort("user"),
        "train": pairs(MET).sort("user"),
        "items": pl.DataFrame(catalogue),
        "users": pl.DataFrame(users),
    }


def evaluation(contestant: str, lists: int) -> Result:
    """Seconds of evaluations, the peak memory of their process, and that of the inputs alone."""
    import rectitude as rt

    metrics = [f"{name}@{{10,20}}" for name in CONTESTANTS[contestant]]
    convention = {"undefined": "skip"}
    rt.evaluate(
        **inputs(WARMING, contestant == "diversity"), metrics=metrics, convention=convention
    )
    given = inputs(lists, contestant == "diversity")
    before, seconds = resident("VmRSS"), []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        found = rt.evaluate(**given, metrics=metrics, convention=convention)
        seconds.append(time.perf_counter() - begin)
    values = {name: float(value) for name, value in found.values().items()}
    return {"seconds": seconds, "values": values, "peak": resident("VmHWM"), "inputs": before}


def main() -> int:
    """Command line."""
    arguments = parse()
    cells = {name: Cell(name, str(arguments.lists)) for name in CONTESTANTS}
    results, failed = run_rounds([[*cells.values()]], arguments.rounds, measure)
    print(
        f"{arguments.lists:,} lists of {PLACES} over {ITEMS:,} items, {RELEVANT} relevant and "
        f"{MET} met items a user; {2 * len(ACCURACY)} values of accuracy, {2 * len(BEYOND)} beyond."
    )
    for cell, reason in failed.items():
        print(f"{cell} failed: {reason}")
    limits = [] if failed else limits_of({name: results[cell] for name, cell in cells.items()})
    print(*limits, sep="\n")
    if arguments.json:
        kept = {str(cell): found for cell, found in results.items()}
        lines = [asdict(limit) | {"missed": limit.missed} for limit in limits]
        Path(arguments.json).write_text(json.dumps({"cells": kept, "limits": lines}, indent=1))
    return int(bool(failed) or any(limit.missed for limit in limits))


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description="time metrics beyond accuracy")
    parser.add_argument("--lists", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", metavar="FILE", help="also write every measurement there")
    return parser.parse_args()


def measure(cell: Cell) -> Result:
    """Run one contestant in a process of its own."""
    return run_json(["beyond.py", "--process", cell.contestant, cell.variant])


def limits_of(results: Mapping[str, list[Result]]) -> list[Limit]:
    """All beyond accuracy is held to a limit; what is reported beside it stands by itself."""
    alone = Series.of(results["accuracy"])
    found = []
    for name, about, bound in (
        ("beyond", "all beyond accuracy, over accuracy alone", TIMES),
        ("diversity", f"intra-list distance of vectors of {VECTOR}, over accuracy alone", None),
        ("calibration", "calibration of categories, over accuracy alone", None),
        ("history", "serendipity by history, over accuracy alone", None),
    ):
        mine = Series.of(results[name])
        ratio = Ratio.of(mine.medians, alone.medians)
        told = (
            f"{mine.median:.2f} s / {alone.median:.2f} s; "
            f"rounds {ratio.least:.2f} to {ratio.most:.2f}"
        )
        found.append(Limit(about, ratio.median, bound, unit="x", note=told))
    for name, measured in results.items():
        first = statistics.median(result["seconds"][0] for result in measured)
        found.append(Limit(f"first time, {name}", first, unit=" s"))
    for name, measured in results.items():
        peak, before = (max(result[what] for result in measured) for what in ("peak", "inputs"))
        found.append(
            Limit(f"peak memory, {name}", peak, unit=" MB", note=f"inputs {before:.0f} MB")
        )
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--process"]:
        print(json.dumps(evaluation(sys.argv[2], int(sys.argv[3]))))
    else:
        sys.exit(main())
