"""What is audited, as checks look at it: ids are codes common to all parts, times of one type.

Lists may have a key of their own, such as a session; then frames have the columns list and user,
else both are the same. A pair is a user and an item, a cell a list and an item; each has a number.
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
from rectitude.data.times import times
from rectitude.errors import BadName, BadTable
from rectitude.profiles import Profile

PAIR, CELL, TIME = "pair", "cell", "timestamp"
USER = "user"
REPEATED = 0.01
"""from this share of repeated pairs on, training data are of the kind in which users come back"""


@dataclass(frozen=True, eq=False)
class AuditCase:
    """Something to evaluate: predictions, a truth, and what is set otherwise."""

    truth: pl.DataFrame
    lists: Any
    """a frame of ranked lists, dense scores, or logits"""
    handed: pl.Series | None = None
    """lists that were handed over, maybe empty ones"""
    switches: Mapping[str, Any] = field(default_factory=dict)
    weights: Literal["given", "equal"] = "given"


Compared = tuple[AuditCase | None, AuditCase | None] | None
"""what is evaluated as it is, and without what was found; None where nothing can be"""


@dataclass(frozen=True)
class AuditedScores:
    """What was met when dense scores were read."""

    rows: int
    cells: int
    items: pl.Series
    """the items that have a column, as codes"""
    bad: pl.DataFrame
    """list, item: scores that are NaN or infinite, the first of each row"""
    bad_cells: int
    refused: bool
    """whether an evaluation refuses them: NaN, not infinity"""
    constant: pl.Series
    """lists whose scores are all equal"""
    wrong_targets: Mapping[int, Any] | None = None
    """rows of logits whose target is no class number, with it; None if there are no logits"""


@dataclass(frozen=True)
class Parts:
    """A split and predictions, as checks look at them. Frames have the columns list, user and item,
    all codes, and where there are such grade and timestamp."""

    users: Ids
    keys: Ids
    """of lists: the users, unless lists have a key of their own"""
    items: Ids
    profile: Profile
    """under which effects are measured: what it would refuse is let through and counted"""
    asked: Profile
    """the one that was asked for"""
    metrics: tuple[str, ...]
    depth: int
    """the deepest cutoff"""
    key: str = USER
    """what tells lists apart"""
    noun: str = "item"
    """what is ranked: items, or classes"""
    train: pl.DataFrame | None = None
    learnt: pl.DataFrame | None = None
    """the items of training: those of train, or the targets of training"""
    truth: pl.DataFrame | None = None
    validation: pl.DataFrame | None = None
    lists: pl.DataFrame | None = None
    """list, item, place (from 1 in each list), [score]; of dense scores the first places only"""
    handed: pl.Series | None = None
    """lists that were handed over, maybe empty ones"""
    scored: AuditedScores | None = None
    catalogue: pl.DataFrame | None = None
    evaluated: pl.DataFrame | None = None
    """the users to evaluate"""
    weights: pl.DataFrame | None = None
    """list, weight: what each list weighs"""
    folds: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    base: AuditCase | None = None
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

    @cached_property
    def owned(self) -> bool:
        """Whether it is known of every list whose it is."""
        told = [part for part in (self.lists, self.truth) if part is not None]
        return all(USER in part.columns and not part[USER].null_count() for part in told)

    def trained(self) -> pl.DataFrame:
        """The training rows of items that have a score."""
        train, scored = present(self.train), self.scored
        return (
            train if scored is None else train.filter(train["item"].is_in(scored.items.implode()))
        )

    def has(self, need: str) -> bool:
        """Whether something is there that a check needs: a part, or something about parts."""
        told = {
            "timestamps": all(_with(part, TIME) for part in (self.train, self.truth)),
            "scores": _with(self.lists, "score") or self.scored is not None,
            "truth's users": _with(self.truth, USER),
            "validation's users": _with(self.validation, USER),
            "lists' users": _with(self.lists, USER),
            "targets": self.scored is not None and self.scored.wrong_targets is not None,
            "folds": bool(self.folds),
        }
        return told[need] if need in told else getattr(self, need) is not None

    def sizes(self) -> dict[str, int]:
        """The rows of every part that was handed over."""
        tables = {
            "train": self.learnt, "validation": self.validation, "truth": self.truth,
            "predictions": self.lists,
        }  # fmt: skip
        sizes = {name: table.height for name, table in tables.items() if table is not None}
        if self.scored is not None:
            sizes["predictions"] = self.scored.cells
        return sizes | {f"fold {name}": fold.height for name, fold in self.folds.items()}

    def wanted(self) -> pl.DataFrame:
        """The lists that the truth asks for."""
        return present(self.truth).select("list").unique(maintain_order=True)

    def label(self, row: Mapping[str, Any]) -> str:
        """A row as a finding names it."""
        kinds = {
            "list": (self.key, self.keys),
            USER: (USER, self.users),
            "item": (self.noun, self.items),
        }
        if self.key == USER and USER in row:
            del kinds["list"]
        return ", ".join(
            f"{word} {_shown(ids, row[column])}"
            for column, (word, ids) in kinds.items()
            if row.get(column) is not None
        )

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
        needed = {by} if isinstance(by, str) else {*by}
        if self.base is None or not needed <= {*self.base.truth.columns}:
            return None
        truth = self.base.truth.join(other, on=by, how=how, maintain_order="left")
        return self.against(truth=truth)

    def without(self, found: pl.DataFrame, by: Literal["list", "user"]) -> Compared:
        """What is evaluated as it is, and the same without some lists, or those of some users."""
        if self.base is None or by not in self.base.truth.columns:
            return None
        base, found = self.base, found.select(by).unique()
        truth = base.truth.join(found, on=by, how="anti", maintain_order="left")
        lists, handed = base.lists, base.handed
        if isinstance(lists, pl.DataFrame) and by in lists.columns:
            lists = lists.join(found, on=by, how="anti", maintain_order="left")
        if handed is not None:
            gone = base.truth.join(found, on=by, how="semi")["list"]
            handed = handed.filter(~handed.is_in(gone.implode()))
        return self.against(truth=truth, lists=lists, handed=handed)


def _with(part: pl.DataFrame | None, column: str) -> bool:
    return part is not None and column in part.columns


def _shown(ids: Ids, code: int) -> str:
    return repr(ids.labels(np.array([code], np.int64))[0])


def present(part: pl.DataFrame | None) -> pl.DataFrame:
    """A part that a check has asked for, so that it is there."""
    if part is None:
        raise BadName("a check looks at a part that it does not name among its needs.")
    return part


BY_LIST = ("truth", "validation", "predictions", "weights")
"""Tables that go by list; the others go by user."""
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CodedTable:
    """Frames whose ids are codes."""

    frames: Mapping[str, pl.DataFrame]
    users: Ids
    lists: Ids
    items: Ids


def coded(tables: Mapping[str, Table], dense: Dense | None, key: str) -> CodedTable:
    """All tables with codes in the place of ids, and numbers of pairs and cells."""
    frames = {name: _by_role(name, table.frame, key) for name, table in tables.items()}
    if dense is not None:
        frames["scores"] = _by_role("truth", dense.table.frame, key)
    listed = tables.get("predictions")
    if listed is not None and listed.handed is not None:
        frames["handed"] = listed.handed.to_frame(USER if key == USER else "list")
    users, lists = (_ids(role, frames, tables, dense) for role in (USER, "list"))
    items = _ids("item", frames, tables, dense)
    known = {"list": lists, USER: users, "item": items}
    numbered = {
        name: _codes(name, frame, known) for name, frame in frames.items() if name != "scores"
    }
    owned = numbered if key == USER else _owned(numbered)
    return CodedTable(_with_times(_numbered(owned, key)), users, lists or users, items)


def _by_role(name: str, frame: pl.DataFrame, key: str) -> pl.DataFrame:
    """A frame with users in the column user, and keys of lists that are none in the column list."""
    by_list = key != USER and name in BY_LIST
    return frame if by_list or "list" not in frame.columns else frame.rename({"list": USER})


def _ids(
    role: str, frames: Mapping[str, pl.DataFrame], tables: Mapping[str, Table], dense: Dense | None
) -> Any:
    """All columns of one kind of id in common codes; None if there are none."""
    columns = {}
    for name, frame in frames.items():
        table = tables.get("predictions" if name == "handed" else name)
        if role in frame.columns and table is not None:
            columns[name] = Column(frame[role], table.source, table.text)
        elif dense is not None and name == "scores" and role in (*frame.columns, "item"):
            columns[name] = Column(dense.items if role == "item" else frame[role], dense.source)
    return align(columns, role) if columns else None


def _codes(name: str, frame: pl.DataFrame, known: Mapping[str, Any]) -> pl.DataFrame:
    codes = {
        role: pl.Series(role, ids.codes[name].whole)
        for role, ids in known.items()
        if ids is not None and name in ids.codes
    }
    return frame.drop(*codes, strict=False).with_columns(**codes)


def _owned(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The frames with the users of lists, where only one of them says whose lists they are."""
    listed = {name: frames[name] for name in BY_LIST if name in frames}
    told = [frame for frame in listed.values() if USER in frame.columns]
    if not told:
        return {**frames}
    owners = told[0].select("list", USER).unique("list", maintain_order=True)
    joined = {
        name: frame.join(owners, on="list", how="left", maintain_order="left")
        for name, frame in listed.items()
        if USER not in frame.columns
    }
    return {**frames, **joined}


