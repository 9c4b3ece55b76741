"""Cross-validation over rows, and parts that somebody else made: their ids in common types, and
what parts share, counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.data.ids import kind_of
from rectitude.data.ledger import Ledger
from rectitude.data.log import Log, open_log
from rectitude.errors import BadIds, BadName
from rectitude.options import require_whole
from rectitude.prepare.draws import at_random, cut_at_random
from rectitude.prepare.order import Order, Ties, by_time
from rectitude.splits.split import Split, accounted, parted, require_rows, splitter


@splitter
def k_fold(
    log: Log,
    *,
    folds: int = 5,
    level: Literal["all", "user", "item"] = "all",
    size: int | None = None,
    remainder: Literal["even", "drawn"] = "even",
    draw: Literal["random", "round_robin"] = "random",
    order: Order = "time",
    ties: Ties = "content",
    seed: int = 0,
) -> list[Split]:
    """Every row is to be found in one of the folds.

    Rows are dealt out evenly, over the whole log or within each user, in a random order or
    ("round_robin") as they stand. With a `size`, no more than so many are in each. `remainder`
    "drawn" gives each row that is left over to any fold, as Cornac does.
    """
    require_whole(folds, "folds", 2)
    if log.frame.height < folds:
        raise BadName(
            f"there are {log.frame.height} rows for {folds} folds.", "a row for each fold."
        )
    random = draw == "random"
    if random and level == "all":
        ends = _ends(log.frame.height, folds, size, remainder, seed)
        fold: Any = np.searchsorted(ends, cut_at_random(log, ends, seed).after, side="right")
    else:
        standing = at_random(log, level, seed) if random else by_time(log, level, ties, order)
        fold = standing.before % folds
        if size is not None:
            fold = np.where(standing.before // folds < size, fold, folds)
    return [parted(log, fold == nth, name=f"fold-{nth + 1}") for nth in range(folds)]


def _ends(rows: int, folds: int, size: int | None, remainder: str, seed: int) -> list[int]:
    """Where the folds of an order of all rows end."""
    if size is not None and size * folds < rows:
        require_whole(size, "size")
        return [size * nth for nth in range(1, folds + 1)]
    if remainder == "even" or size is not None:
        return [rows * nth // folds for nth in range(1, folds)]
    generator = np.random.RandomState(seed)
    generator.shuffle(np.repeat(np.arange(folds), rows // folds))  # drawn before the others
    over = generator.choice(folds, size=rows % folds)
    ends: list[int] = np.cumsum(rows // folds + np.bincount(over, minlength=folds)).tolist()
    return ends


@splitter
def fixed(log: Log, *, truth: object, fold_in: object = None, validation: object = None) -> Split:
    """Parts that were given: the log is train, the others are tables."""
    given = {"truth": truth, "fold_in": fold_in, "validation_truth": validation}
    opened = {name: open_log(part) for name, part in given.items() if part is not None}
    return of_parts({"train": log, **opened})


def of_parts(parts: Mapping[str, Log]) -> Split:
    """The split of these parts, by the names that `Split.parts` gives them.

    Without a `validation_train`, what a model is tuned on is train itself.
    """
    held = _in_common_types(parts)
    train, inner = held["train"], None
    if "validation_truth" in held:
        learnt, shown = held.get("validation_train", train), held.get("validation_fold_in")
        inner = Split(learnt, held["validation_truth"], shown)
    split = Split(train, held["truth"], held.get("fold_in"), ledger=Ledger(), validation=inner)
    require_rows(train, split)
    _count_shared(split)
    return accounted(split, train, np.ones(train.frame.height, bool))


def _count_shared(split: Split) -> None:
    """Pairs that are to be found, and stand in another part as well."""
    ledger, inner = split.ledger, split.validation
    _count(ledger, "pairs_in_train", split.truth, "truth", split.train, "train")
    if split.fold_in is not None:
        _count(ledger, "pairs_in_fold_in", split.truth, "truth", split.fold_in, "fold-in")
    if inner is None:
        return
    wanted, others = (inner.truth, "validation"), {"train": inner.train, "truth": split.truth}
    if inner.fold_in is not None:
        others["fold_in"] = inner.fold_in
    for name, part in others.items():
        _count(ledger, f"validation_pairs_in_{name}", *wanted, part, name.replace("_", "-"))


def _count(ledger: Ledger, name: str, wanted: Log, word: str, other: Log, place: str) -> None:
    pairs, known = (log.frame.select("user", "item") for log in (wanted, other))
    again = pairs.join(known.unique(), ["user", "item"], "semi", maintain_order="left")
    example = f"user {again['user'][0]}, item {again['item'][0]}" if again.height else ""
    about = f"rows of {word} have a pair that is in {place} too"
    ledger.count(name, again.height, about, pairs.height, example, "warning")


def _in_common_types(parts: Mapping[str, Log]) -> dict[str, Log]:
    """The parts with users of one type, and items of one: that of train wherever it holds all."""
    held = dict(parts)
    if held["train"].frame.is_empty():
        return held  # and of no type
    for side in ("user", "item"):
        held = _as_written(held, side)
        for name, part in held.items():
            _require_same_kind(held["train"], part, name, side)
        dtype = _common([part.frame[side] for part in held.values()], held["train"].frame[side])
        for name, part in held.items():
            if part.frame[side].dtype != dtype:
                cast = part.frame[side].cast(dtype)
                held[name] = part.with_frame(part.frame.with_columns(cast))
    return held


def _as_written(parts: Mapping[str, Log], side: str) -> dict[str, Log]:
    """Parts whose ids are text wherever one's are: integers of files without types are the text
    that they were written as."""
    kinds = {kind_of(part.frame[side]) for part in parts.values() if part.frame.height}
    if "text" not in kinds:
        return dict(parts)
    cast = pl.col(side).cast(pl.String)
    return {
        name: part.with_frame(part.frame.with_columns(cast))
        if part.text and part.frame[side].dtype.is_integer() else part
        for name, part in parts.items()
    }  # fmt: skip


def _common(columns: list[pl.Series], own: pl.Series) -> pl.DataType:
    """The type of train, or the narrowest that keeps all ids; categories are the text they stand
    for, wherever types differ."""
    columns = [ids for ids in columns if len(ids) and ids.dtype != own.dtype]
    if not columns:
        return own.dtype
    if kind_of(own) == "text":
        return pl.String()
    wider = (pl.Int64(), pl.UInt64(), pl.Int128()) if kind_of(own) == "integer" else (pl.Float64(),)
    return next(
        (kind for kind in (own.dtype, *wider[:-1]) if all(_kept(i, kind) for i in [own, *columns])),
        wider[-1],
    )


def _kept(ids: pl.Series, dtype: pl.DataType) -> bool:
    """Whether a type holds all of these ids as they are."""
    return ids.dtype == dtype or ids.cast(dtype, strict=False).cast(ids.dtype).equals(ids)


def _require_same_kind(log: Log, part: Log, name: str, side: str) -> None:
    """Ids of a part that can be those of the log: texts are never numbers."""
    mine, theirs = log.frame[side], part.frame[side]
    if len(theirs) and kind_of(mine) != kind_of(theirs):
        raise BadIds(
            f"{side} ids are {kind_of(mine)} in {log.source} (first: {mine[0]!r}) but"
            f" {kind_of(theirs)} in {name} ({part.source}, first: {theirs[0]!r}).",
            "the same type in all parts: 1 and '1' are different ids.",
            "cast one of them first.",
        )
