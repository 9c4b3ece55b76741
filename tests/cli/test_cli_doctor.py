"""`rectitude doctor`: what an issue report needs."""

from __future__ import annotations

import json
from importlib.metadata import metadata, version
from pathlib import Path

import pytest
from cli_files import Run

from rectitude.cli import doctor


def test_every_package_and_extra_of_the_installed_project_is_examined(run: Run) -> None:
    needs = metadata("rectitude").get_all("Requires-Dist")
    extras = metadata("rectitude").get_all("Provides-Extra")
    facts = json.loads(run("doctor", "--json").out)
    assert len(facts["packages"]) == sum("extra ==" not in need for need in needs or [])
    assert {*facts["extras"]} == {*(extras or [])} - {"all", "dev"}
    assert facts["packages"]["polars"] == version("polars")


def test_an_extra_without_its_packages_comes_with_the_command_that_installs_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = doctor._find_version
    monkeypatch.setattr(doctor, "_find_version", lambda name: None if name == "lz4" else find(name))
    (line,) = [line for line in run("doctor").out.splitlines() if line.strip().startswith("lz4 ")]
    assert "without lz4" in line
    assert "pip install 'rectitude[lz4]'" in line


def test_a_compiler_that_is_switched_off_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    said = run("doctor")
    assert "no: NUMBA_DISABLE_JIT is set" in said.out
    assert "  NUMBA_DISABLE_JIT  1" in said.out


def test_kernels_are_tried_not_assumed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(function: object) -> None:
        raise RuntimeError("no machine code today")

    monkeypatch.setattr("rectitude.kernels.kernel", break_down)
    assert "no: RuntimeError: no machine code today" in run("doctor").out


def test_what_counts_tensors_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="missing: torch (pip install 'rectitude[torch]')")
    monkeypatch.setenv("RECTITUDE_TORCH_KERNELS", "torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert doctor._describe_counting(torch) == "on the processor, as arrays"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert doctor._describe_counting(torch) == f"torch {torch.__version__} on cuda"


def test_a_missing_numba_and_torch_are_no_errors(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    facts = json.loads(run("doctor", "--json").out)
    assert facts["kernels"]["compiled"].startswith("no: numba is not installed")
    assert facts["kernels"]["compiled"].endswith("pip install 'rectitude[speed]'")
    assert facts["gpu"] == {"torch": "not installed"}


def test_folders_that_killed_runs_left_behind_are_counted(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RECTITUDE_SCRATCH", str(tmp_path))
    assert json.loads(run("doctor", "--json").out)["machine"]["temporary files"] == str(tmp_path)
    (tmp_path / "rectitude-parts-1").mkdir()
    assert f"{tmp_path} (1 of runs that go on" in run("doctor").out


def test_the_state_of_triton_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="missing: pip install torch")
    monkeypatch.setattr(doctor, "_find_version", lambda name: "3.0" if name == "triton" else None)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert "3.0, interpreted (TRITON_INTERPRET=1)" in run("doctor").out
