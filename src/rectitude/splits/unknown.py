"""Unknown users and items in the truth: one policy, applied after a split, and counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags
from rectitude.data.ids import members
from rectitude.data.ledger import Ledger
from rectitude.data.log import Log, chosen
from rectitude.errors import UnknownIds
from rectitude.splits.split import Split, account_parts

Policy = Literal["keep", "drop", "error"]
Known = Literal["train", "all"]
SLICES = ("warm", "unknown user", "unknown item", "both")
"""The slices of the truth by what a model can know, by 1 for the user plus 2 for the item."""


def unknown(
    split: Split,
    *,
    users: Policy = "keep",
    items: Policy = "keep",
    seen: Policy = "keep",
    known: Known = "train",
    least: int = 1,
) -> Split:
    """Keep, drop or refuse what a model cannot know of the truth.

    A user is known who has at least `least` rows in train or any in fold-in, an item that is in
    train; `known` "all" takes every id of every part for known, as frameworks do that number ids
    before they split. `seen` is about pairs that the user has in train or fold-in already. Nothing
    may be left to be found; whoever asked for the split says whether that is an error.
    """
    ledger = split.ledger + Ledger()
    truth, facts = split.truth, facts_of(split, known, least)
    words = {"users": "of unknown users", "items": "of unknown items", "seen": "of pairs seen"}
    dropped = np.zeros(truth.frame.height, bool)
    for (name, mask), policy in zip(facts.items(), (users, items, seen), strict=True):
        _account(ledger, truth, name, mask, policy, words[name])
        dropped |= mask if policy == "drop" else False
    ledger.note("unknown", f"users {users}, items {items}, seen pairs {seen}; known from {known}")
    left = chosen(truth, ~dropped)
    gone = truth.size[1] - left.size[1]
    ledger.count("users_dropped", gone, "users have no truth left", weight="notice")
    inner = split.validation
    if inner is not None:
        inner = unknown(inner, users=users, items=items, seen=seen, known=known, least=least)
    kept = replace(split, truth=left, ledger=ledger, validation=inner)
    account_parts(kept)
    return kept


def facts_of(split: Split, known: Known = "train", least: int = 1) -> dict[str, Flags]:
    """For each row of truth whether its user is unknown, its item is, and its pair was seen."""
    truth, train = split.truth.frame, split.train.frame
    pairs = pl.concat([log.frame.select("user", "item") for log in split.met]).unique()
    again = truth.select("user", "item").join(
        pairs.with_columns(seen=True), ["user", "item"], "left", maintain_order="left"
    )
    seen = again["seen"].fill_null(value=False).to_numpy()
    if known == "all":
        none = np.zeros(truth.height, bool)
        return {"users": none, "items": none, "seen": seen}
    users = train["user"]
    if least > 1:
        users = train.group_by("user").len().filter(pl.col("len") >= least)["user"]
    if split.fold_in is not None:
        users = pl.concat([users, split.fold_in.frame["user"]])
    return {
        "users": ~members(truth["user"], users),
        "items": ~members(truth["item"], train["item"]),
        "seen": seen,
    }


def slices(split: Split) -> pl.DataFrame:
    """The truth by what a model can know: warm, unknown user, unknown item, both unknown.

    One row per slice with its rows, users, items and share of the truth.
    """
    labelled = split.truth.frame.with_columns(slice_of(split))
    counted = labelled.group_by("slice").agg(
        pl.len().alias("rows"),
        pl.col("user").n_unique().alias("users"),
        pl.col("item").n_unique().alias("items"),
    )
    table = pl.DataFrame({"slice": SLICES}).join(counted, "slice", "left", maintain_order="left")
    table = table.with_columns(pl.col("rows", "users", "items").fill_null(0).cast(pl.Int64))
    return table.with_columns(share=pl.col("rows") / labelled.height)


def slice_of(split: Split) -> pl.Series:
    """The slice of each row of truth, as a column for `slices` and for groups of an evaluation."""
    facts = facts_of(split)
    names = np.array(SLICES)
    return pl.Series("slice", names[facts["users"] + 2 * facts["items"].astype(int)])


def _account(
    ledger: Ledger, truth: Log, name: str, mask: Flags, policy: Policy, words: str
) -> None:
    count, rows = int(mask.sum()), truth.frame.height
    first = truth.frame.row(int(mask.argmax()), named=True) if count else {}
    example = f"user {first['user']}, item {first['item']}" if count else ""
    if count and policy == "error":
        raise UnknownIds(
            f"{count:,} of {rows:,} rows of truth are {words} (first: {example}).",
            f"none, as {name}='error' asks.",
            f"keep or drop them with {name}='keep' or {name}='drop'.",
        )
    verb = "dropped" if policy == "drop" else "kept"
    label = {"users": "rows_of_unknown_users", "items": "rows_of_unknown_items"}
    about = f"rows of truth are {words} and were {verb}"
    ledger.count(label.get(name, "rows_of_seen_pairs"), count, about, rows, example, "notice")
