"""Checks of scores, targets and weights: invalid numbers, ties, and uneven weights."""

from __future__ import annotations

import polars as pl

from rectitude.auditing.parts import Parts, present
from rectitude.auditing.ranked import clean_lists, sound_weights, unrankable
from rectitude.auditing.registry import check
from rectitude.auditing.result import CheckResult, Severity
from rectitude.metrics.names import parse_all

WIDE = 0.05
"""Ties are serious if the worst and best value differ by more than this share."""
FEW = 0.25
"""If less than this share of the lists has half of the weight, that is a notice."""


@check(
    "lists", "scores",
    advice="fix the model's output: an evaluation refuses such scores. 'Without' leaves these rows "
    "out.",
)  # fmt: skip
def bad_scores(parts: Parts) -> CheckResult:
    """Scores that are missing, NaN or infinite."""
    about = "scores are missing, NaN or infinite"
    compare = None if parts.base is None else (None, parts.base)
    if parts.scored is not None:
        scores = parts.scored
        compare = compare if scores.refused else None
        example = parts.first(scores.bad)
        return CheckResult(scores.bad_cells, scores.cells, about, "serious", example, compare)
    lists = present(parts.lists)
    rows = lists.filter(unrankable("score"))
    ranked_by_them = parts.order == "score"
    severity: Severity = "serious" if ranked_by_them else "notice"
    compare = compare if ranked_by_them else None
    return CheckResult(rows.height, lists.height, about, severity, parts.first(rows), compare)


@check(
    "lists", "scores",
    advice="look at what the model predicts for these users: with equal scores, only tie-breaking "
    "orders the list.",
)  # fmt: skip
def constant_scores(parts: Parts) -> CheckResult:
    """Lists of two or more items whose scores are all equal."""
    if parts.scored is not None:
        equal, of = parts.scored.constant.to_frame(), parts.scored.rows
    else:
        lists = clean_lists(present(parts.lists), "score").group_by("list", maintain_order=True)
        score = pl.col("score")
        spread = lists.agg(pl.len(), (score.min() == score.max()).alias("same"))
        equal, of = spread.filter(pl.col("same") & (pl.col("len") > 1)), spread.height
    return CheckResult(
        equal.height, of, "lists have one score for all items", "serious", parts.first(equal),
        parts.without(equal, "list"),
    )  # fmt: skip


@check(
    "lists", "scores",
    advice="save scores in full precision, or break ties in the model and pass ranks; until then, "
    "report the worst and the best value.",
)  # fmt: skip
def ties(parts: Parts) -> CheckResult:
    """Lists with ties that leave the order of their top items undecided."""
    lists = present(parts.lists)
    if parts.order != "score":
        return CheckResult(0, lists["list"].n_unique(), "lists are ranked by equal scores")
    inside = clean_lists(lists, "score").filter(pl.col("place") <= parts.depth + 1)
    next_score = pl.col("score").shift(-1).over("list")
    tied = inside.filter((pl.col("score") == next_score) & (pl.col("place") <= parts.depth))
    tied_lists = tied.select("list").unique(maintain_order=True)
    across = tied.filter(pl.col("place").is_in(_cutoffs(parts))).select("list")
    about = (
        f"lists have equal scores up to rank {parts.depth}, {across.n_unique():,} of them on "
        "both sides of a cutoff"
    )
    of = lists["list"].n_unique()
    severity = _severity(parts)
    return CheckResult(
        tied_lists.height, of, about, severity, parts.first(across if len(across) else tied_lists),
        bounds=parts.bounds,
    )  # fmt: skip


@check(
    "targets",
    advice="remove these rows, or correct their class: an evaluation refuses such targets.",
)  # fmt: skip
def bad_targets(parts: Parts) -> CheckResult:
    """Targets of logits that are not class numbers: negative, NaN, or fractional."""
    wrong = {} if parts.scored is None else parts.scored.wrong_targets or {}
    rows = 0 if parts.scored is None else parts.scored.rows
    example = next((f"row {row}, {target}" for row, target in wrong.items()), "")
    compare = None if parts.base is None else (None, parts.base)
    return CheckResult(
        len(wrong), rows, "targets are not class numbers", "serious", example, compare
    )


@check(
    "truth", "weights",
    advice="give every list of the truth exactly one finite weight of at least 0: an evaluation "
    "refuses others.",
)  # fmt: skip
def bad_weights(parts: Parts) -> CheckResult:
    """Lists of the truth with no weight, several weights, or an invalid weight."""
    lists = parts.lists_wanted()
    sound = sound_weights(present(parts.weights))
    wrong = lists.join(sound, on="list", how="anti", maintain_order="left")
    compare = None if parts.base is None else (None, parts.base)
    about = "lists have no weight, several weights, or one that is negative or not finite"
    return CheckResult(wrong.height, lists.height, about, "serious", parts.first(wrong), compare)


@check(
    "truth", "weights",
    advice="report the value with equal weights too: a few lists decide the result.",
)  # fmt: skip
def uneven_weights(parts: Parts) -> CheckResult:
    """The fewest lists that together have half of the weight; compared with equal weights."""
    lists = parts.lists_wanted()
    weights = lists.join(sound_weights(present(parts.weights)), on="list")
    heavy = weights.sort("weight", "list", descending=[True, False])
    upto = heavy["weight"].cum_sum()
    half = heavy.filter(upto - heavy["weight"] < 0.5 * float(upto.max() or 0))  # type: ignore[arg-type]
    severity: Severity = "notice" if half.height < FEW * max(1, heavy.height) else "fine"
    compare = parts.against(weights="equal")
    about = "lists have half of the total weight"
    return CheckResult(half.height, heavy.height, about, severity, parts.first(half), compare)


def _cutoffs(parts: Parts) -> list[int]:
    """Return the cutoffs of all metrics."""
    cutoffs = (parts.asked.resolve(name).cutoff for name in parse_all(parts.metrics))
    return [cutoff for cutoff in cutoffs if cutoff is not None] or [parts.depth]


def _severity(parts: Parts) -> Severity:
    """Return the severity by how much the worst and the best value differ."""
    wide = any(high - low > WIDE * high for low, high in map(sorted, parts.bounds.values()))
    return "serious" if wide else "notice"
