"""Dense scores for checks: what is wrong with them, and the top items of each row."""

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
from rectitude.evaluation.restrict import make_table
from rectitude.predictions.logits import Logits
from rectitude.predictions.masks import top
from rectitude.predictions.scores import Embeddings, Scores


def open_dense(predictions: object) -> Dense | None:
    """Open dense predictions; return None if they are lists or absent."""
    if isinstance(predictions, Embeddings):
        return _products(predictions)
    return predictions.open() if isinstance(predictions, (Scores, Logits)) else None


def _products(embeddings: Embeddings) -> Dense:
    """Open embeddings as blocks of scores, with NaN for vectors that are not finite.

    An evaluation refuses such vectors. An audit counts the scores that they spoil.
    """
    left, right = (_array(side, "vectors") for side in (embeddings.user_vectors,
                                                        embeddings.item_vectors))  # fmt: skip
    bad_users, bad_items = (~np.isfinite(side).all(axis=1) for side in (left, right))
    if not bad_users.any() and not bad_items.any():
        return embeddings.open()
    cleaned = replace(
        embeddings,
        user_vectors=np.where(bad_users[:, None], 0, left),
        item_vectors=np.where(bad_items[:, None], 0, right),
    )
    dense = cleaned.open()

    def blocks() -> Iterator[Block]:
        for first, last, block in dense.spans():
            holes = bad_users[first:last, None] | bad_items
            yield np.where(holes, block.dtype.type(np.nan), block)

    return replace(dense, blocks=blocks)


def _array(source: object, what: str, dimensions: tuple[int, ...] = (2,)) -> NDArray[Any]:
    if isinstance(source, (str, PathLike)):
        source = next(iter(load(source).values()))
    return matrix(source, what, dimensions)


# targets of logits


def targets_of(dense: Dense, source: object) -> tuple[Table, dict[int, Any]]:
    """Return the valid targets of logits as a table, and the invalid ones by row."""
    targets = _array(source, "targets", (1,))
    if len(targets) != dense.rows:
        raise BadScores(
            f"there are {len(targets)} targets and {dense.rows} rows of logits.",
            "one target per row.",
            "check that targets and logits come from the same rows.",
        )
    with np.errstate(invalid="ignore"):  # NaN is not a whole number
        whole = targets.astype(np.int64)
    valid = (whole == targets) & (targets >= 0)
    wrong = {int(row): targets[row].item() for row in np.flatnonzero(~valid)}
    rows = np.flatnonzero(valid)
    return make_table({"list": rows, "item": whole[valid]}, "targets"), wrong


def training_targets(source: object) -> Table:
    """Return the training targets as a table of items."""
    return make_table({"item": _array(source, "training targets", (1,))}, "training targets")


@dataclass(frozen=True, slots=True)
class ScoreRows:
    """Logits; only some of their rows are evaluated, each with its target."""

    dense: Dense

    def choose(self, rows: Integers) -> Logits:
        """Return the logits of some rows; the row numbers must be ascending."""
        if len(rows) == self.dense.rows:
            return Logits(self.dense.blocks, rows=len(rows))

        def blocks() -> Iterator[Block]:
            for first, last, block in self.dense.spans():
                in_block = rows[(rows >= first) & (rows < last)] - first
                if len(in_block):
                    yield np.ascontiguousarray(block[in_block])

        return Logits(blocks, rows=len(rows))


# contents of scores


def with_scores(
    parts: Parts, dense: Dense, codes: CodedTable, padding: int | None, wrong: dict[int, Any] | None
) -> Parts:
    """Add a summary of the dense scores, and a copy without NaN to evaluate, to the parts.

    `wrong` has the invalid targets by row if the scores are logits.
    """
    lists, items = (ids.codes["scores"].whole for ids in (codes.lists, codes.items))
    cleaned = replace(dense, blocks=_replace_nan(dense), padding=padding)
    has_users = codes.lists is not codes.users and "scores" in getattr(codes.users, "codes", {})
    rows: dict[str, Any] = {"lists": lists} if codes.lists is not codes.users else {"users": lists}
    if has_users:
        rows["users"] = codes.users.codes["scores"].whole
    unused = None if padding is None else items[padding]
    scores = Scores(cleaned.blocks, **rows, items=items, padding=unused)
    ranked = ScoreRows(cleaned) if dense.kind == "logits" else scores
    scored = replace(_score_parts(dense, padding, lists, items), wrong_targets=wrong)
    parts = replace(parts, scored=scored, ranked=ranked, order="score")
    return replace(parts, lists=_top_items(parts, scores))


def _replace_nan(dense: Dense) -> Callable[[], Iterator[Block]]:
    """Return the blocks with NaN replaced by the lowest score."""

    def blocks() -> Iterator[Block]:
        for block in dense.blocks():
            holes = np.isnan(block)
            yield np.where(holes, block.dtype.type(-np.inf), block) if holes.any() else block

    return blocks


def _score_parts(dense: Dense, padding: int | None, lists: Any, items: Any) -> AuditedScores:
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
    rows, columns = (np.concatenate([pair[side] for pair in bad]) for side in (0, 1))
    frame = pl.DataFrame({"list": lists[rows], "item": items[columns]})
    constant = pl.Series("list", lists[np.concatenate(equal)])
    size = dense.rows * dense.columns
    return AuditedScores(dense.rows, size, pl.Series("item", items), frame, cells, holes, constant)


def _wrong(block: Block, padding: int | None) -> Flags:
    """Return which scores are invalid: NaN or +inf. A masked item may have -inf."""
    wrong: Flags = np.isnan(block) | (block == np.inf)
    if padding is not None:
        wrong[:, padding] = False
    return wrong


def _top_items(parts: Parts, scores: Scores) -> pl.DataFrame:
    """Return the top items of each row with scores, one more than the deepest cutoff."""
    opened = scores.open()
    has_users = parts.key == USER or USER in opened.table.frame.columns
    masked = parts.profile.convention.seen == "removed" and parts.train is not None and has_users
    best = top(opened, parts.depth + 1, parts.scored_train() if masked else None)
    rows, positions = np.nonzero(best >= 0)
    columns, values = best[rows, positions], np.empty(len(rows))
    for first, last, block in opened.spans():
        in_block = (rows >= first) & (rows < last)
        values[in_block] = block[rows[in_block] - first, columns[in_block]]
    keys = opened.table.frame
    lists = keys[rows].with_columns(
        item=pl.Series(opened.items.to_numpy()[columns]), score=pl.Series(values),
        place=pl.Series(positions + 1), is_repeat=pl.lit(False),
    )  # fmt: skip
    if parts.key == USER:
        lists = lists.with_columns(user="list")
    if parts.train is None or not has_users:
        return lists
    pairs = parts.train.select("user", "item", PAIR).unique(PAIR)
    return lists.join(pairs, on=["user", "item"], how="left", maintain_order="left")
