"""Signals at random moments: does a run that is resumed end with the bits of an undisturbed one?

python benchmarks/kill.py                  20 runs: of tuning, of windows, and with MLflow
python benchmarks/kill.py --runs 100       more of them

A run is stopped by SIGKILL, SIGTERM or SIGINT, one to three times, and then resumed until it is
done. All files of its folder are compared, and what MLflow has of it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

SHARED = """\
[data]
shop = { rows = 2_000 }

[[prepare]]
step = "deduplicate"

[models.popularity]

[models.item-knn]
neighbours = 20

[evaluate]
metrics = ["ndcg@10", "recall@{5,10}", "mrr"]
"""
TUNED = """
[split]
how = "k_fold"
folds = 2
level = "user"
validation = { how = "random_ratio", ratio = 0.2, level = "user" }

[models.tuned]
model = "item-knn"

[models.tuned.tune]
trials = 4
space.neighbours = { low = 5, high = 100 }
"""
WINDOWS = """
[split]
how = "windows"
span = "30d"
folds = 3

[models.learning]
model = "item-knn"
learning = "update"

[explain]
mode = "off"
"""
LOGGED = """
[split]
how = "time_ratio"
ratio = 0.2
validation = { how = "time_ratio", ratio = 0.2 }

[models.tuned]
model = "item-knn"

[models.tuned.tune]
trials = 3
space.neighbours = { low = 5, high = 100 }

[explain]
mode = "off"

[report]
mode = "off"

[mlflow]
uri = "sqlite:///store.db"
experiment = "shop"
"""
EXPERIMENTS = {"tuned": SHARED + TUNED, "windows": SHARED + WINDOWS, "mlflow": SHARED + LOGGED}
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
VOLATILE = ("log.jsonl", "environment.json", "resources.json", ".lock", "mlflow.json")
"""Files that hold times and memory, or the numbers that MLflow draws for its runs."""


@dataclass
class Outcome:
    """What became of one run: the signals that hit it, and whether it ended with the same bits."""

    experiment: str
    hits: list[tuple[str, bool]] = field(default_factory=list)
    """each signal that came before the end, and whether the run had begun to work"""
    slowest: float = 0.0
    """seconds from a SIGINT to the end"""
    traces: int = 0
    """tracebacks that a SIGINT or SIGTERM made it print"""
    same: bool = False


def contents(folder: Path) -> dict[str, str]:
    """Every file by its hash, but for those that hold times."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in VOLATILE
    }


def logged(place: Path) -> list[tuple[str, ...]]:
    """What MLflow has of finished runs: names, parameters and metrics, but no times."""
    if not (place / "store.db").exists():
        return []
    finished = "runs.status = 'FINISHED' and runs.run_uuid = rows.run_uuid"
    with sqlite3.connect(place / "store.db") as store:
        found = [
            tuple(map(str, row))
            for table in ("params", "metrics")
            for row in store.execute(
                f"select distinct runs.name, rows.key, rows.value from {table} rows, runs "  # noqa: S608
                f"where {finished}"
            )
        ]
    return sorted(found)


def started(place: Path) -> subprocess.Popen[bytes]:
    """A run in a process of its own."""
    source = str(Path(__file__).resolve().parents[1] / "src")
    command = [sys.executable, "-m", "rectitude", "run", "experiment.toml", "--folder", "run"]
    with (place / "said.txt").open("ab") as said:
        return subprocess.Popen(
            [*command, "--log", "quiet"], cwd=place, stdout=subprocess.DEVNULL, stderr=said,
            env={**os.environ, "PYTHONPATH": source},
        )  # fmt: skip


def stop(place: Path, seconds: float, number: signal.Signals, outcome: Outcome) -> bool:
    """Send a run a signal after some time; False if it was done by then."""
    process = started(place)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        working = (place / "run" / "log.jsonl").exists()
        process.send_signal(number)
        began = time.perf_counter()
        process.wait()
        outcome.hits.append((number.name, working))
        if number is signal.SIGINT:
            outcome.slowest = max(outcome.slowest, time.perf_counter() - began)
        return True
    return False


@dataclass
class Whole:
    """A run that nobody stopped: its files, what MLflow has of it, and its seconds."""

    files: dict[str, str]
    rows: list[tuple[str, ...]]
    seconds: float


def undisturbed(name: str, place: Path) -> Whole:
    """Run an experiment to its end."""
    write(name, place)
    began = time.perf_counter()
    code = started(place).wait()
    if code:
        raise SystemExit(f"{name} ends with {code}: {(place / 'said.txt').read_text()}")
    return Whole(contents(place / "run"), logged(place), time.perf_counter() - began)


def write(name: str, place: Path) -> None:
    """Write an experiment to a folder of its own."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "experiment.toml").write_text(EXPERIMENTS[name], encoding="utf-8")


def disturbed(name: str, place: Path, whole: Whole, chance: random.Random) -> Outcome:
    """Stop a run one to three times, resume it until it is done, and compare."""
    outcome = Outcome(name)
    while not outcome.hits:
        write(name, place)
        for _ in range(chance.choice((1, 1, 2, 3))):
            moment = whole.seconds * chance.uniform(chance.choice((0.01, 0.3, 0.3, 0.3)), 1)
            if not stop(place, moment, chance.choice(SIGNALS), outcome):
                if not outcome.hits:
                    whole.seconds = moment  # a machine that has become faster
                break
    code = started(place).wait()
    outcome.traces = (place / "said.txt").read_text("utf-8", "replace").count("Traceback")
    files, rows = contents(place / "run"), logged(place)
    outcome.same = code == 0 and files == whole.files and rows == whole.rows
    return outcome


def show(outcomes: list[Outcome]) -> None:
    """Print counts by signal and by experiment."""
    hits = Counter(hit for one in outcomes for hit in one.hits)
    print("\nsignal    sent  while working")
    for name in (number.name for number in SIGNALS):
        print(f"{name:8} {hits[name, True] + hits[name, False]:5} {hits[name, True]:14}")
    print("\nexperiment  runs  stopped  same bits")
    for name in EXPERIMENTS:
        mine = [one for one in outcomes if one.experiment == name]
        stopped = sum(bool(one.hits) for one in mine)
        print(f"{name:10} {len(mine):5} {stopped:8} {sum(one.same for one in mine):10}")
    slowest = max(one.slowest for one in outcomes)
    print(f"\nlongest from SIGINT to the end: {slowest:.1f} s")
    print(f"runs with a traceback: {sum(bool(one.traces) for one in outcomes)}")


def main() -> int:
    """Stop, resume, compare; 1 if any bit differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance, outcomes = random.Random(given.seed), []
    signal.signal(signal.SIGINT, signal.default_int_handler)  # nohup's children would ignore it
    with tempfile.TemporaryDirectory() as folder:
        wholes = {name: undisturbed(name, Path(folder) / name) for name in EXPERIMENTS}
        for name, whole in wholes.items():
            print(
                f"undisturbed {name}: {whole.seconds:.1f} s, {len(whole.files)} files", flush=True
            )
        for number in range(given.runs):
            name = list(EXPERIMENTS)[number % len(EXPERIMENTS)]
            one = disturbed(name, Path(folder) / f"{number}", wholes[name], chance)
            outcomes.append(one)
            said = ", ".join(f"{sent}{'' if works else ' (early)'}" for sent, works in one.hits)
            ended = "same bits" if one.same else "DIFFERENT"
            print(f"{number:3} {name:8} {said}: {ended}", flush=True)
    show(outcomes)
    return int(not all(one.same for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
