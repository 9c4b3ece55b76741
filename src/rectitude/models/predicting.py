"""From a model and a split to lists that can be evaluated, with an account of the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rectitude.candidates.catalogue import given
from rectitude.candidates.ids import plain
from rectitude.candidates.value import Candidates, stored
from rectitude.data.codes import members
from rectitude.data.ledger import Ledger
from rectitude.data.log import Log
from rectitude.models.checking import checked
from rectitude.models.plugins import takes
from rectitude.models.protocol import Model
from rectitude.models.registry import Progress
from rectitude.splits.split import Split

if TYPE_CHECKING:
    import polars as pl

Seen = Literal["removed", "kept"]
Learning = Literal["fit", "update", "none"]


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
    import polars as pl

    if not candidates.without_truth:
        return candidates
    pairs = [plain(candidates.source), plain(split.truth.frame)]
    both = pl.concat([frame.select("user", "item") for frame in pairs]).unique()
    return replace(candidates, frame=both.sort("user", "item"), settings={})


def _met(split: Split, users: pl.Series, seen: Seen) -> pl.DataFrame:
    """Pairs that are not to be recommended: what these users had, or none."""
    import polars as pl

    logs = [split.train] if split.fold_in is None else [split.train, split.fold_in]
    pairs = pl.concat([log.frame.select("user", "item") for log in logs])
    if seen == "kept":
        return pairs.clear()
    return pairs.filter(pairs["user"].is_in(users.implode())).unique().sort("user", "item")


def _items(split: Split, candidates: Candidates | None) -> pl.Series:
    """Items that can be known: of train, of fold-in, and of the candidates."""
    import polars as pl

    logs = [split.train] if split.fold_in is None else [split.train, split.fold_in]
    found = [log.frame["item"] for log in logs]
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
