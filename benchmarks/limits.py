"""The limits we hold ourselves to, each with its measurement.

Speed limits are stated for size M; at a smaller size fixed costs weigh more.
"""

from __future__ import annotations

import functools
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness import Cell, ProcessFailed, Ratio, Series, note, run_json, wall_times
from lists import VARIANTS
from peers import PEERS

MEGABYTES = 700.0
SMALL_RUNS = 5
HELP_RUNS = 10
PROBES = str(Path(__file__).resolve().parent / "probes.py")


@dataclass(frozen=True)
class Limit:
    """A measured number, the limit it is held to, and what it was measured on."""

    name: str
    measured: float | None
    bound: float | None = None
    at_least: bool = False
    unit: str = ""
    note: str = ""
    failed: bool = False

    @property
    def missed(self) -> bool:
        """Whether the limit is broken, or its measurement failed."""
        if self.measured is None or self.bound is None:
            return self.failed
        kept = self.measured >= self.bound if self.at_least else self.measured <= self.bound
        return self.failed or not kept

    def __str__(self) -> str:
        """One line of the report."""
        if self.measured is None:
            verdict = "MISSED, measurement failed" if self.failed else "not measured"
            return f"{self.name}: {verdict} ({self.note})"
        line = f"{self.name}: {self.measured:.2f}{self.unit}"
        if self.bound is not None:
            sense = ">=" if self.at_least else "<="
            verdict = "MISSED" if self.missed else "ok"
            line += f" (limit {sense} {self.bound:g}{self.unit}) {verdict}"
        return f"{line}; {self.note}" if self.note else line


def from_rounds(series: dict[Cell, Series], failed: dict[Cell, str]) -> list[Limit]:
    """The limits on times, from the interleaved rounds."""
    ratio = functools.partial(ratio_limit, series, failed)
    ours, read = Cell("rectitude", "ordered"), Cell("read_polars", "ordered")
    peer = fastest_peer(series) or Cell("any peer", "ordered")
    shuffled, strings = Cell("rectitude", "shuffled"), Cell("rectitude", "strings")
    return [
        ratio("(a) speed-up over the fastest peer", peer, ours, 25, faster=True),
        ratio("(b) time over reading the files", ours, read, 4),
        ratio("(c) shuffled over ordered rows", shuffled, ours, 3),
        ratio("(e) string over integer ids", strings, ours, 4),
    ]


def ratio_limit(
    series: Mapping[Cell, Series],
    failed: Mapping[Cell, str],
    name: str,
    above: Cell,
    below: Cell,
    bound: float | None,
    *,
    faster: bool = False,
) -> Limit:
    """One cell's time over another's, held to a bound; `faster`: at least, not at most."""
    lost = [str(cell) for cell in (above, below) if cell not in series]
    if lost:
        broken = any(cell in failed for cell in (above, below))
        return Limit(name, None, note=f"without {' and '.join(lost)}", failed=broken)
    found = Ratio.of(series[above].medians, series[below].medians)
    rounds = f"{above} / {below}; rounds {found.least:.2f} to {found.most:.2f}"
    return Limit(name, found.median, bound, at_least=faster, unit="x", note=rounds)


def fastest_peer(series: dict[Cell, Series]) -> Cell | None:
    """The peer with the lowest median on the ordered data, if any was measured."""
    peers = [cell for cell in series if cell.contestant in PEERS and cell.variant == "ordered"]
    return min(peers, key=lambda cell: series[cell].median, default=None)


def from_probes(size: str) -> list[Limit]:
    """The limits on memory, start-up and the command line, each in processes of its own."""
    found: list[Limit] = []
    parts: list[tuple[str, Callable[[], list[Limit]]]] = [
        ("(d) peak memory above the loaded tables", lambda: _memory(size)),
        ("(f) 1,000 users in a fresh process", _small),
        ("(g) --help over importing NumPy", _help),
        ("(h) F1 beside NDCG", lambda: _together(size)),
    ]
    for name, measure in parts:
        note(f"measuring {name}")
        try:
            found += measure()
        except (ProcessFailed, OSError) as error:
            found.append(Limit(name, None, note=str(error), failed=True))
    return found


def _memory(size: str) -> list[Limit]:
    """Peak memory of a first call, per variant; only the ordered one is held to the limit."""
    limits = []
    for variant in VARIANTS:
        got = run_json(["probes.py", "memory", size, variant])
        bound = MEGABYTES if variant == "ordered" else None
        about = f"first call on frames in memory; {got['loaded']:.0f} MB resident before it"
        name = f"(d) peak memory above the loaded tables, {variant}"
        limits.append(Limit(name, got["rise"], bound, unit=" MB", note=about))
    return limits


def _small() -> list[Limit]:
    """Wall time of a small job from a cold start, and that it does without the compiler."""
    numba = run_json(["probes.py", "small"])["numba"]
    seconds = wall_times({"small": [sys.executable, PROBES, "small"]}, SMALL_RUNS)["small"]
    about = "numba imported" if numba else "numba not imported"
    return [
        Limit(
            "(f) 1,000 users in a fresh process, imports included",
            statistics.median(seconds),
            1.5,
            unit=" s",
            note=f"{about}; {_range(seconds)} s",
            failed=bool(numba),
        )
    ]


def _help() -> list[Limit]:
    """Wall time of the command line's help against that of importing NumPy, in turn."""
    script = Path(sys.executable).parent / "rectitude"
    start = "import sys; from rectitude.cli import main; sys.exit(main())"
    command = [str(script)] if script.is_file() else [sys.executable, "-c", start]
    commands = {
        "help": [*command, "--help"],
        "numpy": [sys.executable, "-c", "import numpy"],
    }
    seconds = wall_times(commands, HELP_RUNS)
    ours, numpy = statistics.median(seconds["help"]), statistics.median(seconds["numpy"])
    about = f"{ours:.3f} s / {numpy:.3f} s; help {_range(seconds['help'])} s"
    return [Limit("(g) --help over importing NumPy", ours / numpy, 2, unit="x", note=about)]


def _together(size: str) -> list[Limit]:
    """What F1 costs beside NDCG; no limit, for comparison over time."""
    got = run_json(["probes.py", "together", size])
    about = f"ndcg {got['ndcg']:.4f} s, f1 {got['f1']:.4f} s, both {got['both']:.4f} s"
    return [
        Limit("(h) F1 alone over NDCG alone", got["f1"] / got["ndcg"], unit="x", note=about),
        Limit("(h) F1 and NDCG over NDCG alone", got["both"] / got["ndcg"], unit="x", note=about),
    ]


def _range(seconds: list[float]) -> str:
    """The least and most of some seconds."""
    return f"{min(seconds):.3f} to {max(seconds):.3f}"
