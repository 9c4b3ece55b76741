"""What a person sees of a run: a bar for each running stage and a line for each finished one.

Bars are shown on the stderr of a terminal and in notebooks; lines of JSON on request.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, Literal

from rectitude.errors import make_visible
from rectitude.experiment.events import Event, line
from rectitude.progress import bar_html, find_cell, limit_rate

Shown = Literal["auto", "json", "quiet"]


@contextmanager
def watch(how: Shown) -> Iterator[Callable[[Event], None]]:
    """Provide a function that shows events on stderr, because stdout may be piped."""
    cell = find_cell() if how == "auto" else None
    if how == "json":
        yield _Lines()
    elif cell is not None:
        yield CellLines(cell)
    elif how == "auto" and sys.stderr.isatty():
        with _bars() as bars:
            yield bars
    else:
        yield lambda _: None


class _Lines:
    """Writes events as lines of JSON; progress at most once a second."""

    def __init__(self) -> None:
        self.last = 0.0

    def __call__(self, event: Event) -> None:
        """Write an event."""
        if event["event"] == "progress":
            now = time.monotonic()
            if now - self.last < 1 and event["done"] != event["of"]:
                return
            self.last = now
        sys.stderr.write(f"{line(event)}\n")
        sys.stderr.flush()


class CellLines:
    """Shows a bar for the running stage, and the finished ones, in the cell of a notebook."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self.show = show
        self.finished: list[str] = []
        self.report = limit_rate(self._show_bar)
        self.stage = ""

    def __call__(self, event: Event) -> None:
        """Show an event."""
        kind, self.stage = event["event"], event["stage"]
        if kind == "progress":
            self.report(event["done"], event["of"])
        elif self.stage != "run" and kind in ("done", "cached", "failed"):
            seconds = f" {event['seconds']:.1f} s" if kind == "done" else ""
            reason = f": {str(event['message']).partition(chr(10))[0]}" if kind == "failed" else ""
            self.finished.append(f"<div>{kind} {escape(self.stage + seconds + reason)}</div>")
            self.show("".join(self.finished))

    def _show_bar(self, done: int, of: int) -> None:
        self.show("".join([*self.finished, bar_html(self.stage, done, of)]))


@contextmanager
def _bars() -> Iterator[Callable[[Event], None]]:
    """Provide a function that shows a bar for each running stage and a line for each done stage."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(
        *columns, console=Console(stderr=True, highlight=False), transient=True
    ) as progress:
        yield _Bars(progress)


class _Bars:
    """The bars of the running stages; a search and its current trial have one each."""

    def __init__(self, progress: Any) -> None:
        self.progress = progress
        self.tasks: dict[str, Any] = {}

    def __call__(self, event: Event) -> None:
        """Show an event; names and messages are shown as they are, without control characters."""
        from rich.markup import escape

        show = getattr(self, f"_show_{event['event'].replace(' ', '_')}", None)
        if show is not None and event["stage"] != "run":
            words = {name: event[name] for name in ("stage", "message") if name in event}
            plain = {name: escape(make_visible(str(text))) for name, text in words.items()}
            show({**event, **plain})

    def _show_started(self, event: Event) -> None:
        name = event["stage"]
        self.tasks[name] = self.progress.add_task(name, total=None, rate="")

    def _show_progress(self, event: Event) -> None:
        task, done, of = self.tasks[event["stage"]], event["done"], event["of"]
        if of != self._total(task):  # a new count began, such as recommending after fitting
            self.progress.reset(task, total=of)
        speed = self._task(task).finished_speed or self._task(task).speed
        self.progress.update(task, completed=done, rate=f"{speed:,.0f}/s" if speed else "")

    def _task(self, task: Any) -> Any:
        return next(running for running in self.progress.tasks if running.id == task)

    def _total(self, task: Any) -> Any:
        return self._task(task).total

    def _show_done(self, event: Event) -> None:
        self._end(event, f"[green]done[/]    {event['stage']} [dim]{event['seconds']:.1f} s[/]")

    def _show_cached(self, event: Event) -> None:
        self.progress.console.print(f"[dim]cached  {event['stage']}[/]")

    def _show_failed(self, event: Event) -> None:
        reason = event["message"].partition("\n")[0]
        self._end(event, f"[red]failed[/]  {event['stage']} [dim]{reason}[/]")

    def _end(self, event: Event, line: str) -> None:
        task = self.tasks.pop(event["stage"], None)
        if task is not None:
            self.progress.remove_task(task)
        self.progress.console.print(line)
