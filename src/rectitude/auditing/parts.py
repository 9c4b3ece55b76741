"""The parts of a split and the predictions, prepared for checks.

Ids are codes that all parts share, and timestamps have one type. Lists may have another key than
the user, such as a session; then frames have the columns list and user, otherwise both are the
same. A pair is a user and an item, a cell is a list and an item; each has a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.data.dense import Dense
from rectitude.data.ids import Column, Ids, align
from rectitude.data.table import Table
from rectitude.data.times import convert_times
from rectitude.errors import BadExtension, BadTable
from rectitude.profiles import Profile

PAIR, CELL, TIME = "pair", "cell", "timestamp"
USER = "user"
REPEATED = 0.01
"""From this share of repeated pairs on, users are taken to return to items."""


@dataclass(frozen=True, eq=False)
class AuditCase:
    """Something to evaluate: predictions, a truth, and changed switches or weights."""

    truth: pl.DataFrame
    lists: Any
    """a frame of ranked lists, dense scores, or logits"""
    handed: pl.Series | None = None
    """the keys of all given lists, including empty ones"""
    switches: Mapping[str, Any] = field(default_factory=dict)
    weights: Literal["given", "equal"] = "given"


Compared = tuple[AuditCase | None, AuditCase | None] | None
"""What to evaluate as is, and without the finding; None if nothing can be evaluated."""


@dataclass(frozen=True)
class AuditedScores:
    """What a pass over dense scores found."""

    rows: int
    cells: int
    items: pl.Series
    """the items that have a column, as codes"""
    bad: pl.DataFrame
    """list, item: the first NaN or infinite score of each row"""
    bad_cells: int
    refused: bool
    """whether an evaluation refuses them: it refuses NaN, but not infinity"""
    constant: pl.Series
    """lists whose scores are all equal"""
    wrong_targets: Mapping[int, Any] | None = None
    """invalid targets by row of the logits; None if there are no logits"""


@dataclass(frozen=True)
class Parts:
    """A split and predictions, prepared for checks.

    Frames have the columns list, user and item, all as codes, and grade and timestamp if available.
    """

    users: Ids
    keys: Ids
    """the keys of lists: the users, unless lists have another key"""
    items: Ids
    profile: Profile
    """the profile for measuring effects; it accepts what the requested one would refuse"""
    asked: Profile
    """the requested profile"""
    metrics: tuple[str, ...]
    depth: int
    """the deepest cutoff"""
    key: str = USER
    """the column that identifies lists"""
    noun: str = "item"
    """what is ranked: items, or classes"""
    train: pl.DataFrame | None = None
    learnt: pl.DataFrame | None = None
    """the items of the training data: those of train, or the training targets"""
    truth: pl.DataFrame | None = None
    validation: pl.DataFrame | None = None
    lists: pl.DataFrame | None = None
    """list, item, place (the rank, from 1), [score]; dense scores are reduced to the top items"""
    handed: pl.Series | None = None
    """the keys of all given lists, including empty ones"""
    scored: AuditedScores | None = None
    catalogue: pl.DataFrame | None = None
    evaluated: pl.DataFrame | None = None
    """the users to evaluate"""
    weights: pl.DataFrame | None = None
    """list, weight: the weight of each list"""
    folds: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    base: AuditCase | None = None
    """what is evaluated unchanged; None if truth or predictions are missing"""
    ranked: Any = None
    """the predictions to evaluate: valid rows of lists, or scores; None without predictions"""
    order: str = "given"
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """the worst and best values that ties allow, if they differ"""

    @cached_property
    def relaxed(self) -> dict[str, tuple[Any, Any]]:
        """The switches whose choice was replaced for measuring, with both choices."""
        return self.asked.convention.differences(self.profile.convention)

    @cached_property
    def usual_repeats(self) -> bool:
        """Whether users of the training data often return to an item."""
        if self.train is None or not self.train.height:
            return False
        pairs = self.train[PAIR].n_unique()
        return (self.train.height - pairs) / pairs >= REPEATED

    @property
    def seen(self) -> Literal["kept", "removed"]:
        """What happens to seen items when popular items replace predictions."""
        return "kept" if self.usual_repeats else "removed"

    @cached_property
    def owned(self) -> bool:
        """Whether the user of every list is known."""
        given = [part for part in (self.lists, self.truth) if part is not None]
        return all(USER in part.columns and not part[USER].null_count() for part in given)

    def scored_train(self) -> pl.DataFrame:
        """Return the training rows of items that have a score."""
        train, scored = present(self.train), self.scored
        return (
            train if scored is None else train.filter(train["item"].is_in(scored.items.implode()))
        )

    def has(self, need: str) -> bool:
        """Return whether something that a check needs is available: a part, or a column of one."""
        available = {
            "timestamps": all(_has_column(part, TIME) for part in (self.train, self.truth)),
            "scores": _has_column(self.lists, "score") or self.scored is not None,
            "truth's users": _has_column(self.truth, USER),
            "validation's users": _has_column(self.validation, USER),
            "lists' users": _has_column(self.lists, USER),
            "targets": self.scored is not None and self.scored.wrong_targets is not None,
            "folds": bool(self.folds),
        }
        return available[need] if need in available else getattr(self, need) is not None

    def sizes(self) -> dict[str, int]:
        """Return the number of rows of every given part."""
        tables = {
            "train": self.learnt, "validation": self.validation, "truth": self.truth,
            "predictions": self.lists,
        }  # fmt: skip
        sizes = {name: table.height for name, table in tables.items() if table is not None}
        if self.scored is not None:
            sizes["predictions"] = self.scored.cells
        return sizes | {f"fold {name}": fold.height for name, fold in self.folds.items()}

    def lists_wanted(self) -> pl.DataFrame:
        """Return the lists of the truth."""
        return present(self.truth).select("list").unique(maintain_order=True)

    def label(self, row: Mapping[str, Any]) -> str:
        """Describe a row by its ids."""
        kinds = {
            "list": (self.key, self.keys),
            USER: (USER, self.users),
            "item": (self.noun, self.items),
        }
        if self.key == USER and USER in row:
            del kinds["list"]
        return ", ".join(
            f"{word} {_show_id(ids, row[column])}"
            for column, (word, ids) in kinds.items()
            if row.get(column) is not None
        )

    def first(self, rows: pl.DataFrame) -> str:
        """Describe the first row by its ids; empty if there is none."""
        return self.label(rows.row(0, named=True)) if rows.height else ""

    def against(self, **changes: Any) -> Compared:
        """Compare the unchanged case with one that has another truth, lists or switches."""
        return None if self.base is None else (self.base, replace(self.base, **changes))

    def without_truth(self, other: pl.DataFrame, by: str | list[str]) -> Compared:
        """Compare the unchanged case with one without the truth rows that a table contains."""
        return self._other_truth(other, by, "anti")

    def with_truth(self, other: pl.DataFrame, by: str | list[str]) -> Compared:
        """Compare the unchanged case with one with only the truth rows that a table contains."""
        return self._other_truth(other, by, "semi")

    def _other_truth(
        self, other: pl.DataFrame, by: str | list[str], how: Literal["anti", "semi"]
    ) -> Compared:
        needed = {by} if isinstance(by, str) else {*by}
        if self.base is None or not needed <= {*self.base.truth.columns}:
            return None
        truth = self.base.truth.join(other, on=by, how=how, maintain_order="left")
        return self.against(truth=truth)

    def without(self, rows: pl.DataFrame, by: Literal["list", "user"]) -> Compared:
        """Compare the unchanged case with one without some lists, or the lists of some users."""
        if self.base is None or by not in self.base.truth.columns:
            return None
        base, removed = self.base, rows.select(by).unique()
        truth = base.truth.join(removed, on=by, how="anti", maintain_order="left")
        lists, handed = base.lists, base.handed
        if isinstance(lists, pl.DataFrame) and by in lists.columns:
            lists = lists.join(removed, on=by, how="anti", maintain_order="left")
        if handed is not None:
            keys = base.truth.join(removed, on=by, how="semi")["list"]
            handed = handed.filter(~handed.is_in(keys.implode()))
        return self.against(truth=truth, lists=lists, handed=handed)


def _has_column(part: pl.DataFrame | None, column: str) -> bool:
    return part is not None and column in part.columns


def _show_id(ids: Ids, code: int) -> str:
    return repr(ids.labels(np.array([code], np.int64))[0])


def present(part: pl.DataFrame | None) -> pl.DataFrame:
    """Return a part that a check needs, which is therefore available."""
    if part is None:
        raise BadExtension(
            "a check uses a part that it does not name among its needs.",
            "every part that a check uses among the arguments of @check.",
            "add the part there.",
        )
    return part


BY_LIST = ("truth", "validation", "predictions", "weights")
"""Tables with one row per list and item; the others have users instead of lists."""
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CodedTable:
    """Frames with codes instead of ids."""

    frames: Mapping[str, pl.DataFrame]
    users: Ids
    lists: Ids
    items: Ids


def code_tables(tables: Mapping[str, Table], dense: Dense | None, key: str) -> CodedTable:
    """Replace the ids of all tables by codes, and number pairs and cells."""
    frames = {name: _by_role(name, table.frame, key) for name, table in tables.items()}
    if dense is not None:
        frames["scores"] = _by_role("truth", dense.table.frame, key)
    predictions = tables.get("predictions")
    if predictions is not None and predictions.handed is not None:
        frames["handed"] = predictions.handed.to_frame(USER if key == USER else "list")
    users, lists = (_ids(role, frames, tables, dense) for role in (USER, "list"))
    items = _ids("item", frames, tables, dense)
    ids = {"list": lists, USER: users, "item": items}
    numbered = {
        name: _codes(name, frame, ids) for name, frame in frames.items() if name != "scores"
    }
    owned = numbered if key == USER else _add_owners(numbered)
    return CodedTable(_with_times(_number_pairs(owned, key)), users, lists or users, items)


def _by_role(name: str, frame: pl.DataFrame, key: str) -> pl.DataFrame:
    """Name the column of users `user`, and the column of other list keys `list`."""
    by_list = key != USER and name in BY_LIST
    return frame if by_list or "list" not in frame.columns else frame.rename({"list": USER})


def _ids(
    role: str, frames: Mapping[str, pl.DataFrame], tables: Mapping[str, Table], dense: Dense | None
) -> Any:
    """Return common codes for all columns of one kind of id; None if there are none."""
    columns = {}
    for name, frame in frames.items():
        table = tables.get("predictions" if name == "handed" else name)
        if role in frame.columns and table is not None:
            columns[name] = Column(frame[role], table.source, table.text)
        elif dense is not None and name == "scores" and role in (*frame.columns, "item"):
            columns[name] = Column(dense.items if role == "item" else frame[role], dense.source)
    return align(columns, role) if columns else None


def _codes(name: str, frame: pl.DataFrame, ids: Mapping[str, Any]) -> pl.DataFrame:
    codes = {
        role: pl.Series(role, aligned.codes[name].whole)
        for role, aligned in ids.items()
        if aligned is not None and name in aligned.codes
    }
    return frame.drop(*codes, strict=False).with_columns(**codes)


def _add_owners(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Add the users of lists to frames that lack them, if another frame has them."""
    listed = {name: frames[name] for name in BY_LIST if name in frames}
    with_users = [frame for frame in listed.values() if USER in frame.columns]
    if not with_users:
        return {**frames}
    owners = with_users[0].select("list", USER).unique("list", maintain_order=True)
    joined = {
        name: frame.join(owners, on="list", how="left", maintain_order="left")
        for name, frame in listed.items()
        if USER not in frame.columns
    }
    return {**frames, **joined}


