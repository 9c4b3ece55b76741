"""Reading, preparing and splitting twenty million interactions, beside plain Polars and the peers.

    python benchmarks/data.py [--rows 20000000] [--rounds 3] [--jobs k_core at_time] [--json FILE]

Each measurement is a fresh process that holds the interactions in memory in the contestant's own
form (a log, a Polars or pandas frame, RecPack's matrix), does the job once on an eighth of them
where something may have to be compiled, and is then timed on all. Our times include the ledger;
the fingerprint is computed when it is asked for. Ratios are formed within a round, and the median
is shown. Prints the times, then one line per limit; exits 1 if one is missed. The limits are stated
for 20 million rows and two cores.
"""

from __future__ import annotations

import argparse
import functools
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from data_contestants import JOBS, PEER_JOBS, READS, RUNS, opened, sizes
from harness import Cell, Ratio, Result, python_of, resident, run_json, run_rounds
from interactions import log
from limits import Limit
from peers import PEERS

SLOWER_THAN_POLARS, FASTER_THAN_PEERS, MEGABYTES = 1.5, 5.0, 3_000.0
ALIKE = 0.05
"""Parts of contestants may differ by such a share: users are drawn, and ties and shares are cut, in
ways of their own."""
ENVIRONMENTS = {"replay": "replay", "replay_pandas": "replay", "recpack": "recpack"}
HELD = ("polars_counted", "replay_pandas", "recpack")
"""Whom limits are stated for: the same work in plain Polars, and the peers; RePlay's code for
Polars frames is plain Polars."""
RECIPE = [
    {"step": "threshold", "at": 2.0},
    {"step": "deduplicate"},
    {"step": "k_core", "users": 5, "items": 5},
]
COMPILED = 2_000_000
WHOLE = ("leave_last", "random_ratio")
"""Ways of splitting after preparing, whose whole process is measured."""


def work(name: str, job: str, path: str) -> Result:
    """One timed job in this process."""
    given: Any = path
    run: Any = functools.partial(read, name)
    if job not in READS:
        given, run = opened(name, path, job), RUNS[name](job)
        warm(name, given, run)
    begin, busy = time.perf_counter(), time.process_time()
    parts = run(given)
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    return {"seconds": seconds, "busy": busy, "sizes": sizes(parts), "megabytes": peak()}


def read(name: str, path: str) -> list[Any]:
    """A file in the contestant's own form."""
    found = opened(name, path)
    return [found.frame if name == "rectitude" else found]


