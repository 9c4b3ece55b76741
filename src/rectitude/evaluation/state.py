"""`State`: everything that an evaluation has added up. States add exactly, in any order, so that
batches, slices and machines each make one, and the sum is that of all lists at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Keys
from rectitude.aggregate.sums import Sums, Total, state_by_user
from rectitude.arrays import Floats, Integers
from rectitude.data.ids import kind_of
from rectitude.data.ledger import Ledger
from rectitude.errors import BadIds, BadName, BadScores, RectitudeError
from rectitude.evaluation.plan import Plan, bound_names

Key = tuple[str, ...]
"""The label of a slice on each axis."""


@dataclass(frozen=True)
class KeptValues:
    """The keys, users and values of lists, batch by batch."""

    lists: tuple[Keys, ...] = ()
    held: tuple[Mapping[str, Floats], ...] = field(default=())

    @staticmethod
    def of(keys: Keys | None, values: Mapping[str, Floats]) -> KeptValues:
        """One batch; nothing if there are no values to keep."""
        return KeptValues() if keys is None or not values else KeptValues((keys,), (values,))

    def __add__(self, other: KeptValues) -> KeptValues:
        if self.lists and other.lists:
            mine, theirs = self.lists[0], other.lists[0]
            _require_alike([mine.keys, theirs.keys])
            _require_alike([mine.users, theirs.users])
        return KeptValues(self.lists + other.lists, self.held + other.held)

    def names(self) -> list[str]:
        """The metrics whose values are kept of every batch."""
        first = self.held[0] if self.held else {}
        return [name for name in first if all(name in part for part in self.held)]

    def values(self, name: str) -> Floats:
        """The values of a metric, batch after batch."""
        return np.concatenate([part[name] for part in self.held])

    def keys(self) -> Keys | None:
        """All lists with their users; None if nothing is kept."""
        if not self.lists:
            return None
        keys = _joined([one.keys for one in self.lists])
        users = _joined([one.users.gather(one.owners) for one in self.lists])
        names, owners = _numbered(users)
        return Keys(keys, owners, names, self.lists[0].by_user, self._weights())

    def by_user(self, name: str) -> tuple[Floats, Floats | None, Integers]:
        """The values that count of a metric, their weights, and the number of each one's user."""
        keys, values = self.keys(), self.values(name)
        if keys is None:
            return values, None, np.empty(0, np.int64)
        there = np.isfinite(values)
        weights = None if keys.weights is None else keys.weights[there]
        return values[there], weights, keys.owners[there]

    def _weights(self) -> Floats | None:
        if all(one.weights is None for one in self.lists):
            return None
        each = [np.ones(len(k.keys)) if k.weights is None else k.weights for k in self.lists]
        return np.concatenate(each)


@dataclass(frozen=True, slots=True)
class State:
    """Sums of every measured metric, and what was counted and met on the way."""

    totals: Mapping[str, Total] = field(default_factory=dict)
    failures: Mapping[str, RectitudeError] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    kept: KeptValues = field(default_factory=KeptValues)
    """values of lists, where they were asked for or users are averaged at the end"""
    slices: Mapping[str, SlicedStates] = field(default_factory=dict)
    """by the name of the slicing"""
    lists: int = 0
    relevant: int = 0
    """relevant rows of the truth; counted where there are slices"""
    batches: int = 0

    def __add__(self, other: State) -> State:
        if not (self.batches and other.batches):
            return self if self.batches else other
        both = [name for name in self.totals if name in other.totals]
        return State(
            {name: self.totals[name] + other.totals[name] for name in both},
            {**other.failures, **self.failures},
            merged_ledger(self.ledger, other.ledger),
            merged_manifest(self.manifest, other.manifest),
            self.kept + other.kept,
            {name: one.plus(other.slices[name], name) for name, one in self.slices.items()},
            self.lists + other.lists,
            self.relevant + other.relevant,
            self.batches + other.batches,
        )


@dataclass(frozen=True, slots=True)
class SlicedStates:
    """The states of the slices of one slicing."""

    of: Literal["lists", "rows"]
    orders: tuple[Key | None, ...]
    """(axes,) all labels where they come from edges, else None"""
    states: Mapping[Key, State]

    def plus(self, other: SlicedStates, name: str) -> SlicedStates:
        """Both together; an error if they are cut differently."""
        if (self.of, self.orders) != (other.of, other.orders):
            raise BadName(
                f"the slices {name!r} are cut differently in two batches: {self._edges()} and "
                f"{other._edges()}.",
                "the same edges in every batch.",
                "hand the same tables to every batch, or name the edges: price:10,50,100.",
            )
        keys, nothing = dict.fromkeys([*self.states, *other.states]), State()
        mine, theirs = self.states, other.states
        both = {key: mine.get(key, nothing) + theirs.get(key, nothing) for key in keys}
        return replace(self, states=both)

    def _edges(self) -> str:
        return "; ".join(", ".join(order) for order in self.orders if order) or self.of


