"""From a model and a split to lists that can be evaluated, with an account of the way.

What a model recommended is held to what was asked for, whoever wrote the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Integers
from rectitude.candidates.sampling import among
from rectitude.candidates.sets import given
from rectitude.candidates.value import Candidates, stored
from rectitude.data.ids import fitting, ids_alone, members, numbers_in
from rectitude.data.ledger import Ledger, Weight
from rectitude.data.log import Log
from rectitude.data.read import read
from rectitude.errors import BadLists, BadScores, BadTable, DuplicateItems, RectitudeError
from rectitude.models.matrix import offer_of, pairs_in, pairs_of
from rectitude.models.protocol import Model, takes
from rectitude.models.ranking import Limits, ScoredCells, rank_of
from rectitude.models.registry import Progress
from rectitude.splits.split import Split

Seen = Literal["removed", "kept"]


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a model recommended to the users of a split."""

    table: pl.DataFrame
    """columns user, item, score and rank: goes to `evaluate` as it is"""
    ledger: Ledger
    users: pl.Series
    """who was recommended to, in order"""


def learnt_from(model: Model, train: Log, progress: Progress | None = None) -> Model:
    """The model after `fit`; models that return nothing are taken as they are."""
    extra = {"progress": progress} if progress and takes(model.fit, "progress") else {}
    found = model.fit(train, **extra)
    return found if isinstance(found, Model) else model


def predicted(
    model: Model,
    split: Split,
    k: int,
    *,
    users: pl.Series | None = None,
    candidates: object = None,
    seen: Seen = "removed",
    name: str = "",
    progress: Progress | None = None,
) -> Predicted:
    """What a model that has learnt recommends to the users of a split's truth.

    `seen` "removed" leaves out what users had in train and fold-in. Fold-in is handed to models
    whose `recommend` takes `history`. What comes back is held to what was asked for.
    """
    name = name or getattr(model, "name", type(model).__name__)
    asked = _users(split) if users is None else users
    offered = None if candidates is None else _with_truth(given(split, stored(candidates)), split)
    met = _met(split, asked, seen)
    extra: dict[str, Any] = {}
    if split.fold_in is not None and takes(model.recommend, "history"):
        extra["history"] = split.fold_in
    if progress is not None and takes(model.recommend, "progress"):
        extra["progress"] = progress
    table = model.recommend(asked, k, candidates=offered, seen=met, **extra)
    ledger = _account(split, asked, model)
    ledger = ledger + getattr(model, "ledger", Ledger())
    found = checked(
        name, table, asked, k, items=_items(split, offered), candidates=offered, seen=met
    )
    return Predicted(found.table, ledger + found.ledger, asked)


def _users(split: Split) -> pl.Series:
    return split.truth.frame["user"].unique().sort()


def _with_truth(candidates: Candidates, split: Split) -> Candidates:
    """Candidates; where the truth was left out of them, with it, as they are ranked."""
    if not candidates.without_truth:
        return candidates
    pairs = [ids_alone(candidates.source), ids_alone(split.truth.frame)]
    both = pl.concat([frame.select("user", "item") for frame in pairs]).unique()
    return replace(candidates, frame=both.sort("user", "item"), settings={})


def _met(split: Split, users: pl.Series, seen: Seen) -> pl.DataFrame:
    """Pairs that are not to be recommended: what these users had, or none."""
    pairs = pl.concat([log.frame.select("user", "item") for log in split.met])
    if seen == "kept":
        return pairs.clear()
    return pairs.filter(pairs["user"].is_in(users.implode())).unique().sort("user", "item")


def _items(split: Split, candidates: Candidates | None) -> pl.Series:
    """Items that can be known: of train, of fold-in, and of the candidates."""
    found = [log.frame["item"] for log in split.met]
    if candidates is not None:
        found.append(candidates.frame["item"].cast(found[0].dtype))
    return pl.concat([ids.unique() for ids in found]).unique().sort()


