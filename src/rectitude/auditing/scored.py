"""Dense scores as checks look at them: what is wrong with them, and the first places of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rectitude.arrays import Flags
from rectitude.auditing.ordered import once
from rectitude.auditing.pairs import PAIR
from rectitude.auditing.parts import Case, Parts, Scored
from rectitude.data.dense import Block, Dense
from rectitude.predictions.dense import Scores
from rectitude.predictions.top import top

if TYPE_CHECKING:
    import polars as pl


def opened_scores(parts: Parts, dense: Dense, padding: int | None) -> Parts:
    """The parts with what dense scores hold, and with the scores as they can be evaluated."""
    users, items = (ids.codes["scores"].whole for ids in (parts.users, parts.items))
    sound = replace(dense, blocks=lambda: _sound(dense), padding=padding)
    scores = Scores(
        sound.blocks, users=users, items=items, padding=None if padding is None else items[padding]
    )
    scored = _scored(dense, padding, users, items)
    relaxed = "duplicate_truth" in parts.relaxed
    truth = parts.truth
    base = None if truth is None else Case(once(truth) if relaxed else truth, scores)
    parts = replace(parts, scored=scored, base=base, ranked=scores, order="score")
    return replace(parts, lists=_first_places(parts, scores))


def _sound(dense: Dense) -> Iterator[Block]:
    """The blocks with the lowest score in the place of NaN."""
    for block in dense.blocks():
        holes = np.isnan(block)
        yield np.where(holes, block.dtype.type(-np.inf), block) if holes.any() else block


def _scored(dense: Dense, padding: int | None, users: Any, items: Any) -> Scored:
    import polars as pl

    bad, equal = [], []
    first, cells, holes = 0, 0, False
    for block in dense.blocks():
        real = block if padding is None else np.delete(block, padding, axis=1)
        equal.append(first + np.flatnonzero(real.min(axis=1) == real.max(axis=1)))
        wrong = _wrong(block, padding)
        cells += int(wrong.sum())
        holes |= bool(np.isnan(block[wrong]).any())
        rows = np.flatnonzero(wrong.any(axis=1))
        bad.append((first + rows, wrong[rows].argmax(axis=1)))
        first += len(block)
    rows, columns = (np.concatenate([one[side] for one in bad]) for side in (0, 1))
    frame = pl.DataFrame({"user": users[rows], "item": items[columns]})
    constant = pl.Series("user", users[np.concatenate(equal)])
    size = dense.rows * dense.columns
    return Scored(dense.rows, size, pl.Series("item", items), frame, cells, holes, constant)


def _wrong(block: Block, padding: int | None) -> Flags:
    """Which scores cannot be: NaN or infinite; the score of a masked item may be -inf."""
    wrong: Flags = np.isnan(block) | (block == np.inf)
    if padding is not None:
        wrong[:, padding] = False
    return wrong


def _first_places(parts: Parts, scores: Scores) -> pl.DataFrame:
    """The first places of each row as lists, one more than the deepest cutoff, with scores."""
    import polars as pl

    opened = scores.opened()
    best = top(opened, parts.depth + 1, _masked(parts))
    rows, places = np.nonzero(best >= 0)
    columns, values, first = best[rows, places], np.empty(len(rows)), 0
    for block in opened.blocks():
        here = (rows >= first) & (rows < first + len(block))
        values[here] = block[rows[here] - first, columns[here]]
        first += len(block)
    users = opened.table.frame["list"].to_numpy()
    lists = pl.DataFrame(
        {"user": users[rows], "item": opened.items.to_numpy()[columns], "score": values}
    )
    lists = lists.with_columns(place=pl.Series(places + 1), again=pl.lit(False))
    if parts.train is None:
        return lists
    known = parts.train.select("user", "item", PAIR).unique(PAIR)
    return lists.join(known, on=["user", "item"], how="left", maintain_order="left")


def _masked(parts: Parts) -> pl.DataFrame | None:
    """The training rows that cannot be recommended, as the convention says."""
    if parts.train is None or parts.scored is None or parts.profile.convention.seen != "removed":
        return None
    return parts.train.filter(parts.train["item"].is_in(parts.scored.items.implode()))
