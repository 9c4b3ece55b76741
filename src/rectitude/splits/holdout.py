"""Splits that hold out some rows of each user, of each item, or of the whole log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Integers
from rectitude.data.ids import look_up, members
from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log, choose_rows
from rectitude.data.times import parse_span as length
from rectitude.errors import BadArgument, NothingToEvaluate
from rectitude.options import MOST_PARTS, MOST_ROWS, require_ratio, require_whole
from rectitude.preparing.draws import Generator, as_numpy, at_random, cut_at_random, uniform
from rectitude.preparing.order import Level, Order, RowStanding, Ties, by_time, ends_of
from rectitude.preparing.sessions import require_sessions
from rectitude.splits.shares import (
    Arithmetic,
    Of,
    Portion,
    Rounding,
    by_size,
    refuse_unused,
)
from rectitude.splits.split import Split, part_log, single, splitter

Short = Literal["some", "all", "none", "error"]
NoShare = Literal["none", "all"]
WITHIN: Mapping[str, Any] = {"how": "last_ratio"}


@splitter
def random_ratio(
    log: Log,
    *,
    ratio: float = 0.2,
    size: int | None = None,
    level: Level = "all",
    rounding: Rounding = "half_even",
    of: Of = "truth",
    arithmetic: Arithmetic = "decimal",
    minimum: int = 0,
    keep: int = 0,
    validation: float = 0.0,
    repeats: int = 1,
    overlap: Literal["allowed", "none"] = "allowed",
    draw: Generator = "content",
    seed: int = 0,
) -> Split | list[Split]:
    """Hold out a random share of all rows, or of each user's or item's rows.

    `repeats` above 1 returns a series, each split with another seed; with `overlap` "none", the
    truths are disjoint parts of one random order. `size` replaces the ratio by a number of rows.
    `validation` is a share of all rows, too, or a whole number of rows. With `of` "cuts", ratio and
    validation are the shares of rows before the truth and before the validation rows.
    `draw` "content" depends on users and items, not on the order of rows; the others draw as
    NumPy's generator does, for the rows in their order.
    """
    portion = Portion(ratio, size, rounding, of, arithmetic, minimum, keep)
    require_whole(repeats, "repeats", most=MOST_PARTS)
    if repeats == 1:
        order = _draw_order(log, level, seed, portion, validation, draw)
        return _by_share(log, order, portion, validation)
    if overlap == "none":
        refuse_unused(_NO_VALIDATION, validation=validation)
        one = at_random if draw == "content" else partial(as_numpy, generator=draw)
        return _without_overlap(log, one(log, level, seed), portion, repeats)
    seeds = range(seed, seed + repeats)
    orders = [_draw_order(log, level, each, portion, validation, draw) for each in seeds]
    return [
        _by_share(log, order, portion, validation, name=f"repeat-{nth}")
        for nth, order in enumerate(orders, 1)
    ]


_NO_VALIDATION = (
    "repeats without overlap share one order; split train again with validation={'how': ...}"
)


def _without_overlap(log: Log, order: RowStanding, portion: Portion, repeats: int) -> list[Split]:
    """Cut one random order into disjoint truths."""
    held = by_size(order.size, portion.count_held_out)
    _require_room(order, held, repeats)
    starts = [held * nth for nth in range(repeats)]
    return [
        part_log(log, (order.after >= start) & (order.after < start + held), name=f"repeat-{nth}")
        for nth, start in enumerate(starts, 1)
    ]


def _draw_order(
    log: Log, level: Level, seed: int, portion: Portion, validation: float, draw: Generator
) -> RowStanding:
    """Put rows in a random order; for the whole log, only the ends of the shares matter."""
    if draw != "content":
        return as_numpy(log, level, seed, draw)
    if level != "all":
        return at_random(log, level, seed)
    every = np.array([log.frame.height])
    held = both = portion.count_held_out(every)
    if validation:
        both = held + portion.count_validation(every, held, validation)
    return cut_at_random(log, [int(held[0]), int(both[0])], seed)


@splitter
def random_rows(
    log: Log,
    *,
    ratio: float = 0.2,
    draw: Literal["content", "numpy_generator"] = "content",
    seed: int = 0,
) -> Split:
    """Hold out each row with the same probability, independently of the others.

    The number of rows held out is random, too. `draw` "numpy_generator" is what NumPy's
    `default_rng` draws for the rows in their order, as implicit does.
    """
    require_ratio(ratio)
    if draw == "content":
        numbers = uniform(log.frame, seed).to_numpy()
    else:
        numbers = np.random.default_rng(seed).random(log.frame.height)
    return part_log(log, numbers >= 1 - ratio)


@splitter
def last_ratio(
    log: Log,
    *,
    ratio: float = 0.2,
    size: int | None = None,
    level: Level = "user",
    order: Order = "time",
    ties: Ties = "content",
    rounding: Rounding = "half_even",
    of: Of = "truth",
    arithmetic: Arithmetic = "decimal",
    minimum: int = 0,
    keep: int = 0,
    least: int = 0,
    no_share: NoShare = "none",
    validation: float = 0.0,
) -> Split:
    """Hold out the latest share of each user's rows.

    `size` replaces the ratio by a number of rows. For `validation` and `of` "cuts", see
    `random_ratio`. Groups with fewer than `least` rows stay in train. `no_share` "all" holds out
    all rows of a group whose share rounds to 0, as LensKit does.
    """
    standing = by_time(log, level, ties, order)
    portion = Portion(ratio, size, rounding, of, arithmetic, minimum, keep)
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
    """Hold out n random rows of each user; see `leave_last` for `short`."""
    require_whole(repeats, "repeats", most=MOST_PARTS)
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
    """Hold out the n latest rows of each user; with n None, all but the `keep` earliest.

    `short` says how to treat users with fewer than n + keep rows: "some" keeps `keep` rows in train
    and holds out the rest, "all" holds out up to n rows, "none" holds out nothing, "error" refuses.
    With several `folds`, the first fold holds out the earliest n rows, and later rows belong to no
    part. `shown` puts that many of each user's latest training rows into fold-in.
    """
    require_whole(folds, "folds", most=MOST_PARTS)
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
def random_next(
    log: Log,
    *,
    n: int = 1,
    keep: int = 1,
    order: Order = "time",
    ties: Ties = "content",
    seed: int = 0,
) -> Split:
    """Hold out n consecutive rows of each user, from a random place in their history.

    Earlier rows are train, later ones are in no part. At least `keep` rows come before the truth;
    users with fewer than keep + n rows stay in train.
    """
    require_whole(n, "n", most=MOST_ROWS)
    require_whole(keep, "keep", 0)
    standing = by_time(log, "user", ties, order)
    places = np.maximum(standing.size - keep - n + 1, 0)
    start = keep + np.floor(uniform(log.frame, seed, by="user").to_numpy() * places)
    cut = places > 0
    truth = cut & (standing.before >= start) & (standing.before < start + n)
    ledger = Ledger()
    _account_short(ledger, log, (standing.after == 0) & ~cut, n + keep, "user")
    return part_log(log, truth, train=~cut | (standing.before < start), ledger=ledger)


@splitter
def after_first(
    log: Log,
    *,
    n: int = 1,
    within: Mapping[str, Any] = WITHIN,
    ties: Ties = "content",
    seed: int = 0,
) -> Split:
    """Split only the rows after each user's first n, which are always train: a model of sequences
    needs items to predict the next one from.

    `within` says how to split; its `validation` may be a table as well, which splits again what
    `within` leaves in train. Both count only the later rows and get them user by user, in the order
    in which users first occur.
    """
    require_whole(n, "n", most=MOST_ROWS)
    rows = _user_by_user(log)
    later = choose_rows(rows, by_time(rows, "user", ties).before >= n)
    if later.frame.is_empty():
        raise NothingToEvaluate(
            f"no user of {log.source} has more than {n} rows.", "users with later rows to split."
        )
    how = dict(within)
    again = how.pop("validation") if isinstance(how.get("validation"), Mapping) else None
    inner = single(how, later, seed)
    if again is not None:
        inner = replace(inner, validation=single(again, inner.train, seed))
    found = {name: members(log.frame[ROW], part.frame[ROW]) for name, part in inner.parts()}
    return part_log(
        log, found["truth"], train=found["train"] | ~members(log.frame[ROW], later.frame[ROW]),
        fold_in=found.get("fold_in"), validation=found.get("validation_truth"),
    )  # fmt: skip


def _user_by_user(log: Log) -> Log:
    """Sort the rows by user, in the order in which users first occur; equal users in file order."""
    positions = log.frame.select("user", at=pl.int_range(pl.len()))
    first = positions.select(pl.col("at").min().over("user"))["at"]
    return log.with_frame(log.frame[np.argsort(first.to_numpy(), kind="stable")])


@splitter
def last_sessions(log: Log, *, n: int = 1, keep: int = 1) -> Split:
    """Hold out each user's n latest sessions, whole; at least `keep` sessions stay in train.

    A session is a value of the column `session`, which the step `session_gap` adds. It is as late
    as its latest row.
    """
    require_whole(n, "n", most=MOST_ROWS)
    require_whole(keep, "keep", 0)
    log.require("timestamp", "last_sessions")
    require_sessions(log, "last_sessions")
    ends = log.frame.group_by("user", "session").agg(pl.max("timestamp").alias("end"))
    ends = ends.sort("user", "end", "session").with_columns(
        before=pl.int_range(pl.len()).over("user"), sessions=pl.len().over("user")
    )
    held = (pl.col("before") >= pl.col("sessions") - n) & (pl.col("before") >= keep)
    keys = ["user", "session"]
    rows = log.frame.select(keys).join(ends, keys, "left", maintain_order="left")
    return part_log(log, rows.select(held.alias("held"))["held"])


@splitter
def last_span(log: Log, *, span: object, level: Literal["user", "item"] = "user") -> Split:
    """Hold out each user's rows within a time span before their latest row."""
    log.require("timestamp", "last_span")
    distance = length(log, span, "span")
    last, groups = ends_of(log, level, "last")
    ends = pl.Series(look_up(last.to_physical().to_numpy(), groups)).cast(last.dtype)
    return part_log(log, ends - log.frame["timestamp"] < distance)


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
    require_whole(n, "n", most=MOST_ROWS)
    require_whole(keep, "keep", 0)
    sizes = np.maximum(standing.size - skip, 0)
    longest = int(standing.size.max(initial=0))
    if short in ("some", "error") and n + keep + skip > longest:
        raise NothingToEvaluate(
            f"n is {n}, but the longest profile of {log.source} has {longest:,} rows: nobody has"
            f" {n} rows to hold out, {skip} later rows to skip and {keep} rows to keep.",
            "n smaller than the longest profile.",
        )
    held = by_size(sizes, lambda sizes: _number(sizes, n, keep, short))
    after = standing.after - skip
    truth = (after >= 0) & (after < held)
    ledger = Ledger()
    few = (standing.after == 0) & (sizes < n + keep)
    if short == "error" and few.any():
        raise BadArgument(
            f"{int(few.sum()):,} {level}s have fewer than {n + keep} rows (the smallest has"
            f" {int(sizes.min())}).",
            f"at least {n} to hold out and {keep} to keep.",
            "filter short profiles first, or choose what to do with them: short=.",
        )
    _account_short(ledger, log, few, n + keep, level)
    train = after >= held
    fold_in = None
    if shown is not None:
        require_whole(shown, "shown")
        fold_in = train & (after < held + min(shown, longest)) & (held > 0)
    return part_log(log, truth, train=train, fold_in=fold_in, name=name, ledger=ledger)


