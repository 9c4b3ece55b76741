"""Signals at any moment: a rerun gives the same files as a run without interruption."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from experiments import SMALL, TUNED, contents, write

import rectitude as rt

SOURCE = Path(rt.__file__).resolve().parents[1]
WINDOWS = SMALL.replace(
    'how = "time_ratio"\nratio = 0.2\nvalidation = { how = "time_ratio", ratio = 0.2 }',
    'how = "windows"\nspan = "30d"\nfolds = 2',
)
EXPERIMENTS = {"tuned": SMALL + TUNED, "windows": WINDOWS}
STOPS = (
    ("tuned", "SIGKILL"), ("windows", "SIGKILL"), ("tuned", "SIGTERM"), ("windows", "SIGINT"),
    ("tuned", "SIGKILL"),
)  # fmt: skip
"""An experiment, and what stops it; the first early, the last late."""
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
Whole = tuple[dict[str, str], int]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Whole]:
    """Run each experiment, and return its files and its number of events."""
    return {
        name: run_whole(text, tmp_path_factory.mktemp(name)) for name, text in EXPERIMENTS.items()
    }


def run_whole(text: str, folder: Path) -> Whole:
    """Run an experiment without interruption."""
    events: list[object] = []
    run = rt.run(write(folder, text), watchers=[events.append])
    assert run.exit_code == 0
    return contents(run.folder), len(events)


def stopped_after(path: Path, events: int, name: str) -> int:
    """Run an experiment in another process, and send it a signal after a number of events."""
    command = [sys.executable, "-m", "rectitude", "run", str(path), "--log", "json"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, text=True
    ) as process:
        for _ in range(events):
            process.stderr.readline()
        process.send_signal(signal.Signals[name])
        assert "Traceback" not in process.stderr.read()
        return process.wait()


@pytest.mark.parametrize("number", range(len(STOPS)))
def test_a_run_that_was_stopped_resumes_and_gives_identical_files(
    number: int, tmp_path: Path, undisturbed: dict[str, Whole]
) -> None:
    experiment, name = STOPS[number]
    whole, events = undisturbed[experiment]
    path = write(tmp_path, EXPERIMENTS[experiment])
    chance = random.Random(number)  # noqa: S311  (no secrets here)
    moment = chance.randint(1 + events * number // len(STOPS), events * (number + 1) // len(STOPS))
    ends = {"SIGKILL": -signal.SIGKILL, "SIGTERM": -signal.SIGTERM, "SIGINT": 130}
    assert stopped_after(path, moment, name) in (ends[name], 0)
    run = rt.run(path)
    assert run.exit_code == 0
    assert contents(run.folder) == whole
