"""Clean environments: what is run in them, and the table of their results."""

from __future__ import annotations

from pathlib import Path

import pytest

import environments
from environments import ENVIRONMENTS, HEAD, PAGE, Environment, Outcome

OLD = Environment("old", "3.11", ("speed",), also=("pandas<3",), resolution="lowest-direct")


def test_a_release_is_installed_as_a_user_would_and_then_tried() -> None:
    folder = Path("made")
    make, install, check, smoke = environments.commands(OLD, folder, Path("/d/rectitude.whl"))
    assert make[:2] == ["uv", "venv"]
    assert "rectitude[speed] @ file:///d/rectitude.whl" in install
    assert install[-1] == "pandas<3"
    assert check[:3] == ["uv", "pip", "check"]
    assert smoke[1:] == [str(environments.ROOT / "tools" / "smoke.py"), "speed"]


def test_the_oldest_versions_are_those_of_what_the_project_asks_for() -> None:
    install = environments.commands(OLD, Path("made"), Path("/d/rectitude.whl"))[1]
    assert "lowest-direct" in install
    assert {"numpy>=1.26", "polars>=1.30"} <= {*install}
    assert any(demand.startswith("numba>=") for demand in install)


def test_an_environment_without_its_python_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments.shutil, "which", lambda name: None)
    assert environments.run(OLD, Path()).result == environments.NOT_RUN


def test_new_results_replace_old_ones_and_what_was_not_run_keeps_its_result() -> None:
    kept, changed = Environment("kept", "3.11"), Environment("changed", "3.12")
    first = [Outcome(kept, "passed", {"numpy": "2.0"}), Outcome(changed, "failed", {})]
    page = f"# Page\n\n{HEAD}" + "".join(one.row() + "\n" for one in first) + "\nThe end.\n"
    again = [Outcome(kept, environments.NOT_RUN, {}), Outcome(changed, "passed", {})]
    found = environments.updated(page, again)
    assert found == page.replace("| failed |", "| passed |")


def test_every_environment_has_a_row_on_the_page() -> None:
    rows = PAGE.read_text("utf-8").partition(HEAD)[2].partition("\n\n")[0].splitlines()
    found = {environments.name_of(row) for row in rows}
    assert {one.name for one in ENVIRONMENTS} <= found
    assert all(row.split(" | ")[4].split()[0] in ("passed", "failed", "not") for row in rows)
