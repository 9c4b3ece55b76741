"""What a terminal shows: a progress bar with rate and time left, and a line per stage."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from rectitude.experiment import bars as watching


def test_stages_are_shown_with_their_times(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with watching.watch("auto") as tell:
        tell({"event": "cached", "stage": "data"})
        tell({"event": "started", "stage": "models/ease"})
        tell({"event": "progress", "stage": "models/ease", "done": 3, "of": 10})
        tell({"event": "progress", "stage": "models/ease", "done": 5, "of": 20})
        tell({"event": "done", "stage": "models/ease", "seconds": 1.25})
        tell({"event": "started", "stage": "models/mine"})
        message = "no [luck] today\nmore"
        tell({"event": "failed", "stage": "models/mine", "seconds": 0.1, "message": message})
    said = terminal.getvalue()
    for words in ("cached", "data", "done", "models/ease", "failed", "no [luck] today"):
        assert words in said
    assert "more" not in said


def test_a_bar_shows_progress_and_restarts_for_other_work() -> None:
    with Progress(console=Console(file=io.StringIO())) as progress:
        bars = watching._Bars(progress)
        bars({"event": "started", "stage": "models/ease"})
        bars({"event": "progress", "stage": "models/ease", "done": 10, "of": 10})
        bars({"event": "progress", "stage": "models/ease", "done": 50, "of": 200})
        (task,) = progress.tasks
        assert (task.completed, task.total) == (50, 200)
        bars({"event": "done", "stage": "models/ease", "seconds": 1.0})
        assert not progress.tasks


@pytest.mark.parametrize("how", ["auto", "quiet"])
def test_nothing_is_written_without_a_terminal(
    how: watching.Shown, capsys: pytest.CaptureFixture[str]
) -> None:
    with watching.watch(how) as tell:
        tell({"event": "started", "stage": "data"})
    assert capsys.readouterr().err == ""
