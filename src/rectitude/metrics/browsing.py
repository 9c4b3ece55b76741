"""Metrics that model how a user browses: down the list, with a chance to stop at every item."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats, Integers, accumulated, run_starts
from rectitude.errors import BadGrades, BadName
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Gain, GainFrom, Ideal, Weights, by_rank, worth_of
from rectitude.metrics.registry import Ratio, metric


@metric(
    "Rank-biased precision",
    formula="(1 - p) * sum over the top {k} of gain * p^(rank - 1); gain = {gain}, "
    "p = {persistence}",
    reading="The rate at which a user gains who looks at the next item with probability p.",
    use="Use it when you know how deep users look: p = 0.5 for impatient, 0.95 for patient ones.",
    cite="moffat2008rank",
    averages="closed form",
)
def rbp(
    lists: Judged, k: int | None, *, gain: Gain, gain_from: GainFrom, persistence: float = 0.8
) -> Ratio:
    """Gain of a user who goes on to the next item with a fixed probability."""
    stay = staying(persistence)
    gains = worth_of(lists, gain, gain_from)(lists.grade)
    return Ratio.of((1 - persistence) * lists.total(gains * by_rank(lists, k, stay), upto=k))


@metric(
    "Rank-biased precision of scaled gains",
    formula="as rbp; gain = {gain}, over the highest gain of the list's truth if that is above 1",
    reading="As rbp, and at most 1 whatever the grades.",
    use="Use it with graded relevance when lists should weigh the same whatever their best grade.",
    cite="moffat2008rank",
    averages="closed form",
)
def scaled_rbp(
    lists: Judged, k: int | None, *, gain: Gain, gain_from: GainFrom, persistence: float = 0.8
) -> Ratio:
    """Rank-biased precision with gains from 0 to 1, as far as the list's own truth goes."""
    most = np.ones(lists.size)
    np.maximum.at(most, lists.truth.rows(), worth_of(lists, gain, gain_from)(lists.truth.values))
    plain = rbp(lists, k, gain=gain, gain_from=gain_from, persistence=persistence)
    return Ratio(plain.above, most)


@metric(
    "Normalised rank-biased precision",
    formula="sum over the top {k} of gain * p^(rank - 1) / the same sum for the ideal list; "
    "gain = {gain}, p = {persistence}, ideal list = {ideal}",
    reading="1 when the relevant items come first, however few they are; rbp then stays below 1.",
    use="Use it to compare users with different numbers of relevant items; rbp says what they "
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
    """Gain of a user who may stop after any item, over the most that the truth allows."""
    worth, stay = worth_of(lists, gain, gain_from), staying(persistence)
    gains = worth(lists.grade) * by_rank(lists, k, stay)
    return Ratio(lists.total(gains, upto=k), ideal(lists, k, worth, stay))


def staying(persistence: float) -> Weights:
    """How likely a user gets to a rank who goes on with this probability."""
    if not 0 <= persistence < 1:
        raise BadName(f"persistence cannot be {persistence:g}.", "a probability below 1.")

    def weights(ranks: Integers) -> Floats:
        depth = np.arange(ranks.max(initial=0), dtype=np.float64)
        stay: Floats = persistence**depth
        return stay[ranks - 1]

    return weights


@metric(
    "Expected reciprocal rank",
    name="err",
    formula="sum over the top {k} of P(stop here) / rank; an item stops the user with probability "
    "gain / (gain of the highest grade {max_grade} + 1), gain = {gain}",
    reading="The reciprocal rank at which a user is expected to stop.",
    use="Use it with graded relevance (gain=exp2) when one excellent item makes the later ones "
    "worthless; max_grade is the top of the scale, and matters only then.",
    cite="chapelle2009expected",
)
def expected_reciprocal_rank(
    lists: Judged, k: int | None, *, gain: Gain, gain_from: GainFrom, max_grade: float = 4.0
) -> Ratio:
    """Reciprocal rank at which a user stops who is satisfied by items according to their grade."""
    worth = worth_of(lists, gain, gain_from)
    most = float(gain(np.array([max_grade]), np.ones(1, bool), lists.relevant_from or 0.0)[0])
    _check_gains(worth(lists.truth.values), most, lists.truth.values, max_grade)
    stop = worth(lists.grade) / (most + 1)
    return Ratio.of(lists.total(_reaching(lists, 1 - stop) * stop / lists.rank, upto=k))


def _check_gains(gains: Floats, most: float, grades: Floats, max_grade: float) -> None:
    wrong = gains > most
    if wrong.any():
        raise BadGrades(
            f"{int(wrong.sum())} truth rows have a grade above {max_grade:g} "
            f"(first: {grades[wrong][0]:g}).",
            f"grades up to max_grade = {max_grade:g}.",
            f"name the highest grade of your scale: err[max_grade={grades.max():g}].",
        )


def _reaching(lists: Judged, going_on: Floats) -> Floats:
    """(found,) the probability that a user passes all earlier rows of the list."""
    passed = accumulated(np.multiply, going_on, lists.list)
    reach: Floats = np.append(1.0, passed)[: len(passed)]
    reach[run_starts(lists.list)] = 1.0
    return reach
