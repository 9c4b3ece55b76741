"""Measurements of ourselves that need a process of their own. Each prints one line of JSON.

    python benchmarks/probes.py memory SIZE VARIANT    # peak memory of one call
    python benchmarks/probes.py together SIZE          # F1 and NDCG, alone and together
    python benchmarks/probes.py small                  # 1,000 users; is numba left alone?

`limits.py` starts them and holds the numbers against the limits.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from contestants import CUTOFFS, METRICS, rectitude
from harness import resident
from lists import folder

if TYPE_CHECKING:
    import polars as pl

REPEATS = 7

Result = TypeVar("Result")


def memory(size: str, variant: str) -> dict[str, float]:
    """Peak resident memory of one evaluation above what the loaded tables already take, in MB.

    Both tables are read with Polars and kept; the kernel's high-water mark is reset; then the
    frames are evaluated, first call and all: what it imports and compiles counts as its own.
    """
    import rectitude as rt

    recs, truth = _frames(folder(size, variant))
    loaded = resident("VmRSS")
    _, rise = peak_rise(lambda: rt.evaluate(recs, truth, metrics=list(METRICS)))
    return {"loaded": loaded, "rise": rise}


def together(size: str) -> dict[str, float]:
    """Seconds for NDCG alone, F1 alone and both, at every cutoff, on frames in memory.

    The three take turns, so that a slow spell of the machine meets all of them.
    """
    import rectitude as rt

    recs, truth = _frames(folder(size))
    ndcg, f1 = [f"ndcg@{k}" for k in CUTOFFS], [f"f1@{k}" for k in CUTOFFS]
    seconds: dict[str, list[float]] = {"ndcg": [], "f1": [], "both": []}
    for number in range(REPEATS + 1):
        for name, metrics in zip(seconds, (ndcg, f1, ndcg + f1), strict=True):
            begin = time.perf_counter()
            rt.evaluate(recs, truth, metrics=metrics)
            if number:  # the first turn warms
                seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(repeats) for name, repeats in seconds.items()}


def small() -> dict[str, object]:
    """The small job from files, and whether it dragged the compiler in."""
    values = rectitude()(folder("T"))
    return {"numba": "numba" in sys.modules, "ndcg@10": values["ndcg@10"]}


def _frames(where: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables, read with Polars."""
    import polars as pl

    return pl.read_parquet(where / "recs.parquet"), pl.read_parquet(where / "truth.parquet")


def peak_rise(work: Callable[[], Result]) -> tuple[Result, float]:
    """What some work returns, and the peak of resident memory during it above that before, in MB.

    Needs Linux: the kernel's high-water mark is reset first.
    """
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    result = work()
    return result, resident("VmHWM") - before


PROBES: dict[str, Callable[..., object]] = {"memory": memory, "together": together, "small": small}

if __name__ == "__main__":
    print(json.dumps(PROBES[sys.argv[1]](*sys.argv[2:])))
