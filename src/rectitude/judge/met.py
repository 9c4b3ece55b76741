"""How often training held the judged items."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Integers, places
from rectitude.data.ids import Column, align
from rectitude.judge.sides import Sides


def times_met(sides: Sides, rows: Integers) -> Integers | None:
    """(rows,) how often training holds the item of each row of the truth; None without training."""
    truth, train = sides.sources.truth, sides.sources.train
    if train is None:
        return None
    both = {
        "truth": Column(truth.frame["item"][rows], truth.source, truth.text),
        "train": Column(train.frame["item"], train.source, train.text),
    }
    codes = align(both, "item").codes
    known, counts = np.unique(codes["train"].whole, return_counts=True)
    return np.append(counts, 0)[places(known, codes["truth"].whole)]
