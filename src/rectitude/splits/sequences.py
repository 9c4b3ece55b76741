"""Sequences: each row of a split as a target, with the items that its user had before it.

Models of sequences learn and are tested on such pairs: a, b, c gives the target b after [a], and
the target c after [a, b]. Items before a target may be in another part: what a test row follows is
mostly training data.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rectitude.data.log import ROW, Log
from rectitude.options import MOST_ROWS, require_whole
from rectitude.splits.split import Split

LONGEST = 50
"""How many items a sequence has at most by default: RecBole's MAX_ITEM_LIST_LENGTH."""
HISTORY = "history"
"""The column with the items before the target, the latest last."""


def sequences_of(split: Split, longest: int = LONGEST) -> dict[str, pl.DataFrame]:
    """Return each part of a split as targets with the items before them in a column `history`.

    Rows are in the order of users and times; equal times are in the order of the source. A sequence
    has the `longest` latest items. The first row of a user has no history, so it is not a target.
    With a validation, `train` is the part that a model is tuned on: without the validation rows.
    """
    require_whole(longest, "longest", most=MOST_ROWS)
    split.truth.require("timestamp", "a sequence")
    every = pl.concat([part.frame for _, part in split.parts()]).unique(ROW, keep="first")
    # Sorting is stable, so that rows of equal time stay in the order of the source.
    every = every.sort(ROW).sort("user", "timestamp", maintain_order=True)
    history = _find_history(every, longest)
    whole = every.select(ROW).with_columns(history).filter(pl.col(HISTORY).list.len() > 0)
    return {
        name: whole.join(part.frame, ROW, maintain_order="left").select(
            *part.frame.columns, HISTORY
        )
        for name, part in _targets(split).items()
    }


def _targets(split: Split) -> dict[str, Log]:
    """Return the parts whose rows are targets; rows that are only shown are none."""
    parts = {"train": split.train, "truth": split.truth}
    if split.validation is not None:
        parts |= {"train": split.validation.train, "validation_truth": split.validation.truth}
    return parts


def _find_history(rows: pl.DataFrame, longest: int) -> pl.Series:
    """Return the items before each row, of the same user; rows are sorted by user and time."""
    place = np.arange(rows.height)
    since = rows.select(pl.int_range(pl.len()).over("user")).to_series().to_numpy()
    lengths = np.minimum(since, longest)
    ends = np.cumsum(lengths)
    # The numbers from place - length to place - 1 for each row, one row after the other.
    before = np.arange(lengths.sum()) + np.repeat(place - ends, lengths)
    flat = pl.DataFrame({"place": np.repeat(place, lengths), HISTORY: rows["item"].gather(before)})
    lists = flat.group_by("place").agg(HISTORY)
    found = pl.DataFrame({"place": place}).join(lists, "place", "left", maintain_order="left")
    return found[HISTORY].fill_null([])
