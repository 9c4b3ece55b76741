"""SIGKILL at any moment: a rerun ends with the bits of a run that nobody disturbed."""

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
KILLS = 5


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], int]:
    """What a run leaves behind, and how many things happen in it."""
    path = write(tmp_path_factory.mktemp("whole"), SMALL + TUNED)
    events: list[object] = []
    run = rt.run(path, watchers=[events.append])
    assert run.exit_code == 0
    return contents(run.folder), len(events)


def killed_after(path: Path, events: int) -> int:
    """Run an experiment in another process, and kill it when so much has happened."""
    command = [sys.executable, "-m", "rectitude", "run", str(path), "--log", "json"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, text=True
    ) as process:
        for _ in range(events):
            process.stderr.readline()
        process.send_signal(signal.SIGKILL)
        return process.wait()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("number", range(KILLS))
def test_a_killed_run_goes_on_and_gives_the_same_bits(
    number: int, tmp_path: Path, undisturbed: tuple[dict[str, str], int]
) -> None:
    whole, events = undisturbed
    path = write(tmp_path, SMALL + TUNED)
    chance = random.Random(number)  # noqa: S311  (no secrets here)
    moment = chance.randint(1 + events * number // KILLS, events * (number + 1) // KILLS)
    assert killed_after(path, moment) in (-signal.SIGKILL, 0)
    run = rt.run(path)
    assert run.exit_code == 0
    assert contents(run.folder) == whole
