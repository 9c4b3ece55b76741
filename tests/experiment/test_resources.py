"""What stages take is recorded beside the results, and changes nothing in them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from experiments import contents

import rectitude as rt
from rectitude.experiment import resources
from rectitude.experiment.resources import Meter


def stages_of(folder: Path) -> dict[str, dict[str, Any]]:
    stored = json.loads((folder / "resources.json").read_text("utf-8"))
    assert (stored["format"], stored["version"]) == ("rectitude.resources", 1)
    return {stage["stage"]: stage for stage in stored["stages"]}


def test_every_stage_and_model_has_time_and_memory(small: Path) -> None:
    run = rt.run(small, progress="quiet")
    stages = stages_of(run.folder)
    manifest = json.loads((run.folder / "manifest.json").read_text("utf-8"))
    assert [*stages] == [stage["stage"] for stage in manifest["stages"]]
    assert {"models/item-knn", "evaluate/item-knn", "split", "compare"} <= {*stages}
    for stage in stages.values():
        assert stage["seconds"] >= 0
        assert stage["cpu_seconds"] >= 0
        assert 10**7 < stage["peak_bytes"] < 10**11
        assert stage["energy_kwh"] is None


def test_a_second_run_keeps_what_cached_stages_took_and_equals_the_first(
    small: Path, tmp_path: Path
) -> None:
    first = rt.run(small, progress="quiet")
    before = stages_of(first.folder)
    again = rt.run(small, progress="quiet")
    assert stages_of(again.folder) == before
    other = rt.run(small, folder=tmp_path / "other", progress="quiet")
    assert contents(other.folder) == contents(first.folder)


def test_a_damaged_record_is_no_reason_to_fail(small: Path) -> None:
    folder = rt.run(small, progress="quiet").folder
    (folder / "resources.json").write_text("[]", encoding="utf-8")
    assert rt.run(small, progress="quiet").exit_code == 0
    assert stages_of(folder) == {}


def test_a_meter_sees_time_cpu_and_the_memory_of_its_own_block() -> None:
    meter = Meter()
    with meter.measuring() as outer:
        with meter.measuring() as large:
            held = bytearray(b"x") * 200_000_000
            del held
        with meter.measuring() as idle:
            time.sleep(0.2)
    assert idle.facts["seconds"] >= 0.2
    assert idle.facts["cpu_seconds"] < idle.facts["seconds"]
    assert outer.facts["seconds"] >= idle.facts["seconds"] + large.facts["seconds"] - 0.01
    if resources._RESET.exists():
        assert large.facts["peak_bytes"] > idle.facts["peak_bytes"] + 150_000_000
        assert outer.facts["peak_bytes"] >= large.facts["peak_bytes"]


class Tracker:
    """Stands for codecarbon: a task takes one kWh."""

    def __init__(self, **_: object) -> None:
        self.tasks: list[str] = []

    def start_task(self, name: str) -> None:
        self.tasks.append(name)

    def stop_task(self, name: str) -> Any:
        assert self.tasks[-1] == name
        return type("Data", (), {"energy_consumed": 1.0})


def test_energy_of_stages_inside_each_other_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    codecarbon = pytest.importorskip("codecarbon", reason="missing: pip install codecarbon")
    monkeypatch.setattr(codecarbon, "OfflineEmissionsTracker", Tracker)
    monkeypatch.setenv("RECTITUDE_ENERGY", "on")
    meter = Meter()
    with meter.measuring() as outer, meter.measuring() as inner:
        pass
    assert inner.facts["energy_kwh"] == 1.0
    assert outer.facts["energy_kwh"] == 3.0


def test_codecarbon_measures_a_little_energy_and_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("codecarbon", reason="missing: pip install codecarbon")
    monkeypatch.setenv("RECTITUDE_ENERGY", "on")
    with Meter().measuring() as usage:
        sum(range(10**6))
    assert 0 <= usage.facts["energy_kwh"] < 0.01
    assert capfd.readouterr() == ("", "")


def test_a_meter_that_fails_measures_no_energy(monkeypatch: pytest.MonkeyPatch) -> None:
    codecarbon = pytest.importorskip("codecarbon", reason="missing: pip install codecarbon")
    monkeypatch.setattr(codecarbon, "OfflineEmissionsTracker", lambda **_: 1 / 0)
    monkeypatch.setenv("RECTITUDE_ENERGY", "on")
    with Meter().measuring() as usage:
        pass
    assert usage.facts["energy_kwh"] is None


def test_the_report_of_a_run_shows_them_and_its_own_page_does_not(
    small: Path, tmp_path: Path
) -> None:
    text = small.read_text("utf-8").replace('[report]\nmode = "off"', "")
    small.write_text(text, encoding="utf-8")
    folder = rt.run(small, progress="quiet").folder
    assert 'id="resources"' not in (folder / "report.html").read_text("utf-8")
    page = rt.report(folder, tmp_path / "page.html").read_text("utf-8")
    assert 'id="resources"' in page
    assert "Peak memory" in page
    assert "codecarbon" not in page.partition("<script")[0]
