"""Predictions and truth in the wrong order.

scikit-learn, ranx, pytrec_eval and ir_measures take the truth first, rectitude the predictions, as
RecTools and LensKit do. Swapped inputs can be read, and give a wrong number. Some types tell, such
as ranx's `Qrels`. The names of columns tell: ranked lists have scores or ranks, interactions have
ratings and times. The numbers tell: scores have fractions, and top-k lists have the same length.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.data.columns import LOG_NAMES, NORMAL, RANKED_NAMES, normal, quote_names
from rectitude.data.frames import is_held
from rectitude.data.ledger import Ledger
from rectitude.data.matrices import matrix
from rectitude.data.table import Interactions, Table
from rectitude.errors import BadArgument
from rectitude.predictions.lists import Lists
from rectitude.predictions.scores import Scores
from rectitude.predictions.unlabelled import holds_floats, is_array

_EXPECTED = "the predictions first, then the truth."
_RANKS = NORMAL["rank"][0] - {"position"}  # sessions have positions, too
_TYPES: Mapping[str, tuple[str, Literal["predictions", "truth"]]] = {
    "Run": ("run", "predictions"),
    "Qrels": ("qrels", "truth"),
    "ScoredDoc": ("score", "predictions"),
    "Qrel": ("relevance", "truth"),
}
"""Types of ranx and ir_measures: an attribute that they have, and the side that they are."""
_SAMPLE = 10_000
"""How many grades and scores are looked at."""
_FEW_VALUES = 10
"""The most different grades that a scale has."""
_FEW_CELLS = 20
_MOST = 0.9


def refuse_side(predictions: object, truth: object) -> None:
    """Raise an error for a wrapper of the other side: lists as truth, interactions as
    predictions."""
    if isinstance(predictions, Interactions):
        side, kind, right = "predictions are", "rt.Interactions", "rt.Lists"
    else:
        side, kind, right = "truth is", f"rt.{type(truth).__name__}", "rt.Interactions"
    raise BadArgument(
        f"the {side} given as {kind}.",
        _EXPECTED,
        f"swap the two, or use {right} for a table whose columns you name.",
    )


def refuse_swapped(predictions: object, truth: object) -> None:
    """Raise an error if the types of two objects, or the numbers of two arrays, leave no doubt
    that they are swapped."""
    ranked, judged = side_of(predictions), side_of(truth)
    if ranked == "truth" != judged:
        raise _of_other_side("predictions are", predictions)
    if judged == "predictions" != ranked:
        raise _of_other_side("truth is", truth)
    scores = predictions.source if isinstance(predictions, Scores) else predictions
    if is_array(truth) and holds_floats(truth) and (is_array(scores) or is_held(scores)):
        _refuse_swapped_arrays(scores, truth)


def side_of(given: object) -> Literal["predictions", "truth"] | None:
    """Return which side an object of ranx, or a list of ir_measures, is; None for anything else."""
    rows = given[:1] if isinstance(given, list) else [given]
    for row in rows:
        attribute, side = _TYPES.get(type(row).__name__, ("", None))
        if side and hasattr(row, attribute) and isinstance(row, tuple) == isinstance(given, list):
            return side
    return None


def _of_other_side(side: str, given: object) -> BadArgument:
    row = given[0] if isinstance(given, list) else given
    words = f"a {'list of ' if row is not given else ''}{type(row).__name__}"
    return BadArgument(f"the {side} given as {words}.", _EXPECTED, "swap the two.")


def _refuse_swapped_arrays(scores: Any, truth: Any) -> None:
    """Raise an error if a dense truth has fractions in nearly every cell, and the predictions are a
    few whole numbers. Some rows are enough to know."""
    if len(scores.shape) != 2 or tuple(scores.shape) != tuple(truth.shape):
        return
    step = max(1, scores.shape[0] * scores.shape[1] // _SAMPLE)
    grades = matrix(truth[::step], "truth")
    if grades.size < _FEW_CELLS or _share_of_scores(grades) < _MOST:
        return
    rows = scores[::step]
    numbers = matrix(rows, "predictions") if is_array(rows) else np.asarray(rows)
    values = np.unique(numbers) if numbers.dtype.kind in "biuf" else numbers[:0]
    if not 0 < len(values) <= _FEW_VALUES or (values != np.round(values)).any():
        return
    shape = " x ".join(map(str, scores.shape))
    shown = ", ".join(f"{value:g}" for value in values)
    raise BadArgument(
        f"the predictions ({shape}) contain only the values {shown}, as a truth does, and the"
        " truth has fractions in nearly every cell, as scores do.",
        _EXPECTED,
        "swap the two. If each is where it belongs, pass the truth as a sparse matrix:"
        " scipy.sparse.csr_array(truth).",
    )


def _share_of_scores(grades: NDArray[Any]) -> float:
    """Return the share of cells that only scores have: fractions, and -inf for masked items."""
    return float(((grades != np.round(grades)) | np.isneginf(grades)).mean())


def look_for_swap(
    given: Mapping[str, object], columns: Mapping[str, str] | None, tables: Mapping[str, Table]
) -> Ledger:
    """Return a ledger with a warning if the tables look swapped.

    Raise an error if both of them do. Say nothing if the caller said which table is which: with
    a wrapper, or by naming the column of the scores, ranks or grades.
    """
    ledger = Ledger()
    if _is_said(given, columns or {}):
        return ledger
    lists, truth = tables["predictions"], tables["truth"]
    if _names_in(lists, RANKED_NAMES):
        return ledger
    of_lists, of_truth = _names_in(truth, RANKED_NAMES), _names_in(lists, LOG_NAMES)
    telling = _names_in(lists, LOG_NAMES - NORMAL["score"][1])
    if all(normal(name) in NORMAL["timestamp"][0] for name in of_truth):
        telling = []  # lists may record when they were shown
    is_ranked = _has_fractions(truth, "grade") or _names_in(truth, _RANKS)
    is_graded = not _has_fractions(lists, "score")
    if of_lists and of_truth and (telling or (is_ranked and is_graded)):
        raise _swapped(lists, truth, of_truth, of_lists)
    if telling:
        reason = f"the predictions have the column {telling[0]!r}, but no score or rank"
    elif of_lists and (is_ranked or (of_truth and is_graded)):
        reason = (
            f"the truth has the column {of_lists[0]!r}, but the predictions have no such column"
        )
    elif is_ranked and is_graded and _has_no_names(lists, truth):
        reason = "the grades of the truth are fractions, but the scores of the predictions are not"
    elif _has_no_names(lists, truth) and _is_scored(truth, "grade") and _is_scale(lists, "score"):
        reason = "the grades of each user differ, as scores do, but the scores are a few numbers"
    else:
        return ledger
    about = f"sign that predictions and truth are swapped (predictions come first): {reason}"
    ledger.count("maybe_swapped", 1, about, weight="warning")
    return ledger


def _is_said(given: Mapping[str, object], columns: Mapping[str, str]) -> bool:
    """Whether the caller said which table is which."""
    sides = (given["predictions"], given["truth"])
    wrappers = [side for side in sides if isinstance(side, (Lists, Interactions))]
    named = any(side.columns or side.format is None for side in wrappers)
    return named or bool({"score", "rank", "grade"} & {*columns})


def are_ranked(lists: Table) -> bool:
    """Whether predictions have what only ranked lists have: a score or rank by name, or scores with
    fractions."""
    return bool(_names_in(lists, RANKED_NAMES)) or _has_fractions(lists, "score")


def _names_in(table: Table, known: Collection[str]) -> list[str]:
    return [name for name in (*table.columns.values(), *table.left) if normal(name) in known]


def _has_no_names(*tables: Table) -> bool:
    return not any(name for table in tables for name in table.columns.values())


def _has_fractions(table: Table, role: str) -> bool:
    """Whether most numbers of a column are not multiples of a half, as grades usually are."""
    if role not in table.frame.columns:
        return False
    numbers = table.frame[role].head(_SAMPLE).cast(pl.Float64)
    odd = (numbers * 2 != (numbers * 2).round()).sum()
    return 2 * int(odd) > len(numbers)


def _is_scored(table: Table, role: str) -> bool:
    """Whether no list has a number twice, and there are more of them than a scale has."""
    if role not in table.frame.columns or "list" not in table.frame.columns:
        return False
    sample = table.frame.head(_SAMPLE)
    if sample[role].n_unique() <= _FEW_VALUES:
        return False
    return sample.select("list", role).is_unique().all()


def _is_scale(table: Table, role: str) -> bool:
    """Whether the numbers of a column are a few whole numbers, as grades usually are."""
    if role not in table.frame.columns:
        return False
    numbers = table.frame[role].head(_SAMPLE).cast(pl.Float64)
    return numbers.n_unique() <= _FEW_VALUES and bool((numbers == numbers.round()).all())


def _swapped(lists: Table, truth: Table, of_truth: list[str], of_lists: list[str]) -> BadArgument:
    naming = {"score": lists.columns.get("score"), "grade": truth.columns.get("grade")}
    words = next((f"{role}={name}" for role, name in naming.items() if name), "")
    role, _, name = words.partition("=")
    command = f", columns={{{role!r}: {name!r}}} or --columns {words}" if words else ""
    return BadArgument(
        f"the predictions ({lists.source}) have {_count(of_truth)} of interactions"
        f" ({quote_names(of_truth)}), and the truth ({truth.source}) has {_count(of_lists)} of"
        f" ranked lists ({quote_names(of_lists)}).",
        _EXPECTED,
        "swap the two. If each is where it belongs, say so:"
        f" rt.Lists(predictions), rt.Interactions(truth){command}.",
    )


def _count(names: list[str]) -> str:
    return "the columns" if len(names) > 1 else "the column"
