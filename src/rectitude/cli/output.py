"""What `rectitude evaluate` adds to numbers on request: marks of small slices, and estimates.

Evaluations and values per list as files.

How far long work is: a bar on a terminal, nothing elsewhere.

Which format each file was taken for, and why: a line on stderr once the work is done.

How far a run is: bars on a terminal, lines of JSON if asked for, nothing elsewhere.
"""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rectitude.errors import BadName, RectitudeError
from rectitude.storage import Write, write_all

if TYPE_CHECKING:
    import polars as pl

    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.candidates.estimators import Estimate


_NOT_ESTIMATED = ("metrics", "intervals", "slices")


def marked(evaluations: Mapping[str, Evaluation], smallest: int) -> dict[str, Evaluation]:
    """The evaluations with slices marked that have fewer lists or relevant rows than this."""
    if smallest < 0:
        raise BadName(f"--smallest-slice is {smallest}.", "a number of lists.")
    return {
        label: one
        if one.slices is None
        else replace(one, slices=one.slices.readable_from(smallest, smallest))
        for label, one in evaluations.items()
    }


def with_estimates(
    evaluation: Evaluation, predictions: Any, truth: Any, given: Mapping[str, Any]
) -> Evaluation:
    """The evaluation with what its metrics are likely to be over all items in its manifest."""
    from rectitude.evaluation.estimates import estimates

    names = [name for name in evaluation if _has_estimator(name)]
    rest = {name: given[name] for name in given if name not in _NOT_ESTIMATED}
    found = estimates(predictions, truth, names, **rest)
    told = {name: _stored(found[name]) if name in found else None for name in evaluation}
    return replace(evaluation, manifest={**evaluation.manifest, "estimates": told})


def _has_estimator(metric: str) -> bool:
    from rectitude.candidates.estimators import formula

    try:
        formula(metric)
    except RectitudeError:
        return False
    return True


def _stored(estimate: Estimate) -> dict[str, Any]:
    facts = asdict(estimate)
    unknown = [name for name, fact in facts.items() if isinstance(fact, float) and math.isnan(fact)]
    return {**facts, **dict.fromkeys(unknown)}


def estimated(evaluations: Mapping[str, Evaluation]) -> str:
    """The estimates in words, run by run."""
    lines = ["", "over all items, estimated from the sample:"]
    for label, one in evaluations.items():
        lines += [f"{label}:"] if len(evaluations) > 1 else []
        lines += [f"  {_line(name, told)}" for name, told in one.manifest["estimates"].items()]
    return "\n".join(lines) + "\n"


def _line(name: str, told: Mapping[str, Any] | None) -> str:
    if told is None:
        return f"{name}: no estimator for this metric"
    error = "unknown" if told["standard_error"] is None else f"{told['standard_error']:.4f}"
    return f"{name} = {told['value']:.4f} +- {error} ({told['method']})"


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


def frame_writer(path: Path, evaluations: Mapping[str, Evaluation]) -> Write:
    """What writes the values of every list as the ending of the path says."""
    if path.suffix != ".csv" and len(evaluations) == 1:  # Evaluation.load knows it again
        return next(iter(evaluations.values())).stored().write_lists
    frame = stacked(evaluations)
    return frame.write_csv if path.suffix == ".csv" else frame.write_parquet


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


def _zip_writer(evaluations: Mapping[str, Evaluation]) -> Write:
    """What writes evaluations with their values per list into one file."""
    from rectitude.aggregate.stored import zip_writer

    single = len(evaluations) == 1
    return zip_writer({"" if single else label: one.stored() for label, one in evaluations.items()})


Report = Callable[[int, int], None]


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


_WHERE = "rectitude.data.read"
_SAYS_ITSELF = ("convert", "demo")


class _Kept(logging.Handler):
    """The messages, each once."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.lines[record.getMessage()] = None


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
