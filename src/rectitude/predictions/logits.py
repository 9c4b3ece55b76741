"""Logits: a score for every class, where each row has one target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from os import PathLike

import numpy as np

from rectitude.arrays import Floats, Integers
from rectitude.data.dense import COPIED_BYTES, Block, Dense
from rectitude.data.matrices import load, matrix
from rectitude.errors import BadScores
from rectitude.predictions.scores import dense, names_of, rows_of, table_of


@dataclass(frozen=True, slots=True)
class Logits:
    """A score for every row and class, to be evaluated with one target a row.

    `source` is an array, the path of a `.npy` or `.npz` file, which is mapped into memory (unless
    it is compressed), or a function that returns the blocks of rows one after the other; then
    `rows` says how many there are.
    """

    source: object
    _: KW_ONLY
    rows: int | None = None

    def opened(self) -> Dense:
        """The logits as blocks of rows."""
        held = self.source
        if isinstance(held, (str, PathLike)):
            arrays = load(held)
            held = arrays.get("", arrays.get("logits"))
            if held is None:
                raise BadScores(
                    f"{self.source} holds {', '.join(sorted(arrays))}.", "an array named 'logits'."
                )
        asked = "rows= with their number."
        blocks, rows, columns, words = rows_of(held, self.rows, "logits", asked)
        names = names_of(None, columns, "classes", "columns")
        return dense(blocks, table_of(None, None, rows, words), names, "logits")

    @staticmethod
    def majority(targets: object, classes: int, rows: int | None = None) -> Logits:
        """A baseline that scores every class by how often it was a target, alike for every row.

        The scores are the logarithms of (count + 1) / (targets + classes), so that a class never
        met has a probability, too; of classes met equally often the lower number comes first. Hand
        over the targets of training, and how many `rows` to predict, by default as many as there
        are targets.
        """
        known = whole_targets(targets, None)
        size = len(known) if rows is None else rows
        _require_some(size, classes)
        counts = np.bincount(known[known < classes], minlength=classes)
        if not counts.any():
            raise BadScores(
                f"none of {len(known)} targets is among the {classes} classes.", "targets that are."
            )
        logits = _apart(np.log((counts + 1.0) / (counts.sum() + classes)))
        step = max(1, COPIED_BYTES // logits.nbytes)

        def blocks() -> Iterator[Block]:
            for first in range(0, size, step):
                yield np.tile(logits, (min(step, size - first), 1))

        return Logits(blocks, rows=size)

    @staticmethod
    def random(rows: int, classes: int, seed: int = 0) -> Logits:
        """A baseline of independent standard normal scores, made block by block from a seed."""
        _require_some(rows, classes)
        step = max(1, COPIED_BYTES // (4 * classes))

        def blocks() -> Iterator[Block]:
            for number, first in enumerate(range(0, rows, step)):
                generator = np.random.default_rng([seed, number])
                shape = (min(step, rows - first), classes)
                yield generator.standard_normal(shape, dtype=np.float32)

        return Logits(blocks, rows=rows)


def _apart(scores: Floats) -> Floats:
    """The scores, those that are equal made different by the smallest steps, lower class first."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    nth = np.arange(len(order)) - np.searchsorted(-ordered, -ordered)
    apart = np.empty_like(scores)
    apart[order] = ordered - nth * np.spacing(np.abs(ordered).max())
    return apart


def _require_some(rows: int, classes: int) -> None:
    if rows < 1 or classes < 1:
        raise BadScores(
            f"a baseline of {rows} rows and {classes} classes was asked for.", "at least one each."
        )


def whole_targets(targets: object, rows: int | None) -> Integers:
    """Targets as numbers from 0, one for each row, or an error that names the first bad one."""
    array = matrix(targets, "targets", (1,))
    if rows is not None and len(array) != rows:
        raise BadScores(
            f"there are {len(array)} targets and {rows} rows of logits.", "one target a row."
        )
    if array.dtype == np.uint64:  # what int64 cannot hold is outside any classes all the same
        array = np.minimum(array, np.iinfo(np.int64).max)
    with np.errstate(invalid="ignore"):  # a NaN is no whole number
        whole = array.astype(np.int64)
    for wrong, what in ((whole != array, "no whole numbers"), (whole < 0, "negative")):
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise BadScores(
                f"{int(wrong.sum())} of {len(array)} targets are {what} "
                f"(first: row {row}, {array[row]}).",
                "class numbers from 0.",
                "leave rows out that have no target.",
            )
    return whole
