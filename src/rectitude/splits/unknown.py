"""Unknown (cold-start) users and items in the truth: keep, drop or refuse them, and count them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags
from rectitude.data.ids import members
from rectitude.data.ledger import Ledger
from rectitude.data.log import Log, choose_rows
from rectitude.errors import BadArgument, UnknownIds
from rectitude.options import options_of, require_options
from rectitude.splits.split import Split, account_parts

Policy = Literal["keep", "drop", "error"]
Known = Literal["train", "all"]
SLICES = ("warm", "unknown user", "unknown item", "both")
"""The slices of the truth; the index is 1 for an unknown user plus 2 for an unknown item."""
_COUNTED = {
    "users": ("rows_of_unknown_users", "have an unknown user"),
    "items": ("rows_of_unknown_items", "have an unknown item"),
    "seen": ("rows_of_seen_pairs", "repeat a pair seen in training"),
}
"""The ledger entry of each policy, and what it says about the rows."""


def require_policies(policies: Mapping[str, Any]) -> None:
    """Raise an error for a policy that does not exist, or that could never apply."""
    require_options(policies, options_of(treat_unknown), "unknown")
    for side in ("users", "items"):
        policy = policies.get(side, "keep")
        if policies.get("known") == "all" and policy != "keep":
            raise BadArgument(
                f"known is 'all', so no id counts as unknown and {side}={policy!r} has no effect.",
                "known='train', the default, for ids that are not in the training data.",
                f"leave out known, or set {side}='keep'.",
            )


def treat_unknown(
    split: Split,
    *,
    users: Policy = "keep",
    items: Policy = "keep",
    seen: Policy = "keep",
    known: Known = "train",
    least: int = 1,
) -> Split:
    """Keep, drop or refuse truth rows of users and items that a model cannot know.

    A user is known if they have at least `least` rows in train, or any in fold-in; an item is known
    if it is in train. With `known` "all", every id of every part is known, as in frameworks that
    number ids before they split. `seen` is the policy for pairs that the user already has in train
    or fold-in. The truth may end up empty; the caller decides whether that is an error.
    """
    ledger = split.ledger + Ledger()
    truth = split.truth
    flags = {**flag_unknown(split, known, least), "seen": _flag_seen(split)}
    dropped = np.zeros(truth.frame.height, bool)
    for (name, mask), policy in zip(flags.items(), (users, items, seen), strict=True):
        _account(ledger, truth, name, mask, policy)
        dropped |= mask if policy == "drop" else False
    ledger.note("unknown", f"users {users}, items {items}, seen pairs {seen}; known from {known}")
    left = choose_rows(truth, ~dropped)
    gone = truth.size[1] - left.size[1]
    ledger.count("users_dropped", gone, "users have no truth rows left", weight="notice")
    inner = split.validation
    if inner is not None:
        inner = treat_unknown(inner, users=users, items=items, seen=seen, known=known, least=least)
    kept = replace(split, truth=left, ledger=ledger, validation=inner)
    account_parts(kept)
    return kept


def count_unknown(split: Split) -> None:
    """Count the truth rows of users and items that are not in train, all of which are kept."""
    for name, mask in flag_unknown(split).items():
        _account(split.ledger, split.truth, name, mask, "keep")


def count_unknown_in_validation(split: Split) -> None:
    """Count the validation rows of users and items that a model tuned on them does not know."""
    if split.validation is None:
        return
    truth = split.validation.truth
    for name, mask in flag_unknown(split.validation).items():
        label, words = _COUNTED[name]
        first = truth.frame.row(int(mask.argmax()), named=True) if mask.any() else {}
        example = f"user {first['user']}, item {first['item']}" if first else ""
        about, rows = f"validation rows {words}: kept", truth.frame.height
        split.ledger.count(f"validation_{label}", int(mask.sum()), about, rows, example, "notice")


def flag_unknown(split: Split, known: Known = "train", least: int = 1) -> dict[str, Flags]:
    """Flag the truth rows with an unknown user, and those with an unknown item."""
    truth, train = split.truth.frame, split.train.frame
    if known == "all":
        return dict.fromkeys(("users", "items"), np.zeros(truth.height, bool))
    users = train["user"]
    if least > 1:
        users = train.group_by("user").len().filter(pl.col("len") >= least)["user"]
    if split.fold_in is not None:
        users = pl.concat([users, split.fold_in.frame["user"]])
    return {
        "users": ~members(truth["user"], users),
        "items": ~members(truth["item"], train["item"]),
    }


def _flag_seen(split: Split) -> Flags:
    """Flag the truth rows with a pair that the user already has in train or fold-in."""
    pairs = pl.concat([log.frame.select("user", "item") for log in split.visible]).unique()
    again = split.truth.frame.select("user", "item").join(
        pairs.with_columns(seen=True), ["user", "item"], "left", maintain_order="left"
    )
    return again["seen"].fill_null(value=False).to_numpy()


def slices(split: Split) -> pl.DataFrame:
    """Summarise the truth by slice: warm, unknown user, unknown item, both unknown.

    Returns one row per slice with its rows, users, items and share of the truth.
    """
    labelled = split.truth.frame.with_columns(slice_of(split))
    sizes = labelled.group_by("slice").agg(
        pl.len().alias("rows"),
        pl.col("user").n_unique().alias("users"),
        pl.col("item").n_unique().alias("items"),
    )
    table = pl.DataFrame({"slice": SLICES}).join(sizes, "slice", "left", maintain_order="left")
    table = table.with_columns(pl.col("rows", "users", "items").fill_null(0).cast(pl.Int64))
    return table.with_columns(share=pl.col("rows") / labelled.height)


def slice_of(split: Split) -> pl.Series:
    """Return the slice of each truth row, for `slices` and for the slices of an evaluation."""
    flags = flag_unknown(split)
    names = np.array(SLICES)
    return pl.Series("slice", names[flags["users"] + 2 * flags["items"].astype(int)])


def _account(ledger: Ledger, truth: Log, name: str, mask: Flags, policy: Policy) -> None:
    """Count the flagged rows; raise an error if the policy forbids them."""
    label, words = _COUNTED[name]
    count, rows = int(mask.sum()), truth.frame.height
    first = truth.frame.row(int(mask.argmax()), named=True) if count else {}
    example = f"user {first['user']}, item {first['item']}" if count else ""
    if count and policy == "error":
        raise UnknownIds(
            f"{count:,} of {rows:,} truth rows {words} (first: {example}).",
            f"none, because of {name}='error'.",
            f"keep or drop them: {name}='keep' or {name}='drop'.",
        )
    verb = "dropped" if policy == "drop" else "kept"
    ledger.count(label, count, f"truth rows {words}: {verb}", rows, example, "notice")
