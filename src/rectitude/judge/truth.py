"""The truth under a convention: which of its rows count, and as what."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Grouped, Integers, Pieces
from rectitude.convention import Convention
from rectitude.data.ledger import Ledger, Weight
from rectitude.errors import BadGrades, DuplicateTruth, NothingToEvaluate, UnknownIds
from rectitude.judge.align import Aligned, Collision
from rectitude.judge.match import repeat_flags, repeats


class Truth(NamedTuple):
    """Packed rows by list, with item codes and grades by place."""

    rows: Grouped
    items: Integers
    grades: Floats
    there: Flags
    """(lists,) whether the truth says anything of the list"""
    allowed: Flags
    """(lists,) whether the list may be evaluated at all"""


def truth_under(sides: Aligned, convention: Convention, ledger: Ledger) -> Truth:
    """The rows of the truth that count under the convention."""
    codes, grades = sides.items.codes["truth"].whole, _grades(sides)
    there = sides.judgements.length > 0
    ledger.count("truth_rows", len(codes), "rows in the truth")
    if not there.any() and sides.sources.left == "all":
        raise NothingToEvaluate(
            f"the truth ({sides.sources.truth.source}) has no row for any list to evaluate.",
            "at least one row with a user and an item.",
        )
    allowed = _allowed_lists(sides, there, convention, ledger)
    rows = sides.judgements if allowed.all() else sides.judgements.only(allowed)
    rows = _allowed_rows(sides, rows.packed(), grades, convention, ledger)
    rows = _without_duplicates(sides, rows, codes, grades, convention, ledger)
    return Truth(rows, _by_place(rows, codes), _by_place(rows, grades), there & allowed, allowed)


def _by_place(rows: Grouped, values: NDArray[Any]) -> NDArray[Any]:
    return rows.take(Pieces(values)).whole[: int(rows.length.sum())]


def _allowed_rows(
    sides: Aligned, rows: Grouped, grades: Floats, convention: Convention, ledger: Ledger
) -> Grouped:
    """Without the rows that say nothing, and without unknown items if they are dropped."""
    unjudged = convention.negative_grades == "unjudged"
    if not unjudged and sides.known_items is None:
        return rows
    size = int(rows.length.sum())
    if not unjudged and sides.known_items is not None and sides.known_items.all():
        _allowed_items(sides, np.empty(0, np.int64), size, convention, ledger)
        return rows
    lists, where = rows.expand()
    at = rows.rows(where)
    keep = _allowed_items(sides, at, size, convention, ledger)
    if unjudged:
        negative = grades[at] < 0
        about = "truth rows have a negative grade: taken as not judged"
        ledger.count("truth_negative", int(negative.sum()), about, len(at), weight="notice")
        keep = keep & ~negative
    return rows if keep.all() else rows.keep(lists[keep], where[keep])


def _grades(sides: Aligned) -> Floats:
    """The grade of every truth row; 1 where the truth is a plain list of pairs."""
    truth = sides.sources.truth
    if "grade" not in truth.frame.columns:
        return np.ones(truth.frame.height)
    column = truth.frame["grade"]
    grades: Floats = column.cast(float).to_numpy()  # NaN where it is missing
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


def _allowed_lists(sides: Aligned, there: Flags, convention: Convention, ledger: Ledger) -> Flags:
    """Which lists may be evaluated, given what happens to users not met in training."""
    everyone = np.ones(len(there), bool)
    if sides.known_users is None:
        return everyone
    unknown = np.flatnonzero(there & ~sides.known_users)
    first = sides.label(unknown[0]) if len(unknown) else ""
    about, choice = "users in the truth are not in train", convention.unknown_users
    found = (len(unknown), int(there.sum()), first)
    _account_for_unknown("user", about, "evaluated", choice, found, ledger)
    return sides.known_users | ~there if convention.unknown_users == "drop" else everyone


def _allowed_items(
    sides: Aligned, rows: Integers, size: int, convention: Convention, ledger: Ledger
) -> Flags:
    """Which of some truth rows may stay, given what happens to items not met in training."""
    everything = np.ones(len(rows), bool)
    if sides.known_items is None:
        return everything
    known = sides.known_items[rows]
    unknown = rows[~known]
    first = repr(sides.items.label("truth", unknown[0])) if len(unknown) else ""
    # What train lacks can still be recommended; what the catalogue or the scores lack cannot.
    kept = "kept" if sides.catalogue == "train" else "kept as misses"
    about, choice = _outside(sides), convention.unknown_items
    _account_for_unknown("item", about, kept, choice, (len(unknown), size, first), ledger)
    return known if choice == "drop" else everything


def _account_for_unknown(
    what: str, about: str, kept: str, choice: str, found: tuple[int, int, str], ledger: Ledger
) -> None:
    """Count users or items that are not known, `found` of so many, or refuse them."""
    weight: Weight = "warning" if choice == "drop" else "notice"
    fate = "dropped" if choice == "drop" else kept
    count, size, first = found
    ledger.count(f"{what}s_unknown", count, f"{about}: {fate}", size, first, weight)
    if count and choice == "error":
        raise UnknownIds(
            f"{count} of {size} {about} (first: {first}).",
            f"every {what} to be known, as unknown_{what}s='error' says.",
            f"set unknown_{what}s='keep' or 'drop'.",
        )


def _outside(sides: Aligned) -> str:
    dense = sides.sources.dense
    if dense is not None and dense.kind == "logits":
        return "targets are outside the classes"
    return f"truth rows name items not in {sides.catalogue}"


def _without_duplicates(
    sides: Aligned,
    rows: Grouped,
    codes: Integers,
    grades: Floats,
    convention: Convention,
    ledger: Ledger,
) -> Grouped:
    about = "truth rows repeat a list and item"
    if not repeats(rows, Pieces(_by_place(rows, codes))).any():
        ledger.count("truth_duplicates", 0, about)
        return rows
    if not sides.items.exact:
        raise Collision
    lists, where = rows.expand()
    at = rows.rows(where)
    again = repeat_flags(lists, codes[at], -grades[at])
    row = int(np.flatnonzero(again)[0])
    first = f"list {sides.label(lists[row])}, item {sides.items.label('truth', at[row])!r}"
    if convention.duplicate_truth == "error":
        raise DuplicateTruth(
            f"{int(again.sum())} of {len(lists)} {about} (first: {first}).",
            "each item once per list in the truth.",
            "set duplicate_truth='once' to keep the highest grade, or remove them from the truth.",
        )
    fate = {"once": "counted once", "counted": "each counted"}[convention.duplicate_truth]
    ledger.count(
        "truth_duplicates", int(again.sum()), f"{about}: {fate}", len(lists), first, "warning"
    )
    return (
        rows if convention.duplicate_truth == "counted" else rows.keep(lists[~again], where[~again])
    )
