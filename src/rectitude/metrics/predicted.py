"""What was predicted for judged pairs of a list and an item: whether it can be used, and sums of it
that add up exactly over batches. Counts of floats are counts, too: their digits, see `exact`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers
from rectitude.data.ledger import Ledger
from rectitude.errors import BadName, BadScores, NothingToEvaluate, UndefinedValue
from rectitude.exact import UNIT_BITS, digits, quotient, total, total_of_squares, whole
from rectitude.metrics.registry import Counts


def tell_unpredicted(
    ledger: Ledger, lists: Integers, judged: Integers, label: Callable[[int], str]
) -> None:
    """Count judged pairs for which nothing was predicted: `lists` are those of the others."""
    short = np.maximum(judged - np.bincount(lists, minlength=len(judged)), 0)
    first = f"list {label(int(np.flatnonzero(short)[0]))}" if short.any() else ""
    about = "judged pairs have no predicted score: left out by metrics of scores"
    total_short, pairs = int(short.sum()), int(judged.sum())
    ledger.count("pairs_without_score", total_short, about, pairs, first, "warning")


def finite(score: Floats, lists: Integers) -> Floats:
    """The predicted scores, none of which may be infinite or missing."""
    bad = np.flatnonzero(~np.isfinite(score))
    if len(bad):
        raise BadScores(
            f"{len(bad)} of {len(score)} predicted scores of judged pairs are not finite (first: "
            f"{score[bad[0]]}, list {lists[bad[0]]}).",
            "a finite score for every judged pair, or none.",
        )
    return score


def probabilities(score: Floats, lists: Integers) -> Floats:
    """The predicted scores, which must be probabilities."""
    bad = np.flatnonzero(~((score >= 0) & (score <= 1)))
    if len(bad):
        raise BadScores(
            f"{len(bad)} of {len(score)} predicted scores of judged pairs are outside 0 to 1 "
            f"(first: {score[bad[0]]:g}, list {lists[bad[0]]}).",
            "probabilities of relevance.",
            "turn scores into probabilities first, 1 / (1 + exp(-score)) for log-odds.",
        )
    return score


def losses(told: Floats, lists: Integers) -> Floats:
    """Minus the logarithm of the probability that each pair had, which must not be 0."""
    wrong = np.flatnonzero(told == 0)
    if len(wrong):
        raise UndefinedValue(
            f"{len(wrong)} of {len(told)} judged pairs had the probability 0 (first: list "
            f"{lists[wrong[0]]}); their loss is infinite.",
            "probabilities above 0 and below 1.",
            "set least, as in log_loss[least=1e-15], or use relevance_brier.",
        )
    return np.asarray(-np.log(told) + 0.0, np.float64)


def require_chances(missing: Flags) -> None:
    """An error if logits have no probabilities, because they are infinite."""
    if missing.any():
        raise UndefinedValue(
            f"the highest logit of {int(missing.sum())} of {len(missing)} lists is infinite "
            f"(first: list {int(np.flatnonzero(missing)[0])}), so that there are no probabilities.",
            "a finite logit in every row, and none that is +infinity.",
        )


def moments(grade: Floats, error: Floats) -> Counts:
    """How many pairs there are, and sums of grades, errors and their squares."""
    sums = {
        "grade": total(grade), "grade^2": total_of_squares(grade),
        "error": total(error), "error^2": total_of_squares(error),
    }  # fmt: skip
    return {"pairs": np.array([len(grade)]), **{name: digits(n) for name, n in sums.items()}}


def explained(sums: Counts, bias: Literal["counted", "left out"]) -> float:
    """1 less the squared errors over the squared distances of grades from their mean; with the mean
    error, their bias, or without."""
    pairs, spread = int(sums["pairs"].sum()), _variation(sums, "grade")
    if spread <= 0:
        what = f"all {pairs} judged pairs with a predicted score have the same grade"
        raise UndefinedValue(
            f"{what if pairs else 'no judged pair has a predicted score'}: there is no spread that "
            "could be explained.",
            "at least two different grades.",
            "mae and rmse need none.",
        )
    errors = pairs * whole(sums["error^2"]) << UNIT_BITS
    return quotient(spread - (errors if bias == "counted" else _variation(sums, "error")), spread)


def _variation(sums: Counts, what: str) -> int:
    """Pairs times the sum of squares around the mean, exactly, in units of 2**-2148."""
    squares, plain = whole(sums[f"{what}^2"]), whole(sums[what])
    return (int(sums["pairs"].sum()) * squares << UNIT_BITS) - plain**2


class ByScore(dict[str, Integers]):
    """Counts of pairs by their score, instead of by item."""

    def __init__(self, scores: pl.Series, counts: Counts) -> None:
        super().__init__(counts)
        self.scores = scores
        """whole numbers in the order of the scores, each standing for one"""


def by_score(score: Floats, relevant: Flags) -> ByScore:
    """How many pairs of each score are relevant, and how many are not."""
    bits = (score + 0.0).view(np.int64)  # which ascend with the number, below 0 the other way
    number = np.where(bits < 0, -(bits & np.int64(2**63 - 1)), bits)
    known, place = np.unique(number, return_inverse=True)
    counts = {
        name: np.bincount(place[flags], minlength=len(known))
        for name, flags in (("relevant", relevant), ("others", ~relevant))
    }
    return ByScore(pl.Series("id", known, pl.Int64), counts)


def area(sums: Counts) -> float:
    """Share of the pairs of a relevant and another one in which the relevant one scores higher;
    equals count half."""
    relevant, others = sums["relevant"], sums["others"]
    both = int(relevant.sum()), int(others.sum())
    if not all(both):
        raise UndefinedValue(
            f"{both[0]} judged pairs with a predicted score are relevant and {both[1]} are not.",
            "some of both kinds in the truth: a row with grade 0 for what is not relevant.",
            "auc compares relevant items with all other candidates.",
        )
    below = np.cumsum(others) - others
    return int((relevant * (2 * below + others)).sum()) / (2 * both[0] * both[1])


def binned(probability: Floats, right: Floats, bins: float) -> Counts:
    """Rows, those that are right, and sums of probabilities, in equal parts of 0 to 1."""
    if bins < 1 or bins != int(bins):
        raise BadName(f"bins cannot be {bins:g}.", "a whole number of at least 1.")
    number = np.clip(np.ceil(probability * bins).astype(np.int64) - 1, 0, int(bins) - 1)
    rows = np.bincount(number, minlength=int(bins))
    sums = {
        f"sum {place}": digits(total(probability[number == place]))
        for place in np.flatnonzero(rows).tolist()
    }
    hits = np.bincount(number[right > 0], minlength=int(bins))
    return {"rows": rows, "right": hits, **sums}


def mean_gap(sums: Counts) -> float:
    """How far rows that are right are from their probabilities, on average over all rows."""
    return quotient(sum(gap for gap, _ in _gaps(sums)), int(sums["rows"].sum()) << UNIT_BITS)


def largest_gap(sums: Counts) -> float:
    """How far rows that are right are from their probabilities, in the worst bin."""
    return max(quotient(gap, rows << UNIT_BITS) for gap, rows in _gaps(sums))


def _gaps(sums: Counts) -> list[tuple[int, int]]:
    """|rows that are right - sum of probabilities|, exactly, and the rows, of every bin that has
    any."""
    used = np.flatnonzero(sums["rows"]).tolist()
    if not used:
        raise NothingToEvaluate("nothing was predicted with a probability.", "at least one row.")
    right = [int(sums["right"][number]) << UNIT_BITS for number in used]
    told = [whole(sums[f"sum {number}"]) for number in used]
    rows = [int(sums["rows"][number]) for number in used]
    return [(abs(r - t), n) for r, t, n in zip(right, told, rows, strict=True)]
