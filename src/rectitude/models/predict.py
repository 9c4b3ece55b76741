"""Make a model's predictions for a split, as lists that can be evaluated.

Recommendations are checked in the same way for every model, built-in or your own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Integers
from rectitude.candidate_sets.sampling import is_among
from rectitude.candidate_sets.sets import take_given
from rectitude.candidate_sets.value import Candidates, load_stored
from rectitude.data.columns import require_order
from rectitude.data.ids import cast_ids_like, ids_alone, members, numbers_in
from rectitude.data.ledger import Ledger, Weight
from rectitude.data.log import Log
from rectitude.data.read import read
from rectitude.errors import BadLists, BadScores, BadTable, DuplicateItems, RectitudeError
from rectitude.models.matrix import offer_of, pairs_in, pairs_of
from rectitude.models.protocol import Model, takes
from rectitude.models.ranking import Limits, ScoredCells, rank_of
from rectitude.models.registry import Progress
from rectitude.parallel import require_polars
from rectitude.splits.split import Split

Seen = Literal["removed", "kept"]


@dataclass(frozen=True, slots=True)
class Predicted:
    """The recommendations of a model to the users of a split."""

    table: pl.DataFrame
    """columns user, item, score and rank; can be passed to `evaluate`"""
    ledger: Ledger
    users: pl.Series
    """the users who were recommended to, in order"""


def fit_model(model: Model, train: Log, progress: Progress | None = None) -> Model:
    """Return the model after `fit`, which may return the model or nothing."""
    extra = {"progress": progress} if progress and takes(model.fit, "progress") else {}
    fitted = model.fit(train, **extra)
    return fitted if isinstance(fitted, Model) else model


def predict_split(
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
    """Return what a fitted model recommends to the users of a split's truth.

    `seen="removed"` leaves out items that users had in the training data and fold-in. Models whose
    `recommend` takes `history` receive the fold-in. The recommendations are checked: see
    `check_recommendations`.
    """
    require_polars()
    name = name or getattr(model, "name", type(model).__name__)
    chosen = _users_of_truth(split) if users is None else users
    offered = (
        None
        if candidates is None
        else _with_truth(take_given(split, load_stored(candidates)), split)
    )
    seen_pairs = _pairs_seen(split, chosen, seen)
    extra: dict[str, Any] = {}
    if split.fold_in is not None and takes(model.recommend, "history"):
        extra["history"] = split.fold_in
    if progress is not None and takes(model.recommend, "progress"):
        extra["progress"] = progress
    table = model.recommend(chosen, k, candidates=offered, seen=seen_pairs, **extra)
    ledger = _account(split, chosen, model)
    ledger = ledger + getattr(model, "ledger", Ledger())
    checked = check_recommendations(
        name,
        table,
        chosen,
        k,
        items=_known_items(split, offered),
        candidates=offered,
        seen=seen_pairs,
    )
    return Predicted(checked.table, ledger + checked.ledger, chosen)


def _users_of_truth(split: Split) -> pl.Series:
    return split.truth.frame["user"].unique().sort()


def _with_truth(candidates: Candidates, split: Split) -> Candidates:
    """Return candidates; if the truth was left out of them, add it, because both are ranked."""
    if not candidates.without_truth:
        return candidates
    pairs = [ids_alone(candidates.source), ids_alone(split.truth.frame)]
    both = pl.concat([frame.select("user", "item") for frame in pairs]).unique()
    return replace(candidates, frame=both.sort("user", "item"), settings={})


def _pairs_seen(split: Split, users: pl.Series, seen: Seen) -> pl.DataFrame:
    """Return pairs that must not be recommended: what these users had, or none."""
    pairs = pl.concat([log.frame.select("user", "item") for log in split.visible])
    if seen == "kept":
        return pairs.clear()
    return pairs.filter(pairs["user"].is_in(users.implode())).unique().sort("user", "item")


def _known_items(split: Split, candidates: Candidates | None) -> pl.Series:
    """Return the items of the training data, of fold-in and of the candidates."""
    items = [log.frame["item"] for log in split.visible]
    if candidates is not None:
        items.append(candidates.frame["item"].cast(items[0].dtype))
    return pl.concat([ids.unique() for ids in items]).unique().sort()


def _account(split: Split, users: pl.Series, model: Model) -> Ledger:
    """Count users and items that are not in the training data, and how the model treats them."""
    ledger = Ledger()
    new_users = ~members(users, split.train.frame["user"])
    example = f"user {users[int(np.argmax(new_users))]!r}" if new_users.any() else ""
    about = f"users are not in the training data ({_describe_policy(model, 'unknown_users')})"
    ledger.count("users_not_in_train", int(new_users.sum()), about, len(users), example, "notice")
    items = split.truth.frame["item"].unique(maintain_order=True)
    new_items = ~members(items, split.train.frame["item"])
    example = f"item {items[int(np.argmax(new_items))]!r}" if new_items.any() else ""
    about = (
        "items of the truth are not in the training data "
        f"({_describe_policy(model, 'unknown_items')})"
    )
    ledger.count("items_not_in_train", int(new_items.sum()), about, len(items), example, "notice")
    return ledger


def _describe_policy(model: Model, policy: str) -> str:
    """Return what a model says it does with unknown users or items."""
    words = getattr(model, policy, None)
    return f"{policy}: {words}" if words else "the model does not say how it treats them"


class Checked(NamedTuple):
    """Lists that can be evaluated, and a ledger of what the check counted."""

    table: pl.DataFrame
    """columns user, item, score and rank; users in the requested order, best items first"""
    ledger: Ledger


def check_recommendations(
    name: str,
    table: object,
    users: pl.Series,
    k: int,
    *,
    items: pl.Series,
    candidates: object = None,
    seen: object = None,
) -> Checked:
    """Return a model's recommendations as lists; raise an error if they cannot be evaluated.

    These are errors: an item twice in a list, scores that are not finite, more than k items, users
    that were not requested, items that are not candidates, and ids of another type. These are only
    counted, because they just cost the model ranks: short and missing lists, items that are not
    among `items`, and items of `seen`.
    """
    requested = ids_alone(users.to_frame("user"))["user"]
    known = ids_alone(items.to_frame("item"))["item"]
    frame, ledger = _read(name, table, requested, known), Ledger()
    user = numbers_in(frame["user"], requested)
    lists = _Lists(name, frame, user)
    lists.refuse(user < 0, "rows are for users that were not requested", "only requested users")
    lists.refuse(_without_score(frame), "rows have no finite score", "finite scores", BadScores)
    frame = lists.frame = _in_order(lists, ledger)
    user = lists.user = numbers_in(frame["user"], requested)
    lists.refuse(
        frame.select("user", "item").is_duplicated().to_numpy(),
        "rows repeat an item of the same list", "each item once per list", DuplicateItems,
    )  # fmt: skip
    lists.refuse(
        rank_of(user) > k, f"rows exceed the {k} requested items", f"at most {k} items per user"
    )
    _require_candidates(lists, requested, candidates)
    _count_weaknesses(lists, ledger, requested, known, k, seen)
    ids = [frame["user"].cast(users.dtype), frame["item"].cast(items.dtype)]
    return Checked(frame.with_columns(*ids, rank=rank_of(user)), ledger)


class _Lists:
    """The rows of a model's lists, and the number of each row's user."""

    def __init__(self, name: str, frame: pl.DataFrame, user: Integers) -> None:
        self.name, self.frame, self.user = name, frame, user

    def refuse(
        self, wrong: Flags, problem: str, expected: str, kind: type[RectitudeError] = BadLists
    ) -> None:
        """Raise an error if any row is wrong, with the number of such rows and the first."""
        if wrong.any():
            raise kind(
                f"model {self.name!r}: {int(wrong.sum()):,} of {len(wrong):,} {problem}"
                f" (first: {self.example(wrong)}).",
                f"{expected}.",
            )

    def example(self, which: Flags) -> str:
        """Describe the first of some rows."""
        row = self.frame.row(int(which.argmax()), named=True)
        return f"user {row['user']!r}, item {row['item']!r}"


def _read(name: str, table: object, users: pl.Series, items: pl.Series) -> pl.DataFrame:
    """Return the rows as given, with ids of the types of the training data."""
    types = pl.DataFrame({"user": users.clear(), "item": items.clear()})
    if isinstance(table, pl.DataFrame) and table.is_empty():
        return types.with_columns(score=pl.lit(0.0), rank=pl.lit(1)).clear()
    try:
        read_table = read(table, "predictions")
        require_order(read_table)
        frame = cast_ids_like(read_table, types)
    except RectitudeError as error:
        raise type(error)(
            f"model {name!r} did not recommend lists: {error.found}",
            error.expected, error.advice,
        ) from error  # fmt: skip
    if "rank" not in frame.columns and ("score" not in frame.columns or read_table.given):
        frame = frame.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    if "user" not in frame.columns:
        raise BadTable(
            f"the recommendations of model {name!r} have no column user.", "a column user."
        )
    return frame


def _without_score(frame: pl.DataFrame) -> Flags:
    if "score" not in frame.columns:
        return np.zeros(frame.height, np.bool_)
    bad: Flags = ~np.isfinite(frame["score"].fill_null(float("nan")).to_numpy())
    return bad


def _in_order(lists: _Lists, ledger: Ledger) -> pl.DataFrame:
    """Return rows by requested user and by rank, or by score if there are no ranks."""
    frame = lists.frame.with_columns(position=pl.Series(lists.user, dtype=pl.Int64))
    if "rank" not in frame.columns:
        by_score = [pl.col("position"), -pl.col("score"), pl.col("item")]
        return frame.sort(by_score).select("user", "item", pl.col("score").cast(pl.Float64))
    frame = frame.sort("position", "rank", maintain_order=True)
    lists.frame = frame
    repeated = frame.select("position", "rank").is_duplicated().to_numpy()
    lists.refuse(repeated, "rows share their rank with another row", "each rank once per list")
    if "score" not in frame.columns:
        ledger.note("scores", "made from ranks, because the model gave none")
        frame = frame.with_columns(score=-frame["rank"].cast(pl.Float64))
    rises = (frame["score"].diff() > 0).fill_null(value=False).to_numpy()
    rises &= (frame["position"].diff() == 0).fill_null(value=False).to_numpy()
    ledger.count(
        "scores_against_ranks", int(rises.sum()), "items have a higher score than the item ranked"
        " before them: the rank is used", of=len(rises), weight="warning",
        example=lists.example(rises) if rises.any() else "",
    )  # fmt: skip
    return frame.select("user", "item", pl.col("score").cast(pl.Float64))


def _require_candidates(lists: _Lists, users: pl.Series, candidates: object) -> None:
    if candidates is None:
        return
    items = lists.frame["item"].unique().sort()
    size = len(users), len(items)
    banned = pairs_of(np.zeros(0, np.int64), np.zeros(0, np.int64), size)
    limits = Limits(np.arange(size[0]), size[1], banned, offer_of(candidates, users, items))
    cells = ScoredCells(
        lists.user, numbers_in(lists.frame["item"], items), np.zeros(len(lists.user))
    )
    lists.refuse(
        ~limits.allows(cells), "recommended items are not candidates of their users",
        "only candidates",
    )  # fmt: skip


def _count_weaknesses(
    lists: _Lists, ledger: Ledger, users: pl.Series, items: pl.Series, k: int, seen: object
) -> None:
    """Count what is not an error but costs the model ranks."""
    frame = lists.frame
    unknown = numbers_in(frame["item"], items) < 0
    if len(unknown) and unknown.all():
        lists.refuse(unknown, "recommended items are unknown", "training items or candidates")
    about = "recommended items are neither in the training data nor candidates"
    _count(ledger, lists, "items_not_known", unknown, about, "warning")
    if seen is not None:
        listed = frame["item"].unique().sort()
        row, item = pairs_in(seen, users, listed).pairs()
        again = is_among(
            row * len(listed) + item, lists.user * len(listed) + numbers_in(frame["item"], listed)
        )
        words = "recommended items were already seen by their users, and still take a rank"
        _count(ledger, lists, "items_seen", again, words, "warning")
    sizes = np.bincount(lists.user, minlength=len(users))
    for name, which, about in (
        ("lists_empty", sizes == 0, "users got no list"),
        ("lists_short", (sizes > 0) & (sizes < k), f"lists have fewer than {k} items"),
    ):
        example = f"user {users[int(which.argmax())]!r}" if which.any() else ""
        ledger.count(name, int(which.sum()), about, len(users), example, "notice")


def _count(
    ledger: Ledger, lists: _Lists, name: str, which: Flags, about: str, weight: Weight
) -> None:
    example = lists.example(which) if which.any() else ""
    ledger.count(name, int(which.sum()), about, len(which), example, weight)
