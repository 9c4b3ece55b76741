"""Resampling many users: sign flips and bootstrap intervals of their differences.

    python benchmarks/compare.py [--users 100000] [--resamples 10000] [--columns 1 12] [--json FILE]

Differences as metrics have them: most are 0. One column is one metric of two models; twelve are
four models and three metrics against a baseline, and one number of each. Prints one line per limit;
exits 1 if one is missed. The limits are stated for 100,000 users, 10,000 draws and two cores, one
column; twelve are reported.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from harness import resident
from limits import Limit

SECONDS, MEGABYTES = 10.0, 500.0


def differences(users: int, columns: int, seed: int = 17) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(users, columns) differences of two zero-inflated metrics."""
    chance = np.random.default_rng(seed)
    worth = 1 / np.log2(np.arange(2, 12))
    one, other = (
        chance.choice(worth, (users, columns)) * (chance.random((users, columns)) < share)
        for share in (0.3, 0.295)
    )
    return np.asarray(one - other)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock and of processor time."""
    begin, spent = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begin, time.process_time() - spent


def measured(
    users: int, resamples: int, columns: Sequence[int]
) -> tuple[list[dict[str, Any]], list[Limit]]:
    """Seconds of each way to resample, and the largest memory in use."""
    from rectitude.comparison.significance import interval, sign_flips

    interval(differences(100, 1), "bca", resamples=100)  # code is loaded
    facts, limits = [], []
    before = resident("VmRSS")
    for many in columns:
        values = differences(users, many)
        ways: dict[str, Callable[[], object]] = {
            "sign flips": partial(sign_flips, values, resamples),
            "percentile": partial(interval, values, "percentile", 0.05, resamples),
            "bca": partial(interval, values, "bca", 0.05, resamples),
        }
        for name, work in ways.items():
            seconds, spent = timed(work)
            facts.append({"way": name, "columns": many, "seconds": seconds, "processor": spent})
            if many == 1:
                limits.append(Limit(f"{name}, seconds", seconds, SECONDS, unit=" s"))
    limits.append(
        Limit("memory above the start", resident("VmHWM") - before, MEGABYTES, unit=" MB")
    )
    return facts, limits


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="sign flips and bootstrap of many users")
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--columns", type=int, nargs="+", default=[1, 12])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    facts, limits = measured(given.users, given.resamples, given.columns)
    print(f"{given.users:,} users, {given.resamples:,} draws or flips")
    for one in facts:
        print(
            f"{one['way']}, columns: {one['columns']}: {one['seconds']:.1f} s "
            f"({one['processor']:.1f} s of processors)"
        )
    print(*limits, sep="\n")
    if given.json:
        stored = {"measured": facts, "limits": [asdict(limit) for limit in limits]}
        given.json.write_text(json.dumps(stored, indent=1))
    return int(any(limit.missed for limit in limits))


if __name__ == "__main__":
    sys.exit(main())
