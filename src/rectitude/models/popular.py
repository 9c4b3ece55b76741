"""Models without personalisation: random items, and the most popular ones, overall or recently."""

from __future__ import annotations

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats
from rectitude.data.times import parse_span
from rectitude.errors import BadArgument
from rectitude.models.matrix import Matrix, UserProfiles
from rectitude.models.ranking import Common
from rectitude.models.registry import Learnt, model
from rectitude.preparing.draws import numbers, words


def everybody(profiles: UserProfiles) -> Flags:
    """Return True for all users: models without personalisation can score everybody."""
    return np.ones(len(profiles), np.bool_)


@model("random", fold_in="scored", without=("unknown_users", "rest", "weights"))
def random(train: Matrix, *, seed: int = 0) -> Learnt:
    """Items of the training data in a random order for each user.

    A score only depends on the seed and the ids of user and item. Other users, other items and the
    order of rows do not change it.
    """
    item_words = words(train.items)

    def score(profiles: UserProfiles) -> Floats:
        user = np.repeat(words(profiles.users), len(item_words))
        drawn = numbers(seed, user, np.tile(item_words, len(profiles)))
        return drawn.reshape(len(profiles), len(item_words))

    return Learnt(score, knows=everybody)


@model("popularity", fold_in="scored", without=("unknown_users", "rest"))
def popularity(train: Matrix) -> Learnt:
    """Items by their number of users, or with `weights` by rows or grades; the same for all."""
    rows = train.weighted
    scores = np.bincount(rows.indices, rows.data, len(train.items)).astype(np.float64)
    return Learnt(lambda profiles: Common(scores, len(profiles)), knows=everybody)


@model("recent-popularity", fold_in="scored", without=("unknown_users", "rest", "weights"))
def recent_popularity(train: Matrix, *, window: object = None, half_life: object = None) -> Learnt:
    """Items by their number of rows in the last period of the training data, or by decaying rows.

    `window` is the length of the period, such as 30D. With `half_life`, every row counts, and a row
    of that age counts half. Without either, the period is the last tenth of the training data's
    time.
    """
    train.log.require("timestamp", "recent-popularity")
    if window is not None and half_life is not None:
        raise BadArgument("window and half_life were both given.", "only one of them.")
    times = train.log.frame["timestamp"].to_physical().to_numpy().astype(np.float64)
    age = times.max() - times
    if half_life is not None:
        order = np.lexsort((age, train.item))  # sums of floats depend on their order
        decay = np.exp2(-age / _length(train, half_life, "half_life"))
        scores = np.bincount(train.item[order], decay[order], len(train.items))
    else:
        length = age.max() / 10 if window is None else _length(train, window, "window")
        scores = np.bincount(train.item[age <= length], minlength=len(train.items))
    return Learnt(
        lambda profiles: Common(scores.astype(np.float64), len(profiles)), knows=everybody
    )


def _length(train: Matrix, value: object, name: str) -> float:
    """Return a length of time in the unit of the stored timestamps."""
    length = parse_span(train.log, value, name)
    kind = train.log.frame["timestamp"].dtype
    if not kind.is_temporal():
        return float(length)
    if kind == pl.Date:
        return float(length.total_seconds()) / 86_400
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[getattr(kind, "time_unit", "us")]
    return float(length.total_seconds()) * per_second
