"""Splits that evaluate on held-out users: strong generalisation, new, cold and late users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags
from rectitude.data.ids import count_ids, counts, look_up, members
from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log, choose_rows
from rectitude.data.read import read
from rectitude.data.times import parse_span
from rectitude.data.values import compare_values
from rectitude.errors import BadArgument
from rectitude.options import MOST_PARTS, MOST_ROWS, require_ratio, require_whole
from rectitude.preparing.draws import places
from rectitude.preparing.order import Ties, by_time, ends_of
from rectitude.splits import timeline
from rectitude.splits.shares import Arithmetic, Part, Rounding, count_held_out, refuse_unused
from rectitude.splits.split import Split, account_rows, part_log, single, splitter

WITHIN: Mapping[str, Any] = {"how": "random_ratio", "level": "user"}


@splitter
def cold_users(
    log: Log,
    *,
    ratio: float = 0.2,
    of: Part = "truth",
    rounding: Rounding = "half_even",
    arithmetic: Arithmetic = "decimal",
    seed: int = 0,
) -> Split:
    """Hold out all rows of random users (cold start): the model sees nothing of them."""
    return part_log(log, _draw_users(log, ratio, None, of, rounding, arithmetic, seed))


@splitter
def strong_generalisation(
    log: Log,
    *,
    ratio: float = 0.2,
    size: int | Literal["all"] | None = None,
    of: Part = "truth",
    rounding: Rounding = "half_even",
    arithmetic: Arithmetic = "decimal",
    within: Mapping[str, Any] = WITHIN,
    among: Literal["all", "with_truth"] = "all",
    shown: Literal["fold_in", "train"] = "fold_in",
    t: object = None,
    delta_in: object = None,
    delta_out: object = None,
    keep: int = 0,
    seed: int = 0,
) -> Split:
    """Evaluate random users: the model sees some of their rows as fold-in, the rest is the truth.

    `within` splits the rows of these users. A time t splits them there instead, and then no row
    from t on is in train either. `shown` "train" puts the fold-in rows into train, as LensKit does.
    `among` "with_truth" draws only users for whom `within` leaves a truth. At least `keep` users
    must be left undrawn.
    """
    drawn_from = log.frame["user"]
    if among == "with_truth":
        drawn_from = single(within, log, seed).truth.frame["user"]
    evaluated = _draw_users(log, ratio, size, of, rounding, arithmetic, seed, drawn_from, keep)
    if t is None:
        refuse_unused("there is no t", delta_in=delta_in, delta_out=delta_out)
        return _show_users(log, evaluated, single(within, choose_rows(log, evaluated), seed), shown)
    times = {"t": t, "delta_in": delta_in, "delta_out": delta_out}
    at_time = {"how": "at_time", **{k: value for k, value in times.items() if value is not None}}
    inner = single(at_time, choose_rows(log, evaluated), seed)
    train = single(at_time, choose_rows(log, ~evaluated), seed).train
    return _show_users(log, evaluated, inner, shown, members(log.frame[ROW], train.frame[ROW]))


@splitter
def k_fold_users(
    log: Log,
    *,
    folds: int = 5,
    size: int | None = None,
    within: Mapping[str, Any] = WITHIN,
    shown: Literal["fold_in", "train"] = "fold_in",
    overlap: Literal["none", "allowed"] = "none",
    seed: int = 0,
) -> list[Split]:
    """Evaluate every user in one of the folds, as in `strong_generalisation`; `size` limits the
    users of each fold. With `overlap` "allowed", every fold draws its users anew, with another
    seed, and a user may be in several of them."""
    require_whole(folds, "folds", 2, MOST_PARTS)
    place, users = places(log.frame["user"], seed)
    if users < folds:
        raise BadArgument(
            f"there are {users} users for {folds} folds.", "at least one user per fold."
        )
    most = users if size is None else size
    require_whole(most, "size")
    splits = []
    for nth in range(folds):
        evaluated = (place % folds == nth) & (place // folds < most)
        if overlap == "allowed":
            share = most if size else max(users // folds, 1)
            evaluated = places(log.frame["user"], seed + nth)[0] < share
        inner = single(within, choose_rows(log, evaluated), seed)
        splits.append(_show_users(log, evaluated, inner, shown, name=f"fold-{nth + 1}"))
    return splits


@splitter
def new_users(log: Log, *, ratio: float = 0.2) -> Split:
    """Hold out all rows of the newest users, as RePlay does.

    The cut is the latest time after which at least this share of users has their first row. Train
    is everything before it; later rows of earlier users are in no part.
    """
    log.require("timestamp", "new_users")
    require_ratio(ratio)
    begins, users = ends_of(log, "user", "first")
    starts = begins.filter(counts(users, len(begins)) > 0)
    counted = starts.value_counts().sort("timestamp", descending=True)
    enough = counted["count"].cum_sum() >= ratio * len(starts)
    moment: Any = counted.filter(enough)["timestamp"].max()
    ledger = Ledger()
    ledger.note("t", str(moment))
    new = look_up((begins >= moment).to_numpy(), users)
    return part_log(
        log, new, train=compare_values(log.frame["timestamp"], np.less, moment), ledger=ledger
    )


@splitter
def late_users(log: Log, *, t: object, within: Mapping[str, Any] | None = None) -> Split:
    """Evaluate users whose latest row is at t or later; the others are train.

    `within` splits the rows of these users into fold-in and truth; without it, all of them are
    truth.
    """
    late = _late(log, t)
    if within is None:
        return part_log(log, late)
    return _show_users(log, late, single(within, choose_rows(log, late), 0), "fold_in")


@splitter
def named_users(log: Log, *, users: object, within: Mapping[str, Any] | None = None) -> Split:
    """Evaluate the users that are named, in a list or in a table with a column of users; the
    others are train.

    `within` splits the rows of these users into fold-in and truth; without it, all of them are
    truth.
    """
    named = _read_users(log, users)
    if within is None:
        return part_log(log, named)
    return _show_users(log, named, single(within, choose_rows(log, named), 0), "fold_in")


def _read_users(log: Log, users: object) -> Flags:
    """Mark the rows of named users; all of them must be in the log."""
    if isinstance(users, Sequence) and not isinstance(users, str):
        named = pl.Series("user", list(users), strict=False)
    else:
        frame = read(users, "users").frame
        named = frame["user" if "user" in frame.columns else "list"]
    own = log.frame["user"]
    names = named.cast(own.dtype, strict=False)
    distinct = names.drop_nulls().unique()
    found = distinct.filter(members(distinct, own)) if len(distinct) else distinct
    missing = named.n_unique() - len(found)
    if missing or not len(found):
        first = next((name for name in names if name not in {*found}), None)
        raise BadArgument(
            f"{missing:,} of {named.n_unique():,} named users are not in {log.source}"
            f" (first: {first!r}).",
            "at least one user, and only users with rows in the log.",
        )
    return members(own, found)


@splitter
def next_after(
    log: Log,
    *,
    t: object,
    n: int = 1,
    rows: Literal["latest", "first"] = "latest",
    delta_out: object = None,
    shown: int | None = None,
    ties: Ties = "content",
) -> Split:
    """Train on rows before t; the truth is the n latest rows from t on, of each user active then.

    With `rows` "first", it is the first n rows from t on, and later rows are in no part. Fold-in is
    all of the user's rows before the truth, or the latest `shown` of them.
    """
    require_whole(n, "n", most=MOST_ROWS)
    start = timeline.inside(log, t)
    times = log.frame["timestamp"]
    inside = np.ones(len(times), bool)
    if delta_out is not None:
        inside = (times < start + parse_span(log, delta_out, "delta_out")).to_numpy()
    active = choose_rows(log, inside)
    evaluated = choose_rows(active, _late(active, t))
    standing = by_time(evaluated, "user", ties)
    late = evaluated.frame.select((pl.col("timestamp") >= start).sum().over("user"))["timestamp"]
    held = np.minimum(late.to_numpy(), n)
    skipped = late.to_numpy() - held if rows == "first" else 0
    after = standing.after - skipped
    truth = choose_rows(evaluated, (after >= 0) & (after < held))
    most = standing.size if shown is None else held + min(shown, log.frame.height)
    fold_in = choose_rows(evaluated, (after >= held) & (after < most))
    split = Split(choose_rows(log, (times < start).to_numpy()), truth, fold_in)
    used = members(log.frame[ROW], _rows(split.train, truth, fold_in))
    return account_rows(split, log, used)


def _rows(*parts: Log) -> pl.Series:
    return pl.concat([part.frame[ROW] for part in parts])


def _late(log: Log, t: object) -> Flags:
    """Mark the rows of users whose latest row is at t or later."""
    last, users = ends_of(log, "user", "last")
    return look_up((last >= timeline.inside(log, t)).to_numpy(), users)


def _draw_users(
    log: Log, ratio: float, size: int | Literal["all"] | None, of: Part, rounding: Rounding,
    arithmetic: Arithmetic, seed: int, among: pl.Series | None = None, keep: int = 0,
) -> Flags:  # fmt: skip
    """Mark the rows of randomly drawn users, from those in `among` if given; `keep` are left."""
    place, users = places(log.frame["user"], seed)
    if size is None:
        require_ratio(ratio)
        size = int(count_held_out(np.array([users]), ratio, rounding, of, arithmetic)[0])
    size = users if size == "all" else size
    require_whole(size, "size")
    require_whole(keep, "keep", 0)
    if size > users - keep:
        most = "at most that many." if not keep else f"at most {max(users - keep, 0):,}."
        raise BadArgument(f"size is {size:,}, but there are {users:,} users.", most)
    if among is not None and count_ids(among) < users:
        place = np.where(members(log.frame["user"], among), place, users)
        place = np.searchsorted(np.unique(place[place < users]), place)
    drawn: Flags = (place < size) & (place < users)
    return drawn


def _show_users(
    log: Log,
    evaluated: Flags,
    inner: Split,
    shown: str,
    train: Flags | None = None,
    name: str = "",
) -> Split:
    """Make the split: fold-in and truth of the evaluated users, train from the others."""
    truth = members(log.frame[ROW], inner.truth.frame[ROW])
    others = ~evaluated if train is None else train
    seen = members(log.frame[ROW], inner.train.frame[ROW])
    if shown == "train":
        return part_log(log, truth, train=others | seen, name=name)
    with_truth = members(log.frame["user"], inner.truth.frame["user"])
    ledger = Ledger()
    idle = count_ids(inner.train.frame["user"]) - count_ids(inner.truth.frame["user"])
    about = "evaluated users have no truth rows and are in no part of the split"
    ledger.count("users_without_truth", max(idle, 0), about, weight="notice")
    return part_log(log, truth, train=others, fold_in=seen & with_truth, name=name, ledger=ledger)
