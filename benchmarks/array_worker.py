"""Times one contestant on an array in this process and prints one line of JSON.

    python benchmarks/array_worker.py KIND CONTESTANT SIZE REPEATS BUDGET

Before any timing the contestant runs on some rows of the same array (imports, compilation) and
once on all of it, when its memory is measured. Then it is timed at least REPEATS times, until
BUDGET seconds are spent. Before every repeat, in this same process, the machine's bandwidth is
probed and the array is read once: the limit beside the measurement. `array_rounds.py` starts it.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import dense_contestants
import logits_contestants
from arrays import load_dense, load_logits
from bandwidth import Probe, read_once, state
from probes import peak_rise

MOST_REPEATS = 15
WARMING = 5_000_000  # scores: enough for anything that only large inputs reach
WARMING_ROWS = 128

KINDS: dict[str, tuple[Callable[[str], Any], ModuleType]] = {
    "dense": (load_dense, dense_contestants),
    "logits": (load_logits, logits_contestants),
}


def measure(kind: str, name: str, size: str, repeats: int, budget: float) -> dict[str, object]:
    """Seconds of every repeat and of reading beside it, the state, the memory and the values."""
    load, contestants = KINDS[kind]
    prepare = contestants.CONTESTANTS[name]()
    inputs = load(size)
    prepare(inputs.head(max(WARMING_ROWS, WARMING // inputs.array.shape[1])))()
    run = prepare(inputs)
    release()
    values, rise = peak_rise(run)
    probe = Probe()
    gains: list[float] = []
    seconds: list[float] = []
    reading: list[float] = []
    while len(seconds) < repeats or (sum(seconds) < budget and len(seconds) < MOST_REPEATS):
        gains.append(probe.gain())
        reading.append(timed(lambda: read_once(inputs.array)))
        probe.evict()
        seconds.append(timed(run))
    gains.append(probe.gain())
    return {
        "seconds": seconds,
        "reading": reading,
        "state": state(gains),
        "gains": gains,
        "memory": rise,
        "values": values(),
    }


def release() -> None:
    """Give memory freed by the warming back to the system: used again, it would not be seen."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def timed(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    kind, contestant, size, repeats, budget = sys.argv[1:]
    print(json.dumps(measure(kind, contestant, size, int(repeats), float(budget))))
