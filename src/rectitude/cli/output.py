"""The output of commands: results go to files or stdout.

Everything that commands print passes through `say`, which spells out control characters: names in
data and files cannot control a terminal. At the end, one line per input file says on stderr which
format was recognised, and why.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from rectitude.errors import make_visible
from rectitude.storage import Write, write_all

if TYPE_CHECKING:
    import polars as pl

    from rectitude.aggregate.evaluation import Evaluation

_READ_LOGGER = "rectitude.data.read"
_WITHOUT_FORMATS = ("convert", "demo")
"""Commands after which the formats are not reported: their own output is enough."""


def say(text: str, *, where: Literal["stdout", "stderr"] = "stdout", end: str = "\n") -> None:
    """Print a text with its control characters spelled out; only line breaks and tabs remain."""
    typer.echo(make_visible(text) + end, err=where == "stderr", nl=False)


def deliver(
    text: str, output: Path | None, per_list: Path | None, evaluations: Mapping[str, Evaluation]
) -> None:
    """Print a text or write it to a file; also write the values of every list if asked for."""
    files: dict[Path, Write] = {}
    if per_list is not None:
        files[per_list] = frame_writer(per_list, evaluations)
    if output is not None:
        files[output] = lambda path: path.write_text(text, encoding="utf-8")
    if output is not None and output.suffix.lower() == ".zip":
        files[output] = _zip_writer(evaluations)
    write_all(files)
    if output is None:
        say(text, end="")


def frame_writer(path: Path, evaluations: Mapping[str, Evaluation]) -> Write:
    """Return a function that writes the values of every list in the format of the extension."""
    if path.suffix != ".csv" and len(evaluations) == 1:  # Evaluation.load can read it back
        return next(iter(evaluations.values())).stored().write_lists
    frame = stack_per_list(evaluations)
    return frame.write_csv if path.suffix == ".csv" else frame.write_parquet


def stack_per_list(evaluations: Mapping[str, Evaluation]) -> pl.DataFrame:
    """Return the values of every list; several runs are stacked, with a column of their labels."""
    import polars as pl

    if len(evaluations) == 1:
        return next(iter(evaluations.values())).per_list()
    frames = [
        evaluation.per_list().select(pl.lit(label).alias("run"), pl.all())
        for label, evaluation in evaluations.items()
    ]
    return pl.concat(frames, how="diagonal")


def _zip_writer(evaluations: Mapping[str, Evaluation]) -> Write:
    """Return a function that writes evaluations and their values per list to one zip file."""
    from rectitude.aggregate.stored import zip_writer

    single = len(evaluations) == 1
    stored = {"" if single else label: run.stored() for label, run in evaluations.items()}
    return zip_writer(stored)


def log_reading(line: str) -> None:
    """Log that a file other than a table was read."""
    logging.getLogger(_READ_LOGGER).info(line)


@contextmanager
def report_formats(command: str) -> Iterator[None]:
    """Print the recognised format of each file at the end, sorted: files are read in parallel."""
    handler, log = _Messages(), logging.getLogger(_READ_LOGGER)
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    except KeyboardInterrupt:
        handler.lines.clear()
        raise
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        for line in () if command in _WITHOUT_FORMATS else sorted(handler.lines):
            typer.secho(make_visible(line), err=True, dim=True)


class _Messages(logging.Handler):
    """Collects log messages, each once."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Collect a message."""
        self.lines[record.getMessage()] = None
