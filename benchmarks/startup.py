"""What the first call costs: compiling, loading compiled code, and nothing where input is small.

    python benchmarks/startup.py first KIND CONTESTANT SIZE    # the first call and later ones
    python benchmarks/startup.py small KIND CONTESTANT SIZE ROWS   # is numba left alone?

`first_call` and `small_input` start these in fresh processes and hold them to the limits.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable

from array_worker import KINDS, timed
from arrays import ensure
from harness import ProcessFailed, note, run_json
from limits import Limit

COMPILING, LOADING = 6.0, 0.5
COLD_RUNS, CACHED_RUNS = 2, 3
INSTALLED = {"PYTHONDONTWRITEBYTECODE": ""}  # an installed package has its bytecode on disk
LATER = 5


def first(kind: str, contestant: str, size: str) -> dict[str, float]:
    """Seconds of the first call in this process, and of a later one."""
    load, contestants = KINDS[kind]
    run = contestants.CONTESTANTS[contestant]()(load(size))
    begin = timed(run)
    return {"first": begin, "later": statistics.median(timed(run) for _ in range(LATER))}


def small(kind: str, contestant: str, size: str, rows: str) -> dict[str, object]:
    """Whether evaluating some rows imports the compiler."""
    load, contestants = KINDS[kind]
    run = contestants.CONTESTANTS[contestant]()(load(size).head(int(rows)))
    return {"seconds": timed(run), "numba": "numba" in sys.modules}


def first_call(kind: str, contestant: str, size: str) -> list[Limit]:
    """What the first call takes more than later ones, without compiled code on disk and with."""
    ensure(kind, size)
    about = f"{contestant}, {size}"
    names = (f"first call compiles, {about}", f"first call with compiled code on disk, {about}")
    note(f"measuring {names[0]}")
    cold: list[float] = []
    cached: list[float] = []
    try:
        for _ in range(COLD_RUNS):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(_extra(kind, contestant, size, folder))
                cached += [_extra(kind, contestant, size, folder) for _ in range(CACHED_RUNS)]
    except ProcessFailed as error:
        return [Limit(name, None, note=str(error), failed=True) for name in names]
    return [
        Limit(name, statistics.median(runs), bound, unit=" s", note=f"runs {_range(runs)} s")
        for name, runs, bound in zip(names, (cold, cached), (COMPILING, LOADING), strict=True)
    ]


def small_input(kind: str, contestant: str, size: str, rows: int) -> Limit:
    """A small input must do without the compiler."""
    ensure(kind, size)
    name = f"imports of numba on a small input, {contestant}, {rows} rows of {size}"
    try:
        got = run_json(["startup.py", "small", kind, contestant, size, str(rows)])
    except ProcessFailed as error:
        return Limit(name, None, note=str(error), failed=True)
    return Limit(name, int(got["numba"]), 0, note=f"first call in {got['seconds']:.3f} s")


def _extra(kind: str, contestant: str, size: str, folder: str) -> float:
    """Seconds the first call takes more than a later one, with compiled code kept in a folder."""
    command = ["startup.py", "first", kind, contestant, size]
    got = run_json(command, settings={"NUMBA_CACHE_DIR": folder} | INSTALLED)
    return float(got["first"] - got["later"])


def _range(seconds: list[float]) -> str:
    return f"{min(seconds):.2f} to {max(seconds):.2f}"


PROBES: dict[str, Callable[..., object]] = {"first": first, "small": small}

if __name__ == "__main__":
    print(json.dumps(PROBES[sys.argv[1]](*sys.argv[2:])))