def _account(split: Split, users: pl.Series, model: Model) -> Ledger:
    """Who and what is unknown to train, and what the model says it does with that."""
    ledger = Ledger()
    new = ~members(users, split.train.frame["user"])
    example = f"user {users[int(np.argmax(new))]!r}" if new.any() else ""
    about = f"users are not in train ({_says(model, 'unknown_users')})"
    ledger.count("users_not_in_train", int(new.sum()), about, len(users), example, "notice")
    items = split.truth.frame["item"].unique(maintain_order=True)
    fresh = ~members(items, split.train.frame["item"])
    example = f"item {items[int(np.argmax(fresh))]!r}" if fresh.any() else ""
    about = f"items of the truth are not in train ({_says(model, 'unknown_items')})"
    ledger.count("items_not_in_train", int(fresh.sum()), about, len(items), example, "notice")
    return ledger


def _says(model: Model, policy: str) -> str:
    """What a model says it does with what it does not know."""
    words = getattr(model, policy, None)
    return f"{policy}: {words}" if words else "the model does not say what it does with them"


class Checked(NamedTuple):
    """Lists that can be evaluated, and what was found about them."""

    table: pl.DataFrame
    """columns user, item, score and rank; users as they were asked for, best items first"""
    ledger: Ledger


def checked(
    name: str,
    table: object,
    users: pl.Series,
    k: int,
    *,
    items: pl.Series,
    candidates: object = None,
    seen: object = None,
) -> Checked:
    """Recommendations of a model as evaluation takes them, or an error that names the model.

    Items twice in a list, scores that are no numbers, more than k items, users nobody asked for,
    items that are no candidates and ids of another type are errors. Short and missing lists, items
    that are not among `items` and items of `seen` are counted: they cost the model its places.
    """
    asked = ids_alone(users.to_frame("user"))["user"]
    known = ids_alone(items.to_frame("item"))["item"]
    frame, ledger = _read(name, table, asked, known), Ledger()
    user = numbers_in(frame["user"], asked)
    lists = _Lists(name, frame, user)
    lists.refuse(user < 0, "rows are for users nobody asked for", "users of the list handed over")
    lists.refuse(_without_score(frame), "rows have a score that is no number", "numbers", BadScores)
    frame = lists.frame = _in_order(lists, ledger)
    user = lists.user = numbers_in(frame["user"], asked)
    lists.refuse(
        frame.select("user", "item").is_duplicated().to_numpy(),
        "rows hold an item that is in the list twice", "each item once per list", DuplicateItems,
    )  # fmt: skip
    lists.refuse(rank_of(user) > k, f"rows are beyond the {k} items asked for", f"at most {k} each")
    _offered(lists, asked, candidates)
    _account_for_checks(lists, ledger, asked, known, k, seen)
    ids = [frame["user"].cast(users.dtype), frame["item"].cast(items.dtype)]
    return Checked(frame.with_columns(*ids, rank=rank_of(user)), ledger)


class _Lists:
    """The rows of a model's lists, and the place of each row's user."""

    def __init__(self, name: str, frame: pl.DataFrame, user: Integers) -> None:
        self.name, self.frame, self.user = name, frame, user

    def refuse(
        self, wrong: Flags, found: str, expected: str, kind: type[RectitudeError] = BadLists
    ) -> None:
        """An error if any row is wrong, with their number and the first."""
        if wrong.any():
            raise kind(
                f"model {self.name!r}: {int(wrong.sum()):,} of {len(wrong):,} {found}"
                f" (first: {self.example(wrong)}).",
                f"{expected}.",
            )

    def example(self, which: Flags) -> str:
        """The first of some rows in words."""
        row = self.frame.row(int(which.argmax()), named=True)
        return f"user {row['user']!r}, item {row['item']!r}"


def _read(name: str, table: object, users: pl.Series, items: pl.Series) -> pl.DataFrame:
    """The rows as they came, with ids of the types of train."""
    model = pl.DataFrame({"user": users.clear(), "item": items.clear()})
    if isinstance(table, pl.DataFrame) and table.is_empty():
        return model.with_columns(score=pl.lit(0.0), rank=pl.lit(1)).clear()
    try:
        read_table = read(table, "predictions")
        frame = fitting(read_table, model)
    except RectitudeError as error:
        raise type(error)(
            f"model {name!r} recommended something that is no lists: {error.found}",
            error.expected, error.advice,
        ) from error  # fmt: skip
    if "rank" not in frame.columns and ("score" not in frame.columns or read_table.given):
        frame = frame.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    if "user" not in frame.columns:
        raise BadTable(f"model {name!r} recommended without naming users.", "a column user.")
    return frame


