"""Metrics of the C/W/L framework: the probability that users go on to the next rank determines the
weight of each rank, and the value is the gain that they can expect per item they look at.

What a user has gained so far can matter, too (bpm, inst, nerr). Gains are grades, scaled to 0..1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rectitude.arrays import Floats
from rectitude.errors import BadArgument
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import require_order
from rectitude.metrics.registry import Ratio, metric

GoOn = Callable[[Floats, Floats], Floats]
"""(ranks, gains by list and rank) -> the probability of going on, by list and rank"""
_DEEPEST = 1000
"""the rank at which users stop without a cutoff, as in cwl_eval"""
_AT_ONCE = 1000
"""lists in a block, which bounds the memory of a row per list and a column per rank"""
_GAIN = "gain = grade from {min_grade} to {max_grade}, scaled to 0 to 1"
_PER_ITEM = (
    "sum over the top {k} of P(rank is reached) * gain / sum of P(rank is reached), up to rank "
    f"{_DEEPEST} without a cutoff; "
)


@metric(
    "Bejeweled player model",
    formula="gain of the ranks looked at / their number: a user stops at rank {k}, or once the "
    f"gain reaches {{wanted_gain}}; {_GAIN}",
    reading="The gain per item of a user who stops when they have what they want, or are tired.",
    use="Use it when you know how much users want and how deep they look.",
    cite="zhang2017evaluating",
    breaks=("perfect_is_best",),
)
def bpm(
    lists: Judged,
    k: int | None,
    *,
    wanted_gain: float = 1.0,
    min_grade: float = 0.0,
    max_grade: float = 1.0,
) -> Ratio:
    """Gain per item of a user who stops with enough gain or after enough items."""

    def go_on(ranks: Floats, gains: Floats) -> Floats:
        return (np.cumsum(gains, axis=1) < wanted_gain).astype(np.float64)

    return _expect_gain(lists, k, go_on, min_grade, max_grade)


@metric(
    "INSQ",
    formula=f"{_PER_ITEM}P(going on from rank r) = ((r + 2T - 1) / (r + 2T))^2, "
    f"T = {{wanted_gain}}; {_GAIN}",
    reading="The gain per item of a user who looks at about 2T + 0.5 items and goes on the more "
    "readily the deeper they are.",
    use="Use it when you know how many relevant items users look for.",
    cite="moffat2012models",
)
def insq(
    lists: Judged,
    k: int | None,
    *,
    wanted_gain: float = 1.0,
    min_grade: float = 0.0,
    max_grade: float = 1.0,
) -> Ratio:
    """Gain per item of a user who wants a certain gain, and goes on whatever they find."""
    _require_wanted(wanted_gain)

    def go_on(ranks: Floats, gains: Floats) -> Floats:
        return np.broadcast_to(_go_on_for(ranks, 2 * wanted_gain), gains.shape)

    return _expect_gain(lists, k, go_on, min_grade, max_grade)


@metric(
    "INST",
    formula=f"{_PER_ITEM}P(going on from rank r) = ((r + 2T - G - 1) / (r + 2T - G))^2, "
    f"T = {{wanted_gain}}, G = gain up to rank r; {_GAIN}",
    reading="As INSQ; but the more a user has found of what they want, the sooner they stop.",
    use="Use it when you know how many relevant items users look for, and they stop when they have "
    "them.",
    cite="moffat2015inst",
)
def inst(
    lists: Judged,
    k: int | None,
    *,
    wanted_gain: float = 1.0,
    min_grade: float = 0.0,
    max_grade: float = 1.0,
) -> Ratio:
    """Gain per item of a user who wants a certain gain, and stops sooner the more they have."""
    _require_wanted(wanted_gain)

    def go_on(ranks: Floats, gains: Floats) -> Floats:
        return _go_on_for(ranks, 2 * wanted_gain - np.cumsum(gains, axis=1))

    return _expect_gain(lists, k, go_on, min_grade, max_grade)


@metric(
    "Scaled discounted cumulative gain",
    formula=f"{_PER_ITEM}P(rank r is reached) = 1 / log2(r + 1); {_GAIN}",
    reading="DCG divided by the DCG of a list with the highest grade at every rank.",
    use="Use it to compare DCG with other C/W/L metrics, or across cutoffs. Unlike NDCG, it stays "
    "low if there are few relevant items.",
    cite="jarvelin2002cumulated",
    breaks=("perfect_is_best",),
)
def sdcg(lists: Judged, k: int | None, *, min_grade: float = 0.0, max_grade: float = 1.0) -> Ratio:
    """Discounted cumulative gain, relative to the highest grade at every rank."""

    def go_on(ranks: Floats, gains: Floats) -> Floats:
        return np.broadcast_to(np.log2(ranks + 1) / np.log2(ranks + 2), gains.shape)

    return _expect_gain(lists, k, go_on, min_grade, max_grade)


@metric(
    "Nearly ERR, stopping by gain",
    formula=f"{_PER_ITEM}P(going on from rank r) = 1 - gain; {_GAIN}",
    reading="The gain per item of a user who stops at an item with the probability of its gain.",
    use="Use it in place of ERR to compare with other C/W/L metrics.",
    cite="azzopardi2021err",
    breaks=("perfect_is_best",),
)
def nerr8(lists: Judged, k: int | None, *, min_grade: float = 0.0, max_grade: float = 1.0) -> Ratio:
    """Gain per item of a user who stops at an item with the probability of its gain."""
    return _expect_gain(lists, k, lambda _, gains: 1 - gains, min_grade, max_grade)


@metric(
    "Nearly ERR, stopping by gain and rank",
    formula=f"{_PER_ITEM}P(going on from rank r) = r / (r + 1) * (1 - gain); {_GAIN}",
    reading="As nerr8, for a user who also stops by rank, following the weights 1 / rank of ERR.",
    use="Use it in place of ERR to compare with other C/W/L metrics.",
    cite="azzopardi2021err",
    breaks=("perfect_is_best",),
)
def nerr9(lists: Judged, k: int | None, *, min_grade: float = 0.0, max_grade: float = 1.0) -> Ratio:
    """Gain per item of a user who stops by gain, and at rank r with probability 1 / (r + 1)."""

    def go_on(ranks: Floats, gains: Floats) -> Floats:
        return ranks / (ranks + 1) * (1 - gains)

    return _expect_gain(lists, k, go_on, min_grade, max_grade)


@metric(
    "Nearly ERR, stopping by gain and patience",
    formula=f"{_PER_ITEM}P(going on from rank r) = p * (1 - gain), p = {{persistence}}; {_GAIN}",
    reading="As nerr8, for a user who goes on with probability p at most, as in RBP.",
    use="Use it when you know how patient users are, and one good item is enough.",
    cite="azzopardi2021err",
    breaks=("perfect_is_best",),
)
def nerr10(
    lists: Judged,
    k: int | None,
    *,
    persistence: float = 0.9,
    min_grade: float = 0.0,
    max_grade: float = 1.0,
) -> Ratio:
    """Gain per item of a user who stops by gain, and everywhere with the same probability."""
    if not 0 <= persistence <= 1:
        raise BadArgument(f"persistence is {persistence:g}.", "a number from 0 to 1.")

    def go_on(ranks: Floats, gains: Floats) -> Floats:
        return persistence * (1 - gains)

    return _expect_gain(lists, k, go_on, min_grade, max_grade)


@metric(
    "Nearly ERR, stopping by gain and wanted gain",
    formula=f"{_PER_ITEM}P(going on from rank r) = ((r + 2T - 1) / (r + 2T))^2 * (1 - gain), "
    f"T = {{wanted_gain}}; {_GAIN}",
    reading="As nerr8, for a user who goes on as in INSQ.",
    use="Use it when you know how many relevant items users look for.",
    cite="azzopardi2021err",
    breaks=("perfect_is_best",),
)
def nerr11(
    lists: Judged,
    k: int | None,
    *,
    wanted_gain: float = 1.0,
    min_grade: float = 0.0,
    max_grade: float = 1.0,
) -> Ratio:
    """Gain per item of a user who stops by gain, and otherwise as in INSQ."""
    _require_wanted(wanted_gain)

    def go_on(ranks: Floats, gains: Floats) -> Floats:
        return _go_on_for(ranks, 2 * wanted_gain) * (1 - gains)

    return _expect_gain(lists, k, go_on, min_grade, max_grade)


def _go_on_for(ranks: Floats, wanted: float | Floats) -> Floats:
    """Return the probability of going on, for a user who still wants this much at each rank."""
    return np.square((ranks + wanted - 1) / (ranks + wanted))


def _require_wanted(wanted_gain: float) -> None:
    if not 0 < wanted_gain < np.inf:
        raise BadArgument(f"wanted_gain is {wanted_gain:g}.", "a finite number above 0.")


def _expect_gain(
    lists: Judged, k: int | None, go_on: GoOn, min_grade: float, max_grade: float
) -> Ratio:
    """Return the gain that a user expects, over the number of items that they expect to look at."""
    require_order(lists, "users stop by what they have seen")
    if not min_grade < max_grade:
        raise BadArgument(
            f"min_grade is {min_grade:g} and max_grade {max_grade:g}.",
            "a highest grade above the lowest.",
        )
    depth = min(_DEEPEST, k or _DEEPEST)
    share = (np.clip(lists.grade, min_grade, max_grade) - min_grade) / (max_grade - min_grade)
    rows, owners = lists.within(depth)
    gained, at = np.where(lists.hit, share, 0.0)[rows], lists.rank[rows] - 1
    above, below = np.zeros(lists.size), np.zeros(lists.size)
    for first in range(0, lists.size, _AT_ONCE):
        last = min(first + _AT_ONCE, lists.size)
        inside = slice(*np.searchsorted(owners, (first, last)))
        gains = np.zeros((last - first, depth))
        gains[owners[inside] - first, at[inside]] = gained[inside]
        reached = _reach(go_on(np.arange(1.0, depth + 1), gains))
        above[first:last] = (reached * gains).sum(axis=1)
        below[first:last] = reached.sum(axis=1)
    return Ratio(above, below)


def _reach(going_on: Floats) -> Floats:
    """Return the probability that a user reaches each rank."""
    reached = np.ones(going_on.shape)
    np.cumprod(going_on[:, :-1], axis=1, out=reached[:, 1:])
    return reached
