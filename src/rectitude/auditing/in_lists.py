"""Checks of ranked lists: missing and short lists, and items that should not be in them."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from rectitude.auditing.parts import PAIR, Compared, Parts, present
from rectitude.auditing.ranked import clean_lists
from rectitude.auditing.registry import check
from rectitude.auditing.result import CheckResult, Severity

MANY = 0.05
"""From this share of lists on, missing lists are serious."""


@check(
    "truth", "lists",
    advice="get predictions for these users too, or report that they are left out (list_needed).",
)  # fmt: skip
def missing_lists(parts: Parts) -> CheckResult:
    """Users of the truth, or other list keys, without a list."""
    wanted = parts.lists_wanted()
    missing = wanted.join(_find_handed(parts), on="list", how="anti", maintain_order="left")
    return _of_lists(parts, missing, wanted, f"{parts.key}s of the truth have no list")


@check(
    "truth", "lists", "handed",
    advice="find out why the model recommends nothing here; these lists count as misses.",
)  # fmt: skip
def empty_lists(parts: Parts) -> CheckResult:
    """Lists of the truth that were given without items."""
    wanted = parts.lists_wanted().join(
        _find_handed(parts), on="list", how="semi", maintain_order="left"
    )
    empty = wanted.join(present(parts.lists), on="list", how="anti", maintain_order="left")
    return _of_lists(parts, empty, wanted, "lists are empty")


@check(
    "lists",
    advice="recommend at least as many items as the cutoff, or decide how precision counts empty "
    "ranks (precision_over).",
)
def short_lists(parts: Parts) -> CheckResult:
    """Lists with fewer items than the deepest cutoff."""
    lengths = present(parts.lists).group_by("list", maintain_order=True).len()
    short = lengths.filter(pl.col("len") < parts.depth)
    return CheckResult(
        short.height, lengths.height, f"lists have fewer than {parts.depth} items", "notice",
        parts.first(short), parts.without(short, "list"),
    )  # fmt: skip


@check(
    "lists",
    advice="remove repeats before you save the lists, or decide how they count (duplicates).",
)
def duplicate_items(parts: Parts) -> CheckResult:
    """Items that already appear at a better rank of the same list."""
    lists = present(parts.lists)
    rows = lists.filter(pl.col("is_repeat"))
    choice = parts.asked.convention.duplicates
    counted = {"duplicates": "counted" if choice == "error" else choice}
    compare = None
    if parts.base is not None:
        as_is = replace(parts.base, lists=clean_lists(lists, parts.order), switches=counted)
        compare = (as_is, replace(parts.base, switches={"duplicates": "first"}))
    about = "recommended items repeat an item of the same list; as is, each repeat counts"
    return CheckResult(rows.height, lists.height, about, "serious", parts.first(rows), compare)


@check(
    "train", "lists", "lists' users",
    advice="remove items that the user has already seen, unless users return to items: they take "
    "the ranks of new items.",
)  # fmt: skip
def seen_items(parts: Parts) -> CheckResult:
    """Recommended items that the user has in train."""
    lists, train = present(parts.lists), present(parts.train)
    rows = lists.join(train, on=PAIR, how="semi", maintain_order="left")
    severity: Severity = "notice" if parts.usual_repeats else "serious"
    about = "recommended items are in train for the same user"
    compare = _without_rows(parts, train, PAIR)
    return CheckResult(rows.height, lists.height, about, severity, parts.first(rows), compare)


@check(
    "lists", "catalogue",
    advice="check that lists and catalogue use the same ids; items outside the catalogue cannot "
    "be shown.",
)  # fmt: skip
def items_outside_catalogue(parts: Parts) -> CheckResult:
    """Recommended items that are not in the catalogue."""
    about = "recommended items are outside the catalogue"
    return _find_unlisted(parts, present(parts.catalogue), about, "serious")


@check(
    "lists", "learnt",
    advice="check that lists and train use the same ids; a model that learns from train alone "
    "cannot know these items.",
)  # fmt: skip
def items_outside_train(parts: Parts) -> CheckResult:
    """Recommended items that are not in train."""
    return _find_unlisted(
        parts, present(parts.learnt), "recommended items are not in train", "notice"
    )


@check(
    "scored", "truth",
    advice="score these items as well; an item without a column is always missed.",
)  # fmt: skip
def unscored_items(parts: Parts) -> CheckResult:
    """Truth rows of items that have no column in the scores."""
    truth, scored = present(parts.truth), parts.scored
    known = pl.DataFrame({"item": [] if scored is None else scored.items})
    rows = truth.join(known, on="item", how="anti", maintain_order="left")
    return CheckResult(
        rows.height, truth.height, "truth rows have items without a score", "notice",
        parts.first(rows), parts.with_truth(known, "item"),
    )  # fmt: skip


def _find_handed(parts: Parts) -> pl.DataFrame:
    """Return the keys of all given lists, including empty ones."""
    with_items = present(parts.lists).select("list")
    if parts.handed is None:
        return with_items
    return pl.concat([with_items, parts.handed.to_frame()])


def _of_lists(parts: Parts, lists: pl.DataFrame, wanted: pl.DataFrame, about: str) -> CheckResult:
    severity: Severity = "serious" if lists.height >= MANY * wanted.height else "notice"
    example, compare = parts.first(lists), parts.without(lists, "list")
    return CheckResult(lists.height, wanted.height, about, severity, example, compare)


def _find_unlisted(
    parts: Parts, known: pl.DataFrame, about: str, severity: Severity
) -> CheckResult:
    lists = present(parts.lists)
    rows = lists.join(known, on="item", how="anti", maintain_order="left")
    compare = None
    if parts.base is not None and parts.scored is None:
        kept = parts.base.lists.join(known, on="item", how="semi", maintain_order="left")
        compare = parts.against(lists=kept)
    return CheckResult(rows.height, lists.height, about, severity, parts.first(rows), compare)


def _without_rows(parts: Parts, other: pl.DataFrame, by: str) -> Compared:
    """Compare the lists as they are and without the rows of another table.

    Dense scores are masked instead.
    """
    if parts.base is None:
        return None
    if parts.scored is not None:
        return parts.against(switches={"seen": "removed"})
    kept = parts.base.lists.join(other, on=by, how="anti", maintain_order="left")
    return parts.against(lists=kept)