def warm(name: str, given: Any, run: Any) -> None:
    """Do the job on an eighth of the rows, or as many as make us use compiled code."""
    if name == "rectitude":
        run(given.with_frame(given.frame.head(max(given.frame.height // 8, COMPILED))))
    elif name in ("polars", "polars_counted", "replay"):
        run(given.head(max(given.height // 8, COMPILED)))


def whole(how: str, path: str) -> Result:
    """Prepare and split a file; the memory of the whole process."""
    import rectitude as rt

    begin = time.perf_counter()
    split: Any = rt.split(path, how, recipe=RECIPE)
    seconds = time.perf_counter() - begin
    parts = [split.train.frame, split.truth.frame]
    return {"seconds": seconds, "sizes": sizes(parts), "megabytes": peak()}


def peak() -> float:
    """The most memory that this process has held, in MB."""
    return resident("VmHWM")


def measure(cell: Cell, rows: int) -> Result:
    """One process."""
    path = log(rows, "csv" if cell.variant == "read csv" else "parquet")
    kind = "--whole" if cell.contestant == "whole" else "--work"
    given = [cell.variant] if kind == "--whole" else [cell.contestant, cell.variant]
    python = python_of(ENVIRONMENTS.get(cell.contestant))
    return run_json(["data.py", kind, *given, str(path)], python)


def cells(job: str) -> list[Cell]:
    """Who does a job: we, Polars with and without an account, and the installed peers that have
    it."""
    peers = [
        name for name, jobs in PEER_JOBS.items()
        if job in jobs and PEERS[ENVIRONMENTS[name]].installed
    ]  # fmt: skip
    plain = ("polars",) if job in READS else ("polars", "polars_counted")
    return [Cell(name, job) for name in ("rectitude", *plain, *peers)]


def ratio(results: dict[Cell, list[Result]], above: Cell, below: Cell) -> Ratio | None:
    """Seconds of one over seconds of another, round by round."""
    if above not in results or below not in results:
        return None
    return Ratio.of(*([one["seconds"] for one in results[cell]] for cell in (above, below)))


def row(results: dict[Cell, list[Result]], cell: Cell) -> str:
    """A line of the table."""
    found = results[cell]
    middle = {
        name: statistics.median(one[name] for one in found)
        for name in ("seconds", "busy", "megabytes")
    }
    times = ratio(results, cell, Cell("rectitude", cell.variant))
    parts = " + ".join(f"{size:,}" for size in found[-1]["sizes"])
    return (
        f"{cell.variant:22} {cell.contestant:14} {middle['seconds']:8.2f} s"
        f" {times.median if times else float('nan'):7.2f}x {middle['busy']:8.2f} s busy"
        f" {middle['megabytes']:>7,.0f} MB  {parts}"
    )


def limits(
    results: dict[Cell, list[Result]], failed: dict[Cell, str], measured: list[Cell]
) -> list[Limit]:
    """What a job is held to: at most so much slower than Polars, so much faster than peers, and
    parts of about the same size."""
    job, found = measured[0].variant, []
    mine = Cell("rectitude", job)
    for cell in measured:
        if cell == mine:
            continue
        polars = cell.contestant.startswith("polars")
        times = ratio(results, *((mine, cell) if polars else (cell, mine)))
        bound = SLOWER_THAN_POLARS if polars else FASTER_THAN_PEERS
        held = cell.contestant in (("polars",) if job in READS else HELD)
        other = cell.contestant
        name = f"{job}: ours over {other}" if polars else f"{job}: {other} over ours"
        if times is None:
            lost = failed.get(cell) or failed.get(mine, "")
            found.append(Limit(name, None, note=lost, failed=True))
            continue
        about = f"rounds {times.least:.2f} to {times.most:.2f}"
        kept = alike(results[mine][-1]["sizes"], results[cell][-1]["sizes"])
        found.append(
            Limit(name, times.median, bound if held else None, at_least=not polars, unit="x",
                  note=about if kept else f"{about}; other rows", failed=not kept)
        )  # fmt: skip
    return found


def alike(ours: list[int], theirs: list[int]) -> bool:
    """Whether parts have about the same sizes."""
    pairs = zip(ours, theirs, strict=True)
    return all(abs(one - other) <= ALIKE * max(one, other) + 2 for one, other in pairs)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", nargs="+", choices=[*JOBS, "whole"], default=[*JOBS, "whole"])
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--whole", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work or given.whole:
        print(json.dumps(work(*given.work) if given.work else whole(*given.whole)))
        return 0
    jobs = [job for job in given.jobs if job != "whole"]
    groups = [[cell for cell in cells(job) if cell.contestant in given.only] for job in jobs]
    memory = [Cell("whole", how) for how in WHOLE] if "whole" in given.jobs else []
    found = run_rounds([*groups, memory], given.rounds, functools.partial(measure, rows=given.rows))
    results, failed = found
    print(*(row(results, cell) for group in groups for cell in group if cell in results), sep="\n")
    judged = [limit for group in groups for limit in limits(results, failed, group)]
    judged += [used(results, failed, cell) for cell in memory]
    print(*judged, sep="\n")
    if given.json:
        stored = {f"{cell}": one for cell, one in results.items()}
        given.json.write_text(json.dumps(stored, indent=1))
    return int(any(limit.missed for limit in judged))


def used(results: dict[Cell, list[Result]], failed: dict[Cell, str], cell: Cell) -> Limit:
    """The memory of preparing and splitting a file."""
    name = f"peak memory of reading, preparing, {cell.variant}"
    if cell not in results:
        return Limit(name, None, note=failed[cell], failed=True)
    most = max(one["megabytes"] for one in results[cell])
    about = f"{results[cell][-1]['seconds']:.1f} s, imports and compiling included"
    return Limit(name, most, MEGABYTES, unit=" MB", note=about)


if __name__ == "__main__":
    sys.exit(main())
