"""Checks of the lists: those that are missing or short, and items that should not be there."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from rectitude.auditing.parts import PAIR, Compared, Parts, present
from rectitude.auditing.ranked import cleaned
from rectitude.auditing.registry import check
from rectitude.auditing.result import Found, Severity

MANY = 0.05
"""from this share of users on, lists that are missing decide the result"""


@check(
    "truth", "lists",
    advice="ask the model for these users as well, or say that they are left out: list_needed.",
)  # fmt: skip
def missing_lists(parts: Parts) -> Found:
    """Users of the truth, or other keys, who have no list."""
    wanted = parts.wanted()
    missing = wanted.join(_handed(parts), on="list", how="anti", maintain_order="left")
    return _of_lists(parts, missing, wanted, f"{parts.key}s of the truth have no list")


@check(
    "truth", "lists", "handed",
    advice="find out why the model has nothing for them; they count as misses.",
)  # fmt: skip
def empty_lists(parts: Parts) -> Found:
    """Lists of the truth that were handed over without items."""
    wanted = parts.wanted().join(_handed(parts), on="list", how="semi", maintain_order="left")
    empty = wanted.join(present(parts.lists), on="list", how="anti", maintain_order="left")
    return _of_lists(parts, empty, wanted, "lists are empty")


@check(
    "lists",
    advice="ask for at least as many items as the cutoff, or say how precision counts "
    "empty places: precision_over.",
)
def short_lists(parts: Parts) -> Found:
    """Lists with fewer items than the deepest cutoff."""
    lengths = present(parts.lists).group_by("list", maintain_order=True).len()
    short = lengths.filter(pl.col("len") < parts.depth)
    return Found(
        short.height, lengths.height, f"lists have fewer than {parts.depth} items", "notice",
        parts.first(short), parts.without(short, "list"),
    )  # fmt: skip


@check("lists", advice="remove repeats when lists are made, or say what they mean: duplicates.")
def duplicate_items(parts: Parts) -> Found:
    """Rows whose item stands further up in the same list."""
    lists = present(parts.lists)
    rows = lists.filter(pl.col("again"))
    asked = parts.asked.convention.duplicates
    counted = {"duplicates": "counted" if asked == "error" else asked}
    compare = None
    if parts.base is not None:
        as_is = replace(parts.base, lists=cleaned(lists, parts.order), switches=counted)
        compare = (as_is, replace(parts.base, switches={"duplicates": "first"}))
    about = "recommended items stand further up in the same list; as is, each of them counts"
    return Found(rows.height, lists.height, about, "serious", parts.first(rows), compare)


@check(
    "train", "lists", "lists' users",
    advice="leave out what the user has had, unless users come back to items: such items take "
    "the places of others.",
)  # fmt: skip
def seen_items(parts: Parts) -> Found:
    """Recommended items that the user has in train."""
    lists, train = present(parts.lists), present(parts.train)
    rows = lists.join(train, on=PAIR, how="semi", maintain_order="left")
    severity: Severity = "notice" if parts.usual_repeats else "serious"
    about = "recommended items are in train for the same user"
    compare = _without_rows(parts, train, PAIR)
    return Found(rows.height, lists.height, about, severity, parts.first(rows), compare)


@check(
    "lists", "catalogue",
    advice="check that both use the same ids; an item outside the catalogue cannot be shown.",
)  # fmt: skip
def items_outside_catalogue(parts: Parts) -> Found:
    """Recommended items that the catalogue does not have."""
    about = "recommended items are outside the catalogue"
    return _unlisted(parts, present(parts.catalogue), about, "serious")


@check(
    "lists", "learnt",
    advice="check that both use the same ids; a model that learns from train alone cannot know "
    "these items.",
)  # fmt: skip
def items_outside_train(parts: Parts) -> Found:
    """Recommended items that train does not have."""
    return _unlisted(parts, present(parts.learnt), "recommended items are not in train", "notice")


@check(
    "scored", "truth",
    advice="score these items as well; without a column they can only be missed.",
)  # fmt: skip
def unscored_items(parts: Parts) -> Found:
    """Truth rows of items that have no column in the scores."""
    truth, scored = present(parts.truth), parts.scored
    known = pl.DataFrame({"item": [] if scored is None else scored.items})
    rows = truth.join(known, on="item", how="anti", maintain_order="left")
    return Found(
        rows.height, truth.height, "truth rows are of items without a score", "notice",
        parts.first(rows), parts.with_truth(known, "item"),
    )  # fmt: skip


def _handed(parts: Parts) -> pl.DataFrame:
    """All lists that there are, maybe empty ones."""
    there = present(parts.lists).select("list")
    if parts.handed is None:
        return there
    return pl.concat([there, parts.handed.to_frame()])


def _of_lists(parts: Parts, found: pl.DataFrame, wanted: pl.DataFrame, about: str) -> Found:
    severity: Severity = "serious" if found.height >= MANY * wanted.height else "notice"
    example, compare = parts.first(found), parts.without(found, "list")
    return Found(found.height, wanted.height, about, severity, example, compare)


def _unlisted(parts: Parts, known: pl.DataFrame, about: str, severity: Severity) -> Found:
    lists = present(parts.lists)
    rows = lists.join(known, on="item", how="anti", maintain_order="left")
    compare = None
    if parts.base is not None and parts.scored is None:
        kept = parts.base.lists.join(known, on="item", how="semi", maintain_order="left")
        compare = parts.against(lists=kept)
    return Found(rows.height, lists.height, about, severity, parts.first(rows), compare)


def _without_rows(parts: Parts, other: pl.DataFrame, by: str) -> Compared:
    """The lists as they are, and without the rows that another table holds; dense scores are
    masked instead."""
    if parts.base is None:
        return None
    if parts.scored is not None:
        return parts.against(switches={"seen": "removed"})
    kept = parts.base.lists.join(other, on=by, how="anti", maintain_order="left")
    return parts.against(lists=kept)
