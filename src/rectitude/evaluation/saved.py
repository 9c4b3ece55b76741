"""Saving and loading an `Evaluator` as JSON, so nothing in a file is ever executed."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Keys
from rectitude.aggregate.spread import Spread
from rectitude.aggregate.sums import ByGroup, Counted, Sums, Total
from rectitude.arrays import Floats
from rectitude.convention import Convention
from rectitude.data.ledger import Ledger
from rectitude.errors import BadExtension, BadIds, RectitudeError, UnknownName, UnreadableFile
from rectitude.evaluation.axes import Axis
from rectitude.evaluation.plan import Slicings
from rectitude.evaluation.state import KeptValues, SlicedStates, State
from rectitude.evaluation.stream import Evaluator
from rectitude.extensions import import_nothing_for
from rectitude.profiles import Profile
from rectitude.storage import read_stored, require_format, write_text

FORMAT = "rectitude.evaluator"
FORMAT_VERSION = 1


def save(evaluator: Evaluator, path: str | os.PathLike[str]) -> None:
    """Write an evaluator; the file is written completely or not at all."""
    write_text(path, json.dumps(store(evaluator), allow_nan=False))


def store(evaluator: Evaluator) -> dict[str, Any]:
    """Return everything that an evaluator has added up, for JSON."""
    state = evaluator.state
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "metrics": evaluator.names,
        "profile": _store_profile(evaluator.profile),
        "intervals": evaluator.intervals,
        "per_list": evaluator.per_list,
        "batches": state.batches,
        "totals": {name: _store_total(total) for name, total in state.totals.items()},
        "ledger": state.ledger.as_dict(),
        "manifest": state.manifest,
        "kept": _store_kept(state.kept),
        **({"slices": _store_slices(evaluator.slices, state)} if evaluator.slices else {}),
    }


def load(path: str | os.PathLike[str]) -> Evaluator:
    """Read an evaluator that `save` wrote."""
    where = os.fspath(path)
    stored = read_stored(path, "evaluator", "a file written by Evaluator.save.")
    stored = require_format(stored, where, "evaluator", FORMAT_VERSION)
    try:
        with import_nothing_for(where):
            evaluator = restore(stored)
            _try_out(evaluator)
    except (UnknownName, BadExtension):  # a custom metric that is not registered or imported
        raise
    except Exception as error:  # a damaged file can cause any error
        raise UnreadableFile(f"{where} is damaged: {error!r}.", "a complete evaluator.") from error
    return evaluator


def _try_out(evaluator: Evaluator) -> None:
    """Use a loaded evaluator once, so damage is found now and not later."""
    if evaluator.batches != 0:
        evaluation = (evaluator + evaluator).compute()
        str(evaluation)
        if evaluation.lists is not None:
            evaluation.per_list()


def restore(stored: Mapping[str, Any]) -> Evaluator:
    """Return an evaluator from the output of `store`."""
    profile = dict(stored["profile"])
    profile["convention"] = Convention(**profile["convention"])
    profile["versions"] = tuple(profile["versions"])
    sliced = stored.get("slices", {"asked": (), "sums": None})
    evaluator = Evaluator(
        stored["metrics"],
        Profile(**profile),
        intervals=stored["intervals"],
        per_list=stored["per_list"],
        slices=[[_read_axis(axis) for axis in axes] for axes in sliced["asked"]],
    )
    sums = sliced["sums"] or {"sliced": {}, "lists": 0, "relevant": 0}
    evaluator.restore(
        State(
            {name: _read_total(total) for name, total in stored["totals"].items()},
            ledger=Ledger.from_dict(stored["ledger"]),
            manifest=stored["manifest"],
            kept=_read_kept(stored["kept"]),
            slices={by: _read_sliced(states) for by, states in sums["sliced"].items()},
            lists=sums["lists"],
            relevant=sums["relevant"],
            batches=stored["batches"],
        )
    )
    return evaluator


def _store_slices(slicings: Slicings, state: State) -> dict[str, Any]:
    """Return the requested ways to slice, and the sums of every slice."""
    sliced = {
        by: {
            "of": states.of,
            "orders": states.orders,
            "cells": [{"key": key, **_store_cell(cell)} for key, cell in states.states.items()],
        }
        for by, states in state.slices.items()
    }
    asked = [[_store_axis(axis) for axis in axes] for axes in slicings]
    sums = {"sliced": sliced, "lists": state.lists, "relevant": state.relevant}
    return {"asked": asked, "sums": sums}


def _store_axis(axis: Axis) -> dict[str, Any]:
    return {"name": axis.name, "parts": axis.parts, "edges": axis.edges}


def _read_axis(stored: Mapping[str, Any]) -> Axis:
    return Axis(stored["name"], stored["parts"], tuple(stored["edges"]))


def _store_cell(cell: State) -> dict[str, Any]:
    return {
        "totals": {name: _store_total(total) for name, total in cell.totals.items()},
        "failures": {name: error.found for name, error in cell.failures.items()},
        "lists": cell.lists,
        "relevant": cell.relevant,
        "kept": _store_kept(cell.kept),
    }


def _read_sliced(stored: Mapping[str, Any]) -> SlicedStates:
    states = {tuple(cell["key"]): _read_cell(cell) for cell in stored["cells"]}
    orders = tuple(None if order is None else tuple(order) for order in stored["orders"])
    return SlicedStates(stored["of"], orders, states)


def _read_cell(stored: Mapping[str, Any]) -> State:
    return State(
        {name: _read_total(total) for name, total in stored["totals"].items()},
        {name: RectitudeError(text) for name, text in stored["failures"].items()},
        kept=_read_kept(stored["kept"]),
        lists=stored["lists"],
        relevant=stored["relevant"],
        batches=1 if stored["lists"] else 0,
    )


def _store_profile(profile: Profile) -> dict[str, Any]:
    fields = {f.name: getattr(profile, f.name) for f in dataclasses.fields(Profile)}
    return {**fields, "convention": profile.convention.as_dict()}


def _store_total(total: Total) -> dict[str, Any]:
    kinds = {Sums: "state", Counted: "counts", ByGroup: "groups", Spread: "spread"}
    kind = kinds[type(total.sum)]
    bounds = None if total.bounds is None else [state.as_dict() for state in total.bounds]
    return {kind: total.sum.as_dict(), "bounds": bounds}


def _read_total(stored: Mapping[str, Any]) -> Total:
    if "counts" in stored:
        return Total(Counted.from_dict(stored["counts"]))
    if "groups" in stored:
        return Total(ByGroup.from_dict(stored["groups"]))
    if "spread" in stored:
        return Total(Spread.from_dict(stored["spread"]))
    bounds = stored["bounds"]
    tie_bounds = None if bounds is None else (Sums.from_dict(bounds[0]), Sums.from_dict(bounds[1]))
    return Total(Sums.from_dict(stored["state"]), tie_bounds)


def _store_kept(kept: KeptValues) -> dict[str, Any] | None:
    keys = kept.keys()
    if keys is None:
        return None
    return {
        "keys": _store_ids(keys.keys),
        "users": _store_ids(keys.users),
        "owners": keys.owners.tolist(),
        "by_user": keys.by_user,
        "weights": None if keys.weights is None else keys.weights.tolist(),
        "values": {name: _store_numbers(kept.values(name)) for name in kept.names()},
    }


def _read_kept(stored: Mapping[str, Any] | None) -> KeptValues:
    if stored is None:
        return KeptValues()
    keys, users = _read_ids(stored["keys"]), _read_ids(stored["users"])
    weights = None if stored["weights"] is None else np.array(stored["weights"], np.float64)
    lists = Keys(keys, np.array(stored["owners"], np.int64), users, stored["by_user"], weights)
    values = {name: np.array(v, np.float64) for name, v in stored["values"].items()}
    return KeptValues.of(lists, values)


def _read_ids(stored: list[Any]) -> pl.Series:
    if isinstance(stored[0], str):
        return pl.Series("id", stored, dtype=pl.String)
    small = max(map(abs, stored)) < 2**63
    return pl.Series("id", stored, dtype=pl.Int64 if small else pl.Int128)


def _store_numbers(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]


def _store_ids(ids: pl.Series) -> list[Any]:
    if not ids.dtype.is_integer() and ids.dtype != pl.String:
        raise BadIds(
            f"ids of the type {ids.dtype} cannot be saved with values per list.",
            "ids that are integers or text.",
        )
    return ids.to_list()