def _number_pairs(frames: Mapping[str, pl.DataFrame], key: str) -> dict[str, pl.DataFrame]:
    """Number each pair, and each cell if lists are not users."""
    if key != USER:
        return _with_numbers(_with_numbers(frames, USER, PAIR), "list", CELL)
    paired = _with_numbers(frames, USER, PAIR)
    same = [pl.col(USER).alias("list"), pl.col(PAIR).alias(CELL)]
    listed = {
        name: paired[name].with_columns(same if PAIR in paired[name].columns else same[:1])
        for name in BY_LIST
        if name in paired
    }
    return {**paired, **listed}


def _with_numbers(
    frames: Mapping[str, pl.DataFrame], side: str, name: str
) -> dict[str, pl.DataFrame]:
    both = {n: f for n, f in frames.items() if {side, "item"} <= set(f.columns)}
    full = {n: frame for n, frame in both.items() if frame.height}
    numbers = _numbers(full, side) if full else {}
    none = pl.Series([], dtype=pl.Int64)
    named = {n: f.with_columns(numbers.get(n, none).alias(name)) for n, f in both.items()}
    return {**frames, **named}


def _numbers(frames: Mapping[str, pl.DataFrame], side: str) -> dict[str, pl.Series]:
    """Return one number for each pair of codes, the same in all frames."""
    (low, many), (low_item, items) = (_range(frames, column) for column in (side, "item"))
    if many * items > _LARGEST:
        return _rank_pairs(frames, side)
    number = (pl.col(side) - low) * items + pl.col("item") - low_item
    return {name: frame.select(number).to_series() for name, frame in frames.items()}


