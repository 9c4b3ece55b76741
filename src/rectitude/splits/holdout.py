"""Splits that hold out some rows of every user, of every item, or of the whole log."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Integers
from rectitude.data.ids import looked_up
from rectitude.data.ledger import Ledger
from rectitude.data.log import Log
from rectitude.data.times import span as length
from rectitude.errors import BadName, NothingToEvaluate
from rectitude.options import require_ratio, require_whole
from rectitude.prepare.draws import at_random, cut_at_random
from rectitude.prepare.order import Level, Order, RowStanding, Ties, by_time, ends_of
from rectitude.splits.shares import (
    Arithmetic,
    Part,
    Portion,
    Rounding,
    by_size,
    refuse_unused,
)
from rectitude.splits.split import Split, parted, splitter

Short = Literal["some", "all", "none", "error"]
NoShare = Literal["none", "all"]


@splitter
def random_ratio(
    log: Log,
    *,
    ratio: float = 0.2,
    size: int | None = None,
    level: Level = "all",
    rounding: Rounding = "half_even",
    of: Part = "truth",
    arithmetic: Arithmetic = "decimal",
    minimum: int = 0,
    keep: int = 0,
    validation: float = 0.0,
    repeats: int = 1,
    overlap: Literal["allowed", "none"] = "allowed",
    seed: int = 0,
) -> Split | list[Split]:
    """Hold out a random share of all rows, or of each user's or item's rows.

    `repeats` above 1 gives a series: each with a seed of its own, or with `overlap` "none" parts of
    one order that share no row. `size` is a number of rows in place of a ratio.
    """
    portion = Portion(ratio, size, rounding, of, arithmetic, minimum, keep)
    require_whole(repeats, "repeats")
    if repeats == 1:
        order = _drawn(log, level, seed, portion, validation)
        return _by_share(log, order, portion, validation)
    if overlap == "allowed":
        orders = [_drawn(log, level, seed + nth, portion, validation) for nth in range(repeats)]
        return [
            _by_share(log, order, portion, validation, name=f"repeat-{nth}")
            for nth, order in enumerate(orders, 1)
        ]
    because = (
        "repeats without overlap share one order; split train again with validation={'how': ...}"
    )
    refuse_unused(because, validation=validation)
    order = at_random(log, level, seed)
    held = by_size(order.size, portion.held)
    _require_room(order, held, repeats)
    lows = [held * nth for nth in range(repeats)]
    return [
        parted(log, (order.after >= low) & (order.after < low + held), name=f"repeat-{nth}")
        for nth, low in enumerate(lows, 1)
    ]


def _drawn(log: Log, level: Level, seed: int, portion: Portion, validation: float) -> RowStanding:
    """Where rows stand in a random order; of the whole log, only where the shares end matters."""
    if level != "all":
        return at_random(log, level, seed)
    every = np.array([log.frame.height])
    held = also = portion.held(every)
    if validation:
        require_ratio(validation, "validation")
        also = held + portion.validated(every, held, validation)
    return cut_at_random(log, [int(held[0]), int(also[0])], seed)


@splitter
def last_ratio(
    log: Log,
    *,
    ratio: float = 0.2,
    level: Level = "user",
    order: Order = "time",
    ties: Ties = "content",
    rounding: Rounding = "half_even",
    of: Part = "truth",
    arithmetic: Arithmetic = "decimal",
    minimum: int = 0,
    keep: int = 0,
    least: int = 0,
    no_share: NoShare = "none",
    validation: float = 0.0,
) -> Split:
    """Hold out the latest share of each user's rows.

    Groups of fewer than `least` rows stay in train whole. `no_share` "all" holds out the whole of a
    group whose share rounds to nothing, as LensKit does.
    """
    standing = by_time(log, level, ties, order)
    portion = Portion(ratio, None, rounding, of, arithmetic, minimum, keep)
    return _by_share(log, standing, portion, validation, least=least, no_share=no_share)


@splitter
def leave_random(
    log: Log,
    *,
    n: int = 1,
    level: Literal["user", "item"] = "user",
    keep: int = 1,
    short: Short = "some",
    repeats: int = 1,
    seed: int = 0,
) -> Split | list[Split]:
    """Hold out n random rows of each user; `short` as in `leave_last`."""
    require_whole(repeats, "repeats")
    splits = []
    for nth in range(repeats):
        standing = at_random(log, level, seed + nth)
        name = f"repeat-{nth + 1}" if repeats > 1 else ""
        splits.append(_by_number(log, standing, n, keep, short, name=name, level=level))
    return splits[0] if repeats == 1 else splits


@splitter
def leave_last(
    log: Log,
    *,
    n: int | None = 1,
    level: Literal["user", "item"] = "user",
    order: Order = "time",
    ties: Ties = "content",
    keep: int = 1,
    short: Short = "some",
    folds: int = 1,
    shown: int | None = None,
) -> Split | list[Split]:
    """Hold out the n latest rows of each user, or with n None all but the `keep` earliest.

    A user is short who has fewer than n + keep rows: "some" holds out what leaves `keep` rows in
    train, "all" up to n rows, "none" nothing, "error" refuses. With several `folds` the first holds
    out the earliest n, and what comes later is in no part. `shown` gives each user's latest rows of
    train as fold-in.
    """
    require_whole(folds, "folds")
    standing = by_time(log, level, ties, order)
    if n is None:
        n = max(int(standing.size.max(initial=0)) - keep, 1)
    if folds == 1:
        return _by_number(log, standing, n, keep, short, shown=shown, level=level)
    return [
        _by_number(log, standing, n, keep, short, skip=n * nth, name=f"fold-{folds - nth}",
                   shown=shown, level=level)
        for nth in reversed(range(folds))
    ]  # fmt: skip


@splitter
def last_span(log: Log, *, span: object, level: Literal["user", "item"] = "user") -> Split:
    """Hold out the rows of each user that are less than a length of time before his latest."""
    log.require("timestamp", "last_span")
    distance = length(log, span, "span")
    last, groups = ends_of(log, level, "last")
    ends = pl.Series(looked_up(last.to_physical().to_numpy(), groups)).cast(last.dtype)
    return parted(log, ends - log.frame["timestamp"] < distance)


def _by_number(
    log: Log,
    standing: RowStanding,
    n: int,
    keep: int,
    short: Short,
    skip: int = 0,
    name: str = "",
    shown: int | None = None,
    level: str = "user",
) -> Split:
    require_whole(n, "n")
    require_whole(keep, "keep", 0)
    sizes = np.maximum(standing.size - skip, 0)
    longest = int(standing.size.max(initial=0))
    if short in ("some", "error") and n + keep + skip > longest:
        raise NothingToEvaluate(
            f"n is {n}, and the longest profile of {log.source} has {longest:,} rows: none has {n}"
            f" to hold out, {skip} to leave after them and {keep} to keep.",
            "n smaller than some profile.",
        )
    held = by_size(sizes, lambda sizes: _number(sizes, n, keep, short))
    after = standing.after - skip
    truth = (after >= 0) & (after < held)
    ledger = Ledger()
    few = (standing.after == 0) & (sizes < n + keep)
    if short == "error" and few.any():
        raise BadName(
            f"{int(few.sum()):,} {level}s have fewer than {n + keep} rows (the smallest has"
            f" {int(sizes.min())}).",
            f"at least {n} to hold out and {keep} to keep.",
            "filter short ones first, or say what happens to them with short=.",
        )
    _account_short(ledger, log, few, n + keep, level)
    train = after >= held
    fold_in = None
    if shown is not None:
        require_whole(shown, "shown")
        fold_in = train & (after < held + min(shown, longest)) & (held > 0)
    return parted(log, truth, train=train, fold_in=fold_in, name=name, ledger=ledger)


def _number(sizes: Any, n: int, keep: int, short: Short) -> Any:
    """How many rows of groups of these sizes are held out."""
    few = sizes < n + keep
    some = {"some": sizes - keep, "all": np.minimum(sizes, n), "none": sizes * 0}
    return np.where(few, np.clip(some.get(short, sizes), 0, n), n)


def _account_short(ledger: Ledger, log: Log, last: Flags, needed: int, level: str) -> None:
    """Count the groups that have fewer rows than are asked for; `last` marks one row of each."""
    count = int(last.sum())
    example = str(log.frame[level][int(last.argmax())]) if count else ""
    about = f"{level}s have fewer than {needed} rows"
    ledger.count("short_groups", count, about, example=example, weight="notice")


def _by_share(
    log: Log,
    standing: RowStanding,
    portion: Portion,
    validation: float,
    name: str = "",
    least: int = 0,
    no_share: NoShare = "none",
) -> Split:
    none = bool(validation) and portion.ratio == 0  # all that is held out is for validation

    def held_of(sizes: Integers) -> Integers:
        held = sizes * 0 if none else np.where(sizes < least, 0, portion.held(sizes))
        return np.where(held == 0, sizes, held) if no_share == "all" else held

    def validated(sizes: Integers) -> Integers:
        return portion.validated(sizes, held_of(sizes), validation)

    held = by_size(standing.size, held_of)
    tuned = None
    if validation:
        require_ratio(validation, "validation")
        also = by_size(standing.size, validated)
        tuned = (standing.after >= held) & (standing.after < held + also)
    return parted(log, standing.after < held, validation=tuned, name=name)


def _require_room(order: RowStanding, held: Any, repeats: int) -> None:
    if (held * repeats > order.size).any():
        raise BadName(
            f"{repeats} parts that share no row need more rows than there are"
            f" ({int(order.size.max(initial=0)):,}).",
            "fewer or smaller parts, or overlap='allowed'.",
        )
