"""What stands in the repository makes sense on any machine."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("work", "root", "home", "Users", "opt", "mnt", "scratch")
MACHINE = re.compile(r"(?<![\w./:$}~-])/(" + "|".join(FOLDERS) + r")/\w")
HOSTS = re.compile(r"\b(artifactory|nexus|devpi)\b|//[\w.-]+/simple\b", re.IGNORECASE)


def tracked() -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in said.split("\0") if name]
    return [path for path in paths if path.is_file() and path != Path(__file__).resolve()]


def test_no_file_names_a_folder_or_host_of_one_machine() -> None:
    wrong = []
    for path in tracked():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found = [match for pattern in (MACHINE, HOSTS) for match in pattern.finditer(text)]
        wrong += [f"{path.relative_to(ROOT)}: {match[0]}" for match in found]
    assert wrong == []


def test_ci_runs_make_test() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    assert script.read_text("utf-8").rstrip().endswith("make test")


@pytest.mark.parametrize("target", ["demo", "test", "check", "bench", "docs", "site", "clean"])
def test_make_knows(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_an_old_python_is_told_so(tmp_path: Path) -> None:
    old = tmp_path / "python2"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 2.7.18 && exit 0\nexit 1\n')
    old.chmod(0o755)
    command = ["make", "demo", f"PYTHON={old}", f"VENV={tmp_path}/venv"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "needs Python 3.11 or newer" in done.stdout
    assert "2.7.18" in done.stdout
    assert not (tmp_path / "venv").exists()


def test_where_is_what_names_files_that_exist() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = page.partition("## Where is what")[2].partition("## The rules")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "?" in line]
    paths = [path for row in rows for path in re.findall(r"`([\w/]+(?:/|\.py))`", row)]
    assert len(rows) >= 15
    assert len(paths) >= len(rows)
    assert [path for path in paths if not (ROOT / "src/rectitude" / path).exists()] == []
