"""The report of ten models and 100,000 users: seconds and size.

    python benchmarks/report.py [--users 100000] [--models 10]

Evaluations with values per user are made first, untimed; then the comparison of all models with the
first, and the page. Exits 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from limits import Limit

SECONDS, MEGABYTES = 20.0, 10.0
ITEMS, LENGTH = 20_000, 20


def lists(users: int, rng: Any) -> pl.DataFrame:
    """Random lists of different items."""
    step = ITEMS // LENGTH
    item = rng.integers(0, step, (users, LENGTH)) + np.arange(LENGTH) * step
    rank = np.argsort(rng.random((users, LENGTH)), axis=1)
    return pl.DataFrame(
        {
            "user": np.repeat(np.arange(users), LENGTH),
            "item": item.ravel(),
            "rank": rank.ravel(),
        }
    )


def main() -> int:
    """Command line."""
    import rectitude as rt
    from rectitude.reports.page import content_of, write

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--models", type=int, default=10)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    truth = lists(given.users, rng).group_by("user", maintain_order=True).head(5).drop("rank")
    asked = ["ndcg@{5,10,20}", "recall@{5,10,20}", "mrr"]
    models = {
        f"model-{nth}": rt.evaluate(lists(given.users, rng), truth, asked, intervals=True)
        for nth in range(given.models)
    }
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        compared = rt.compare(models, baseline="model-0")
        between = time.perf_counter()
        content = replace(content_of(models, "Ten models"), comparison=compared.as_dict())
        path = write(content, Path(folder) / "report.html")
        end = time.perf_counter()
        size = path.stat().st_size / 1e6
    about = f"{given.models} models, {given.users:,} users"
    judged = [
        Limit(f"comparison and page, {about}", end - begin, SECONDS, unit=" s",
              note=f"page alone {end - between:.2f} s"),
        Limit(f"size of the page, {about}", size, MEGABYTES, unit=" MB"),
    ]  # fmt: skip
    print(*judged, sep="\n")
    return int(any(limit.missed for limit in judged))


if __name__ == "__main__":
    sys.exit(main())
