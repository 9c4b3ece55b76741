"""`Logits`: a score for every class, for predictions in which each row has one target."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Logits:
    """A score for every row and class, to be evaluated against one target per row.

    `source` is an array, the path of a `.npy` or `.npz` file (memory-mapped unless it is
    compressed), or a function that returns the rows in blocks. With a function, `rows` gives the
    number of rows.
    """

    source: object
    _: KW_ONLY
    rows: int | None = None

    def open(self) -> Dense:
        """Return the logits as blocks of rows."""
        source = self.source
        if isinstance(source, (str, PathLike)):
            arrays = load(source)
            source = arrays.get("", arrays.get("logits"))
            if source is None:
                raise BadScores(
                    f"{self.source} contains {', '.join(sorted(arrays))}.",
                    "an array named 'logits'.",
                )
        requirement = "rows= with the number of rows."
        blocks, rows, columns, words = rows_of(source, self.rows, "logits", requirement)
        names = names_of(None, columns, "classes", "columns")
        return dense(blocks, table_of(None, None, rows, words), names, "logits")

    @staticmethod
    def majority(targets: object, classes: int, rows: int | None = None) -> Logits:
        """Return a baseline that scores every class by how often it was a target, the same in every
        row.

        The scores are the logarithms of (count + 1) / (targets + classes), so a class that never
        occurs still has a probability above 0. If two classes occur equally often, the lower number
        comes first. Pass the targets of the training data. `rows` is the number of rows to predict,
        by default the number of targets.
        """
        numbers = whole_targets(targets, None)
        size = len(numbers) if rows is None else rows
        _require_positive(size, classes)
        counts = np.bincount(numbers[numbers < classes], minlength=classes)
        if not counts.any():
            raise BadScores(
                f"none of the {len(numbers)} targets is one of the {classes} classes.",
                f"targets from 0 to {classes - 1}.",
            )
        logits = _break_ties(np.log((counts + 1.0) / (counts.sum() + classes)))
        step = max(1, COPIED_BYTES // logits.nbytes)

        def blocks() -> Iterator[Block]:
            for first in range(0, size, step):
                yield np.tile(logits, (min(step, size - first), 1))

        return Logits(blocks, rows=size)

    @staticmethod
    def random(rows: int, classes: int, seed: int = 0) -> Logits:
        """Return a baseline of independent standard normal scores, drawn block by block from a
        seed."""
        _require_positive(rows, classes)
        step = max(1, COPIED_BYTES // (4 * classes))

        def blocks() -> Iterator[Block]:
            for number, first in enumerate(range(0, rows, step)):
                generator = np.random.default_rng([seed, number])
                shape = (min(step, rows - first), classes)
                yield generator.standard_normal(shape, dtype=np.float32)

        return Logits(blocks, rows=rows)


def _break_ties(scores: Floats) -> Floats:
    """Return the scores with ties broken by the smallest possible steps, lower class first."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    nth = np.arange(len(order)) - np.searchsorted(-ordered, -ordered)
    distinct = np.empty_like(scores)
    distinct[order] = ordered - nth * np.spacing(np.abs(ordered).max())
    return distinct


def _require_positive(rows: int, classes: int) -> None:
    if rows < 1 or classes < 1:
        raise BadScores(f"rows is {rows} and classes is {classes}.", "at least 1 of each.")


def whole_targets(targets: object, rows: int | None, what: str = "targets") -> Integers:
    """Return the targets as class numbers, one per row. Raise an error that names the first bad
    one."""
    array = matrix(targets, what, (1,))
    if rows is not None and len(array) != rows:
        raise BadScores(
            f"targets has length {len(array)}, but there are {rows} rows of logits.",
            "one target per row.",
        )
    if array.dtype == np.uint64:  # numbers too large for int64 are not valid classes anyway
        array = np.minimum(array, np.iinfo(np.int64).max)
    with np.errstate(invalid="ignore"):  # NaN is rejected below
        whole = array.astype(np.int64)
    for wrong, problem in ((whole != array, "not whole numbers"), (whole < 0, "negative")):
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise BadScores(
                f"{int(wrong.sum())} of {len(array)} {what} are {problem} "
                f"(first: row {row}, {array[row]}).",
                "class numbers from 0.",
                "leave out rows without a target.",
            )
    return whole
