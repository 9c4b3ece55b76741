"""Updates with tensors in main memory: time against arrays, and memory over many batches.

    python benchmarks/torch_updates.py [--rounds 5] [--json FILE]

Prints one line per limit; exits 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from contestants import METRICS
from harness import resident, run_json
from limits import Limit

SLOWER = 1.2
GROWTH = 20.0  # MB over 990 batches
PER_LIST = 400.0  # bytes of a list that is kept until repeats are known
ITEMS, RELEVANT, SEEN = 27_000, 10, 50
SHAPES = {"scores": (512, ITEMS), "few scores": (64, 1_000), "logits": (512, 10_000)}
CLASSES = ("accuracy@{1,5,10}", "mrr", "ndcg@10", "weighted_f1", "cross_entropy")
TURNS = 15
FEW, MANY = 10, 1_000


def batches(kind: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """The same update with arrays and with tensors."""
    import torch

    import rectitude as rt
    from rectitude.torch import Evaluator

    rows, columns = SHAPES[kind]
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(rows, columns)).astype(np.float32)
    tensor = torch.from_numpy(scores)
    if kind == "logits":
        targets = generator.integers(0, columns, rows)
        arrays, tensors = rt.Evaluator(CLASSES), Evaluator(CLASSES)
        given = torch.from_numpy(targets)
        return (
            lambda: arrays.update(rt.Logits(scores), targets),
            lambda: tensors.update(tensor, given),
        )
    truth, train = (distinct(generator, rows, columns, size) for size in (RELEVANT, SEEN))
    sparse = [matrix(columns_of, columns) for columns_of in (truth, train)]
    padded = [torch.from_numpy(columns_of) for columns_of in (truth, train)]
    plain, ours = rt.Evaluator(METRICS), Evaluator(METRICS)
    return (
        lambda: plain.update(rt.Scores(scores), sparse[0], train=sparse[1]),
        lambda: ours.update(tensor, padded[0], train=padded[1]),
    )


def distinct(generator: np.random.Generator, rows: int, columns: int, size: int) -> Any:
    """(rows, size) different columns in each row."""
    return np.stack([generator.choice(columns, size, replace=False) for _ in range(rows)])


def matrix(columns_of: Any, columns: int) -> Any:
    """The same columns as a sparse matrix."""
    from scipy.sparse import csr_array

    rows, size = columns_of.shape
    start = np.arange(0, rows * size + 1, size)
    return csr_array((np.ones(rows * size), columns_of.reshape(-1), start), shape=(rows, columns))


def turns(kind: str) -> dict[str, list[float]]:
    """Seconds of both updates, which take turns."""
    works = dict(zip(("arrays", "tensors"), batches(kind), strict=True))
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(TURNS + 2):
        order = list(works.items())
        for name, work in order if number % 2 else reversed(order):
            begin = time.perf_counter()
            work()
            if number > 1:  # the first turns warm
                seconds[name].append(time.perf_counter() - begin)
    return seconds


def growth(repeats: str) -> dict[str, float]:
    """Megabytes of memory after few batches and after many."""
    import torch

    from rectitude.torch import Evaluator

    generator = torch.Generator().manual_seed(0)
    evaluator = Evaluator(METRICS, repeats=repeats)  # type: ignore[arg-type]
    found: dict[str, float] = {}
    for number in range(1, MANY + 1):
        scores = torch.rand(64, 1_000, generator=generator)
        truth = torch.rand(64, 1_000, generator=generator).topk(RELEVANT).indices
        evaluator.update(scores, truth, ids=torch.arange(64) + 64 * number)
        if number in (FEW, MANY):
            _give_back()
            found[str(number)] = resident("VmRSS")
    return found


def _give_back() -> None:
    """Let the GNU allocator hand back what is free: it keeps up to 60 MB, or next to nothing, and
    neither is memory that batches take."""
    if sys.platform == "linux":
        getattr(ctypes.CDLL(None), "malloc_trim", int)(0)


PROBES: dict[str, Callable[[str], object]] = {"turns": turns, "growth": growth}


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="time updates with tensors in main memory")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="also write every measurement there")
    arguments = parser.parse_args()
    limits = [slower(kind, arguments.rounds) for kind in SHAPES] + grown()
    print(*limits, sep="\n")
    if arguments.json:
        lines = [asdict(limit) | {"missed": limit.missed} for limit in limits]
        Path(arguments.json).write_text(json.dumps(lines, indent=1))
    return int(any(limit.missed for limit in limits))


def slower(kind: str, rounds: int) -> Limit:
    """Time with tensors over time with arrays: the median of rounds in processes of their own."""
    ratios, last = [], {}
    for _ in range(rounds):
        got = run_json(["torch_updates.py", "--process", "turns", kind])
        last = {name: statistics.median(seconds) for name, seconds in got.items()}
        ratios.append(last["tensors"] / last["arrays"])
    rows, columns = SHAPES[kind]
    about = (
        f"{rows} x {columns}: {last['tensors'] * 1e3:.1f} ms / {last['arrays'] * 1e3:.1f} ms; "
        f"rounds {min(ratios):.2f} to {max(ratios):.2f}"
    )
    name = f"update with tensors over arrays, {kind}"
    return Limit(name, statistics.median(ratios), SLOWER, unit="x", note=about)


def grown() -> list[Limit]:
    """Memory that many batches leave behind, and that a kept list takes."""
    more = {}
    for repeats in ("counted", "once"):
        got = run_json(["torch_updates.py", "--process", "growth", repeats])
        more[repeats] = got[str(MANY)] - got[str(FEW)]
    lists = 64 * (MANY - FEW)
    each = more["once"] * 1e6 / lists
    note = f"{lists:,} lists of {RELEVANT} relevant items: {more['once']:.0f} MB"
    return [
        Limit(f"memory of {MANY} batches over {FEW}", more["counted"], GROWTH, unit=" MB"),
        Limit("memory of a list, where repeats count once", each, PER_LIST, unit=" B", note=note),
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--process"]:
        print(json.dumps(PROBES[sys.argv[2]](sys.argv[3])))
    else:
        sys.exit(main())
