"""What verbs write: results to files or to stdout, and how far they are to stderr.

Progress is a bar on a terminal, lines of JSON where they are asked for, and nothing elsewhere. Once
the work is done, a line says for each file which format it was taken for, and why.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rectitude.storage import Write, write_all

if TYPE_CHECKING:
    import polars as pl

    from rectitude.aggregate.evaluation import Evaluation

_WHERE = "rectitude.data.read"
_SAYS_ITSELF = ("convert", "demo")
Report = Callable[[int, int], None]
Event = Mapping[str, Any]


def deliver(
    text: str, output: Path | None, per_list: Path | None, evaluations: Mapping[str, Evaluation]
) -> None:
    """Print a text, or write it where it should go, and the values of every list if asked for."""
    files: dict[Path, Write] = {}
    if per_list is not None:
        files[per_list] = frame_writer(per_list, evaluations)
    if output is not None:
        files[output] = lambda where: where.write_text(text, encoding="utf-8")
    if output is not None and output.suffix.lower() == ".zip":
        files[output] = _zip_writer(evaluations)
    write_all(files)
    if output is None:
        typer.echo(text, nl=False)


def frame_writer(path: Path, evaluations: Mapping[str, Evaluation]) -> Write:
    """What writes the values of every list as the ending of the path says."""
    if path.suffix != ".csv" and len(evaluations) == 1:  # Evaluation.load knows it again
        return next(iter(evaluations.values())).stored().write_lists
    frame = stacked(evaluations)
    return frame.write_csv if path.suffix == ".csv" else frame.write_parquet


def stacked(evaluations: Mapping[str, Evaluation]) -> pl.DataFrame:
    """The values of every list; with several runs, under each other with the run's label first."""
    import polars as pl

    if len(evaluations) == 1:
        return next(iter(evaluations.values())).per_list()
    frames = [
        evaluation.per_list().select(pl.lit(label).alias("run"), pl.all())
        for label, evaluation in evaluations.items()
    ]
    return pl.concat(frames, how="diagonal")


def _zip_writer(evaluations: Mapping[str, Evaluation]) -> Write:
    """What writes evaluations with their values per list into one file."""
    from rectitude.aggregate.stored import zip_writer

    single = len(evaluations) == 1
    return zip_writer({"" if single else label: one.stored() for label, one in evaluations.items()})


@contextmanager
def shown(what: str) -> Iterator[Report | None]:
    """A function that is told how many rows are done and of how many; None if nobody watches.

    The bar goes to stderr, so that results can be piped, and vanishes when the work is done.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, rows: bar.update(task, completed=done, total=rows)


def told(line: str) -> None:
    """Say that a file was read which is no table."""
    logging.getLogger(_WHERE).info(line)


@contextmanager
def reading_told(verb: str) -> Iterator[None]:
    """Say afterwards what was read as what. Files are read side by side, so lines are sorted."""
    kept, log = _Kept(), logging.getLogger(_WHERE)
    before = log.level
    log.addHandler(kept)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(kept)
        log.setLevel(before)
        for line in () if verb in _SAYS_ITSELF else sorted(kept.lines):
            typer.secho(line, err=True, dim=True)


class _Kept(logging.Handler):
    """The messages, each once."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.lines[record.getMessage()] = None


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
        from rectitude.experiment.events import line

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
