"""Checks of the scores: those that rank nothing, and those that leave the order open."""

from __future__ import annotations

from rectitude.auditing.finding import Found, Severity
from rectitude.auditing.ordered import cleaned, unrankable
from rectitude.auditing.parts import Parts, present
from rectitude.auditing.registry import check

WIDE = 0.05
"""from this share of the value on, the room that ties leave is wide"""


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
    import polars as pl

    if parts.scored is not None:
        equal, of = pl.DataFrame({"user": parts.scored.constant}), parts.scored.rows
    else:
        lists = cleaned(present(parts.lists), "score").group_by("user", maintain_order=True)
        score = pl.col("score")
        spread = lists.agg(pl.len(), (score.min() == score.max()).alias("same"))
        equal, of = spread.filter(pl.col("same") & (pl.col("len") > 1)), spread.height
    return Found(
        equal.height, of, "lists have one score for all items", "serious", parts.first(equal),
        parts.without_users(equal),
    )  # fmt: skip


@check(
    "lists", "scores",
    advice="give scores in full precision, or break ties when lists are made and hand over ranks; "
    "until then report the worst and the best value.",
)  # fmt: skip
def ties(parts: Parts) -> Found:
    """Lists in which equal scores leave open which items stand above the deepest cutoff."""
    import polars as pl

    lists = present(parts.lists)
    if parts.order != "score":
        return Found(0, lists["user"].n_unique(), "lists are ranked by scores that are equal")
    inside = cleaned(lists, "score").filter(pl.col("place") <= parts.depth + 1)
    next_score = pl.col("score").shift(-1).over("user")
    tied = inside.filter((pl.col("score") == next_score) & (pl.col("place") <= parts.depth))
    users = tied.select("user").unique(maintain_order=True)
    across = tied.filter(pl.col("place").is_in(_cutoffs(parts))).select("user")
    about = (
        f"lists have equal scores up to rank {parts.depth}, {across.n_unique():,} of them on "
        f"both sides of a cutoff"
    )
    of = lists["user"].n_unique()
    severity = _severity(parts)
    return Found(
        users.height, of, about, severity, parts.first(across if len(across) else users),
        bounds=parts.bounds,
    )  # fmt: skip


def _cutoffs(parts: Parts) -> list[int]:
    """The cutoffs of all metrics."""
    from rectitude.metrics.names import parse_all

    cutoffs = (parts.asked.resolve(name).cutoff for name in parse_all(parts.metrics))
    return [cutoff for cutoff in cutoffs if cutoff is not None] or [parts.depth]


def _severity(parts: Parts) -> Severity:
    """By how much the worst and the best value differ."""
    wide = any(high - low > WIDE * high for low, high in map(sorted, parts.bounds.values()))
    return "serious" if wide else "notice"