def _number(sizes: Any, n: int, keep: int, short: Short) -> Any:
    """Count the rows to hold out from groups of these sizes."""
    few = sizes < n + keep
    some = {"some": sizes - keep, "all": np.minimum(sizes, n), "none": sizes * 0}
    return np.where(few, np.clip(some.get(short, sizes), 0, n), n)


def _account_short(ledger: Ledger, log: Log, last: Flags, needed: int, level: str) -> None:
    """Count the groups with too few rows; `last` marks one row of each."""
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
    def count_held(sizes: Integers) -> Integers:
        held = np.where(sizes < least, 0, portion.count_held_out(sizes))
        return np.where(held == 0, sizes, held) if no_share == "all" else held

    def count_validation(sizes: Integers) -> Integers:
        return portion.count_validation(sizes, count_held(sizes), validation)

    held = by_size(standing.size, count_held)
    tuned = None
    if validation:
        more = by_size(standing.size, count_validation)
        tuned = (standing.after >= held) & (standing.after < held + more)
    return part_log(log, standing.after < held, validation=tuned, name=name)


def _require_room(order: RowStanding, held: Any, repeats: int) -> None:
    if (held * repeats > order.size).any():
        raise BadArgument(
            f"{repeats} disjoint truths need more rows than there are"
            f" ({int(order.size.max(initial=0)):,}).",
            "fewer repeats, smaller truths, or overlap='allowed'.",
        )
