"""Malformed inputs: a few of those that `make fuzz` tries, always the same, and all that once broke
a promise."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import damaged_archives
import pytest
from corpus import entries, restore
from malformed import KEPT, Generator, trials
from trial import Worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork and /proc")
COUNT, SEED = 100, 20
PATIENT = 20.0
"""Seconds that a command may work: twice what is promised, as a busy machine works slowly."""
MEMORY = "100MB"


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generator]:
    """A generator of malformed inputs, with bombs that are small but above the limit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(damaged_archives, "BOMB", 300_000_000)
        damaged_archives.bomb.cache_clear()
        yield Generator(SEED, tmp_path_factory.mktemp("malformed"))
    damaged_archives.bomb.cache_clear()


def test_malformed_inputs_are_refused_in_words_and_leave_nothing_behind(
    generator: Generator,
) -> None:
    broken, codes = [], set()
    for case, ended in trials(generator, range(COUNT), 2, seconds=PATIENT, memory=MEMORY):
        codes.add(ended.code)
        found = ended.violations(case.damage.certain, KEPT.get(case.verb, ""), PATIENT)
        if found:
            broken.append(f"{found} after {case.damage.name}: {case}\n{ended.err[-500:]}")
    assert not broken, "\n\n".join(broken)
    assert codes == {0, 1, 2}


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry["why"])
def test_what_once_broke_a_promise_is_refused(
    entry: dict[str, Any], generator: Generator, worker: Worker, tmp_path: Path
) -> None:
    folder = tmp_path / "case"
    generator.copy(entry["words"], "", folder)
    restore(entry["files"], folder)
    ended = worker.run(entry["words"], folder, entry.get("settings"))
    found = ended.violations(entry["certain"], KEPT.get(entry["words"][0], ""), PATIENT)
    assert not found, f"rectitude {shlex.join(entry['words'])}\n{ended.err}"


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """A process that runs commands."""
    made = Worker(PATIENT, MEMORY)
    yield made
    made.close()
