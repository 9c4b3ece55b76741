"""Splits that set whole users apart: strong generalisation, new users, cold users, late users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags
from rectitude.data.ids import count_ids, counts, looked_up, members
from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log, chosen
from rectitude.data.times import span
from rectitude.data.values import compared
from rectitude.errors import BadName
from rectitude.options import require_ratio, require_whole
from rectitude.prepare.draws import places
from rectitude.prepare.order import Ties, by_time, ends_of
from rectitude.splits import timeline
from rectitude.splits.shares import Arithmetic, Part, Rounding, held_out, refuse_unused
from rectitude.splits.split import Split, accounted, parted, single, splitter

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
    """Random users are to be found with all their rows; nothing of them is learnt or shown."""
    return parted(log, _drawn(log, ratio, None, of, rounding, arithmetic, seed))


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
    seed: int = 0,
) -> Split:
    """Random users are evaluated: part of their rows is shown, the rest is to be found.

    `within` splits their rows; a moment t splits them there instead, and then nothing from t on is
    learnt either. `shown` "train" lets the model learn from what is shown, as LensKit does. `among`
    "with_truth" draws only users of whom `within` leaves something to be found.
    """
    drawn_from = log.frame["user"]
    if among == "with_truth":
        drawn_from = single(within, log, seed).truth.frame["user"]
    evaluated = _drawn(log, ratio, size, of, rounding, arithmetic, seed, drawn_from)
    if t is None:
        refuse_unused("there is no t", delta_in=delta_in, delta_out=delta_out)
        return _shown(log, evaluated, single(within, chosen(log, evaluated), seed), shown)
    timed = {"t": t, "delta_in": delta_in, "delta_out": delta_out}
    given = {name: value for name, value in timed.items() if value is not None}
    inner = single({"how": "at_time", **given}, chosen(log, evaluated), seed)
    learnt = single({"how": "at_time", **given}, chosen(log, ~evaluated), seed).train
    return _shown(log, evaluated, inner, shown, members(log.frame[ROW], learnt.frame[ROW]))


@splitter
def k_fold_users(
    log: Log,
    *,
    folds: int = 5,
    size: int | None = None,
    within: Mapping[str, Any] = WITHIN,
    shown: Literal["fold_in", "train"] = "fold_in",
    seed: int = 0,
) -> list[Split]:
    """Every user is evaluated in one of the folds, as in `strong_generalisation`; with a `size`, no
    more than so many in each."""
    require_whole(folds, "folds", 2)
    place, users = places(log.frame["user"], seed)
    if users < folds:
        raise BadName(f"there are {users} users for {folds} folds.", "a user for each fold.")
    most = users if size is None else size
    require_whole(most, "size")
    splits = []
    for nth in range(folds):
        evaluated = (place % folds == nth) & (place // folds < most)
        inner = single(within, chosen(log, evaluated), seed)
        splits.append(_shown(log, evaluated, inner, shown, name=f"fold-{nth + 1}"))
    return splits


@splitter
def new_users(log: Log, *, ratio: float = 0.2) -> Split:
    """The users who came last are to be found with all their rows, as RePlay does.

    The moment is the latest from which at least that share of users begins. Train is what happened
    before it; later rows of users who were there already are in no part.
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
    new = looked_up((begins >= moment).to_numpy(), users)
    return parted(log, new, train=compared(log.frame["timestamp"], np.less, moment), ledger=ledger)


@splitter
def late_users(log: Log, *, t: object, within: Mapping[str, Any] | None = None) -> Split:
    """Users whose latest row is at t or later are evaluated; the others are learnt from.

    `within` splits their rows into what is shown and what is to be found; without it all of them
    are to be found.
    """
    late = _late(log, t)
    if within is None:
        return parted(log, late)
    return _shown(log, late, single(within, chosen(log, late), 0), "fold_in")


@splitter
def next_after(
    log: Log,
    *,
    t: object,
    n: int = 1,
    delta_out: object = None,
    shown: int | None = None,
    ties: Ties = "content",
) -> Split:
    """Learn from what happened before t; find the n latest rows of users active from t on, as far
    as they are from t on.

    All their earlier rows are shown, or the latest `shown` of them: also rows between t and the
    rows to be found.
    """
    require_whole(n, "n")
    start = timeline.inside(log, t)
    times = log.frame["timestamp"]
    inside = np.ones(len(times), bool)
    if delta_out is not None:
        inside = (times < start + span(log, delta_out, "delta_out")).to_numpy()
    active = chosen(log, inside)
    evaluated = chosen(active, _late(active, t))
    standing = by_time(evaluated, "user", ties)
    late = evaluated.frame.select((pl.col("timestamp") >= start).sum().over("user"))["timestamp"]
    wanted = np.minimum(late.to_numpy(), n)
    truth = chosen(evaluated, standing.after < wanted)
    most = standing.size if shown is None else wanted + min(shown, log.frame.height)
    fold_in = chosen(evaluated, (standing.after >= wanted) & (standing.after < most))
    split = Split(chosen(log, (times < start).to_numpy()), truth, fold_in)
    used = members(log.frame[ROW], _rows(split.train, truth, fold_in))
    return accounted(split, log, used)


def _rows(*parts: Log) -> pl.Series:
    return pl.concat([part.frame[ROW] for part in parts])


def _late(log: Log, t: object) -> Flags:
    """The rows of users whose latest row is at t or later."""
    last, users = ends_of(log, "user", "last")
    return looked_up((last >= timeline.inside(log, t)).to_numpy(), users)


def _drawn(
    log: Log, ratio: float, size: int | Literal["all"] | None, of: Part, rounding: Rounding,
    arithmetic: Arithmetic, seed: int, among: pl.Series | None = None,
) -> Flags:  # fmt: skip
    """The rows of the users that are set apart: the first of a random order, `among` some."""
    place, users = places(log.frame["user"], seed)
    if size is None:
        require_ratio(ratio)
        size = int(held_out(np.array([users]), ratio, rounding, of, arithmetic)[0])
    size = users if size == "all" else size
    require_whole(size, "size")
    if size > users:
        raise BadName(f"size is {size:,}, and there are {users:,} users.", "at most as many.")
    if among is not None and count_ids(among) < users:
        place = np.where(members(log.frame["user"], among), place, users)
        place = np.searchsorted(np.unique(place[place < users]), place)
    drawn: Flags = (place < size) & (place < users)
    return drawn


def _shown(
    log: Log,
    evaluated: Flags,
    inner: Split,
    shown: str,
    learnt: Flags | None = None,
    name: str = "",
) -> Split:
    """What is shown of the evaluated users beside what is learnt from the others."""
    truth = members(log.frame[ROW], inner.truth.frame[ROW])
    others = ~evaluated if learnt is None else learnt
    seen = members(log.frame[ROW], inner.train.frame[ROW])
    if shown == "train":
        return parted(log, truth, train=others | seen, name=name)
    asked = members(log.frame["user"], inner.truth.frame["user"])
    ledger = Ledger()
    idle = count_ids(inner.train.frame["user"]) - count_ids(inner.truth.frame["user"])
    about = "evaluated users have nothing to be found: they are in no part"
    ledger.count("users_without_truth", max(idle, 0), about, weight="notice")
    return parted(log, truth, train=others, fold_in=seen & asked, name=name, ledger=ledger)
