"""Interleaved timing: every round runs every cell once, in a new order, each in a fresh process.

The memory bandwidth of a shared machine comes and goes by the minute, which changes all times
together. So a ratio of two cells is formed within each round, and the median over the rounds is
what we report, with the smallest and largest beside it. Run nothing else meanwhile.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers import PEERS

HERE = Path(__file__).resolve().parent
TIMEOUT = 900.0

Result = dict[str, Any]


class ProcessFailed(RuntimeError):
    """A measured process ended badly; the message holds the last line it wrote."""


@dataclass(frozen=True, order=True)
class Cell:
    """One thing to time: a contestant on one variant of the data."""

    contestant: str
    variant: str

    def __str__(self) -> str:
        """As it stands in messages."""
        return f"{self.contestant}, {self.variant}"


@dataclass
class Series:
    """What the rounds gave for one cell: the repeats' seconds of each round, and the values."""

    rounds: list[list[float]]
    values: dict[str, float]

    @classmethod
    def of(cls, results: Sequence[Result]) -> Series:
        """From what the processes printed."""
        return cls([result["seconds"] for result in results], results[-1]["values"])

    @property
    def medians(self) -> list[float]:
        """One number per round: the median of its repeats."""
        return [statistics.median(repeats) for repeats in self.rounds]

    @property
    def median(self) -> float:
        """The median over the rounds."""
        return statistics.median(self.medians)

    @property
    def least(self) -> float:
        """The fastest single repeat."""
        return min(min(repeats) for repeats in self.rounds)

    @property
    def spread(self) -> float:
        """The slowest round over the fastest."""
        return max(self.medians) / min(self.medians)


@dataclass(frozen=True)
class Ratio:
    """A ratio formed within each round: its median and its range."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, above: Sequence[float], below: Sequence[float]) -> Ratio:
        """Pair the rounds up."""
        ratios = [a / b for a, b in zip(above, below, strict=True)]
        return cls(statistics.median(ratios), min(ratios), max(ratios))


def run_rounds(
    groups: Sequence[Sequence[Cell]], rounds: int, measure: Callable[[Cell], Result]
) -> tuple[dict[Cell, list[Result]], dict[Cell, str]]:
    """Measure every cell in every round. A failed cell is left out from then on, with its reason.

    A round goes through the groups in turn and through each group's cells in a new order, so that
    the cells of a group, which are compared with one another, run within minutes.
    """
    results: dict[Cell, list[Result]] = {cell: [] for group in groups for cell in group}
    failed: dict[Cell, str] = {}
    for number in range(rounds):
        for cell in itertools.chain.from_iterable(_shuffled(group, number) for group in groups):
            if cell in failed:
                continue
            note(f"round {number + 1}/{rounds}: {cell}")
            try:
                results[cell].append(measure(cell))
            except ProcessFailed as error:
                failed[cell] = str(error)
                del results[cell]
    return results, failed


def _shuffled(cells: Sequence[Cell], seed: int) -> list[Cell]:
    """The cells in an order that only the seed decides."""
    order = sorted(cells)
    random.Random(seed).shuffle(order)
    return order


def python_of(peer: str | None) -> str:
    """The interpreter of a peer's environment; without a peer, this one."""
    return sys.executable if peer is None else str(PEERS[peer].python)


def run_json(
    command: Sequence[str],
    python: str = sys.executable,
    settings: Mapping[str, str] | None = None,
) -> Result:
    """Run one of our scripts in a fresh process and parse the last line it prints.

    `settings` are environment variables to add.
    """
    script, *rest = command
    environment = os.environ | dict(settings or {})
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)  # a peer sees its own environment only
    text = run_text([python, str(HERE / script), *rest], environment)
    parsed: Result = json.loads(text.splitlines()[-1])
    return parsed


def run_text(command: Sequence[str], environment: dict[str, str] | None = None) -> str:
    """Run a command and return what it prints; raise `ProcessFailed` if it fails or hangs."""
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProcessFailed(str(error)) from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ProcessFailed(f"exit status {done.returncode}: {last}")
    return done.stdout


def wall_times(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[float]]:
    """Seconds from start to end of each command, run in turn; one more turn first, not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            begin = time.perf_counter()
            run_text(command)
            if number:
                seconds[name].append(time.perf_counter() - begin)
    return seconds


def note(message: str) -> None:
    """Progress, on standard error so that the tables stay clean."""
    print(message, file=sys.stderr, flush=True)


def resident(field: str) -> float:
    """A memory field of this process's status, in MB: VmRSS now, VmHWM at its peak.

    Not `ru_maxrss`: a process starts with the peak of its parent there, even after exec.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6
