"""Times one contestant in this process and prints one line of JSON. Started by `harness.py`.

    python benchmarks/worker.py CONTESTANT SIZE VARIANT REPEATS BUDGET

Before any timing the contestant runs once on the smallest data of the same variant (same column
types: imports, just-in-time compilation) and once on the real data (code that only large inputs
reach, the file cache). Then it is timed at least REPEATS times, until BUDGET seconds are spent.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from contestants import CONTESTANTS
from lists import folder

MOST_REPEATS = 15
EVICTED = 64 << 20  # floats: 256 MB, more than any last-level cache we expect


def measure(name: str, size: str, variant: str, repeats: int, budget: float) -> dict[str, object]:
    """Seconds of every repeat, and the values of the last."""
    evaluate = CONTESTANTS[name]()
    inputs: Path = folder(size, variant)
    evaluate(folder("XS", variant))
    values = evaluate(inputs)
    evictor = np.ones(EVICTED, np.float32)
    seconds: list[float] = []
    while len(seconds) < repeats or (sum(seconds) < budget and len(seconds) < MOST_REPEATS):
        evictor.max()  # so that nothing of the previous repeat is left in the processor's cache
        begin = time.perf_counter()
        values = evaluate(inputs)
        seconds.append(time.perf_counter() - begin)
    return {"seconds": seconds, "values": values}


if __name__ == "__main__":
    contestant, size, variant, repeats, budget = sys.argv[1:]
    print(json.dumps(measure(contestant, size, variant, int(repeats), float(budget))))
