"""Files to evaluate, and a way to run the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_files import GOOD, POOR, TRUTH, Run, Said

from rectitude.cli import main


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, also the current one, with a truth and two runs; cid has no list."""
    (tmp_path / "truth.csv").write_text(TRUTH)
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "poor.csv").write_text(POOR)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process."""

    def call(*arguments: str) -> Said:
        code = main(arguments)
        printed = capsys.readouterr()
        lines = printed.err.splitlines(keepends=True)
        read = [line for line in lines if line.startswith("read ")]
        rest = [line for line in lines if line not in read]
        return Said(code, printed.out, "".join(rest), "".join(read))

    return call


@pytest.fixture
def evaluate(shop: Path, run: Run) -> Run:
    """Run `rectitude evaluate` on the truth of the shop."""

    def call(*arguments: str) -> Said:
        return run("evaluate", "--truth", "truth.csv", "--predictions", *arguments)

    return call
