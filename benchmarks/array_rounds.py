"""Rounds, tables and limits of the benchmarks on arrays: what `dense.py` and `logits.py` share."""

from __future__ import annotations

import argparse
import functools
import json
import platform
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from arrays import ensure
from bandwidth import STATES
from harness import Cell, Ratio, Result, Series, python_of, run_json, run_rounds
from limits import Limit
from peers import PEERS

OWN_REPEATS = 5
EXACT, SINGLE = 1e-9, 1e-6  # relative: values computed in double, and in single precision


@dataclass
class Measured(Series):
    """A cell's rounds with the limit beside them: reading times, states, and the memory."""

    reading: list[list[float]]
    states: list[str]
    memory: float

    @classmethod
    def of(cls, results: Sequence[Result]) -> Measured:
        """From what the processes printed."""
        return cls(
            [result["seconds"] for result in results],
            results[-1]["values"],
            [result["reading"] for result in results],
            [result["state"] for result in results],
            max(result["memory"] for result in results),
        )

    def over_reading(self, state: str) -> Ratio | None:
        """Time over reading the array once, both in the same process, of one state's rounds."""
        reads = [statistics.median(repeats) for repeats in self.reading]
        rounds = zip(self.medians, reads, self.states, strict=True)
        chosen = [(ours, read) for ours, read, found in rounds if found == state]
        return Ratio.of(*zip(*chosen, strict=True)) if chosen else None


@dataclass(frozen=True)
class Contest:
    """Everything measured of one kind, and what failed."""

    kind: str
    sizes: dict[str, tuple[int, int]]
    series: dict[Cell, Measured]
    failed: dict[Cell, str]


def parser(about: str, sizes: Iterable[str], contestants: Iterable[str]) -> argparse.ArgumentParser:
    """The options both commands have."""
    options = argparse.ArgumentParser(description=about)
    add = options.add_argument
    add("--sizes", nargs="+", choices=sizes, default=list(sizes))
    add("--rounds", type=int, default=5)
    add("--only", nargs="+", choices=contestants, default=list(contestants))
    add("--peer-repeats", type=int, default=1, help="least repeats of a peer in one process")
    add("--budget", type=float, default=1.0, help="seconds a process repeats for, 15 times at most")
    add("--without", choices=["first-calls"], help="leave out what needs no rounds")
    add("--json", metavar="FILE", help="also write every measurement there")
    return options


def contest(
    kind: str,
    sizes: dict[str, tuple[int, int]],
    environments: Mapping[str, str],
    arguments: argparse.Namespace,
    only_at: Mapping[str, Sequence[str]],
) -> Contest:
    """Make the data, run the rounds, and say who is left out for want of an environment.

    `only_at` names the sizes of those contestants that do not take part in all.
    """
    names = _installed(arguments.only, environments)
    for size in arguments.sizes:
        ensure(kind, size)
    groups = [
        [Cell(name, size) for name in names if size in only_at.get(name, arguments.sizes)]
        for size in arguments.sizes
    ]
    timed = functools.partial(_timed, kind, environments, arguments)
    results, failed = run_rounds(groups, arguments.rounds, timed)
    series = {cell: Measured.of(found) for cell, found in results.items()}
    return Contest(kind, {size: sizes[size] for size in arguments.sizes}, series, failed)


def _installed(names: Iterable[str], environments: Mapping[str, str]) -> list[str]:
    missing = {name for name in names if name in environments}
    missing = {name for name in missing if not PEERS[environments[name]].installed}
    for name in sorted(missing):
        command = PEERS[environments[name]].command
        print(f"{name} is left out: no environment. Make it with: {command}")
    return [name for name in names if name not in missing]


def _timed(
    kind: str, environments: Mapping[str, str], arguments: argparse.Namespace, cell: Cell
) -> Result:
    peer = environments.get(cell.contestant)
    repeats = arguments.peer_repeats if peer else max(OWN_REPEATS, arguments.peer_repeats)
    command = ["array_worker.py", kind, cell.contestant, cell.variant]
    return run_json([*command, str(repeats), str(arguments.budget)], python=python_of(peer))


def table(found: Contest, size: str, tolerances: Mapping[str, float]) -> str:
    """One size's rows, fastest first; ratios are medians of the rounds' or processes' ratios."""
    rows, columns = found.sizes[size]
    states = [state for state in STATES if any(state in s.states for s in found.series.values())]
    over = " | ".join(f"x reading, {state}" for state in states)
    heading = ("median s", "min s", "spread", "x rectitude", over, "extra MB", "agree", "differ")
    lines = [
        f"\n| {rows:,} x {columns:,} | {' | '.join(heading)} |",
        "|" + "---|" * (len(heading) + len(states)),
    ]
    chosen = {cell: series for cell, series in found.series.items() if cell.variant == size}
    ours = chosen.get(Cell("rectitude", size))
    for cell, series in sorted(chosen.items(), key=lambda row: row[1].median):
        ratio = Ratio.of(series.medians, ours.medians).median if ours else float("nan")
        limit = " | ".join(_over(series, state) for state in states)
        agreed, compared, differ = _agreement(found, cell, tolerances)
        lines.append(
            f"| {cell.contestant} | {series.median:.4f} | {series.least:.4f} | {series.spread:.2f} "
            f"| {ratio:.3g} | {limit} | {series.memory:.0f} "
            f"| {f'{agreed}/{compared}' if compared else '-'} | {', '.join(differ) or '-'} |"
        )
    return "\n".join(lines) + "\n"


