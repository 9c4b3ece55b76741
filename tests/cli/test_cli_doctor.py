"""`rectitude doctor`: what an issue report needs."""

from __future__ import annotations

import json
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from cli_files import Run

from rectitude.cli import doctor

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_every_package_and_extra_of_the_project_is_examined(run: Run) -> None:
    project = tomllib.loads(PROJECT.read_text())["project"]
    facts = json.loads(run("doctor", "--json").out)
    assert len(facts["packages"]) == len(project["dependencies"])
    assert {*facts["extras"]} == {*project["optional-dependencies"]} - {"dev"}
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


def test_a_missing_numba_and_torch_are_no_errors(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    facts = json.loads(run("doctor", "--json").out)
    assert facts["kernels"]["compiled"].startswith("no: numba is not installed")
    assert facts["gpu"] == {"torch": "not installed"}
