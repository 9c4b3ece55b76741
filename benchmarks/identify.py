"""Trying thousands of definitions: `identify` beside evaluating each of them.

    python benchmarks/identify.py [--users 100000] [--most 10000] [--sample 20] [--json FILE]

Graded truth, lists of 20 with ties, some users without a list. One process tries all assignments;
beside it, a sample of the definitions that fit is evaluated one by one, and the values compared bit
by bit. Prints one line per limit; exits 1 if one is missed. The limits are stated for 100,000
users, 10,000 assignments and two cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import resident
from limits import Limit

if TYPE_CHECKING:
    import polars as pl

SECONDS, MEGABYTES = 60.0, 2_000.0
LENGTH, RELEVANT, ITEMS = 20, 10, 5_003
METRIC = "ndcg@10"


def tables(users: int, seed: int = 11) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lists with equal scores, one user in fifty without one, and truth with grades 0 to 3.

    Items are arithmetic progressions modulo a prime, so that no pair comes twice; a third of the
    truth stands in the list.
    """
    import polars as pl

    random = np.random.default_rng(seed)
    start = random.integers(0, ITEMS, (users, 1))
    stride = random.integers(1, ITEMS, (users, 1))
    place = np.argsort(random.random((users, 4 * LENGTH)), axis=1)[:, :RELEVANT]
    place = np.where(random.random((users, RELEVANT)) < 0.1, place % LENGTH, place)
    lists = (start + stride * np.arange(LENGTH)) % ITEMS
    wanted = (start + stride * place) % ITEMS
    who, listed = np.arange(users), np.arange(users) % 50 != 7
    recs = {
        "user": np.repeat(who[listed], LENGTH),
        "item": lists[listed].ravel(),
        "score": np.round(random.random(int(listed.sum()) * LENGTH), 2),
    }
    truth = {
        "user": np.repeat(who, RELEVANT),
        "item": wanted.ravel(),
        "grade": random.integers(0, 4, users * RELEVANT).astype(float),
    }
    once = pl.DataFrame(truth).unique(["user", "item"], keep="first", maintain_order=True)
    return pl.DataFrame(recs), once


def measured(users: int, most: int, sample: int) -> tuple[dict[str, Any], list[Limit]]:
    """Seconds and memory of one search, and of evaluating some of what it found."""
    import rectitude as rt

    lists, truth = tables(users)
    rt.evaluate(lists.head(1000), truth, METRIC)  # code and kernels are loaded
    begin = time.perf_counter()
    found = rt.identify(lists, truth, METRIC, "0.5", decimals=0, most=most)
    seconds = time.perf_counter() - begin
    peak = resident("VmHWM")
    chosen = found.matches[:: max(1, len(found.matches) // sample)][:sample]
    begin = time.perf_counter()
    again = [rt.evaluate(lists, truth, one.metric, one.recipe)[one.metric] for one in chosen]
    each = (time.perf_counter() - begin) / len(chosen)
    same = sum(value == one.value for value, one in zip(again, chosen, strict=True))
    facts = {
        "users": users, "tried": found.tried, "distinct": found.distinct, "seconds": seconds,
        "one_by_one": each * found.tried, "peak": peak,
    }  # fmt: skip
    return facts, [
        Limit("seconds for all assignments", seconds, SECONDS, unit=" s"),
        Limit("peak memory", peak, MEGABYTES, unit=" MB"),
        Limit("evaluating each, times as long", each * found.tried / seconds, 1.0, at_least=True),
        Limit("values with the same bits", same / len(chosen), 1.0, at_least=True),
    ]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="identify beside evaluating one by one")
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--most", type=int, default=10_000)
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    facts, limits = measured(given.users, given.most, given.sample)
    print(
        f"{facts['users']:,} users, {facts['tried']:,} assignments of {METRIC}, "
        f"{facts['distinct']:,} distinct values: {facts['seconds']:.1f} s; evaluated one by one "
        f"they would take {facts['one_by_one']:,.0f} s."
    )
    print(*limits, sep="\n")
    if given.json:
        stored = {**facts, "limits": [asdict(limit) for limit in limits]}
        given.json.write_text(json.dumps(stored, indent=1))
    return int(any(limit.missed for limit in limits))


if __name__ == "__main__":
    sys.exit(main())
