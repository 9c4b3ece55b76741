"""What is audited: every part with ids as codes that are common to all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from rectitude.auditing.pairs import PAIR
from rectitude.errors import BadName
from rectitude.profiles import Profile

if TYPE_CHECKING:
    import polars as pl

    from rectitude.data.ids import Ids

REPEATED = 0.01
"""from this share of repeated pairs on, training data are of the kind in which users come back"""


@dataclass(frozen=True, eq=False)
class Case:
    """Something to evaluate: predictions, a truth, and switches set otherwise."""

    truth: pl.DataFrame
    lists: Any
    """a frame of ranked lists, or dense scores"""
    handed: pl.Series | None = None
    """users who were handed a list, maybe an empty one"""
    switches: Mapping[str, Any] = field(default_factory=dict)


Compared = tuple[Case | None, Case | None] | None
"""what is evaluated as it is, and without what was found; None where nothing can be"""


@dataclass(frozen=True)
class Scored:
    """What was met when dense scores were read."""

    rows: int
    cells: int
    items: pl.Series
    """the items that have a column, as codes"""
    bad: pl.DataFrame
    """user, item: scores that are NaN or infinite, the first of each row"""
    bad_cells: int
    refused: bool
    """whether an evaluation refuses them: NaN, not infinity"""
    constant: pl.Series
    """users whose scores are all equal"""


@dataclass(frozen=True)
class Parts:
    """A split and predictions, as checks look at them. Frames have the columns user and item, both
    codes, and where there are such grade and timestamp."""

    users: Ids
    items: Ids
    profile: Profile
    """under which effects are measured: what it would refuse is let through and counted"""
    asked: Profile
    """the one that was asked for"""
    metrics: tuple[str, ...]
    depth: int
    """the deepest cutoff"""
    train: pl.DataFrame | None = None
    truth: pl.DataFrame | None = None
    validation: pl.DataFrame | None = None
    lists: pl.DataFrame | None = None
    """user, item, place (from 1 in each list), [score]; of dense scores the first places only"""
    handed: pl.Series | None = None
    """users who were handed a list, maybe an empty one"""
    scored: Scored | None = None
    catalogue: pl.DataFrame | None = None
    evaluated: pl.DataFrame | None = None
    """the users to evaluate"""
    folds: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    base: Case | None = None
    """what is evaluated as it is; None if there is not enough for it"""
    ranked: Any = None
    """what is evaluated of the predictions: lists that can be ranked, or scores; None without"""
    order: str = "given"
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """the worst and best values that equal scores allow, where they differ"""

    @cached_property
    def relaxed(self) -> dict[str, tuple[Any, Any]]:
        """The switches that are measured otherwise than asked, with both choices."""
        return self.asked.convention.differences(self.profile.convention)

    @cached_property
    def usual_repeats(self) -> bool:
        """Whether users of the training data often meet an item again."""
        if self.train is None or not self.train.height:
            return False
        pairs = self.train[PAIR].n_unique()
        return (self.train.height - pairs) / pairs >= REPEATED

    @property
    def seen(self) -> Literal["kept", "removed"]:
        """What popular items do that users have had, when they stand in for predictions."""
        return "kept" if self.usual_repeats else "removed"

    def has(self, need: str) -> bool:
        """Whether something is there that a check needs: a part, or `timestamps`, `scores`."""
        if need == "timestamps":
            timed = (self.train, self.truth)
            return all(part is not None and "timestamp" in part.columns for part in timed)
        if need == "scores":
            listed = self.lists is not None and "score" in self.lists.columns
            return listed or self.scored is not None
        return bool(getattr(self, need)) if need == "folds" else getattr(self, need) is not None

    def label(self, row: Mapping[str, Any]) -> str:
        """A row as a finding names it."""
        words = []
        for kind, ids in (("user", self.users), ("item", self.items)):
            if kind in row:
                words.append(f"{kind} {_shown(ids, row[kind])}")
        return ", ".join(words)

    def first(self, rows: pl.DataFrame) -> str:
        """The first of some rows as a finding names it."""
        return self.label(rows.row(0, named=True)) if rows.height else ""

    def against(self, **changes: Any) -> Compared:
        """What is evaluated as it is, and the same with another truth, lists or switches."""
        return None if self.base is None else (self.base, replace(self.base, **changes))

    def without_truth(self, other: pl.DataFrame, by: str | list[str]) -> Compared:
        """What is evaluated as it is, and the same without the truth rows that a table holds."""
        return self._other_truth(other, by, "anti")

    def with_truth(self, other: pl.DataFrame, by: str | list[str]) -> Compared:
        """What is evaluated as it is, and the same with only the truth rows that a table holds."""
        return self._other_truth(other, by, "semi")

    def _other_truth(
        self, other: pl.DataFrame, by: str | list[str], how: Literal["anti", "semi"]
    ) -> Compared:
        if self.base is None:
            return None
        truth = self.base.truth.join(other, on=by, how=how, maintain_order="left")
        return self.against(truth=truth)

    def without_users(self, users: pl.DataFrame) -> Compared:
        """What is evaluated as it is, and the same without some users."""
        if self.base is None:
            return None
        import polars as pl

        base, users = self.base, users.select("user")
        lists, handed = base.lists, base.handed
        if isinstance(lists, pl.DataFrame):
            lists = lists.join(users, on="user", how="anti")
        if handed is not None:
            handed = handed.filter(~handed.is_in(users["user"].implode()))
        truth = base.truth.join(users, on="user", how="anti")
        return self.against(truth=truth, lists=lists, handed=handed)


def _shown(ids: Ids, code: int) -> str:
    import numpy as np

    return repr(ids.labels(np.array([code], np.int64))[0])


def present(part: pl.DataFrame | None) -> pl.DataFrame:
    """A part that a check has asked for, so that it is there."""
    if part is None:
        raise BadName("a check looks at a part that it does not name among its needs.")
    return part
