"""Predicted scores of judged items: checks, and sums that add up exactly over batches.

A pair is a list and an item that is judged for it. Sums of floats are stored as counts as well, by
their digits; see `exact`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, running_count, sum_by_group
from rectitude.data.ledger import Ledger
from rectitude.errors import BadArgument, BadScores, NothingToEvaluate, UndefinedValue
from rectitude.exact import UNIT_BITS, digits, quotient, total, total_of_squares, whole
from rectitude.metrics.registry import Counts


def count_unpredicted(
    ledger: Ledger, lists: Integers, judged: Integers, label: Callable[[int], str]
) -> None:
    """Record in the ledger the judged pairs without a prediction; `lists` are the lists of the
    other pairs."""
    missing = np.maximum(judged - np.bincount(lists, minlength=len(judged)), 0)
    example = f"list {label(int(np.flatnonzero(missing)[0]))}" if missing.any() else ""
    message = "judged pairs have no predicted score: metrics that need it leave them out"
    missing_total, pairs = int(missing.sum()), int(judged.sum())
    ledger.count("pairs_without_score", missing_total, message, pairs, example, "warning")


def require_finite(score: Floats, lists: Integers) -> Floats:
    """Return the predicted scores; raise an error if some are infinite or missing."""
    bad = np.flatnonzero(~np.isfinite(score))
    if len(bad):
        raise BadScores(
            f"{len(bad)} of {len(score)} predicted scores of judged pairs are not finite (first: "
            f"{score[bad[0]]}, list {lists[bad[0]]}).",
            "a finite score for every judged pair that has one.",
            "replace these scores with finite numbers, or remove their rows from the predictions.",
        )
    return score


def require_probabilities(score: Floats, lists: Integers) -> Floats:
    """Return the predicted scores; raise an error if they are not probabilities."""
    bad = np.flatnonzero(~((score >= 0) & (score <= 1)))
    if len(bad):
        raise BadScores(
            f"{len(bad)} of {len(score)} predicted scores of judged pairs are outside 0 to 1 "
            f"(first: {score[bad[0]]:g}, list {lists[bad[0]]}).",
            "probabilities of relevance.",
            "convert scores to probabilities first; for log-odds: 1 / (1 + exp(-score)).",
        )
    return score


def compute_losses(probability: Floats, lists: Integers) -> Floats:
    """Return -ln of the probability of each pair; raise an error if one of them is 0."""
    zero = np.flatnonzero(probability == 0)
    if len(zero):
        raise UndefinedValue(
            f"{len(zero)} of {len(probability)} judged pairs have a predicted probability of 0 "
            f"(first: list {lists[zero[0]]}); their loss is infinite.",
            "probabilities above 0 and below 1.",
            "set a minimum, as in log_loss[least=1e-15], or use relevance_brier.",
        )
    return np.asarray(-np.log(probability) + 0.0, np.float64)


def require_chances(missing: Flags) -> None:
    """Raise an error if logits have no probabilities because they are infinite."""
    if missing.any():
        raise UndefinedValue(
            f"the highest logit of {int(missing.sum())} of {len(missing)} lists is infinite "
            f"(first: list {int(np.flatnonzero(missing)[0])}); they have no probabilities.",
            "at least one finite logit in every row, and none that is +infinity.",
            "check the model's output for overflow, and for rows in which every class is masked.",
        )


def sum_moments(grade: Floats, error: Floats) -> Counts:
    """Count the pairs, and sum grades, errors and their squares."""
    sums = {
        "grade": total(grade), "grade^2": total_of_squares(grade),
        "error": total(error), "error^2": total_of_squares(error),
    }  # fmt: skip
    return {"pairs": np.array([len(grade)]), **{name: digits(n) for name, n in sums.items()}}


def share_explained(sums: Counts, bias: Literal["counted", "left out"]) -> float:
    """Return 1 - squared errors / squared distances of the grades from their mean.

    The errors include the mean error (their bias), or are measured around it.
    """
    pairs, spread = int(sums["pairs"].sum()), _scaled_variance(sums, "grade")
    if spread <= 0:
        what = f"all {pairs} judged pairs with a predicted score have the same grade"
        raise UndefinedValue(
            f"{what if pairs else 'no judged pair has a predicted score'}: there is no variance to "
            "explain.",
            "at least two different grades.",
            "use mae or rmse, which do not need any variance.",
        )
    errors = pairs * whole(sums["error^2"]) << UNIT_BITS
    return quotient(
        spread - (errors if bias == "counted" else _scaled_variance(sums, "error")), spread
    )


def _scaled_variance(sums: Counts, what: str) -> int:
    """Return the number of pairs times the sum of squares around the mean.

    Exact, in units of 2**-2148.
    """
    squares, plain = whole(sums[f"{what}^2"]), whole(sums[what])
    return (int(sums["pairs"].sum()) * squares << UNIT_BITS) - plain**2


def count_concordant(lists: Integers, size: int, grade: Floats, score: Floats) -> Floats:
    """Count, for each list, the pairs of rows in which the higher grade has the higher score.

    Rows are numbered by grade, and by falling score within a grade, so these are the pairs in which
    the later row scores higher. They are counted as in a merge sort: between the two halves of
    every block of 2, 4, 8, ... rows.
    """
    order = np.lexsort((-score, grade, lists))
    number = np.empty(len(order), np.int64)
    number[order] = running_count(np.ones(len(order), bool), lists[order]) - 1
    by_score = np.lexsort((-number, score))  # of two equal scores, the later row comes first
    lists, number = lists[by_score], number[by_score]
    concordant, half = np.zeros(size), 1
    while half <= number.max(initial=0):
        block = lists * (len(order) + 1) + number // (2 * half)
        adjacent = np.argsort(block, kind="stable")
        is_first = number[adjacent] // half % 2 == 0
        lower = np.where(is_first, 0, running_count(is_first, block[adjacent]))
        concordant += sum_by_group(lists[adjacent], size, lower.astype(np.float64))
        half *= 2
    return concordant


def count_comparable(lists: Integers, size: int, grade: Floats) -> Floats:
    """Count, for each list, the pairs of rows with different grades."""
    rows = sum_by_group(lists, size)
    order = np.lexsort((grade, lists))
    is_new = np.ones(len(order), bool)
    is_new[1:] = (np.diff(lists[order]) != 0) | (np.diff(grade[order]) != 0)
    starts = np.flatnonzero(is_new)
    equal = np.diff(np.append(starts, len(order)))
    same = sum_by_group(lists[order][starts], size, equal * (equal - 1) / 2)
    return rows * (rows - 1) / 2 - same


class ByScore(dict[str, Integers]):
    """Counts of pairs by score, instead of by item."""

    def __init__(self, scores: pl.Series, counts: Counts) -> None:
        super().__init__(counts)
        self.scores = scores
        """whole numbers in the same order as the scores, one for each distinct score"""


def count_by_score(score: Floats, relevant: Flags) -> ByScore:
    """Count the relevant and the non-relevant pairs of each score."""
    bits = (score + 0.0).view(np.int64)  # ascend with the score; descend for negative scores
    number = np.where(bits < 0, -(bits & np.int64(2**63 - 1)), bits)
    distinct, index = np.unique(number, return_inverse=True)
    counts = {
        name: np.bincount(index[flags], minlength=len(distinct))
        for name, flags in (("relevant", relevant), ("others", ~relevant))
    }
    return ByScore(pl.Series("id", distinct, pl.Int64), counts)


def compute_area(sums: Counts) -> float:
    """Return the share of relevant/non-relevant pairs in which the relevant one scores higher; ties
    count half."""
    relevant, others = sums["relevant"], sums["others"]
    both = int(relevant.sum()), int(others.sum())
    if not all(both):
        raise UndefinedValue(
            f"{both[0]} judged pairs with a predicted score are relevant and {both[1]} are not.",
            "at least one of each kind.",
            "add rows with grade 0 to the truth for items that are not relevant, or use auc, which "
            "compares relevant items with all other candidates.",
        )
    others_below = np.cumsum(others) - others
    return int((relevant * (2 * others_below + others)).sum()) / (2 * both[0] * both[1])


def bin_probabilities(probability: Floats, is_correct: Floats, bins: float) -> Counts:
    """Count rows and correct rows, and sum the probabilities, in equal bins of 0 to 1."""
    if bins < 1 or bins != int(bins):
        raise BadArgument(f"bins is {bins:g}.", "a whole number of at least 1.")
    number = np.clip(np.ceil(probability * bins).astype(np.int64) - 1, 0, int(bins) - 1)
    rows = np.bincount(number, minlength=int(bins))
    sums = {
        f"sum {bin_number}": digits(total(probability[number == bin_number]))
        for bin_number in np.flatnonzero(rows).tolist()
    }
    hits = np.bincount(number[is_correct > 0], minlength=int(bins))
    return {"rows": rows, "right": hits, **sums}


def mean_gap(sums: Counts) -> float:
    """Return the gap between correct rows and their probabilities, averaged over all rows."""
    return quotient(sum(gap for gap, _ in _gaps_by_bin(sums)), int(sums["rows"].sum()) << UNIT_BITS)


def largest_gap(sums: Counts) -> float:
    """Return the gap between correct rows and their probabilities in the worst bin."""
    return max(quotient(gap, rows << UNIT_BITS) for gap, rows in _gaps_by_bin(sums))


def list_bins(sums: Counts) -> pl.DataFrame:
    """Return one row per bin: its ends, its rows and the correct ones among them, the mean
    probability, and the share of correct rows. Both means are null in an empty bin."""
    rows, right = sums["rows"], sums["right"]
    size, used = len(rows), np.flatnonzero(rows).tolist()
    means = {
        number: quotient(whole(sums[f"sum {number}"]), int(rows[number]) << UNIT_BITS)
        for number in used
    }
    shares = {number: int(right[number]) / int(rows[number]) for number in used}
    ends = [number / size for number in range(size + 1)]
    table = {"above": ends[:-1], "up_to": ends[1:], "rows": rows, "correct": right}
    filled = {"probability": means, "share_correct": shares}
    columns = {name: [by_bin.get(n) for n in range(size)] for name, by_bin in filled.items()}
    return pl.DataFrame(table | columns, schema_overrides=dict.fromkeys(filled, pl.Float64))


def _gaps_by_bin(sums: Counts) -> list[tuple[int, int]]:
    """Return |correct rows - sum of probabilities|, exactly, and the number of rows, of every used
    bin."""
    used = np.flatnonzero(sums["rows"]).tolist()
    if not used:
        raise NothingToEvaluate(
            "no judged row has a predicted probability.",
            "at least one row with a predicted probability.",
            "check that the predictions cover the users and items of the truth.",
        )
    right = [int(sums["right"][number]) << UNIT_BITS for number in used]
    probability_sums = [whole(sums[f"sum {number}"]) for number in used]
    rows = [int(sums["rows"][number]) for number in used]
    return [(abs(r - t), n) for r, t, n in zip(right, probability_sums, rows, strict=True)]
