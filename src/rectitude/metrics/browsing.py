"""Metrics that model how users browse: down the list, with a chance to stop at every item."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats, Integers, accumulate_groups, run_starts
from rectitude.errors import BadArgument, BadGrades
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Gain, GainFrom, Ideal, Weights, by_rank, gain_function
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Rank-biased precision",
    formula="(1 - p) * sum over the top {k} of gain * p^(rank - 1); gain = {gain}, "
    "p = {persistence}",
    reading="The gain per item viewed, for a user who goes on to the next item with probability p.",
    use="Use it when you know how deep users look: p = 0.5 for impatient users, 0.95 for patient "
    "ones.",
    cite="moffat2008rank",
    averages="closed form",
)
def rbp(
    lists: Judged, k: int | None, *, gain: Gain, gain_from: GainFrom, persistence: float = 0.8
) -> Ratio:
    """Gain of a user who goes on to the next item with a fixed probability."""
    stay = reach_weights(persistence)
    gains = gain_function(lists, gain, gain_from)(lists.grade)
    return Ratio.of((1 - persistence) * lists.total(gains * by_rank(lists, k, stay), upto=k))


@metric(
    "Rank-biased precision of scaled gains",
    formula="as rbp; gain = {gain}, divided by the highest gain in the list's truth if that is "
    "above 1",
    reading="Read it like rbp; it is never above 1, even with graded relevance.",
    use="Use it with graded relevance when every list should have the same weight, no matter how "
    "high its best grade is.",
    cite="moffat2008rank",
    averages="closed form",
)
def scaled_rbp(
    lists: Judged, k: int | None, *, gain: Gain, gain_from: GainFrom, persistence: float = 0.8
) -> Ratio:
    """Rank-biased precision with gains scaled to 0 to 1 by the best grade of each list's truth."""
    max_gain = np.ones(lists.size)
    np.maximum.at(
        max_gain, lists.truth.rows(), gain_function(lists, gain, gain_from)(lists.truth.values)
    )
    plain = rbp(lists, k, gain=gain, gain_from=gain_from, persistence=persistence)
    return Ratio(plain.above, max_gain)


@metric(
    "Normalised rank-biased precision",
    formula="sum over the top {k} of gain * p^(rank - 1) / the same sum for the ideal list; "
    "gain = {gain}, p = {persistence}, ideal list = {ideal}",
    reading="1 if the relevant items come first, even if there are few of them; rbp then stays "
    "below 1.",
    use="Use it to compare users with different numbers of relevant items; rbp measures what they "
    "gain.",
    cite="moffat2008rank",
    averages="closed form",
)
def normalised_rbp(
    lists: Judged,
    k: int | None,
    *,
    gain: Gain,
    gain_from: GainFrom,
    ideal: Ideal,
    persistence: float = 0.8,
) -> Ratio:
    """Gain of a user who may stop after any item, relative to the ideal list."""
    gain_of, stay = gain_function(lists, gain, gain_from), reach_weights(persistence)
    gains = gain_of(lists.grade) * by_rank(lists, k, stay)
    return Ratio(lists.total(gains, upto=k), ideal(lists, k, gain_of, stay))


def reach_weights(persistence: float) -> Weights:
    """Return the probability of reaching each rank, for a user who continues with this
    probability."""
    if not 0 <= persistence < 1:
        raise BadArgument(f"persistence is {persistence:g}.", "a number from 0 to below 1.")

    def weights(ranks: Integers) -> Floats:
        depth = np.arange(ranks.max(initial=0), dtype=np.float64)
        stay: Floats = persistence**depth
        return stay[ranks - 1]

    return weights


@metric(
    "Expected reciprocal rank",
    name="err",
    formula="sum over the top {k} of P(user stops here) / rank; the user stops at an item with "
    "probability gain / (gain of the highest grade {max_grade} + 1), gain = {gain}",
    reading="The expected reciprocal rank at which a user stops. 0.5 corresponds to stopping at "
    "rank 2.",
    use="Use it with graded relevance (gain=exp2) when one excellent item makes the later ones "
    "worthless. max_grade is the highest grade of the scale; set it to yours.",
    cite="chapelle2009expected",
)
def expected_reciprocal_rank(
    lists: Judged, k: int | None, *, gain: Gain, gain_from: GainFrom, max_grade: float = 4.0
) -> Ratio:
    """Expected reciprocal rank at which a user stops, if items with higher grades are more likely
    to satisfy the user."""
    gain_of = gain_function(lists, gain, gain_from)
    max_gain = _gain_at(gain, max_grade, lists)
    grades = lists.truth.values
    _require_gains_up_to("err", gain_of(grades), max_gain, grades, max_grade)
    stop = gain_of(lists.grade) / (max_gain + 1)
    return Ratio.of(lists.total(_reach_probability(lists, 1 - stop) * stop / lists.rank, upto=k))


