"""Models that know no tastes: chance, and what most users had, ever or lately."""

from __future__ import annotations

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats
from rectitude.data.times import span
from rectitude.errors import BadName
from rectitude.models.matrix import Matrix, UserProfiles
from rectitude.models.ranking import Common
from rectitude.models.registry import Learnt, model
from rectitude.prepare.draws import numbers, words


def everybody(profiles: UserProfiles) -> Flags:
    """A model that looks at no profile scores all users."""
    return np.ones(len(profiles), np.bool_)


@model("random", fold_in="scored", without=("unknown_users", "rest", "weights"))
def random(train: Matrix, *, seed: int = 0) -> Learnt:
    """Items of train in an order that the seed and the ids of user and item decide.

    Other users, other items and the order of rows change nothing about a score.
    """
    own = words(train.items)

    def score(profiles: UserProfiles) -> Floats:
        user = np.repeat(words(profiles.users), len(own))
        drawn = numbers(seed, user, np.tile(own, len(profiles)))
        return drawn.reshape(len(profiles), len(own))

    return Learnt(score, knows=everybody)


@model("popularity", fold_in="scored", without=("unknown_users", "rest"))
def popularity(train: Matrix) -> Learnt:
    """Items by how many users had them, or with `weights` by rows or grades, the same for all."""
    rows = train.weighted
    scores = np.bincount(rows.indices, rows.data, len(train.items)).astype(np.float64)
    return Learnt(lambda profiles: Common(scores, len(profiles)), knows=everybody)


@model("recent-popularity", fold_in="scored", without=("unknown_users", "rest", "weights"))
def recent_popularity(train: Matrix, *, window: object = None, half_life: object = None) -> Learnt:
    """Items by their rows in a window of time before the end of train, or by rows that fade.

    `window` is a length of time such as 30D; with `half_life` every row counts, one that is so old
    for a half. Without either, the window is the last tenth of train's time.
    """
    train.log.require("timestamp", "recent-popularity")
    if window is not None and half_life is not None:
        raise BadName("window and half_life were both given.", "one of them.")
    times = train.log.frame["timestamp"].to_physical().to_numpy().astype(np.float64)
    age = times.max() - times
    if half_life is not None:
        order = np.lexsort((age, train.item))  # sums of fractions depend on their order
        fade = np.exp2(-age / _length(train, half_life, "half_life"))
        scores = np.bincount(train.item[order], fade[order], len(train.items))
    else:
        length = age.max() / 10 if window is None else _length(train, window, "window")
        scores = np.bincount(train.item[age <= length], minlength=len(train.items))
    return Learnt(
        lambda profiles: Common(scores.astype(np.float64), len(profiles)), knows=everybody
    )


def _length(train: Matrix, value: object, name: str) -> float:
    """A length of time in the unit of the timestamps as they are stored."""
    length = span(train.log, value, name)
    kind = train.log.frame["timestamp"].dtype
    if not kind.is_temporal():
        return float(length)
    if kind == pl.Date:
        return float(length.total_seconds()) / 86_400
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[getattr(kind, "time_unit", "us")]
    return float(length.total_seconds()) * per_second
