"""Batches against one call: what evaluating 1,024 lists at a time takes longer.

    python benchmarks/streaming.py [--users 65536] [--items 3706] [--batch 1024] [--rounds 5]
                                   [--only arrays tensors] [--json FILE]

Three ways to the same values, in one process, which take turns after a round that warms: one call
of `rt.evaluate`, `rt.Evaluator` with slices of the same arrays and sparse matrices, and
`rectitude.torch.Evaluator` with slices of tensors in main memory. Prints the seconds of each and
its time over that of one call; exits 1 if that is above the limit or a value has other bits. A
quick look takes seconds: `--users 8192 --rounds 1`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contestants import METRICS
from limits import Limit

SEEN, RELEVANT = 100, 10
MOST = 1.3
"""times one call that batches may take"""
WHOLE, WAYS = "whole", ("arrays", "tensors")

Array = np.ndarray[Any, Any]
Values = dict[str, float]


@dataclass(frozen=True)
class Data:
    """Scores of every user and item, and for each user different columns, some of them empty."""

    scores: Array
    truth: Array
    """(users, most) relevant columns, -1 for an empty place"""
    train: Array
    """(users, `SEEN`) columns seen in training"""

    @staticmethod
    def made(users: int, items: int, seed: int = 23) -> Data:
        """5 to 15 relevant items a user, which score somewhat higher than others."""
        random = np.random.default_rng(seed)
        most = 2 * RELEVANT - RELEVANT // 2
        edges = np.linspace(0, items, SEEN + most + 1).astype(np.int64)
        chosen = edges[:-1] + random.random((users, SEEN + most)) * np.diff(edges)
        columns = random.permuted(chosen.astype(np.int64), axis=1)
        scores = random.standard_normal((users, items), dtype=np.float32)
        truth, train = columns[:, :most].copy(), np.sort(columns[:, most:], axis=1)
        scores[np.arange(users)[:, None], truth] += np.float32(1.5)
        empty = np.arange(most) >= random.integers(RELEVANT // 2, most + 1, users)[:, None]
        truth[empty] = -1
        return Data(scores, truth, train)


def matrix(columns: Array, items: int) -> Any:
    """The columns of each row as a sparse matrix."""
    from scipy.sparse import csr_array

    row, place = np.nonzero(columns >= 0)
    cells = (row, columns[row, place])
    return csr_array((np.ones(len(row), np.float32), cells), shape=(len(columns), items))


def ways(data: Data, batch: int) -> dict[str, Callable[[], Values]]:
    """Each way to the values; what it is handed is made before."""
    truth, train = (matrix(part, data.scores.shape[1]) for part in (data.truth, data.train))
    slices = [slice(first, first + batch) for first in range(0, len(data.scores), batch)]
    cut = [(data.scores[part], truth[part], train[part]) for part in slices]

    def whole() -> Values:
        import rectitude as rt

        return values(rt.evaluate(rt.Scores(data.scores), truth, list(METRICS), train=train))

    def arrays() -> Values:
        import rectitude as rt

        evaluator = rt.Evaluator(METRICS)
        for scores, relevant, seen in cut:
            evaluator.update(rt.Scores(scores), relevant, train=seen)
        return values(evaluator.compute())

    def tensors() -> Values:
        import torch

        from rectitude.torch import Evaluator

        given = [torch.from_numpy(part) for part in (data.scores, data.truth, data.train)]
        evaluator = Evaluator(METRICS)
        for part in slices:
            scores, relevant, seen = (tensor[part] for tensor in given)
            evaluator.update(scores, relevant, train=seen)
        return values(evaluator.compute())

    return {WHOLE: whole, "arrays": arrays, "tensors": tensors}


def values(evaluation: Any) -> Values:
    """The value of every metric."""
    return {name: float(evaluation[name]) for name in METRICS}


def rounds(works: dict[str, Callable[[], Values]], count: int) -> dict[str, list[float]]:
    """Seconds of each way in every round, which begins with another way each time."""
    names = list(works)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(count):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            begin = time.perf_counter()
            works[name]()
            seconds[name].append(time.perf_counter() - begin)
    return seconds


def judged(seconds: dict[str, list[float]], found: dict[str, Values], batches: int) -> list[Limit]:
    """Each way's time over that of one call, and how many values have other bits."""
    limits = []
    for name in [name for name in WAYS if name in seconds]:
        pairs = list(zip(seconds[name], seconds[WHOLE], strict=True))
        ratios = [own / whole for own, whole in pairs]
        more = statistics.median((own - whole) / batches for own, whole in pairs)
        note = f"{1e3 * more:.1f} ms more a batch; rounds {min(ratios):.2f} to {max(ratios):.2f}"
        about = f"batches of {name} over one call"
        limits.append(Limit(about, statistics.median(ratios), MOST, unit="x", note=note))
        other = sum(found[name][metric] != found[WHOLE][metric] for metric in METRICS)
        limits.append(Limit(f"values of {name} with other bits", other, 0))
    return limits


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="time batches against one call")
    parser.add_argument("--users", type=int, default=65_536)
    parser.add_argument("--items", type=int, default=3_706)
    parser.add_argument("--batch", type=int, default=1_024, help="lists in a batch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--json", type=Path, help="also write every measurement there")
    given = parser.parse_args()
    every = ways(Data.made(given.users, given.items), given.batch)
    works = {name: work for name, work in every.items() if name in (WHOLE, *given.only)}
    found = {name: work() for name, work in works.items()}
    seconds = rounds(works, given.rounds)
    print(f"{given.users:,} users x {given.items:,} items, batches of {given.batch:,}")
    for name, times in seconds.items():
        print(f"{name}: {statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f})")
    limits = judged(seconds, found, -(-given.users // given.batch))
    print(*limits, sep="\n")
    if given.json:
        stored = {"seconds": seconds, "limits": [asdict(limit) for limit in limits]}
        given.json.write_text(json.dumps(stored, indent=1))
    return int(any(limit.missed for limit in limits))


if __name__ == "__main__":
    sys.exit(main())
