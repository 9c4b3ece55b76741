"""Evaluations and values per list as files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rectitude.storage import Write, write_all

if TYPE_CHECKING:
    import polars as pl

    from rectitude.aggregate.evaluation import Evaluation


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
    from rectitude.data.kept import zip_writer

    single = len(evaluations) == 1
    return zip_writer({"" if single else label: one.stored() for label, one in evaluations.items()})
