"""The truth under a convention: which rows count, and with which grades."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Grouped, Integers, Pieces
from rectitude.convention import Convention
from rectitude.data.ledger import Ledger, Weight
from rectitude.data.subtopics import COLUMN
from rectitude.errors import BadGrades, DuplicateTruth, NothingToEvaluate, UnknownIds
from rectitude.judge.align import Aligned, Collision
from rectitude.judge.match import repeat_flags, repeats

LOW_GRADES = "truth rows have a grade of 0 or below"
"""What the ledger says about such rows; how they count depends on the metric."""


class Truth(NamedTuple):
    """The rows of the truth by list, packed, with their item codes and grades."""

    rows: Grouped
    items: Integers
    grades: Floats
    in_truth: Flags
    """(lists,) whether the truth has rows for the list"""
    allowed: Flags
    """(lists,) whether the list may be evaluated"""


def truth_under(sides: Aligned, convention: Convention, ledger: Ledger) -> Truth:
    """Return the rows of the truth that count under the convention."""
    codes, grades = sides.items.codes["truth"].whole, _read_grades(sides)
    in_truth = sides.judgements.length > 0
    ledger.count("truth_rows", len(codes), "rows in the truth")
    _account_for_subtopics(sides, ledger)
    if not in_truth.any() and not sides.sources.may_lack_truth(convention):
        raise NothingToEvaluate(
            f"the truth ({sides.sources.truth.source}) has no rows for the lists to evaluate.",
            "at least one row with a user and an item.",
        )
    allowed = _flag_allowed_lists(sides, in_truth, convention, ledger)
    rows = sides.judgements if allowed.all() else sides.judgements.only(allowed)
    rows = _keep_allowed_rows(sides, rows.pack(), grades, convention, ledger)
    rows = _remove_duplicates(sides, rows, codes, grades, convention, ledger)
    _count_low_grades(sides, rows, grades, ledger)
    return Truth(
        rows,
        _take_by_position(rows, codes),
        _take_by_position(rows, grades),
        in_truth & allowed,
        allowed,
    )


def _account_for_subtopics(sides: Aligned, ledger: Ledger) -> None:
    """Count the judgements by subtopic, if there are any."""
    frame = sides.sources.truth.frame
    if COLUMN in frame.columns:
        about = "judgements by subtopic; metrics without subtopics use an item's highest grade"
        ledger.count("truth_subtopics", int(frame[COLUMN].list.len().sum()), about)


def _take_by_position(rows: Grouped, values: NDArray[Any]) -> NDArray[Any]:
    return rows.take(Pieces(values)).whole[: int(rows.length.sum())]


def _keep_allowed_rows(
    sides: Aligned, rows: Grouped, grades: Floats, convention: Convention, ledger: Ledger
) -> Grouped:
    """Drop unjudged rows, and rows with unknown items if the convention says so."""
    unjudged = convention.negative_grades == "unjudged"
    if not unjudged and sides.known_items is None:
        return rows
    size = int(rows.length.sum())
    if not unjudged and sides.known_items is not None and sides.known_items.all():
        _flag_allowed_items(sides, np.empty(0, np.int64), size, convention, ledger)
        return rows
    lists, positions = rows.expand()
    truth_rows = rows.rows(positions)
    keep = _flag_allowed_items(sides, truth_rows, size, convention, ledger)
    if unjudged:
        negative = grades[truth_rows] < 0
        about = "truth rows have a negative grade: treated as not judged"
        ledger.count("truth_negative", int(negative.sum()), about, len(truth_rows), weight="notice")
        keep = keep & ~negative
    return rows if keep.all() else rows.keep(lists[keep], positions[keep])


def _count_low_grades(sides: Aligned, rows: Grouped, grades: Floats, ledger: Ledger) -> None:
    """Count the rows that are relevant only if any grade is."""
    if "grade" not in sides.sources.truth.frame.columns:
        return
    count, first = 0, ""
    if (grades <= 0).any():
        lists, positions = rows.expand()
        truth_rows = rows.rows(positions)
        is_low = grades[truth_rows] <= 0
        count = int(is_low.sum())
        first = sides.first_pair("truth", lists[is_low], truth_rows[is_low]) if count else ""
    ledger.count("truth_low_grades", count, LOW_GRADES, int(rows.length.sum()), first)


def _read_grades(sides: Aligned) -> Floats:
    """Return the grade of every truth row; 1 if the truth has no grades."""
    truth = sides.sources.truth
    if "grade" not in truth.frame.columns:
        return np.ones(truth.frame.height)
    column = truth.frame["grade"]
    grades: Floats = column.cast(float).to_numpy()  # a missing grade becomes NaN
    wrong = ~np.isfinite(grades)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadGrades(
            f"{int(wrong.sum())} of {len(grades)} rows of {truth.source} have a grade that is "
            f"missing, NaN or infinite (first: row {row + 1}, item "
            f"{sides.items.label('truth', row)!r}).",
            "a finite grade in every row.",
            "drop these rows, or give them the grade 0 if they were judged not relevant.",
        )
    return grades


def _flag_allowed_lists(
    sides: Aligned, in_truth: Flags, convention: Convention, ledger: Ledger
) -> Flags:
    """Flag the lists that may be evaluated, according to the switch unknown_users."""
    all_lists = np.ones(len(in_truth), bool)
    if sides.known_users is None:
        return all_lists
    unknown = np.flatnonzero(in_truth & ~sides.known_users)
    first = sides.first_label(unknown)
    about, choice = "users in the truth are not in the training data", convention.unknown_users
    counts = (len(unknown), int(in_truth.sum()), first)
    _account_for_unknown("user", about, "evaluated", choice, counts, ledger)
    return sides.known_users | ~in_truth if convention.unknown_users == "drop" else all_lists


def _flag_allowed_items(
    sides: Aligned, rows: Integers, size: int, convention: Convention, ledger: Ledger
) -> Flags:
    """Flag the truth rows that may stay, according to the switch unknown_items."""
    all_rows = np.ones(len(rows), bool)
    if sides.known_items is None:
        return all_rows
    is_known = sides.known_items[rows]
    unknown = rows[~is_known]
    first = sides.first_item("truth", unknown) if len(unknown) else ""
    # Items missing from the training data can still be recommended; items missing from the
    # catalogue or the scores cannot.
    kept = "kept" if sides.catalogue == "the training data" else "kept as misses"
    about, choice = _describe_unknown(sides), convention.unknown_items
    _account_for_unknown("item", about, kept, choice, (len(unknown), size, first), ledger)
    return is_known if choice == "drop" else all_rows


def _account_for_unknown(
    what: str, about: str, kept: str, choice: str, counts: tuple[int, int, str], ledger: Ledger
) -> None:
    """Count unknown users or items in the ledger, or raise an error, as the convention says.

    `counts` holds the number of unknown ones, the total, and the first unknown one.
    """
    weight: Weight = "warning" if choice == "drop" else "notice"
    fate = "dropped" if choice == "drop" else kept
    count, size, first = counts
    ledger.count(f"{what}s_unknown", count, f"{about}: {fate}", size, first, weight)
    if count and choice == "error":
        raise UnknownIds(
            f"{count} of {size} {about} (first: {first}).",
            f"every {what} to be known, because unknown_{what}s='error'.",
            f"set unknown_{what}s='keep' or 'drop'.",
        )


def _describe_unknown(sides: Aligned) -> str:
    dense = sides.sources.dense
    if dense is not None and dense.kind == "logits":
        return "targets are not among the classes"
    return f"truth rows have items that are not in {sides.catalogue}"


def _remove_duplicates(
    sides: Aligned,
    rows: Grouped,
    codes: Integers,
    grades: Floats,
    convention: Convention,
    ledger: Ledger,
) -> Grouped:
    about = "truth rows repeat a pair of list and item"
    if sides.distinct_truth or not repeats(rows, Pieces(_take_by_position(rows, codes))).any():
        ledger.count("truth_duplicates", 0, about, int(rows.length.sum()))
        return rows
    if not sides.items.exact:
        raise Collision
    lists, positions = rows.expand()
    truth_rows = rows.rows(positions)
    repeated = repeat_flags(lists, codes[truth_rows], -grades[truth_rows])
    first = sides.first_pair("truth", lists[repeated], truth_rows[repeated])
    if convention.duplicate_truth == "error":
        raise DuplicateTruth(
            f"{int(repeated.sum())} of {len(lists)} {about} (first: {first}).",
            "each item once per list in the truth.",
            "set duplicate_truth='once' to keep the highest grade, or remove them from the truth.",
        )
    fates = {"once": "counted once", "counted": "each counted"}
    fate = fates.get(convention.duplicate_truth, "each counted as relevant, with one hit at most")
    ledger.count(
        "truth_duplicates", int(repeated.sum()), f"{about}: {fate}", len(lists), first, "warning"
    )
    return (
        rows.keep(lists[~repeated], positions[~repeated])
        if convention.duplicate_truth == "once"
        else rows
    )
