"""Checks of scores, targets and weights: numbers that rank nothing, leave the order open, or weigh
too much."""

from __future__ import annotations

import polars as pl

from rectitude.auditing.parts import Parts, present
from rectitude.auditing.ranked import cleaned, sound_weights, unrankable
from rectitude.auditing.registry import check
from rectitude.auditing.result import Found, Severity
from rectitude.metrics.names import parse_all

WIDE = 0.05
"""from this share of the value on, the room that ties leave is wide"""
FEW = 0.25
"""below this share of the lists, those that hold half of the weight are few"""


@check(
    "lists", "scores",
    advice="repair the model's output; an evaluation refuses such scores, and without them "
    "means without these rows.",
)  # fmt: skip
def bad_scores(parts: Parts) -> Found:
    """Scores that are missing, NaN or infinite."""
    about = "scores are missing, NaN or infinite"
    compare = None if parts.base is None else (None, parts.base)
    if parts.scored is not None:
        found, size = parts.scored, parts.scored.cells
        compare = compare if found.refused else None
        return Found(found.bad_cells, size, about, "serious", parts.first(found.bad), compare)
    lists = present(parts.lists)
    rows = lists.filter(unrankable("score"))
    ranked_by_them = parts.order == "score"
    severity: Severity = "serious" if ranked_by_them else "notice"
    compare = compare if ranked_by_them else None
    return Found(rows.height, lists.height, about, severity, parts.first(rows), compare)


@check(
    "lists", "scores",
    advice="look at what the model gives these users: equal scores rank nothing, and the order of "
    "such a list is whatever breaks ties.",
)  # fmt: skip
def constant_scores(parts: Parts) -> Found:
    """Lists of two or more items whose scores are all equal."""
    if parts.scored is not None:
        equal, of = parts.scored.constant.to_frame(), parts.scored.rows
    else:
        lists = cleaned(present(parts.lists), "score").group_by("list", maintain_order=True)
        score = pl.col("score")
        spread = lists.agg(pl.len(), (score.min() == score.max()).alias("same"))
        equal, of = spread.filter(pl.col("same") & (pl.col("len") > 1)), spread.height
    return Found(
        equal.height, of, "lists have one score for all items", "serious", parts.first(equal),
        parts.without(equal, "list"),
    )  # fmt: skip


@check(
    "lists", "scores",
    advice="give scores in full precision, or break ties when lists are made and hand over ranks; "
    "until then report the worst and the best value.",
)  # fmt: skip
def ties(parts: Parts) -> Found:
    """Lists in which equal scores leave open which items stand above the deepest cutoff."""
    lists = present(parts.lists)
    if parts.order != "score":
        return Found(0, lists["list"].n_unique(), "lists are ranked by scores that are equal")
    inside = cleaned(lists, "score").filter(pl.col("place") <= parts.depth + 1)
    next_score = pl.col("score").shift(-1).over("list")
    tied = inside.filter((pl.col("score") == next_score) & (pl.col("place") <= parts.depth))
    found = tied.select("list").unique(maintain_order=True)
    across = tied.filter(pl.col("place").is_in(_cutoffs(parts))).select("list")
    about = (
        f"lists have equal scores up to rank {parts.depth}, {across.n_unique():,} of them on "
        f"both sides of a cutoff"
    )
    of = lists["list"].n_unique()
    severity = _severity(parts)
    return Found(
        found.height, of, about, severity, parts.first(across if len(across) else found),
        bounds=parts.bounds,
    )  # fmt: skip


@check(
    "targets",
    advice="leave these rows out, or give them their class: an evaluation refuses such targets.",
)  # fmt: skip
def bad_targets(parts: Parts) -> Found:
    """Targets of logits that are no class numbers: negative, NaN, or with something behind the
    point."""
    wrong = {} if parts.scored is None else parts.scored.wrong_targets or {}
    rows = 0 if parts.scored is None else parts.scored.rows
    example = next((f"row {row}, {target}" for row, target in wrong.items()), "")
    compare = None if parts.base is None else (None, parts.base)
    return Found(len(wrong), rows, "targets are no class numbers", "serious", example, compare)


@check(
    "truth", "weights",
    advice="give every list of the truth one weight of at least 0: an evaluation refuses others.",
)  # fmt: skip
def bad_weights(parts: Parts) -> Found:
    """Lists of the truth without a weight, with several, or with one that is no weight."""
    lists = parts.wanted()
    sound = sound_weights(present(parts.weights))
    wrong = lists.join(sound, on="list", how="anti", maintain_order="left")
    compare = None if parts.base is None else (None, parts.base)
    about = "lists have no weight, several, or one below zero or not finite"
    return Found(wrong.height, lists.height, about, "serious", parts.first(wrong), compare)


@check(
    "truth", "weights",
    advice="report the value with equal weights beside it: few lists decide.",
)  # fmt: skip
def uneven_weights(parts: Parts) -> Found:
    """The fewest lists that hold half of all weight; measured with equal weights instead."""
    lists = parts.wanted()
    weights = lists.join(sound_weights(present(parts.weights)), on="list")
    heavy = weights.sort("weight", "list", descending=[True, False])
    upto = heavy["weight"].cum_sum()
    half = heavy.filter(upto - heavy["weight"] < 0.5 * float(upto.max() or 0))  # type: ignore[arg-type]
    severity: Severity = "notice" if half.height < FEW * max(1, heavy.height) else "fine"
    compare = parts.against(weights="equal")
    about = "lists hold half of all weight"
    return Found(half.height, heavy.height, about, severity, parts.first(half), compare)


def _cutoffs(parts: Parts) -> list[int]:
    """The cutoffs of all metrics."""
    cutoffs = (parts.asked.resolve(name).cutoff for name in parse_all(parts.metrics))
    return [cutoff for cutoff in cutoffs if cutoff is not None] or [parts.depth]


def _severity(parts: Parts) -> Severity:
    """By how much the worst and the best value differ."""
    wide = any(high - low > WIDE * high for low, high in map(sorted, parts.bounds.values()))
    return "serious" if wide else "notice"
