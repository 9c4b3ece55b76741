"""Scores without ids, one for each row of a truth with queries: the numbers that LightGBM, XGBoost
and the like predict for a LETOR file, in memory or in a file with one number per line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from rectitude.data.columns import want_columns
from rectitude.data.formats.file import File, open_content
from rectitude.data.formats.lines import number_lines
from rectitude.data.formats.recognise import is_letor
from rectitude.data.frames import rename_columns
from rectitude.data.read import open_file
from rectitude.data.table import Interactions, Source
from rectitude.errors import BadTable
from rectitude.predictions.unlabelled import holds_floats
from rectitude.texts import require_regular

_LETOR = ("letor", "svmlight")


class Joined(NamedTuple):
    """Predictions and truth; scores by row are joined to the rows."""

    predictions: object
    truth: object


def join_scores(predictions: object, truth: object) -> Joined:
    """Return scores by row, an array or a file of numbers, with the queries and items of the rows;
    if the truth has no such rows, return both unchanged."""
    path = _path_of(truth)
    if path is None or not _is_letor(path, truth):
        return Joined(predictions, truth)
    scores = _read_scores(predictions)
    if scores is None:
        return Joined(predictions, truth)
    form = truth.format if isinstance(truth, Interactions) else None
    rows = open_file(path, want_columns("truth", {}, "user", form or ""))
    kept = replace(truth, source=rows) if isinstance(truth, Interactions) else rows
    return Joined(_scores_of(rows, scores), kept)


def _path_of(given: object) -> Path | None:
    """Return the file that something names, or None."""
    source = given.source if isinstance(given, Interactions) else given
    if not isinstance(source, (str, PathLike)):
        return None
    path = require_regular(source)
    return path if path.is_file() else None


def _is_letor(path: Path, truth: object) -> bool:
    form = truth.format if isinstance(truth, Interactions) else None
    return form in _LETOR if form else is_letor(open_content(path), "truth") is not None


def _read_scores(predictions: object) -> pl.Series | None:
    """Return one number per row, named after its source; None if the predictions have ids."""
    if isinstance(predictions, np.ndarray) and predictions.ndim == 1 and holds_floats(predictions):
        return pl.Series("NumPy array", predictions.astype(np.float64))
    path = _path_of(predictions)
    return None if path is None else _read_numbers(open_content(path))


def _read_numbers(file: File) -> pl.Series:
    lines = number_lines(file)
    numbers = lines["line"].str.strip_chars().cast(pl.Float64, strict=False)
    wrong = lines.filter(numbers.is_null())
    if wrong.height:
        raise BadTable(
            f"{file.path.name}, line {wrong['number'][0]} is not a number:"
            f" {wrong['line'][0]!r:.40}.",
            "one score per line, in the order of the rows of the truth.",
            "fix this line.",
        )
    return numbers.alias(file.path.name)


def _scores_of(rows: Source, scores: pl.Series) -> Source:
    """Return the scores as a table with the queries and items of the rows."""
    frame = rows.take({"list": "list", "item": "item"})
    if len(scores) != frame.height:
        raise BadTable(
            f"the predictions ({scores.name}) have {len(scores):,} scores, but the truth"
            f" ({rows.label}) has {frame.height:,} rows.",
            "one score for each row of the truth, in the same order.",
            "predict scores for the rows of this file, or pass the file that the scores belong to.",
        )
    scored = frame.with_columns(scores.alias("score"))

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        return rename_columns(scored, chosen)

    roles = {name: name for name in scored.columns}
    how = f"scores (one number for each row of {rows.label}, in their order)"
    return Source(scores.name, [*roles], take, roles, anonymous=True, text=True, recognised=how)
