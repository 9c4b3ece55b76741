"""Values per list as files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rectitude.storage import Write

if TYPE_CHECKING:
    from pathlib import Path

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


def frame_writer(path: Path, frame: pl.DataFrame) -> Write:
    """What writes the frame as the ending of the path says."""
    return frame.write_csv if path.suffix == ".csv" else frame.write_parquet
