"""Cross-validation over rows, and splits from given tables: their ids are cast to common types, and
pairs that occur in several parts are counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.data.ids import kind_of
from rectitude.data.ledger import Ledger
from rectitude.data.log import Log, open_log
from rectitude.errors import BadArgument, BadIds
from rectitude.options import MOST_PARTS, require_whole
from rectitude.preparing.draws import at_random, cut_at_random
from rectitude.preparing.order import Order, Ties, by_time
from rectitude.splits.split import Split, account_rows, part_log, require_rows, splitter


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
    """Cross-validation: every row is in the truth of one fold.

    Rows are distributed evenly, over the whole log or within each user, in random order or
    ("round_robin") in their own order. `size` limits the rows of each fold. `remainder` "drawn"
    assigns each leftover row to a random fold, as Cornac does.
    """
    require_whole(folds, "folds", 2, MOST_PARTS)
    if log.frame.height < folds:
        raise BadArgument(
            f"there are {log.frame.height} rows for {folds} folds.", "at least one row per fold."
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
    return [part_log(log, fold == nth, name=f"fold-{nth + 1}") for nth in range(folds)]


def _ends(rows: int, folds: int, size: int | None, remainder: str, seed: int) -> list[int]:
    """Return the positions at which the folds end, in an order of all rows."""
    if size is not None and size * folds < rows:
        require_whole(size, "size")
        return [size * nth for nth in range(1, folds + 1)]
    if remainder == "even" or size is not None:
        return [rows * nth // folds for nth in range(1, folds)]
    generator = np.random.RandomState(seed)
    generator.shuffle(np.repeat(np.arange(folds), rows // folds))  # Cornac draws these first
    over = generator.choice(folds, size=rows % folds)
    ends: list[int] = np.cumsum(rows // folds + np.bincount(over, minlength=folds)).tolist()
    return ends


@splitter
def fixed(log: Log, *, truth: object, fold_in: object = None, validation: object = None) -> Split:
    """Use given tables as parts: the log is train."""
    if truth is None:
        raise BadArgument(
            "truth of split 'fixed' is None.", "a table of users and items: the test set."
        )
    tables = {"truth": truth, "fold_in": fold_in, "validation_truth": validation}
    logs = {name: open_log(part) for name, part in tables.items() if part is not None}
    return of_parts({"train": log, **logs})


def of_parts(parts: Mapping[str, Log]) -> Split:
    """Make a split of these parts, named as in `Split.parts`.

    Without a `validation_train`, models are tuned on train itself.
    """
    logs = _in_common_types(parts)
    train, inner = logs["train"], None
    if "validation_truth" in logs:
        inner_train = logs.get("validation_train", train)
        inner = Split(inner_train, logs["validation_truth"], logs.get("validation_fold_in"))
    split = Split(train, logs["truth"], logs.get("fold_in"), ledger=Ledger(), validation=inner)
    require_rows(train, split)
    _count_shared(split)
    return account_rows(split, train, np.ones(train.frame.height, bool))


def _count_shared(split: Split) -> None:
    """Count the pairs of the truth that also occur in another part."""
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


def _count(
    ledger: Ledger, name: str, truth: Log, truth_name: str, other: Log, other_name: str
) -> None:
    pairs, others = (log.frame.select("user", "item") for log in (truth, other))
    again = pairs.join(others.unique(), ["user", "item"], "semi", maintain_order="left")
    example = f"user {again['user'][0]}, item {again['item'][0]}" if again.height else ""
    about = f"rows of {truth_name} repeat a user-item pair of {other_name}"
    ledger.count(name, again.height, about, pairs.height, example, "warning")


def _in_common_types(parts: Mapping[str, Log]) -> dict[str, Log]:
    """Cast the ids of all parts to common types: those of train if they can hold all ids."""
    logs = dict(parts)
    if logs["train"].frame.is_empty():
        return logs  # its ids have no type
    for side in ("user", "item"):
        logs = _as_written(logs, side)
        for name, part in logs.items():
            _require_same_kind(logs["train"], part, name, side)
        dtype = _common([part.frame[side] for part in logs.values()], logs["train"].frame[side])
        for name, part in logs.items():
            if part.frame[side].dtype != dtype:
                cast = part.frame[side].cast(dtype)
                logs[name] = part.with_frame(part.frame.with_columns(cast))
    return logs


def _as_written(parts: Mapping[str, Log], side: str) -> dict[str, Log]:
    """If one part has text ids, turn integer ids of untyped files back into text."""
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
    """Return the type of train, or the narrowest type that holds all ids; if types differ,
    categories become text."""
    columns = [ids for ids in columns if len(ids) and ids.dtype != own.dtype]
    if not columns:
        return own.dtype
    if kind_of(own) == "text":
        return pl.String()
    wider = (pl.Int64(), pl.UInt64(), pl.Int128()) if kind_of(own) == "integer" else (pl.Float64(),)
    return next(
        (kind for kind in (own.dtype, *wider[:-1]) if all(_fits(i, kind) for i in [own, *columns])),
        wider[-1],
    )


def _fits(ids: pl.Series, dtype: pl.DataType) -> bool:
    """Whether a type can hold all of these ids unchanged."""
    return ids.dtype == dtype or ids.cast(dtype, strict=False).cast(ids.dtype).equals(ids)


def _require_same_kind(log: Log, part: Log, name: str, side: str) -> None:
    """Raise an error if one part has text ids and another has numbers."""
    mine, theirs = log.frame[side], part.frame[side]
    if len(theirs) and kind_of(mine) != kind_of(theirs):
        raise BadIds(
            f"{side} ids are {kind_of(mine)} in {log.source} (first: {mine[0]!r}) but"
            f" {kind_of(theirs)} in {name} ({part.source}, first: {theirs[0]!r}).",
            "the same type in all parts: 1 and '1' are different ids.",
            "cast one of them first.",
        )
