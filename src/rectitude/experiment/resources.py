"""What a stage takes: wall time, CPU seconds, peak memory, and energy if codecarbon is installed.

These are measurements: they differ from run to run, so they are kept apart from results, in
resources.json, and enter no fingerprint. Peak memory is that of this process, including what it
held before the stage began. Where the system cannot reset its peak (other systems than Linux), it
is the highest so far.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rectitude.errors import BadSetting
from rectitude.storage import read_stored, require_format

FILE, FORMAT, FORMAT_VERSION = "resources.json", "rectitude.resources", 1
SETTING = "RECTITUDE_ENERGY"
_OFF = ("off", "0", "no", "false")
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"
"""what to write there to start a new peak"""


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@dataclass(eq=False)
class Usage:
    """What a stage has taken so far."""

    began: float = field(default_factory=time.monotonic)
    cpu_began: float = field(default_factory=cpu_seconds)
    peak: int = 0
    energy: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """the numbers, once the stage has ended"""

    def end(self) -> None:
        """Settle the numbers."""
        self.facts = {
            "seconds": round(time.monotonic() - self.began, 3),
            "cpu_seconds": round(cpu_seconds() - self.cpu_began, 3),
            "peak_bytes": self.peak or None,
            "energy_kwh": self.energy,
        }


class Meter:
    """Measures stages, which can be inside each other."""

    def __init__(self) -> None:
        self._open: list[Usage] = []
        self._energy: _EnergyMeter | None = None
        self._has_energy = find_spec("codecarbon") is not None and is_energy_on()

    @contextmanager
    def measuring(self) -> Iterator[Usage]:
        """Measure what happens inside this block."""
        self._settle()
        usage = Usage()
        self._open.append(usage)
        try:
            yield usage
        finally:
            self._settle()
            self._open.remove(usage)
            usage.end()

    def _settle(self) -> None:
        """Add peak and energy since the last time to all open stages."""
        peak = _read_peak()
        if self._energy is None and self._has_energy:
            self._energy = _EnergyMeter()
        energy = None if self._energy is None else self._energy.lap()
        for usage in self._open:
            usage.peak = max(usage.peak, peak)
            if energy is not None:
                usage.energy = (usage.energy or 0.0) + energy
        with suppress(OSError):
            _RESET.write_text(_RESET_PEAK, encoding="ascii")


def is_energy_on() -> bool:
    """Return whether energy is to be measured; the environment can turn it off."""
    setting = os.environ.get(SETTING, "").lower()
    if setting not in ("", "on", *_OFF):
        raise BadSetting(f"{SETTING} is {setting!r}.", "on or off.")
    return setting not in _OFF


class _EnergyMeter:
    """Energy by codecarbon, lap by lap. It asks no network and writes nothing; whatever fails in it
    is no reason for a run to fail."""

    def __init__(self) -> None:
        self._tracker: Any = None
        log = logging.getLogger("codecarbon")
        log.disabled = True  # it reports its own start before it knows its level
        with suppress(Exception):
            from codecarbon import OfflineEmissionsTracker

            self._tracker = OfflineEmissionsTracker(
                country_iso_code="USA", output_methods=[], log_level="critical",
                allow_multiple_runs=True, tracking_mode="process",
            )  # fmt: skip
            self._tracker.start_task("0")
        log.disabled = False
        self._laps = 0

    def lap(self) -> float | None:
        """Return the energy since the last lap in kWh; None if it cannot be measured."""
        try:
            energy = float(self._tracker.stop_task(str(self._laps)).energy_consumed)
            self._laps += 1
            self._tracker.start_task(str(self._laps))
        except Exception:  # a sensor that is missing or not allowed
            return None
        return energy


def _read_peak() -> int:
    """Return the most memory that this process had since the last reset; 0 if unknown."""
    with suppress(OSError, ValueError):
        for line in _STATUS.read_text("ascii", "replace").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    try:
        import resource  # noqa: PLC0415  (not on Windows)
    except ImportError:
        return 0
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(largest if sys.platform == "darwin" else 1024 * largest)


def as_document(records: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of resources.json for records by stage."""
    stages = [{"stage": stage, **facts} for stage, facts in records.items()]
    return {"format": FORMAT, "version": FORMAT_VERSION, "stages": stages}


def read_records(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the records of a run's folder by stage; none if there are none."""
    path = folder / FILE
    if not path.is_file():
        return {}
    stored = read_stored(path, "resources", "resources.json of a run.")
    stages = require_format(stored, str(path), "resources", FORMAT_VERSION)["stages"]
    return {stage["stage"]: {n: v for n, v in stage.items() if n != "stage"} for stage in stages}