def _range(frames: Mapping[str, pl.DataFrame], column: str) -> tuple[int, int]:
    """Return the lowest code of all frames, and the size of the range up to the highest."""
    ends = [(frame[column].min(), frame[column].max()) for frame in frames.values()]
    codes: list[Any] = [end for pair in ends for end in pair if end is not None]
    low = min(codes, default=0)
    return low, max(codes, default=0) - low + 1


def _rank_pairs(frames: Mapping[str, pl.DataFrame], side: str) -> dict[str, pl.Series]:
    """Number pairs by their sorted order, for codes whose products would be too large."""
    together = pl.concat([frame.select(side, "item") for frame in frames.values()])
    ranks = together.select(pl.struct(side, "item").rank("dense").cast(pl.Int64)).to_series()
    sizes = [frame.height for frame in frames.values()]
    slices = zip(frames, accumulate(sizes[:-1], initial=0), sizes, strict=True)
    return {name: ranks.slice(start, size) for name, start, size in slices}


def _with_times(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Make timestamps comparable: all numbers, or all points in time."""
    timed = {name: frame for name, frame in frames.items() if TIME in frame.columns}
    read = {name: convert_times(frame[TIME], name) for name, frame in timed.items() if frame.height}
    read |= {
        name: column.cast(pl.Float64) for name, column in read.items() if column.dtype.is_integer()
    }
    kinds = {name: str(column.dtype) for name, column in read.items()}
    if len(set(kinds.values())) > 1:
        shown = ", ".join(f"{kind} in {name}" for name, kind in kinds.items())
        raise BadTable(
            f"timestamps are {shown}.",
            "the same type of timestamps in every part.",
            "convert them to one type.",
        )
    converted = {
        name: frame.with_columns(read[name]) for name, frame in timed.items() if name in read
    }
    return {**frames, **converted}
