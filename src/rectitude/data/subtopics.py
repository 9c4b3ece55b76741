"""A truth that judges items for several subtopics of a query: one row for each list and item, with
the highest of its grades, and all judgements in a column of their own."""

from __future__ import annotations

import polars as pl

from rectitude.data.table import Source
from rectitude.errors import DuplicateTruth

COLUMN = "subtopics"
"""the column with the judgements of each pair of list and item: a list of (subtopic, grade)"""
_PAIR = ("list", "item")


def gather_subtopics(frame: pl.DataFrame, source: Source) -> pl.DataFrame:
    """Return a truth with one row for each list and item, in the order of their first rows.

    In qrels, whose second field is usually 0, a field that never varies is not a subtopic.
    """
    if source.roles is not None and frame["subtopic"].n_unique() < 2:
        return frame.drop("subtopic")
    repeated = frame.select(*_PAIR, "subtopic").is_duplicated()
    if repeated.any():
        first = frame.filter(repeated).row(0, named=True)
        raise DuplicateTruth(
            f"{source.label}: {int(repeated.sum())} of {frame.height} rows repeat a list, an item "
            f"and a subtopic (first: list {first['list']!r}, item {first['item']!r}, subtopic "
            f"{first['subtopic']!r}).",
            "one judgement of an item for each subtopic.",
            "remove the repeated rows.",
        )
    graded = frame if "grade" in frame.columns else frame.with_columns(grade=pl.lit(1.0))
    judgements = pl.struct("subtopic", "grade").sort_by("subtopic").alias(COLUMN)
    others = [name for name in frame.columns if name not in (*_PAIR, "grade", "subtopic")]
    return graded.group_by(_PAIR, maintain_order=True).agg(
        pl.max("grade"), judgements, *(pl.first(name) for name in others)
    )