def _numbered(frames: Mapping[str, pl.DataFrame], key: str) -> dict[str, pl.DataFrame]:
    """The frames with a number for each pair; and for each cell, where lists are not users."""
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
    """One number for each pair of codes, the same in all frames."""
    (low, many), (low_item, items) = (_range(frames, column) for column in (side, "item"))
    if many * items > _LARGEST:
        return _ranked(frames, side)
    number = (pl.col(side) - low) * items + pl.col("item") - low_item
    return {name: frame.select(number).to_series() for name, frame in frames.items()}


def _range(frames: Mapping[str, pl.DataFrame], column: str) -> tuple[int, int]:
    """The lowest code of all frames, and how many there are up to the highest."""
    ends = [(frame[column].min(), frame[column].max()) for frame in frames.values()]
    known: list[Any] = [end for pair in ends for end in pair if end is not None]
    low = min(known, default=0)
    return low, max(known, default=0) - low + 1


def _ranked(frames: Mapping[str, pl.DataFrame], side: str) -> dict[str, pl.Series]:
    """The places of pairs among all of them, where products of codes would be too large."""
    together = pl.concat([frame.select(side, "item") for frame in frames.values()])
    ranks = together.select(pl.struct(side, "item").rank("dense").cast(pl.Int64)).to_series()
    sizes = [frame.height for frame in frames.values()]
    slices = zip(frames, accumulate(sizes[:-1], initial=0), sizes, strict=True)
    return {name: ranks.slice(start, size) for name, start, size in slices}


def _with_times(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The frames with timestamps that can be compared: all numbers, or all points in time."""
    timed = {name: frame for name, frame in frames.items() if TIME in frame.columns}
    read = {name: times(frame[TIME], name) for name, frame in timed.items() if frame.height}
    read |= {
        name: column.cast(pl.Float64) for name, column in read.items() if column.dtype.is_integer()
    }
    kinds = {name: str(column.dtype) for name, column in read.items()}
    if len(set(kinds.values())) > 1:
        shown = ", ".join(f"{kind} in {name}" for name, kind in kinds.items())
        raise BadTable(f"timestamps are {shown}.", "the same type in every part.")
    one = {name: frame.with_columns(read[name]) for name, frame in timed.items() if name in read}
    return {**frames, **one}
