"""The speed tables: us against the peers, and the limits we hold ourselves to.

    python benchmarks/tables.py [--size M] [--rounds 5] [--only NAME ...] [--json FILE]

Prints a Markdown table and one line per limit; exits 1 if a limit is missed. See README.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from dataclasses import asdict
from pathlib import Path

from contestants import CONTESTANTS, METRICS, OWN
from harness import Cell, Ratio, Result, Series, python_of, run_json, run_rounds
from limits import Limit, fastest_peer, from_probes, from_rounds
from lists import SIZES, VARIANTS, ensure
from peers import PEERS

TOLERANCE = 1e-9


def main() -> int:
    """Command line."""
    arguments = parse()
    names = [name for name in CONTESTANTS if name in arguments.only]
    missing = [PEERS[name] for name in names if name in PEERS and not PEERS[name].installed]
    for peer in missing:
        print(f"{peer.label} is left out: no environment. Make it with: {peer.command}")
    names = [name for name in names if name not in {peer.name for peer in missing}]
    for size in ("XS", "T", arguments.size):
        ensure(size)

    cells = [
        Cell(name, variant)
        for name in names
        for variant in (VARIANTS if name in OWN else arguments.peer_variants)
    ]
    results, failed = run_rounds([cells], arguments.rounds, lambda cell: timed(cell, arguments))
    series = {cell: Series.of(found) for cell, found in results.items()}
    print(heading(arguments.size, arguments.rounds))
    for variant in VARIANTS:
        print(table(series, variant))
    for cell, reason in failed.items():
        print(f"{cell} failed: {reason}")

    limits = from_rounds(series, failed)
    if "rectitude" in names:
        limits += from_probes(arguments.size)
    limits.sort(key=lambda limit: limit.name)
    print(*limits, sep="\n")
    if arguments.json:
        Path(arguments.json).write_text(as_json(arguments, series, failed, limits))
    return int(bool(failed) or any(limit.missed for limit in limits))


def timed(cell: Cell, arguments: argparse.Namespace) -> Result:
    """Time one cell in a process of its own.

    Our own cells take milliseconds and repeat at least three times a process; a peer that takes
    seconds repeats `--peer-repeats` times, since an interruption is small beside it.
    """
    own = cell.contestant in OWN
    repeats = max(3, arguments.peer_repeats) if own else arguments.peer_repeats
    options = [arguments.size, cell.variant, str(repeats), str(arguments.budget)]
    python = python_of(None if own else cell.contestant)
    return run_json(["worker.py", cell.contestant, *options], python=python)


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description="time rectitude against its peers")
    parser.add_argument("--size", choices=["XS", "S", "M"], default="M")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS))
    parser.add_argument(
        "--peer-variants",
        nargs="+",
        choices=VARIANTS,
        default=["ordered"],
        help="data the peers are timed on; they need minutes for each",
    )
    parser.add_argument(
        "--peer-repeats", type=int, default=1, help="least repeats of a peer in one process"
    )
    parser.add_argument(
        "--budget", type=float, default=1.0, help="seconds a process repeats for, 15 times at most"
    )
    parser.add_argument("--json", metavar="FILE", help="also write every measurement there")
    return parser.parse_args()


def heading(size: str, rounds: int) -> str:
    """What was measured, on what."""
    shape = SIZES[size]
    return (
        f"{shape.users:,} users x 100 recommendations over {shape.items:,} items, about 10 "
        f"relevant each; from Parquet files to {len(METRICS)} values, reading included.\n"
        f"Medians over {rounds} interleaved rounds, each in fresh, warmed processes. "
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}."
    )


def table(series: dict[Cell, Series], variant: str) -> str:
    """One variant's rows, fastest first. Ratios are medians of the rounds' ratios.

    `agree` counts the values equal to ours of those both have; `differ` names the others.
    """
    rows = {cell: found for cell, found in series.items() if cell.variant == variant}
    peers = {cell: found for cell, found in rows.items() if cell.contestant in PEERS}
    peer = min(peers.values(), key=lambda found: found.median, default=None)
    read = rows.get(Cell("read_polars", variant))
    ours = rows.get(Cell("rectitude", variant))
    lines = [
        f"\n| {variant} | median s | min s | spread | x best peer | x reading | agree | differ |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cell, found in sorted(rows.items(), key=lambda row: row[1].median):
        label = PEERS[cell.contestant].label if cell.contestant in PEERS else cell.contestant
        agreed, compared, differ = agreement(found, ours)
        lines.append(
            f"| {label} | {found.median:.4f} | {found.least:.4f} | {found.spread:.2f} "
            f"| {times(found, peer)} | {times(found, read)} "
            f"| {f'{agreed}/{compared}' if compared else '-'} | {', '.join(differ) or '-'} |"
        )
    return "\n".join(lines) + "\n"


def times(found: Series, reference: Series | None) -> str:
    """How many times the reference's seconds, for a table."""
    if reference is None:
        return "-"
    return f"{Ratio.of(found.medians, reference.medians).median:.3g}"


def agreement(found: Series, ours: Series | None) -> tuple[int, int, list[str]]:
    """Values equal to ours, values compared, and the names of those that differ."""
    if ours is None or found is ours:
        return 0, 0, []
    both = [name for name in found.values if name in ours.values]
    differ = [name for name in both if abs(found.values[name] - ours.values[name]) > TOLERANCE]
    return len(both) - len(differ), len(both), differ


def as_json(
    arguments: argparse.Namespace,
    series: dict[Cell, Series],
    failed: dict[Cell, str],
    limits: list[Limit],
) -> str:
    """Every measurement, for keeping."""
    cells = [asdict(cell) | asdict(found) for cell, found in series.items()]
    kept = [asdict(limit) | {"missed": limit.missed} for limit in limits]
    peer = fastest_peer(series)
    return json.dumps(
        {
            "options": vars(arguments),
            "python": platform.python_version(),
            "cells": cells,
            "failed": {str(cell): reason for cell, reason in failed.items()},
            "fastest_peer": peer.contestant if peer else None,
            "limits": kept,
        },
        indent=1,
    )


if __name__ == "__main__":
    sys.exit(main())
