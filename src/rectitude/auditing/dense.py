"""Dense scores as checks look at them: what is wrong with them, and the first places of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Integers
from rectitude.auditing.parts import PAIR, USER, AuditedScores, CodedTable, Parts
from rectitude.data.dense import Block, Dense
from rectitude.data.matrices import load, matrix
from rectitude.data.table import Table
from rectitude.errors import BadScores
from rectitude.evaluation.restrict import table_made
from rectitude.predictions.logits import Logits
from rectitude.predictions.masks import top
from rectitude.predictions.scores import Embeddings, Scores


def opened_dense(predictions: object) -> Dense | None:
    """Dense predictions, opened; None if they are lists or absent."""
    if isinstance(predictions, Embeddings):
        return _products(predictions)
    return predictions.opened() if isinstance(predictions, (Scores, Logits)) else None


def _products(embeddings: Embeddings) -> Dense:
    """The products as blocks of rows, NaN where a vector is not finite: an evaluation refuses such
    vectors, an audit counts what becomes of them."""
    left, right = (_array(side, "vectors") for side in (embeddings.user_vectors,
                                                        embeddings.item_vectors))  # fmt: skip
    lost, gone = (~np.isfinite(side).all(axis=1) for side in (left, right))
    if not lost.any() and not gone.any():
        return embeddings.opened()
    sound = replace(
        embeddings,
        user_vectors=np.where(lost[:, None], 0, left),
        item_vectors=np.where(gone[:, None], 0, right),
    )
    dense = sound.opened()

    def blocks() -> Iterator[Block]:
        for first, last, block in dense.spans():
            holes = lost[first:last, None] | gone
            yield np.where(holes, block.dtype.type(np.nan), block)

    return replace(dense, blocks=blocks)


def _array(given: object, what: str, dimensions: tuple[int, ...] = (2,)) -> NDArray[Any]:
    if isinstance(given, (str, PathLike)):
        given = next(iter(load(given).values()))
    return matrix(given, what, dimensions)


# targets of logits


def targets_of(dense: Dense, given: object) -> tuple[Table, dict[int, Any]]:
    """The targets of logits that are class numbers as a table, and the others by row."""
    targets = _array(given, "targets", (1,))
    if len(targets) != dense.rows:
        raise BadScores(
            f"there are {len(targets)} targets and {dense.rows} rows of logits.",
            "one target a row.",
        )
    with np.errstate(invalid="ignore"):  # a NaN is no whole number
        whole = targets.astype(np.int64)
    sound = (whole == targets) & (targets >= 0)
    wrong = {int(row): targets[row].item() for row in np.flatnonzero(~sound)}
    rows = np.flatnonzero(sound)
    return table_made({"list": rows, "item": whole[sound]}, "targets"), wrong


def learnt_targets(given: object) -> Table:
    """The targets of training as a table of items."""
    return table_made({"item": _array(given, "targets of training", (1,))}, "targets of training")


@dataclass(frozen=True, slots=True)
class ScoreRows:
    """Logits of which some rows are evaluated, each with its target."""

    dense: Dense

    def chosen(self, rows: Integers) -> Logits:
        """The logits of some rows, ascending."""
        if len(rows) == self.dense.rows:
            return Logits(self.dense.blocks, rows=len(rows))

        def blocks() -> Iterator[Block]:
            for first, last, block in self.dense.spans():
                here = rows[(rows >= first) & (rows < last)] - first
                if len(here):
                    yield np.ascontiguousarray(block[here])

        return Logits(blocks, rows=len(rows))


# what scores hold


def with_scores(
    parts: Parts, dense: Dense, codes: CodedTable, padding: int | None, wrong: dict[int, Any] | None
) -> Parts:
    """The parts with what dense scores hold, and with the scores as they can be evaluated; `wrong`
    are the targets that are none, if these are logits."""
    lists, items = (ids.codes["scores"].whole for ids in (codes.lists, codes.items))
    sound = replace(dense, blocks=_sound(dense), padding=padding)
    owned = codes.lists is not codes.users and "scores" in getattr(codes.users, "codes", {})
    rows: dict[str, Any] = {"lists": lists} if codes.lists is not codes.users else {"users": lists}
    if owned:
        rows["users"] = codes.users.codes["scores"].whole
    unused = None if padding is None else items[padding]
    scores = Scores(sound.blocks, **rows, items=items, padding=unused)
    ranked = ScoreRows(sound) if dense.kind == "logits" else scores
    scored = replace(_scored(dense, padding, lists, items), wrong_targets=wrong)
    parts = replace(parts, scored=scored, ranked=ranked, order="score")
    return replace(parts, lists=_first_places(parts, scores))


def _sound(dense: Dense) -> Callable[[], Iterator[Block]]:
    """The blocks with the lowest score in the place of NaN."""

    def blocks() -> Iterator[Block]:
        for block in dense.blocks():
            holes = np.isnan(block)
            yield np.where(holes, block.dtype.type(-np.inf), block) if holes.any() else block

    return blocks


def _scored(dense: Dense, padding: int | None, lists: Any, items: Any) -> AuditedScores:
    bad, equal = [], []
    cells, holes = 0, False
    for first, _, block in dense.spans():
        real = block if padding is None else np.delete(block, padding, axis=1)
        equal.append(first + np.flatnonzero(real.min(axis=1) == real.max(axis=1)))
        wrong = _wrong(block, padding)
        cells += int(wrong.sum())
        holes |= bool(np.isnan(block[wrong]).any())
        rows = np.flatnonzero(wrong.any(axis=1))
        bad.append((first + rows, wrong[rows].argmax(axis=1)))
    rows, columns = (np.concatenate([one[side] for one in bad]) for side in (0, 1))
    frame = pl.DataFrame({"list": lists[rows], "item": items[columns]})
    constant = pl.Series("list", lists[np.concatenate(equal)])
    size = dense.rows * dense.columns
    return AuditedScores(dense.rows, size, pl.Series("item", items), frame, cells, holes, constant)


def _wrong(block: Block, padding: int | None) -> Flags:
    """Which scores cannot be: NaN or infinite; the score of a masked item may be -inf."""
    wrong: Flags = np.isnan(block) | (block == np.inf)
    if padding is not None:
        wrong[:, padding] = False
    return wrong


def _first_places(parts: Parts, scores: Scores) -> pl.DataFrame:
    """The first places of each row as lists, one more than the deepest cutoff, with scores."""
    opened = scores.opened()
    owned = parts.key == USER or USER in opened.table.frame.columns
    masked = parts.profile.convention.seen == "removed" and parts.train is not None and owned
    best = top(opened, parts.depth + 1, parts.trained() if masked else None)
    rows, places = np.nonzero(best >= 0)
    columns, values = best[rows, places], np.empty(len(rows))
    for first, last, block in opened.spans():
        here = (rows >= first) & (rows < last)
        values[here] = block[rows[here] - first, columns[here]]
    keys = opened.table.frame
    lists = keys[rows].with_columns(
        item=pl.Series(opened.items.to_numpy()[columns]), score=pl.Series(values),
        place=pl.Series(places + 1), again=pl.lit(False),
    )  # fmt: skip
    if parts.key == USER:
        lists = lists.with_columns(user="list")
    if parts.train is None or not owned:
        return lists
    known = parts.train.select("user", "item", PAIR).unique(PAIR)
    return lists.join(known, on=["user", "item"], how="left", maintain_order="left")
