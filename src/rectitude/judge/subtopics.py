"""The judgements of items by subtopic, as judged lists have them."""

from __future__ import annotations

import numpy as np
import polars as pl

from rectitude.data.subtopics import COLUMN
from rectitude.judge.align import Aligned
from rectitude.judge.judged import Subtopics
from rectitude.judge.truth import Truth


def find_subtopics(sides: Aligned, truth: Truth) -> Subtopics | None:
    """Return the judgements of the truth by subtopic; None if it has no subtopics."""
    frame = sides.sources.truth.frame
    if COLUMN not in frame.columns:
        return None
    lists, positions = truth.rows.expand()
    rows = truth.rows.rows(positions)
    named = (
        pl.DataFrame({"row": np.arange(len(rows)), "list": lists, COLUMN: frame[COLUMN][rows]})
        .explode(COLUMN)
        .unnest(COLUMN)
        .with_columns(number=pl.col("subtopic").rank("dense").over("list") - 1)
    )
    number = named["number"].to_numpy().astype(np.int64)
    grades = np.full((len(rows), int(number.max(initial=0)) + 1), -np.inf)
    grades[named["row"].to_numpy(), number] = named["grade"].to_numpy()
    return Subtopics(grades, sides.items.sort_keys("truth", rows))
