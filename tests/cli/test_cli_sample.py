"""`rectitude sample`: the files that the documentation uses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli_files import Run


def test_the_files_are_written_and_listed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = run("sample")
    assert said.code == 0
    names = re.findall(r"^  (\w+\.\w+) ", said.out, re.MULTILINE)
    assert {path.name for path in tmp_path.iterdir()} == {*names}


def test_what_to_try_next_works(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = run("sample", str(tmp_path / "new"))
    assert f"  cd {tmp_path / 'new'}\n" in said.out
    monkeypatch.chdir(tmp_path / "new")
    commands = re.findall(r"^  rectitude (.*)$", said.out, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        assert run(*command.split()).code == 0, command


def test_json_names_the_files(run: Run, tmp_path: Path) -> None:
    written = json.loads(run("sample", str(tmp_path), "--json").out)
    assert written["folder"] == str(tmp_path.resolve())
    assert {*written["files"]} == {path.name for path in tmp_path.iterdir()}


def test_a_file_of_yours_is_not_replaced(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("mine")
    said = run("sample", str(tmp_path))
    assert said.code == 2
    assert "train.csv exists and is not the file of the sample." in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]