def average_users(state: State, plan: Plan) -> State:
    """The state with the means of users in place of those of lists, from the values kept of
    these, in all slices, too."""
    if not plan.by_user:
        return state
    totals = dict(state.totals)
    for name in [name for name in plan.by_user if name in state.kept.names() and name in totals]:
        rest = totals[name].sum
        if isinstance(rest, Sums):
            bounds = [_by_user(state, bound, plan) for bound in bound_names(name).values()]
            worst, best = bounds
            both = None if worst is None or best is None else (worst, best)
            totals[name] = Total(_by_user(state, name, plan) or rest, both)
    slices = {
        by: replace(
            one, states={key: average_users(cell, plan) for key, cell in one.states.items()}
        )
        for by, one in state.slices.items()
    }
    return replace(state, totals=totals, slices=slices)


def _by_user(state: State, name: str, plan: Plan) -> Sums | None:
    """The sums over users of a metric of which values per list were kept."""
    if name not in state.totals or name not in state.kept.names():
        return None
    sums, rest = state_by_user(*state.kept.by_user(name), plan.spread), state.totals[name].sum
    return replace(sums, skipped=rest.skipped, nan=rest.nan) if isinstance(rest, Sums) else sums


def _joined(parts: list[pl.Series]) -> pl.Series:
    _require_alike(parts)
    if parts[0].dtype == pl.Object:
        return pl.Series("id", [v for part in parts for v in part.to_list()], dtype=pl.Object)
    dtypes = {part.dtype for part in parts}
    if len(dtypes) > 1:
        large = dtypes & {pl.UInt64, pl.Int128}
        wide = {"integer": pl.Int128 if large else pl.Int64, "text": pl.String}
        parts = [part.cast(wide.get(kind_of(part), pl.Float64)) for part in parts]
    return pl.concat([part.alias("id") for part in parts])


def _require_alike(parts: list[pl.Series]) -> None:
    """Refuse ids of different kinds, which could not be told apart or brought together."""
    kinds = {kind_of(part): str(part.dtype) for part in parts}
    if len(kinds) > 1:
        raise BadIds(
            f"ids have different types in different batches: {', '.join(kinds.values())}.",
            "the same type in every batch.",
            "ids in files without types are integers where all of them are, else text: hand over"
            " all of them as text, or in Parquet.",
        )


def _numbered(users: pl.Series) -> tuple[pl.Series, Integers]:
    """The different users, and the number of each one's."""
    if users.dtype == pl.Object:
        number: dict[Any, int] = {}
        owners = np.array([number.setdefault(user, len(number)) for user in users.to_list()])
        return pl.Series("id", list(number), dtype=pl.Object), owners
    names = users.unique().sort()
    return names, names.search_sorted(users).to_numpy().astype(np.int64)


def merged_ledger(one: Ledger, other: Ledger) -> Ledger:
    """What was counted in both; a batch without any hit is worth no word if another has one."""
    both, name = one + other, "without_any_hit"
    for entry in [entry for entry in one if entry.name.startswith("items_without_")]:
        pair = (entry, other.entries.get(entry.name, entry))  # batches share a catalogue
        most, of = max(pair, key=lambda found: found.count), max(found.of or 0 for found in pair)
        both.entries[entry.name] = replace(most, of=of)
    both.entries.pop(name, None)
    if name in one and name in other:
        both.entries[name] = one.entries[name]
    return both


def merged_manifest(one: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where two parts came from: sources joined, rows and lists added, fingerprints too.

    A fingerprint is a sum over lists, so that of the parts is that of the whole.
    """
    if not (one and other):
        return one or other
    inputs = {
        side: _merged(one["inputs"].get(side), other["inputs"].get(side))
        for side in dict.fromkeys([*one["inputs"], *other["inputs"]])
    }
    return {**one, "inputs": inputs, "lists": one["lists"] + other["lists"]}


def _merged(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if one is None or other is None:
        return one or other or {}
    if one.get("classes") != other.get("classes"):
        raise BadScores(
            f"batches of {one.get('classes')} and {other.get('classes')} classes cannot be added.",
            "the same classes in every batch.",
        )
    if one.get("hash") is not None and one.get("hash") == other.get("hash"):
        return one  # the same candidates for both
    merged = {**one, "rows": one.get("rows", 0) + other.get("rows", 0)}
    if one["source"] != other["source"]:
        merged["source"] = f"{one['source'].removesuffix(', ...')}, ..."
    if "hash" in one:
        merged["hash"] = f"{one['hash'].removesuffix(', ...')}, ..."
    if "fingerprint" in one:
        merged["fingerprint"] = _sum(one["fingerprint"], other["fingerprint"])
    return merged


def _sum(one: str, other: str) -> str:
    (scheme, mine), (kind, theirs) = one.split(":"), other.split(":")
    total = (int(mine, 16) + int(theirs, 16)) % 2**64
    return f"{'+'.join(sorted({scheme, kind}))}:{total:016x}"
