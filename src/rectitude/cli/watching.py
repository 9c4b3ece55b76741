"""How far a run is: bars on a terminal, lines of JSON if asked for, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Event = Mapping[str, Any]


@contextmanager
def watched(how: str) -> Iterator[Callable[[Event], None]]:
    """Whoever is told what happens; everything goes to stderr, so that results can be piped."""
    if how == "json":
        yield _Lines()
    elif how == "auto" and sys.stderr.isatty():
        with _bars() as bars:
            yield bars
    else:
        yield lambda _: None


class _Lines:
    """Writes events as lines of JSON; of progress one a second."""

    def __init__(self) -> None:
        self.last = 0.0

    def __call__(self, event: Event) -> None:
        """Write an event."""
        from rectitude.experiment.watching import line

        if event["event"] == "progress":
            now = time.monotonic()
            if now - self.last < 1 and event["done"] != event["of"]:
                return
            self.last = now
        sys.stderr.write(f"{line(event)}\n")
        sys.stderr.flush()


@contextmanager
def _bars() -> Iterator[Callable[[Event], None]]:
    """A bar for what is being done, with rate and time left; a line for what is done."""
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
    """The bars of the stages that are being done: a search has one, and so has its trial."""

    def __init__(self, progress: Any) -> None:
        self.progress = progress
        self.tasks: dict[str, Any] = {}

    def __call__(self, event: Event) -> None:
        """Show what happened."""
        show = getattr(self, f"_{event['event'].replace(' ', '_')}", None)
        if show is not None and event["stage"] != "run":
            show(event)

    def _started(self, event: Event) -> None:
        name = event["stage"]
        self.tasks[name] = self.progress.add_task(name, total=None, rate="")

    def _progress(self, event: Event) -> None:
        task, done, of = self.tasks[event["stage"]], event["done"], event["of"]
        if of != self._total(task):  # what is counted now is something else: fitting, recommending
            self.progress.reset(task, total=of)
        speed = self._task(task).finished_speed or self._task(task).speed
        self.progress.update(task, completed=done, rate=f"{speed:,.0f}/s" if speed else "")

    def _task(self, task: Any) -> Any:
        return next(one for one in self.progress.tasks if one.id == task)

    def _total(self, task: Any) -> Any:
        return self._task(task).total

    def _done(self, event: Event) -> None:
        self._end(event, f"[green]done[/]    {event['stage']} [dim]{event['seconds']:.1f} s[/]")

    def _cached(self, event: Event) -> None:
        self.progress.console.print(f"[dim]kept    {event['stage']}[/]")

    def _failed(self, event: Event) -> None:
        from rich.markup import escape

        said = escape(str(event["message"]).splitlines()[0] if event["message"] else "")
        self._end(event, f"[red]failed[/]  {event['stage']} [dim]{said}[/]")

    def _end(self, event: Event, line: str) -> None:
        task = self.tasks.pop(event["stage"], None)
        if task is not None:
            self.progress.remove_task(task)
        self.progress.console.print(line)
