"""Progress of an evaluation: a bar where people see it, and a function for everybody else."""

from __future__ import annotations

import io
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rectitude as rt
from rectitude.errors import BadArgument
from rectitude.experiment.bars import watch
from rectitude.progress import limit_rate, show_progress

LISTS, TRUTH = {1: ["a"], 2: ["b"], 3: ["c"]}, {1: ["a"], 2: ["a"], 3: ["b"]}
SCORES = rt.Scores(np.arange(12.0).reshape(4, 3))


class Terminal(io.StringIO):
    """A stderr that somebody looks at."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the cell of a notebook showed, one after the other."""
    shown: list[str] = []
    handle = SimpleNamespace(update=shown.append)
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=None)  # type: ignore[attr-defined]
    display.HTML = str  # type: ignore[attr-defined]
    display.display = lambda html, display_id: handle  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_a_function_hears_of_lists_at_the_end_and_of_scores_on_the_way() -> None:
    calls: list[tuple[int, int]] = []
    rt.evaluate(LISTS, TRUTH, "mrr", progress=lambda *done: calls.append(done))
    assert calls == [(3, 3)]
    calls.clear()
    rt.evaluate(SCORES, {0: [1]}, "mrr", progress=lambda *done: calls.append(done))
    assert calls[-1] == (4, 4)


def test_a_bar_is_shown_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert rt.evaluate(LISTS, TRUTH, "mrr", progress=True)["mrr"] == 1 / 3
    assert "evaluating" in terminal.getvalue()


def test_a_bar_is_shown_in_a_notebook_and_removed_at_the_end(cell: list[str]) -> None:
    rt.evaluate(LISTS, TRUTH, "mrr", progress=True)
    bar = '<progress value="3" max="3"></progress>'
    assert cell == [f"<div>evaluating {bar} 3 of 3</div>", ""]


@pytest.mark.parametrize("progress", [True, False, None])
def test_nothing_is_shown_without_a_terminal(
    progress: bool | None, capsys: pytest.CaptureFixture[str]
) -> None:
    rt.evaluate(LISTS, TRUTH, "mrr", progress=progress)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("progress", ["yes", 1, []])
def test_other_values_are_refused_with_what_is_expected(progress: Any) -> None:
    with pytest.raises(BadArgument, match="True for a progress bar, or a function"):
        rt.evaluate(LISTS, TRUTH, "mrr", progress=progress)


def test_a_notebook_shows_the_stages_of_a_run(cell: list[str]) -> None:
    with watch("auto") as tell:
        tell({"event": "cached", "stage": "data"})
        tell({"event": "started", "stage": "models/<a>"})
        tell({"event": "progress", "stage": "models/<a>", "done": 10, "of": 10})
        assert cell[-1].startswith("<div>cached data</div><div>models/&lt;a&gt; <progress")
        tell({"event": "done", "stage": "models/<a>", "seconds": 1.25})
        tell({"event": "failed", "stage": "models/b", "message": "no luck\nmore"})
        tell({"event": "done", "stage": "run", "seconds": 2.0})
    assert cell[-1] == (
        "<div>cached data</div><div>done models/&lt;a&gt; 1.2 s</div>"
        "<div>failed models/b: no luck</div>"
    )


def test_a_notebook_is_not_flooded_with_updates() -> None:
    calls: list[int] = []
    report = limit_rate(lambda done, of: calls.append(done))
    for done in range(1000):
        report(done, 1000)
    report(1000, 1000)
    assert calls[0] == 0
    assert calls[-1] == 1000
    assert len(calls) < 100


def test_names_in_a_terminal_are_shown_and_not_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    name = "a{0}[red]\x1b]0;title\x07"
    with show_progress(name) as report:
        assert report is not None
        report(1, 2)
    with watch("auto") as tell:
        tell({"event": "started", "stage": f"models/{name}"})
        tell({"event": "cached", "stage": f"models/{name}"})
        tell({"event": "failed", "stage": f"models/{name}", "message": f"{name}\nmore"})
    shown = terminal.getvalue()
    assert "\x07" not in shown
    assert "\x1b]0" not in shown
    assert r"a{0}[red]\x1b]0;title\x07" in shown