def _over(series: Measured, state: str) -> str:
    ratio = series.over_reading(state)
    return "-" if ratio is None else f"{ratio.median:.2f} ({series.states.count(state)} p)"


def _agreement(
    found: Contest, cell: Cell, tolerances: Mapping[str, float]
) -> tuple[int, int, list[str]]:
    """Values equal to ours, values compared, and the names of those that differ."""
    if cell.contestant not in tolerances:
        return 0, 0, []
    bound, values = tolerances[cell.contestant], found.series[cell].values
    ours: dict[str, float] = {}
    for other, series in found.series.items():
        if other.variant == cell.variant and other.contestant not in tolerances:
            ours |= series.values
    both = [name for name in values if name in ours]
    differ = [name for name in both if abs(values[name] - ours[name]) > bound * abs(ours[name])]
    return len(both) - len(differ), len(both), differ


def agreement_limits(found: Contest, tolerances: Mapping[str, float]) -> list[Limit]:
    """Every peer's values must be ours."""
    limits = []
    for cell in sorted(found.series):
        agreed, compared, differ = _agreement(found, cell, tolerances)
        if compared:
            about = f"{agreed} of {compared} agree to {tolerances[cell.contestant]:g} relative"
            note = f"{about}; differ: {', '.join(differ)}" if differ else about
            limits.append(Limit(f"values unlike ours, {cell}", len(differ), 0, note=note))
    return limits


def reading_limits(found: Contest, cell: Cell, bounds: Mapping[str, float]) -> list[Limit]:
    """The time over reading the array once, for each state met.

    Where there are bounds, a run that met none of their states has not kept them.
    """
    name = f"time over reading once, {cell}"
    series = found.series.get(cell)
    if series is None:
        return [Limit(name, None, note=f"without {cell}", failed=cell in found.failed)]
    limits = []
    for state in STATES:
        ratio = series.over_reading(state)
        if ratio is not None:
            rounds = f"{series.states.count(state)} of {len(series.states)} rounds"
            about = f"{rounds}, {ratio.least:.2f} to {ratio.most:.2f}"
            limit = Limit(f"{name}, {state}", ratio.median, bounds.get(state), unit="x", note=about)
            limits.append(limit)
    if bounds and not set(bounds) & set(series.states):
        about = f"no round was {' or '.join(bounds)}: run nothing else meanwhile"
        limits.append(Limit(name, None, note=about, failed=True))
    return limits


def memory_limit(found: Contest, cell: Cell, bound: float | None) -> Limit:
    """The most memory any process took beyond its loaded inputs."""
    name, series = f"memory beyond the inputs, {cell}", found.series.get(cell)
    if series is None:
        return Limit(name, None, note=f"without {cell}", failed=cell in found.failed)
    return Limit(name, series.memory, bound, unit=" MB", note="first whole call, once warmed")


def show(
    found: Contest, about: str, arguments: argparse.Namespace, tolerances: Mapping[str, float]
) -> None:
    """Print what was measured and the tables, before more is measured for the limits."""
    print(
        f"{about}\nMedians over {arguments.rounds} interleaved rounds, each in fresh, warmed "
        f"processes. Python {platform.python_version()}, {platform.system()} {platform.machine()}."
    )
    for size in found.sizes:
        print(table(found, size, tolerances))
    for cell, reason in found.failed.items():
        print(f"{cell} failed: {reason}")
    sys.stdout.flush()


def judge(found: Contest, limits: Sequence[Limit], arguments: argparse.Namespace) -> int:
    """Print the limits, keep the measurements, and return the exit status."""
    print(*limits, sep="\n")
    if arguments.json:
        Path(arguments.json).write_text(_as_json(found, limits, arguments))
    return int(bool(found.failed) or any(limit.missed for limit in limits))


def _as_json(found: Contest, limits: Sequence[Limit], arguments: argparse.Namespace) -> str:
    kept = {
        "options": vars(arguments),
        "python": platform.python_version(),
        "cells": [asdict(cell) | asdict(series) for cell, series in found.series.items()],
        "failed": {str(cell): reason for cell, reason in found.failed.items()},
        "limits": [asdict(limit) | {"missed": limit.missed} for limit in limits],
    }
    return json.dumps(kept, indent=1)
