"""`State`: everything that an evaluation has added up. States are added exactly, in any order, so
each batch, slice or machine can make one; their sum is the state of all lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Keys
from rectitude.aggregate.sums import Sums, Total, state_by_user
from rectitude.arrays import Floats, Integers
from rectitude.data.ids import kind_of
from rectitude.data.ledger import Ledger
from rectitude.errors import BadIds, BadScores, NotComparable, RectitudeError
from rectitude.evaluation.plan import Plan, bound_names

Key = tuple[str, ...]
"""The label of a slice on each axis."""


@dataclass(frozen=True, eq=False)
class KeptValues:
    """The keys, users and values of lists, batch by batch."""

    lists: tuple[Keys, ...] = ()
    held: tuple[Mapping[str, Floats], ...] = field(default=())

    @staticmethod
    def of(keys: Keys | None, values: Mapping[str, Floats]) -> KeptValues:
        """Return the values of one batch; an empty value if there is nothing to keep."""
        return KeptValues() if keys is None or not values else KeptValues((keys,), (values,))

    def __add__(self, other: KeptValues) -> KeptValues:
        if self.lists and other.lists:
            left, right = self.lists[0], other.lists[0]
            _require_alike([left.keys, right.keys])
            _require_alike([left.users, right.users])
        return KeptValues(self.lists + other.lists, self.held + other.held)

    def names(self) -> list[str]:
        """Return the metrics whose values are kept for every batch."""
        first = self.held[0] if self.held else {}
        return [name for name in first if all(name in batch for batch in self.held)]

    def values(self, name: str) -> Floats:
        """Return the values of a metric, batch by batch."""
        return np.concatenate([batch[name] for batch in self.held])

    def keys(self) -> Keys | None:
        """Return all lists with their users; None if nothing is kept."""
        if not self.lists:
            return None
        keys = _join_ids([batch.keys for batch in self.lists])
        users = _join_ids([batch.users.gather(batch.owners) for batch in self.lists])
        names, owners = _number_users(users)
        return Keys(keys, owners, names, self.lists[0].by_user, self._weights())

    def by_user(self, name: str) -> tuple[Floats, Floats | None, Integers]:
        """Return the values of a metric that count, their weights, and the user number of each."""
        keys, values = self.keys(), self.values(name)
        if keys is None:
            return values, None, np.empty(0, np.int64)
        counts = np.isfinite(values)
        weights = None if keys.weights is None else keys.weights[counts]
        return values[counts], weights, keys.owners[counts]

    def _weights(self) -> Floats | None:
        if all(batch.weights is None for batch in self.lists):
            return None
        weights = [
            np.ones(len(keys.keys)) if keys.weights is None else keys.weights for keys in self.lists
        ]
        return np.concatenate(weights)


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """The sums of every measured metric, with the ledger and the manifest."""

    totals: Mapping[str, Total] = field(default_factory=dict)
    failures: Mapping[str, RectitudeError] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    kept: KeptValues = field(default_factory=KeptValues)
    """values of lists, if they were requested or users are averaged at the end"""
    slices: Mapping[str, SlicedStates] = field(default_factory=dict)
    """by the name of the slicing"""
    lists: int = 0
    relevant: int = 0
    """relevant rows of the truth; counted only with slices"""
    batches: int = 0

    def __add__(self, other: State) -> State:
        if not (self.batches and other.batches):
            return self if self.batches else other
        shared = [name for name in self.totals if name in other.totals]
        return State(
            {name: self.totals[name] + other.totals[name] for name in shared},
            {**other.failures, **self.failures},
            merge_ledgers(self.ledger, other.ledger),
            merge_manifests(self.manifest, other.manifest),
            self.kept + other.kept,
            {name: sliced.plus(other.slices[name], name) for name, sliced in self.slices.items()},
            self.lists + other.lists,
            self.relevant + other.relevant,
            self.batches + other.batches,
        )


@dataclass(frozen=True, slots=True, eq=False)
class SlicedStates:
    """The states of the slices of one slicing."""

    of: Literal["lists", "rows"]
    orders: tuple[Key | None, ...]
    """(axes,) all labels if they come from edges, else None"""
    states: Mapping[Key, State]

    def plus(self, other: SlicedStates, name: str) -> SlicedStates:
        """Add the states of the same slices. Raise an error if they are cut differently."""
        if (self.of, self.orders) != (other.of, other.orders):
            raise NotComparable(
                f"the slices {name!r} are cut differently in two batches: {self._edges()} and "
                f"{other._edges()}.",
                "the same edges in every batch.",
                "pass the same tables with every batch, or give the edges: price:10,50,100.",
            )
        keys, empty = dict.fromkeys([*self.states, *other.states]), State()
        left, right = self.states, other.states
        states = {key: left.get(key, empty) + right.get(key, empty) for key in keys}
        return replace(self, states=states)

    def _edges(self) -> str:
        return "; ".join(", ".join(order) for order in self.orders if order) or self.of


def average_users(state: State, plan: Plan) -> State:
    """Return the state with means over users in place of means over lists, computed from the kept
    values, also in all slices."""
    if not plan.by_user:
        return state
    totals = dict(state.totals)
    for name in [name for name in plan.by_user if name in state.kept.names() and name in totals]:
        list_sums = totals[name].sum
        if isinstance(list_sums, Sums):
            bounds = [_sum_by_user(state, bound, plan) for bound in bound_names(name).values()]
            worst, best = bounds
            tie_bounds = None if worst is None or best is None else (worst, best)
            totals[name] = Total(_sum_by_user(state, name, plan) or list_sums, tie_bounds)
    slices = {
        by: replace(
            sliced, states={key: average_users(cell, plan) for key, cell in sliced.states.items()}
        )
        for by, sliced in state.slices.items()
    }
    return replace(state, totals=totals, slices=slices)


def _sum_by_user(state: State, name: str, plan: Plan) -> Sums | None:
    """Return the sums over users of a metric whose values per list were kept."""
    if name not in state.totals or name not in state.kept.names():
        return None
    sums, list_sums = state_by_user(*state.kept.by_user(name), plan.spread), state.totals[name].sum
    return (
        replace(sums, skipped=list_sums.skipped, nan=list_sums.nan)
        if isinstance(list_sums, Sums)
        else sums
    )


def _join_ids(series: list[pl.Series]) -> pl.Series:
    _require_alike(series)
    if series[0].dtype == pl.Object:
        return pl.Series("id", [v for ids in series for v in ids.to_list()], dtype=pl.Object)
    dtypes = {ids.dtype for ids in series}
    if len(dtypes) > 1:
        large = dtypes & {pl.UInt64, pl.Int128}
        wide = {"integer": pl.Int128 if large else pl.Int64, "text": pl.String}
        series = [ids.cast(wide.get(kind_of(ids), pl.Float64)) for ids in series]
    return pl.concat([ids.alias("id") for ids in series])


def _require_alike(series: list[pl.Series]) -> None:
    """Raise an error for ids of different types, which cannot be matched."""
    kinds = {kind_of(ids): str(ids.dtype) for ids in series}
    if len(kinds) > 1:
        raise BadIds(
            f"ids have different types in different batches: {', '.join(kinds.values())}.",
            "the same type in every batch.",
            "ids in text files are read as integers if all of them are integers, and as text "
            "otherwise: pass all ids as text, or use Parquet.",
        )


def _number_users(users: pl.Series) -> tuple[pl.Series, Integers]:
    """Return the distinct users, and the number of the user of each list."""
    if users.dtype == pl.Object:
        number: dict[Any, int] = {}
        owners = np.array([number.setdefault(user, len(number)) for user in users.to_list()])
        return pl.Series("id", list(number), dtype=pl.Object), owners
    names = users.unique().sort()
    return names, names.search_sorted(users).to_numpy().astype(np.int64)


def merge_ledgers(one: Ledger, other: Ledger) -> Ledger:
    """Add two ledgers. The warning about a batch without any hit is dropped if the other batch has
    a hit."""
    merged, name = one + other, "without_any_hit"
    for entry in [entry for entry in one if entry.name.startswith("items_without_")]:
        pair = (entry, other.entries.get(entry.name, entry))  # batches share a catalogue
        larger, of = max(pair, key=lambda side: side.count), max(side.of or 0 for side in pair)
        merged.entries[entry.name] = replace(larger, of=of)
    if not (name in one and name in other):
        merged.entries.pop(name, None)
    return merged


def merge_manifests(one: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    """Combine two manifests: join sources, and add up rows, lists and fingerprints.

    A fingerprint is a sum over lists, so adding two of them gives the fingerprint of all lists.
    """
    if not (one and other):
        return one or other
    require_same_classes(one, other)
    inputs = {
        side: _merge_inputs(one["inputs"].get(side), other["inputs"].get(side))
        for side in dict.fromkeys([*one["inputs"], *other["inputs"]])
    }
    lists = one["lists"] + other["lists"]
    return {**one, **_join_kernels(one, other), "inputs": inputs, "lists": lists}


def _join_kernels(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, str]:
    """Return what counted on devices in either; nothing if all was counted on the processor."""
    names = [manifest["kernels"].split(", ") for manifest in (one, other) if "kernels" in manifest]
    return {"kernels": ", ".join(sorted({*chain.from_iterable(names)}))} if names else {}


def require_same_classes(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Raise an error if two manifests have logits with different classes, or only one of them has
    logits."""
    if not (one and other):
        return
    left, right = (
        manifest["inputs"].get("predictions", {}).get("classes") for manifest in (one, other)
    )
    if left != right:
        raise BadScores(
            f"batches of {left} and {right} classes cannot be added.",
            "the same number of classes in every batch.",
        )


def _merge_inputs(
    one: Mapping[str, Any] | None, other: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    if one is None or other is None:
        return one or other or {}
    if one.get("hash") is not None and one.get("hash") == other.get("hash"):
        return one  # the same candidates for both
    merged = {**one, "rows": one.get("rows", 0) + other.get("rows", 0)}
    if one["source"] != other["source"]:
        merged["source"] = f"{one['source'].removesuffix(', ...')}, ..."
    if "hash" in one:
        merged["hash"] = f"{one['hash'].removesuffix(', ...')}, ..."
    grades = [side["grades"] for side in (one, other) if "grades" in side]
    if grades:
        merged["grades"] = [min(low for low, _ in grades), max(high for _, high in grades)]
    if "fingerprint" in one:
        merged["fingerprint"] = _add_fingerprints(one["fingerprint"], other["fingerprint"])
    return merged


def _add_fingerprints(one: str, other: str) -> str:
    (scheme, left), (other_scheme, right) = one.split(":"), other.split(":")
    total = (int(left, 16) + int(right, 16)) % 2**64
    schemes = {*scheme.split("+"), *other_scheme.split("+")} - {""}
    return f"{'+'.join(sorted(schemes))}:{total:016x}"