@metric(
    "Expected reciprocal rank with certain stops",
    name="certain_err",
    formula="sum over the top {k} of P(user stops here) / rank; the user stops at an item with "
    "probability gain / gain of the highest grade {max_grade}, gain = {gain}",
    reading="Read it like err; but an item of the highest grade always satisfies the user.",
    use="Use it when grades are probabilities (gain=linear, max_grade=1), or when nothing can "
    "follow an item of the highest grade.",
    cite="chapelle2009expected",
)
def certain_err(
    lists: Judged, k: int | None, *, gain: Gain, gain_from: GainFrom, max_grade: float = 4.0
) -> Ratio:
    """Expected reciprocal rank at which a user stops, for whom an item of the highest grade is
    always enough."""
    stop = _chance_to_satisfy("certain_err", lists, gain, gain_from, max_grade)
    return Ratio.of(lists.total(_reach_probability(lists, 1 - stop) * stop / lists.rank, upto=k))


@metric(
    "PFound",
    formula="sum over the top {k} of P(user looks here) * p, p = gain / gain of the highest grade "
    "{max_grade}, gain = {gain}; the user looks at the first item, and at each next one with "
    "probability (1 - p) * d, d = {decay}",
    reading="The probability that a user finds something relevant before they give up.",
    use="Use it for users who look down the list until they are satisfied or lose patience; a "
    "lower decay means less patience. For grades that are probabilities, set gain=linear and "
    "max_grade=1.",
    cite="gulin2009yandex",
)
def pfound(
    lists: Judged,
    k: int | None,
    *,
    gain: Gain,
    gain_from: GainFrom,
    max_grade: float = 4.0,
    decay: float = 0.85,
) -> Ratio:
    """Probability that a user who may give up after any item finds something relevant."""
    if not 0 <= decay <= 1:
        raise BadArgument(f"decay is {decay:g}.", "a number from 0 to 1.")
    found = _chance_to_satisfy("pfound", lists, gain, gain_from, max_grade)
    looks = decay ** (lists.rank - 1.0) * _reach_probability(lists, 1 - found)
    return Ratio.of(lists.total(looks * found, upto=k))


def _chance_to_satisfy(
    name: str, lists: Judged, gain: Gain, gain_from: GainFrom, max_grade: float
) -> Floats:
    """Return (rows,) the gain of each item as a share of the highest one."""
    gain_of, max_gain = gain_function(lists, gain, gain_from), _gain_at(gain, max_grade, lists)
    if not max_gain > 0:
        raise BadArgument(f"max_grade is {max_grade:g}, without a gain.", "a grade with a gain.")
    grades = lists.truth.values
    _require_gains_up_to(name, gain_of(grades), max_gain, grades, max_grade)
    return gain_of(lists.grade) / max_gain


def _gain_at(gain: Gain, grade: float, lists: Judged) -> float:
    return float(gain(np.array([grade]), np.ones(1, bool), lists.threshold)[0])


def _require_gains_up_to(
    name: str, gains: Floats, max_gain: float, grades: Floats, max_grade: float
) -> None:
    too_high = gains > max_gain
    if too_high.any():
        raise BadGrades(
            f"{int(too_high.sum())} truth rows have a grade above {max_grade:g} "
            f"(first: {grades[too_high][0]:g}).",
            f"grades up to max_grade = {max_grade:g}.",
            "set max_grade to the highest grade of your scale: "
            f"{name}[max_grade={grades.max():g}].",
        )


def _reach_probability(lists: Judged, continuing: Floats) -> Floats:
    """Return (rows,) the probability that a user passes all earlier rows of the list."""
    passed = accumulate_groups(np.multiply, continuing, lists.list)
    reach: Floats = np.append(1.0, passed)[: len(passed)]
    reach[run_starts(lists.list)] = 1.0
    return reach