def _without_score(frame: pl.DataFrame) -> Flags:
    if "score" not in frame.columns:
        return np.zeros(frame.height, np.bool_)
    bad: Flags = ~np.isfinite(frame["score"].fill_null(float("nan")).to_numpy())
    return bad


def _in_order(lists: _Lists, ledger: Ledger) -> pl.DataFrame:
    """Rows user by user as asked for, by rank, or by score where there is none."""
    frame = lists.frame.with_columns(place=pl.Series(lists.user, dtype=pl.Int64))
    if "rank" not in frame.columns:
        by_score = [pl.col("place"), -pl.col("score"), pl.col("item")]
        return frame.sort(by_score).select("user", "item", pl.col("score").cast(pl.Float64))
    frame = frame.sort("place", "rank", maintain_order=True)
    lists.frame = frame
    again = frame.select("place", "rank").is_duplicated().to_numpy()
    lists.refuse(again, "rows share their rank with another", "each rank once per list")
    if "score" not in frame.columns:
        ledger.note("scores", "made of ranks: the model gave none")
        frame = frame.with_columns(score=-frame["rank"].cast(pl.Float64))
    rises = (frame["score"].diff() > 0).fill_null(value=False).to_numpy()
    rises &= (frame["place"].diff() == 0).fill_null(value=False).to_numpy()
    ledger.count(
        "scores_against_ranks", int(rises.sum()), "items score higher than the one before: the"
        " rank counts", of=len(rises), weight="warning",
        example=lists.example(rises) if rises.any() else "",
    )  # fmt: skip
    return frame.select("user", "item", pl.col("score").cast(pl.Float64))


def _offered(lists: _Lists, users: pl.Series, candidates: object) -> None:
    if candidates is None:
        return
    items = lists.frame["item"].unique().sort()
    size = len(users), len(items)
    nothing = pairs_of(np.zeros(0, np.int64), np.zeros(0, np.int64), size)
    limits = Limits(np.arange(size[0]), size[1], nothing, offer_of(candidates, users, items))
    cells = ScoredCells(
        lists.user, numbers_in(lists.frame["item"], items), np.zeros(len(lists.user))
    )
    lists.refuse(
        ~limits.allows(cells), "recommended items are no candidates of their users",
        "nothing but candidates",
    )  # fmt: skip


def _account_for_checks(
    lists: _Lists, ledger: Ledger, users: pl.Series, items: pl.Series, k: int, seen: object
) -> None:
    """Count what is no error and still costs the model places."""
    frame = lists.frame
    unknown = numbers_in(frame["item"], items) < 0
    if len(unknown) and unknown.all():
        lists.refuse(unknown, "recommended items are unknown", "items of train or candidates")
    _count(ledger, lists, "items_not_known", unknown, "recommended items were never met", "warning")
    if seen is not None:
        held = frame["item"].unique().sort()
        row, item = pairs_in(seen, users, held).pairs()
        again = among(
            row * len(held) + item, lists.user * len(held) + numbers_in(frame["item"], held)
        )
        words = "recommended items were seen by their users, and still take a place"
        _count(ledger, lists, "items_seen", again, words, "warning")
    sizes = np.bincount(lists.user, minlength=len(users))
    for word, which, about in (
        ("lists_empty", sizes == 0, "users got no list"),
        ("lists_short", (sizes > 0) & (sizes < k), f"lists have fewer than {k} items"),
    ):
        example = f"user {users[int(which.argmax())]!r}" if which.any() else ""
        ledger.count(word, int(which.sum()), about, len(users), example, "notice")


def _count(
    ledger: Ledger, lists: _Lists, name: str, which: Flags, about: str, weight: Weight
) -> None:
    example = lists.example(which) if which.any() else ""
    ledger.count(name, int(which.sum()), about, len(which), example, weight)
